"""A nest of loops that is parallel all the way becomes one box."""

from __future__ import annotations

from collections.abc import Hashable

from weft.ir.addresses import root_of
from weft.ir.affine import leaf_key
from weft.ir.alias import EXPOSED, Access, space_of
from weft.ir.config import CompileConfig
from weft.ir.core import BlockArg, Builder, Op, Value
from weft.ir.ops import (
    Alloca,
    ArrayPtr,
    Atomic,
    Break,
    Const,
    FieldPtr,
    For,
    If,
    Kernel,
    Load,
    Task,
    While,
    Yield,
)
from weft.ir.passes import pass_
from weft.ir.tasks import Region, accesses, memory_space, private_spaces, separate_tasks, shows_order
from weft.ir.uniform import FAMILY

__all__ = ["collapse"]

# A short inner loop of known length is better unrolled than made an axis.
_SHORTEST = 16


@pass_("collapse")
def collapse(root: Kernel, config: CompileConfig) -> bool:
    """The box of a range_for takes in the serial loop that is all its body does:

        yield begins=[0], ends=[%n]                 yield begins=[0, 0], ends=[%n, %m]
        body (%i) {                                 body (%i, %j) {
            for 0, %m, 1 (%j) {              ->         %p = field_ptr @y[%i, %j]
                %p = field_ptr @y[%i, %j]               store %p, %v
                store %p, %v                        }
            }
        }

    So there is more to share out, and the innermost axis is known to be parallel. What stands before the loop is done
    again for each of its iterations, so that may only be pure or read what the task does not write. Only where two
    iterations of the nest never touch one place that either writes (`private_spaces`), sums into fixed places
    excepted that nothing else touches, nor read what may be the same by another name (exposed arrays); where the inner
    bounds are the same for all %i; and not for loops that are left by a break, that print, draw random numbers or
    assert, nor for short ones."""
    changed = False
    for task in separate_tasks(root):
        while task.kind == "range_for" and _collapse(task):
            changed = True
    return changed


def _collapse(task: Task) -> bool:
    inner, limits = task.body.last, task.bounds.last
    if not isinstance(inner, For) or not isinstance(limits, Yield):
        return False
    if not _long(inner) or not _simple(task, inner) or not _independent(task, inner):
        return False
    if not (_computable(inner.begin) and _computable(inner.end)):
        return False
    builder = Builder.at(limits)
    begin, end = (_computed(value, builder) for value in (inner.begin, inner.end))
    axes = len(limits.begins) + 1
    limits.set_operands([*limits.begins, begin, *limits.ends, end], (axes, axes))
    _splice(task, inner)
    return True


def _splice(task: Task, inner: For) -> None:
    """The inner loop's body takes its place, its index becomes the last one of the task."""
    old = inner.body.args[0]
    index = BlockArg(old.type, old.name, old.span)
    index.block = task.body
    task.body.args.append(index)
    old.replace_uses(index)
    task.body.take(inner.body)
    inner.erase()


def _long(inner: For) -> bool:
    if not isinstance(inner.step, Const) or inner.step.value != 1:
        return False
    if isinstance(inner.begin, Const) and isinstance(inner.end, Const):
        return inner.end.value - inner.begin.value >= _SHORTEST
    return True


def _simple(task: Task, inner: For) -> bool:
    """Nothing before the loop but what may be done again (`_independent` refuses loads of what the nest writes: they do
    not name its index), and nothing in the nest that depends on order."""
    if not all(op is inner or op.pure or isinstance(op, Load) for op in task.body):
        return False
    return not any(op.exits or shows_order(op) for op in task.walk()) and not _left(inner)


def _left(inner: For) -> bool:
    """Whether a break leaves the loop."""
    return any(isinstance(op, Break) and _loop_of(op) is inner for op in inner.walk())


def _loop_of(op: Op) -> Op | None:
    parent = op.parent
    while isinstance(parent, If):
        parent = parent.parent
    assert isinstance(parent, (For, While)) or parent is None or isinstance(parent, Task)
    return parent


def _independent(task: Task, inner: For) -> bool:
    """Whether iterations of the whole nest keep out of each other's way."""
    if _overlapping(task):
        return False
    private = private_spaces(task, [*task.body.args, inner.body.args[0]])
    nest, done = Region(task.body), dict[Hashable, set[str]]()
    for op in accesses(task):
        root = root_of(op.ptr)
        if not (isinstance(root, Alloca) and root in nest.inside):  # `_simple` lets none stand before the inner loop
            done.setdefault(memory_space(op.ptr), set()).add(_kind(op, nest))
    return all(space in private or (len(kinds) == 1 and "" not in kinds) for space, kinds in done.items())


def _kind(op: Access, nest: Region) -> str:
    """Of accesses of one kind the order does not matter: those that only read, or that sum into a fixed place, whose
    old value nobody wants; "" for others."""
    if isinstance(op, Load):
        return "load"
    if not isinstance(op, Atomic) or op.users or not nest.invariant(op.ptr):
        return ""
    return FAMILY.get(op.kind, op.kind)


def _overlapping(task: Task) -> bool:
    """Whether what is written may be what is read by another name: the inner loop is promised its order."""
    exposed = [op for op in accesses(task) if space_of(op.ptr) == EXPOSED]
    roots = [root_of(op.ptr) for op in exposed]
    arrays = {leaf_key(root.array) for root in roots if isinstance(root, ArrayPtr)}
    fields = any(isinstance(root, FieldPtr) for root in roots)
    return len(arrays) + fields > 1 and not all(isinstance(op, Load) for op in exposed)


def _computable(value: Value) -> bool:
    """Whether the bounds region can compute the value: pure, from nothing but constants and arguments."""
    return isinstance(value, Op) and value.pure and all(map(_computable, value.operands))


def _computed(value: Value, builder: Builder) -> Value:
    assert isinstance(value, Op)
    return builder.add(value.clone({operand: _computed(operand, builder) for operand in value.operands}))
