"""Writes ops at several places together: at neighbours that one thread takes, or in several rounds of a loop.

    d = x[j] - x[i]; a += g(d)                        a loop over j

    d0 = x[j] - x[i]; d1 = x[j + 1] - x[i]; ...       four rounds side by side: one wide load, four chains at once
    a += g(d0); a += g(d1); ...                       what one round has from the other, in order

What depends neither on the place nor on what other rounds do is written once. An inner loop of few rounds is written
out, so that neighbours see what they have in common: the taps of a filter.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.codegen.gpu.row_phases import phased_row, write_by_phase
from weft.codegen.llvm.function import EMITTERS
from weft.codegen.llvm.spelling import in_register
from weft.ir.core import Op, Value
from weft.ir.ops import (
    Address,
    Binary,
    Break,
    Const,
    Continue,
    Exit,
    For,
    Load,
    Task,
    While,
)
from weft.ir.tasks import shows_order
from weft.ir.types import Prim

if TYPE_CHECKING:
    from weft.codegen.gpu.ops import DeviceWriter

__all__ = [
    "apart_and_in_turn",
    "is_long",
    "is_ordered",
    "is_shared",
    "is_short",
    "size_of",
    "trips_of",
    "write_for",
    "write_sum",
    "write_together",
]

_MOST_WRITTEN_OUT = 2048  # ops of an inner loop, in all its rounds and places
_MOST_TRIPS = 32  # of a loop that is written out
_ROUNDS, _SHARED_ROUNDS = 4, 8  # side by side
_SMALL = 32  # ops of a body of which there are that many
_FEW = 64  # rounds that are no long loop
_MOST_SHARED = 4  # loops of a task that are written so: each is there three times
_NOT_UNROLLED = '!{!"llvm.loop.unroll.disable"}'
_MOST_SIDE_BY_SIDE = 64  # ops of a loop's body
_FEWEST = 8  # rounds that are worth it

Values = MutableMapping[Value, str]


def write_together(f: DeviceWriter, ops: Iterable[Op], places: Sequence[Values], varying: set[Value]) -> None:
    """Each op at all places before the next op. `varying`: the values that differ from place to place."""
    for op in ops:
        if isinstance(op, For) and not any(value in varying for value in op.operands):
            _loop(f, op, places, varying)
        elif _alike(op) and not any(value in varying for value in op.operands):
            f.values = places[0]
            f.op(op)
            for values in places[1:]:
                values[op] = places[0][op]
        else:
            varying.add(op)
            for f.values in places:
                f.op(op)


def _alike(op: Op) -> bool:
    """Whether it gives the same wherever its operands are the same."""
    return op.pure or (isinstance(op, Load) and op.invariant)


def _loop(f: DeviceWriter, op: For, places: Sequence[Values], varying: set[Value]) -> None:
    """A loop that makes the same rounds at all places."""
    index, trips = op.body.args[0], trips_of(op)
    if trips is not None and _written_out(op, trips, len(places)):
        _write_out(f, op, places, varying, trips)
        return
    f.values = places[0]
    if not _counts_by_one(op):
        varying.add(op)
        for f.values in places:
            f.op(op)
        return
    apart, in_turn = apart_and_in_turn(op.body)
    if _worth_it(op, apart):
        _rounds(f, op, places, varying, apart, in_turn)
        return
    with f.loop(f.use(op.begin), f.use(op.end), type=_index_type(op)) as number:
        for values in places:
            values[index] = number
        write_together(f, op.body, places, varying)


def _write_out(f: DeviceWriter, op: For, places: Sequence[Values], varying: set[Value], trips: int) -> None:
    """All rounds of a loop, one behind the other."""
    index, begin, step = op.body.args[0], op.begin, op.step
    assert isinstance(begin, Const)
    assert isinstance(step, Const)

    def rounds() -> None:
        for trip in range(trips):
            for values in places:
                values[index] = str(int(begin.value) + trip * int(step.value))
            write_together(f, op.body, places, varying)

    f.values = places[0]
    row = phased_row(list(op.body), Load, places) if f.phased else None
    if row is None:
        rounds()
    else:
        write_by_phase(f, row, rounds)


def trips_of(op: For) -> int | None:
    """How many rounds the loop makes, where that is known."""
    if not all(isinstance(value, Const) for value in (op.begin, op.end, op.step)):
        return None
    begin, end, step = (int(value.value) for value in (op.begin, op.end, op.step) if isinstance(value, Const))
    return len(range(begin, end, step)) if step else None


def _written_out(op: For, trips: int, places: int) -> bool:
    return _is_innermost(op) and trips <= _MOST_TRIPS and trips * places * size_of(op.body) <= _MOST_WRITTEN_OUT


def _is_innermost(op: For) -> bool:
    return not any(isinstance(inner, For | While) for inner in op.walk() if inner is not op)


def _counts_by_one(op: For) -> bool:
    signed = isinstance(op.begin.type, Prim) and op.begin.type.is_signed
    return signed and isinstance(op.step, Const) and op.step.value == 1


def _index_type(op: For) -> str:
    assert isinstance(op.begin.type, Prim)
    return in_register(op.begin.type)


def size_of(ops: Iterable[Op]) -> int:
    """How many instructions a block is, about."""
    return sum(not isinstance(inner, Address | Const) for op in ops for inner in op.walk())


# ---- rounds side by side ---------------------------------------------------------------------------------------------


def write_for(f: DeviceWriter, op: For) -> None:
    """A loop in one thread: several rounds at once, where they wait for memory that nobody writes."""
    apart, in_turn = apart_and_in_turn(op.body)
    if not _worth_it(op, apart):
        EMITTERS[For](f, op)
        return
    _rounds(f, op, [f.values], set(), apart, in_turn)


def _rounds(
    f: DeviceWriter, op: For, places: Sequence[Values], varying: set[Value], apart: list[Op], in_turn: list[Op]
) -> None:
    """The loop at all places, several rounds at once, then those that are left."""
    type, trips = _index_type(op), trips_of(op)
    rounds = _Rounds(f, op, places, varying, apart, in_turn, is_shared(op))
    begin, end = f.use(op.begin), f.use(op.end)
    digits = rounds.count.bit_length() - 1
    if trips is None:
        whole = _whole_rounds(f, type, begin, end, digits)
    else:
        whole = str(trips // rounds.count)
    outside = f.values
    if rounds.shared:
        _ahead(rounds, whole)
    else:
        with f.loop("0", whole, type=type) as number:
            beside = rounds.beside(number)
            write_together(f, apart, [values for one in beside for values in one], {*varying, rounds.index})
            rounds.finish(beside)
    if trips is None or trips % rounds.count:
        done = f.set(f"shl {type} {whole}, {digits}")
        once = f.module.loop_hints(f.module.node(_NOT_UNROLLED))
        with f.loop(f.set(f"add {type} {begin}, {done}"), end, once, type) as number:
            for values in places:
                values[rounds.index] = number
            write_together(f, op.body, places, varying)
    f.values = outside


def _whole_rounds(f: DeviceWriter, type: str, begin: str, end: str, digits: int) -> str:
    """How many times 2**digits rounds there are from `begin` to `end`. The distance may need all the bits, as one
    without sign; and the end may lie so far before the beginning that it looks like one."""
    some = f.set(f"icmp slt {type} {begin}, {end}")
    whole = f.set(f"lshr {type} {f.set(f'sub {type} {end}, {begin}')}, {digits}")
    return f.set(f"select i1 {some}, {type} {whole}, {type} 0")


@dataclass(frozen=True)
class _Rounds:
    """Rounds of a loop that are written side by side. `apart`: what none has from another; `in_turn`: the rest;
    `shared`: see `is_shared`."""

    f: DeviceWriter
    op: For
    places: Sequence[Values]
    varying: set[Value]
    apart: list[Op]
    in_turn: list[Op]
    shared: bool

    @property
    def index(self) -> Value:
        """The loop's variable."""
        return self.op.body.args[0]

    @property
    def count(self) -> int:
        """How many."""
        return _SHARED_ROUNDS if self.shared and size_of(self.op.body) <= _SMALL else _ROUNDS

    def beside(self, number: str) -> list[list[Values]]:
        """Of each of the rounds that begin at round `number` times their count, the values at all places."""
        indices = _side_by_side(self.f, number, self.f.use(self.op.begin), _index_type(self.op), self.count)
        return [[{**values, self.index: here} for values in self.places] for here in indices]

    def finish(self, beside: list[list[Values]]) -> None:
        """What one round has from the other, in order."""
        for one in beside:
            write_together(self.f, self.in_turn, one, {*self.varying, self.index, *self.apart})


def _ahead(rounds: _Rounds, whole: str) -> None:
    """Where all threads read the same, they wait for it at the same time. So they ask for it one time ahead:

        v = x[0 .. 3]
        for k in range(whole - 1):
            use v;  v = x[4 (k + 1) ...]       under way while what was used is computed with
        use v

    LLVM would put the loads back to where they are used; the empty instruction behind them keeps it from that."""
    f, type = rounds.f, _index_type(rounds.op)
    fetched, computed = _fetched(rounds)
    slots: dict[tuple[int, Load], str] = {}

    def fetch(number: str) -> None:
        for position, one in enumerate(rounds.beside(number)):
            write_together(f, fetched, one, set(rounds.varying))
            for load in fetched:
                if isinstance(load, Load):  # the same at all places, since all threads read it
                    name = f.spell(load.type)
                    slots[position, load] = slot = slots.get((position, load)) or f.stack(name)
                    f.do(f"store {name} {one[0][load]}, ptr {slot}")
        f.do('call void asm sideeffect "", "~{memory}"()')

    def compute(number: str) -> list[list[Values]]:
        beside = rounds.beside(number)
        for (position, load), slot in slots.items():
            value = f.set(f"load {f.spell(load.type)}, ptr {slot}")
            for values in beside[position]:
                values[load] = value
        flat = [values for one in beside for values in one]
        write_together(f, computed, flat, {*rounds.varying, rounds.index, *fetched})
        return beside

    some, done = f.fresh_label("some"), f.fresh_label("done")
    f.branch(f.set(f"icmp sgt {type} {whole}, 0"), some, done)
    f.start(some)
    fetch("0")
    last = f.set(f"sub {type} {whole}, 1")
    with f.loop("0", last, f.module.loop_hints(f.module.node(_NOT_UNROLLED)), type) as number:
        beside = compute(number)
        fetch(f.set(f"add nuw nsw {type} {number}, 1"))
        rounds.finish(beside)
    rounds.finish(compute(last))
    f.jump(done)
    f.start(done)


def _fetched(rounds: _Rounds) -> tuple[list[Op], list[Op]]:
    """The loads of a round with what they need for it; and all that it computes apart but these loads."""
    moving: set[Value] = {rounds.index}
    needed = set[Value]()
    for op in rounds.apart:
        if any(value in moving for value in op.operands):
            moving.add(op)
    for op in reversed(rounds.apart):
        if op in needed or (isinstance(op, Load) and op in moving):
            needed.add(op)
            needed.update(op.operands)
    fetched = [op for op in rounds.apart if op in needed]
    return fetched, [op for op in rounds.apart if op not in needed or not isinstance(op, Load)]


def is_long(op: For) -> bool:
    """Whether a loop makes many rounds, or may, and has none inside."""
    trips = trips_of(op)
    return _is_innermost(op) and (trips is None or trips > _FEW)


def is_short(op: For) -> bool:
    """Whether a loop makes so few rounds that they may be written out."""
    return (trips_of(op) or _MOST_TRIPS + 1) <= _MOST_TRIPS


def is_shared(op: For) -> bool:
    """Whether a thread does little but make the many rounds of this loop, in which all threads read the same."""
    task = op.parent
    if (
        not isinstance(task, Task)
        or not is_long(op)
        or sum(isinstance(other, For) for other in task.body) > _MOST_SHARED
    ):
        return False
    varying, moving = _varying(task), set[Value](op.body.args)
    loads = list[Op]()
    for inner in op.body:
        if any(value in moving for value in inner.operands):
            moving.add(inner)
            loads += [inner] if isinstance(inner, Load) and inner.invariant else []
    return bool(loads) and not any(load in varying for load in loads)


def _varying(task: Task) -> set[Value]:
    """What may differ between two iterations of the task."""
    found: set[Value] = set(task.body.args)
    for top in task.body:
        for op in top.walk():
            differs = any(value in found for value in op.operands)
            if differs or not _alike(op):
                found.add(op)
            if differs and isinstance(op, For):
                found.update(op.body.args)
    return found


def _side_by_side(f: DeviceWriter, number: str, begin: str, type: str, count: int) -> list[str]:
    """The indices of round `number` and of those written beside it."""
    first = f.set(f"shl {type} {number}, {count.bit_length() - 1}")
    first = first if begin == "0" else f.set(f"add {type} {first}, {begin}")
    places = [first, *(f.set(f"add {type} {first}, {ahead}") for ahead in range(1, count))]
    f.steps |= {place: (first, ahead) for ahead, place in enumerate(places)}
    return places


def is_ordered(op: Op) -> bool:
    """Whether iterations that hold the op cannot be interleaved."""
    return shows_order(op) or isinstance(op, (Break, Continue, Exit, While))


def _worth_it(op: For, apart: list[Op]) -> bool:
    trips = trips_of(op)
    if not _counts_by_one(op) or not _is_innermost(op) or (trips is not None and trips < _FEWEST):
        return False
    if size_of(op.body) > _MOST_SIDE_BY_SIDE or any(is_ordered(inner) for inner in op.walk()):
        return False
    index = op.body.args[0]
    varying: set[Value] = {index}
    for inner in apart:
        if any(value in varying for value in inner.operands):
            varying.add(inner)
    return any(isinstance(inner, Load) and inner in varying for inner in apart)


def apart_and_in_turn(ops: Iterable[Op]) -> tuple[list[Op], list[Op]]:
    """What a round computes from nothing that other rounds change, and the rest."""
    apart, in_turn, waits = list[Op](), list[Op](), set[Value]()
    for op in ops:
        alone = _alike(op) and not any(value in waits for value in op.operands)
        (apart if alone else in_turn).append(op)
        if not alone:
            waits.add(op)
    return apart, in_turn


# ---- indices that are another one and a constant ---------------------------------------------------------------------


def write_sum(f: DeviceWriter, op: Binary) -> str | None:
    """An operator; of a sum with a constant it is remembered that it is one, so that addresses show it. A clamp that
    does nothing here is what it clamps."""
    if op in f.inside:
        return f.use(f.inside[op])
    result = EMITTERS[Binary](f, op)
    if op.kind in ("add", "sub") and f.steps and result is not None:
        a, b = f.use(op.lhs), f.use(op.rhs)
        if op.kind == "add" and _is_integer(a):
            a, b = b, a
        if a in f.steps and _is_integer(b):
            first, ahead = f.steps[a]
            f.steps[result] = first, ahead + (int(b) if op.kind == "add" else -int(b))
    return result


def _is_integer(text: str) -> bool:
    return text.lstrip("-").isdigit()
