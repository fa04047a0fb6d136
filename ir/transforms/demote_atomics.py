"""Turns atomics that nobody else can meet into ordinary reads and writes."""

from __future__ import annotations

from weft.ir.addresses import root_of
from weft.ir.config import CompileConfig
from weft.ir.core import Builder
from weft.ir.ops import Alloca, Atomic, Binary, Kernel, Load, Store
from weft.ir.passes import pass_
from weft.ir.tasks import closed_tasks, memory_space, private_spaces, synchronizes
from weft.ir.types import element, u1

__all__ = ["demote_atomics"]


@pass_("demote_atomics")
def demote_atomics(root: Kernel, config: CompileConfig) -> bool:
    """In a range_for over %i:

        %old = atomic add %p, %v     ->    %old = load %p
                                           store %p, %old + %v

    where %p is a local; or where the address names every loop index, and all that the task writes of that field names
    them in the same way (`x[i]`, `x[i, k]` and nothing but those: see `private_spaces`). In a serial task: always, save
    that of a function, which parallel loops may call.

    An exchange whose old value nobody wants is a relaxed store, wherever it is; but not in a task that synchronises,
    where a fence may give the exchange an order, and would give none to a store.

    Not for `x[idx[i]]`, `x[i // 2]`, nor where `x[i + 1]` is written besides `x[i]`; that `x[i + 1]` is read is no
    obstacle: whether the old or the new value is seen there has never been sure. Before or after `scalarize`."""
    changed = False
    for task in closed_tasks(root):
        atomics = task.all_of(Atomic)
        private = private_spaces(task, readers=False) if atomics and task.kind != "serial" else set()
        serial = task.kind == "serial" and not root.called
        ordered = bool(atomics) and synchronizes(task)
        for op in atomics:
            if op.kind == "xchg" and not op.users and not ordered:
                Builder.at(op).add(Store(op.ptr, op.value, relaxed=True))
                op.erase()
                changed = True
                continue
            alone = serial or isinstance(root_of(op.ptr), Alloca) or memory_space(op.ptr) in private
            if alone and _has_plain_form(op):
                _demote(op)
                changed = True
    return changed


def _has_plain_form(op: Atomic) -> bool:
    """Truth values add up modulo 2, which no Binary on u1 does."""
    return element(op.value.type) is not u1 or op.kind in ("and", "or", "xor", "xchg")


def _demote(op: Atomic) -> None:
    builder = Builder.at(op)
    old = builder.add(Load(op.ptr, name=op.name))
    new = op.value if op.kind == "xchg" else builder.add(Binary(op.kind, old, op.value, type=old.type))
    op.replace_uses(old)
    builder.add(Store(op.ptr, new))
    op.erase()
