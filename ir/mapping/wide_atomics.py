"""Finds sums of floats into adjacent memory that one instruction can add. See the pass `widen_atomics`."""

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
_FEWEST = 3  # of this many neighbours, two are aligned at any address


@dataclass(frozen=True)
class Run:
    """Sums into adjacent memory, in the order of their addresses, to be emitted at the place of `last`. They are as
    many as one instruction adds, or an odd number of units of `unit` aligned sums."""

    sums: tuple[Atomic, ...]
    last: Atomic
    unit: int


Runs = dict[Op, Run]  # the run of each sum
Unit = tuple[Atomic, ...]
Places = dict[int, Atomic]  # by the distance in bytes from a common address


def runs_of(task: Task, copied: Collection[Scope] = ()) -> Runs:
    """The sums of the task that are merged. `copied`: the memory of which each block has a private copy."""
    found: Runs = {}
    for block in _blocks(task.body):
        for places in _stretches(block, copied):
            for run in _runs(places):
                found |= dict.fromkeys(run.sums, run)
    return found


def _blocks(block: Block) -> Iterator[Block]:
    yield block
    for op in block:
        for region in op.regions:
            yield from _blocks(region)


def _stretches(block: Block, copied: Collection[Scope]) -> Iterator[Places]:
    """Groups of sums whose addresses differ only by constants, with no op in between that has a side effect or reads
    memory that may change."""
    open_at: dict[Hashable, Places] = {}
    for op in block:
        if isinstance(op, Atomic) and _is_sum(op, copied):
            origin, offset = _place(op)
            places = open_at.setdefault(origin, {})
            if offset in places:  # the same address again
                yield places
                places = open_at[origin] = {}
            places[offset] = op
        elif not op.pure and not (isinstance(op, Load) and op.invariant):
            yield from open_at.values()
            open_at = {}
    yield from open_at.values()


def _is_sum(op: Atomic, copied: Collection[Scope]) -> bool:
    """Whether it is a sum of floats into the memory of a field or an array, not into the memory of a
    block or a thread."""
    if not isinstance(op.ptr, Address) or op.ptr.scope.whole in copied:
        return False
    known = isinstance(root_of(op.ptr), ArrayBase | TreeBase)
    return known and op.kind == "add" and op.value.type is f32 and not op.users


def _place(op: Atomic) -> tuple[Hashable, int]:
    """The address of a sum: the part that is the same for neighbours, and a number of bytes."""
    address, inside = element_of(op.ptr)
    assert isinstance(address, Address)  # see `_is_sum`
    strides = tuple(int(stride.value) if isinstance(stride, Const) else stride for stride in address.strides)
    return (address.base, tuple(address.indices), strides), inside + address.offset


def _runs(places: Places) -> Iterator[Run]:
    """The runs of neighbours among these sums."""
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
    """Groups of this many neighbours whose first address is aligned to the size of all, with that address. The rest
    remains in `left`."""
    for first in list(left):
        unit = tuple(left[place] for k in range(width) if (place := first + _SIZE * k) in left)
        if len(unit) == width and (width == 1 or _alignment(unit[0].ptr, _SIZE * width)):
            for k in range(width):
                del left[first + _SIZE * k]
            yield first, unit


def _neighbours(units: Iterable[tuple[int, Unit]], width: int) -> Iterator[list[Unit]]:
    """The sums that are adjacent."""
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
