"""Sums of floats into neighbours in memory that one instruction can add. See the pass `widen_atomics`."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass

from weft.ir.addresses import byte_steps, element_of, root_of
from weft.ir.core import Block, Op, Value
from weft.ir.ops import Address, ArrayBase, Atomic, Const, Load, Task, TreeBase
from weft.ir.scopes import Scope
from weft.ir.types import f32

__all__ = ["Run", "Runs", "runs_of"]

_SIZE = 4
_WIDTHS = (4, 2, 1)
_FEWEST = 3  # neighbours of which two lie well together, wherever they lie


@dataclass(frozen=True)
class Run:
    """Sums into neighbours, in the order of their addresses, written where `last` stands. They are as many as one
    instruction adds, or an odd number of units of `unit` sums, each of which lies well."""

    sums: tuple[Atomic, ...]
    last: Atomic
    unit: int


Runs = dict[Op, Run]  # by each of its sums
Unit = tuple[Atomic, ...]
Places = dict[int, Atomic]  # by bytes from where they have in common


def runs_of(task: Task, copied: Collection[Scope] = ()) -> Runs:
    """The sums of the task that are written together. `copied`: what each block adds to a copy of its own of."""
    found: Runs = {}
    for block in _blocks(task.body):
        for places in _stretches(block, copied):
            for run in _together(places):
                found |= dict.fromkeys(run.sums, run)
    return found


def _blocks(block: Block) -> Iterator[Block]:
    yield block
    for op in block:
        for region in op.regions:
            yield from _blocks(region)


def _stretches(block: Block, copied: Collection[Scope]) -> Iterator[Places]:
    """Sums at one address but for a constant, with nothing in between that has an effect, or reads what may change."""
    open_at: dict[Hashable, Places] = {}
    for op in block:
        if isinstance(op, Atomic) and _is_sum(op, copied):
            origin, offset = _place(op)
            places = open_at.setdefault(origin, {})
            if offset in places:  # the same place once more
                yield places
                places = open_at[origin] = {}
            places[offset] = op
        elif not op.pure and not (isinstance(op, Load) and op.invariant):
            yield from open_at.values()
            open_at = {}
    yield from open_at.values()


def _is_sum(op: Atomic, copied: Collection[Scope]) -> bool:
    """Of floats, into the memory of a field or an array: not into the block's, nor the thread's."""
    if not isinstance(op.ptr, Address) or op.ptr.scope.whole in copied:
        return False
    known = isinstance(root_of(op.ptr), ArrayBase | TreeBase)
    return known and op.kind == "add" and op.value.type is f32 and not op.users


def _place(op: Atomic) -> tuple[Hashable, int]:
    """The address of a sum: what is the same for neighbours, and a number of bytes."""
    address, inside = element_of(op.ptr)
    assert isinstance(address, Address)  # see `_is_sum`
    strides = tuple(int(stride.value) if isinstance(stride, Const) else stride for stride in address.strides)
    return (address.base, tuple(address.indices), strides), inside + address.offset


def _together(places: Places) -> Iterator[Run]:
    """Runs of neighbours among those sums."""
    order = {one: number for number, one in enumerate(places.values())}
    left = dict(sorted(places.items()))
    for width in _WIDTHS:
        for units in _neighbours(_units(left, width), width):
            several = len(units) - 1 + len(units) % 2  # an odd number
            if width < _WIDTHS[0] and several >= _FEWEST:
                units = [tuple(one for unit in units[:several] for one in unit), *units[several:]]
            for run in units:
                if len(run) > 1:
                    yield Run(run, max(run, key=order.__getitem__), width)


def _units(left: Places, width: int) -> Iterator[tuple[int, Unit]]:
    """So many neighbours each, whose first is aligned to the size of all, with where that one is. They leave `left`."""
    for first in list(left):
        unit = tuple(left[place] for k in range(width) if (place := first + _SIZE * k) in left)
        if len(unit) == width and (width == 1 or _alignment(unit[0].ptr, _SIZE * width)):
            for k in range(width):
                del left[first + _SIZE * k]
            yield first, unit


def _neighbours(units: Iterable[tuple[int, Unit]], width: int) -> Iterator[list[Unit]]:
    """Those that lie side by side."""
    row, end = list[Unit](), 0
    for first, unit in units:
        if row and first != end:
            yield row
            row = []
        row.append(unit)
        end = first + _SIZE * width
    if row:
        yield row


def _alignment(ptr: Value, size: int) -> bool:
    """Whether the address is a multiple of `size`."""
    for step in byte_steps(ptr):
        strides = [int(stride.value) if isinstance(stride, Const) else 1 for stride in step.strides]
        if step.offset % size or any(stride % size for stride in strides):
            return False
    return isinstance(root_of(ptr), TreeBase)
