"""Store-to-load and load-to-load forwarding: replaces a load by the value that memory is known to hold."""

from __future__ import annotations

from weft.ir.addresses import root_of
from weft.ir.alias import accesses
from weft.ir.autodiff.lost import ending_stores
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
    """Replaces loads by the values that memory is known to hold, and drops stores of values that are there already.

        store %p, %x                           store %p, %x
        %a = load %p                   ->
        store %q, (f %a)                       store %q, (f %x)

    Known values stay known in branches and loops, except those that the loop itself may overwrite. After an If, the
    values that both branches agree on are known. The result of an atomic is not known, nor is memory that an op in
    between may write. A store to a sparse field stays, because it activates a cell. With `mask_out_of_bounds`, a stored
    value is not known if the address may be out of bounds. In a kernel with a mode, a stored value is not known if its
    derivative ends there, in memory without a companion: the load is a constant. Only the values of locals are known
    inside a parallel loop from outside of it: other memory belongs to another task there."""
    return _Forward(root, config.masks).changed


def _is_sparse(ptr: Value) -> bool:
    root = root_of(ptr)
    return isinstance(root, FieldPtr) and root.field.node is not None


class _Forward:
    """One walk in program order."""

    def __init__(self, root: Kernel, masked: bool) -> None:
        self.changed, self.masked = False, masked
        self.place = Places()
        self.effects = EffectsOf(self.place)
        self.ending = ending_stores(root)
        self.block(root.body, PlaceTable())

    def block(self, block: Block, memory: PlaceTable) -> bool:
        """Walk a block and change `memory` to what holds after it. Gives False if the end of the block
        is not reached."""
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
        """The value at a constant position of a tensor or struct whose whole value is known."""
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
        if memory.get(place) is value and not _is_sparse(ptr):
            op.erase()
            self.changed = True
            return
        memory.touch(place[0], ptr)
        # (a store that is out of bounds is dropped)
        if op not in self.ending and (not self.masked or _is_inside(ptr)):
            memory.put(place, ptr, value)

    def control(self, op: Op, memory: PlaceTable) -> bool:
        """Walk an op with regions. Gives False if the ops after it are never reached."""
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
        # Values computed inside the only branch that continues cannot be used after the If.
        for space in list(memory.spaces):
            if memory.spaces[space] is not before.get(space):
                memory.keep(space, lambda _, entry: not _inside(entry[1], op))
        return then_ends or else_ends

    def task(self, task: Task) -> None:
        """Iterations run any number of times after the prologue, so the body starts with the values that no iteration
        overwrites."""
        self.block(task.bounds, PlaceTable())
        memory = PlaceTable()
        self.block(task.prologue, memory)
        self.forget(task, memory)
        self.block(task.body, memory.copy())
        self.block(task.epilogue, memory)

    def forget(self, op: Op, memory: PlaceTable) -> None:
        """Forget the memory that `op` may write. It may run its regions many times."""
        effects = self.effects(op)
        if effects.barrier:
            memory.spaces = {}
        for (space, _), ptr in effects.writes.items():
            memory.touch(space, ptr)


def _is_inside(ptr: Value) -> bool:
    """Whether the address is known to be in bounds. A lowered address is guarded already if it needs to be."""
    return not isinstance(ptr, FieldPtr | ArrayPtr | ElementPtr | MemberPtr) or in_bounds(ptr)


def _inside(value: Value, op: Op) -> bool:
    block: Block | None = value.block  # type: ignore[attr-defined]
    while block is not None and block.owner is not None:
        if block.owner is op:
            return True
        block = block.owner.block
    return False
