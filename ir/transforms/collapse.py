"""Collapses a nest of parallel loops into one box."""

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

# A short inner loop of known length is not collapsed, because unrolling it is better.
_SHORTEST = 16


@pass_("collapse")
def collapse(root: Kernel, config: CompileConfig) -> bool:
    """Extends the box of a range_for by a serial loop that does all the work of the task's body:

        yield begins=[0], ends=[%n]                 yield begins=[0, 0], ends=[%n, %m]
        body (%i) {                                 body (%i, %j) {
            for 0, %m, 1 (%j) {              ->         %p = field_ptr @y[%i, %j]
                %p = field_ptr @y[%i, %j]               store %p, %v
                store %p, %v                        }
            }
        }

    The larger box gives threads more work to share, and its innermost axis is known to be parallel. The ops before the
    inner loop are repeated for each of its iterations. They must therefore be pure, or read only memory that the task
    does not write.

    The pass requires that no two iterations of the nest access the same memory if one of them writes it
    (`private_spaces`). Sums into fixed addresses that nothing else accesses are allowed. No iteration may read memory
    that an alias of it may write (exposed arrays). The inner bounds must be the same for all %i. The pass skips short
    loops, and loops that contain a break, print, draw random numbers or assert.
    """
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
    """Replace the inner loop by its body, and make its index the last index of the task."""
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
    """Whether the ops before the loop may be repeated, and nothing in the nest depends on order. Loads of memory that
    the nest writes are rejected by `_independent`, because they do not contain the inner index."""
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
    """Whether no two iterations of the whole nest conflict."""
    if _overlapping(task):
        return False
    private = private_spaces(task, [*task.body.args, inner.body.args[0]])
    nest, done = Region(task.body), dict[Hashable, set[str]]()
    for op in accesses(task):
        root = root_of(op.ptr)
        if not (isinstance(root, Alloca) and root in nest.inside):  # `_simple` allows none before the inner loop
            done.setdefault(memory_space(op.ptr), set()).add(_kind(op, nest))
    return all(space in private or (len(kinds) == 1 and "" not in kinds) for space, kinds in done.items())


def _kind(op: Access, nest: Region) -> str:
    """The kind of accesses whose order does not matter: reads, or sums into a fixed address whose old value is not
    used. "" for all others."""
    if isinstance(op, Load):
        return "load"
    if not isinstance(op, Atomic) or op.users or not nest.invariant(op.ptr):
        return ""
    return FAMILY.get(op.kind, op.kind)


def _overlapping(task: Task) -> bool:
    """Whether written memory may alias memory that is read. The order of the inner loop must then be kept."""
    exposed = [op for op in accesses(task) if space_of(op.ptr) == EXPOSED]
    roots = [root_of(op.ptr) for op in exposed]
    arrays = {leaf_key(root.array) for root in roots if isinstance(root, ArrayPtr)}
    fields = any(isinstance(root, FieldPtr) for root in roots)
    return len(arrays) + fields > 1 and not all(isinstance(op, Load) for op in exposed)


def _computable(value: Value) -> bool:
    """Whether the bounds region can compute the value: it is pure and depends only on constants and arguments."""
    return isinstance(value, Op) and value.pure and all(map(_computable, value.operands))


def _computed(value: Value, builder: Builder) -> Value:
    assert isinstance(value, Op)
    return builder.add(value.clone({operand: _computed(operand, builder) for operand in value.operands}))
