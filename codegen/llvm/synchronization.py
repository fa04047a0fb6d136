"""Atomic accesses with a memory order, and fences, in LLVM IR (see `ir/atomic_ops.py`).

    compare_exchange %p, %a, %b, acquire    ->    cmpxchg ptr %p, i32 %a, i32 %b acquire acquire

They have no alias metadata: LLVM must not move an access across them, whatever the addresses are.
"""

from __future__ import annotations

from weft.codegen.llvm.function import FunctionWriter, emits
from weft.codegen.llvm.spelling import in_register
from weft.ir.core import Value
from weft.ir.ops import AtomicLoad, AtomicStore, CompareExchange, Exchange, Fence
from weft.ir.types import Prim

__all__ = ["write_fence"]

_ORDERS = {"relaxed": "monotonic", "acquire": "acquire", "release": "release", "acq_rel": "acq_rel"}
_FAILING = {"relaxed": "monotonic", "acquire": "acquire", "release": "monotonic", "acq_rel": "acquire"}


@emits(AtomicLoad)
def _atomic_load(f: FunctionWriter, op: AtomicLoad) -> str:
    type = _word(op)
    order = f"{f.target.sync_scope}{_ORDERS[op.order]}"
    return f.set(f"load atomic {in_register(type)}, ptr {f.use(op.ptr)} {order}, align {type.size}")


@emits(AtomicStore)
def _atomic_store(f: FunctionWriter, op: AtomicStore) -> None:
    order = f"{f.target.sync_scope}{_ORDERS[op.order]}"
    f.do(f"store atomic {f.typed(op.value)}, ptr {f.use(op.ptr)} {order}, align {_word(op.value).size}")


@emits(Exchange)
def _exchange(f: FunctionWriter, op: Exchange) -> str:
    return f.set(f"atomicrmw xchg ptr {f.use(op.ptr)}, {f.typed(op.value)} {f.target.sync_scope}{_ORDERS[op.order]}")


@emits(CompareExchange)
def _compare_exchange(f: FunctionWriter, op: CompareExchange) -> str:
    """By the bits: floats are compared as integers."""
    type = _word(op)
    bits, register = f"i{type.bits}", in_register(type)
    expected, desired = (
        f.set(f"bitcast {f.typed(value)} to {bits}") if type.is_float else f.use(value)
        for value in (op.expected, op.desired)
    )
    order = f"{f.target.sync_scope}{_ORDERS[op.order]} {_FAILING[op.order]}"
    pair = f.set(f"cmpxchg ptr {f.use(op.ptr)}, {bits} {expected}, {bits} {desired} {order}")
    old = f.set(f"extractvalue {{ {bits}, i1 }} {pair}, 0")
    return f.set(f"bitcast {bits} {old} to {register}") if type.is_float else old


@emits(Fence)
def _fence(f: FunctionWriter, op: Fence) -> None:
    write_fence(f, op.order)


def write_fence(f: FunctionWriter, order: str, scope: str | None = None) -> None:
    """A fence of that memory order, among all threads that take part in atomics, or in that scope."""
    f.do(f"fence {f.target.sync_scope if scope is None else scope}{_ORDERS[order]}")


def _word(value: Value) -> Prim:
    assert isinstance(value.type, Prim)
    return value.type
