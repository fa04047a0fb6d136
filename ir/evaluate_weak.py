"""The effects of ops on weak memory (see `weak_memory.py`): each op goes through the view of its thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.ir import ops
from weft.ir.core import pointee
from weft.ir.machine import Env, Machine, Run, runs_weakly
from weft.ir.memory_model import Place, convert, flat_values, unflatten
from weft.ir.scalar import BINARY, cast_value
from weft.ir.types import Prim, Type, element, flat_size
from weft.ir.weak_memory import View

__all__: list[str] = []  # it registers rows


def _view(machine: Machine) -> View:
    view: Any = machine.course.view
    assert isinstance(view, View), "only threads of a parallel loop have a view"
    return view


def _absent(machine: Machine, place: Place) -> bool:
    """Whether the address is outside of its object, and such accesses are masked."""
    return bool(machine.config.masks and place.error)


@runs_weakly(ops.Load)
@runs_weakly(ops.AtomicLoad)
def _load(machine: Machine, op: ops.Load | ops.AtomicLoad) -> Run:
    ptr, type = machine.slot(op.ptr), op.type
    order, nothing = op.order if isinstance(op, ops.AtomicLoad) else "plain", _zero(type)
    return lambda env: nothing if _absent(machine, env[ptr]) else _view(machine).load(env[ptr], type, order)


@runs_weakly(ops.Store)
@runs_weakly(ops.AtomicStore)
def _store(machine: Machine, op: ops.Store | ops.AtomicStore) -> Run:
    ptr, value, type = machine.slot(op.ptr), machine.slot(op.value), pointee(op.ptr)
    order = op.order if isinstance(op, ops.AtomicStore) else "plain"  # a relaxed `store` carries nothing either

    def run(env: Env) -> None:
        if not _absent(machine, env[ptr]):
            _view(machine).store(env[ptr], env[value], type, order)

    return run


@runs_weakly(ops.Atomic)
def _atomic(machine: Machine, op: ops.Atomic) -> Run:
    kind, prim = op.kind, element(op.type)

    def update(old: Any, operands: list[Any], k: int) -> Any:
        value = cast_value(operands[0][k], prim)
        return value if kind == "xchg" else BINARY[kind].evaluate(old, value)

    return _updating(machine, op, update, "relaxed")


@runs_weakly(ops.Exchange)
def _exchange(machine: Machine, op: ops.Exchange) -> Run:
    return _updating(machine, op, lambda _, operands, k: operands[0][k], op.order)


@runs_weakly(ops.CompareExchange)
def _compare_exchange(machine: Machine, op: ops.CompareExchange) -> Run:
    def update(old: Any, operands: list[Any], k: int) -> Any:
        expected, desired = operands
        return desired[k] if old.tobytes() == expected[k].tobytes() else None

    return _updating(machine, op, update, op.order)


def _updating(machine: Machine, op: Any, update: Callable[[Any, list[Any], int], Any], order: str) -> Run:
    """`update` computes the new value of a scalar from its number and the scalars of each operand; None: it stays."""
    ptr, slots, type = machine.slot(op.ptr), machine.slot_list(op.operands[1:]), pointee(op.ptr)
    nothing = _zero(type)

    def run(env: Env) -> Any:
        if _absent(machine, env[ptr]):
            return nothing
        operands = [flat_values(convert(env[slot], type), type) for slot in slots]
        return _view(machine).update(env[ptr], lambda old, k: update(old, operands, k), type, order)

    return run


@runs_weakly(ops.Fence)
def _fence(machine: Machine, op: ops.Fence) -> Run:
    order = op.order
    return lambda env: _view(machine).fence(order)


def _zero(type: Type) -> Any:
    return cast_value(0, type) if isinstance(type, Prim) else unflatten([0] * flat_size(type), type)
