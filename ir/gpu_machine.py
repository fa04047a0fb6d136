"""Runs iterations in the evaluator as threads of a GPU do, as schedules say. A wrong claim of a schedule becomes
visible.

    across, rows     a thread runs each op for all of its iterations before the next op; the remaining ones run alone
    phased           such rows of a loop begin at one place, which is known before the loop
    aligned          iterations run together only if the operands are multiples of 16; what follows from this for the
                     addresses of accesses must be true
    clamp            if all iterations of a thread are within the bounds, a clamp is replaced by its operand
    jam, unroll      iterations of a loop run at once: first the ops that do not depend on another one, then the rest
    warp             32 lanes share the iterations of the loop, each sums up from the neutral element, and pairs of sums
                     are added until one is left

Values that are the same in all iterations of a thread, or in all iterations of a loop, are computed once. This includes
loads that claim to be invariant.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import product
from typing import Any

from weft.ir import ops
from weft.ir.alias import is_access
from weft.ir.core import Op, Value
from weft.ir.errors import InternalError
from weft.ir.evaluate_mapped import Together, check_alignment
from weft.ir.machine import Env, Flow, Machine, Run, Steps
from weft.ir.mapping.coarsening import accumulators, split_at_accumulators
from weft.ir.mapping.phased_rows import row_axes
from weft.ir.mapping.serial_loops import counts_by_one, fetched_ahead, independent_and_ordered, is_alike
from weft.ir.mapping.warp_sums import LANES, around, sums_of, warp_loop
from weft.ir.memory_model import Place
from weft.ir.scalar import BINARY, cast_value, identity
from weft.ir.types import VOID, element, i32

__all__ = ["Point", "ThreadBody", "groups_of", "jammed"]

Point = tuple[int, tuple[int, ...]]  # the number of an iteration, and its indices

_BITS = 1 << 31


def groups_of(iterations: Sequence[Point], across: int, rows: int) -> list[tuple[Point, ...]]:
    """The iterations that a thread runs together. Along each axis, a group begins at a multiple of its size. Where one
    is not complete, its indices stand alone; so there are groups of `rows` by `across`, of either, and single
    iterations."""
    if not iterations:
        return []
    sizes = [1] * (len(iterations[0][1]) - 2) + [rows, across]
    sizes = sizes[-len(iterations[0][1]) :]
    axes = [
        _runs(set(indices), size) for indices, size in zip(zip(*(one[1] for one in iterations)), sizes, strict=True)
    ]
    groups: dict[tuple[tuple[bool, int], ...], list[Point]] = {}
    for one in iterations:
        groups.setdefault(tuple(axis[index] for axis, index in zip(axes, one[1], strict=True)), []).append(one)
    return [tuple(group) for group in groups.values()]


def _runs(indices: set[int], size: int) -> dict[int, tuple[bool, int]]:
    """For each index of an axis: whether all indices of its group are there, and the group's first one, or itself."""
    firsts = {index // size * size for index in indices}
    whole = {first for first in firsts if size > 1 and all(first + k in indices for k in range(size))}
    return {i: (True, i // size * size) if i // size * size in whole else (False, i) for i in indices}


def jammed(machine: Machine, op: ops.For) -> Steps:
    """A loop of one iteration of the task whose own iterations run at once."""
    runner = _Ops(machine)
    runner.prepare(list(op.body))
    machine.slot_list([op.begin, op.end, op.step, *op.body.args])

    def run(env: Env) -> Generator[None, None, Flow | None]:
        yield from runner.loop(op, [env], set())
        return None

    return run


class _Ops:
    """Runs ops for several iterations at once. Each has its own environment."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.made: dict[Op, tuple[bool, Run | None, Steps]] = {}

    def prepare(self, block: Sequence[Op]) -> None:
        """Compile these ops, and all ops of nested loops, before an environment is created."""
        for op in block:
            self.made[op] = self.machine.step(op)
            self.machine.slot(op)
            if isinstance(op, ops.For):
                self.machine.slot_list(op.body.args)
                self.prepare(list(op.body))

    def one(self, op: Op, env: Env) -> Generator[None]:
        """Run an op in one environment."""
        visible, run, in_steps = self.made[op]
        if visible:
            yield
        self.before(op, env)
        result = run(env) if run is not None else (yield from in_steps(env))
        if op.type is not VOID:
            env[self.machine.slot(op)] = result
        elif result is not None:
            raise InternalError(f"{op!r} ends an iteration that is jammed with others")

    def before(self, op: Op, env: Env) -> None:
        """Check the op before it runs."""

    def enter(self, block: Sequence[Op], envs: list[Env]) -> None:
        """Check code that has a version for each place in a word where a row may begin, before it runs."""

    def jammed(self, block: Sequence[Op], envs: list[Env], varying: set[Value]) -> Generator[None]:
        """Run each op in all environments before the next op. What is the same in all of them is computed once."""
        for op in block:
            same = not any(value in varying for value in op.operands)
            if isinstance(op, ops.For) and same:
                yield from self.loop(op, envs, varying)
            elif is_alike(op) and same:
                yield from self.one(op, envs[0])
                for env in envs[1:]:
                    env[self.machine.slot(op)] = envs[0][self.machine.slot(op)]
            else:
                varying.add(op)
                for env in envs:
                    yield from self.one(op, env)

    def loop(self, op: ops.For, envs: list[Env], varying: set[Value]) -> Generator[None]:
        """A loop that runs the same iterations in all environments."""
        begin, end, step = (int(envs[0][self.machine.slot(value)]) for value in (op.begin, op.end, op.step))
        unrolled, jam = 1 < len(envs) <= op.schedule.unroll, op.schedule.jam
        if not unrolled and not counts_by_one(op):
            varying.add(op)
            for env in envs:
                yield from self.one(op, env)
            return
        trips, (index,) = range(begin, end, step), op.body.args
        if unrolled:
            self.enter(list(op.body), envs)
        whole = len(trips) // jam * jam if jam and not unrolled else 0
        steps = [trips[first : first + jam] for first in range(0, whole, jam or 1)]
        yield from self.jam(op, steps, envs, varying)
        for number in trips[whole:]:
            self.machine.burn()
            for env in envs:
                env[self.machine.slot(index)] = cast_value(number, element(index.type))
            yield from self.jammed(list(op.body), envs, varying)

    def jam(self, op: ops.For, steps: Sequence[range], envs: list[Env], varying: set[Value]) -> Generator[None]:
        """The iterations of each step at once: the ops that do not depend on another one, then the rest in order. With
        `ahead`, the loads of a step run before the rest of the step before it. What is loaded for one iteration of the
        task is then used for all."""
        if not steps:  # the loop is shorter than a step
            return
        (index,), (independent, ordered) = op.body.args, independent_and_ordered(op.body)
        early, computed = fetched_ahead(op, independent) if op.schedule.ahead else ([], independent)
        slots = [self.machine.slot(one) for one in early if isinstance(one, ops.Load)]

        def fetch(step: range) -> Generator[None, None, list[list[Env]]]:
            beside = [[self.bound(index, env, one) for env in envs] for one in step]
            for one in beside:
                yield from self.jammed(early, one, set(varying))
                for env, slot in product(one, slots):
                    env[slot] = one[0][slot]
            return beside

        coming = yield from fetch(steps[0])
        for step in (*steps[1:], range(0)):
            beside = coming
            flat = [env for one in beside for env in one]
            yield from self.jammed(computed, flat, {*varying, index, *early})
            coming = yield from fetch(step)
            for one in beside:
                yield from self.jammed(ordered, one, {*varying, index, *independent})

    def bound(self, index: Value, env: Env, number: int) -> Env:
        """A copy of the environment for that iteration. Locals are shared, because the environment holds their
        addresses."""
        self.machine.burn()
        made = [*env]
        made[self.machine.slot(index)] = cast_value(number, element(index.type))
        return made


class ThreadBody(_Ops):
    """The body of a task that is coarsened, or whose loop a warp shares."""

    def __init__(self, machine: Machine, task: ops.Task) -> None:
        super().__init__(machine)
        self.task, self.clamps, self.loop_of_warp = task, task.all_of(ops.Clamp), warp_loop(task)
        self.independent, self.ordered = split_at_accumulators(task.body, accumulators(task))
        self.tail = max((n + 1 for n, op in enumerate(self.independent) if isinstance(op, ops.For)), default=0)
        self.aligned = next((op for op in task.prologue if isinstance(op, ops.Aligned)), None)
        self.known: dict[tuple[Any, ...], Together] = {}
        machine.slot_list([task, *task.body.args, *([self.aligned] if self.aligned else [])])
        self.prepare(list(task.body))
        self.body = machine.stepped(task.body)

    def run(self, env: Env, group: Sequence[Point]) -> Generator[None]:
        """Run the iterations of a thread, or one iteration on a warp."""
        if self.loop_of_warp is not None:
            for number, point in group:
                yield from self.warp(self.loop_of_warp, self.at(env, number, point))
        elif len(group) == 1 or not self.may_group(env, group):
            for number, point in group:
                yield from self.body(self.at(env, number, point))
        else:
            envs, args = [self.at(env, *one) for one in group], self.task.body.args
            axes = zip(*(point for _, point in group), strict=True)
            varying: set[Value] = {arg for arg, axis in zip(args, axes, strict=True) if len(set(axis)) > 1}
            for mine, (_, point) in zip(envs, group, strict=True):
                mine[self.machine.slot(self.task)] = self.state(env, group, point)
            yield from self.jammed(self.independent[: self.tail], envs, varying)
            self.enter(self.independent[self.tail :], envs)
            yield from self.jammed(self.independent[self.tail :], envs, varying)
            for mine in envs:
                for op in self.ordered:
                    yield from self.one(op, mine)

    def may_group(self, env: Env, group: Sequence[Point]) -> bool:
        """Whether the thread may run these iterations together."""
        aligned = self.aligned is None or env[self.machine.slot(self.aligned)].values
        return aligned and (not self.clamps or self.inside(env, group[0][1], group[-1][1]))

    def state(self, env: Env, group: Sequence[Point], point: tuple[int, ...]) -> Together:
        """What is known of one of the iterations of a group."""
        first, last = group[0][1], group[-1][1]
        sizes = tuple(b - a + 1 for a, b in zip(first, last, strict=True))
        places = tuple(index - a for a, index in zip(first, point, strict=True))
        words = list[Value]()
        if self.aligned is not None:
            rows = self.task.schedule.phases == "ask" and env[self.machine.slot(self.aligned)].taps
            words = [*self.aligned.values, *(self.aligned.taps if rows else ())]
        key = sizes, places, len(words)
        if key not in self.known:
            along = dict(zip(self.task.body.args, zip(sizes, places, strict=True), strict=True))
            self.known[key] = Together({arg: place for arg, place in along.items() if place[0] > 1}, frozenset(words))
        return self.known[key]

    def before(self, op: Op, env: Env) -> None:
        state = env[self.machine.slot(self.task)]
        if isinstance(state, Together) and is_access(op):
            check_alignment(op, env[self.machine.slot(op.ptr)], state)

    def enter(self, block: Sequence[Op], envs: list[Env]) -> None:
        places = [self.row_begin(op, env) for op in block if isinstance(op, ops.Address) and op.phased for env in envs]
        if None in places or len(set(places)) > 1:
            raise InternalError(f"task '{self.task.kind}' knows one place where its rows begin, and they are {places}")

    def row_begin(self, op: ops.Address, env: Env) -> int | None:
        """Where the row of an address begins. None: that is not known yet."""
        axes = row_axes(op)
        known = [env[slot] for slot in self.machine.slot_list([op.base, *(op.indices[k] for k in axes)])]
        if None in known:
            return None
        strides = [int(env[self.machine.slot(op.strides[k])]) for k in axes]
        place: Place = known[0]
        return place.offsets[0] + sum(int(a) * b for a, b in zip(known[1:], strides, strict=True))

    def at(self, env: Env, number: int, point: tuple[int, ...]) -> Env:
        """The environment of an iteration."""
        self.machine.burn()
        self.machine.course.iteration, self.machine.course.draws = number, 0
        made = [*env]
        for arg, index in zip(self.task.body.args, point, strict=True):
            made[self.machine.slot(arg)] = cast_value(index, element(arg.type))
        return made

    def inside(self, env: Env, first: Sequence[int], last: Sequence[int]) -> bool:
        """Whether no clamp changes any of the indices from `first` to `last`."""
        for clamp in self.clamps:
            bound = int(env[self.machine.slot(clamp.bound)])
            least, most = first[clamp.axis] + clamp.low, last[clamp.axis] + clamp.high
            if (most > bound if clamp.kind == "min" else least < bound) or (
                clamp.type is i32 and not -_BITS <= least <= most < _BITS
            ):
                return False
        return True

    def warp(self, loop: ops.For, env: Env) -> Generator[None]:
        """Run an iteration on a warp."""
        (before, behind), sums = around(self.task, loop), sums_of(loop)
        for op in before:
            yield from self.one(op, env)
        begin, end = (int(env[self.machine.slot(value)]) for value in (loop.begin, loop.end))
        places = [env[self.machine.slot(one.local)] for one in sums]
        starts = [place.load(one.type) for place, one in zip(places, sums, strict=True)]
        lanes: list[list[Any]] = []
        for lane in range(LANES):
            for place, one, start in zip(places, sums, starts, strict=True):
                place.store(cast_value(identity(one.kind, one.type), one.type) if lane else start, one.type)
            for number in range(begin + lane, end, LANES):
                mine = self.bound(loop.body.args[0], env, number)
                for op in loop.body:
                    yield from self.one(op, mine)
            lanes.append([place.load(one.type) for place, one in zip(places, sums, strict=True)])
        while len(lanes) > 1:
            pairs = zip(lanes[: len(lanes) // 2], lanes[len(lanes) // 2 :], strict=True)
            lanes = [[BINARY[one.kind].evaluate(*two) for one, *two in zip(sums, a, b)] for a, b in pairs]
        for place, one, total in zip(places, sums, lanes[0], strict=True):
            place.store(total, one.type)
        for op in behind:
            yield from self.one(op, env)
