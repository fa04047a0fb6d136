"""Active elements as NanoVDB files, matrices of scipy and tensors of torch."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.ir.errors import TypeMismatch
from weft.lang.data.field_tree import FieldError
from weft.lang.sparse_fields.nanovdb import VolumeError, packed, unpacked


@pytest.fixture(autouse=True)
def fresh() -> None:
    ti.init(arch=ti.cpu)


def points(count: int = 300) -> Any:
    rng = np.random.default_rng(1)
    near, far = rng.integers(-20, 20, (count, 3)), rng.integers(-9000, 9000, (20, 3))
    corners = [[4095, 0, 0], [4096, -1, 2], [-4096, -4097, 127], [-(2**30), 2**30, 5]]
    return np.unique(np.concatenate([near, far, corners]), axis=0)


@pytest.mark.parametrize("codec", ["none", "zip"])
@pytest.mark.parametrize(("kind", "width"), [("f4", 1), ("f8", 1), ("i2", 1), ("i8", 1), ("f4", 3), ("f8", 4)])
def test_a_file_holds_what_was_written(kind: str, width: int, codec: str) -> None:
    at = points()
    values = (np.random.default_rng(2).normal(size=(len(at), width)) * 100).astype(kind)
    values = values[:, 0] if width == 1 else values
    order = np.random.default_rng(3).permutation(len(at))
    indices, again = unpacked(packed(at[order], values[order], "density", 0.5, (1, 2, 3), codec))
    assert (indices == at).all()
    assert (again == values).all()
    assert again.dtype == values.dtype


def test_the_header_is_that_of_the_format() -> None:
    """The numbers are those of `PNanoVDB.h`. (Warp 1.19 read such files, and found the same values.)"""
    data = packed(np.array([[-3, 5, 100], [9, 9, 9]]), np.array([1.5, -2], np.float32), "smoke", 0.25, (1, 0, 0))
    magic, version, count, codec = struct.unpack_from("<QIHH", data)
    assert (magic.to_bytes(8, "little"), version >> 21, count, codec) == (b"NanoVDB0", 32, 1, 0)
    meta = struct.unpack_from("<4Q2I6d6i3dI4I3IHHI", data, 16)
    assert meta[3:6] == (2, 1, 0)
    assert meta[6:12] == (0.25, 1.25, 2.25, 3.5, 2.5, 25.25)
    assert meta[12:18] == (-3, 5, 9, 9, 9, 100)
    assert meta[22:26] == (2, 2, 2, 1)
    grid = data[16 + 176 + 6 :]
    assert len(grid) == meta[0]
    leaf, lower, upper, root, *counts = struct.unpack_from("<4q3I", grid, 672)
    assert (root, upper, counts) == (64, 64 + 64 + 2 * 32, [2, 2, 2])
    assert (lower - upper, leaf - lower) == (2 * 270400, 2 * 33856)
    assert len(grid) == 672 + leaf + 2 * 2144


def test_a_sparse_field_and_back(tmp_path: Path) -> None:
    x, y = ti.field(ti.f32, name="smoke"), ti.field(ti.f32)
    ti.root.hash(ti.ijk, 4).dense(ti.ijk, 8).place(x)
    ti.root.pointer(ti.ijk, 8).bitmasked(ti.ijk, 8).place(y)
    x[3, 4, 5] = 2
    x[-1, -1, 40] = 3
    x.to_nanovdb(tmp_path / "x.nvdb")
    x.fill(0)
    x.from_nanovdb(tmp_path / "x.nvdb", "smoke")
    assert (x[3, 4, 5], x[-1, -1, 40], x[0, 0, 0]) == (2, 3, 0)
    y[7, 7, 7] = 5
    y[60, 1, 2] = -1
    y.to_nanovdb(str(tmp_path / "y.nvdb"), codec="zip")
    x.from_nanovdb(tmp_path / "y.nvdb")
    assert (x[7, 7, 7], x[60, 1, 2], x[3, 4, 5]) == (5, -1, 2)


def test_what_is_refused(tmp_path: Path) -> None:
    x, y, v = ti.field(ti.f32), ti.field(ti.i32, (2, 2, 2)), ti.Vector.field(2, ti.f32, (2, 2, 2))
    ti.root.pointer(ti.ijk, 2).place(x)
    path = tmp_path / "x.nvdb"
    with pytest.raises(VolumeError, match="at least one active voxel"):
        x.to_nanovdb(path)
    with pytest.raises(VolumeError, match="cannot hold values of 2 x float32"):
        v.to_nanovdb(path)
    with pytest.raises(VolumeError, match="has 3 axes, but the field has 2"):
        ti.field(ti.f32, (2, 2)).to_nanovdb(path)
    x[1, 1, 1] = 1
    with pytest.raises(VolumeError, match="codec must be one of none, zip"):
        x.to_nanovdb(path, codec="blosc")
    x.to_nanovdb(path, name="a")
    with pytest.raises(VolumeError, match="has no grid 'b'; it has 'a'"):
        x.from_nanovdb(path, "b")
    with pytest.raises(VolumeError, match="the file has values of float32, and the field has i32"):
        y.from_nanovdb(path)
    with pytest.raises(VolumeError, match="the file has numbers, but elements of the field have shape"):
        v.from_nanovdb(path)
    data = path.read_bytes()
    for broken in (b"", b"nonsense" * 9, data[:100], data[: len(data) // 2]):
        path.write_bytes(broken)
        with pytest.raises(VolumeError, match=r"damaged|not a NanoVDB"):
            x.from_nanovdb(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"voxel_size": 0}, "voxel_size must be positive"),
        ({"voxel_size": np.nan}, "voxel_size must be a finite number"),
        ({"voxel_size": (1, 2, 3)}, "voxel_size must be a finite number"),
        ({"origin": (0, 0)}, "origin must be three finite numbers"),
        ({"name": "a\0b"}, "the name of a grid has at most 255 bytes, none of which is 0"),
    ],
)
def test_options_of_a_file(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    x = ti.field(ti.f32, (2, 2, 2))
    with pytest.raises(VolumeError, match=message):
        x.to_nanovdb(tmp_path / "x.nvdb", **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("held", "dtype"), [(ti.i64, ti.i32), (ti.i32, ti.i16), (ti.u32, ti.i32)])
def test_an_integer_that_does_not_fit(held: Any, dtype: Any, tmp_path: Path) -> None:
    x, y = ti.field(held, (2, 2, 2)), ti.field(dtype, (2, 2, 2))
    x[0, 1, 0] = np.iinfo(dtype.np).max
    x.to_nanovdb(tmp_path / "x.nvdb")
    y.from_nanovdb(tmp_path / "x.nvdb")
    assert y[0, 1, 0] == np.iinfo(dtype.np).max
    x[0, 1, 0] += 1
    x.to_nanovdb(tmp_path / "x.nvdb")
    with pytest.raises(VolumeError, match=f"which the field of {dtype} cannot hold"):
        y.from_nanovdb(tmp_path / "x.nvdb")


def test_matrices_are_no_vectors(tmp_path: Path) -> None:
    x = ti.Matrix.field(2, 2, ti.f32, (2, 2, 2))
    with pytest.raises(VolumeError, match=r"not matrices of shape \(2, 2\)"):
        x.to_nanovdb(tmp_path / "x.nvdb")


@pytest.mark.parametrize("offset", [-(2**40), 2**40, 2**63 - 1])
def test_a_node_outside_of_the_file(offset: int) -> None:
    data = bytearray(packed(np.array([[1, 2, 3]]), np.array([1.0], np.float32)))
    tile = data.index(struct.pack("<Q", 64 + 32), 16 + 176 + 672 + 64)  # the place of the upper node in the root
    data[tile : tile + 8] = struct.pack("<q", offset)
    with pytest.raises(VolumeError, match="the file is damaged"):
        unpacked(bytes(data))


def test_active_tiles_are_their_voxels() -> None:
    """Other programs store blocks with one value as tiles of the nodes above."""
    data = bytearray(packed(np.array([[0, 0, 0]]), np.array([1.0], np.float32)))
    grid = 16 + 176 + 1
    lower = grid + 672 + struct.unpack_from("<q", data, grid + 672 + 8)[0]
    data[grid + 8 : grid + 16] = b"\xff" * 8  # no checksums
    struct.pack_into("<I", data, grid + 672 + 44, 1)  # there is one tile of 8^3 voxels, and so many voxels
    struct.pack_into("<Q", data, grid + 672 + 56, 1 + 512)
    data[lower + 32] = 2  # child 1 is active ...
    struct.pack_into("<f", data, lower + 1088 + 8, 7.5)  # ... with this value
    indices, values = unpacked(bytes(data))
    assert len(indices) == 1 + 512
    assert indices[1:].min(axis=0).tolist() == [0, 0, 8] or indices.max(axis=0).tolist() == [7, 7, 15]
    assert sorted(set(values.tolist())) == [1.0, 7.5]


def test_matrices_of_scipy() -> None:
    pytest.importorskip("scipy.sparse")
    x, v, h = ti.field(ti.f64), ti.Vector.field(2, ti.f32, 6), ti.field(ti.f32)
    ti.root.pointer(ti.ij, 4).dense(ti.ij, 2).place(x, offset=(-4, 0))
    ti.root.hash(ti.ij, 4).place(h)
    x[-3, 5] = 2.5
    coo = x.to_coo()
    assert coo.shape == (8, 8)
    assert (coo.toarray() == x.to_numpy()).all()
    for refused in (v.to_coo, ti.field(ti.f32, 3).to_coo):
        with pytest.raises(TypeMismatch, match="numbers with 2 axes"):
            refused()
    h[-1, 2] = 1
    with pytest.raises(FieldError, match=r"x.active\(\)"):
        h.to_coo()


def test_tensors_of_torch() -> None:
    pytest.importorskip("torch")
    x, v = ti.field(ti.f64), ti.Vector.field(2, ti.f32)
    ti.root.pointer(ti.ij, 4).dense(ti.ij, 2).place(x, offset=(-4, 0))
    ti.root.bitmasked(ti.i, 6).place(v)
    x[-3, 5] = 2.5
    v[4] = [1, 2]
    assert (x.to_torch_sparse().to_dense().numpy() == x.to_numpy()).all()
    assert v.to_torch_sparse().to_dense().tolist()[4] == [1, 2]
