"""Which axis of a loop neighbouring threads run along: the one along which it writes.

    for i, j in x: y[j, i] = x[i, j]          threads side by side take j: each write is 4 bytes of another line

    axes swapped                               threads side by side take i: 32 of them write one line

Iterations of a parallel loop may run in any order. What is read across memory instead stays in the first-level cache
until the block's other rows want it; writes do not wait there for one another. So writes decide. Not where iterations
are counted: random numbers, and threads that work together.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.codegen.gpu.simt import threads_together
from weft.ir.addresses import element_of, root_of, split
from weft.ir.core import Value
from weft.ir.ops import Address, Alloca, Atomic, Const, Store, Task, Yield

__all__ = ["write_along"]

_NEAR, _FAR = 16, 64  # bytes from one index to the next: side by side, on another line


def write_along(task: Task) -> None:
    """Make the axis along which the task writes the innermost one, if all its writes agree. The task must not draw
    random numbers."""
    args, limits = task.body.args, task.bounds.last
    if not isinstance(limits, Yield) or threads_together(task):
        return
    wanted = {_along(task, place) for place in _written(task)}
    if len(wanted) != 1:
        return
    (axis,) = wanted
    if axis is None:
        return
    begins, ends = limits.begins, limits.ends
    for values in (begins, ends):
        values[axis], values[-1] = values[-1], values[axis]
    args[axis], args[-1] = args[-1], args[axis]
    limits.set_operands([*begins, *ends], limits.groups)


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
