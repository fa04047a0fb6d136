"""Runs each iteration of a task on a whole warp, whose lanes share the iterations of the inner loop that sums a row.

    task range_for ... body (%i: i64) {
      for %0, %n, %1 (%j: i64) { %a = load x[%i, %j] ...; store %s, ... }        s += x[i, j]
      store y[%i], ...
    }

    task range_for ... body (%i: i64) {
      for %0, %n, %1, schedule={warp=true, jam=4} (%j: i64) { ... }       lane l runs iterations l, l + 32, l + 64 ...
      store y[%i], ...                                             the first lane, with what all lanes have in sum
    }

Before the pass, 32 neighbouring threads read from 32 rows at a time. After it, 32 lanes read one cache line. The loop
must have many iterations, and their number must be known. Some load must move along memory with the loop's index, and
must be far from what the neighbouring iteration of the task reads. Floats are added in a different order, which
`fast_math` allows.
"""

from __future__ import annotations

from dataclasses import replace

from weft.ir.addresses import element_of, split
from weft.ir.config import CompileConfig
from weft.ir.mapping.serial_loops import is_ordered, trips_of
from weft.ir.mapping.warp_sums import around, is_private, sums_of
from weft.ir.ops import Address, Const, For, Kernel, Load, Task
from weft.ir.passes import pass_
from weft.ir.tasks import parallel_tasks

__all__ = ["warps_per_row"]

_FEWEST = 256  # iterations
_JAM = 4  # iterations of a lane side by side
_NEAR, _FAR = 16, 64  # bytes: side by side, on another line


@pass_("warps_per_row")
def warps_per_row(root: Kernel, config: CompileConfig) -> bool:
    """Let the lanes of a warp share the loop of a task that sums along rows."""
    changed = False
    for task in parallel_tasks(root):
        loop = _loop_of(task, config.fast_math)
        if loop is not None:
            loop.schedule = replace(loop.schedule, warp=True, jam=_JAM)
            changed = True
    return changed


def _loop_of(task: Task, fast_math: bool) -> For | None:
    """The loop of the task that a warp's lanes should share, if there is one."""
    loops = [op for op in task.body if isinstance(op, For)]
    if len(loops) != 1 or task.schedule.numbered or any(isinstance(op, Load) for op in task.bounds):
        return None
    if any(is_ordered(op) for op in task.walk()) or task.epilogue.first is not None:
        return None
    (loop,) = loops
    if (trips_of(loop) or 0) < _FEWEST or not _along_rows(task, loop):
        return None
    before, _ = around(task, loop)
    if not isinstance(loop.step, Const) or loop.step.value != 1 or not all(map(is_private, [*task.prologue, *before])):
        return None
    sums = sums_of(loop)
    if not sums or any(one.type.is_float and not fast_math for one in sums):
        return None
    return loop


def _along_rows(task: Task, loop: For) -> bool:
    """Whether a load moves along memory with the loop, far from what the next iteration of the task reads, and no load
    moves along memory with the iterations of the task."""
    index, inner, some = loop.body.args[0], task.body.args[-1], False
    for op in loop.body:
        place = element_of(op.ptr)[0] if isinstance(op, Load) else None
        if not isinstance(place, Address):
            continue
        strides = {
            split(at)[0]: abs(int(step.value)) if isinstance(step, Const) else _FAR
            for at, step in zip(place.indices, place.strides, strict=True)
        }
        if 0 < strides.get(inner, 0) < _FAR:
            return False
        some |= 0 < strides.get(index, 0) <= _NEAR and strides.get(inner, 0) >= _FAR
    return some
