"""Replaces what is known of a visited cell by loads from the list of cells."""

from __future__ import annotations

from weft.ir.config import CompileConfig
from weft.ir.core import Builder
from weft.ir.ops import Const, FieldPtr, FoundSlot, Kernel, Load, VisitedIndex, VisitedSlot
from weft.ir.passes import pass_
from weft.ir.tasks import tasks_of
from weft.ir.transforms.hashed_slots import remembered, repeats, search
from weft.ir.types import i32

__all__ = ["lower_visits"]


@pass_("lower_visits")
def lower_visits(root: Kernel, config: CompileConfig) -> bool:
    """Before and after:

        %slot = visited_slot @P, %entry                %slot = load field_ptr @P.list[%entry], invariant=true
        %i = visited_index @P, %entry, axis=1          %i = load field_ptr @P.where[%entry, 1], invariant=true
        %s = found_slot @H, %i, %j                     %s = invoke H_find, [%i, %j]

    The loads are invariant in parallel loops: none that visits cells writes the list. (A serial task may make the list
    and run a serial loop over it.) Until here, the ops are pure, and two entries of
    a list are known to have different slots. That makes the stores of an iteration to its own cell private
    (`private_spaces`). Searches that are equal were merged, and moved out of loops (`lower_sparse`). On a CPU, a search
    for the cell of an index that a loop counts remembers the last cell, since the next element is mostly in it, too.
    """
    visits = [
        (op, task)
        for task in tasks_of(root)
        for op in task.walk()
        if isinstance(op, VisitedSlot | VisitedIndex | FoundSlot)
    ]
    for op, task in visits:
        build = Builder.at(op)
        if isinstance(op, FoundSlot):
            remembers = config.traits.lanes > 1 and repeats(op, task)
            op.replace(remembered(op, task) if remembers else build.add(search(build, op.node, op.indices)))
            continue
        if isinstance(op, VisitedSlot):
            ptr = build.add(FieldPtr(op.node.part("list"), [op.entry]))
        else:
            ptr = build.add(FieldPtr(op.node.part("where"), [op.entry, build.add(Const(op.axis, type=i32))]))
        op.replace(build.add(Load(ptr, task.kind != "serial", name=op.name)))
    return bool(visits)
