"""The cells around a visited one, and which of them an element is in.

In a loop over cells, indices near the visited cell are (index of the cell) x (size of a cell) + (a rest that depends on
loops over the elements of a cell). So an element is in one of few cells, which differ from the visited one by known
steps. Their slots are the same for all elements of the visited cell: they are looked up once, where the iteration
begins, and an access chooses among them. If LLVM unrolls the loop of an axis, it makes the choice.

An index may be kept in a range by `max` and `min`. Then the cells are kept in the range of the cells.

No sum in the index may wrap around: the cell of a sum that wraps is another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from weft.ir.cell_places import CellPlace, place_of
from weft.ir.core import BlockArg, Builder, Value
from weft.ir.intervals import interval
from weft.ir.linear import Form, exact_form
from weft.ir.ops import Binary, Const, FieldPtr, For, Select, Task, VisitedIndex, VisitedSlot
from weft.ir.symbols import Block, NodeSymbol
from weft.ir.transforms.near_cells import number_of, rest_of
from weft.ir.types import u1, u32

__all__ = ["Around", "around", "is_exact"]

_MOST = 8  # cells among which an access chooses

LookUp = Callable[[Builder, NodeSymbol, Sequence[Value]], Value]


@dataclass(frozen=True)
class Beside:
    """An index near the visited cell, along an axis with cells of that size. If it is outside of [low, high], that
    limit is meant."""

    place: CellPlace
    size: int
    low: int | None = None
    high: int | None = None

    @property
    def leaf(self) -> VisitedIndex:
        assert self.place.leaf is not None
        return self.place.leaf

    @property
    def steps(self) -> range:
        """The steps from the visited cell to those in which the place may be."""
        return range(self.place.low // self.size, self.place.high // self.size + 1)

    def moved(self, by: int) -> Beside:
        """The index plus a number."""
        at, low, high = self.place, self.low, self.high
        place = replace(at, constant=at.constant + by, low=at.low + by, high=at.high + by)
        return Beside(place, self.size, None if low is None else low + by, None if high is None else high + by)

    def limited(self, kind: str, limit: int) -> Beside | None:
        """The maximum or minimum of the index and a number. None if nothing but a limit would be left."""
        low, high = self.low, self.high
        if kind == "max":
            low = limit if low is None else max(low, limit)
        else:
            high = limit if high is None else min(high, limit)
        return None if low is not None and high is not None and high < low else replace(self, low=low, high=high)


@dataclass(frozen=True)
class Around:
    """An element near the visited cell, by its index along each axis of the cells of a node."""

    node: NodeSymbol
    block: Block
    axes: tuple[Beside, ...]

    def slot(self, build: Builder, look_up: LookUp) -> Value:
        """The slot of the cell in which the element is, 0 if that is none of the node. The task changes no cells of the
        node, so the visited cell has the slot of which the list knows."""
        chosen: Value | None = None
        for step in product(*(one.steps for one in self.axes)):
            slot = self._slot(build, step, look_up)
            chosen = slot if chosen is None else build.add(Select(self._is_step(build, step), slot, chosen))
        assert chosen is not None
        return chosen

    def inside(self, build: Builder, number: int, type: object) -> Value | None:
        """The place in that cell along an axis. None if it must be computed from the whole index."""
        one = self.axes[number]
        if not _is_whole(one) or one.size & (one.size - 1):
            return None
        if len(one.steps) == 1:
            at = rest_of(build, type, replace(one.place, constant=one.place.constant - one.steps[0] * one.size))
        else:
            rest = rest_of(build, type, one.place)
            at = build.add(Binary("and", rest, number_of(build, one.size - 1, type)))
        for step in one.steps:
            for kind, limit in _limits(one, step):
                start = _start(build, one.leaf)
                cell = _stepped(start, one.leaf, step)
                is_beyond = "lt" if kind == "max" else "gt"
                beyond: Value = start.add(Binary(is_beyond, cell, number_of(start, limit, cell.type), type=u1))
                here = _in_step(build, one, step)
                holds = beyond if here is None else build.add(Binary("and", here, beyond, type=u1))
                at = build.add(Select(holds, number_of(build, 0 if kind == "max" else one.size - 1, type), at))
        return at

    def _slot(self, build: Builder, step: Sequence[int], look_up: LookUp) -> Value:
        leaves = [one.leaf for one in self.axes]
        visited = [(self.node, leaves[0].entry, axis) for axis in range(len(leaves))]
        free = not any(_limits(one, by) for one, by in zip(self.axes, step, strict=True))
        if free and not any(step) and [(leaf.node, leaf.entry, leaf.axis) for leaf in leaves] == visited:
            return build.add(VisitedSlot(self.node, leaves[0].entry))
        build = _start(build, leaves[0])
        at, there = list[Value](), list[Value]()
        for one, by, extent in zip(self.axes, step, self.node.shape, strict=True):
            index = _limited(build, one, by, _stepped(build, one.leaf, by))
            at.append(index if self.node.hashed else _in_table(build, index, extent, there))
        slot = look_up(build, self.node, at)
        if not there:
            return slot
        holds = there[0]
        for test in there[1:]:
            holds = build.add(Binary("and", holds, test, type=u1))
        return build.add(Select(holds, slot, number_of(build, 0, u32)))

    def _is_step(self, build: Builder, step: Sequence[int]) -> Value:
        """Whether the element is in the cell with that step."""
        holds: Value | None = None
        for one, number in zip(self.axes, step, strict=True):
            test = _in_step(build, one, number)
            if test is not None:
                holds = test if holds is None else build.add(Binary("and", holds, test, type=u1))
        assert holds is not None
        return holds


def around(node: NodeSymbol, block: Block, index: Sequence[Value]) -> Around | None:
    """The element with that index, if the cells in which it may be are known, and few."""
    axes = [_beside(index[axis], size) for axis, size in block]
    known = tuple(one for one in axes if one is not None and _is_near(one))
    if len(known) < len(axes) or any(one.leaf.entry is not known[0].leaf.entry for one in known):
        return None
    return Around(node, block, known) if prod(len(one.steps) for one in known) <= _MOST else None


def is_exact(ptr: FieldPtr, near: Around, masks: Sequence[Value]) -> bool:
    """Whether these conditions are false only where an index is out of range, and is then in no cell."""
    cells = {axis: size * count for (axis, size), count in zip(near.block, near.node.shape, strict=True)}
    for axis, (index, extent) in enumerate(zip(ptr.indices, ptr.field.shape, strict=True)):
        if isinstance(index, Select) and index.condition in masks:
            first = ptr.field.offset[axis] if ptr.field.offset else 0
            if cells.get(axis) != extent or not _is_range_test(index.condition, index.a, first, first + extent):
                return False
    return True


def _is_range_test(condition: Value, index: Value, first: int, end: int) -> bool:
    """Whether a condition holds for all indices in [first, end)."""
    if not isinstance(condition, Binary):
        return False
    if condition.kind == "and":
        return all(_is_range_test(part, index, first, end) for part in (condition.lhs, condition.rhs))
    limit = condition.rhs.value if isinstance(condition.rhs, Const) else None
    return condition.lhs is index and (condition.kind, limit) in (("ge", first), ("lt", end))


def _beside(value: Value, size: int) -> Beside | None:
    place, form = place_of(value), exact_form(value)
    if place is not None and place.leaf is not None:
        return Beside(place, size) if _is_sum(form, place) else None
    if not isinstance(value, Binary) or value.kind not in ("add", "sub", "max", "min"):
        return None
    if value.kind in ("add", "sub") and _may_wrap(form, value):
        return None
    a, b = value.lhs, value.rhs
    if isinstance(a, Const) and value.kind != "sub":
        a, b = b, a
    if not isinstance(b, Const):
        return None
    inner, number = _beside(a, size), int(b.value)
    if inner is None:
        return None
    if value.kind in ("max", "min"):
        return inner.limited(value.kind, number)
    return inner.moved(number if value.kind == "add" else -number)


def _is_sum(form: Form, place: CellPlace) -> bool:
    """Whether the parts of an index are its parts as numbers, and not only modulo the width of a type: nothing wraps
    around."""
    found = {term: times for _, times, term in form.terms}
    parts = dict(place.terms)
    if place.leaf is not None:
        parts[place.leaf] = place.factor
    return form.constant == place.constant and found == parts


def _may_wrap(form: Form, value: Value) -> bool:
    """Whether a sum may wrap around: its form is the sum as a whole then."""
    return any(term is value for _, _, term in form.terms)


def _is_near(one: Beside) -> bool:
    """Whether the cell of an index is the visited one plus a step, which depends on loops inside of the iteration."""
    if one.place.factor != one.size:
        return False
    if len(one.steps) == 1:
        return True
    return all(
        isinstance(term, BlockArg) and term.block and isinstance(term.block.owner, For) for term in one.place.terms
    )


def _is_whole(one: Beside) -> bool:
    """Whether the limits of an index are at the ends of cells."""
    return (one.low or 0) % one.size == 0 and (one.high is None or (one.high + 1) % one.size == 0)


def _start(build: Builder, leaf: VisitedIndex) -> Builder:
    """Where the iteration begins, if it runs a whole cell. Most cells have elements that need their neighbours, also
    where a condition is around the access."""
    body = leaf.entry.block if isinstance(leaf.entry, BlockArg) else None
    if body is None or not isinstance(body.owner, Task) or body.args != [leaf.entry]:
        return build
    return Builder(body, body.first, build.span)


def _stepped(build: Builder, leaf: VisitedIndex, by: int) -> Value:
    """The index of a cell beside the visited one."""
    index: Value = build.add(VisitedIndex(leaf.node, leaf.entry, leaf.axis))
    return build.add(Binary("add", index, number_of(build, by, index.type))) if by else index


def _limits(one: Beside, step: int) -> list[tuple[str, int]]:
    """The limits of the index of the cell with that step which it may be beyond: how they limit it, and the cell."""
    found, last = list[tuple[str, int]](), one.leaf.node.shape[one.leaf.axis] - 1
    if one.low is not None and step < one.low // one.size:
        found.append(("max", one.low // one.size))
    if one.high is not None and last + step > one.high // one.size:
        found.append(("min", one.high // one.size))
    return found


def _limited(build: Builder, one: Beside, step: int, cell: Value) -> Value:
    """The index of the cell with that step, kept in the range in which that of the element is kept."""
    for kind, limit in _limits(one, step):
        cell = build.add(Binary(kind, cell, number_of(build, limit, cell.type)))
    return cell


def _in_table(build: Builder, cell: Value, extent: int, there: list[Value]) -> Value:
    """An index that is in the table, and is that of the cell if the conditions hold that are added."""
    (low, high), inside = interval(cell), cell
    for kind, test, end, beyond in (("max", "ge", 0, low < 0), ("min", "le", extent - 1, high >= extent)):
        if beyond:
            limit = number_of(build, end, cell.type)
            there.append(build.add(Binary(test, cell, limit, type=u1)))
            inside = build.add(Binary(kind, inside, limit))
    return inside


def _in_step(build: Builder, one: Beside, step: int) -> Value | None:
    """Whether a place is in the cell with that step. None if it always is."""
    holds: Value | None = None
    for kind, bound, tested in (
        ("ge", step * one.size, step != one.steps[0]),
        ("lt", (step + 1) * one.size, step != one.steps[-1]),
    ):
        if tested:
            rest = rest_of(build, one.leaf.type, one.place)
            test = build.add(Binary(kind, rest, number_of(build, bound, rest.type), type=u1))
            holds = test if holds is None else build.add(Binary("and", holds, test, type=u1))
    return holds
