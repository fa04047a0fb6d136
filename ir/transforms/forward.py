"""Store-to-load and load-to-load forwarding: what memory is known to hold need not be read."""

from __future__ import annotations

from weft.ir.alias import accesses
from weft.ir.config import CompileConfig
from weft.ir.core import Block, Builder, Op, Value
from weft.ir.intervals import in_bounds
from weft.ir.ops import (
    ArrayPtr,
    ElementPtr,
    Extract,
    FieldPtr,
    If,
    Kernel,
    Load,
    Member,
    MemberPtr,
    ParallelFor,
    Store,
    StructFor,
    Task,
)
from weft.ir.passes import pass_
from weft.ir.places import EffectsOf, Places, PlaceTable
from weft.ir.rewrite import literal
from weft.ir.types import shape_of

__all__ = ["forward"]


@pass_("forward")
def forward(root: Kernel, config: CompileConfig) -> bool:
    """Gives loads the value that memory is known to hold, and drops stores of what is there already.

        store %p, %x                           store %p, %x
        %a = load %p                   ->
        store %q, (f %a)                       store %q, (f %x)

    What is known holds on into branches and loops, less what the loop itself may write; after an If, what both arms
    agree on. Not the result of an atomic, nor memory that an op in between may write; with `mask_out_of_bounds`, not
    what was stored where there may be no memory. From outside into a parallel loop only locals are carried on: the rest
    belongs to another task.
    """
    return _Forward(root, config.masks).changed


class _Forward:
    """One walk in program order."""

    def __init__(self, root: Kernel, masked: bool) -> None:
        self.changed, self.masked = False, masked
        self.place = Places()
        self.effects = EffectsOf(self.place)
        self.block(root.body, PlaceTable())

    def block(self, block: Block, memory: PlaceTable) -> bool:
        """Run through a block, changing `memory` to what holds after it; False if its end is not reached."""
        for op in block:
            if op.pure:
                continue
            kind = type(op)
            if kind is Load:
                self.load(op, memory)
            elif kind is Store:
                self.store(op, memory)
            elif op.region_names:
                if not self.control(op, memory):
                    return False
            else:
                _, writes, barrier = accesses(op)
                if barrier:
                    memory.spaces = {}
                for ptr in writes:
                    memory.touch(self.place(ptr)[0], ptr)
        return not (block.last is not None and block.last.terminator)

    def load(self, op: Op, memory: PlaceTable) -> None:
        ptr = op.operands[0]
        place = self.place(ptr)
        value = memory.get(place) or self.part(op, ptr, memory)
        if value is not None:
            value.name = value.name or op.name
            op.replace(value)
            self.changed = True
        else:
            memory.put(place, ptr, op)

    def part(self, op: Op, ptr: Value, memory: PlaceTable) -> Value | None:
        """The value at a constant place of a tensor or struct whose whole value is known."""
        if not isinstance(ptr, (ElementPtr, MemberPtr)):
            return None
        base = ptr.base
        whole = memory.get(self.place(base)) or self.part(op, base, memory)
        if whole is None:
            return None
        if isinstance(ptr, MemberPtr):
            return Builder.at(op).add(Member(whole, ptr.index))
        position = 0
        for index, extent in zip(ptr.indices, shape_of(whole.type)):
            number = literal(index)
            if number is None or not 0 <= number < extent:
                return None
            position = position * extent + int(number)
        return Builder.at(op).add(Extract(whole, position))

    def store(self, op: Op, memory: PlaceTable) -> None:
        ptr, value = op.operands
        place = self.place(ptr)
        if memory.get(place) is value:
            op.erase()
            self.changed = True
            return
        memory.touch(place[0], ptr)
        if not self.masked or _is_inside(ptr):  # what is dropped is not there to be read
            memory.put(place, ptr, value)

    def control(self, op: Op, memory: PlaceTable) -> bool:
        """An op with regions; False if what follows is never reached."""
        if isinstance(op, If):
            return self.branch(op, memory)
        if isinstance(op, Task):
            self.task(op)
            return True
        self.forget(op, memory)
        inside = memory.copy()
        if isinstance(op, (ParallelFor, StructFor)):
            inside.keep_locals(True)
        for region in op.regions:
            self.block(region, inside)
        return True

    def branch(self, op: If, memory: PlaceTable) -> bool:
        before, other = memory.spaces.copy(), memory.copy()
        then_ends = self.block(op.then, memory)
        else_ends = self.block(op.orelse, other)
        if then_ends and else_ends:
            memory.meet(other)
            return True
        if else_ends:
            memory.spaces = other.spaces
        # What was computed inside the only arm that goes on cannot be used after it.
        for space in list(memory.spaces):
            if memory.spaces[space] is not before.get(space):
                memory.keep(space, lambda _, entry: not _inside(entry[1], op))
        return then_ends or else_ends

    def task(self, task: Task) -> None:
        """Iterations run after the prologue any number of times, so the body starts with what none of them writes."""
        self.block(task.bounds, PlaceTable())
        memory = PlaceTable()
        self.block(task.prologue, memory)
        self.forget(task, memory)
        self.block(task.body, memory.copy())
        self.block(task.epilogue, memory)

    def forget(self, op: Op, memory: PlaceTable) -> None:
        """Forget what `op`, which may run its regions many times, may write."""
        effects = self.effects(op)
        if effects.barrier:
            memory.spaces = {}
        for (space, _), ptr in effects.writes.items():
            memory.touch(space, ptr)


def _is_inside(ptr: Value) -> bool:
    """Whether what is stored there is surely there. (An address that is spelled out is guarded where it needs it.)"""
    return not isinstance(ptr, FieldPtr | ArrayPtr | ElementPtr | MemberPtr) or in_bounds(ptr)


def _inside(value: Value, op: Op) -> bool:
    block: Block | None = value.block  # type: ignore[attr-defined]
    while block is not None and block.owner is not None:
        if block.owner is op:
            return True
        block = block.owner.block
    return False
