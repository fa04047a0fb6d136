"""NanoVDB files with several grids, and checksums of grids."""

from __future__ import annotations

import struct
import tracemalloc
import zlib
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.lang.sparse_fields.nanovdb import VolumeError, packed, unpacked
from weft.lang.sparse_fields.nanovdb_format import GRID, layout_of
from weft.runtime.errors import OutOfMemory

HEAD = 16 + 176  # bytes before the name of the only grid of a file


def one(value: float, name: str = "", codec: str = "none") -> bytes:
    """A file with one voxel."""
    return packed(np.array([[1, -2, 3]]), np.array([value], np.float32), name, codec=codec)


def parts(file: bytes, name: str) -> tuple[bytes, bytes]:
    """The description and the grid of a file with one grid."""
    start = HEAD + len(name) + 1
    return file[16:start], file[start:]


def value(data: bytes, *choice: Any) -> float:
    indices, values = unpacked(data, *choice)
    assert indices.tolist() == [[1, -2, 3]]
    return float(values[0])


def test_grids_of_several_segments() -> None:
    """A segment for each, compressed or not."""
    data = one(1, "a") + one(2, "b", "zip") + one(3, "a", "zip") + one(4, "c")
    assert [value(data, "", index) for index in range(4)] == [1, 2, 3, 4]
    assert [value(data), value(data, "b"), value(data, "c"), value(data, "a"), value(data, "a", 1)] == [1, 2, 4, 1, 3]
    for choice, what in (
        (("d",), "no grid 'd'; it has 'a', 'b', 'a', 'c'"),
        (("", 4), "no grid number 4; it has"),
        (("", -1), "no grid number -1; it has"),
        (("a", 2), "no grid number 2 of the name 'a'; it has"),
    ):
        with pytest.raises(VolumeError, match=what):
            unpacked(data, *choice)


def test_grids_of_one_segment() -> None:
    (first, a), (second, b) = parts(one(1, "a"), "a"), parts(one(2, "bc"), "bc")
    head = bytearray(one(1, "a")[:16])
    struct.pack_into("<H", head, 12, 2)
    data = bytes(head) + first + second + a + b
    assert [value(data, "", 0), value(data, "", 1), value(data, "bc")] == [1, 2, 2]
    assert [value(data + one(5, "z"), "", 2), value(data + one(5, "z"), "z")] == [5, 5]


def test_grids_without_a_header() -> None:
    grids = bytearray()
    for number, name in enumerate("ab"):
        grid = bytearray(parts(one(number + 1, name), name)[1])
        grid[7:8] = b"1"
        grids += grid
    assert [value(bytes(grids)), value(bytes(grids), "", 1), value(bytes(grids), "b")] == [1, 2, 2]


@pytest.mark.parametrize("behind", [b"x", b"NanoVDB0", b"nonsense" * 40, one(2)[:50], one(2)[:-400]])
def test_a_part_that_is_damaged(behind: bytes) -> None:
    with pytest.raises(VolumeError, match="the file is damaged"):
        unpacked(one(1) + behind, "", 1)


def test_an_empty_file_has_no_grids() -> None:
    empty = bytearray(one(1)[:16])
    struct.pack_into("<H", empty, 12, 0)
    with pytest.raises(VolumeError, match="the file has no grid number 0; it has none"):
        unpacked(bytes(empty))


def test_a_field_reads_any_grid(tmp_path: Any) -> None:
    ti.init(arch=ti.cpu)
    x = ti.field(ti.f32)
    ti.root.hash(ti.ijk, 4).dense(ti.ijk, 8).place(x)
    path = tmp_path / "steps.nvdb"
    path.write_bytes(one(1, "a") + one(2, "a") + one(3, "b"))
    for choice, wanted in (({}, 1), ({"index": 1}, 2), ({"name": "b"}, 3), ({"name": "a", "index": 1}, 2)):
        x.from_nanovdb(path, **choice)
        assert x[1, -2, 3] == wanted


def test_a_node_that_is_too_small_keeps_what_it_has(tmp_path: Any) -> None:
    ti.init(arch=ti.cpu)
    x = ti.field(ti.f32, name="x")
    ti.root.hash(ti.ijk, (1, 1, 2)).dense(ti.ijk, 8).place(x)
    x[9, 9, 9] = 5
    path = tmp_path / "x.nvdb"
    path.write_bytes(packed(np.array([[0, 0, 0], [80, 0, 0]]), np.array([1, 2], np.float32)))
    with pytest.raises(OutOfMemory, match=r"no memory for 3 cells of 'x.hash': its pool has 2 cells"):
        x.from_nanovdb(path)
    assert (x[9, 9, 9], x[0, 0, 0], len(x.active()[0])) == (5, 0, 512)


def test_blocks_for_which_there_is_no_room(tmp_path: Any) -> None:
    """A few bytes say that blocks of 128^3 voxels are active: they are counted before a list of them is made."""
    data = bytearray(one(1))
    shape = layout_of(np.float32, 1)
    grid = HEAD + 1
    root = grid + GRID + int.from_bytes(data[grid + GRID + 24 : grid + GRID + 32], "little")
    upper = root + shape.root[1] + shape.tile
    data[grid + 8 : grid + 16] = b"\xff" * 8  # no checksums
    data[upper + 32 : upper + 32 + 4096] = b"\xff" * 4096
    with pytest.raises(VolumeError, match=r"says that the grid has 0 active blocks of 128\^3 voxels, but it has 32767"):
        unpacked(bytes(data))
    told = grid + GRID + 48, grid + GRID + 56  # how many such blocks there are, and voxels
    struct.pack_into("<I", data, told[0], 32767)
    with pytest.raises(OutOfMemory, match=r"no memory for 32767 active blocks of 128\^3 voxels"):
        unpacked(bytes(data))
    with pytest.raises(VolumeError, match="says that the grid has 1 active voxels, but it has more"):
        unpacked(bytes(data), most=1 << 50)
    struct.pack_into("<Q", data, told[1], 32767 * 128**3 + 1)
    with pytest.raises(OutOfMemory, match="no memory for a grid of 68717379585 active voxels"):
        unpacked(bytes(data))
    struct.pack_into("<Q", data, told[1], 4097)
    data[upper + 33 : upper + 32 + 4096] = bytes(4095)
    (tmp_path / "x.nvdb").write_bytes(data)
    x = ti.field(ti.f32)
    ti.root.hash(ti.ijk, 4).dense(ti.ijk, 8).place(x)
    with pytest.raises(OutOfMemory, match="there is room for"):
        x.from_nanovdb(tmp_path / "x.nvdb")
    assert not len(x.active()[0])


def zipped(grid: bytes, told: int) -> bytes:
    """A file with that grid, compressed, of which the header tells that size."""
    shrunk = zlib.compress(grid)
    stored = struct.pack("<Q", len(shrunk)) + shrunk
    meta = bytearray(parts(one(1, "a"), "a")[0])
    struct.pack_into("<2Q", meta, 0, told, len(stored))
    return struct.pack("<QIHH", int.from_bytes(grid[:8], "little"), 32 << 21, 1, 1) + bytes(meta) + stored


def test_a_grid_does_not_become_larger_than_its_header_says() -> None:
    """What is behind the size of the header is not expanded: 16 MB of zeros take 16 kB in a file."""
    _, grid = parts(one(1, "a"), "a")
    assert value(zipped(grid, len(grid)), "a") == 1
    assert value(one(3, "a", "zip"), "a") == 3
    bomb = zipped(grid + bytes(1 << 24), len(grid))
    tracemalloc.start()
    with pytest.raises(VolumeError, match=f"a grid does not end after the {len(grid)} bytes that its header says"):
        unpacked(bomb)
    assert tracemalloc.get_traced_memory()[1] < 10 * len(grid)
    tracemalloc.stop()
    with pytest.raises(VolumeError, match=r"a grid has another size than the 17 bytes"):
        unpacked(zipped(grid, 17))
    with pytest.raises(VolumeError, match=r"a grid has another size than the \d+ bytes"):
        unpacked(zipped(grid, len(grid) + 1))
    lies = bytearray(grid)
    struct.pack_into("<Q", lies, 32, GRID - 1)  # (zlib takes a length of 0 for any length)
    bomb = zipped(bytes(lies) + bytes(1 << 24), GRID - 1)
    tracemalloc.start()
    with pytest.raises(VolumeError, match=f"a grid has another size than the {GRID - 1} bytes"):
        unpacked(bomb)
    assert tracemalloc.get_traced_memory()[1] < 10 * len(grid)
    tracemalloc.stop()
    struct.pack_into("<Q", lies, 32, len(grid) + 1)
    with pytest.raises(VolumeError, match=r"a grid does not end after the \d+ bytes"):
        unpacked(zipped(bytes(lies), len(grid) + 1))


def test_nodes_that_are_children_of_several_nodes() -> None:
    """A node of a damaged grid may say that all its children are one node. So a few nodes become many voxels."""
    shape = layout_of(np.dtype(np.float32), 1)
    for bits, begin in ((5, 16), (4, 8)):
        _, grid = parts(one(1, "a"), "a")
        lies = bytearray(grid)
        struct.pack_into("<2I", lies, 8, 2**32 - 1, 2**32 - 1)  # no checksums
        node = GRID + struct.unpack_from("<q", lies, GRID + begin)[0]
        _, table, entry, _ = shape.node(bits)
        mask = node + 32 + 8**bits // 8
        places = [node + table + k * entry for k in range(8**bits)]
        (below,) = {child for place in places if (child := struct.unpack_from("<q", lies, place)[0])}
        lies[mask : mask + 8**bits // 8] = b"\xff" * (8**bits // 8)
        for place in places:
            struct.pack_into("<q", lies, place, below)
        file = zipped(bytes(lies), len(grid))
        tracemalloc.start()
        with pytest.raises(VolumeError, match=f"{8**bits} nodes do not fit in a grid of {len(grid)} bytes"):
            unpacked(file)
        assert tracemalloc.get_traced_memory()[1] < 20 * len(grid)
        tracemalloc.stop()


# ---- checksums -------------------------------------------------------------------------------------------------------


def signed(version: tuple[int, int], sums: Any) -> bytes:
    """A file with a grid of that minor version, whose checksums a function gives."""
    at = np.array([[1, -2, 3], [100, 200, -5000], [9, 9, 9]])
    data = bytearray(packed(at, np.array([1, 2, 3], np.float32), "a"))
    start = HEAD + 2
    struct.pack_into("<I", data, start + 16, 32 << 21 | version[0] << 10 | version[1])
    struct.pack_into("<2I", data, start + 8, *sums(bytes(data[start:])))
    return bytes(data)


def old(kind: str) -> Any:
    """Those up to version 32.6.0: of the head with the root, and of the checksums of all nodes."""

    def sums(grid: bytes) -> tuple[int, int]:
        shape = layout_of(np.float32, 1)
        leaf, lower, upper, _, leaves, lowers, uppers = struct.unpack_from("<4q3I", grid, 672)
        levels = (upper, uppers, shape.node(5)[3]), (lower, lowers, shape.node(4)[3]), (leaf, leaves, shape.leaf[2])
        nodes = [(672 + begin + k * size, size) for begin, count, size in levels for k in range(count)]
        each = np.array([zlib.crc32(grid[begin : begin + size]) for begin, size in nodes], kind)
        return zlib.crc32(grid[16 : 672 + upper]), zlib.crc32(each.tobytes())

    return sums


def new(grid: bytes) -> tuple[int, int]:
    """Those of later versions: of the head, and of the checksums of blocks of 4096 bytes; the last one is longer."""
    rest = grid[736:]
    starts = [k * 4096 for k in range(len(rest) // 4096)]
    ends = [*starts[1:], len(rest)]
    each = np.array([zlib.crc32(rest[a:b]) for a, b in zip(starts, ends, strict=True)], "<u4")
    return zlib.crc32(grid[16:736]), zlib.crc32(each.tobytes())


CASES = {
    "old, numbers of 4 bytes": ((3, 3), old("<u4")),
    "old, numbers of 8 bytes": ((6, 0), old("<u8")),
    "new": ((6, 1), new),
    "new, of the head": ((8, 0), lambda grid: (new(grid)[0], 2**32 - 1)),
    "none": ((7, 0), lambda grid: (2**32 - 1, 2**32 - 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_byte_that_is_wrong(name: str) -> None:
    """The last number of the file is an unused voxel of a leaf, and byte 660 is in the header of the grid."""
    data = signed(*CASES[name])
    assert len(unpacked(data)[0]) == 3
    for place, noticed in ((len(data) - 4, "head" not in name), (HEAD + 2 + 660, True)):
        wrong = bytearray(data)
        wrong[place] ^= 1
        if name == "none" or not noticed:
            assert len(unpacked(bytes(wrong))[0]) == 3
            continue
        with pytest.raises(VolumeError, match="the file is damaged: the checksum of the grid is wrong"):
            unpacked(bytes(wrong))


def test_the_checksum_that_is_written() -> None:
    data = packed(np.array([[1, -2, 3]]), np.array([1], np.float32), "a")[HEAD + 2 :]
    assert struct.unpack_from("<2I", data, 8) == (old("<u4")(data)[0], 2**32 - 1)
