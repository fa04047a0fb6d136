"""The meaning of the ops of mapped CHI in the evaluator. It checks what they claim about addresses and indices."""

from __future__ import annotations

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.core import Op, Value
from weft.ir.errors import InternalError
from weft.ir.machine import Env, Machine, Run, runs
from weft.ir.memory_model import Place
from weft.ir.scalar import BINARY
from weft.ir.types import Prim, f32

__all__ = ["INSIDE", "MAPPED"]

INSIDE = object()  # the slot of a task whose clamps have no effect (see `gpu_machine.py`)


@runs(ops.Aligned)
def _aligned(machine: Machine, op: ops.Aligned) -> Run:
    return lambda env: None


@runs(ops.Clamp)
def _clamp(machine: Machine, op: ops.Clamp) -> Run:
    """The clamped index must be in the range that the op states, as far as it is known which index of
    the task it is."""
    a, b, moved = machine.slot(op.lhs), machine.slot(op.rhs), machine.slot(op.index)
    task: ops.Task | None = next((one for one in _around(op) if isinstance(one, ops.Task)), None)
    assert isinstance(op.type, Prim)
    assert task is not None
    index, state = machine.slot(task.body.args[op.axis]), machine.slot(task)
    function, low, high = BINARY[op.kind].on_scalars(op.type), op.low, op.high
    nested = any(isinstance(value, ops.Clamp) for value in _behind(op.index))

    def run(env: Env) -> object:
        if env[state] is INSIDE:
            return env[moved]
        distance = int(env[moved]) - int(env[index])
        if not nested and op.fits and not low <= distance <= high:
            raise InternalError(f"{op!r}: the index is moved by {distance}, not by {low} .. {high}")
        return function(env[a], env[b])

    return run


def _around(op: Op) -> list[Op]:
    found, outer = list[Op](), op.parent
    while outer is not None:
        found.append(outer)
        outer = outer.parent
    return found


def _behind(value: Value) -> list[Value]:
    """The value itself and the values that it is computed from."""
    return [value, *(inner for operand in getattr(value, "operands", ()) for inner in _behind(operand))]


@runs(ops.AtomicRow)
def _atomic_row(machine: Machine, op: ops.AtomicRow) -> Run:
    """Each sum is executed by itself. A single unit must be at a multiple of its size."""
    ptr, values, unit = machine.slot(op.ptr), machine.slot_list(op.values), op.unit * f32.size
    wary = len(values) == op.unit and isinstance(root_of(op.ptr), ops.TreeBase)
    masked = machine.config.masks

    def run(env: Env) -> None:
        place: Place = env[ptr]
        if masked and place.error:
            return
        if wary and place.offsets[0] % unit:
            raise InternalError(f"{op!r} adds {unit} bytes at {place.offsets[0]}, which is no multiple")
        for number, value in enumerate(values):
            one = Place(place.buffer, [place.offsets[0] + number * f32.size], [f32], place.error)
            one.store(BINARY["add"].evaluate(one.load(f32), env[value]), f32)

    return run


@runs(ops.StackLeft)
def _stack_left(machine: Machine, op: ops.StackLeft) -> Run:
    """The evaluator has a limit of its own (see `machine.py`)."""
    return lambda env: True


MAPPED = (ops.Aligned, ops.AtomicRow, ops.Clamp, ops.StackLeft)
