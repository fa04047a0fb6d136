"""Makes vectors of the iterations that run in SIMD lanes.

    task range_for, schedule={lanes=16} body (%i: i64) {
      %p = address %x, [%i], [%four], 0 : *f32
      %v = load %p, move=adjacent : f32
      %c = binary gt %v, %limit : u1
      if %c then { store %p, %limit, move=adjacent }
    }

    task range_for, schedule={lanes=16} body (%i: i64, %left: i64) {
      %here = first_lanes %left : <16 x u1>
      %p = address %x, [%i], [%four], 0 : *f32
      %v = masked_load %p, %here : <16 x f32>
      %limits = splat %limit : <16 x f32>
      %c = binary gt %v, %limits : <16 x u1>
      %some = binary and %here, %c : <16 x u1>
      %any = any_active %some : u1
      if %any then { masked_store %p, %limits, %some }
    }

The body of a task with `lanes` gets one more argument, `left`: the number of iterations from the first one of this
group on. The index is that of lane 0. A value that all lanes share, or that is evenly spaced, stays a scalar. All
others become vectors. Branches and loops on which lanes may disagree run for the lanes in a mask.

A loop whose iterations run in lanes (`mapping/fold_choice.py`) becomes a loop over groups, with the same two
arguments, and sums into vectors.

The pass makes no decisions: `lanes`, `move` and `unasked` say what to do. Tasks and loops without lanes do not change.
"""

from __future__ import annotations

from weft.ir.config import CompileConfig
from weft.ir.core import Block, BlockArg, Builder, ops_of
from weft.ir.mapping.layouts import Layouts, layouts_of
from weft.ir.mapping.vectorize import accesses, addresses, atomics, values, warnings  # register how ops are written
from weft.ir.mapping.vectorize.control import write_body
from weft.ir.mapping.vectorize.folds import vectorize_loops
from weft.ir.mapping.vectorize.state import Vectorizer, copied
from weft.ir.ops import FirstLanes, For, Kernel, Task
from weft.ir.passes import pass_
from weft.ir.tasks import parallel_tasks
from weft.ir.types import i64, u1
from weft.ir.uniform import uniformity

__all__ = ["vectorize"]

_WRITERS = (accesses, addresses, atomics, values, warnings)


@pass_("vectorize")
def vectorize(root: Kernel, config: CompileConfig) -> bool:
    """Write the tasks and loops that run in lanes as vectors."""
    layouts, changed = layouts_of(root), False
    for task in parallel_tasks(root):
        if task.schedule.lanes > 1:
            _write(task, layouts)
            changed = True
        elif any(loop.schedule.lanes > 1 for loop in task.all_of(For)):
            vectorize_loops(task, layouts)
            changed = True
    return changed


def _write(task: Task, layouts: Layouts) -> None:
    width, many, old = task.schedule.lanes, task.schedule.vectors, task.body
    args, left = [copied(arg) for arg in old.args], BlockArg(i64, "left")
    body = Block([*args, left])
    v = Vectorizer(Builder(body, span=task.span), uniformity(task), layouts, width, many)
    v.known.update({arg: (mine,) for arg, mine in zip(old.args, args, strict=True)})
    v.here = tuple(v.add(FirstLanes(left, k * width, type=v.wide(u1))) for k in range(many))
    write_body(v, task)
    task.body, body.owner = body, task
    for op in ops_of(old):  # quicker than to erase one after another
        for value in op.operands:
            value.users.pop(op, None)
