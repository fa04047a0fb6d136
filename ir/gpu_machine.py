"""Runs iterations in the evaluator as threads of a GPU do, as schedules say. A wrong claim of a schedule becomes
visible.

    across, rows     a thread runs each op for all of its iterations before the next op; the remaining ones run alone
    clamp            if all iterations of a thread are within the bounds, a clamp is replaced by its operand
    jam, unroll      iterations of a loop run at once: first the ops that do not depend on another one, then the rest
    warp             32 lanes share the iterations of the loop, each sums up from the neutral element, and pairs of sums
                     are added until one is left

Values that are the same in all iterations of a thread, or in all iterations of a loop, are computed once. This includes
loads that claim to be invariant.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from weft.ir import ops
from weft.ir.core import Op, Value
from weft.ir.errors import InternalError
from weft.ir.evaluate_mapped import INSIDE
from weft.ir.machine import Env, Flow, Machine, Run, Steps
from weft.ir.mapping.coarsening import accumulators, split_at_shared
from weft.ir.mapping.serial_loops import apart_and_in_turn, counts_by_one, is_alike
from weft.ir.mapping.warp_sums import LANES, around, sums_of, warp_loop
from weft.ir.scalar import BINARY, cast_value, identity
from weft.ir.types import VOID, element, i32

__all__ = ["Point", "ThreadBody", "jammed", "taken_together"]

Point = tuple[int, tuple[int, ...]]  # the number of an iteration, and its indices

_BITS = 1 << 31


def taken_together(iterations: Sequence[Point], across: int, rows: int) -> list[tuple[Point, ...]]:
    """The iterations that a thread runs together, which begin at multiples: whole groups of `rows` by `across`, groups
    of `across` if rows are missing, and all others alone."""
    buckets: dict[tuple[int, ...], list[Point]] = {}
    for one in iterations:
        *outer, inner = one[1]
        key = (*outer[:-1], *(index // rows for index in outer[-1:]), inner // across)
        buckets.setdefault(key, []).append(one)
    groups: list[tuple[Point, ...]] = []
    for bucket in buckets.values():
        if len(bucket) == across * rows:
            groups.append(tuple(bucket))
            continue
        lines: dict[tuple[int, ...], list[Point]] = {}
        for one in bucket:
            lines.setdefault(one[1][:-1], []).append(one)
        for line in lines.values():
            groups += [tuple(line)] if len(line) == across else [(one,) for one in line]
    return groups


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
        result = run(env) if run is not None else (yield from in_steps(env))
        if op.type is not VOID:
            env[self.machine.slot(op)] = result
        elif result is not None:
            raise InternalError(f"{op!r} leaves an iteration that runs beside others")

    def together(self, block: Sequence[Op], envs: list[Env], varying: set[Value]) -> Generator[None]:
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
        rounds, (index,) = range(begin, end, step), op.body.args
        whole = len(rounds) // jam * jam if jam and not unrolled else 0
        apart, in_turn = apart_and_in_turn(op.body)
        for first in range(0, whole, jam or 1):
            beside = [[self.bound(index, env, one) for env in envs] for one in rounds[first : first + jam]]
            yield from self.together(apart, [env for one in beside for env in one], {*varying, index})
            for one in beside:
                yield from self.together(in_turn, one, {*varying, index, *apart})
        for number in rounds[whole:]:
            self.machine.burn()
            for env in envs:
                env[self.machine.slot(index)] = cast_value(number, element(index.type))
            yield from self.together(list(op.body), envs, varying)

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
        self.apart, self.in_turn = split_at_shared(task.body, accumulators(task))
        machine.slot_list([task, *task.body.args])
        self.prepare(list(task.body))
        self.body = machine.stepped(task.body)

    def run(self, env: Env, group: Sequence[Point]) -> Generator[None]:
        """Run the iterations of a thread, or one iteration on a warp."""
        if self.loop_of_warp is not None:
            for number, point in group:
                yield from self.warp(self.loop_of_warp, self.at(env, number, point))
        elif len(group) == 1 or (self.clamps and not self.inside(env, group[0][1], group[-1][1])):
            for number, point in group:
                yield from self.body(self.at(env, number, point))
        else:
            envs, args = [self.at(env, *one) for one in group], self.task.body.args
            axes = zip(*(point for _, point in group), strict=True)
            varying: set[Value] = {arg for arg, axis in zip(args, axes, strict=True) if len(set(axis)) > 1}
            for mine in envs:
                mine[self.machine.slot(self.task)] = INSIDE
            yield from self.together(self.apart, envs, varying)
            for mine in envs:
                for op in self.in_turn:
                    yield from self.one(op, mine)

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
