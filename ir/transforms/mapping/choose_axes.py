"""Reorders the axes of a task so that the innermost axis is the one along which the task writes.

    task ... bounds { yield begins=[%0, %1], ends=[%n, %m] } body (%i: i64, %j: i64) { store y[%j, %i], ... }

    task ... bounds { yield begins=[%1, %0], ends=[%m, %n] } body (%j: i64, %i: i64) { store y[%j, %i], ... }

Neighbouring threads differ in the innermost index. Before the pass, each of them writes 4 bytes of a different cache
line. After it, 32 of them write one line. The iterations of a task may run in any order, so the axes may be exchanged.
Only writes decide. A line that is read across stays in the first-level cache until the other rows of the block need it,
but writes are not combined there. Tasks that draw random numbers and tasks whose iterations are numbered keep their
axes.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.ir.addresses import element_of, root_of, split
from weft.ir.calls import draws
from weft.ir.config import CompileConfig
from weft.ir.core import Value
from weft.ir.ops import Address, Alloca, Atomic, Const, Kernel, Store, Task
from weft.ir.passes import pass_
from weft.ir.tasks import box_of, parallel_tasks

__all__ = ["choose_axes"]

_NEAR, _FAR = 16, 64  # bytes from one index to the next: adjacent, on another cache line


@pass_("choose_axes")
def choose_axes(root: Kernel, config: CompileConfig) -> bool:
    """Make the axis along which a task writes the innermost one, if all its writes agree."""
    changed = False
    for task in parallel_tasks(root):
        if not task.schedule.numbered and not draws(task):  # random numbers depend on the number of the iteration
            changed |= _write_along(task)
    return changed


def _write_along(task: Task) -> bool:
    args, limits = task.body.args, box_of(task)
    wanted = {_along(task, place) for place in _written(task)}
    if len(wanted) != 1:
        return False
    (axis,) = wanted
    if axis is None:
        return False
    begins, ends = limits.begins, limits.ends
    for values in (begins, ends):
        values[axis], values[-1] = values[-1], values[axis]
    args[axis], args[-1] = args[-1], args[axis]
    limits.set_operands([*begins, *ends], limits.groups)
    return True


def _written(task: Task) -> Iterator[Address]:
    """The addresses that the task writes outside of the thread. For a component, the address of the whole element."""
    for top in task.body:
        for op in top.walk():
            if isinstance(op, Store | Atomic):
                place, _ = element_of(op.ptr)
                if isinstance(place, Address) and not isinstance(root_of(place), Alloca):
                    yield place


def _along(task: Task, place: Address) -> int | None:
    """The axis, other than the innermost, along which these addresses are adjacent while the innermost axis leads to
    other cache lines. None if there is no such axis."""
    found, inner = None, len(task.body.args) - 1
    for index, stride in zip(place.indices, place.strides, strict=True):
        axis, known = _axis_of(task, index), isinstance(stride, Const)
        size = abs(int(stride.value)) if isinstance(stride, Const) else _FAR
        if axis == inner and size < _FAR:
            return None
        if axis is not None and axis != inner and known and 0 < size <= _NEAR:
            found = axis
    return found


def _axis_of(task: Task, index: Value) -> int | None:
    """The axis whose index it is, possibly plus a constant."""
    return next((axis for axis, arg in enumerate(task.body.args) if arg is split(index)[0]), None)
