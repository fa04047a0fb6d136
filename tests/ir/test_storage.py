"""Paths of levels: how they read, what they collapse to, and that their CHI finds every element."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
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
from weft.ir.ops import Address, Binary, FieldPtr, Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.storage.cell import Cell, Shadow
from weft.ir.storage.dense import Dense, Term, merged
from weft.ir.storage.layout import TreeLayout, layout_tree
from weft.ir.storage.level import Box, Space
from weft.ir.storage.path import Path, dense_path
from weft.ir.storage.snode import SNode
from weft.ir.symbols import FieldSymbol
from weft.ir.text import print_ir
from weft.ir.types import Prim, f32, f64, i8, i16, i32, i64, tensor
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
    place(dense(dense(root, (I, 4)), (I, 1), (J, 2)))
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
        ("hidden=whatever", "which is no shadow"),
        ("shadows=((whatever, y, 1))", "a shadow of kind 'whatever'"),
        ("shadows=((marks, m, 2))", "which is stored otherwise"),
        ("shadows=((races, m, 1))", "which is stored otherwise"),
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
    with pytest.raises(InternalError, match="which is stored otherwise"):
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


# ---- what a level writes ---------------------------------------------------------------------------------------------


class Written:
    """Writes nothing but what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.widened: list[Any] = []

    def literal(self, index: Any) -> int | None:
        return index if isinstance(index, int) else None

    def add_index(self, place: Any, index: Any, stride: int, first: int) -> None:
        self.told.append(("index", index, stride, first))

    def add_digit(self, place: Any, digit: Any, stride: int) -> None:
        self.told.append(("digit", digit, stride))

    def from_zero(self, index: Any, first: int) -> Any:
        self.widened.append(index)
        return f"({index}-{first})"

    def quotient(self, value: Any, divisor: int) -> Any:
        return f"{value}//{divisor}"

    def remainder(self, value: Any, divisor: int) -> Any:
        return f"{value}%{divisor}"


class Base:
    offset = 0


def test_a_plain_axis_is_one_product() -> None:
    chi, at = Written(), Base()
    level: Any = Dense((Term(0, 1, 8, 4),), 16)
    level.address(chi, at, ["i"], SPACE)
    assert (chi.told, at.offset) == ([("index", "i", 4, 0)], 16)


def test_each_digit_of_a_block_is_a_product_and_the_first_needs_no_remainder() -> None:
    chi, at = Written(), Base()
    level: Any = Dense((Term(0, 4, 2, 64), Term(0, 1, 4, 4)))
    level.address(chi, at, ["i"], Space((8,), (-2,), (0,)))
    assert chi.told == [("digit", "(i--2)//4", 64), ("digit", "(i--2)//1%4", 4)]


def test_a_known_index_of_a_block_is_a_number_of_bytes() -> None:
    chi, at = Written(), Base()
    level: Any = Dense((Term(0, 4, 2, 64), Term(0, 1, 4, 4)))
    level.address(chi, at, [6], SPACE)
    assert (chi.told, at.offset) == ([], 64 + 8)


def test_a_digit_below_another_level_needs_its_remainder() -> None:
    """The digits before it belong to that level: the extent of the axis says that there are any."""
    chi, at = Written(), Base()
    level: Any = Dense((Term(0, 1, 4, 4),))
    level.address(chi, at, ["i"], SPACE)
    assert chi.told == [("digit", "(i-0)//1%4", 4)]


def test_an_axis_of_another_level_costs_nothing() -> None:
    chi, at = Written(), Base()
    level: Any = Dense((Term(0, 1, 8, 4),))
    level.address(chi, at, ["i", "j"], Space((8, 3), (0, 0), (0, 1)))
    assert (chi.told, chi.widened) == ([("index", "i", 4, 0)], [])


def test_digits_join_only_where_one_follows_the_other() -> None:
    apart = Dense((Term(0, 8, 2, 16), Term(0, 1, 4, 4)))
    assert merged([apart]) == apart
    follow = Dense((Term(0, 4, 2, 16), Term(0, 1, 4, 4)))
    assert merged([follow]) == Dense((Term(0, 1, 8, 4),))


class Partial:
    """A level whose cells need not exist. It notes what is asked of it."""

    kind, is_full = "partial", False

    def __init__(self) -> None:
        self.told: list[tuple[str, int]] = []

    def activate(self, chi: Any, place: Any, index: Any, space: Any) -> None:
        self.told.append(("activate", place.offset))

    def address(self, chi: Any, place: Any, index: Any, space: Any) -> None:
        self.told.append(("address", place.offset))
        place.offset += 1000


def test_a_path_activates_down_to_its_last_level_that_needs_it() -> None:
    first, second = Partial(), Partial()
    levels: Any = (Dense((), 8), first, Dense((), 16), second, Dense((Term(0, 1, 8, 4),), 32))
    chi, at = Written(), Base()
    Path(levels, Cell(f32, (0,))).activate(chi, at, ["i"], SPACE)  # type: ignore[arg-type, list-item]
    assert first.told == [("activate", 8), ("address", 8)]
    assert second.told == [("activate", 1024), ("address", 1024)]
    assert chi.told == [], "the address below is not wanted"
    full = Path((Dense((Term(0, 1, 8, 4),), 32),), Cell(f32, (0,)))
    full.activate(chi, at, ["i"], SPACE)  # type: ignore[arg-type, list-item]
    assert (chi.told, at.offset) == ([], 1000 + 1024)


@pytest.mark.parametrize(
    ("access", "count"), [("%v = load %p : f32", 0), ("store %p, %c", 1), ("%o = atomic add %p, %c : f32", 1)]
)
def test_what_is_written_is_activated_first(access: str, count: int) -> None:
    kernel = parse(f"""kernel @k() -> () {{
      field @x: f32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) order=(0)
      task serial body {{
        %c = const 1.0 : f32
        %i = const 2 : i32
        %p = field_ptr @x[%i] : *f32
        {access}
      }}
    }}""")
    partial: Any = Partial()
    (pointer,) = kernel.all_of(FieldPtr)
    pointer.field = replace(pointer.field, path=Path((partial,), Cell(f32, (0,))))
    kernel.fields = (pointer.field,)
    run_passes(kernel, ("lower_access",), PLAIN, level="lowering")
    assert [what for what, _ in partial.told].count("activate") == count
    (address,) = kernel.all_of(Address)
    assert address.offset == 1000


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


# ---- what is asked of a path -----------------------------------------------------------------------------------------


class Elsewhere:
    """A level that is not dense: its cells are nowhere near one another."""

    kind, is_full = "elsewhere", True

    def locate(self, index: Any) -> int:
        return 1000

    def __str__(self) -> str:
        return "elsewhere"


def test_no_path_but_a_dense_one_has_strides() -> None:
    other: Any = Elsewhere()
    path = Path(
        (Dense((Term(0, 4, 2, 64),), 8), Dense((Term(0, 2, 2, 8),)), other, Dense((Term(0, 1, 2, 4),), 4)), CELL
    )
    found = path.collapsed()
    assert str(found) == "dense(0: 2 x 64 // 4, 0: 2 x 8 // 2) + 8 > elsewhere > dense(0: 2 x 4) > cell(f32x2 at 4, 8)"
    assert found.locate([7]) == path.locate([7]) - 4 == 64 + 8 + 8 + 1000 + 4
    assert (found.window, found.cells, found.gapless, found.step) == (None, None, None, None)
    assert not found.is_within(1 << 40)
    with pytest.raises(InternalError, match="do not lie in one piece"):
        found.span


CELL = Cell(tensor(f32, (2,)), (0, 4))
LINE = Dense((Term(0, 1, 8, 8),))


def test_one_level_that_is_not_dense() -> None:
    other: Any = Elsewhere()
    path = Path((other,), CELL)
    assert (path.dense, path.window, path.locate([3])) == (None, None, 1000)
    assert path.is_full


@pytest.mark.parametrize(
    ("levels", "collapsed"),
    [((), True), ((LINE,), True), ((Elsewhere(),), True), ((LINE, Elsewhere(), LINE), True), ((LINE, LINE), False)],
)
def test_which_paths_are_collapsed(levels: Any, collapsed: bool) -> None:
    assert Path(levels, CELL).is_collapsed is collapsed
    assert Path(levels, CELL).collapsed().is_collapsed


def test_no_loop_runs_over_several_levels() -> None:
    other: Any = Elsewhere()
    with pytest.raises(InternalError, match="no loop runs over"):
        Path((other, LINE), CELL).enumerate(SPACE, int)
    assert Path((LINE,), CELL).enumerate(SPACE, int) == Box((0,), [0], [8])
    assert Path((), CELL).enumerate(Space((), (), ()), int) == Box((), [0], [1])


def test_windows_fields_and_bounds() -> None:
    plane = dense_path(CELL, (Term(1, 1, 3, 16), Term(0, 1, 2, 8)))
    assert plane.window is not None
    assert (plane.window.shape, plane.window.strides) == ((2, 3), (8, 16))
    assert plane.window.is_plain(2)
    assert not plane.window.is_plain(1)
    blocks = dense_path(CELL, (Term(0, 4, 2, 64), Term(0, 1, 4, 8)))
    assert blocks.window is not None
    assert not blocks.window.is_plain(1)
    assert blocks.window.digits == ((0, 4, 2), (0, 1, 4))
    assert blocks.span == (0, 64 + 24 + 8)
    assert blocks.is_within(97)
    assert not blocks.is_within(96)
    assert dense_path(CELL, ()).levels == ()
    assert blocks.is_full
    partial: Any = Partial()
    assert not Path((partial, LINE), CELL).is_full


def test_an_axis_of_one_element_does_not_bring_cells_closer() -> None:
    found = dense_path(CELL, (Term(0, 1, 8, 16), Term(1, 1, 1, 8))).cells
    assert found is not None
    assert found.size == 16


def test_cells_of_several_scalars() -> None:
    whole = dense_path(CELL, (Term(0, 1, 8, 16),))
    assert whole.cells is not None
    assert (whole.cells.size, whole.cells.low, whole.cells.span) == (16, 0, 8)
    assert (whole.gapless, whole.step, whole.span) == (None, 16, (0, 8 * 16 - 8))
    packed = dense_path(CELL, (Term(0, 1, 8, 8),))
    assert (packed.gapless, packed.span) == (16, (0, 64))
    apart = dense_path(Cell(tensor(f32, (2,)), (0, 32)), (Term(0, 1, 8, 4),))
    assert (apart.cells, apart.gapless, apart.span) == (None, 16, (0, 64))
    uneven = dense_path(CELL, (Term(0, 1, 2, 12), Term(1, 1, 2, 8)))
    assert uneven.cells is None
    assert dense_path(Cell(f32, (0,)), (Term(0, 1, 8, 4),)).cells is None


def test_storage_bits_are_whole_bytes() -> None:
    assert Cell(tensor(f64, (2,)), (0, 8)).bits == (64, 64)
    u1 = next(type for type in (Prim("u", 1),))
    assert Cell(u1, (0,)).bits == (8,)


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
