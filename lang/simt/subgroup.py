"""`ti.simt.subgroup`: operations of a warp, under the names of Vulkan. All 32 lanes must reach a call together.

Reductions use a butterfly of 5 steps. Scans use the 5 steps of Hillis and Steele ("Data parallel algorithms", 1986).
Values are numbers of 32 or 64 bits. Every lane gets the result.
"""

from __future__ import annotations

from typing import Any

from weft.lang.functions.func import Func, func
from weft.lang.simt.block import mem_sync
from weft.lang.simt.intrinsic import intrinsic
from weft.lang.simt.warp import all_nonzero, any_nonzero, match_all, sync
from weft.lang.values.builtins import select, static

__all__ = [
    "all_equal",
    "all_true",
    "any_true",
    "barrier",
    "broadcast",
    "broadcast_first",
    "elect",
    "exclusive_add",
    "exclusive_and",
    "exclusive_max",
    "exclusive_min",
    "exclusive_mul",
    "exclusive_or",
    "exclusive_xor",
    "group_size",
    "inclusive_add",
    "inclusive_and",
    "inclusive_max",
    "inclusive_min",
    "inclusive_mul",
    "inclusive_or",
    "inclusive_xor",
    "invocation_id",
    "memory_barrier",
    "reduce_add",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_mul",
    "reduce_or",
    "reduce_xor",
    "shuffle",
    "shuffle_down",
    "shuffle_up",
    "shuffle_xor",
]

LANES = 32
ALL = 2**LANES - 1

invocation_id = intrinsic("subgroup.invocation_id", "The index of this lane, 0 to 31.")
shuffle = intrinsic("subgroup.shuffle", "(value, index): returns `value` of lane `index`.")
shuffle_up = intrinsic(
    "subgroup.shuffle_up",
    "(value, offset): returns `value` of the lane `offset` lanes before this one, or its own `value` if there is none.",
)
shuffle_down = intrinsic(
    "subgroup.shuffle_down", "(value, offset): returns `value` of the lane `offset` lanes after this one."
)
shuffle_xor = intrinsic(
    "subgroup.shuffle_xor", "(value, mask): returns `value` of the lane with the index of this lane XOR `mask`."
)
broadcast = intrinsic("subgroup.broadcast", "(value, index): returns `value` of lane `index`.")
memory_barrier = mem_sync
_identity = intrinsic(
    "subgroup.identity", "(value, kind): returns the identity of the operation for the type of `value`."
)


@func
def group_size() -> Any:
    """Return the number of lanes."""
    return static(LANES)


@func
def barrier() -> None:
    """Wait until all lanes reach the call. Each lane then sees what the others have written."""
    sync(ALL)


@func
def elect() -> Any:
    """Return whether this is the first lane."""
    return invocation_id() == 0


@func
def all_true(cond: Any) -> Any:
    """Return whether the condition holds in all lanes."""
    return all_nonzero(ALL, select(cond, 1, 0)) != 0


@func
def any_true(cond: Any) -> Any:
    """Return whether the condition holds in at least one lane."""
    return any_nonzero(ALL, select(cond, 1, 0)) != 0


@func
def all_equal(value: Any) -> Any:
    """Return whether all lanes have the same value."""
    return match_all(ALL, value) != 0


@func
def broadcast_first(value: Any) -> Any:
    """Return the value of the first lane."""
    return broadcast(value, 0)


@func
def _add(a: Any, b: Any) -> Any:
    return a + b


@func
def _mul(a: Any, b: Any) -> Any:
    return a * b


@func
def _min(a: Any, b: Any) -> Any:
    return min(a, b)


@func
def _max(a: Any, b: Any) -> Any:
    return max(a, b)


@func
def _and(a: Any, b: Any) -> Any:
    return a & b


@func
def _or(a: Any, b: Any) -> Any:
    return a | b


@func
def _xor(a: Any, b: Any) -> Any:
    return a ^ b


_COMBINE: dict[str, Func] = {"add": _add, "mul": _mul, "min": _min, "max": _max, "and": _and, "or": _or, "xor": _xor}


def _reduce(kind: str) -> Func:
    combine = _COMBINE[kind]

    @func
    def reduce(value: Any) -> Any:
        total = value
        for step in static((16, 8, 4, 2, 1)):
            total = combine(total, shuffle_xor(total, step))
        return total

    return reduce


def _inclusive(kind: str) -> Func:
    combine = _COMBINE[kind]

    @func
    def scan(value: Any) -> Any:
        total, lane = value, invocation_id()
        for step in static((1, 2, 4, 8, 16)):
            before = shuffle_up(total, step)
            if lane >= step:
                total = combine(before, total)
        return total

    return scan


def _exclusive(kind: str) -> Func:
    scan = _inclusive(kind)

    @func
    def shifted(value: Any) -> Any:
        before = shuffle_up(scan(value), 1)
        return select(invocation_id() == 0, _identity(value, static(kind)), before)

    return shifted


reduce_add, reduce_mul = _reduce("add"), _reduce("mul")
reduce_min, reduce_max = _reduce("min"), _reduce("max")
reduce_and, reduce_or, reduce_xor = _reduce("and"), _reduce("or"), _reduce("xor")
inclusive_add, inclusive_mul = _inclusive("add"), _inclusive("mul")
inclusive_min, inclusive_max = _inclusive("min"), _inclusive("max")
inclusive_and, inclusive_or, inclusive_xor = _inclusive("and"), _inclusive("or"), _inclusive("xor")
exclusive_add, exclusive_mul = _exclusive("add"), _exclusive("mul")
exclusive_min, exclusive_max = _exclusive("min"), _exclusive("max")
exclusive_and, exclusive_or, exclusive_xor = _exclusive("and"), _exclusive("or"), _exclusive("xor")
