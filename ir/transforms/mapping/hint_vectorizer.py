"""Chooses the hints that LLVM's loop vectorizer gets for the loop over iterations.

    task range_for ... { x[%i] = f(y[%i]) }

    task range_for, schedule={unordered=true} ... { x[%i] = f(y[%i]) }

- `unordered`: LLVM may reorder accesses (`llvm.loop.parallel_accesses`). `mapping/unordered.py` has found that the
  order within an iteration does not matter either.
- `vectorize=once`: LLVM makes one vector at a time and masks the last one. Several copies of a long body would take
  time to compile, and would hide no latency that the body does not hide by itself.
- `vectorize=never`: the body is very long, or it accesses wide cells (`mapping/wide_cells.py`), or it is a row of a
  cell (`peel_cells`): then the elements of the row become vectors.
- `unroll=false`: the body is long, or it is not short and its rows are not short either, or the loop must not run in
  lanes (`loop_config(simd=1)`). In such a task, serial loops whose stores are all in branches get `single`: there
  are no vectors of them, and unrolled they take three times as long to compile.

Loops whose iterations run in lanes are vectors already and get no hints.
"""

from __future__ import annotations

from dataclasses import replace

from weft.ir.addresses import root_of
from weft.ir.config import CompileConfig
from weft.ir.core import ops_of
from weft.ir.intervals import interval
from weft.ir.mapping.cost import length
from weft.ir.mapping.unordered import is_unordered
from weft.ir.mapping.wide_cells import in_wide_cells
from weft.ir.ops import Alloca, For, Kernel, Store, Task
from weft.ir.passes import pass_
from weft.ir.schedule import Schedule
from weft.ir.tasks import box_of, parallel_tasks

__all__ = ["hint_vectorizer"]

# Above these numbers of ops, LLVM must not unroll a body, and must not copy it for any other reason.
_MIDDLING, _LONG = 60, 128
_SHORT, _IN_SHORT_ROWS = 8, 400  # iterations of a row, and the ops of its body that LLVM may unroll

# Above this number of ops, LLVM must not vectorize a body: it would take time proportional to the square of the number.
_TOO_LONG = 5000


@pass_("hint_vectorizer")
def hint_vectorizer(root: Kernel, config: CompileConfig) -> bool:
    """Choose the vectorizer hints of each task."""
    changed = False
    for loop in root.all_of(For):
        if _encloses(loop):
            loop.schedule, changed = replace(loop.schedule, around=True, single=not _is_short(loop)), True
    for task in parallel_tasks(root):
        for loop in task.all_of(For) if task.config.simd == 1 else ():
            if _branches(loop):
                loop.schedule, changed = replace(loop.schedule, single=True), True
        if task.schedule.lanes == 1:
            before, task.schedule = task.schedule, _hinted(task)
            changed |= task.schedule != before
    return changed


def _encloses(loop: For) -> bool:
    """Whether rows of a cell are in a loop."""
    return loop.rows or any(inner.row for inner in loop.all_of(For) if inner is not loop)


def _is_short(loop: For) -> bool:
    """Whether LLVM may unroll a loop over the rows of a cell: then it knows which of them have neighbours in the cell
    (`cells_around`)."""
    (low, _), (_, high) = interval(loop.begin), interval(loop.end)
    innermost = not any(_encloses(inner) for inner in loop.all_of(For) if inner is not loop)
    return innermost and high - low <= _SHORT and len(ops_of(loop.body)) <= _IN_SHORT_ROWS


def _branches(loop: For) -> bool:
    """Whether the loop stores in branches only, except to locals."""
    stores = [op for op in loop.all_of(Store) if not isinstance(root_of(op.ptr), Alloca)]
    return bool(stores) and all(op.parent is not loop for op in stores)


def _hinted(task: Task) -> Schedule:
    ops = length(task)
    rows = any(loop.row or loop.rows for loop in task.all_of(For))
    vectorize = "never" if ops > _TOO_LONG or rows or in_wide_cells(task) else "once" if ops > _LONG else "free"
    unordered = vectorize != "never" and is_unordered(task)
    unroll = task.config.simd != 1 and ops <= (_IN_SHORT_ROWS if _has_short_rows(task) else _MIDDLING)
    return replace(task.schedule, unordered=unordered, vectorize=vectorize, unroll=unroll)


def _has_short_rows(task: Task) -> bool:
    """Whether the innermost axis is short, as that of a sparse cell. If LLVM unrolls it, the indices in the cell are
    known, and neighbours in the cell have its slot."""
    low, high = interval(box_of(task).begins[-1]), interval(box_of(task).ends[-1])
    return high[1] - low[0] <= _SHORT
