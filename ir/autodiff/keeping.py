"""What is kept of each iteration of a serial loop for its backward sweep, and what that computes again.

The items of an iteration are the ops in the body of the loop that the backward sweep needs, and the state. A loop is
one item, and so is an If with loops in it, unless its condition is known (`exits.py`). Other Ifs are *parts* of the
body: the ops in them are items. An item depends on what is used inside of it, and on the conditions around it. A load
of a local depends on the writes that reach it, or on the state. The backward sweep wants what adjoints use. `cuts.py`
finds the cheapest choice: values of slow operators are kept, sums of what is there are computed again.

An item can be kept if it is a value of floats or integers. The state cannot be computed again: that of the iteration
before is gone. If a loop has no state, and no slot for each iteration, its values are kept only if that saves more than
leaves cost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from itertools import takewhile

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.cuts import Choice, choose
from weft.ir.autodiff.demand import LOCALS, Demand, indices_of, updates_local
from weft.ir.autodiff.joint import joint_of
from weft.ir.core import Block, Op, Value, ops_of
from weft.ir.mapping.cost import price, trips
from weft.ir.types import Pointer, Prim, Struct, Tensor, Type, flatten, u1

__all__ = ["Kept", "kept_of"]

_KEEP = 4.0  # the price of a store and a load in the cache of a CPU
_UNROLLED = 16  # the most iterations of a loop that LLVM unrolls
_LEAF = 16.0  # of the counters of leaves and rows in an iteration
_ATOMIC = 12.0  # of an atomic that nothing runs beside


@dataclass(frozen=True)
class Kept:
    """`state`: the locals that are kept as an iteration finds them. `values`: the values that are kept. `again`: the
    ops that the backward sweep of an iteration computes again. `parts`: the Ifs in which `again` says that, too."""

    state: list[Value]
    values: list[Op] = field(default_factory=list[Op])
    again: Set[Value] = frozenset()
    parts: Set[Op] = frozenset()

    @property
    def scalars(self) -> int:
        """How many numbers are kept of an iteration."""
        return sum(map(_scalars, (*self.state, *self.values)))


def kept_of(demand: Demand, loop: ops.For | ops.While, memory: float = 1.0, leaves: bool = False) -> Kept:
    """The cheapest choice for an iteration of a loop. `memory`: how many times as expensive as on a CPU it is to keep a
    number (`Traits.memory`). `leaves`: what is kept goes to leaves."""
    items = _Items(demand, loop, _KEEP if _is_unrolled(loop) else _KEEP * memory)
    wanted = items.wanted()
    choice = choose(items.depends, wanted, items.price, items.keep)
    if leaves and not items.state:
        other = choose(items.depends, wanted, items.price, lambda _: math.inf)
        choice = other if items.total(other) <= items.total(choice) + _LEAF else choice
    state = [local for local in items.state if local in choice.kept]
    values = [item for item in items.order if item in choice.kept]
    again = {inner for inner, item in items.item.items() if item in choice.again}
    return Kept(state, values, again | {op for op in items.needed if isinstance(op, LOCALS)}, items.parts)


class _Items:
    """The items of a loop. `item`: the one that an op of the loop belongs to. `depends`: what each one is computed
    from. `each`: the price of keeping a number."""

    def __init__(self, demand: Demand, loop: ops.For | ops.While, each: float) -> None:
        self.demand, self.loop, self.each = demand, loop, each
        self.needed = demand.reversal(loop)
        self.state = demand.state(loop, self.needed)
        self.parts = set[Op]()
        self.order = self._items_in(loop.body)
        self.item: dict[Value, Op] = {
            inner: op for op in self.order for inner in op.walk() if inner in self.needed or inner is op
        }
        self.writes: dict[Value, list[Op]] = {}
        for inner in self.item:
            if isinstance(inner, (ops.Store, ops.Atomic)) and isinstance(root_of(inner.ptr), LOCALS):
                self.writes.setdefault(root_of(inner.ptr), []).append(inner)
        self.depends: dict[Value, list[Value]] = {local: [] for local in self.state}
        for op in self.order:
            self.depends[op] = self.used_by(op, self.needed)
        plans = (joint_of(demand, block) for block in {op.block for op in self.order} if block is not None)
        self.joint = {call for plan in plans if plan is not None for call in plan.calls}

    def _items_in(self, block: Block) -> list[Op]:
        """The items of a block. Parts are none: the ops in them are."""
        found = list[Op]()
        for op in block:
            if op in self.demand.exits.get(self.loop, ()) or _is_part(op):
                self.parts.add(op)
                found += [inner for side in op.regions for inner in self._items_in(side)]
            elif self._is_item(op):
                found.append(op)
        return found

    def _is_item(self, op: Op) -> bool:
        if op.regions:
            return any(inner in self.needed or inner in self.demand.acts for inner in op.walk())
        return op in self.needed and not isinstance(op, (ops.Const, ops.Arg, *LOCALS))

    def wanted(self) -> list[Value]:
        """The items that must be there for the backward sweep of an iteration."""
        acting = [op for op in ops_of(*self.loop.regions) if op in self.demand.acts]
        found = list[Value]()
        for op in acting:
            used = [self.item[value] for value in self.demand.uses_of(op, self.loop) if value in self.item]
            found += [item for item in used if item is op or not op.within(item)]  # (what is in an item has its values)
        for op in self.order:
            if not op.regions or op not in self.demand.acts:
                continue
            if self._needs_tape(op):  # its own iterations are kept while it runs again
                found.append(op)
            else:
                found += self.used_by(op, self.demand.reversal(op))
        return found

    def _needs_tape(self, op: Op) -> bool:
        """Whether the backward sweep of an op needs more of its forward sweep than what locals held before it."""
        loops = [inner for inner in op.walk() if isinstance(inner, (ops.For, ops.While)) and inner in self.demand.acts]
        return any(
            isinstance(inner, ops.While) or self.demand.state(inner, self.demand.reversal(inner)) for inner in loops
        )

    def used_by(self, item: Op, needed: Set[Value]) -> list[Value]:
        """The other items that these ops of an item use."""
        inside = [inner for inner in item.walk() if inner is item or inner in needed]
        found = self._items_of(item.operands, item) if item.regions else list[Value]()
        for outer in self._around(inside):
            found += self._items_of(self.demand.decides(outer, self.loop), item)
        for inner in inside:
            if inner in self.demand.recorded:
                number = self.demand.recorded[inner]
                found += [] if number is None else self._items_of([number], item)
                if not updates_local(inner):
                    continue
            if isinstance(inner, (ops.Load, ops.Store, ops.Atomic)):
                found += self._items_of((*indices_of(inner.ptr), *inner.operands[1:]), item)
                if not isinstance(inner, ops.Store) and isinstance(root_of(inner.ptr), LOCALS):
                    found += self._reaching(root_of(inner.ptr), item)
            else:
                found += self._items_of(inner.operands, item)
        return list(dict.fromkeys(found))

    def _around(self, inside: Iterable[Op]) -> list[Op]:
        """The ops of the loop that decide whether these ones run."""
        return [
            *dict.fromkeys(outer for op in inside for outer in takewhile(lambda one: one is not self.loop, op.around()))
        ]

    def _items_of(self, values: Iterable[Value], user: Op) -> list[Value]:
        found = [self.item[value] for value in values if isinstance(value, Op) and value in self.item]
        return [item for item in found if item is not user]

    def _reaching(self, local: Value, item: Op) -> list[Value]:
        """The items that write what a local holds when an item begins, the last one first."""
        found = list[Value]()
        for write in reversed(self.writes.get(local, ())):
            writer = self.item[write]
            if writer is item or not self.demand.before(writer, item):
                continue
            found.append(writer)
            if writer is write and isinstance(write, ops.Store) and write.ptr is local and _is_around(writer, item):
                return found
        return [*found, local] if local in self.depends else found

    def price(self, item: Value) -> float:
        """That of computing an item again."""
        if not isinstance(item, Op) or item not in self.item:
            return math.inf
        return 0.0 if item in self.joint else sum(_price(inner, item) for inner in item.walk() if inner in self.needed)

    def total(self, choice: Choice[Value]) -> float:
        """The price of a choice."""
        return sum(map(self.keep, choice.kept)) + sum(map(self.price, choice.again))

    def keep(self, item: Value) -> float:
        """That of keeping an item."""
        number = isinstance(item.type, (Prim, Tensor)) and u1 not in flatten(item.type)
        possible = isinstance(item, LOCALS) or (
            number and item not in self.joint
        )  # (a joint call gives it for nothing)
        return self.each * _scalars(item) if possible else math.inf


def _is_unrolled(loop: ops.For | ops.While) -> bool:
    """Whether LLVM unrolls a loop, so that its slots are registers."""
    known = isinstance(loop, ops.For) and all(isinstance(one, ops.Const) for one in (loop.begin, loop.end, loop.step))
    return known and trips(loop) <= _UNROLLED


def _is_part(op: Op) -> bool:
    return isinstance(op, ops.If) and not any(isinstance(inner, (ops.For, ops.While)) for inner in op.walk())


def _is_around(writer: Op, item: Op) -> bool:
    """Whether a writer runs whenever a later item does: its block is around the item."""
    return item.block is writer.block or any(outer.block is writer.block for outer in item.around())


def _price(op: Op, item: Op) -> float:
    times = 1.0
    for outer in op.around() if op is not item else ():
        if isinstance(outer, (ops.For, ops.While)):
            times *= max(1.0, trips(outer))
        if outer is item:
            break
    return times * _scalars(op) * (_ATOMIC if isinstance(op, ops.Atomic) else price(op))


def _scalars(value: Value) -> int:
    """The numbers in a value, or in a local."""
    held: Type = value.type.elem if isinstance(value.type, Pointer) else value.type
    return len(flatten(held)) if isinstance(held, (Prim, Tensor, Struct)) else 1
