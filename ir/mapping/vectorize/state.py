"""The state of `vectorize`: the old ops, the new values that stand for theirs, and the active lanes.

A value that all lanes share stays a scalar. So does a value that is evenly spaced from lane to lane: the new scalar is
the value of lane 0. Any other value becomes a vector. `Vectorizer.scalar` and `Vectorizer.vector` give a value in the
form that its user needs.

`Point.active` holds the active lanes: a mask for each vector. At every op that does more than compute, at least one
lane is active (`Vectorizer.rest`); the sides of branches that run without a test do not need one (`mapping/sides.py`).

If several vectors run at once (`vectors`), each op is written for one vector after the other (`each_vector`), with a
mask of its own. An op whose result is the same scalar for all vectors is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from weft.ir.core import Block, BlockArg, Builder, Op, Value
from weft.ir.mapping.layouts import Layouts
from weft.ir.mapping.vectorize.memory_state import MemoryState
from weft.ir.ops import (
    Address,
    Alloca,
    AnyActive,
    Binary,
    Break,
    Cast,
    Const,
    Continue,
    EachLane,
    For,
    If,
    Lane,
    Load,
    Ramp,
    Splat,
    Store,
    Warn,
    While,
)
from weft.ir.registry import registers
from weft.ir.types import Lanes, Pointer, Prim, Type, i64, lanes, pointer, u1

if TYPE_CHECKING:
    from collections.abc import Generator

    from weft.ir.uniform import Uniformity

__all__ = ["WRITERS", "Mask", "Masks", "Point", "Vectorizer", "by_lane", "copied"]

Mask = tuple[Value, ...]  # for each vector, a mask of its lanes (or the local that holds it)
OpT = TypeVar("OpT", bound=Op)

# The functions that write ops in lanes, by class. They give the new value for the current vector, if there is one.
WRITERS: dict[type[Op], Callable[[Any, Any], Value | None]] = {}
by_lane = registers(WRITERS)  # other ops are copied, as scalars or on vectors


@dataclass(frozen=True)
class Masks:
    """The locals with the masks of a divergent loop."""

    loop: Mask  # the lanes that are still in the loop
    iteration: Mask  # the lanes that are still in this iteration; the same locals if no lane continues early


@dataclass
class Point:
    """Where new ops are inserted, and for which lanes."""

    build: Builder  # inserts ops at the end of a block
    active: Mask = ()  # the active lanes
    made: dict[Any, Value] = field(default_factory=dict[Any, Value])  # the pure ops to share, by what they hold


@dataclass
class Divergence:
    """The loops around the current point that lanes leave at different times."""

    masks: dict[Op, Masks] = field(default_factory=dict[Op, Masks])  # of each loop
    left: Op | None = None  # the loop that all lanes have left that are not active; None: there may be others


@dataclass
class LaneLocals:
    """The locals that became vectors."""

    allocated: dict[Value, Mask] = field(default_factory=dict[Value, Mask])  # the active lanes where each was allocated
    common: dict[Value, Value] = field(
        default_factory=dict[Value, Value]
    )  # scalar locals with what lanes have in common
    totals: Mapping[Value, Mask] = field(
        default_factory=dict[Value, Mask]
    )  # sums, by the accumulator outside of the loop


@dataclass
class Vectorizer:
    """Writes the iterations of a task or a loop as vectors."""

    point: Point  # where the next op is inserted
    facts: Uniformity  # what is known about the old values
    layouts: Layouts  # what is known about the memory of fields and arrays
    lanes: int  # the lanes of a vector
    vectors: int  # how many vectors run at once
    current: int = 0  # the number of the current vector
    known: dict[Value, tuple[Value, ...]] = field(default_factory=dict[Value, "tuple[Value, ...]"])  # see `scalar`
    locals: LaneLocals = field(default_factory=LaneLocals)  # those that became vectors
    loops: Divergence = field(default_factory=Divergence)  # those that lanes leave at different times
    memory: MemoryState = field(init=False)  # the accesses that are written together

    def __post_init__(self) -> None:
        self.memory = MemoryState(self.facts, self.layouts)

    @property
    def mask(self) -> Value:
        """The active lanes of the current vector."""
        return self.point.active[self.current]

    # ---- ops

    def block(self, block: Block) -> None:
        """Write the ops of an old block at the current point."""
        for op in block:
            self.op(op)

    def op(self, op: Op) -> None:
        """Write an old op, for one vector after another."""
        if op in self.facts.skipped:
            return
        self.point.build.span = op.span
        write, found = WRITERS.get(type(op), _copied), list[Value]()
        for _ in self.each_vector(self._alike(op)):
            made = write(self, op)
            if made is not None:
                found.append(made)
        if found:
            self.known[op] = tuple(found)

    def _alike(self, op: Op) -> bool:
        """Whether the op is written once for all vectors: control flow, and scalars."""
        if isinstance(op, (If, For, While, Break, Continue)):
            return True
        if isinstance(op, Warn):
            return False
        if isinstance(op, Store):
            together = self.facts.step(op.ptr) == 0 and not self.facts.is_split(op.ptr)
            return together and not self.facts.varies(op.value) and op not in self.facts.sums
        return self.facts.step(op) is not None and not self.is_spread(op)

    def each_vector(self, alike: bool = False) -> Iterator[int]:
        """Make one vector after another the current one, or only the first if they are alike."""
        before = self.current
        for number in range(1 if alike else self.vectors):
            self.current = number
            yield number
        self.current = before

    # ---- new ops

    def add(self, op: OpT) -> OpT:
        """Insert a new op at the current point."""
        return self.point.build.add(op)

    @contextmanager
    def into(self, block: Block, active: Mask | None = None) -> Generator[None, None, None]:
        """Insert new ops at the end of a new block, for these lanes, or for those that are active. Afterwards, ops are
        inserted where they were before."""
        before = self.point
        build, lanes = Builder(block, span=before.build.span), before.active if active is None else active
        self.point = Point(build, lanes, dict(before.made))
        yield
        self.point = before

    @contextmanager
    def each(self, cold: bool = False) -> Generator[Value, None, None]:
        """A loop over the active lanes of the current vector, in ascending order. Gives the number of the lane. `cold`:
        it rarely runs."""
        number = BlockArg(i64)
        loop = self.add(EachLane(self.mask, self.vectors == 1, cold, body=Block([number])))
        with self.into(loop.body):
            yield number

    def rest(self) -> None:
        """Insert what follows in the current block into `if any_active`, because the active lanes may all have left.

        This is necessary wherever lanes may have left, because ops that do more than compute are written for at least
        one active lane: without one, a `load` of an address that all lanes share may read beyond a field, and an
        `each_lane` or a `warn` runs for a lane that has left.

        It is correct under two conditions. No lane that is still in the block is missing in `point.active`. And what
        comes after the old block, such as the next iteration of a loop, is inserted after the `with into` that wrote
        the block, so that it is not skipped together with the rest and uses no value of it."""
        build = self.point.build
        self.point.build = Builder(self.add(If(self.any(self.point.active))).then, span=build.span)

    def wide(self, type: Type) -> Lanes:
        """The type of a vector of such values."""
        return lanes(type, self.lanes)

    def const(self, value: int | float | bool, type: Prim) -> Value:
        """A constant."""
        return self.once((type, repr(value)), lambda: Const(value, type=type))

    def splat(self, x: Value) -> Value:
        """A scalar in all lanes."""
        return self.once((x, 0), lambda: Splat(x, type=self.wide(x.type)))

    def literal(self, value: int | float | bool, type: Prim) -> Value:
        """A constant in all lanes."""
        return self.splat(self.const(value, type))

    def ramp(self, x: Value, step: int, first: int = 0) -> Value:
        """A scalar plus `step` for each lane, from lane number `first` on."""
        return self.once((x, step, first), lambda: Ramp(x, step, first, type=self.wide(x.type)))

    def binary(self, kind: str, a: Value, b: Value) -> Value:
        """An operator on two scalars or two vectors."""
        return self.add(Binary(kind, a, b))

    def moved(self, x: Value, by: int) -> Value:
        """A scalar, an integer or an address, plus a constant. An integer wraps around."""
        if not by:
            return x
        if isinstance(x.type, Prim):
            number = self.const(_wrapped(by, x.type), x.type)
            return self.once((x, "moved", by), lambda: Binary("add", x, number))
        assert isinstance(x, Address)
        return self.once((x, "moved", by), lambda: Address(x, [], [], by, x.scope, type=x.type))

    def local(self, type: Type) -> Alloca:
        """A new local of that type."""
        return self.add(Alloca(type=pointer(type)))

    def load(self, local: Value) -> Load:
        """The value of a local."""
        assert isinstance(local.type, Pointer)
        return self.add(Load(local, type=local.type.elem))

    def once(self, key: Any, make: Callable[[], OpT]) -> Value:
        """A pure op that is made once in a block and the blocks inside it."""
        made = self.point.made
        found = made.get(key)
        if found is None:
            made[key] = found = self.add(make())
        return found

    # ---- values

    def scalar(self, value: Value) -> Value:
        """A value that is shared or evenly spaced: what lane 0 of the current vector has."""
        found = self.known.get(value, (value,))
        first = found[self.current % len(found)]
        return self.moved(first, (self.facts.step(value) or 0) * self.current * self.lanes)

    def vector(self, value: Value) -> Value:
        """What all lanes of the current vector have."""
        step = self.facts.step(value)
        if step is None or self.is_spread(value):
            return self.known[value][self.current]
        if not step:
            return self.splat(self.scalar(value))
        return self.ramp(self.known[value][0], step, self.current * self.lanes)

    def is_spread(self, value: Value) -> bool:
        """Whether the new value is a vector, or one for each vector, although the step is known: an address in a split
        local."""
        return self.facts.is_split(value)

    def first(self, value: Value) -> Value:
        """What lane 0 of the current vector has."""
        if self.facts.step(value) is not None:
            return self.scalar(value)
        return self.element(self.vector(value), self.const(0, i64))

    def of_lane(self, value: Value, number: Value) -> Value:
        """What the lane of that number (i64) of the current vector has."""
        step = self.facts.step(value)
        if step is None:
            return self.element(self.vector(value), number)
        first = self.scalar(value)
        return self.once((first, step, number), lambda: self._stepped(first, step, number)) if step else first

    def element(self, vector: Value, number: Value) -> Value:
        """What a lane has of a new vector."""
        return self.once((Lane, vector, number), lambda: Lane(vector, number))

    def _stepped(self, first: Value, step: int, number: Value) -> Op:
        """`first + number * step`, not inserted yet."""
        if isinstance(first.type, Pointer):
            assert isinstance(first, Address)
            return Address(first, [number], [self.const(step, i64)], 0, first.scope, type=first.type)
        by = self.binary("mul", number, self.const(step, i64)) if step != 1 else number
        return Binary("add", first, by if first.type is i64 else self.add(Cast(by, type=first.type)))

    # ---- masks

    def full_mask(self) -> Value:
        """A mask of all lanes."""
        return self.literal(True, u1)

    def intersection(self, a: Mask, b: Mask) -> Mask:
        """The lanes in both masks."""
        return tuple(self.binary("and", x, y) for x, y in zip(a, b, strict=True))

    def difference(self, a: Mask, b: Mask) -> Mask:
        """The lanes of `a` that are not in `b`."""
        return self.intersection(a, tuple(self.binary("xor", y, self.full_mask()) for y in b))

    def any(self, mask: Mask) -> Value:
        """Whether a lane of any vector is active."""
        some = mask[0]
        for other in mask[1:]:
            some = self.binary("or", some, other)
        return self.add(AnyActive(some))

    def condition(self, value: Value) -> Mask:
        """A u1 as a mask."""
        return tuple(self.vector(value) for _ in self.each_vector())

    def mask_slots(self, mask: Mask) -> Mask:
        """Locals with these masks."""
        slots = tuple(self.local(self.wide(u1)) for _ in mask)
        self.write_mask(slots, mask)
        return slots

    def read_mask(self, slots: Mask) -> Mask:
        """The masks in locals."""
        return tuple(self.load(slot) for slot in slots)

    def write_mask(self, slots: Mask, mask: Mask) -> None:
        """Store masks in locals."""
        for slot, part in zip(slots, mask, strict=True):
            self.add(Store(slot, part))

    def leave(self, slots: Mask) -> None:
        """Remove the active lanes from the masks in locals."""
        self.write_mask(slots, self.difference(self.read_mask(slots), self.point.active))


def copied(arg: BlockArg) -> BlockArg:
    """Such an argument for a new block."""
    return BlockArg(arg.type, arg.name, arg.span)


def _copied(v: Vectorizer, op: Op) -> Value | None:
    """The same op on scalars, or on vectors if lanes may have different values."""
    use = v.vector if v.facts.step(op) is None else v.scalar
    made = op.clone({value: use(value) for value in op.operands})
    if use == v.vector:
        made.type = v.wide(op.type)
    return v.add(made)


def _wrapped(number: int, type: Prim) -> int:
    """The number as that integer type holds it."""
    low = number & ((1 << type.bits) - 1)
    return low - (1 << type.bits) if type.is_signed and low >> (type.bits - 1) else low
