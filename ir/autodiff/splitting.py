"""Turns ops that synchronize iterations into loads and stores, where nothing runs beside them.

%old = atomic max %p, %v           %old = load %p
                             =>    store %p, (max %old, %v)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.early_returns import PARALLEL
from weft.ir.core import Builder, Op, Value
from weft.ir.tasks import memory_space, private_spaces
from weft.ir.types import element, i16, i32, i64

__all__ = ["SYNCHRONIZING", "split_atomics", "split_synchronizing"]

SYNCHRONIZING = (ops.AtomicLoad, ops.AtomicStore, ops.Exchange, ops.CompareExchange)


def split_atomics(kernel: ops.Kernel) -> None:
    """Split atomics on memory that no other iteration accesses, and all ops of serial code. Sums without a result
    stay."""
    split_synchronizing(kernel)
    private: dict[Op, set[Hashable]] = {}
    for op in kernel.all_of(ops.Atomic):
        if isinstance(root_of(op.ptr), ops.Alloca):
            _split(op)
        elif op.users or op.kind not in ("add", "sub"):
            loop = _parallel_around(op)
            if loop is not None and loop not in private:
                private[loop] = private_spaces(loop)
            if loop is None or memory_space(op.ptr) in private[loop]:
                _split(op)


def split_synchronizing(kernel: ops.Kernel) -> None:
    """Split exchanges, comparisons, and ordered loads and stores of serial code. (Iterations may run a function at the
    same time.)"""
    for op in kernel.all_of(*SYNCHRONIZING):
        if not kernel.called and _parallel_around(op) is None:
            _SPLITS[type(op)](op)


def _parallel_around(op: Op) -> ops.ParallelFor | ops.StructFor | None:
    return next((outer for outer in op.around() if isinstance(outer, PARALLEL)), None)


def _split(op: ops.Atomic) -> None:
    """An atomic that nothing runs beside, as a load and a store."""
    build = Builder.at(op)
    old = build.add(ops.Load(op.ptr, name=op.name))
    new = op.value if op.kind == "xchg" else build.add(ops.Binary(op.kind, old, op.value, type=old.type))
    build.add(ops.Store(op.ptr, new))
    op.replace(old)


def _split_load(op: ops.AtomicLoad) -> None:
    op.replace(Builder.at(op).add(ops.Load(op.ptr, name=op.name)))


def _split_store(op: ops.AtomicStore) -> None:
    Builder.at(op).add(ops.Store(op.ptr, op.value))
    op.erase()


def _split_exchange(op: ops.Exchange) -> None:
    build = Builder.at(op)
    old = build.add(ops.Load(op.ptr, name=op.name))
    build.add(ops.Store(op.ptr, op.value))
    op.replace(old)


def _split_comparison(op: ops.CompareExchange) -> None:
    """It compares bits: 0.0 is not -0.0."""
    build = Builder.at(op)
    old = build.add(ops.Load(op.ptr, name=op.name))
    sides: list[Value] = [old, op.expected]
    prim = element(old.type)
    if prim.is_float:
        sides = [build.add(ops.BitCast(side, type=_BITS[prim.size])) for side in sides]
    same = build.add(ops.Binary("eq", *sides))
    build.add(ops.Store(op.ptr, build.add(ops.Select(same, op.desired, old))))
    op.replace(old)


_BITS = {2: i16, 4: i32, 8: i64}
_SPLITS: dict[type[Op], Callable[[Any], None]] = {
    ops.AtomicLoad: _split_load,
    ops.AtomicStore: _split_store,
    ops.Exchange: _split_exchange,
    ops.CompareExchange: _split_comparison,
}
