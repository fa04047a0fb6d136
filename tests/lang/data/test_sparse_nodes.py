"""Declarations of sparse nodes: what they make, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import weft as ti
from weft.ir.errors import CompilationError, TypeMismatch
from weft.lang.data.field_tree import FieldError


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    ti.init(arch=ti.cpu, offline_cache=False)
    yield
    ti.reset()


def test_shapes_are_products_of_all_extents() -> None:
    x, y = ti.field(ti.f32), ti.field(ti.i32)
    top = ti.root.pointer(ti.ij, (3, 5))
    middle = top.bitmasked(ti.i, 2)
    middle.dense(ti.ij, (1, 7)).place(x)
    top.dynamic(ti.k, 9, chunk_size=4).place(y)
    assert (top.shape, middle.shape, x.shape, y.shape) == ((3, 5), (6, 5), (6, 35), (3, 5, 9))
    assert x.parent(2) == middle
    assert x.parent(3) == top
    assert top.parent() == ti.root
    assert str(x.parent(2)) == "ti.root => pointer [3, 5] => bitmasked [6, 5]"


def test_one_extent_is_that_of_all_axes() -> None:
    assert ti.root.pointer(ti.ij, 4).shape == ti.root.bitmasked(ti.ij, [4]).shape == (4, 4)


def test_a_node_may_have_axes_that_lie_before_those_above() -> None:
    x = ti.field(ti.i32)
    ti.root.pointer(ti.j, 3).dense(ti.i, 2).place(x)
    assert x.shape == (2, 3)


BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: ti.root.pointer(ti.j, 2).hash(ti.i, 4),
        CompilationError,
        "a hash node below a pointer node must divide its",
    ),
    (lambda: ti.root.hash(ti.j, 2).hash(ti.i, 4), CompilationError, r"axes of both, as in ti.root.hash\(ti.ij, ...\)$"),
    (
        lambda: ti.root.pointer(ti.i, 2).hash(ti.i, 4).hash(ti.j, 4),
        CompilationError,
        "a hash node below a hash node must divide its",
    ),
    (lambda: ti.root.dense(ti.i, 2).hash(ti.ij, 4), CompilationError, "a hash node has no bounds along an axis that"),
    (lambda: ti.root.dynamic(ti.i, 8).hash(ti.i, 2), CompilationError, "a hash node cannot be below a dynamic"),
    (lambda: ti.root.dynamic(ti.ij, 4), CompilationError, "a list along one axis, not along 2"),
    (lambda: ti.root.dynamic(ti.i, (4,)), CompilationError, "takes the longest length of a list, not"),
    (lambda: ti.root.dynamic(ti.i, -1), TypeMismatch, "at least 1, got -1"),
    (lambda: ti.root.dynamic(ti.i, 8, chunk_size=0), CompilationError, "chunk_size must be a positive integer"),
    (lambda: ti.root.dynamic(ti.i, 8, chunk_size=2.5), CompilationError, "chunk_size must be a positive integer"),
    (lambda: ti.root.dense(ti.i, 4).dynamic(ti.i, 8), CompilationError, "no other node may have that axis"),
    (lambda: ti.root.dynamic(ti.i, 8).dense(ti.i, 2), CompilationError, "no other node may have that axis"),
    (lambda: ti.root.dynamic(ti.i, 8).pointer(ti.j, 2), CompilationError, "a pointer node cannot be below a dynamic"),
    (lambda: ti.root.dynamic(ti.i, 8).dense(ti.j, 2).bitmasked(ti.j, 2), CompilationError, "cannot be below a dynamic"),
    (lambda: ti.root.pointer(ti.ij, (2, 3, 4)), CompilationError, "pointer takes one extent for each axis"),
    (lambda: ti.root.bitmasked(ti.i, 2.5), TypeMismatch, "must consist of integers"),
    (lambda: ti.root.pointer(3, 4), CompilationError, "axes must be"),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_declarations_that_make_no_sense(number: int) -> None:
    make, kind, message = BAD[number]
    with pytest.raises(kind, match=message):
        make()


def test_no_node_is_added_once_the_tree_is_used() -> None:
    x = ti.field(ti.i32)
    node = ti.root.pointer(ti.i, 4)
    node.place(x)
    x.describe()
    with pytest.raises(FieldError, match="this SNode tree is finalized"):
        node.dense(ti.i, 2)


def refused(kernel: Any) -> str:
    with pytest.raises(CompilationError) as caught:
        kernel()
    return str(caught.value).strip().splitlines()[-1]


@pytest.fixture
def tree() -> Any:
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    dense = ti.root.dense(ti.i, 4)
    pointer = dense.pointer(ti.i, 4)
    pointer.place(x)
    lists = ti.root.dynamic(ti.j, 4)
    lists.place(y)
    return x, y, dense, pointer, lists


def test_operations_on_what_is_no_node(tree: Any) -> None:
    x, _, dense, pointer, lists = tree

    @ti.kernel
    def of_a_field():
        ti.activate(x, 1)

    @ti.kernel
    def of_a_place():
        ti.deactivate(x.snode, 1)

    @ti.kernel
    def of_a_list():
        ti.activate(lists, 1)

    @ti.kernel
    def of_a_dense_node() -> ti.i32:
        return ti.is_active(dense, 1)

    @ti.kernel
    def of_a_pointer():
        ti.append(pointer, 1, 1)

    @ti.kernel
    def of_no_node():
        ti.no_activate(3)

    hint = "x.parent() is the node in which it was placed"
    assert refused(of_a_field) == f"ti.activate takes a node, not a field: {hint}"
    all_of_them = "pointer, bitmasked, hash and dynamic nodes"
    assert refused(of_a_place) == f"ti.deactivate works only on {all_of_them}, not on a place node"
    assert refused(of_a_list) == "ti.activate works only on pointer, bitmasked and hash nodes, not on a dynamic node"
    assert refused(of_a_dense_node) == f"ti.is_active works only on {all_of_them}, not on a dense node"
    assert refused(of_a_pointer) == "ti.append works only on dynamic nodes, not on a pointer node"
    assert "no_activate takes nodes and fields, not" in refused(of_no_node)


def test_operations_on_what_is_no_cell(tree: Any) -> None:
    x, y, _, pointer, _ = tree

    @ti.kernel
    def of_too_many_indices():
        ti.activate(pointer, [1, 1])

    @ti.kernel
    def of_a_float():
        ti.activate(pointer, 1.5)

    @ti.kernel
    def of_two_values():
        y.append([1, 2])

    @ti.kernel
    def in_a_branch(n: ti.i32):
        if n:
            for i in x:
                x[i] = 1

    @ti.kernel
    def unknown():
        y.remove()

    assert refused(of_too_many_indices) == "a cell of this pointer node takes 1 index, got 2"
    assert refused(of_a_float) == "an index must be an integer, not f32; cast it with int(...)"
    assert "i32x2" in refused(of_two_values)
    assert "must be at the top level of the kernel" in refused(lambda: in_a_branch(1))
    assert "has no attribute 'remove'" in refused(unknown)


def test_functions_of_kernels_outside_of_kernels() -> None:
    with pytest.raises(CompilationError, match="activate works only in a kernel"):
        ti.activate(ti.root, 1)


def test_memory_is_not_lent() -> None:
    x = ti.field(ti.i32)
    ti.root.pointer(ti.i, 4).place(x)
    with pytest.raises(BufferError, match="is sparse, not a strided array"):
        memoryview(x.__dlpack__())  # type: ignore[attr-defined]


def test_a_tree_tells_its_nodes_before_its_use() -> None:
    x = ti.field(ti.f64, name="x")
    builder = ti.FieldsBuilder()
    builder.pointer(ti.i, 100).dense(ti.i, 8).place(x)
    tree = builder.finalize()
    assert str(tree).splitlines() == [
        "an SNode tree with 400 B that are always in memory",
        "  pointer [100], 0 of 100 cells are active, 0 B",
        "    dense [8]",
        "      x: f64",
    ]
    tree.destroy()
    assert "does not exist any more" in str(tree)
