"""One row of counts of appends, which all iterations of a task share."""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir.core import Builder, Value
from weft.ir.ops import Binary, Const, FieldPtr, Kernel, Load, Select, Store, Task, Yield
from weft.ir.symbols import FieldSymbol, NodeSymbol
from weft.ir.tasks import box_of
from weft.ir.transforms.loop_pieces import known_iterations
from weft.ir.types import i32, u1

__all__ = ["OneRow"]


class OneRow:
    """What `LoopPieces` is for rows that belong to pieces: `cut` copies of the task, then `plan`. The box stays what it
    is, and the counts of all iterations are in row 0. They are changed by atomics."""

    def __init__(self, kernel: Kernel, task: Task, nodes: Sequence[NodeSymbol]) -> None:
        self.kernel, self.task, self.nodes = kernel, task, nodes

    @property
    def known_total(self) -> int | None:
        """How many iterations there are, if that is known."""
        return known_iterations(self.task)

    def plan(self) -> None:
        """Insert the task that says that there is a row."""
        plan = Task("serial", span=self.task.span)
        build = Builder(plan.body, None, self.task.span)
        one = build.add(Const(1, type=i32))
        for node in self.nodes:
            build.add(Store(build.add(FieldPtr(node.part("rows"), [])), one))
        self.kernel.body.insert(plan, self.task)

    def cut(self, task: Task, ready: Sequence[FieldSymbol] = ()) -> Value:
        """Give the number of the row, in the body. Nothing runs if a number in `ready` is not 0."""
        if ready:
            limits = box_of(task)
            assert isinstance(limits, Yield)
            build = Builder.at(limits)
            end = limits.ends[0]
            for part in ready:
                zero = build.add(Const(0, type=i32))
                is_ready = build.add(Binary("eq", build.add(Load(build.add(FieldPtr(part, [])))), zero, type=u1))
                end = build.add(Select(is_ready, end, limits.begins[0]))
            limits.set_operand(len(limits.begins), end)
        return Builder(task.body, task.body.first, task.span).add(Const(0, type=i32))
