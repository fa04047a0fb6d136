"""Dead store elimination: a store that is overwritten, or whose local dies, before anyone reads it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from weft.ir.alias import ANYWHERE, AddressNumbers, accesses, may_alias, memory_effects, space_of, spaces_meet
from weft.ir.config import CompileConfig
from weft.ir.core import Block, Op, Value
from weft.ir.ops import (
    Alloca,
    Assert,
    Break,
    Continue,
    ElementPtr,
    Exit,
    For,
    If,
    Kernel,
    Load,
    MemberPtr,
    Return,
    Store,
    Task,
    While,
)
from weft.ir.passes import pass_

__all__ = ["dead_stores"]


@pass_("dead_stores")
def dead_stores(root: Kernel, config: CompileConfig) -> bool:
    """Walks backwards and drops stores that no later op can see.

        store %p, %a
        (nothing reads %p)             ->
        store %p, %b                           store %p, %b

    Both arms of an If count; what follows a loop counts in the loop unless the loop itself reads it. Not across an op
    that may end the kernel (an Assert, a Return inside): the store before it would be the last.
    """
    return _DeadStores().run(root)


# Entries kept per space, as in `forward`.
_CAPACITY = 64


@dataclass
class _Later:
    """What holds from a point on: `over`: addresses stored to before they are read; `gone`: locals not read again."""

    over: dict[Hashable, dict[int, Value]] = field(default_factory=dict)
    gone: dict[Alloca, None] = field(default_factory=dict)

    def copy(self) -> _Later:
        return _Later({space: dict(known) for space, known in self.over.items()}, dict(self.gone))

    def read(self, ptr: Value) -> None:
        space = space_of(ptr)
        if isinstance(space, Alloca):
            self.gone.pop(space, None)
        if space != ANYWHERE and ANYWHERE not in self.over:
            meeting = [space] if space in self.over else []
        else:
            meeting = [other for other in self.over if spaces_meet(space, other)]
        for other in meeting:
            known = self.over[other]
            for number in [number for number, later in known.items() if may_alias(later, ptr)]:
                del known[number]

    def effects(self, op: Op) -> None:
        """Account for all that `op` with its regions reads."""
        reads, _, barrier = memory_effects(op)
        if barrier:
            self.over.clear()
            self.gone.clear()
        for ptr in reads:
            self.read(ptr)

    def may_stop(self, locals_too: bool) -> None:
        """What comes later may not come at all. Locals are gone then, so a failed assertion leaves them out."""
        for space in list(self.over):
            if locals_too or not isinstance(space, Alloca):
                del self.over[space]

    def meet(self, other: _Later) -> None:
        for space, known in self.over.items():
            theirs = other.over.get(space, {})
            for number in [number for number in known if number not in theirs]:
                del known[number]
        self.gone = {local: None for local in self.gone if local in other.gone}


class _DeadStores:
    """One walk against program order."""

    def __init__(self) -> None:
        self.changed = False
        self.number = AddressNumbers()

    def run(self, root: Kernel) -> bool:
        self.block(root.body, _Later(), _Later())
        return self.changed

    def block(self, block: Block, later: _Later, jump: _Later, keep: bool = False) -> _Later:
        """What holds at the start of `block`, if `later` holds at its end and `jump` after a Break or Continue.
        `keep`: the block's locals outlive it."""
        if isinstance(block.last, (Break, Continue)):
            later = jump.copy()
        elif isinstance(block.last, (Return, Exit)):
            later.may_stop(locals_too=True)
        if not keep:
            later.gone.update((op, None) for op in block if isinstance(op, Alloca))
        for op in reversed(block):
            kind = type(op)
            if kind is Store:
                self.store(op, later)
            elif kind is Load:
                later.read(op.operands[0])
            elif kind is Assert:
                later.may_stop(locals_too=False)
            elif op.region_names:
                later = self.control(op, later, jump)
            elif not op.pure:
                for ptr in accesses(op)[0]:
                    later.read(ptr)
                if accesses(op)[2]:
                    later = _Later()
        return later

    def store(self, op: Op, later: _Later) -> None:
        ptr = op.operands[0]
        space = space_of(ptr)
        known = later.over.setdefault(space, {})
        if space in later.gone or self.covered(ptr, known):
            op.erase()
            self.changed = True
        elif len(known) < _CAPACITY:
            known[self.number(ptr)] = ptr

    def covered(self, ptr: Value, known: dict[int, Value]) -> bool:
        """Whether `ptr`, or the whole that it is a part of, is stored to later."""
        if not known:
            return False
        while self.number(ptr) not in known:
            if not isinstance(ptr, (ElementPtr, MemberPtr)):
                return False
            ptr = ptr.base
        return True

    def control(self, op: Op, later: _Later, jump: _Later) -> _Later:
        if isinstance(op, If):
            other = self.block(op.orelse, later.copy(), jump)
            later = self.block(op.then, later, jump)
            later.meet(other)
            return later
        if isinstance(op, Task):
            for region in op.regions:
                self.block(region, _Later(), _Later(), keep=region is op.prologue)
            return _Later()
        later.effects(op)
        inner = list(op.walk())
        if any(isinstance(part, (Return, Exit)) for part in inner):
            later.may_stop(locals_too=True)
        elif any(isinstance(part, Assert) for part in inner):
            later.may_stop(locals_too=False)
        for region in op.regions:
            end = later.copy() if isinstance(op, (For, While)) else _Later()
            self.block(region, end, end.copy())
        return later
