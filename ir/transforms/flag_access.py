"""Records which memory each task reads and writes, and marks invariant loads."""

from __future__ import annotations

from weft.ir.addresses import root_of
from weft.ir.config import CompileConfig
from weft.ir.core import Value
from weft.ir.ops import Arg, ArrayPtr, FieldPtr, Invoke, Kernel, Load, RunRoutine, Task
from weft.ir.passes import pass_
from weft.ir.tasks import accesses, memory_space, tasks_of, touched_names, touched_spaces

__all__ = ["flag_access"]


@pass_("flag_access")
def flag_access(root: Kernel, config: CompileConfig) -> bool:
    """Before and after:

        task range_for { body { %v = load field_ptr @x(%i) ; store field_ptr @y(%i), %v } }
        task range_for reads=x writes=y { body { %v = load field_ptr @x(%i) invariant ; store field_ptr @y(%i), %v } }

    A load is invariant if no op of its task writes the field or array. Exposed fields and arrays may alias one another:
    a write to one of them makes the loads of all of them variant. Loads of locals are never marked.
    """
    changed = False
    for task in tasks_of(root):
        changed |= _flag(task, root)
    return changed


def _flag(task: Task, kernel: Kernel) -> bool:
    written = {memory_space(op.ptr) for op in accesses(task) if not isinstance(op, Load)}
    called = touched_names(task.all_of(Invoke), task.all_of(RunRoutine))
    written.update(touched_spaces(task, kernel))
    reads: set[str] = set()
    writes = set(called)
    changed = False
    for op in accesses(task):
        name = _name(op.ptr, kernel)
        if not isinstance(op, Load):
            writes.add(name)
            reads.update([name] if op.reads else [])
            continue
        reads.add(name)
        invariant = name != "" and memory_space(op.ptr) not in written
        changed |= op.invariant != invariant
        op.invariant = invariant
    sets = tuple(sorted(reads - {""})), tuple(sorted(writes - {""}))
    changed |= (task.read_set, task.write_set) != sets
    task.read_set, task.write_set = sets
    return changed


def _name(ptr: Value, kernel: Kernel) -> str:
    """The name of the field or array, or "" for locals and temporaries."""
    root = root_of(ptr)
    if isinstance(root, FieldPtr):
        return root.field.name
    if isinstance(root, ArrayPtr) and isinstance(root.array, Arg):
        return kernel.params[root.array.index].name
    return ""
