"""Loops that take an extreme: its adjoint goes to the iteration that won, and only that one is swept.

    for %k { ...; %r = binary min (load %m), %v; store %m, %r }

    for %k { the same on a copy of %m, which notes the index of the iteration that won last }
    if not %undecided { if %found { ... with %k = %winner; store %m, %v } }
    orelse { the loop as it was }

The loop that looks for the winner has no derivative: only an index and two truth values come from it. It is undecided
if the extreme equals both operands, because each of them gets a half of the adjoint then, or none, because of NaN. A
later iteration that wins decides it.

Legal if the loop does nothing else that lasts: it stores to one local from outside, in each iteration, by this operator
only. Then iteration `%winner` computes again what it has computed, and leaves in the local what the loop leaves. All
iterations behind it hand the adjoint of the local on, and those before it get 0. Their products with 0 are left out, so
that this holds with `fast_math` only, as in `choices.py`.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.companions import Companions, active_values
from weft.ir.autodiff.demand import EXTREMES
from weft.ir.core import Builder, Op, Value, ops_of
from weft.ir.rewrite import literal
from weft.ir.types import Pointer, Prim, pointer, u1

__all__ = ["split_extremes"]

_HARMLESS = (ops.Alloca, ops.Load, ops.Store, ops.If, ops.For)
_FEW = 2  # iterations of a loop that is not worth it


@dataclass(frozen=True)
class _Chain:
    """The ops of a loop that take the extreme: the load of the local, the operator, the store, and the operand."""

    load: ops.Load
    op: ops.Binary
    store: ops.Store
    value: Op


def split_extremes(kernel: ops.Kernel) -> None:
    """Rewrite such loops of a kernel in reverse mode, the inner ones first. A loop around one of them stays."""
    varied = active_values(kernel, Companions(kernel))
    split = set[Op]()
    for loop in reversed([op for op in ops_of(kernel.body) if isinstance(op, ops.For)]):
        chain = None if any(inner.within(loop) for inner in split) else _chain(loop, varied)
        if chain is not None:
            _split(loop, chain)
            split.add(loop)


def _chain(loop: ops.For, varied: Set[Value]) -> _Chain | None:
    inside = ops_of(loop.body)
    if not all(op.pure or isinstance(op, _HARMLESS) for op in inside) or _is_short(loop):
        return None
    outside = [op for op in inside if isinstance(op, ops.Store) and not _own(root_of(op.ptr), loop)]
    store = outside[0] if len(outside) == 1 else None
    if store is None or store.block is not loop.body or not isinstance(store.ptr, ops.Alloca):
        return None
    op = store.value
    if not isinstance(op, ops.Binary) or op.kind not in EXTREMES or len(op.users) != 1:
        return None
    accesses = [one for one in inside if any(root_of(value) is store.ptr for value in one.operands)]
    load = next((one for one in op.operands if one in accesses), None)
    value = op.rhs if op.lhs is load else op.lhs
    if not isinstance(load, ops.Load) or len(load.users) != 1 or accesses != [load, store] or value is load:
        return None
    if value not in varied or not isinstance(value, Op) or not value.within(loop) or not isinstance(op.type, Prim):
        return None
    return _Chain(load, op, store, value)


def _own(local: Value, loop: Op) -> bool:
    return isinstance(local, ops.Alloca) and local.within(loop)


def _is_short(loop: ops.For) -> bool:
    begin, end, step = (literal(value) for value in (loop.begin, loop.end, loop.step))
    if begin is None or end is None or not step:
        return False
    return len(range(int(begin), int(end), int(step))) <= _FEW


def _split(loop: ops.For, chain: _Chain) -> None:
    build = Builder.at(loop)
    (index,) = loop.body.args
    winner = build.add(ops.Alloca(type=pointer(index.type), name="winner"))
    build.add(ops.Store(winner, loop.begin))
    found, undecided = (_flag(build, name) for name in ("found", "undecided"))
    _search(build, loop, chain, winner, (found, undecided))
    again = build.add(ops.If(build.add(ops.Unary("not", build.add(ops.Load(undecided)))), seldom=True))
    loop.unlink()
    again.orelse.append(loop)
    decided = Builder(again.then, None, loop.span)
    won = decided.add(ops.If(decided.add(ops.Load(found))))
    _replay(Builder(won.then, None, loop.span), loop, chain, winner)


def _flag(build: Builder, name: str) -> ops.Alloca:
    flag = build.add(ops.Alloca(type=pointer(u1), name=name))
    build.add(ops.Store(flag, build.add(ops.Const(False, type=u1))))
    return flag


def _search(build: Builder, loop: ops.For, chain: _Chain, winner: Value, flags: tuple[Value, Value]) -> None:
    """Emit the loop that looks for the winner."""
    assert isinstance(chain.store.ptr.type, Pointer)
    best = build.add(ops.Alloca(type=chain.store.ptr.type, name="best"))
    build.add(ops.Store(best, build.add(ops.Load(chain.store.ptr))))
    values = dict[Value, Value]()
    made = build.add(loop.clone(values))
    assert isinstance(made, ops.For)
    load, op, store, value = (values[one] for one in (chain.load, chain.op, chain.store, chain.value))
    assert isinstance(load, Op)
    assert isinstance(store, Op)
    load.set_operand(0, best)
    store.set_operand(0, best)
    inner = Builder(made.body, store.next, loop.span)
    equal = [inner.add(ops.Binary("eq", *pair)) for pair in ((load, value), (value, op), (load, op))]
    tied, won, kept = equal
    found, undecided = flags
    yes, no = (inner.add(ops.Const(truth, type=u1)) for truth in (True, False))
    before = [inner.add(ops.Load(local)) for local in (winner, found, undecided)]
    inner.add(ops.Store(winner, inner.add(ops.Select(kept, before[0], made.body.args[0]))))
    inner.add(ops.Store(found, inner.add(ops.Select(kept, before[1], won))))
    still, lost = inner.add(ops.Select(tied, yes, before[2])), inner.add(ops.Select(won, no, yes))
    inner.add(ops.Store(undecided, inner.add(ops.Select(kept, still, lost))))


def _replay(build: Builder, loop: ops.For, chain: _Chain, winner: Value) -> None:
    """Emit the iteration that won."""
    values: dict[Value, Value] = {loop.body.args[0]: build.add(ops.Load(winner))}
    for op in loop.body:
        if op is chain.store:
            build.add(ops.Store(chain.store.ptr, values[chain.value]))
        elif op not in (chain.load, chain.op):
            build.add(op.clone(values))
