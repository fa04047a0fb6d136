"""What one instruction may do to several neighbours: the first is aligned to the size of all."""

from __future__ import annotations

import pytest

from weft.ir.core import Value
from weft.ir.mapping.coarsening import _across, _Row
from weft.ir.mapping.wide_atomics import _alignment, _units
from weft.ir.ops import Address, Arg, ArrayBase, Atomic, Const, Load, Store, TreeBase
from weft.ir.scopes import Scope
from weft.ir.types import f32, i64, pointer

I, N, ONE = Arg(0, type=i64), Arg(1, type=i64), Arg(2, type=f32)


def place(stride: int | Value, offset: int = 0, base: Value | None = None) -> Address:
    step = Const(stride, type=i64) if isinstance(stride, int) else stride
    return Address(base or TreeBase(0), [I], [step], offset, Scope("field:x"), type=pointer(f32))


@pytest.mark.parametrize(
    ("ptr", "size", "aligned"),
    [
        (place(16), 16, True),
        (place(32, 48), 16, True),
        (place(12), 16, False),
        (place(12), 4, True),
        (place(16, 8), 16, False),
        (place(16, 8), 8, True),
        (place(N), 8, False),
        (place(16, base=ArrayBase(0)), 16, False),  # memory of the caller lies anywhere
        (place(16, base=place(16)), 16, True),
        (place(16, base=place(12)), 16, False),
    ],
)
def test_alignment(ptr: Address, size: int, aligned: bool) -> None:
    assert _alignment(ptr, size) == aligned


@pytest.mark.parametrize(
    ("stride", "offsets", "width", "found"),
    [
        (16, (0, 4, 8, 12), 4, [0]),
        (16, (0, 4, 8, 12), 2, [0, 8]),
        (16, (4, 8), 2, []),
        (16, (0, 8), 2, []),
        (16, (0, 4, 8), 4, []),
        (12, (0, 4, 8), 2, []),
        (24, (0, 4, 8, 12, 16, 20), 2, [0, 8, 16]),
        (12, (0, 4, 8), 1, [0, 4, 8]),
    ],
)
def test_units(stride: int, offsets: tuple[int, ...], width: int, found: list[int]) -> None:
    places = {offset: Atomic("add", place(stride, offset), ONE) for offset in offsets}
    units = list(_units(dict(places), width))
    assert [first for first, _ in units] == found
    assert all(unit == tuple(places[first + 4 * k] for k in range(width)) for first, unit in units)


@pytest.mark.parametrize(
    ("stores", "loads", "count"),
    [
        ([0], [], 4),
        ([4], [], 1),
        ([0, 400], [], 4),
        ([0, 404], [], 1),
        ([0], [4], 4),
        ([], [4], 1),
        ([], [4, 0], 4),
        ([], [0], 4),
    ],
)
def test_how_many_elements_make_words(stores: list[int], loads: list[int], count: int) -> None:
    """All stores must be aligned, of loads one; others read the word before it, too."""
    places = [(Store(place(4, offset), ONE), offset) for offset in stores]
    places += [(Load(place(4, offset)), offset) for offset in loads]
    rows = [_Row(op, Scope(f"field:{number}"), offset, 4, 4, ()) for number, (op, offset) in enumerate(places)]
    assert _across(rows) == count


@pytest.mark.parametrize(
    ("stores", "loads", "count"),
    [
        ([(0, 12), (4, 12), (8, 12)], [], 4),
        ([(4, 12)], [], 1),  # a part of a vector
        ([(4, 12)], [(0, 4)], 1),
        ([(0, 4)], [(4, 12)], 4),  # reading a part is all right
        ([(0, 8), (4, 8)], [(0, 4)], 2),
        ([(0, 4)], [(0, 16)], 1),  # whole words already
        ([(0, 4)], [(0, 20)], 1),
        ([(0, 4)], [(0, 0)], 1),
        ([(0, 4)], [(0, -4)], 1),
        ([], [], 1),
    ],
)
def test_steps_from_one_element_to_the_next(
    stores: list[tuple[int, int]], loads: list[tuple[int, int]], count: int
) -> None:
    x, y = Scope("field:x"), Scope("field:y")
    rows = [_Row(Store(place(step, offset), ONE), x, offset, step, 4, ()) for offset, step in stores]
    rows += [_Row(Load(place(step, offset)), y, offset, step, 4, ()) for offset, step in loads]
    assert _across(rows) == count
