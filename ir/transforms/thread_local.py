"""Optimizes reductions: each thread sums its chunk in a local and adds the local to the total once."""

from __future__ import annotations

from collections.abc import Hashable

from weft.ir.access_ranges import in_range
from weft.ir.affine import address_key
from weft.ir.config import CompileConfig
from weft.ir.core import Builder, Op, Value, ops_of
from weft.ir.ops import Alloca, Atomic, Binary, Const, If, Kernel, Load, Splat, Store, Task
from weft.ir.passes import pass_
from weft.ir.scalar import identity
from weft.ir.tasks import Region, accesses, memory_space, separate_tasks
from weft.ir.types import Tensor, element, flat_size, pointer, u1

__all__ = ["thread_local"]

_MOST = 64  # the most scalars that a task may accumulate: they should fit registers
_FAMILY = {"add": "add", "sub": "add", "mul": "mul", "min": "min", "max": "max", "and": "and", "or": "or", "xor": "xor"}


@pass_("thread_local")
def thread_local(root: Kernel, config: CompileConfig) -> bool:
    """In a range_for:

                                               prologue { %sum = alloca ; store %sum, -0.0 }
        body (%i) {                            body (%i) {
          atomic add field_ptr @s(), %v   ->     store %sum, (load %sum) + %v
        }                                      }
                                               epilogue { atomic add field_ptr @s(), (load %sum) }

    This applies if the address is the same in all iterations, the old value is not used, and the task accesses the
    field only by atomics of this kind. `add` and `sub` count as one kind. `xchg` and values of more than 64 scalars are
    excluded. If the address is not known to be in bounds, the epilogue tests it first, because no iteration may have
    used it: `if %k < 8 { atomic ... }`.

    The pass works on whole tensors and therefore runs before `scalarize`, which gives each component an accumulator of
    its own.
    """
    changed = False
    for task in separate_tasks(root):
        if task.kind != "serial":
            changed |= _reduce(task)
    return changed


def _reduce(task: Task) -> bool:
    families: dict[Hashable, set[str]] = {}
    for op in accesses(task):
        families.setdefault(memory_space(op.ptr), set()).add(_family(op))
    candidates = [op for op in ops_of(task.body) if isinstance(op, Atomic)]
    if not candidates:
        return False
    region, made, scalars = Region(task.body), dict[Hashable, Alloca](), 0
    changed = False
    for op in candidates:
        family = families[memory_space(op.ptr)]
        if len(family) > 1 or "" in family or not region.invariant(op.ptr):
            continue
        key = address_key(op.ptr)
        if key not in made:
            scalars += flat_size(op.value.type)
            if scalars > _MOST:
                break
            made[key] = _accumulator(task, region, op)
        builder = Builder.at(op)
        old = builder.add(Load(made[key]))
        builder.add(Store(made[key], builder.add(Binary(op.kind, old, op.value, type=old.type))))
        op.erase()
        changed = True
    return changed


def _family(op: Op) -> str:
    """The kind of reduction that the access can be part of, or "" for none."""
    if not isinstance(op, Atomic) or op.users or op.kind not in _FAMILY:
        return ""
    logical = op.kind in ("and", "or", "xor")
    return _FAMILY[op.kind] if logical or element(op.value.type) is not u1 else ""


def _accumulator(task: Task, region: Region, op: Atomic) -> Alloca:
    """The local of the thread. The prologue initialises it, and the epilogue adds it to the total."""
    kind = _FAMILY[op.kind]
    before, after = Builder(task.prologue, None, op.span), Builder(task.epilogue, None, op.span)
    local = before.add(Alloca(type=pointer(op.value.type), name=op.name or "sum"))
    value: Value = before.add(Const(identity(kind, element(op.value.type)), type=element(op.value.type)))
    if isinstance(op.value.type, Tensor):
        value = before.add(Splat(value, type=op.value.type))
    before.add(Store(local, value))
    ptr, total = region.hoist(op.ptr, after), after.add(Load(local))
    inside = in_range(ptr, after)
    if inside is not None:
        after = Builder(after.add(If(inside)).then, None, op.span)
    after.add(Atomic(kind, ptr, total))
    return local
