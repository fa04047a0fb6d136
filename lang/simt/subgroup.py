"""`ti.simt.subgroup`: operations of a warp, under the names of Vulkan. All 32 lanes must reach a call together.

Reductions use a butterfly of 5 steps. Scans use the 5 steps of Hillis and Steele ("Data parallel algorithms", 1986).
Values are numbers of 32 or 64 bits. Every lane gets the result.
"""

from __future__ import annotations

from typing import Any

from weft.lang.functions.func import Func, func
from weft.lang.simt.block import mem_sync
from weft.lang.simt.intrinsic import in_lanes, intrinsic
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

invocation_id = intrinsic(
    "subgroup.invocation_id",
    "",
    "The index of this lane, 0 to 31." + in_lanes("ti.simt.subgroup.invocation_id()", "[0, 1, 2, 3]"),
)
shuffle = intrinsic(
    "subgroup.shuffle",
    "value index",
    "Returns `value` of lane `index`." + in_lanes("ti.simt.subgroup.shuffle(10 * i, 3 - i % 4)", "[30, 20, 10, 0]"),
)
shuffle_up = intrinsic(
    "subgroup.shuffle_up",
    "value offset",
    "Returns `value` of the lane `offset` lanes before this one, or its own `value` if there is none."
    + in_lanes("ti.simt.subgroup.shuffle_up(10 * i, 1)", "[0, 0, 10, 20]"),
)
shuffle_down = intrinsic(
    "subgroup.shuffle_down",
    "value offset",
    "Returns `value` of the lane `offset` lanes after this one, or its own `value` if there is none."
    + in_lanes("ti.simt.subgroup.shuffle_down(10 * i, 2)", "[20, 30, 40, 50]"),
)
shuffle_xor = intrinsic(
    "subgroup.shuffle_xor",
    "value mask",
    "Returns `value` of the lane with the index of this lane XOR `mask`."
    + in_lanes("ti.simt.subgroup.shuffle_xor(10 * i, 1)", "[10, 0, 30, 20]"),
)
broadcast = intrinsic(
    "subgroup.broadcast",
    "value index",
    "Returns `value` of lane `index`." + in_lanes("ti.simt.subgroup.broadcast(10 * i, 5)", "[50, 50, 50, 50]"),
)
memory_barrier = mem_sync
_identity = intrinsic(
    "subgroup.identity", "value kind", "Returns the identity of the operation for the type of `value`."
)


@func
def group_size() -> Any:
    """Return the number of lanes.

    Example:
        out = ti.field(ti.i32, 32)

        @ti.kernel
        def run():
            ti.loop_config(block_dim=32)
            for i in range(32):
                out[i] = ti.simt.subgroup.group_size()

        run()
        out.to_numpy()[:4].tolist()  # [32, 32, 32, 32]
    """
    return static(LANES)


@func
def barrier() -> None:
    """Wait until all lanes reach the call. Each lane then sees what the others have written.

    Example:
        x, out = ti.field(ti.i32, 32), ti.field(ti.i32, 32)

        @ti.kernel
        def run():
            ti.loop_config(block_dim=32)
            for i in range(32):
                x[i] = 10 * i
                ti.simt.subgroup.barrier()
                out[i] = x[31 - i]

        run()
        out[0]  # 310
    """
    sync(ALL)


@func
def elect() -> Any:
    """Return whether this is the first lane.

    Example:
        out = ti.field(ti.i32, 32)

        @ti.kernel
        def run():
            ti.loop_config(block_dim=32)
            for i in range(32):
                out[i] = ti.simt.subgroup.elect()

        run()
        out.to_numpy()[:4].tolist()  # [1, 0, 0, 0]
    """
    return invocation_id() == 0


@func
def all_true(cond: Any) -> Any:
    """Return whether the condition holds in all lanes.

    Example:
        out = ti.field(ti.i32, 32)

        @ti.kernel
        def run():
            ti.loop_config(block_dim=32)
            for i in range(32):
                out[i] = ti.simt.subgroup.all_true(i < 31)

        run()
        out.to_numpy()[:4].tolist()  # [0, 0, 0, 0]
    """
    return all_nonzero(ALL, select(cond, 1, 0)) != 0


@func
def any_true(cond: Any) -> Any:
    """Return whether the condition holds in at least one lane.

    Example:
        out = ti.field(ti.i32, 32)

        @ti.kernel
        def run():
            ti.loop_config(block_dim=32)
            for i in range(32):
                out[i] = ti.simt.subgroup.any_true(i == 9)

        run()
        out.to_numpy()[:4].tolist()  # [1, 1, 1, 1]
    """
    return any_nonzero(ALL, select(cond, 1, 0)) != 0


@func
def all_equal(value: Any) -> Any:
    """Return whether all lanes have the same value.

    Example:
        out = ti.field(ti.i32, 32)

        @ti.kernel
        def run():
            ti.loop_config(block_dim=32)
            for i in range(32):
                out[i] = ti.simt.subgroup.all_equal(i // 32)

        run()
        out.to_numpy()[:4].tolist()  # [1, 1, 1, 1]
    """
    return match_all(ALL, value) != 0


@func
def broadcast_first(value: Any) -> Any:
    """Return the value of the first lane.

    Example:
        out = ti.field(ti.i32, 32)

        @ti.kernel
        def run():
            ti.loop_config(block_dim=32)
            for i in range(32):
                out[i] = ti.simt.subgroup.broadcast_first(10 * i + 7)

        run()
        out.to_numpy()[:4].tolist()  # [7, 7, 7, 7]
    """
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


# What each combines: a name, the value of an example in lane i, and the first four results of its reduction, inclusive
# and exclusive scan.
_SHOWN: dict[str, tuple[str, str, str, str, str]] = {
    "add": ("sum", "i", "[496, 496, 496, 496]", "[0, 1, 3, 6]", "[0, 0, 1, 3]"),
    "mul": ("product", "1 + i % 2", "[65536, 65536, 65536, 65536]", "[1, 2, 2, 4]", "[1, 1, 2, 2]"),
    "min": ("minimum", "(7 * i + 5) % 32", "[0, 0, 0, 0]", "[5, 5, 5, 5]", "[2147483647, 5, 5, 5]"),
    "max": ("maximum", "(7 * i + 5) % 32", "[31, 31, 31, 31]", "[5, 12, 19, 26]", "[-2147483648, 5, 12, 19]"),
    "and": ("bits in common", "15 - i % 4", "[12, 12, 12, 12]", "[15, 14, 12, 12]", "[-1, 15, 14, 12]"),
    "or": ("bits in one at least", "i % 4", "[3, 3, 3, 3]", "[0, 1, 3, 3]", "[0, 0, 1, 3]"),
    "xor": ("exclusive or", "i", "[0, 0, 0, 0]", "[0, 1, 3, 0]", "[0, 0, 1, 3]"),
}


def _documented(function: Func, what: str, kind: str, text: str, results: str) -> Func:
    function.__name__ = f"{what}_{kind}"
    function.__doc__ = text + in_lanes(f"ti.simt.subgroup.{what}_{kind}({_SHOWN[kind][1]})", results)
    return function


def _reduce(kind: str) -> Func:
    combine = _COMBINE[kind]

    @func
    def reduce(value: Any) -> Any:
        total = value
        for step in static((16, 8, 4, 2, 1)):
            total = combine(total, shuffle_xor(total, step))
        return total

    text = (
        f"Return the {_SHOWN[kind][0]} of the values of all lanes, in each lane. `value` is a number of 32 or 64 bits."
    )
    return _documented(reduce, "reduce", kind, text, _SHOWN[kind][2])


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

    text = f"Return the {_SHOWN[kind][0]} of the values of the lanes up to this one, itself included."
    return _documented(scan, "inclusive", kind, text, _SHOWN[kind][3])


def _exclusive(kind: str) -> Func:
    scan = _inclusive(kind)

    @func
    def shifted(value: Any) -> Any:
        before = shuffle_up(scan(value), 1)
        return select(invocation_id() == 0, _identity(value, static(kind)), before)

    text = f"Return the {_SHOWN[kind][0]} of the values of the lanes before this one. It is neutral in the first lane."
    return _documented(shifted, "exclusive", kind, text, _SHOWN[kind][4])


reduce_add, reduce_mul = _reduce("add"), _reduce("mul")
reduce_min, reduce_max = _reduce("min"), _reduce("max")
reduce_and, reduce_or, reduce_xor = _reduce("and"), _reduce("or"), _reduce("xor")
inclusive_add, inclusive_mul = _inclusive("add"), _inclusive("mul")
inclusive_min, inclusive_max = _inclusive("min"), _inclusive("max")
inclusive_and, inclusive_or, inclusive_xor = _inclusive("and"), _inclusive("or"), _inclusive("xor")
exclusive_add, exclusive_mul = _exclusive("add"), _exclusive("mul")
exclusive_min, exclusive_max = _exclusive("min"), _exclusive("max")
exclusive_and, exclusive_or, exclusive_xor = _exclusive("and"), _exclusive("or"), _exclusive("xor")
