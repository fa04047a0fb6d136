"""Paths of levels: how they read, what they collapse to, and that their CHI finds every element."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

from tests.sampling import draws
from weft.ir.config import CompileConfig
from weft.ir.core import Op
from weft.ir.errors import InternalError
from weft.ir.evaluate import Memory, evaluate
from weft.ir.ops import Address, Binary, Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.storage.cell import Cell, Shadow
from weft.ir.storage.dense import Dense, Term
from weft.ir.storage.layout import TreeLayout, layout_tree
from weft.ir.storage.level import Space
from weft.ir.storage.path import Path, dense_path
from weft.ir.storage.snode import SNode
from weft.ir.symbols import FieldSymbol
from weft.ir.text import print_ir
from weft.ir.types import Prim, f32, f64, i8, i16, i32, i64
from weft.ir.verify import verify

I, J, K = range(3)
SPACE = Space((8,), (0,), (0,))
PLAIN = CompileConfig(fast_math=False)


def dense(parent: SNode, *axes: tuple[int, int]) -> SNode:
    return parent.add(SNode("dense", tuple(axis for axis, _ in axes), tuple(extent for _, extent in axes)))


def place(parent: SNode, dtype: Prim = f32, name: str = "x") -> SNode:
    return parent.add(SNode("place", dtype=dtype, name=name))


def symbol(layout: TreeLayout, node: SNode, offset: tuple[int, ...] = ()) -> FieldSymbol:
    found = layout.places[node]
    return FieldSymbol(node.name, found.shape, 0, found.path.collapsed(), offset, found.order)


# ---- how they read ---------------------------------------------------------------------------------------------------


def trees() -> Iterator[tuple[str, SNode]]:
    root = SNode("root")
    place(dense(root, (I, 8)))
    yield "a line", root
    root = SNode("root")
    place(dense(root, (J, 3), (I, 2)), i16)
    yield "an image whose first axis is the fastest", root
    root = SNode("root")
    place(dense(dense(root, (I, 2), (J, 3)), (I, 4), (J, 4)))
    yield "blocks", root
    root = SNode("root")
    place(dense(dense(root, (I, 4)), (I, 8)))
    yield "blocks of a line, which are the line", root
    root = SNode("root")
    cell = dense(root, (I, 4))
    place(cell, f32)
    place(cell, f64, "y")
    place(dense(cell, (J, 3)), i8, "z")
    yield "a structure in each cell, with a line of its own", root
    root = SNode("root")
    place(dense(dense(root, (I, 1), (J, 4)), (I, 1)))
    yield "an axis of one element", root
    root = SNode("root")
    place(root, i64)
    yield "one element", root
    root = SNode("root")
    place(dense(dense(root, (I, 4), (J, 3)), (I, 1), (J, 2)))
    yield "a digit of one value below others", root


def test_paths_and_what_they_collapse_to(golden: Callable[[str, str], None]) -> None:
    lines: list[str] = []
    for what, root in trees():
        layout = layout_tree(root)
        lines.append(f"# {what}")
        for node, found in layout.places.items():
            made = symbol(layout, node)
            text = print_ir(Kernel("k", fields=(made,))).splitlines()[1].strip()
            lines += [f"{node.name}: {found.path}", f"{'':{len(node.name)}}  {found.path.collapsed()}", f"   {text}"]
    golden("storage.txt", "\n".join(lines) + "\n")


def test_the_text_of_a_field_reads_back_with_its_halo_and_shadows() -> None:
    text = """kernel @k() -> () {
  field @x: f32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) order=(0) halo=((1, 2)) shadows=((marks, x.marks, 1))
  field @x.marks: f32[8] tree=1 components=(0) terms=((0, 1, 8, 4)) order=(0) hidden=marks
}
"""
    kernel = parse(text)
    verify(kernel, "chi")
    assert print_ir(kernel) == text
    x, marks = kernel.fields
    assert x.path.cell.shadow("marks") == Shadow("marks", "x.marks", 1)
    assert (x.path.cell.halo, x.hidden, marks.hidden) == (((1, 2),), "", "marks")


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ("halo=((1, 8))", "a halo that does not fit"),
        ("halo=((-1, 0))", "a halo that does not fit"),
        ("halo=((1, 1), (1, 1))", "a halo that does not fit"),
        ("hidden=whatever", "which is not a kind of shadow"),
        ("shadows=((whatever, y, 1))", "a shadow of the unknown kind 'whatever'"),
        ("shadows=((marks, m, 2))", "which is in another tree or space"),
        ("shadows=((races, m, 1))", "which is in another tree or space"),
    ],
)
def test_the_verifier_reads_how_fields_are_stored(facts: str, message: str) -> None:
    kernel = parse(f"""kernel @k() -> () {{
      field @x: f32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) order=(0) {facts}
      field @m: f32[8] tree=1 components=(0) terms=((0, 1, 8, 4)) order=(0) hidden=marks
    }}""")
    with pytest.raises(InternalError, match=message):
        verify(kernel, "chi")


def test_a_shadow_has_the_shape_of_what_it_tells_of() -> None:
    kernel = parse("""kernel @k() -> () {
      field @x: f32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) order=(0) shadows=((marks, m, 1))
      field @m: f32[7] tree=1 components=(0) terms=((0, 1, 7, 4)) order=(0) hidden=marks
    }""")
    with pytest.raises(InternalError, match="which is in another tree or space"):
        verify(kernel, "chi")


def test_a_kernel_takes_collapsed_paths_only() -> None:
    blocks = Path((Dense((Term(0, 4, 2, 16),)), Dense((Term(0, 1, 4, 4),))), Cell(f32, (0,)))
    made = FieldSymbol("x", (8,), 0, blocks, (), (0,))
    with pytest.raises(InternalError, match="not collapsed"):
        verify(Kernel("k", fields=(made,)), "chi")
    with pytest.raises(TypeError, match="not collapsed"):
        print_ir(Kernel("k", fields=(made,)))
    verify(Kernel("k", fields=(FieldSymbol("x", (8,), 0, blocks.collapsed(), (), (0,)),)), "chi")
    behind = Path((Dense((Term(0, 1, 8, 4),), 16),), Cell(f32, (0,)))
    assert not behind.is_collapsed
    assert behind.collapsed() == dense_path(Cell(f32, (16,)), (Term(0, 1, 8, 4),))


# ---- where elements are ----------------------------------------------------------------------------------------------


def drawn_tree(rng: random.Random) -> SNode:
    """A root with some levels, and places at several depths."""
    root = SNode("root")
    open_nodes = [root]
    for number in range(rng.randint(1, 4)):
        parent = rng.choice(open_nodes[-2:])
        axes = rng.sample(range(3), rng.randint(1, 2))
        node = dense(parent, *((axis, rng.choice((1, 2, 3, 4))) for axis in axes))
        open_nodes.append(node)
        for place_number in range(rng.randint(0, 2)):
            place(node, rng.choice((i8, i16, i32, f32, f64)), f"x{number}{place_number}")
    place(open_nodes[-1], i32, "last")
    return root


def bytes_of(node: SNode) -> tuple[int, int]:
    """(bytes of all cells, alignment): what a tree without gaps takes, counted independently of `layout`."""
    if node.kind == "place":
        assert node.dtype is not None
        return node.dtype.size, node.dtype.size
    cursor, alignment = 0, 1
    for child in node.children:
        size, align = bytes_of(child)
        cursor = -(-cursor // align) * align + size
        alignment = max(alignment, align)
    return -(-cursor // alignment) * alignment * prod(node.extents), alignment


def walked(layout: TreeLayout, node: SNode, index: dict[int, int]) -> int:
    """The byte of an element, by going down the tree with the digits of the index, outermost first."""
    way, address = node.path(), 0
    for position, one in enumerate(way):
        if one.kind == "dense":
            below = way[position + 1 :]
            number = 0
            for axis, extent in zip(one.axes, one.extents, strict=True):
                inner = prod(e for other in below for a, e in zip(other.axes, other.extents, strict=True) if a == axis)
                number = number * extent + index[axis] // inner % extent
            address += number * (bytes_of(one)[0] // prod(one.extents))
        if one.parent is not None:
            address += layout.cells[one][1]
    return address


def elements(found: FieldSymbol) -> list[tuple[int, ...]]:
    return list(product(*map(range, found.shape)))


@pytest.mark.parametrize("seed", range(draws(60)))
def test_elements_lie_where_the_tree_says(seed: int) -> None:
    root = drawn_tree(random.Random(seed))
    layout = layout_tree(root)
    memory = np.zeros(layout.size + 64, np.uint8)
    for node, found in layout.places.items():
        axes = sorted({axis for one in node.path() for axis in one.axes})
        made, path = symbol(layout, node), found.path
        assert node.dtype is not None
        grid = np.indices(found.shape).reshape(len(found.shape), -1)
        start = made.components[0]
        expected = [walked(layout, node, dict(zip(axes, index, strict=True))) for index in elements(made)]
        assert [path.locate(index) + path.cell.components[0] for index in elements(made)] == expected
        assert list(np.broadcast_to(made.path.locate(grid) + start, len(expected))) == expected
        low, end = made.path.span
        assert (low, end) == (min(expected), max(expected) + node.dtype.size)
        window = made.path.window
        assert window is not None
        memory[:] = 0
        view: Any = np.ndarray(window.shape, node.dtype.np, memory, start, window.strides)
        view[...] = np.arange(1, len(expected) + 1).reshape(window.shape)
        values = [np.ndarray((), node.dtype.np, memory, at)[()] for at in expected]
        assert values == np.arange(1, len(expected) + 1).astype(node.dtype.np).tolist()


@pytest.mark.parametrize("seed", range(draws(40)))
def test_kernels_reach_each_element_once(seed: int) -> None:
    """`enumerate` by the evaluator and by tasks, `address` by lowered CHI: all leave what numpy does."""
    rng = random.Random(1000 + seed)
    root = drawn_tree(rng)
    layout = layout_tree(root)
    node = rng.choice(list(layout.places))
    assert node.dtype is not None
    axes = len(layout.places[node].shape)
    offset = tuple(rng.randint(-3, 3) for _ in range(axes)) if rng.random() < 0.5 else ()
    made = symbol(layout, node, offset)
    expected = np.zeros(layout.size + 64, np.uint8)
    for number, index in enumerate(elements(made)):
        at = walked(layout, node, dict(zip(sorted({a for one in node.path() for a in one.axes}), index, strict=True)))
        np.ndarray((), node.dtype.np, expected, at)[()] = number + 1
    names = [f"%i{k}" for k in range(axes)]
    lines = [f"  struct_for @{made.name} ({', '.join(f'{name}: i32' for name in names)}) {{", "    %n0 = const 0 : i32"]
    for k, name in enumerate(names):
        start = offset[k] if offset else 0
        lines += [f"    %e{k} = const {made.shape[k]} : i32", f"    %f{k} = const {start} : i32"]
        lines += [f"    %z{k} = binary sub {name}, %f{k} : i32", f"    %m{k} = binary mul %n{k}, %e{k} : i32"]
        lines += [f"    %n{k + 1} = binary add %m{k}, %z{k} : i32"]
    lines += ["    %one = const 1 : i32", f"    %s = binary add %n{axes}, %one : i32"]
    lines += [
        f"    %v = cast %s : {node.dtype}",
        f"    %p = field_ptr @{made.name}[{', '.join(names)}] : *{node.dtype}",
    ]
    field = print_ir(Kernel("k", fields=(made,))).splitlines()[1]
    text = "\n".join(["kernel @k() -> () {", field, *lines, "    store %p, %v", "  }", "}"])
    for passes in ((), TO_TASKS, (*TO_TASKS, *TO_LOWERED)):
        kernel = run_passes(parse(text), passes, PLAIN)
        memory = Memory([np.zeros(layout.size + 64, np.uint8)])
        evaluate(kernel, [], memory, PLAIN)
        assert (memory.trees[0] == expected).all(), passes


# ---- loops -----------------------------------------------------------------------------------------------------------


def test_a_loop_leaves_the_halo_out() -> None:
    text = """kernel @k() -> () {
      field @x: i32[4, 6] tree=0 components=(0) terms=((0, 1, 4, 24), (1, 1, 6, 4)) offset=(-1, 2) order=(0, 1) halo=(
        (1, 0), (2, 3))
      struct_for @x (%i: i32, %j: i32) {
        %p = field_ptr @x[%i, %j] : *i32
        %one = const 1 : i32
        store %p, %one
      }
    }"""
    expected = np.zeros((4, 6), np.int32)
    expected[1:, 2:3] = 1
    for passes in ((), TO_TASKS, (*TO_TASKS, *TO_LOWERED)):
        kernel = run_passes(parse(text), passes, PLAIN)
        memory = Memory([np.zeros(96, np.uint8)])
        evaluate(kernel, [], memory, PLAIN)
        assert (memory.trees[0].view(np.int32).reshape(4, 6) == expected).all(), passes


def test_a_loop_over_a_field_without_axes_runs_once() -> None:
    text = """kernel @k() -> () {
      field @x: i32 tree=0 components=(0)
      struct_for @x {
        %p = field_ptr @x[] : *i32
        %one = const 1 : i32
        %old = atomic add %p, %one : i32
      }
    }"""
    for passes in ((), TO_TASKS, (*TO_TASKS, *TO_LOWERED)):
        kernel = run_passes(parse(text), passes, PLAIN)
        memory = Memory([np.zeros(4, np.uint8)])
        evaluate(kernel, [], memory, PLAIN)
        assert memory.trees[0].view(np.int32).tolist() == [1]


def test_blocks_of_a_line_cost_no_division() -> None:
    root = SNode("root")
    node = place(dense(dense(root, (I, 4)), (I, 8)))
    layout = layout_tree(root)
    field = print_ir(Kernel("k", fields=(symbol(layout, node),))).splitlines()[1]
    kernel = parse(f"""kernel @k(i: i32) -> () {{
      {field}
      %i = arg index=0 : i32
      %p = field_ptr @x[%i] : *f32
      %one = const 1.0 : f32
      store %p, %one
    }}""")
    found: list[Op] = list(run_passes(kernel, (*TO_TASKS, *TO_LOWERED), PLAIN).walk())
    (address,) = (op for op in found if isinstance(op, Address))
    assert len(address.indices) == 1
    assert not any(isinstance(op, Binary) and op.kind in ("shr", "and", "raw_div", "raw_mod") for op in found)
