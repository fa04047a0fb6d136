"""The ops by which threads synchronise: atomic accesses with a memory order, and fences. `ops.py` has them too.

A plain `load` or `store` must not meet an access of another iteration, unless something orders the two. These ops do:

    store field_ptr @x[0], %v                         while {
    atomic_store field_ptr @ready[], 1, release         %r = atomic_load field_ptr @ready[], order=acquire
                                                        ...break once %r is 1...
                                                      }
                                                      load field_ptr @x[0]                     reads %v

A *release* makes everything that its iteration did before it visible to whoever *acquires* what it wrote. No access
moves across an acquire to before it, and none across a release to after it. The passes are stricter: an op that is
ordered is a barrier for them, and no access moves across it at all.

The order of an op is one of ORDERS; a load cannot release and a store cannot acquire. `relaxed` means: the access is
atomic, and each one finds what the last one left, but it orders nothing else. All iterations see the atomic accesses to
one address in one order. The ops take one scalar of 32 or 64 bits.
"""

from __future__ import annotations

from weft.ir.core import Op, Value, attr, operand
from weft.ir.types import Pointer, Type

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
FENCE_SCOPES = ("block", "device")  # which threads a fence is for: those of the same thread block, or all


class AtomicLoad(Op, name="atomic_load", reads=True, writes=True, effect="address"):
    """The value at an address that other iterations may write meanwhile. `order`: relaxed or acquire. Each one reads
    anew: it counts as a write too, so that no pass merges or moves it."""

    ptr: Value = operand()
    order: str = attr(default="relaxed")

    def result_type(self) -> Type:
        assert isinstance(self.ptr.type, Pointer)
        return self.ptr.type.elem

    def orders(self) -> bool:
        return self.order != "relaxed"


class AtomicStore(Op, name="atomic_store", writes=True, effect="address"):
    """Put `value` at an address that other iterations may read or write meanwhile. `order`: relaxed or release."""

    ptr: Value = operand()
    value: Value = operand()
    order: str = attr(default="relaxed")

    def orders(self) -> bool:
        return self.order != "relaxed"


class Exchange(Op, name="exchange", reads=True, writes=True, effect="address"):
    """Put `value` at an address and give what was there, at once. `order`: any."""

    ptr: Value = operand()
    value: Value = operand()
    order: str = attr(default="relaxed")

    def result_type(self) -> Type:
        assert isinstance(self.ptr.type, Pointer)
        return self.ptr.type.elem

    def orders(self) -> bool:
        return self.order != "relaxed"


class CompareExchange(Op, name="compare_exchange", reads=True, writes=True, effect="address"):
    """Put `desired` at an address if the bits there are those of `expected`, at once. It gives what was there: it has
    succeeded if and only if these are the bits of `expected`, for it never fails without a reason. `order`: any; one
    that does not store does not release."""

    ptr: Value = operand()
    expected: Value = operand()
    desired: Value = operand()
    order: str = attr(default="relaxed")

    def result_type(self) -> Type:
        assert isinstance(self.ptr.type, Pointer)
        return self.ptr.type.elem

    def orders(self) -> bool:
        return self.order != "relaxed"


class Fence(Op, name="fence", writes=True, effect="anywhere"):
    """Orders the accesses around it, plain and atomic ones, as an access of that `order` would: acquire, release or
    acq_rel. A relaxed atomic with a fence before it releases, one with a fence behind it acquires. `scope` says for
    which threads: of the same `block` of a GPU, or of the whole `device`; on a CPU both are all threads."""

    order: str = attr(default="acq_rel")
    scope: str = attr(default="device")


SYNCHRONIZING: frozenset[type[Op]] = frozenset({AtomicLoad, AtomicStore, CompareExchange, Exchange, Fence})
