"""The ops by which threads synchronise: atomic accesses with a memory order, and fences. `ops.py` exports them too.

A plain `load` or `store` must not race with an access of another iteration. The program must order the two, for example
with these ops:

    store field_ptr @x[0], %v                         while {
    atomic_store field_ptr @ready[], 1, release         %r = atomic_load field_ptr @ready[], order=acquire
                                                        ...break once %r is 1...
                                                      }
                                                      load field_ptr @x[0]                     reads %v

A *release* makes everything that its iteration did before visible to each iteration that *acquires* the value it wrote.
No access moves from after an acquire to before it, and none moves from before a release to after it. The passes are
stricter: they treat an op that orders accesses as a barrier and move no access across it.

The order of an op is one of ORDERS. A load cannot release, and a store cannot acquire. With `relaxed`, the access is
atomic but orders no other access. All iterations see the atomic accesses to one address in the same order. The ops take
one scalar of 32 or 64 bits.
"""

from __future__ import annotations

from weft.ir.core import Op, Value, attr, operand, pointee
from weft.ir.types import Type

__all__ = [
    "FENCE_SCOPES",
    "ORDERS",
    "SYNCHRONIZING",
    "AtomicLoad",
    "AtomicStore",
    "CompareExchange",
    "Exchange",
    "Fence",
]

# ---- synchronization -------------------------------------------------------------------------------------------------

ORDERS = ("relaxed", "acquire", "release", "acq_rel")
FENCE_SCOPES = ("block", "device")  # a fence orders accesses for the threads of one thread block, or for all threads


class AtomicLoad(Op, name="atomic_load", reads=True, writes=True, effect="address"):
    """Reads the value at an address that other iterations may write at the same time. `order` is relaxed or acquire.
    The op counts as a write too, so that no pass merges or moves it: each one reads memory again."""

    ptr: Value = operand()
    order: str = attr(default="relaxed")

    def result_type(self) -> Type:
        return pointee(self.ptr)

    def orders(self) -> bool:
        return self.order != "relaxed"


class AtomicStore(Op, name="atomic_store", writes=True, effect="address"):
    """Writes `value` to an address that other iterations may read or write at the same time. `order` is relaxed or
    release."""

    ptr: Value = operand()
    value: Value = operand()
    order: str = attr(default="relaxed")

    def orders(self) -> bool:
        return self.order != "relaxed"


class Exchange(Op, name="exchange", reads=True, writes=True, effect="address"):
    """Writes `value` to an address and gives the old value, in one atomic step. `order` may be any of ORDERS."""

    ptr: Value = operand()
    value: Value = operand()
    order: str = attr(default="relaxed")

    def result_type(self) -> Type:
        return pointee(self.ptr)

    def orders(self) -> bool:
        return self.order != "relaxed"


class CompareExchange(Op, name="compare_exchange", reads=True, writes=True, effect="address"):
    """Compares the bits at an address with those of `expected` and writes `desired` if they are equal, in one atomic
    step. It gives the old value. It has stored if and only if the old value has the bits of `expected`: it does not
    fail spuriously. `order` may be any of ORDERS. If it does not store, it does not release."""

    ptr: Value = operand()
    expected: Value = operand()
    desired: Value = operand()
    order: str = attr(default="relaxed")

    def result_type(self) -> Type:
        return pointee(self.ptr)

    def orders(self) -> bool:
        return self.order != "relaxed"


class Fence(Op, name="fence", writes=True, effect="anywhere"):
    """Orders the accesses before it relative to those after it, plain and atomic ones, as an access of that `order`
    does: acquire, release or acq_rel. A relaxed atomic after a fence releases. A relaxed atomic before a fence
    acquires. `scope` says for which threads: those of the same `block` of a GPU, or all threads of the `device`. On a
    CPU, both mean all threads."""

    order: str = attr(default="acq_rel")
    scope: str = attr(default="device")


SYNCHRONIZING: frozenset[type[Op]] = frozenset({AtomicLoad, AtomicStore, CompareExchange, Exchange, Fence})
