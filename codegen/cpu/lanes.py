"""Runs iterations of a parallel loop in SIMD lanes, as GPUs do, for loops that LLVM's vectorizer cannot handle.

LLVM vectorizes loops whose bodies have no branches. Here a body may contain anything: `lanes` neighbours along the
innermost axis run together, one in each lane. A value that is uniform (see `ir/uniform.py`) stays scalar. So does a
value that is evenly spaced from lane to lane: its register holds the value of lane 0. Everything else is a vector
`<lanes x T>`. `mask` (`<lanes x i1>`) holds the lanes that are active at this point of the program:

    if %p {A} else {B}       both branches, one after the other, each with its lanes; skipped if no lane takes it
    while { A; break }       iterates until no lane is left; `break` and `continue` remove lanes from the masks
    x[%j], x[idx[%j]]        masked vector load, gather; stores alike
    %local                   a vector; stores do not change inactive lanes

At every op that does more than compute, at least one lane is active. The last vector of a row is partly masked off from
the start, so no scalar remainder loop is needed.

If the iterations of a loop wait for each other, several vectors run at once (`many`): every op whose result is not a
scalar is emitted for one vector after the other, each with a mask of its own. A single vector of as many lanes would be
the same to LLVM, except for its mask, which would be in one register and would have to be assembled and split in each
iteration.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from weft.codegen.llvm.function import EMITTERS, Body, FunctionWriter, Turn, spell
from weft.ir.addresses import root_of
from weft.ir.core import Block, Op, Value
from weft.ir.mapping.layouts import Layouts
from weft.ir.ops import Alloca, Atomic, Break, Const, Continue, For, If, Load, Store, Warn, While
from weft.ir.types import Pointer, Prim, i32, u1

if TYPE_CHECKING:
    from collections.abc import Generator

    from weft.ir.mapping.fold_choice import InnerLoop
    from weft.ir.uniform import Uniformity

__all__ = ["LANE_EMITTERS", "LaneWriter", "Mask", "Masks", "Row", "Waiting", "by_lane"]

Mask = tuple[str, ...]  # for each vector, a mask of its lanes

LANE_EMITTERS: dict[type[Op], Callable[[Any, Any], str | None]] = {}


def by_lane(cls: type[Op]) -> Callable[[Callable[[LaneWriter, Any], str | None]], Any]:
    """Register the function that emits ops of class `cls` in lanes. Other ops are emitted as usual, on vectors."""

    def register(function: Callable[[LaneWriter, Any], str | None]) -> Callable[[LaneWriter, Any], str | None]:
        LANE_EMITTERS[cls] = function
        return function

    return register


@dataclass(frozen=True)
class Masks:
    """The masks of a divergent loop: the lanes still in the loop, and those still in this iteration."""

    loop: Mask
    round: Mask


@dataclass(frozen=True)
class Row:
    """Addresses that are `first`, `first + step`, `first + 2 * step` ... in the active lanes if `even` is true at run
    time (a register; empty: always)."""

    even: str
    first: str
    step: int


@dataclass
class Waiting:
    """Vectors that wait to be stored together with others, into cells of a row that are `step` bytes apart, the first
    one at `first`. `values`: by their place in the cell, in elements. `ptr` is one of the addresses. `store` stores
    them."""

    key: Hashable
    first: str
    ptr: Value
    step: int
    store: Callable[[LaneWriter, Waiting], None]
    values: dict[int, str] = field(default_factory=dict[int, str])


class Together(Protocol):
    """Atomics that wait for others (see `lane_atomics.py`)."""

    def sees(self, op: Op) -> bool:
        """Whether the op must come after the waiting atomics."""
        ...

    def add(self, f: LaneWriter, op: Atomic) -> None:
        """Add an atomic."""
        ...

    def minds(self, op: Atomic) -> bool:
        """Whether an atomic that does not wait must come after them."""
        ...

    def flush(self, f: LaneWriter) -> None:
        """Emit them."""
        ...


@dataclass
class LaneWriter(FunctionWriter):
    """A function whose iterations run in `lanes`, in `many` vectors.

    - `here`: the active lanes
    - `region`: the label to jump to when no lane is left
    - `homes`: the mask at the place where each split local was allocated
    - `common`: where the common value of lanes in a split local is stored
    - `leaving`: the loop that the lanes missing in `here` have left
    - `rows`: addresses that may form a row (see `lane_strides`)
    - `waiting`: stores that others may join
    - `folds`: loops whose iterations run in lanes, and loops around these, which `write_fold` emits
    - `totals`: the vectors that they sum into
    - `gathered`: cells that were loaded here, while nothing is written
    - `spread`: vectors of addresses computed here, without constant distances, by their operands
    - `anchors`: the address of each lane of such a vector
    - `together`: atomics that wait for others
    - `which`: the current vector
    - `own`: the values that each vector has for itself
    """

    lanes: int = 1
    many: int = 1
    which: int = 0
    own: list[ChainMap[Value, str]] = field(default_factory=list[ChainMap[Value, str]])
    facts: Uniformity = None  # type: ignore[assignment]
    here: Mask = ()
    region: str = ""
    masks: dict[Op, Masks] = field(default_factory=dict[Op, Masks])
    homes: dict[Value, Mask] = field(default_factory=dict[Value, Mask])
    common: dict[Value, str] = field(default_factory=dict[Value, str])
    leaving: Op | None = None
    layouts: Layouts = field(default_factory=Layouts)
    rows: dict[tuple[Value, int], Row] = field(default_factory=dict[tuple[Value, int], "Row"])
    waiting: dict[int, Waiting] = field(default_factory=dict[int, Waiting])
    folds: Mapping[Op, InnerLoop] = field(default_factory=dict[Op, "InnerLoop"])
    write_fold: Callable[[LaneWriter, InnerLoop, Op, Callable[[Op], None]], None] | None = None
    totals: dict[Value, Mask] = field(default_factory=dict[Value, Mask])
    gathered: dict[Hashable, list[str]] = field(default_factory=dict[Hashable, "list[str]"])
    spread: dict[Hashable, str] = field(default_factory=dict[Hashable, str])
    anchors: dict[Hashable, list[str]] = field(default_factory=dict[Hashable, "list[str]"])
    together: dict[int, Together] = field(default_factory=dict[int, Together])

    def __post_init__(self) -> None:
        self.side_by_side(self.many)

    def side_by_side(self, many: int) -> None:
        """Emit this many vectors from here on."""
        self.many = many
        self.own = [ChainMap[Value, str]({}, self.values) for _ in range(many)] if many > 1 else []

    @property
    def span(self) -> int:
        """The number of iterations that run at once."""
        return self.lanes * self.many

    @property
    def mask(self) -> str:
        """The active lanes of the current vector."""
        return self.here[self.which]

    def each_vector(self, alike: bool = False) -> Iterator[int]:
        """Emit code for one vector after another, or once if they are alike."""
        if self.many == 1 or alike:
            yield 0
            return
        before = self.which, self.values
        for number, values in enumerate(self.own):
            self.which, self.values = number, values
            yield number
        self.which, self.values = before

    @contextmanager
    def wide(self, width: int = 0) -> Generator[None, None, None]:
        """Emit vectors of all lanes (or values of that width) within the context."""
        before, self.width = self.width, width or self.lanes
        yield
        self.width = before

    def write(self, op: Op) -> None:
        """Emit one op: in its own way, as a scalar if the lanes agree on it, or as vectors."""
        if not self.here:  # outside of the code that runs in lanes
            self.write_alone(op)
        elif op not in self.facts.skipped:
            if not op.pure:
                self._let_go(op)
            for _ in self.each_vector(self._alike(op)):
                self._write(op)

    def _alike(self, op: Op) -> bool:
        """Whether code for one vector is right for all: control flow, values that the lanes share, and values that are
        evenly spaced."""
        if isinstance(op, (If, For, While, Break, Continue)):
            return True
        if isinstance(op, Warn):
            return False
        if isinstance(op, Store):
            together = self.facts.step(op.ptr) == 0 and not self.facts.is_split(op.ptr)
            return together and not self.facts.varies(op.value) and op not in self.facts.sums
        if isinstance(op.type, Pointer) and self.facts.is_split(op):
            return False
        return self.facts.step(op) is not None and not isinstance(op, Atomic)

    def _write(self, op: Op) -> None:
        if isinstance(op, Atomic) or (isinstance(op, Store) and not isinstance(root_of(op.ptr), Alloca)):
            self.gathered.clear()
        own = LANE_EMITTERS.get(type(op))
        if own is not None:
            result = own(self, op)
        else:
            with self.wide(1 if self.facts.step(op) is not None else self.lanes):
                result = EMITTERS[type(op)](self, op)
        if result is not None:
            self.values[op] = result

    def block(self, block: Block) -> None:
        """Emit all ops of a block, then everything that still waits. (Values computed in it are not
        visible elsewhere.)"""
        self._forget()
        super().block(block)
        self.flush()
        self._forget()

    def _forget(self) -> None:
        for known in (self.gathered, self.spread, self.anchors):
            known.clear()

    def flush(self) -> None:
        """Emit the stores and atomics that wait for others to join them."""
        waiting, self.waiting, before = self.waiting, {}, self.which
        for number, stores in waiting.items():
            self.which = number
            stores.store(self, stores)
        for number, atomics in self.together.items():
            self.which = number
            atomics.flush(self)
        self.which = before

    def _let_go(self, op: Op) -> None:
        """Emit what waits before an op that may observe it or must come after it."""
        stores = self.waiting and not isinstance(op, (Alloca, Store)) and not _reads_local(op)
        if stores or any(atomics.sees(op) for atomics in self.together.values()):
            self.flush()

    def write_with(self, op: Op, given: Mapping[Value, str]) -> str:
        """Emit the op for one lane, with these texts for its operands. Gives the text of its result."""
        before, which = {value: self.values.get(value) for value in given}, self.which
        self.values.update(given)
        self.which = 0  # the operand texts select the vector
        result = EMITTERS[type(op)](self, op) or ""
        self.which = which
        for value, text in before.items():
            if text is None:
                del self.values[value]
            else:
                self.values[value] = text
        return result

    def write_alone(self, op: Op) -> None:
        """Emit one op for one iteration. A loop whose iterations run in lanes is emitted in its own way."""
        fold = self.folds.get(op)
        if fold is None:
            return super().write(op)
        assert self.write_fold is not None
        return self.write_fold(self, fold, op, super().write)

    def use(self, value: Value) -> str:
        """The operand text of a value, in the current width."""
        step = self.facts.step(value) if self.width > 1 or self.which else 0
        if step is None or (self.width == 1 and not step) or (step and self._is_spread(value)):
            return super().use(value)
        if isinstance(value, Const):
            assert isinstance(value.type, Prim)
            return self.literal(value.value, value.type)
        if self.width == 1:
            return self._moved(value, step * self.which * self.lanes)
        same = self.splat(super().use(value), spell(value.type))
        if step == 0:
            return same
        assert isinstance(value.type, Prim)
        return self.set(f"add {self.spell(value.type)} {same}, {self.ramp(step, value.type, self.which * self.lanes)}")

    def _is_spread(self, value: Value) -> bool:
        """Whether the value is a vector of addresses in a split local, although they are evenly spaced within each
        lane's copy."""
        return isinstance(value.type, Pointer) and self.facts.is_split(value)

    def _moved(self, value: Value, by: int) -> str:
        """An evenly spaced scalar at the beginning of a later vector."""
        text = super().use(value)
        if isinstance(value.type, Pointer):
            return self.set(f"getelementptr i8, ptr {text}, i64 {by}")
        assert isinstance(value.type, Prim)
        return self.set(f"add {spell(value.type)} {text}, {_wrapped(by, value.type.bits)}")

    def first(self, value: Value) -> str:
        """The value in lane 0."""
        with self.wide(1):
            if self.facts.step(value) is not None:
                return self.use(value)
            text = self._own(value)
        return self.set(f"extractelement <{self.lanes} x {spell(value.type)}> {text}, i64 0")

    def of_lane(self, value: Value, number: str) -> str:
        """The value in the lane of that number (i64)."""
        step = self.facts.step(value)
        if step is None:
            with self.wide():
                text = self.use(value)
            return self.set(f"extractelement <{self.lanes} x {spell(value.type)}> {text}, i64 {number}")
        with self.wide(1):
            text = self.use(value)
        if not step:
            return text
        by = self.set(f"mul i64 {number}, {step}")
        if isinstance(value.type, Pointer):
            return self.set(f"getelementptr i8, ptr {text}, i64 {by}")
        assert isinstance(value.type, Prim)
        if value.type.bits < 64:
            by = self.set(f"trunc i64 {by} to {spell(value.type)}")
        return self.set(f"add {spell(value.type)} {text}, {by}")

    def _own(self, value: Value) -> str:
        """What the vector that is being written has, also where one is written for all: an address moves evenly whose
        index went through casts that could wrap."""
        before, self.values = self.values, self.own[self.which] if self.own else self.values
        text = self.use(value)
        self.values = before
        return text

    def splat(self, scalar: str, type: str) -> str:
        """A vector with the scalar in every lane."""
        vector = f"<{self.lanes} x {type}>"
        one = self.set(f"insertelement {vector} poison, {type} {scalar}, i64 0")
        return self.set(f"shufflevector {vector} {one}, {vector} poison, <{self.lanes} x i32> zeroinitializer")

    def ramp(self, step: int, type: Prim, first: int = 0) -> str:
        """The constant vector first * step, (first + 1) * step ..."""
        name = spell(type)
        return f"<{', '.join(f'{name} {_wrapped((first + k) * step, type.bits)}' for k in range(self.lanes))}>"

    # ---- masks

    @property
    def mask_type(self) -> str:
        """The type of a vector's mask."""
        return f"<{self.lanes} x i1>"

    def both(self, a: Mask, b: Mask) -> Mask:
        """The lanes in both masks."""
        return tuple(self.set(f"and {self.mask_type} {x}, {y}") for x, y in zip(a, b, strict=True))

    def without(self, a: Mask, b: Mask) -> Mask:
        """The lanes of `a` that are not in `b`."""
        others = tuple(self.set(f"xor {self.mask_type} {y}, splat (i1 true)") for y in b)
        return self.both(a, others)

    def any(self, mask: Mask) -> str:
        """Whether the mask has a lane."""
        some = mask[0]
        for other in mask[1:]:
            some = self.set(f"or {self.mask_type} {some}, {other}")
        bits = self.set(f"bitcast {self.mask_type} {some} to i{self.lanes}")
        return self.set(f"icmp ne i{self.lanes} {bits}, 0")

    def all(self, lanes: str) -> str:
        """Whether `lanes` holds for all active lanes of the current vector."""
        return self.set(f"xor i1 {self.any(self.without((self.mask,), (lanes,)))}, true")

    def condition(self, value: Value) -> Mask:
        """A u1 as a mask."""
        assert value.type is u1
        with self.wide():
            return tuple(self.use(value) for _ in self.each_vector())

    def mask_slots(self, mask: Mask) -> Mask:
        """Stack slots for a mask, with that one in them."""
        slots = tuple(self.stack(self.mask_type) for _ in mask)
        self.write_mask(slots, mask)
        return slots

    def read_mask(self, slots: Mask) -> Mask:
        """The mask kept in stack slots."""
        return tuple(self.set(f"load {self.mask_type}, ptr {slot}, align 8") for slot in slots)

    def write_mask(self, slots: Mask, mask: Mask) -> None:
        """Keep a mask in stack slots."""
        for slot, part in zip(slots, mask, strict=True):
            self.do(f"store {self.mask_type} {part}, ptr {slot}, align 8")

    def leave(self, slots: Mask) -> None:
        """Remove the active lanes from the mask in those slots."""
        self.write_mask(slots, self.without(self.read_mask(slots), self.here))

    @contextmanager
    def each(self) -> Generator[str, None, None]:
        """A loop over the active lanes of the vector, in ascending order. Gives the number of the lane (i64)."""
        bits, head, done = f"i{self.lanes}", self.fresh_label("lane"), self.fresh_label("done")
        start = self.set(f"bitcast {self.mask_type} {self.mask} to {bits}")
        left, rest, latch = self.register("left"), self.register("rest"), self.fresh_label("latch")
        before = self.label
        if self.many > 1:  # other vectors may have active lanes
            self.branch(self.set(f"icmp ne {bits} {start}, 0"), head, done)
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
    def vectors(self, begin: str, end: str, turn: Turn | None = None) -> Generator[str, None, None]:
        """The parallel loop over [begin, end), with as many iterations at a time as run at once. Gives the first index.
        `turn` is as for `loop`. The index after the last one may not fit 64 bits, so the remaining length is compared.
        """
        enter, body, latch, done = (self.fresh_label(hint) for hint in ("enter", "body", "latch", "done"))
        after = self.fresh_label("turn") if turn else latch
        index, following = self.register("i"), self.register("n")
        self.branch(self.set(f"icmp slt i64 {begin}, {end}"), enter, done)
        self.start(enter)
        self.jump(body)
        self.lines.append(f"{body}:")
        self.lines.append(f"  {index} = phi i64 [ {begin}, %{enter} ], [ {following}, %{latch} ]")
        self.label, self.open = body, True
        left = self.set(f"sub i64 {end}, {index}")
        first = len(self.lines)
        smaller = self.module.declare("i64 @llvm.umin.i64(i64, i64)")
        count = self.set(f"call i64 @{smaller}(i64 {left}, i64 {self.span})")
        small = self.splat(self.set(f"trunc i64 {count} to i32"), "i32")
        numbers = (self.ramp(1, i32, number * self.lanes) for number in range(self.many))
        self.here = tuple(self.set(f"icmp ult <{self.lanes} x i32> {some}, {small}") for some in numbers)
        self.region = after
        yield index
        self.jump(after)
        self.bodies.append(Body(f"%{body}", f"%{after}", first, len(self.lines)))
        if turn:
            self.start(after)
            turn(self)
        self.start(latch)
        self.lines.append(f"  {following} = add nsw i64 {index}, {self.span}")
        self.branch(self.set(f"icmp ugt i64 {left}, {self.span}"), body, done)
        self.here = ()
        self.start(done)


def _reads_local(op: Op) -> bool:
    return isinstance(op, Load) and isinstance(root_of(op.ptr), Alloca)


def _wrapped(number: int, bits: int) -> int:
    low = number & ((1 << bits) - 1)
    return low - (1 << bits) if low >> (bits - 1) else low
