"""Prefix sums on a GPU, tile by tile, in the memory of a block of threads.

    sum_tiles     the total of each tile of 2048 elements
                  (the prefix sums of these totals, in the same way)
    scan_tiles    a thread adds up 8 neighbours; the threads of a block find out what those before them have, in 8
                  steps of twice the distance each; a tile begins with the totals before it

An element is read twice and written once, always side by side. G. E. Blelloch, "Prefix Sums and Their Applications",
1990; W. D. Hillis and G. L. Steele, "Data parallel algorithms", 1986.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.lang.builtins import cast, loop_config, static
from weft.lang.kernel import func, kernel
from weft.lang.simt.block import SharedArray, sync

if TYPE_CHECKING:
    from typing import TypeAlias

    # What the parameters of kernels are to a checker.
    FieldOf: TypeAlias = Any
    ArrayOf: TypeAlias = Any
    i32: TypeAlias = int
else:
    from weft.lang.types import NdarrayType, Template, i32

    FieldOf, ArrayOf = Template(), NdarrayType(ndim=1)

__all__ = ["TILE", "scan_array", "scan_field", "sum_array", "sum_field"]

_LANES, _EACH = 256, 8  # threads of a block; elements of a thread
TILE = _LANES * _EACH
_STEPS = tuple(1 << k for k in range(_LANES.bit_length() - 1))


@func
def _spread(at: i32) -> i32:
    """Where an element of the tile lies, so that neighbouring threads use other banks of the memory."""
    return at + at // 32


@func
def _sum_tile(x: FieldOf, first: i32, totals: ArrayOf, length: i32, t: i32, dtype: FieldOf) -> None:
    sums = SharedArray(_LANES, dtype)
    lane, begin, total = t % _LANES, t // _LANES * TILE, cast(0, dtype)
    for k in range(_EACH):
        at = begin + lane + k * _LANES
        if at < length:
            total += x[first + at]
    sums[lane] = total
    sync()
    for step in static(reversed(_STEPS)):
        if lane < step:
            sums[lane] += sums[lane + step]
        sync()
    if lane == 0:
        totals[t // _LANES] = sums[0]
    sync()


@func
def _scan_tile(x: FieldOf, first: i32, totals: ArrayOf, length: i32, t: i32, dtype: FieldOf) -> None:
    tile, sums = SharedArray(TILE + TILE // 32, dtype), SharedArray(_LANES, dtype)
    lane, begin, total = t % _LANES, t // _LANES * TILE, cast(0, dtype)
    for k in static(range(_EACH)):
        at = lane + k * _LANES
        if begin + at < length:
            tile[_spread(at)] = x[first + begin + at]
    sync()
    for k in static(range(_EACH)):
        at = lane * _EACH + k
        if begin + at < length:
            total += tile[_spread(at)]
            tile[_spread(at)] = total
    sums[lane] = total
    sync()
    for step in static(_STEPS):
        before = cast(0, dtype)
        if lane >= step:
            before = sums[lane - step]
        sync()
        sums[lane] += before
        sync()
    before = cast(0, dtype)
    if lane > 0:
        before = sums[lane - 1]
    if begin > 0:
        before += totals[t // _LANES - 1]
    for k in static(range(_EACH)):
        tile[_spread(lane * _EACH + k)] += before
    sync()
    for k in static(range(_EACH)):
        at = lane + k * _LANES
        if begin + at < length:
            x[first + begin + at] = tile[_spread(at)]
    sync()


@kernel
def sum_field(x: FieldOf, first: i32, totals: ArrayOf, length: i32, dtype: FieldOf) -> None:
    """`totals[k]`: the sum of tile k of `length` elements of `x` from `first` on."""
    loop_config(block_dim=_LANES)
    for t in range((length + TILE - 1) // TILE * _LANES):
        _sum_tile(x, first, totals, length, t, dtype)


@kernel
def sum_array(x: ArrayOf, first: i32, totals: ArrayOf, length: i32, dtype: FieldOf) -> None:
    """The same of an array."""
    loop_config(block_dim=_LANES)
    for t in range((length + TILE - 1) // TILE * _LANES):
        _sum_tile(x, first, totals, length, t, dtype)


@kernel
def scan_field(x: FieldOf, first: i32, totals: ArrayOf, length: i32, dtype: FieldOf) -> None:
    """Prefix sums in place, where `totals` has those of the tiles' sums."""
    loop_config(block_dim=_LANES)
    for t in range((length + TILE - 1) // TILE * _LANES):
        _scan_tile(x, first, totals, length, t, dtype)


@kernel
def scan_array(x: ArrayOf, first: i32, totals: ArrayOf, length: i32, dtype: FieldOf) -> None:
    """The same of an array."""
    loop_config(block_dim=_LANES)
    for t in range((length + TILE - 1) // TILE * _LANES):
        _scan_tile(x, first, totals, length, t, dtype)
