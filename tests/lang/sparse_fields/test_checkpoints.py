"""`ti.save` and `ti.load` of sparse fields: what is active is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.lang.checkpoints.checkpoint import CheckpointError
from weft.runtime.errors import OutOfMemory


@pytest.fixture(autouse=True)
def fresh() -> None:
    ti.init(arch=ti.cpu)


def tree() -> tuple[Any, Any, Any]:
    x, v, lists = ti.field(ti.f32), ti.Vector.field(2, ti.f64), ti.field(ti.i32)
    blocks = ti.root.hash(ti.ij, 8)
    blocks.dense(ti.ij, 4).place(x, v)
    ti.root.pointer(ti.i, 10).dynamic(ti.j, 9, chunk_size=4).place(lists)
    return x, v, lists


def test_what_is_active_comes_back(tmp_path: Path) -> None:
    x, v, lists = tree()
    x[-5, 1000] = 0.0
    v[7, 7] = [1, 2]
    lists[3, 4] = 5
    told = [made.active() for made in (x, v, lists)]
    ti.save(tmp_path / "run.npz", x=x, v=v, lists=lists, step=3)
    assert (tmp_path / "run.npz").stat().st_size < 50_000
    x[50, 50] = 9
    x.fill(8)
    lists[9, 0] = 1
    assert ti.load(tmp_path / "run.npz", x=x, v=v, lists=lists) == {"step": 3}
    for made, (indices, values) in zip((x, v, lists), told, strict=True):
        again = made.active()
        assert again[0].tolist() == indices.tolist()
        assert again[1].tolist() == values.tolist()
    alone = ti.load(tmp_path / "run.npz")
    assert alone["x"][0].tolist() == told[0][0].tolist()
    assert alone["lists"][1].tolist() == [0, 0, 0, 0, 5]


def test_a_field_that_shares_its_cells_is_not_deactivated(tmp_path: Path) -> None:
    x, v, _ = tree()
    x[0, 0] = 1
    ti.save(tmp_path / "run.npz", x=x)
    v[100, 100] = [3, 4]
    x[101, 100] = 7
    ti.load(tmp_path / "run.npz", x=x)
    assert v[100, 100].to_numpy().tolist() == [3, 4]
    assert (x[0, 0], x[101, 100]) == (1, 0)


def test_between_sparse_and_dense(tmp_path: Path) -> None:
    x, y = ti.field(ti.f32), ti.field(ti.f32, (8, 8))
    ti.root.pointer(ti.ij, 4).dense(ti.ij, 2).place(x)
    x[2, 3] = 4
    ti.save(tmp_path / "sparse.npz", x=x)
    ti.load(tmp_path / "sparse.npz", x=y)
    assert np.argwhere(y.to_numpy()).tolist() == [[2, 3]]
    y[7, 7] = 1
    ti.save(tmp_path / "dense.npz", x=y)
    ti.load(tmp_path / "dense.npz", x=x)
    assert len(x.active()[0]) == 8
    array = np.zeros((8, 8), np.float32)
    ti.load(tmp_path / "sparse.npz", x=array)
    assert array[2, 3] == 4


def test_an_array_begins_at_the_first_element(tmp_path: Path) -> None:
    x = ti.field(ti.f32)
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(x, offset=-3)
    x[-3], x[4] = 1, 2
    ti.save(tmp_path / "run.npz", x=x)
    array = np.ones(8, np.float32)
    ti.load(tmp_path / "run.npz", x=array)
    assert array.tolist() == [1, 0, 0, 0, 0, 0, 0, 2]


def test_damage_is_found(tmp_path: Path) -> None:
    x, _, _ = tree()
    x[-5, 3] = 1
    ti.save(tmp_path / "run.npz", x=x)
    arrays = dict(np.load(tmp_path / "run.npz"))
    arrays["x@"][0, 0] += 1
    np.savez(tmp_path / "run.npz", **arrays)
    with pytest.raises(CheckpointError, match="the checksum of the indices of 'x' is wrong"):
        ti.load(tmp_path / "run.npz", x=x)
    assert x[-5, 3] == 1


def test_a_node_that_is_too_small_keeps_what_it_has(tmp_path: Path) -> None:
    """Two cells are not enough for the three of two fields, of which one is common to both."""
    x, v, _ = tree()
    x[0, 0], x[100, 0], v[100, 1], v[200, 0] = 1, 2, [3, 4], [5, 6]
    ti.save(tmp_path / "run.npz", x=x, v=v, y=np.arange(3))
    small, pair, numbers = ti.field(ti.f32, name="small"), ti.Vector.field(2, ti.f64), np.zeros(3, int)
    ti.root.hash(ti.ij, (1, 2)).dense(ti.ij, 4).place(small, pair)
    small[7, 7] = 8
    with pytest.raises(OutOfMemory, match=r"no memory for 3 cells of 'small.hash': its pool has 2 cells of"):
        ti.load(tmp_path / "run.npz", y=numbers, x=small, v=pair)
    assert small[7, 7] == 8
    assert len(small.active()[0]) == 16
    assert not numbers.any()
    with pytest.raises(OutOfMemory, match="for 3 cells"):  # the cell that is active stays, because of the other field
        ti.load(tmp_path / "run.npz", x=small)
    assert small[7, 7] == 8
    ti.deactivate_all_snodes()
    ti.load(tmp_path / "run.npz", x=small)
    assert (small[0, 0], small[100, 0]) == (1, 2)
