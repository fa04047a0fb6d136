"""The meaning of vectors in the evaluator.

A vector of numbers is a numpy array, and a vector of addresses is a tuple of `Place`s. An access of several lanes is
the accesses of its active lanes, in ascending order. On weak memory, each of them goes through the view of the thread.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from weft.ir import ops
from weft.ir.core import Op, pointee
from weft.ir.errors import InternalError
from weft.ir.machine import Env, Flow, Machine, Run, Steps, runs, runs_weakly, steps
from weft.ir.memory_model import Place, packed
from weft.ir.scalar import cast_value
from weft.ir.types import Lanes, Pointer, Prim, element, flatten

__all__ = ["addresses", "chosen", "splat"]


def _vector(op: Op) -> Lanes:
    assert isinstance(op.type, Lanes)
    return op.type


def _moved(place: Place, by: int) -> Place:
    return Place(place.buffer, [at + by for at in place.offsets], place.prims, place.error)


def splat(machine: Machine, op: ops.Splat) -> Run:
    """A scalar or an address, once for each lane."""
    x, type = machine.slot(op.x), _vector(op)
    if isinstance(type.elem, Prim):
        return lambda env: np.full(type.count, env[x], element(type).np)
    return lambda env: (env[x],) * type.count


def chosen(machine: Machine, op: ops.Select) -> Run:
    """One of two addresses in each lane."""
    condition, a, b = machine.slot(op.condition), machine.slot(op.a), machine.slot(op.b)
    return lambda env: tuple(x if held else y for held, x, y in zip(env[condition], env[a], env[b], strict=True))


def addresses(machine: Machine, op: ops.Address) -> Run:
    """A vector of addresses. The base and each index and stride are one for all lanes, or one for each."""
    type, base, offset = _vector(op), machine.slot(op.base), op.offset
    assert isinstance(type.elem, Pointer)
    indices, strides = machine.slot_list(op.indices), machine.slot_list(op.strides)
    target, wide, count = type.elem.elem, isinstance(op.base.type, Lanes), type.count
    prims, scope, course, in_tree = flatten(target), op.scope.whole, machine.course, isinstance(op.base, ops.TreeBase)

    def run(env: Env) -> Any:
        total = np.full(count, offset, np.int64)
        for index, stride in zip(indices, strides, strict=True):
            total = total + np.asarray(env[index]) * np.asarray(env[stride])
        places = env[base] if wide else (env[base],) * count
        if in_tree and scope in course.moved:
            places = [Place(course.moved[scope], place.offsets, place.prims) for place in places]
        return tuple(
            Place(place.buffer, packed(target, place.offsets[0] + int(by)), prims)
            for place, by in zip(places, total, strict=True)
        )

    return run


@runs(ops.Ramp)
def _ramp(machine: Machine, op: ops.Ramp) -> Run:
    x, type, step, first = machine.slot(op.x), _vector(op), op.step, op.first
    numbers = range(first, first + type.count)
    if isinstance(type.elem, Pointer):
        return lambda env: tuple(_moved(env[x], number * step) for number in numbers)
    prim = type.elem
    return lambda env: np.array([_wrapped(int(env[x]) + number * step, prim) for number in numbers], prim.np)


def _wrapped(number: int, prim: Prim) -> int:
    low = number & ((1 << prim.bits) - 1)
    return low - (1 << prim.bits) if prim.is_signed and low >> (prim.bits - 1) else low


@runs(ops.Lane)
def _lane(machine: Machine, op: ops.Lane) -> Run:
    x, number = machine.slot(op.x), machine.slot(op.number)

    def run(env: Env) -> Any:
        at = int(env[number])
        if not 0 <= at < len(env[x]):
            raise InternalError(f"lanes: {op!r} reads lane {at} of a vector of {len(env[x])} lanes")
        return env[x][at]

    return run


@runs(ops.Shuffle)
def _shuffle(machine: Machine, op: ops.Shuffle) -> Run:
    a, b, order = machine.slot(op.a), machine.slot(op.b), op.order
    elem = _vector(op).elem
    if isinstance(elem, Pointer):
        return lambda env: tuple((*env[a], *env[b])[number] for number in order)
    zero = np.zeros(1, elem.np)
    return lambda env: np.concatenate((env[a], env[b], zero))[list(order)]


@runs(ops.FirstLanes)
def _first_lanes(machine: Machine, op: ops.FirstLanes) -> Run:
    count, numbers = machine.slot(op.count), np.arange(op.first, op.first + _vector(op).count)
    return lambda env: numbers < int(env[count])


@runs(ops.AnyActive)
def _any_active(machine: Machine, op: ops.AnyActive) -> Run:
    mask = machine.slot(op.mask)
    return lambda env: np.bool_(env[mask].any())


@runs(ops.FirstActive)
def _first_active(machine: Machine, op: ops.FirstActive) -> Run:
    mask = machine.slot(op.mask)
    return lambda env: np.int64(env[mask].argmax())


# ---- memory ----------------------------------------------------------------------------------------------------------

Load = Callable[[Place, Prim], Any]
Store = Callable[[Place, Any, Prim], None]


@runs(ops.MaskedLoad, ops.Gather)
def _load(machine: Machine, op: ops.MaskedLoad | ops.Gather) -> Run:
    return _loads(machine, op, lambda place, prim: place.load(prim))


@runs_weakly(ops.MaskedLoad, ops.Gather)
def _load_weakly(machine: Machine, op: ops.MaskedLoad | ops.Gather) -> Run:
    return _loads(machine, op, lambda place, prim: _view(machine).load(place, prim, "plain"))


@runs(ops.MaskedStore, ops.Scatter)
def _store(machine: Machine, op: ops.MaskedStore | ops.Scatter) -> Run:
    return _stores(machine, op, lambda place, value, prim: place.store(value, prim))


@runs_weakly(ops.MaskedStore, ops.Scatter)
def _store_weakly(machine: Machine, op: ops.MaskedStore | ops.Scatter) -> Run:
    return _stores(machine, op, lambda place, value, prim: _view(machine).store(place, value, prim, "plain"))


def _view(machine: Machine) -> Any:
    assert machine.course.view is not None, "only threads of a parallel loop have a view"
    return machine.course.view


def _loads(machine: Machine, op: ops.MaskedLoad | ops.Gather, load: Load) -> Run:
    ptr, mask, prim, place = machine.slot(op.ptr), machine.slot(op.mask), element(op.type), _place_of(op)

    def run(env: Env) -> Any:
        found = np.zeros(len(env[mask]), prim.np)
        for lane in np.flatnonzero(env[mask]):
            found[lane] = load(place(env[ptr], int(lane)), prim)
        return found

    return run


def _stores(machine: Machine, op: ops.MaskedStore | ops.Scatter, store: Store) -> Run:
    ptr, value, mask = machine.slot(op.ptr), machine.slot(op.value), machine.slot(op.mask)
    prim, place = element(op.value.type), _place_of(op)

    def run(env: Env) -> None:
        for lane in np.flatnonzero(env[mask]):
            store(place(env[ptr], int(lane)), env[value][lane], prim)

    return run


def _place_of(op: ops.MaskedLoad | ops.MaskedStore | ops.Gather | ops.Scatter) -> Callable[[Any, int], Place]:
    """How the place of a lane follows from the address of lane 0, or from the addresses of all."""
    if isinstance(op, (ops.Gather, ops.Scatter)):
        return lambda places, lane: places[lane]
    size = element(pointee(op.ptr)).size
    return lambda first, lane: _moved(first, lane * size)


# ---- one lane after another ------------------------------------------------------------------------------------------


def _active(op: ops.EachLane, mask: Any) -> Any:
    """The numbers of the active lanes."""
    found = np.flatnonzero(mask)
    if op.some and not len(found):
        raise InternalError(f"lanes: {op!r} runs although no lane is active")
    return found


@runs(ops.EachLane)
def _each_lane(machine: Machine, op: ops.EachLane) -> Run:
    mask, number, body = machine.slot(op.mask), machine.slot(op.body.args[0]), machine.block(op.body)

    def run(env: Env) -> None:
        for lane in _active(op, env[mask]):
            env[number] = np.int64(lane)
            flow: Flow | None = body(env)
            assert flow is None, "no lane leaves it"

    return run


@steps(ops.EachLane)
def _each_lane_in_steps(machine: Machine, op: ops.EachLane) -> Steps:
    mask, number, body = machine.slot(op.mask), machine.slot(op.body.args[0]), machine.stepped(op.body)

    def run(env: Env) -> Generator[None]:
        for lane in _active(op, env[mask]):
            env[number] = np.int64(lane)
            flow: Flow | None = yield from body(env)
            assert flow is None, "no lane leaves it"

    return run


@runs(ops.LaneRandom)
def _lane_random(machine: Machine, op: ops.LaneRandom) -> Run:
    """The slot of the task holds how many numbers each iteration of the group has drawn (see `evaluate_threads.py`)."""
    prim, stream, number, course = element(op.type), op.stream, machine.slot(op.number), machine.course
    task = op.parent
    while not isinstance(task, ops.Task):
        assert task is not None
        task = task.parent
    counts = machine.slot(task)

    def run(env: Env) -> Any:
        lane, drawn, before = int(env[number]), env[counts], (course.iteration, course.draws)
        if not 0 <= lane < task.schedule.lanes * task.schedule.vectors:
            raise InternalError(f"lanes: {op!r} draws for iteration {lane} of a group")
        course.iteration, course.draws = course.iteration + lane, drawn.get(lane, 0)
        value = machine.draw(prim, stream)
        drawn[lane] = course.draws
        course.iteration, course.draws = before
        return cast_value(value, prim)

    return run
