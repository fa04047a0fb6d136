"""Runs iterations in the evaluator in SIMD lanes, with masks: each op runs for all lanes before the next op.

    task ... schedule={lanes=16, vectors=2} ...         32 iterations at once
    for ... schedule={lanes=16} ...                     16 iterations of a loop that only computes reductions

The claims of `uniform.py` about each value are used and checked. A value that the lanes share is computed once, for
lane 0, and given to all. A value that is evenly spaced is the value of lane 0 plus a step for each lane. If an active
lane computes something else by itself, the claim is wrong, and an InternalError is raised. All lanes share a local that
is not split.

    if %p {A} orelse {B}     A with the lanes where %p holds, then B with the others; only one if all lanes agree
    while { A; break }       iterates until no lane is left
    store %total, ...        the values that lanes add to an accumulator are combined first
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.core import Block, Op, Value
from weft.ir.errors import InternalError
from weft.ir.machine import Env, Machine, Run, pointee
from weft.ir.memory_model import Fault, Place
from weft.ir.scalar import BINARY, cast_value
from weft.ir.types import Prim, element, u1
from weft.ir.uniform import Uniformity, target_of

__all__ = ["Group", "LaneBody"]

Here = tuple[int, ...]  # the numbers of the active lanes, in ascending order
Steps = Generator[None, None, Here]  # stops before each access that others can see; gives the lanes that go on
Item = Callable[["Group", Here], Steps]

_REDUCED = frozenset(("add", "sub", "min", "max", "and", "or", "xor"))


@dataclass
class _Frame:
    """A loop that lanes are in."""

    left: set[int] = field(default_factory=set[int])  # lanes that a `break` took out of the loop
    waiting: set[int] = field(default_factory=set[int])  # lanes that a `continue` took out of the iteration


@dataclass
class Group:
    """Iterations that run at once."""

    envs: list[Env]  # the values of each lane
    numbers: Sequence[int]  # of each lane: the number of its iteration, for random numbers
    frames: dict[Op, _Frame] = field(default_factory=dict[Op, _Frame])
    common: dict[Value, Place] = field(default_factory=dict[Value, Place])  # common values of split locals
    draws: dict[int, int] = field(default_factory=dict[int, int])  # how many random numbers each lane has drawn


class LaneBody:
    """The body of a task, or of a loop whose iterations run in lanes."""

    def __init__(self, machine: Machine, root: ops.Task | ops.For) -> None:
        self.machine, self.root, self.facts = machine, root, Uniformity(root)
        if self.facts.reason:
            raise InternalError(f"evaluate: {root!r} cannot run in lanes: {self.facts.reason}")
        self.body = self.block(root.body)

    def run(self, group: Group, count: int) -> Generator[None]:
        """Run the first `count` lanes of a group. The other lanes are iterations past the end."""
        group.frames[self.root] = _Frame()
        yield from self.body(group, tuple(range(count)))

    def block(self, block: Block) -> Item:
        """Run a block for the active lanes."""
        items = [_ITEMS.get(type(op), _value)(self, op) for op in block if op not in self.facts.skipped]

        def run(group: Group, here: Here) -> Steps:
            for item in items:
                if not here:
                    break
                here = yield from item(group, here)
            return here

        return run

    def each(self, op: Op, visible: bool) -> Item:
        """Run the op for one lane after another. Inactive lanes compute pure ops too, and get zeros for loads. For an
        address that is evenly spaced, the address of lane 0 counts, even if that lane is inactive."""
        run, slot, used = self.machine.op(op), self.machine.slot(op), self.machine.slot_list(op.operands)
        zero = cast_value(0, op.type) if isinstance(op.type, Prim) else None

        def item(group: Group, here: Here) -> Steps:
            if visible:
                yield
            for lane in here:
                group.envs[lane][slot] = run(group.envs[lane])
            for lane in range(len(group.envs)):
                if lane not in here:
                    group.envs[lane][slot] = _elsewhere(run, group.envs[lane], used) if op.pure else zero
            return here

        return item

    def together(self, op: Op, step: int, visible: bool) -> Item:
        """Run the op for lane 0 and derive the values of the other lanes."""
        run, slot = self.machine.op(op), self.machine.slot(op)

        def item(group: Group, here: Here) -> Steps:
            if visible:
                yield
            first = run(group.envs[0])
            found = [_moved(first, lane * step, op) for lane in range(len(group.envs))]
            for lane in here:
                own = run(group.envs[lane])
                if not _same(own, found[lane]):
                    raise InternalError(f"lanes: {op!r} is {own} in lane {lane}, and {found[lane]} by its step {step}")
            for env, value in zip(group.envs, found, strict=True):
                env[slot] = value
            return here

        return item

    def effect(self, op: Op, visible: bool, lanes: Callable[[Here], Here]) -> Item:
        """Run an op without a value, for some of the active lanes."""
        run = self.machine.op(op)

        def item(group: Group, here: Here) -> Steps:
            if visible:
                yield
            for lane in lanes(here):
                run(group.envs[lane])
            return here

        return item


def _elsewhere(run: Run, env: Env, used: Sequence[int]) -> Any:
    """The value of an inactive lane, or nothing if the op faults or an operand is missing."""
    try:
        return None if any(env[slot] is None for slot in used) else run(env)
    except Fault:
        return None


def _moved(value: Any, by: int, op: Op) -> Any:
    if not by:
        return value
    if isinstance(value, Place):
        return Place(value.buffer, [at + by for at in value.offsets], value.prims, value.error)
    return cast_value(int(value) + by, element(op.type))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Place):
        return isinstance(b, Place) and a.buffer is b.buffer and list(a.offsets) == list(b.offsets)
    return bool(np.array_equal(np.asarray(a), np.asarray(b), equal_nan=np.asarray(a).dtype.kind == "f"))


def _is_visible(op: ops.Load | ops.Store | ops.Atomic) -> bool:
    return not isinstance(root_of(op.ptr), ops.Alloca)


# ---- values ----------------------------------------------------------------------------------------------------------


def _value(body: LaneBody, op: Op) -> Item:
    step = body.facts.step(op)
    if step is None or body.facts.is_split(op):
        return body.each(op, False)
    return body.together(op, step, False)


def _alloca(body: LaneBody, op: ops.Alloca) -> Item:
    """A split local has one copy for each lane, also for inactive ones. It holds zero at first."""
    if op not in body.facts.split:
        return _shared_local(body, op)
    run, slot, common = body.machine.op(op), body.machine.slot(op), op in body.facts.common

    def item(group: Group, here: Here) -> Steps:
        for env in group.envs:
            env[slot] = run(env)
            if isinstance(pointee(op), Prim):
                env[slot].buffer[:] = 0
        if common:
            group.common[op] = run(group.envs[0])
            group.common[op].buffer[:] = 0
        return here
        yield

    return item


def _shared_local(body: LaneBody, op: ops.Alloca) -> Item:
    run, slot = body.machine.op(op), body.machine.slot(op)

    def item(group: Group, here: Here) -> Steps:
        place = run(group.envs[0])
        for env in group.envs:
            env[slot] = place
        return here
        yield

    return item


def _load(body: LaneBody, op: ops.Load) -> Item:
    if not (body.facts.is_split(op.ptr) and body.facts.reads_common(op)):
        step = 0 if op.move == "one" else body.facts.step(op)
        if step is not None:
            return body.together(op, step, _is_visible(op))
        return _in_line(body, op, body.each(op, _is_visible(op)))
    run, slot, local, type = body.machine.op(op), body.machine.slot(op), op.ptr, op.type

    def item(group: Group, here: Here) -> Steps:
        shared = group.common[local].load(type)
        for lane in here:
            own = run(group.envs[lane])
            if not _same(own, shared):
                raise InternalError(f"lanes: {op!r} is {own} in lane {lane}, and {shared} for all that are in the loop")
        for env in group.envs:
            env[slot] = shared
        return here
        yield

    return item


def _in_line(body: LaneBody, op: ops.Load | ops.Store | ops.Atomic, item: Item) -> Item:
    """The same, with a check of what the op claims about the addresses of the lanes."""
    step, slot = _distance(body, op), body.machine.slot(op.ptr)
    if step is None:
        return item

    def checked(group: Group, here: Here) -> Steps:
        places: list[Place] = [group.envs[lane][slot] for lane in here]
        for lane, place in zip(here, places, strict=True):
            at = places[0].offsets[0] + (lane - here[0]) * step
            if place.buffer is not places[0].buffer or place.offsets[0] != at:
                raise InternalError(f"lanes: {op!r} is moved as {op.move!r}, and lane {lane} stands elsewhere")
        return (yield from item(group, here))

    return checked


def _distance(body: LaneBody, op: ops.Load | ops.Store | ops.Atomic) -> int | None:
    """The distance from lane to lane in bytes that the op claims, or None if it claims nothing."""
    if op.move in ("one", "combine"):
        return 0
    if op.move == "adjacent":
        return element(pointee(op.ptr)).size
    return body.facts.step(op.ptr) if op.move == "row" else None


# ---- memory ----------------------------------------------------------------------------------------------------------


def _store(body: LaneBody, op: ops.Store) -> Item:
    if op in body.facts.sums:
        return _sum(body, op)
    facts, value, type = body.facts, body.machine.slot(op.value), op.value.type
    alike = facts.step(op.ptr) == 0 and not facts.is_split(op.ptr) and not facts.varies(op.value)
    if alike or op.move == "one":
        return _in_line(body, op, body.effect(op, _is_visible(op), lambda here: here[:1]))
    plain = _in_line(body, op, body.effect(op, _is_visible(op), lambda here: here))
    if op.ptr not in facts.common or not facts.is_split(op.ptr):
        return plain

    def item(group: Group, here: Here) -> Steps:
        group.common[op.ptr].store(group.envs[here[0]][value], type)
        return (yield from plain(group, here))

    return item


def _combined(kind: str, values: Sequence[Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = BINARY["add" if kind == "sub" else kind].evaluate(total, value)
    return total


def _sum(body: LaneBody, op: ops.Store) -> Item:
    """An accumulator outside of the loop: the values that the lanes add are combined first."""
    kind, value = body.facts.sums[op]
    ptr, slot, type = body.machine.slot(op.ptr), body.machine.slot(value), pointee(op.ptr)

    def item(group: Group, here: Here) -> Steps:
        place: Place = group.envs[0][ptr]
        total = _combined(kind, [group.envs[lane][slot] for lane in here])
        place.store(BINARY[kind].evaluate(place.load(type), total), type)
        return here
        yield

    return item


def _atomic(body: LaneBody, op: ops.Atomic) -> Item:
    """One atomic for all lanes if they share the address and the old value is not used, else one lane after another."""
    meet = body.facts.step(op.ptr) == 0 and not op.users and op.kind in _REDUCED and op.type is not u1
    if not (meet or op.move == "combine"):
        return body.each(op, True)
    run, slot = body.machine.op(op), body.machine.slot(op.value)

    def item(group: Group, here: Here) -> Steps:
        yield
        env = [*group.envs[here[0]]]
        env[slot] = _combined(op.kind, [group.envs[lane][slot] for lane in here])
        run(env)
        return here

    return _in_line(body, op, item)


def _random(body: LaneBody, op: ops.Random) -> Item:
    run, slot, course = body.machine.op(op), body.machine.slot(op), body.machine.course

    def item(group: Group, here: Here) -> Steps:
        before = course.iteration, course.draws
        for lane in here:
            course.iteration, course.draws = group.numbers[lane], group.draws.get(lane, 0)
            group.envs[lane][slot] = run(group.envs[lane])
            group.draws[lane] = course.draws
        for lane in {*range(len(group.envs))} - {*here}:
            group.envs[lane][slot] = cast_value(0, element(op.type))
        course.iteration, course.draws = before
        return here
        yield

    return item


def _warn(body: LaneBody, op: ops.Warn) -> Item:
    return body.effect(op, False, lambda here: here[:1])


# ---- control ---------------------------------------------------------------------------------------------------------


def _if(body: LaneBody, op: ops.If) -> Item:
    condition, then, orelse = body.machine.slot(op.condition), body.block(op.then), body.block(op.orelse)
    varies, versioned = body.facts.varies(op.condition), op.versioned

    def item(group: Group, here: Here) -> Steps:
        if not varies:
            return (yield from (then if group.envs[0][condition] else orelse)(group, here))
        chosen = tuple(lane for lane in here if group.envs[lane][condition])
        if versioned:
            return (yield from (then if chosen == here else orelse)(group, here))
        first = yield from then(group, chosen)
        second = yield from orelse(group, tuple(lane for lane in here if lane not in chosen))
        return tuple(sorted((*first, *second)))

    return item


def _jump(body: LaneBody, op: ops.Break | ops.Continue) -> Item:
    loop, leaves = target_of(op), isinstance(op, ops.Break)

    def item(group: Group, here: Here) -> Steps:
        frame = group.frames[loop]
        (frame.left if leaves else frame.waiting).update(here)
        return ()
        yield

    return item


def _round(body: LaneBody, inside: Item, op: Op, group: Group, here: Here) -> Steps:
    """An iteration of a loop. Gives the lanes that may continue."""
    body.machine.burn()
    frame = group.frames[op]
    frame.waiting.clear()
    ended = yield from inside(group, here)
    return tuple(sorted({*ended, *frame.waiting} - frame.left))


def _while(body: LaneBody, op: ops.While) -> Item:
    inside = body.block(op.body)

    def item(group: Group, here: Here) -> Steps:
        group.frames[op], left = _Frame(), here
        while left:
            left = yield from _round(body, inside, op, group, left)
        return here

    return item


def _for(body: LaneBody, op: ops.For) -> Item:
    """A lane is active while its index is below its end. An index that the lanes share, or that is evenly spaced, is
    computed from that of lane 0."""
    machine, inside = body.machine, body.block(op.body)
    begin, end, step = (machine.slot(value) for value in (op.begin, op.end, op.step))
    index, prim, moves = machine.slot(op.body.args[0]), element(op.body.args[0].type), body.facts.step(op.body.args[0])

    def item(group: Group, here: Here) -> Steps:
        group.frames[op], left = _Frame(), here
        if moves is None:
            now = {k: int(env[begin]) for k, env in enumerate(group.envs) if env[begin] is not None}
        else:
            now = {k: int(group.envs[0][begin]) + k * moves for k in range(len(group.envs))}
        while True:
            left = tuple(k for k in left if _goes_on(now[k], group.envs[k][end], group.envs[k][step]))
            if not left:
                return here
            for lane, at in now.items():
                group.envs[lane][index] = cast_value(at, prim)
            left = yield from _round(body, inside, op, group, left)
            for lane in now:
                by = group.envs[lane if moves is None else 0][step]
                now[lane] += int(by) if by is not None else 0

    return item


def _goes_on(index: int, end: Any, step: Any) -> bool:
    return index < int(end) if int(step) > 0 else index > int(end)


_ITEMS: dict[type[Op], Callable[[LaneBody, Any], Item]] = {
    ops.Alloca: _alloca,
    ops.Load: _load,
    ops.Store: _store,
    ops.Atomic: _atomic,
    ops.Random: _random,
    ops.Warn: _warn,
    ops.If: _if,
    ops.Break: _jump,
    ops.Continue: _jump,
    ops.While: _while,
    ops.For: _for,
}
