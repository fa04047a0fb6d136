"""Store-to-load and load-to-load forwarding: what memory is known to hold need not be read."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from weft.ir.alias import ANYWHERE, AddressNumbers, accesses, may_alias, memory_effects, space_of, spaces_meet
from weft.ir.config import CompileConfig
from weft.ir.core import Block, Builder, Op, Value
from weft.ir.ops import (
    Alloca,
    ElementPtr,
    Extract,
    For,
    If,
    Kernel,
    Load,
    Member,
    MemberPtr,
    ParallelFor,
    Store,
    StructFor,
    Task,
    While,
)
from weft.ir.passes import pass_
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
    agree on. Not the result of an atomic, nor memory that an op in between may write. From outside into a parallel loop
    only locals are carried on: the rest belongs to another task.
    """
    return _Forward().run(root)


# Entries kept per space: a store is compared with each, so this bounds the work on long runs of accesses.
_CAPACITY = 64


@dataclass
class _Memory:
    """Known values: by space, then by address number: (address, value)."""

    spaces: dict[Hashable, dict[int, tuple[Value, Value]]] = field(default_factory=dict)

    def copy(self) -> _Memory:
        return _Memory({space: dict(known) for space, known in self.spaces.items()})

    def get(self, space: Hashable, number: int) -> Value | None:
        entry = self.spaces.get(space, {}).get(number)
        return entry[1] if entry is not None else None

    def put(self, space: Hashable, number: int, ptr: Value, value: Value) -> None:
        known = self.spaces.setdefault(space, {})
        if len(known) >= _CAPACITY:
            del known[next(iter(known))]
        known[number] = (ptr, value)

    def written(self, ptr: Value) -> None:
        """Forget what a write to `ptr` may change."""
        space = space_of(ptr)
        for other in self._meeting(space):
            known = self.spaces[other]
            for number in [number for number, (known_ptr, _) in known.items() if may_alias(known_ptr, ptr)]:
                del known[number]

    def _meeting(self, space: Hashable) -> list[Hashable]:
        if space != ANYWHERE and ANYWHERE not in self.spaces:
            return [space] if space in self.spaces else []
        return [other for other in self.spaces if spaces_meet(space, other)]

    def locals(self) -> _Memory:
        return _Memory({space: dict(known) for space, known in self.spaces.items() if isinstance(space, Alloca)})

    def meet(self, other: _Memory) -> None:
        """Keep what both know alike."""
        for space, known in self.spaces.items():
            theirs = other.spaces.get(space, {})
            for number in [n for n, (_, value) in known.items() if n not in theirs or theirs[n][1] is not value]:
                del known[number]

    def leave(self, op: Op) -> None:
        """Drop values computed inside `op`: what follows it cannot use them."""
        for known in self.spaces.values():
            for number in [number for number, (_, value) in known.items() if _inside(value, op)]:
                del known[number]


def _inside(value: Value, op: Op) -> bool:
    block: Block | None = value.block  # type: ignore[attr-defined]
    while block is not None and block.owner is not None:
        if block.owner is op:
            return True
        block = block.owner.block
    return False


class _Forward:
    """One walk in program order."""

    def __init__(self) -> None:
        self.changed = False
        self.number = AddressNumbers()

    def run(self, root: Kernel) -> bool:
        self.block(root.body, _Memory())
        return self.changed

    def block(self, block: Block, memory: _Memory) -> bool:
        """Run through a block, changing `memory` to what holds after it; False if its end is not reached."""
        for op in block:
            kind = type(op)
            if kind is Load:
                self.load(op, memory)
            elif kind is Store:
                self.store(op, memory)
            elif op.region_names:
                if not self.control(op, memory):
                    return False
            elif not op.pure:
                _, writes, barrier = accesses(op)
                _forget(memory, writes, barrier)
        return not (block.last is not None and block.last.terminator)

    def load(self, op: Op, memory: _Memory) -> None:
        ptr = op.operands[0]
        space, number = space_of(ptr), self.number(ptr)
        value = memory.get(space, number) or self.part(op, ptr, space, memory)
        if value is not None and value.type is op.type:
            value.name = value.name or op.name
            op.replace(value)
            self.changed = True
        else:
            memory.put(space, number, ptr, op)

    def part(self, op: Op, ptr: Value, space: Hashable, memory: _Memory) -> Value | None:
        """The value at a constant place of a tensor or struct whose whole value is known."""
        if not isinstance(ptr, (ElementPtr, MemberPtr)):
            return None
        base = ptr.base
        whole = memory.get(space, self.number(base)) or self.part(op, base, space, memory)
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

    def store(self, op: Op, memory: _Memory) -> None:
        ptr, value = op.operands
        space, number = space_of(ptr), self.number(ptr)
        if memory.get(space, number) is value:
            op.erase()
            self.changed = True
            return
        memory.written(ptr)
        memory.put(space, number, ptr, value)

    def control(self, op: Op, memory: _Memory) -> bool:
        """An op with regions; False if what follows is never reached."""
        if isinstance(op, If):
            return self.branch(op, memory)
        if isinstance(op, Task):
            self.task(op)
            return True
        _, writes, barrier = memory_effects(op)
        _forget(memory, writes, barrier)
        if isinstance(op, (For, While)):
            self.block(op.body, memory.copy())
        else:
            assert isinstance(op, (ParallelFor, StructFor))
            self.block(op.body, memory.locals())
        return True

    def branch(self, op: If, memory: _Memory) -> bool:
        other = memory.copy()
        then_ends = self.block(op.then, memory)
        else_ends = self.block(op.orelse, other)
        if then_ends and else_ends:
            memory.meet(other)
        elif else_ends:
            memory.spaces = other.spaces
        memory.leave(op)
        return then_ends or else_ends

    def task(self, task: Task) -> None:
        """Iterations run after the prologue any number of times, so the body starts with what none of them writes."""
        self.block(task.bounds, _Memory())
        memory = _Memory()
        self.block(task.prologue, memory)
        for op in task.body:
            _, writes, barrier = memory_effects(op)
            _forget(memory, writes, barrier)
        self.block(task.body, memory.copy())
        self.block(task.epilogue, memory)


def _forget(memory: _Memory, writes: Iterable[Value], barrier: bool) -> None:
    if barrier:
        memory.spaces.clear()
    for ptr in writes:
        memory.written(ptr)
