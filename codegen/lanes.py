"""Iterations of a parallel loop in SIMD lanes, as GPUs run theirs: what LLVM's loop vectorizer cannot do.

LLVM makes vectors of loops whose bodies are straight. Here a body may hold anything: `lanes` neighbours along the
innermost axis run together, one lane each. What `ir/uniform.py` calls uniform stays scalar, and so does what moves
evenly from lane to lane (its register holds lane 0's value); everything else is a vector `<lanes x T>`. `mask`
(`<lanes x i1>`) tells which lanes are at this point of the program:

    if %p {A} else {B}       both sides, one after the other, each with its lanes; a side without lanes is jumped over
    while { A; break }       rounds until no lane is left; `break` and `continue` take lanes out of the masks
    x[%j], x[idx[%j]]        masked vector load, gather; stores alike
    %local                   a vector; stores leave the lanes alone that are not here

Wherever ops are written that do more than compute, at least one lane is active. The last vector of a row is partly
masked off from the start, so no scalar rest is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from weft.codegen.function import EMITTERS, Body, FunctionWriter, spell
from weft.codegen.lane_layouts import Layouts
from weft.ir.alias import root_of
from weft.ir.core import Block, Op, Value
from weft.ir.ops import Alloca, Atomic, Const, Load, Store
from weft.ir.types import Prim, u1

if TYPE_CHECKING:
    from collections.abc import Generator

    from weft.codegen.lane_gathers import CellParts
    from weft.ir.uniform import Uniformity

__all__ = ["LANE_EMITTERS", "Fold", "LaneWriter", "Masks", "Row", "Waiting", "by_lane"]

LANE_EMITTERS: dict[type[Op], Callable[[Any, Any], str | None]] = {}


def by_lane(cls: type[Op]) -> Callable[[Callable[[LaneWriter, Any], str | None]], Any]:
    """Register what writes ops of class `cls` in lanes; other ops are written as ever, on vectors."""

    def register(function: Callable[[LaneWriter, Any], str | None]) -> Callable[[LaneWriter, Any], str | None]:
        LANE_EMITTERS[cls] = function
        return function

    return register


@dataclass(frozen=True)
class Masks:
    """Of a divergent loop: where it keeps the lanes still in the loop, and those still in this round."""

    loop: str
    round: str


@dataclass(frozen=True)
class Row:
    """Addresses that are `first`, `first + step`, `first + 2 * step` ... in the active lanes if `even` (a register;
    empty: surely)."""

    even: str
    first: str
    step: int


@dataclass
class Waiting:
    """Vectors that wait for others to be stored with, into cells of a row `step` bytes apart, the first one at `first`:
    `values` by their place in the cell, in elements. `ptr` is one of the addresses; `store` does it."""

    key: Hashable
    first: str
    ptr: Value
    step: int
    store: Callable[[LaneWriter, Waiting], None]
    values: dict[int, str] = field(default_factory=dict[int, str])


class Together(Protocol):
    """Atomics that wait for others (see `lane_atomics.py`)."""

    def sees(self, op: Op) -> bool:
        """Whether the op must not be written before those that wait."""
        ...

    def add(self, f: LaneWriter, op: Atomic) -> None:
        """One more."""
        ...

    def flush(self, f: LaneWriter) -> None:
        """Make them."""
        ...


class Fold(Protocol):
    """How a loop is written whose rounds run in lanes, or that holds one (see `lane_folds.py`)."""

    def write(self, f: LaneWriter, op: Op, alone: Callable[[Op], None]) -> None:
        """Write it; `alone` writes an op the usual way."""
        ...


@dataclass
class LaneWriter(FunctionWriter):
    """A function whose iterations run in `lanes`. `mask`: the lanes that are here; `region`: where to go when none is
    left; `homes`: the mask where each split local was made; `leaving`: the loop that lanes missing in `mask` have left;
    `rows`: addresses that may stand in a row (see `lane_strides`); `waiting`: stores that others may join;
    `folds`: loops whose rounds run in lanes, and loops around these; `totals`: the vectors that they sum up in;
    `parts`: what is loaded of the same cells; `gathered`: cells that were loaded here, while nothing is written;
    `spread`: vectors of addresses computed here, but for constant distances, by what of; `anchors`: the address of each
    lane of such a vector; `together`: atomics that wait for others."""

    lanes: int = 1
    facts: Uniformity = None  # type: ignore[assignment]
    mask: str = ""
    region: str = ""
    masks: dict[Op, Masks] = field(default_factory=dict[Op, Masks])
    homes: dict[Value, str] = field(default_factory=dict[Value, str])
    leaving: Op | None = None
    layouts: Layouts = field(default_factory=Layouts)
    rows: dict[Value, Row] = field(default_factory=dict[Value, "Row"])
    waiting: Waiting | None = None
    folds: Mapping[Op, Fold] = field(default_factory=dict[Op, "Fold"])
    totals: dict[Value, str] = field(default_factory=dict[Value, str])
    parts: CellParts | None = None
    gathered: dict[Hashable, list[str]] = field(default_factory=dict[Hashable, "list[str]"])
    spread: dict[Hashable, str] = field(default_factory=dict[Hashable, str])
    anchors: dict[Hashable, list[str]] = field(default_factory=dict[Hashable, "list[str]"])
    together: Together | None = None

    @contextmanager
    def wide(self, width: int = 0) -> Generator[None, None, None]:
        """Write vectors of all lanes (or values of that width) for a while."""
        before, self.width = self.width, width or self.lanes
        yield
        self.width = before

    def write(self, op: Op) -> None:
        """Write one op: its own way, or as a scalar if the lanes agree on it, or as vectors."""
        if not self.mask:  # outside of what runs in lanes
            return self.write_alone(op)
        if op in self.facts.skipped:
            return None
        if not op.pure:
            self._let_go(op)
        if isinstance(op, Atomic) or (isinstance(op, Store) and not isinstance(root_of(op.ptr), Alloca)):
            self.gathered.clear()
        own = LANE_EMITTERS.get(type(op))
        if own is not None:
            result = own(self, op)
        elif self.facts.step(op) is not None:
            return super().write(op)
        else:
            with self.wide():
                result = EMITTERS[type(op)](self, op)
        if result is not None:
            self.values[op] = result
        return None

    def block(self, block: Block) -> None:
        """Write all ops of a block, and what still waits at its end. (What was computed here is seen nowhere else.)"""
        self._forget()
        super().block(block)
        self.flush()
        self._forget()

    def _forget(self) -> None:
        for known in (self.gathered, self.spread, self.anchors):
            known.clear()

    def flush(self) -> None:
        """Write the stores and the atomics that wait for others to join them."""
        waiting, self.waiting = self.waiting, None
        if waiting is not None:
            waiting.store(self, waiting)
        if self.together is not None:
            self.together.flush(self)

    def _let_go(self, op: Op) -> None:
        """Before an op that may see what waits, or must not come before it: write that."""
        stores = self.waiting is not None and not isinstance(op, (Alloca, Store)) and not _reads_local(op)
        if stores or (self.together is not None and self.together.sees(op)):
            self.flush()

    def write_with(self, op: Op, given: Mapping[Value, str]) -> str:
        """Write the op for one lane, with those texts for its operands; the text of its result."""
        before = {value: self.values.get(value) for value in given}
        self.values.update(given)
        result = EMITTERS[type(op)](self, op) or ""
        for value, text in before.items():
            if text is None:
                del self.values[value]
            else:
                self.values[value] = text
        return result

    def write_alone(self, op: Op) -> None:
        """Write one op for one iteration: a loop whose rounds run in lanes its own way."""
        fold = self.folds.get(op)
        if fold is None:
            return super().write(op)
        return fold.write(self, op, super().write)

    def use(self, value: Value) -> str:
        """The operand text of a value, in the width that is being written."""
        step = self.facts.step(value) if self.width > 1 else 0
        if self.width == 1 or step is None:
            return super().use(value)
        if isinstance(value, Const):
            assert isinstance(value.type, Prim)
            return self.literal(value.value, value.type)
        same = self.splat(super().use(value), spell(value.type))
        if step == 0:
            return same
        assert isinstance(value.type, Prim)
        return self.set(f"add {self.spell(value.type)} {same}, {self.ramp(step, value.type)}")

    def first(self, value: Value) -> str:
        """The value in lane 0."""
        with self.wide(1):
            text = self.use(value)
        if self.facts.step(value) is not None:
            return text
        return self.set(f"extractelement <{self.lanes} x {spell(value.type)}> {text}, i64 0")

    def splat(self, scalar: str, type: str) -> str:
        """A vector with the scalar in every lane."""
        vector = f"<{self.lanes} x {type}>"
        one = self.set(f"insertelement {vector} poison, {type} {scalar}, i64 0")
        return self.set(f"shufflevector {vector} {one}, {vector} poison, <{self.lanes} x i32> zeroinitializer")

    def ramp(self, step: int, type: Prim) -> str:
        """The constant vector 0, step, 2 * step ..."""
        name = spell(type)
        return f"<{', '.join(f'{name} {_wrapped(k * step, type.bits)}' for k in range(self.lanes))}>"

    # ---- masks

    @property
    def mask_type(self) -> str:
        """The type of a mask."""
        return f"<{self.lanes} x i1>"

    def both(self, a: str, b: str) -> str:
        """The lanes in both masks."""
        return self.set(f"and {self.mask_type} {a}, {b}")

    def without(self, a: str, b: str) -> str:
        """The lanes of `a` that are not in `b`."""
        others = self.set(f"xor {self.mask_type} {b}, splat (i1 true)")
        return self.both(a, others)

    def any(self, mask: str) -> str:
        """Whether the mask has a lane."""
        bits = self.set(f"bitcast {self.mask_type} {mask} to i{self.lanes}")
        return self.set(f"icmp ne i{self.lanes} {bits}, 0")

    def all(self, lanes: str, among: str) -> str:
        """Whether `lanes` holds for all lanes of the mask `among`."""
        return self.set(f"xor i1 {self.any(self.without(among, lanes))}, true")

    def condition(self, value: Value) -> str:
        """A u1 as a mask."""
        assert value.type is u1
        with self.wide():
            return self.use(value)

    def read_mask(self, slot: str) -> str:
        """The mask kept in a stack slot."""
        return self.set(f"load {self.mask_type}, ptr {slot}, align 8")

    def write_mask(self, slot: str, mask: str) -> None:
        """Keep a mask in a stack slot."""
        self.do(f"store {self.mask_type} {mask}, ptr {slot}, align 8")

    def leave(self, slot: str) -> None:
        """Take the lanes that are here out of the mask in that slot."""
        self.write_mask(slot, self.without(self.read_mask(slot), self.mask))

    @contextmanager
    def each(self) -> Generator[str, None, None]:
        """A loop over the lanes that are here, from the lowest up; gives the lane's number (i64)."""
        bits, head, done = f"i{self.lanes}", self.fresh_label("lane"), self.fresh_label("done")
        start = self.set(f"bitcast {self.mask_type} {self.mask} to {bits}")
        left, rest, latch = self.register("left"), self.register("rest"), self.fresh_label("latch")
        before = self.label
        self.jump(head)
        self.lines.append(f"{head}:")
        self.lines.append(f"  {left} = phi {bits} [ {start}, %{before} ], [ {rest}, %{latch} ]")
        self.label, self.open = head, True
        lowest = self.module.declare(f"{bits} @llvm.cttz.{bits}({bits}, i1)")
        number = self.set(f"call {bits} @{lowest}({bits} {left}, i1 true)")
        yield number if self.lanes == 64 else self.set(f"zext {bits} {number} to i64")
        self.start(latch)
        lower = self.set(f"sub {bits} {left}, 1")
        self.lines.append(f"  {rest} = and {bits} {left}, {lower}")
        self.branch(self.set(f"icmp ne {bits} {rest}, 0"), head, done)
        self.start(done)

    # ---- the parallel loop

    @contextmanager
    def vectors(self, begin: str, end: str) -> Generator[str, None, None]:
        """The parallel loop over [begin, end), a vector at a time; gives lane 0's index."""
        head, body, latch, done = (self.fresh_label(hint) for hint in ("head", "body", "latch", "done"))
        index, following = self.register("i"), self.register("n")
        self.jump(head)
        before = self.label
        self.lines.append(f"{head}:")
        self.lines.append(f"  {index} = phi i64 [ {begin}, %{before} ], [ {following}, %{latch} ]")
        self.label, self.open = head, True
        self.branch(self.set(f"icmp slt i64 {index}, {end}"), body, done)
        self.start(body)
        first = len(self.lines)
        left = self.set(f"sub i64 {end}, {index}")
        smaller = self.module.declare("i64 @llvm.umin.i64(i64, i64)")
        count = self.set(f"call i64 @{smaller}(i64 {left}, i64 {self.lanes})")
        small = self.splat(self.set(f"trunc i64 {count} to i32"), "i32")
        numbers = ", ".join(f"i32 {k}" for k in range(self.lanes))
        self.mask = self.set(f"icmp ult <{self.lanes} x i32> <{numbers}>, {small}")
        self.region = latch
        yield index
        self.jump(latch)
        self.bodies.append(Body(f"%{body}", f"%{latch}", first, len(self.lines)))
        self.start(latch)
        self.lines.append(f"  {following} = add nsw i64 {index}, {self.lanes}")
        self.do(f"br label %{head}")
        self.open, self.mask = False, ""
        self.start(done)


def _reads_local(op: Op) -> bool:
    return isinstance(op, Load) and isinstance(root_of(op.ptr), Alloca)


def _wrapped(number: int, bits: int) -> int:
    low = number & ((1 << bits) - 1)
    return low - (1 << bits) if low >> (bits - 1) else low
