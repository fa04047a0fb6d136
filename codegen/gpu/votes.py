"""Votes of warps and blocks, for a target that has only a vote of the lanes of a warp.

`votes(f, truth)` emits the lanes of the warp for which a condition is true, as one bit for each (i32). Inactive lanes
have 0. Votes with a mask, and the lanes with the same value, are computed from it. A block counts in its shared memory.

A target whose instructions do more has rows of its own (see `GpuDialect.simt`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from weft.codegen.gpu.block_reduce import barrier
from weft.codegen.gpu.dialect import SHARED, SimtEmitter, dialect_of, to_bits
from weft.codegen.llvm.function import FunctionWriter

if TYPE_CHECKING:
    from weft.ir.ops import Simt

__all__ = ["BLOCK_VOTES", "warp_votes"]

Votes = Callable[[FunctionWriter, str], str]


def warp_votes(votes: Votes) -> dict[str, SimtEmitter]:
    """The ops on warps that follow from votes, by kind."""

    def active(f: FunctionWriter, op: Simt) -> str:
        return votes(f, "true")

    def ballot(f: FunctionWriter, op: Simt, predicate: str) -> str:
        return votes(f, _truth(f, predicate))

    def among(f: FunctionWriter, mask: str, predicate: str) -> str:
        return f.set(f"and i32 {votes(f, _truth(f, predicate))}, {mask}")

    def every(f: FunctionWriter, op: Simt, mask: str, predicate: str) -> str:
        return _equal(f, among(f, mask, predicate), mask)

    def some(f: FunctionWriter, op: Simt, mask: str, predicate: str) -> str:
        return f.set(f"zext i1 {_truth(f, among(f, mask, predicate))} to i32")

    def uniform(f: FunctionWriter, op: Simt, mask: str, predicate: str) -> str:
        found = among(f, mask, predicate)
        return f.set(f"or i32 {_equal(f, found, '0')}, {_equal(f, found, mask)}")

    def match_any(f: FunctionWriter, op: Simt, mask: str, value: str) -> str:
        """Bit by bit, the lanes that have the same bit."""
        (word, bits), same = to_bits(f, op, value), mask
        for place in range(int(word[1:])):
            bit = f.set(f"trunc {word} {f.set(f'lshr {word} {bits}, {place}')} to i1")
            found = votes(f, bit)
            others = f.set(f"xor i32 {found}, -1")
            same = f.set(f"and i32 {same}, {f.set(f'select i1 {bit}, i32 {found}, i32 {others}')}")
        return same

    def match_all(f: FunctionWriter, op: Simt, mask: str, value: str) -> str:
        alike = f.set(f"icmp eq i32 {match_any(f, op, mask, value)}, {mask}")
        return f.set(f"select i1 {alike}, i32 {mask}, i32 0")

    return {
        "warp_active": active,
        "warp_ballot": ballot,
        "warp_all": every,
        "warp_any": some,
        "warp_uniform": uniform,
        "warp_match_any": match_any,
        "warp_match_all": match_all,
    }


def _truth(f: FunctionWriter, predicate: str) -> str:
    return f.set(f"icmp ne i32 {predicate}, 0")


def _equal(f: FunctionWriter, a: str, b: str) -> str:
    return f.set(f"zext i1 {f.set(f'icmp eq i32 {a}, {b}')} to i32")


# ---- blocks ----------------------------------------------------------------------------------------------------------


def _counted(f: FunctionWriter, truth: str) -> str:
    """For how many threads of the block that is true (i32)."""
    name, place = "weft_count", f"ptr {SHARED} @weft_counter"
    if name not in f.module.declarations:
        f.module.declarations["weft_counter"] = f"@weft_counter = internal {SHARED} global i32 poison, align 4"
        inner = FunctionWriter(f.module, f.target)
        barrier(inner)  # all have read the last count
        inner.do(f"store i32 0, {place}, align 4")
        barrier(inner)
        one = inner.set("zext i1 %truth to i32")
        inner.set(f"atomicrmw add {place}, i32 {one} {dialect_of(f).block_scope}monotonic")
        barrier(inner)
        count = inner.set(f"load i32, {place}, align 4")
        signature = f"define internal i32 @{name}(i1 %truth) convergent nounwind"
        f.module.declarations[name] = inner.returning(signature, f"i32 {count}")
    return f.set(f"call i32 @{name}(i1 {truth})")


def _count(f: FunctionWriter, op: Simt, predicate: str) -> str:
    return _counted(f, _truth(f, predicate))


def _every(f: FunctionWriter, op: Simt, predicate: str) -> str:
    return _equal(f, _counted(f, f.set(f"icmp eq i32 {predicate}, 0")), "0")


def _some(f: FunctionWriter, op: Simt, predicate: str) -> str:
    return f.set(f"zext i1 {_truth(f, _count(f, op, predicate))} to i32")


BLOCK_VOTES: dict[str, SimtEmitter] = {
    "block_sync_count": _count,
    "block_sync_all": _every,
    "block_sync_any": _some,
}
