"""Writes a task whose iterations run in lanes, or loops whose iterations do."""

from __future__ import annotations

from weft.ir.core import Block, BlockArg, Builder, ops_of
from weft.ir.mapping.layouts import Layouts
from weft.ir.mapping.vectorize import accesses, addresses, atomics, values, warnings  # register how ops are written
from weft.ir.mapping.vectorize.control import write_body
from weft.ir.mapping.vectorize.folds import vectorize_loops
from weft.ir.mapping.vectorize.state import Point, Vectorizer, copied
from weft.ir.ops import FirstLanes, Task
from weft.ir.types import i64, u1
from weft.ir.uniform import uniformity

__all__ = ["vectorize_task"]

_WRITERS = (accesses, addresses, atomics, values, warnings)


def vectorize_task(task: Task, layouts: Layouts) -> None:
    """Write the iterations of the task, or of loops in it, as vectors."""
    if task.schedule.lanes == 1:
        vectorize_loops(task, layouts)
        return
    width, many, old = task.schedule.lanes, task.schedule.vectors, task.body
    args, left = [copied(arg) for arg in old.args], BlockArg(i64, "left")
    body = Block([*args, left])
    v = Vectorizer(Point(Builder(body, span=task.span)), uniformity(task), layouts, width, many)
    v.known.update({arg: (mine,) for arg, mine in zip(old.args, args, strict=True)})
    v.point.active = tuple(v.add(FirstLanes(left, k * width, type=v.wide(u1))) for k in range(many))
    write_body(v, task)
    task.body, body.owner = body, task
    for op in ops_of(old):  # quicker than to erase one after another
        for value in op.operands:
            value.users.pop(op, None)
