"""The order of a task's axes: the innermost one is that along which the task writes.

    task ... bounds { yield begins=[%0, %1], ends=[%n, %m] } body (%i: i64, %j: i64) { store y[%j, %i], ... }

    task ... bounds { yield begins=[%1, %0], ends=[%m, %n] } body (%j: i64, %i: i64) { store y[%j, %i], ... }

Neighbouring threads run along the innermost axis. Before, each of them writes 4 bytes of another line; after, 32 of
them write one line. The iterations of a task may run in any order. Reads across memory do not decide: a line that is
read stays in the first-level cache until the other rows of the block want it, but writes do not wait there for one
another. Tasks that draw random numbers keep their axes, and so do those whose iterations are numbered.
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

_NEAR, _FAR = 16, 64  # bytes from one index to the next: side by side, on another line


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
    """The places outside of the thread that it writes, of components the whole's."""
    for top in task.body:
        for op in top.walk():
            if isinstance(op, Store | Atomic):
                place, _ = element_of(op.ptr)
                if isinstance(place, Address) and not isinstance(root_of(place), Alloca):
                    yield place


def _along(task: Task, place: Address) -> int | None:
    """The axis, other than the innermost, along which those places lie side by side, while the innermost one leads to
    other lines; None where it is not so."""
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
    """The axis whose index it is, moved by a constant perhaps."""
    return next((axis for axis, arg in enumerate(task.body.args) if arg is split(index)[0]), None)
