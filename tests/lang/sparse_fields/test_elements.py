"""Sparse fields in Python: elements, whole fields, what is active, `ti.sparse`."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.ir.errors import CompilationError, TypeMismatch
from weft.lang.data.elements import FieldIndexError
from weft.lang.sparse_fields import elements


@pytest.fixture(scope="module", autouse=True)
def program() -> Iterator[None]:
    ti.init(arch=ti.cpu)
    yield
    ti.reset()


def sparse(dtype: Any = ti.f32, n: int = 4) -> Any:
    x = ti.field(dtype)
    builder = ti.FieldsBuilder()
    builder.pointer(ti.i, n).dense(ti.i, 2).place(x)
    builder.finalize()
    return x


def places(x: Any) -> list[int]:
    found: list[int] = x.active()[0].ravel().tolist()
    return found


def test_elements_and_their_errors() -> None:
    x = sparse()
    assert (x[0], places(x)) == (0.0, [])
    x[3] = 1.5
    assert (x[3], x[2], places(x)) == (1.5, 0.0, [2, 3])
    for wrong in (8, -1, (0, 0)):
        with pytest.raises(FieldIndexError):
            x[wrong] = 1
        with pytest.raises(FieldIndexError):
            x[wrong]
    with pytest.raises(TypeMismatch):
        x[0] = "text"
    assert places(x) == [2, 3]


def test_whole_fields() -> None:
    x, y, dense = sparse(), sparse(), ti.field(ti.f32, 8)
    x[3] = 1
    x.fill(5)  # what is active
    assert x.to_numpy().tolist() == [0, 0, 5, 5, 0, 0, 0, 0]
    values = np.array([0, 0, 1, 0, 0, 0, np.nan, 0], np.float32)
    x.from_numpy(values)  # all of it
    assert np.array_equal(x.to_numpy(), values, equal_nan=True)
    assert places(x) == [2, 3, 6, 7]
    y[0] = 7
    y.copy_from(x)
    assert np.array_equal(y.to_numpy(), values, equal_nan=True)
    assert places(y) == [0, 1, 2, 3, 6, 7]
    dense.copy_from(x)
    assert np.array_equal(dense.to_numpy(), values, equal_nan=True)
    dense.fill(2)
    x.copy_from(dense)
    assert (x.to_numpy() == 2).all()
    assert x.to_numpy(dtype=np.int64).dtype == np.int64
    with pytest.raises(ValueError, match="takes an array of shape"):
        x.from_numpy(np.zeros(7, np.float32))


def test_vectors_and_matrices() -> None:
    v, m = ti.Vector.field(2, ti.f64), ti.Matrix.field(2, 3, ti.i32)
    builder = ti.FieldsBuilder()
    builder.pointer(ti.i, 4).dense(ti.i, 2).place(v, m, offset=-2)
    builder.finalize()
    v[1] = [1, 2]
    v[1].x = 5
    m[5][1, 2] = 7
    assert (list(v[1]), list(v[0]), m[5][1, 2], m[1][1, 2]) == ([5, 2], [0, 0], 7, 0)
    indices, values = v.active()
    assert indices.ravel().tolist() == [0, 1, 4, 5]
    assert values.tolist() == [[0, 0], [5, 2], [0, 0], [0, 0]]
    assert m.to_numpy().shape == (8, 2, 3)
    assert m.to_numpy().sum() == 7
    v.fill([1, 2])
    assert v.to_numpy().tolist() == [[0, 0], [0, 0], [1, 2], [1, 2], [0, 0], [0, 0], [1, 2], [1, 2]]


def test_what_is_active_can_be_stored_and_set_again() -> None:
    x = ti.field(ti.i32)
    builder = ti.FieldsBuilder()
    node = builder.bitmasked(ti.ij, (6, 5))
    node.place(x, offset=(-3, 0))
    builder.finalize()
    wanted = np.array([[2, 4], [-3, 0], [0, 1]])
    x.from_active(wanted, [7, 8, 9])
    indices, values = x.active()
    assert indices.tolist() == [[-3, 0], [0, 1], [2, 4]]
    assert values.tolist() == [8, 9, 7]
    x.snode.deactivate_all()  # a place has no cells
    assert len(x.active()[0]) == 3
    x.parent().deactivate_all()
    assert len(x.active()[0]) == len(x.active()[1]) == 0
    x.from_active(indices, 3)
    assert x.to_numpy().sum() == 9
    for wrong, kind in (
        ([[3, 0]], FieldIndexError),
        ([[0, -1]], FieldIndexError),
        ([0, 1], ValueError),
        ([[0.5, 1]], ValueError),
        ([[0, 1, 2]], ValueError),
    ):
        with pytest.raises(kind):
            x.from_active(wrong, 1)
    with pytest.raises(ValueError, match="values must have shape"):
        x.from_active(wanted, [1, 2])
    assert x.to_numpy().sum() == 9


def test_all_of_a_dense_field_is_active() -> None:
    x = ti.field(ti.i32, (2, 2))
    x[1, 0] = 4
    indices, values = x.active()
    assert indices.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert values.tolist() == [0, 0, 4, 0]


def test_threads_read_and_write_at_once() -> None:
    x, n = sparse(ti.i32, 400), 800
    x.from_active(np.arange(n)[:, None], np.arange(n))
    wrong: list[int] = []

    @ti.kernel
    def visit(most: ti.i32):
        for i in x:
            if i < most:
                x[i] += 1

    def look(first: int) -> None:
        for i in range(first, n, 4):
            wrong.extend([i] if x[i] != i else [])
            x[i] = i
            if i % 10 == first:
                visit(0)

    threads = [Thread(target=look, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert (x.to_numpy() == np.arange(n)).all()


def test_nodes_that_are_looked_up_again_compile_nothing_again() -> None:
    x = sparse()

    def look() -> None:
        x[3] = 1
        assert x.parent(2)._num_dynamically_allocated == 1
        x.parent(2).deactivate_all()
        assert x.parent(2)._num_dynamically_allocated == 0

    look()
    compiled = [len(kernel._instances) for kernel in (elements._deactivate, elements._count)]
    look()
    assert [len(kernel._instances) for kernel in (elements._deactivate, elements._count)] == compiled


def test_grids() -> None:
    grid = ti.sparse.grid({"pos": ti.math.vec2, "mass": ti.f32}, shape=(10, 10))
    assert ti.sparse.usage(grid) == 0
    grid[0, 0].pos = ti.math.vec2(1, 2)
    grid[5, 9].mass = 1.0
    assert (grid.shape, list(grid[0, 0].pos)) == ((10, 10), [1, 2])
    assert ti.sparse.usage(grid) == 0.02
    assert ti.sparse.usage(grid.mass) == 0.02
    assert str(grid.parent()) == "ti.root => bitmasked [10, 10]"
    assert grid.snode.tree is not None
    assert ti.sparse.usage(ti.field(ti.i32, 3)) == 1
    with pytest.raises(TypeMismatch):
        ti.sparse.grid([1], shape=3)
    with pytest.raises(CompilationError, match="at least one axis"):
        ti.sparse.grid({"a": ti.f32}, shape=())
    with pytest.raises(TypeMismatch):
        ti.sparse.usage(3)


def test_a_tree_tells_what_is_active() -> None:
    x = ti.field(ti.f32, name="x")
    builder = ti.FieldsBuilder()
    node = builder.pointer(ti.i, 100)
    node.dense(ti.i, 8).place(x)
    tree = builder.finalize()
    x[3] = x[33] = 1
    assert "pointer [100], 2 of 100 cells are active, 64 B" in str(tree)
    assert node._num_dynamically_allocated == 2
    builder.deactivate_all()
    assert "pointer [100], 0 of 100 cells are active, 0 B" in str(tree)
    tree.destroy()
    with pytest.raises(ti.FieldError):
        x[3] = 1


def test_cells_that_appear_while_active_ones_are_listed(monkeypatch) -> None:
    """By another thread: they are found, too. The array for the indices is made before."""
    from weft.lang.sparse_fields import elements

    x = ti.field(ti.i32)
    ti.root.pointer(ti.i, 64).dense(ti.i, 4).place(x)
    x[3] = 1
    count, late = elements._count, [200, 100]

    def counted(of: Any) -> int:
        found = int(count(of))
        while late:
            x[late.pop()] = 1
        return found

    monkeypatch.setattr(elements, "_count", counted)
    indices, _ = x.active()
    assert indices[:, 0].tolist() == [*range(4), *range(100, 104), *range(200, 204)]
