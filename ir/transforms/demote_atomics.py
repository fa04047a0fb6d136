"""Replaces atomics that no other thread can race with by plain loads and stores."""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir.addresses import root_of
from weft.ir.calls import called
from weft.ir.config import CompileConfig
from weft.ir.core import Builder
from weft.ir.ops import Alloca, Atomic, Binary, Kernel, Load, Store
from weft.ir.passes import pass_
from weft.ir.tasks import closed_tasks, memory_space, private_spaces, synchronizes, tasks_of
from weft.ir.types import element, u1

__all__ = ["demote_atomics", "demote_called"]


@pass_("demote_atomics")
def demote_atomics(root: Kernel, config: CompileConfig) -> bool:
    """In a range_for over %i:

        %old = atomic add %p, %v     ->    %old = load %p
                                           store %p, %old + %v

    This applies if %p is a local. It also applies if the address contains every loop index and all writes of the task
    to that field contain them in the same way, such as `x[i]`, `x[i, k]` and no others (see `private_spaces`). It
    always applies in a serial task, except in one of a function, which parallel loops may call (see `demote_called`).

    An exchange whose old value is not used becomes a relaxed store, in any kind of task. The exception is a task that
    synchronises: a fence may order an exchange there, but it would not order a store.

    The pass keeps atomics on `x[idx[i]]` and `x[i // 2]`, and on `x[i]` if the task writes `x[i + 1]` too. A read of
    `x[i + 1]` is no obstacle, because such a read may see the old or the new value in any case. The pass works before
    or after `scalarize`.
    """
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


def demote_called(kernel: Kernel, functions: Sequence[Kernel]) -> None:
    """Do the same in functions that no parallel task of a lowered kernel calls, directly or through other functions:
    one thread runs them."""
    shared = set[str]().union(*(called(task) for task in tasks_of(kernel) if task.kind != "serial"))
    for _ in functions:
        shared |= set[str]().union(*(called(one) for one in functions if one.symbol in shared))
    for function in functions:
        if function.symbol not in shared:
            for op in filter(_has_plain_form, function.all_of(Atomic)):
                _demote(op)


def _has_plain_form(op: Atomic) -> bool:
    """Whether a Binary computes the same as the atomic. Sums of truth values are modulo 2, which no Binary on u1
    computes."""
    return element(op.value.type) is not u1 or op.kind in ("and", "or", "xor", "xchg")


def _demote(op: Atomic) -> None:
    builder = Builder.at(op)
    old = builder.add(Load(op.ptr, name=op.name))
    new = op.value if op.kind == "xchg" else builder.add(Binary(op.kind, old, op.value, type=old.type))
    op.replace_uses(old)
    builder.add(Store(op.ptr, new))
    op.erase()
