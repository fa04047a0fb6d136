"""Groups atomics of lanes whose old values are not used: one loop over the lanes executes all consecutive ones.

    atomic add x[%k].x, %u              store %u, %v, %w for each lane to pick from
    atomic add x[%k].y, %v      ->      for each lane that is here:
    atomic add x[%k + 1].x, %w              p = where its x[%k] is ; p[0] += its %u ; p[4] += its %v ; p[8] += its %w

The atomics wait until an op may observe their effects, or until the block ends. Each lane keeps program order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.codegen.cpu.lane_gathers import anchor_of
from weft.codegen.cpu.lanes import LaneWriter
from weft.codegen.llvm.spelling import in_memory
from weft.ir.addresses import root_of
from weft.ir.core import Op
from weft.ir.mapping.moves import can_wait
from weft.ir.ops import Address, Alloca, Atomic, Load, Store
from weft.ir.scopes import Scope
from weft.ir.types import Prim
from weft.ir.uniform import FAMILY

__all__ = ["Together"]


@dataclass
class Together:
    """Atomics that will be emitted together, each with the slots of its pointers and of its values and its distance
    from the pointers, and the fields that they are in. `slots` are the slots in use, by type and content. `free` are
    other slots, by type."""

    waiting: list[tuple[Atomic, str, int, str]] = field(default_factory=list[tuple[Atomic, str, int, str]])
    scopes: set[Scope] = field(default_factory=set[Scope])
    slots: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    free: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def sees(self, op: Op) -> bool:
        """Whether the op must not be written before those that wait."""
        if isinstance(op, Alloca):
            return False
        if isinstance(op, (Load, Store)) and isinstance(root_of(op.ptr), Alloca):
            return False
        if isinstance(op, Load) and isinstance(op.ptr, Address):
            return self._meets(op.ptr)
        return not can_wait(op)

    def minds(self, op: Atomic) -> bool:
        """Whether the result is another one if the atomic, which does not wait, comes before those that do."""
        if not isinstance(op.ptr, Address) or not self._meets(op.ptr):
            return False
        return any(FAMILY.get(other.kind) != FAMILY.get(op.kind) for other, *_ in self.waiting)

    def _meets(self, place: Address) -> bool:
        """Whether that is where one that waits may be, or in the same cell: a load may take the whole cell along."""
        return any(place.scope.whole.may_overlap(scope) for scope in self.scopes)

    def add(self, f: LaneWriter, op: Atomic) -> None:
        """One more, that can wait."""
        assert isinstance(op.ptr, Address)
        pointers, distance = anchor_of(f, op.ptr)
        place = self._keep(f, f"<{f.lanes} x ptr>", pointers)
        with f.wide():
            values = self._keep(f, f.spell(_type_of(op)), f.use(op.value))
        self.scopes.add(op.ptr.scope)
        self.waiting.append((op, place, distance, values))

    def flush(self, f: LaneWriter) -> None:
        """Make them."""
        waiting, self.waiting = self.waiting, []
        if not waiting:
            return
        with f.each() as number:
            lane: dict[str, str] = {}  # the value of this lane in each slot
            for op, pointers, distance, values in waiting:
                for slot, type in ((pointers, "ptr"), (values, in_memory(_type_of(op)))):
                    if slot not in lane:
                        place = f.set(f"getelementptr {type}, ptr {slot}, i64 {number}")
                        lane[slot] = f.set(f"load {type}, ptr {place}")
                pointer = lane[pointers]
                if distance:
                    pointer = f.set(f"getelementptr i8, ptr {pointer}, i64 {distance}")
                f.write_with(op, {op.ptr: pointer, op.value: lane[values]})
        for (vector, _), slot in self.slots.items():
            self.free.setdefault(vector, []).append(slot)
        self.scopes, self.slots = set(), {}

    def _keep(self, f: LaneWriter, vector: str, value: str) -> str:
        """A slot with that vector in it."""
        slot = self.slots.get((vector, value))
        if slot is None:
            free = self.free.get(vector)
            self.slots[vector, value] = slot = free.pop() if free else f.stack(vector, align=64)
            f.do(f"store {vector} {value}, ptr {slot}, align 64")
        return slot


def _type_of(op: Atomic) -> Prim:
    assert isinstance(op.value.type, Prim)
    return op.value.type
