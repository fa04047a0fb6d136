"""The reference evaluator: runs a kernel at any level with numpy scalars, one op at a time.

It shares nothing with code generation except the operator table of `scalar.py`, so it defines what a program means. A
pass is correct if a kernel evaluates to the same memory before and after it. Parallel loops run in order, and tasks run
as `config.threads` consecutive chunks. With a `schedule`, they run concurrently (see `adversary.py`). `machine.py`
turns ops into closures. This module defines the meaning of control ops.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from weft.ir import evaluate_mapped as evaluate_mapped  # registers the meaning of ops of mapped CHI
from weft.ir import evaluate_simt as evaluate_simt  # registers the meaning of SIMT ops
from weft.ir import evaluate_sparse as evaluate_sparse  # registers the meaning of ops on sparse cells
from weft.ir import evaluate_values as evaluate_values  # registers the meaning of value ops
from weft.ir import evaluate_vectors as evaluate_vectors  # registers the meaning of ops on vectors
from weft.ir import evaluate_weak as evaluate_weak  # registers the effects of ops on weak memory
from weft.ir import ops
from weft.ir.adversary import Schedule
from weft.ir.artifact import Site
from weft.ir.boxes import points
from weft.ir.config import CompileConfig
from weft.ir.core import BlockArg
from weft.ir.errors import message_parts, shown_values
from weft.ir.evaluate_sparse import sparse_loop
from weft.ir.evaluate_threads import at_once, spread_out, task_threads
from weft.ir.gpu_machine import jammed
from weft.ir.machine import Course, Env, Flow, Machine, Run, Steps, regrouped, runs, steps
from weft.ir.memory_model import Fault, Memory, convert, flat_values, unflatten
from weft.ir.philox import launch_key
from weft.ir.scalar import cast_value
from weft.ir.tasks import left_of
from weft.ir.types import VOID, Prim, Type, element, flat_size

__all__ = ["Fault", "Memory", "evaluate"]


_DEEPEST = 1000  # the deepest recursion, unless Python's own stack ends before


def evaluate(
    kernel: ops.Kernel,
    args: Sequence[Any],
    memory: Memory,
    config: CompileConfig,
    limit: int = 10_000_000,
    functions: Sequence[ops.Kernel] = (),
    schedule: Schedule | None = None,
) -> list[Any]:
    """Run `kernel` on `args` and `memory`, and give the results. There is one argument per parameter: numbers, nested
    lists, tuples or dicts of members, numpy arrays. `functions` are the functions that the kernel calls. `schedule`
    says how iterations interleave; None: they run in order. Raises `Fault` for a failed assertion, an access out of
    bounds, endless recursion, or more than `limit` loop iterations."""
    course = Course(limit, launch_key(config.random_seed), schedule=schedule)
    machine = Machine(kernel, memory, config, course, {function.symbol: function for function in functions})
    return regrouped(machine.run(args), kernel.results)


# ---- calls -----------------------------------------------------------------------------------------------------------


@runs(ops.Invoke)
def _invoke(machine: Machine, op: ops.Invoke) -> Run:
    """Before `scalarize`, arguments and results are whole values. After it, they are scalars."""
    slots, types, course = machine.slot_list(op.values), [value.type for value in op.values], machine.course

    def run(env: Env) -> Any:
        callee = machine.callee(op.function)
        values = _whole([env[slot] for slot in slots], types, callee.kernel)
        outer, course.stream = course.stream, op.stream or course.stream
        course.calls += 1
        try:
            if course.calls > _DEEPEST:
                raise Fault("recursion", f"'{op.function}' calls itself without end")
            scalars = callee.run(values)
        except RecursionError:
            raise Fault(
                "recursion", f"'{op.function}' calls itself more deeply than Python's recursion limit allows"
            ) from None
        finally:
            course.calls -= 1
            course.stream = outer
        if op.type is VOID:
            return None
        return scalars if op.results else unflatten(scalars, op.type)

    return run


def _whole(values: Sequence[Any], types: Sequence[Type], callee: ops.Kernel) -> Sequence[Any]:
    """One value for each parameter of a function, from values of these types."""
    wanted = [param.type for param in callee.params]
    apart = any(isinstance(have, Prim) and not isinstance(want, Prim) for have, want in zip(types, wanted))
    return regrouped(values, wanted) if apart or len(types) != len(wanted) else values


@steps(ops.Invoke)
def _invoke_in_steps(machine: Machine, op: ops.Invoke) -> Steps:
    slots, types, course = machine.slot_list(op.values), [value.type for value in op.values], machine.course

    def run(env: Env) -> Generator[None, None, Any]:
        callee = machine.callee(op.function)
        values = _whole([env[slot] for slot in slots], types, callee.kernel)
        outer, course.stream = course.stream, op.stream or course.stream
        course.calls += 1
        if course.calls > _DEEPEST:
            raise Fault("recursion", f"'{op.function}' calls itself without end")
        try:
            scalars = yield from callee.run_stepped(values)
        except RecursionError:
            raise Fault(
                "recursion", f"'{op.function}' calls itself more deeply than Python's recursion limit allows"
            ) from None
        course.calls -= 1
        course.stream = outer
        if op.type is VOID:
            return None
        return scalars if op.results else unflatten(scalars, op.type)

    return run


@runs(ops.Returned)
def _returned(machine: Machine, op: ops.Returned) -> Run:
    call, part = machine.slot(op.call), op.part
    return lambda env: env[call][part]


# ---- control ---------------------------------------------------------------------------------------------------------


@runs(ops.If)
def _if(machine: Machine, op: ops.If) -> Run:
    condition, then, orelse = machine.slot(op.condition), machine.block(op.then), machine.block(op.orelse)
    return lambda env: (then if env[condition] else orelse)(env)


@steps(ops.If)
def _if_in_steps(machine: Machine, op: ops.If) -> Steps:
    condition, then, orelse = machine.slot(op.condition), machine.stepped(op.then), machine.stepped(op.orelse)
    return lambda env: (then if env[condition] else orelse)(env)


def _loop_in_steps(
    machine: Machine, body: Steps, env: Env, points: Iterator[None]
) -> Generator[None, None, Flow | None]:
    """`_loop` as a generator that stops between steps."""
    for _ in points:
        machine.burn()
        flow = yield from body(env)
        if flow is Flow.BREAK:
            return None
        if flow is not None and flow is not Flow.CONTINUE:
            flow_out: Flow = flow
            return flow_out
    return None


def _loop(machine: Machine, body: Run, env: Env, points: Iterator[None]) -> Flow | None:
    """Runs `body` once for each of `points`, which put the indices in `env`, until it ends in anything other than
    `continue`."""
    for _ in points:
        machine.burn()
        flow = body(env)
        if flow is Flow.BREAK:
            return None
        if flow is not None and flow is not Flow.CONTINUE:
            flow_out: Flow = flow
            return flow_out
    return None


def _points(env: Env, args: Sequence[BlockArg], slots: Sequence[int], ranges: Sequence[range]) -> Iterator[None]:
    """Put each point of the box into the loop's index slots, in turn."""
    prims = [element(arg.type) for arg in args]
    for point in points(ranges):
        for slot, prim, index in zip(slots, prims, point, strict=True):
            env[slot] = cast_value(index, prim)
        yield None


def _trips(machine: Machine, op: ops.For) -> Callable[[Env], Iterator[None]]:
    begin, end, step = (machine.slot(value) for value in (op.begin, op.end, op.step))
    if left_of(op) is not None:
        return _groups(machine, op)
    slots = machine.slot_list(op.body.args)

    def trips(env: Env) -> Iterator[None]:
        if int(env[step]) == 0:
            raise Fault("arithmetic", "the step of a loop is zero")
        return _points(env, op.body.args, slots, [range(int(env[begin]), int(env[end]), int(env[step]))])

    return trips


def _groups(machine: Machine, op: ops.For) -> Callable[[Env], Iterator[None]]:
    """The groups of iterations of a vectorized loop: the index of the first one, and how many are left."""
    begin, end, args = machine.slot(op.begin), machine.slot(op.end), op.body.args
    slots, span = machine.slot_list(args), op.schedule.lanes * op.schedule.vectors

    def trips(env: Env) -> Iterator[None]:
        stop = int(env[end])
        for first in range(int(env[begin]), stop, span):
            for slot, arg, value in zip(slots, args, (first, stop - first), strict=True):
                env[slot] = cast_value(value, element(arg.type))
            yield None

    return trips


@runs(ops.For)
def _for(machine: Machine, op: ops.For) -> Run:
    if op.schedule.jam and not op.schedule.warp:
        return at_once(jammed(machine, op))
    trips, body = _trips(machine, op), machine.block(op.body)
    return lambda env: _loop(machine, body, env, trips(env))


@steps(ops.For)
def _for_in_steps(machine: Machine, op: ops.For) -> Steps:
    if op.schedule.jam and not op.schedule.warp:
        return jammed(machine, op)
    trips, body = _trips(machine, op), machine.stepped(op.body)
    return lambda env: _loop_in_steps(machine, body, env, trips(env))


@runs(ops.While)
def _while(machine: Machine, op: ops.While) -> Run:
    body = machine.block(op.body)
    return lambda env: _loop(machine, body, env, repeat(None))


@steps(ops.While)
def _while_in_steps(machine: Machine, op: ops.While) -> Steps:
    body = machine.stepped(op.body)
    return lambda env: _loop_in_steps(machine, body, env, repeat(None))


# ---- parallel loops --------------------------------------------------------------------------------------------------


@runs(ops.ParallelFor)
def _parallel_for(machine: Machine, op: ops.ParallelFor) -> Run:
    begins, ends = machine.slot_list(op.begins), machine.slot_list(op.ends)
    spread = spread_out(machine, op, op.body.args)

    def run(env: Env) -> Flow | None:
        return spread(env, [range(int(env[begin]), int(env[end])) for begin, end in zip(begins, ends, strict=True)])

    return run


@runs(ops.StructFor)
def _struct_for(machine: Machine, op: ops.StructFor) -> Run:
    space = op.field.space
    if op.cells or op.field.node is not None:
        return sparse_loop(machine, op)
    found = op.field.path.enumerate(space, int)
    limits = zip(found.axes, found.begins, found.ends, strict=False)  # without axes: one iteration, and no index
    box = [range(begin + space.first[axis], end + space.first[axis]) for axis, begin, end in limits]
    spread = spread_out(machine, op, [op.body.args[axis] for axis in found.axes])
    return lambda env: spread(env, box)


@runs(ops.Task)
def _task(machine: Machine, op: ops.Task) -> Run:
    """A task, unless it makes a list that the host knows to be current."""
    run, current, schedule = _all_of_task(machine, op), machine.memory.current, op.schedule
    ends = not schedule.guarded and (not isinstance(op.next, ops.Task) or op.next.schedule.lists != schedule.lists)

    def known(env: Env) -> Flow | None:
        if schedule.lists in current:
            return None
        flow: Flow | None = run(env)
        current.difference_update(schedule.outdates)
        if ends and schedule.lists >= 0 and flow is None:
            current.add(schedule.lists)
        return flow

    return known if schedule.lists >= 0 or schedule.outdates else run


def _all_of_task(machine: Machine, op: ops.Task) -> Run:
    if op.kind == "serial":
        body = machine.block(op.body)
        return lambda env: Flow.END if body(env) is Flow.END else None
    bounds = machine.block(op.bounds)
    spread = task_threads(machine, op)

    def run(env: Env) -> Flow | None:
        bounds(env)
        return spread(env, [range(begin, end) for begin, end in zip(*machine.box, strict=True)])

    return run


@steps(ops.Task)
def _task_in_steps(machine: Machine, op: ops.Task) -> Steps:
    """A task of a function that interleaved iterations call. Such a function has serial tasks only."""
    assert op.kind == "serial", "a function that a parallel loop calls has no parallel loop"
    body = machine.stepped(op.body)

    def run(env: Env) -> Generator[None, None, Flow | None]:
        flow = yield from body(env)
        return Flow.END if flow is Flow.END else None

    return run


@runs(ops.Yield)
def _yield(machine: Machine, op: ops.Yield) -> Run:
    begins, ends = machine.slot_list(op.begins), machine.slot_list(op.ends)

    def run(env: Env) -> Flow:
        machine.box = [int(env[i]) for i in begins], [int(env[i]) for i in ends]
        return Flow.YIELD

    return run


@runs(ops.Break)
def _break(machine: Machine, op: ops.Break) -> Run:
    return lambda env: Flow.BREAK


@runs(ops.Continue)
def _continue(machine: Machine, op: ops.Continue) -> Run:
    return lambda env: Flow.CONTINUE


@runs(ops.Exit)
def _exit(machine: Machine, op: ops.Exit) -> Run:
    return lambda env: Flow.END


@runs(ops.Return)
def _return(machine: Machine, op: ops.Return) -> Run:
    values, types = machine.slot_list(op.values), machine.kernel.results

    def run(env: Env) -> Flow:
        given = [convert(env[value], type) for value, type in zip(values, types, strict=True)]
        machine.result_scalars = [s for value, type in zip(given, types) for s in flat_values(value, type)]
        return Flow.END

    return run


@runs(ops.StoreResult)
def _store_result(machine: Machine, op: ops.StoreResult) -> Run:
    value, part = machine.slot(op.value), op.part

    def run(env: Env) -> None:
        machine.result_scalars[part] = env[value]

    return run


def _text(value: Any) -> str:
    """A value as `print` shows it. Tensors are shown as nested lists."""
    return "[" + ", ".join(map(_text, value)) + "]" if isinstance(value, np.ndarray) else str(value)


def _reported(machine: Machine, op: ops.Print | ops.Assert | ops.Warn) -> Callable[[Env], list[Any]]:
    """The operands as the user wrote them. After `scalarize`, `types` says which scalars form one tensor."""
    slots, types = machine.slot_list(op.values), op.types

    def read(env: Env) -> list[Any]:
        scalars = iter([env[slot] for slot in slots])
        return [unflatten([next(scalars) for _ in range(flat_size(type))], type) for type in types] or list(scalars)

    return read


@runs(ops.Print)
def _print(machine: Machine, op: ops.Print) -> Run:
    values, parts, printed = _reported(machine, op), op.parts, machine.memory.printed

    def run(env: Env) -> None:
        pending = iter(values(env))
        pieces: list[str] = []
        for part in parts:
            if not part.startswith("\0"):
                pieces.append(part)
                continue
            value = next(pending)
            pieces.append(format(value, part[1:]) if len(part) > 1 else _text(value))
        printed.append("".join(pieces))

    return run


@runs(ops.Assert)
def _assert(machine: Machine, op: ops.Assert) -> Run:
    condition, values = machine.slot(op.condition), _reported(machine, op)
    (first, *rest), specs = message_parts(op.message)

    def run(env: Env) -> None:
        if env[condition]:
            return
        given = zip(shown_values(op.kind, values(env)), specs)
        shown = [format(x, spec) if spec and np.ndim(x) == 0 else _text(x) for x, spec in given]
        filled = zip(rest, shown + ["{}"] * len(rest))
        raise Fault(op.kind, first + "".join(shown + literal for literal, shown in filled))

    return run


@runs(ops.Warn)
def _warn(machine: Machine, op: ops.Warn) -> Run:
    values, warned, told = _reported(machine, op), machine.memory.warned, machine.memory.told
    (first, *rest), _ = message_parts(op.message)
    place = Site(op.kind, (), (), op.span).told_with if op.kind == "overflow" else None

    def run(env: Env) -> None:
        if place in told:
            return
        if place is not None:
            told.add(place)
        shown = [_text(value) for value in values(env)]
        warned.append(first + "".join(value + literal for value, literal in zip(shown, rest)))

    return run
