"""Unroll-and-jam: emits ops for several iterations, those of a coarsened thread or of a loop, side by side.

    d = x[j] - x[i]; a += g(d)                        a loop over j

    d0 = x[j] - x[i]; d1 = x[j + 1] - x[i]; ...       four iterations at once: one wide load, four independent chains
    a += g(d0); a += g(d1); ...                       the ops that depend on the previous iteration, in order

Ops that depend neither on the iteration of the task nor on other iterations of the loop are emitted once. An inner loop
of few iterations is unrolled completely, so that neighbours share what they have in common, such as the taps of a
filter.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import dataclass

from weft.codegen.gpu.device_writer import DeviceWriter
from weft.codegen.gpu.row_phases import phased_row, write_by_phase
from weft.codegen.llvm.function import EMITTERS
from weft.codegen.llvm.spelling import in_register
from weft.ir.core import Op, Value
from weft.ir.mapping.serial_loops import (
    counts_by_one,
    fetched_ahead,
    independent_and_ordered,
    is_alike,
    trips_of,
)
from weft.ir.ops import Binary, Const, For, Load
from weft.ir.types import Prim

__all__ = ["write_for", "write_jammed", "write_sum"]

_NOT_UNROLLED = '!{!"llvm.loop.unroll.disable"}'

Values = MutableMapping[Value, str]


def write_jammed(f: DeviceWriter, ops: Iterable[Op], places: Sequence[Values], varying: set[Value]) -> None:
    """Emit each op for all iterations before the next op. `varying`: the values that differ between them."""
    for op in ops:
        if isinstance(op, For) and not any(value in varying for value in op.operands):
            _loop(f, op, places, varying)
        elif is_alike(op) and not any(value in varying for value in op.operands):
            f.values = places[0]
            f.op(op)
            for values in places[1:]:
                values[op] = places[0][op]
        else:
            varying.add(op)
            for f.values in places:
                f.op(op)


def _loop(f: DeviceWriter, op: For, places: Sequence[Values], varying: set[Value]) -> None:
    """A loop that runs the same iterations in all iterations of the task."""
    index, trips = op.body.args[0], trips_of(op)
    if trips is not None and len(places) <= op.schedule.unroll:
        _write_out(f, op, places, varying, trips)
        return
    f.values = places[0]
    if not counts_by_one(op):
        varying.add(op)
        for f.values in places:
            f.op(op)
        return
    if op.schedule.jam:
        _jam(f, op, places, varying)
        return
    with f.loop(f.use(op.begin), f.use(op.end), type=_index_type(op)) as number:
        for values in places:
            values[index] = number
        write_jammed(f, op.body, places, varying)


def _write_out(f: DeviceWriter, op: For, places: Sequence[Values], varying: set[Value], trips: int) -> None:
    """Unroll a loop completely."""
    index, begin, step = op.body.args[0], op.begin, op.step
    assert isinstance(begin, Const)
    assert isinstance(step, Const)

    def iterations() -> None:
        for trip in range(trips):
            for values in places:
                values[index] = str(int(begin.value) + trip * int(step.value))
            write_jammed(f, op.body, places, varying)

    f.values = places[0]
    write_by_phase(f, phased_row(op.body) if f.phased else (), iterations)


def _index_type(op: For) -> str:
    assert isinstance(op.begin.type, Prim)
    return in_register(op.begin.type)


# ---- loops -----------------------------------------------------------------------------------------------------------


def write_for(f: DeviceWriter, op: For) -> None:
    """A loop in one thread: several iterations at once if they wait for memory that nothing writes."""
    if op.schedule.jam:
        _jam(f, op, [f.values], set())
    else:
        EMITTERS[For](f, op)


def _jam(f: DeviceWriter, op: For, places: Sequence[Values], varying: set[Value]) -> None:
    """The loop, several of its iterations at once, then the remaining ones."""
    type, trips = _index_type(op), trips_of(op)
    independent, ordered = independent_and_ordered(op.body)
    jam = _Jam(f, op, places, varying, independent, ordered)
    begin, end = f.use(op.begin), f.use(op.end)
    digits = jam.count.bit_length() - 1
    if trips is None:
        whole = _whole_groups(f, type, begin, end, digits)
    else:
        whole = str(trips // jam.count)
    outside = f.values
    if op.schedule.ahead:
        _ahead(jam, whole)
    else:
        with f.loop("0", whole, type=type) as number:
            iterations = jam.iterations(number)
            write_jammed(f, independent, [values for one in iterations for values in one], {*varying, jam.index})
            jam.finish(iterations)
    if trips is None or trips % jam.count:
        done = f.set(f"shl {type} {whole}, {digits}")
        once = f.module.loop_hints(f.module.node(_NOT_UNROLLED))
        with f.loop(f.set(f"add {type} {begin}, {done}"), end, once, type) as number:
            for values in places:
                values[jam.index] = number
            write_jammed(f, op.body, places, varying)
    f.values = outside


def _whole_groups(f: DeviceWriter, type: str, begin: str, end: str, digits: int) -> str:
    """The number of groups of 2**digits iterations from `begin` to `end`. The distance may need all bits, as an
    unsigned number, and `end` may be so far below `begin` that the distance looks like one."""
    some = f.set(f"icmp slt {type} {begin}, {end}")
    whole = f.set(f"lshr {type} {f.set(f'sub {type} {end}, {begin}')}, {digits}")
    return f.set(f"select i1 {some}, {type} {whole}, {type} 0")


@dataclass(frozen=True)
class _Jam:
    """A loop some of whose iterations are emitted side by side. `independent`: the ops that do not depend on another
    iteration. `ordered`: the rest."""

    f: DeviceWriter
    op: For
    places: Sequence[Values]
    varying: set[Value]
    independent: list[Op]
    ordered: list[Op]

    @property
    def index(self) -> Value:
        """The loop's variable."""
        return self.op.body.args[0]

    @property
    def count(self) -> int:
        """The number of iterations."""
        return self.op.schedule.jam

    def iterations(self, number: str) -> list[list[Values]]:
        """The values, in all iterations of the task, of each iteration of the group that begins at `number` times the
        group's size."""
        indices = _indices(self.f, number, self.f.use(self.op.begin), _index_type(self.op), self.count)
        return [[{**values, self.index: here} for values in self.places] for here in indices]

    def finish(self, iterations: list[list[Values]]) -> None:
        """Emit the ops that depend on the previous iteration, in order."""
        for one in iterations:
            write_jammed(self.f, self.ordered, one, {*self.varying, self.index, *self.independent})


def _ahead(jam: _Jam, whole: str) -> None:
    """All threads read the same memory, so they would wait for it at the same time. The loads are therefore issued one
    step ahead:

        v = x[0 .. 3]
        for k in range(whole - 1):
            use v;  v = x[4 (k + 1) ...]       in flight while the loaded values are used
        use v

    LLVM would move the loads back to their uses. The empty instruction after them prevents that.
    """
    f, type = jam.f, _index_type(jam.op)
    fetched, computed = fetched_ahead(jam.op, jam.independent)
    slots: dict[tuple[int, Load], str] = {}

    def fetch(number: str) -> None:
        for position, one in enumerate(jam.iterations(number)):
            write_jammed(f, fetched, one, set(jam.varying))
            for load in fetched:
                if isinstance(load, Load):  # the same at all places, since all threads read it
                    name = f.spell(load.type)
                    slots[position, load] = slot = slots.get((position, load)) or f.stack(name)
                    f.do(f"store {name} {one[0][load]}, ptr {slot}")
        f.do('call void asm sideeffect "", "~{memory}"()')

    def compute(number: str) -> list[list[Values]]:
        iterations = jam.iterations(number)
        for (position, load), slot in slots.items():
            value = f.set(f"load {f.spell(load.type)}, ptr {slot}")
            for values in iterations[position]:
                values[load] = value
        flat = [values for one in iterations for values in one]
        write_jammed(f, computed, flat, {*jam.varying, jam.index, *fetched})
        return iterations

    some, done = f.fresh_label("some"), f.fresh_label("done")
    f.branch(f.set(f"icmp sgt {type} {whole}, 0"), some, done)
    f.start(some)
    fetch("0")
    last = f.set(f"sub {type} {whole}, 1")
    with f.loop("0", last, f.module.loop_hints(f.module.node(_NOT_UNROLLED)), type) as number:
        iterations = compute(number)
        fetch(f.set(f"add nuw nsw {type} {number}, 1"))
        jam.finish(iterations)
    jam.finish(compute(last))
    f.jump(done)
    f.start(done)


def _indices(f: DeviceWriter, number: str, begin: str, type: str, count: int) -> list[str]:
    """The indices of iteration `number` and of those emitted with it."""
    first = f.set(f"shl {type} {number}, {count.bit_length() - 1}")
    first = first if begin == "0" else f.set(f"add {type} {first}, {begin}")
    places = [first, *(f.set(f"add {type} {first}, {ahead}") for ahead in range(1, count))]
    f.indices.steps |= {place: (first, ahead) for ahead, place in enumerate(places)}
    return places


# ---- indices that are another one and a constant ---------------------------------------------------------------------


def write_sum(f: DeviceWriter, op: Binary) -> str | None:
    """An operator. A sum with a constant is recorded as such, so that addresses can use it."""
    result = EMITTERS[Binary](f, op)
    if op.kind in ("add", "sub") and f.indices.steps and result is not None:
        a, b = f.use(op.lhs), f.use(op.rhs)
        if op.kind == "add" and _is_integer(a):
            a, b = b, a
        if a in f.indices.steps and _is_integer(b):
            first, ahead = f.indices.steps[a]
            f.indices.steps[result] = first, ahead + (int(b) if op.kind == "add" else -int(b))
    return result


def _is_integer(text: str) -> bool:
    return text.lstrip("-").isdigit()
