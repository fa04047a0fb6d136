"""Which elements of memory the elements that a kernel writes may depend on, for loops whose indices tell it.

    for i, j: y[i, j] = x[i + 1, j] - x[i - 1, j]       y[i, j] depends on x[i - 1 .. i + 1, j]

A *flow* is a part of the kernel: one parallel loop, or the code between them. What it writes may depend on everything
that it reads. An index that is a loop index plus a number in a known range is a `Place`. It may wrap around
(`(i + 1) % n`) or end at a border (`max(i - 1, 0)`). Nothing is known of any other index (None)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.companions import carries, pointee
from weft.ir.core import Op, Value, ops_of
from weft.ir.intervals import interval
from weft.ir.linear import index_form
from weft.ir.rewrite import literal
from weft.ir.types import Prim

__all__ = ["Access", "Flow", "Place", "flows_of"]

Loop = ops.ParallelFor | ops.StructFor
_FARTHEST = 1 << 20  # an offset is not larger


@dataclass(frozen=True)
class Place:
    """Index `loop` of the loop plus a number from `low` to `high`. With a `modulus`, the sum is taken modulo it."""

    loop: int
    low: int
    high: int
    modulus: int = 0

    def centred(self) -> Place:
        """The same place, with the smallest offsets."""
        if not self.modulus:
            return self
        shift = (self.low + self.modulus // 2) // self.modulus * self.modulus
        return Place(self.loop, self.low - shift, self.high - shift, self.modulus)


@dataclass(frozen=True)
class Access:
    """An access: "field:2", "param:0" or "local:1", and the place of each index."""

    memory: str
    places: tuple[Place | None, ...]


@dataclass
class Flow:
    """A part of a kernel: what it reads and writes of floats."""

    reads: list[Access] = field(default_factory=list[Access])
    writes: list[Access] = field(default_factory=list[Access])


def flows_of(kernel: ops.Kernel) -> list[Flow] | None:
    """The flows of a simplified kernel, in order. None if it has an op whose effect is not known."""
    every = ops_of(kernel.body)
    if any(isinstance(op, (ops.Invoke, ops.Simt, ops.Shared)) for op in every):
        return None
    finder = _Finder(kernel)
    outside = Flow()
    flows = list[Flow]()
    for op in kernel.body:
        if not isinstance(op, (ops.ParallelFor, ops.StructFor)):
            finder.add(outside, op, None)
            continue
        flow = Flow()
        finder.add(flow, op, op)
        flows.append(flow)
    if not outside.reads and not outside.writes:
        return flows
    # values and locals between the loops: before and after each of them, which also covers what a loop reads of them
    for flow in flows:
        flow.reads += outside.reads
    return [part for flow in flows for part in (outside, flow)] + [outside]


class _Finder:
    """Collects the accesses of ops."""

    def __init__(self, kernel: ops.Kernel) -> None:
        self._fields = {symbol: f"field:{number}" for number, symbol in enumerate(kernel.fields)}
        self._locals: dict[Value, str] = {}

    def add(self, flow: Flow, top: Op, loop: Loop | None) -> None:
        """Add the accesses of an op at the top level, and of those in it."""
        for op in top.walk():
            ptr = getattr(op, "ptr", None)
            if ptr is None or not carries(pointee(ptr)):
                continue
            root = root_of(ptr)
            inside = loop is not None and isinstance(root, ops.Alloca) and root.within(loop)
            access = None if inside else self._access(root, loop)
            if access is None:
                continue
            if not isinstance(op, ops.Store):
                flow.reads.append(access)
            if not isinstance(op, (ops.Load, ops.AtomicLoad)):
                flow.writes.append(access)

    def _access(self, root: Value, loop: Loop | None) -> Access | None:
        if isinstance(root, ops.FieldPtr):
            first = root.field.offset or (0,) * len(root.field.shape)
            return Access(self._fields[root.field], _places(root.indices, first, loop))
        if isinstance(root, ops.ArrayPtr) and isinstance(root.array, ops.Arg):
            return Access(f"param:{root.array.index}", _places(root.indices, (0,) * len(root.indices), loop))
        return Access(self._locals.setdefault(root, f"local:{len(self._locals)}"), ())


def _places(indices: Sequence[Value], first: Sequence[int], loop: Loop | None) -> tuple[Place | None, ...]:
    if loop is None:
        return (None,) * len(indices)
    return tuple(_place(index, low, loop) for index, low in zip(indices, first, strict=True))


def _place(index: Value, first: int, loop: Loop) -> Place | None:
    """The place of an index of an element that exists."""
    while isinstance(index, ops.Cast) and interval(index.x) == interval(index):
        index = index.x
    if isinstance(index, ops.Binary) and (number := literal(index.rhs)) is not None:
        if index.kind in ("mod", "and"):
            return _wrapped(index, int(number), loop)
        if index.kind in ("max", "min"):
            return _clamped(index, int(number), loop)
    form = index_form(index, first)
    own = [(value, count) for _, count, value in form.terms if value in loop.body.args]
    if len(own) != 1 or own[0][1] != 1:
        return None
    low = high = form.constant
    for _, count, value in form.terms:
        if value is not own[0][0]:
            ends = [count * end for end in interval(value)]
            low, high = low + min(ends), high + max(ends)
    if max(abs(low), abs(high)) > _FARTHEST:
        return None
    return Place(next(k for k, arg in enumerate(loop.body.args) if arg is own[0][0]), low, high)


def _wrapped(index: ops.Binary, number: int, loop: Loop) -> Place | None:
    """`x % n`, and `x & (n - 1)` where n is a power of two. The sum must not wrap around in its type first."""
    modulus = number + 1 if index.kind == "and" else number
    inner = _exact(index.lhs, loop)
    if modulus < 2 or (index.kind == "and" and modulus & number) or inner is None or inner.modulus:
        return None
    return Place(inner.loop, inner.low, inner.high, modulus).centred()


def _clamped(index: ops.Binary, number: int, loop: Loop) -> Place | None:
    """`max(x, number)` or `min(x, number)`: x, or the number where x is on its other side."""
    inner = _exact(index.lhs, loop)
    if inner is None or inner.modulus:
        return None
    begin, end = interval(loop.body.args[inner.loop])
    if index.kind == "max":
        return _near(Place(inner.loop, inner.low, max(inner.high, number - begin)))
    return _near(Place(inner.loop, min(inner.low, number - end), inner.high))


def _near(place: Place) -> Place | None:
    return place if max(abs(place.low), abs(place.high)) <= _FARTHEST else None


def _exact(value: Value, loop: Loop) -> Place | None:
    """The place of a sum that does not wrap around in its type."""
    place = _place(value, 0, loop)
    if place is None or place.modulus:
        return None
    begin, end = interval(loop.body.args[place.loop])
    assert isinstance(value.type, Prim)
    low, high = -(2**31) if value.type.is_signed else 0, 2**31 - 1
    return place if low <= begin + place.low and end + place.high <= high else None
