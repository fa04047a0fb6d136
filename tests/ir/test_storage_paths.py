"""What a level writes, and what is asked of a path."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from weft.ir.config import CompileConfig
from weft.ir.errors import InternalError
from weft.ir.ops import Address, FieldPtr
from weft.ir.parse import parse
from weft.ir.pipeline import run_passes
from weft.ir.storage.cell import Cell
from weft.ir.storage.dense import Dense, Term, merged
from weft.ir.storage.layout import LEVEL_READERS
from weft.ir.storage.level import Box, Space
from weft.ir.storage.path import Path, dense_path
from weft.ir.text import print_ir
from weft.ir.types import Prim, f32, f64, tensor

SPACE = Space((8,), (0,), (0,))
PLAIN = CompileConfig(fast_math=False)


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

    def __init__(self, size: int = 0) -> None:
        self.told: list[tuple[str, int]] = []
        self.text = "partial", (size, "words")

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


def test_the_text_of_a_field_shows_its_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each level is an attribute, in the order of the path, and is made of it again."""
    monkeypatch.setitem(LEVEL_READERS, "partial", lambda facts: Partial(facts[0]))
    told = "tree=0 components=(0) partial=(64, words) terms=((0, 1, 8, 4)) order=(0)"
    text = f"kernel @k() -> () {{\n  field @x: f32[8] {told}\n}}\n"
    kernel = parse(text)
    partial, dense = kernel.fields[0].path.levels
    assert partial.text == ("partial", (64, "words"))
    assert dense == Dense((Term(0, 1, 8, 4),))
    assert print_ir(kernel) == text


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
    with pytest.raises(InternalError, match="are not in one contiguous piece"):
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
    with pytest.raises(InternalError, match="a loop cannot enumerate"):
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
