"""Dead store elimination: removes a store that is overwritten before anything reads it, or whose local is never read
again.
"""

from __future__ import annotations

from collections.abc import Hashable

from weft.ir.alias import accesses
from weft.ir.config import CompileConfig
from weft.ir.core import Block, Op, Value
from weft.ir.ops import (
    Alloca,
    Break,
    Continue,
    ElementPtr,
    If,
    Kernel,
    Load,
    MemberPtr,
    Store,
    Task,
)
from weft.ir.passes import pass_
from weft.ir.places import Effects, EffectsOf, Places, PlaceTable
from weft.ir.types import VOID

__all__ = ["dead_stores"]

_STORED = Value(VOID)  # only the places in the table matter here, not the values


@pass_("dead_stores")
def dead_stores(root: Kernel, config: CompileConfig) -> bool:
    """Walks backwards and drops stores that no later op can observe.

        store %p, %a
        (nothing reads %p)             ->
        store %p, %b                           store %p, %b

    A store before an If is dead if it is dead in both branches. What is dead after a loop is dead in the loop too,
    unless the loop itself reads it. The pass keeps a store before an op that may end the kernel (an Assert, or an op
    with a Return inside), because that store would be the last one.
    """
    return _DeadStores(root).changed


class _Later:
    """What holds from a point on. `over` holds the addresses that are stored to before they are read. `gone` holds the
    locals that are not read again."""

    def __init__(self, over: PlaceTable | None = None, gone: dict[Alloca, None] | None = None) -> None:
        self.over, self.gone = over or PlaceTable(), gone or {}

    def copy(self) -> _Later:
        return _Later(self.over.copy(), self.gone.copy())

    def read(self, space: Hashable, ptr: Value) -> None:
        if isinstance(space, Alloca):
            self.gone.pop(space, None)
        self.over.touch(space, ptr)

    def may_stop(self) -> None:
        """Handle an op after which the rest may not run."""
        self.over.spaces = {}

    def may_fail(self) -> None:
        """Handle an op that may fail. As `may_stop`, but locals are not read after a failure."""
        self.over.keep_locals(True)

    def effects(self, effects: Effects) -> None:
        """Handle an op with regions that runs before this point."""
        if effects.barrier:
            self.over, self.gone = PlaceTable(), {}
        for (space, _), ptr in effects.reads.items():
            self.read(space, ptr)
        if effects.leaves:
            self.may_stop()
        elif effects.fails:
            self.may_fail()

    def meet(self, other: _Later) -> None:
        self.over.meet(other.over)
        self.gone = {local: None for local in self.gone if local in other.gone}


class _DeadStores:
    """One backward walk over the program."""

    def __init__(self, root: Kernel) -> None:
        self.changed = False
        self.place = Places()
        self.effects = EffectsOf(self.place)
        self.block(root.body, _Later(), _Later())

    def block(self, block: Block, later: _Later, jump: _Later, keep: bool = False) -> _Later:
        """Give what holds at the start of `block` if `later` holds at its end and `jump` after a Break or Continue.
        `keep`: the block's locals outlive it."""
        if isinstance(block.last, (Break, Continue)):
            later = jump.copy()
        elif block.last is not None and block.last.exits:
            later.may_stop()
        if not keep:
            later.gone.update((op, None) for op in block if isinstance(op, Alloca))
        for op in reversed(block):
            if op.pure:
                continue
            kind = type(op)
            if kind is Store:
                self.store(op, later)
            elif kind is Load:
                later.read(self.place(op.operands[0])[0], op.operands[0])
            elif op.region_names:
                later = self.control(op, later, jump)
            elif op.fails:
                later.may_fail()
            else:
                reads, _, barrier = accesses(op)
                for ptr in reads:
                    later.read(self.place(ptr)[0], ptr)
                if barrier:
                    later = _Later()
        return later

    def store(self, op: Op, later: _Later) -> None:
        ptr = op.operands[0]
        place = self.place(ptr)
        if place[0] in later.gone or self.covered(ptr, later.over):
            op.erase()
            self.changed = True
        else:
            later.over.put(place, ptr, _STORED)

    def covered(self, ptr: Value, over: PlaceTable) -> bool:
        """Whether a later op stores to `ptr`, or to the whole value that it is a part of."""
        while over.get(self.place(ptr)) is None:
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
        later.effects(self.effects(op))
        for region in op.regions:
            self.block(region, later.copy(), later.copy())
        return later
