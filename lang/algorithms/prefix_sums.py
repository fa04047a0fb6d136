"""Prefix sums of arrays, in place. There are three steps: the sum of each piece of the array, the prefix sums of these
sums, and the prefix sums within the pieces, each of which starts with the sum of everything before it.

How an array is cut depends on its length only, so equal arrays give equal bits on any number of threads. Sums have 32
bits if the elements have fewer.

On a CPU, an iteration sums four pieces at once, because each addition must wait for the previous one. The third step
follows for a limited number of pieces at a time, so that they are still in the cache. On a GPU, a block of threads
handles a piece, of which a warp has 16 rows of 32 neighbours. Shuffles compute the prefix sums of a row in 5 steps.
Then rows, warps and pieces are added up. The last pieces are handled first, because they were read last and are still
in the cache. G. E. Blelloch, "Prefix Sums and Their Applications", 1990; W. D. Hillis and G. L. Steele, "Data parallel
algorithms", 1986.
"""

from __future__ import annotations

from typing import Any

from weft.ir import types
from weft.ir.types import Prim, f32
from weft.lang.data.make_ndarray import ndarray
from weft.lang.functions.func import func
from weft.lang.kernels.kernel import kernel
from weft.lang.program.init import program
from weft.lang.simt.block import SharedArray, sync
from weft.lang.simt.subgroup import broadcast, inclusive_add, reduce_add
from weft.lang.values.builtins import cast, loop_config, static
from weft.lang.values.kinds import Constant, Numbers, i32, i64
from weft.lang.values.matrix import Vector

__all__ = ["PIECE", "prefix_sums", "sum_type"]

PIECE = 4096  # elements
_BESIDE = 4  # pieces that one iteration handles on a CPU
_CACHED = 256  # pieces that fit the cache of a CPU
_WARP, _LANES, _EACH = 32, 256, 16  # lanes of a warp, threads of a block, elements of a thread
_WARPS = _LANES // _WARP
_FEW = 4 * PIECE  # elements that one block handles alone


def sum_type(dtype: Prim) -> Prim:
    """Return the type in which such numbers are added."""
    if dtype.size >= 4:
        return dtype
    return f32 if dtype.is_float else types.u32 if dtype.text[0] == "u" else types.i32


def prefix_sums(x: Any, length: int, dtype: Prim, totals: Any) -> None:
    """Replace `x[i]` by the sum of `x[0] .. x[i]` for all `i` below `length`. `dtype` is the element type. `totals` is
    the array that `room` made for this length."""
    of, pieces = sum_type(dtype), -(-length // PIECE)
    if not program().backend.blocks:
        totals[pieces] = 0
        for first in range(0, pieces, _CACHED):
            _scan_on_cpu(x, totals, first, min(pieces, first + _CACHED), pieces, length, of, dtype)
    elif length <= _FEW:
        _scan_few(x, length, of, dtype)
    else:
        _scan_many(x, totals, length, pieces, of, dtype)


def room(length: int, dtype: Prim) -> Any:
    """Return an array for the sums of the pieces, and the total."""
    return ndarray(sum_type(dtype), 1 - (-length // PIECE))


# ---- on a CPU --------------------------------------------------------------------------------------------------------


@kernel
def _scan_on_cpu(
    x: Numbers, totals: Numbers, first: i32, end: i32, pieces: i32, length: i64, of: Constant, dtype: Constant
) -> None:
    """Scan pieces `first` .. `end`. `first` is a multiple of `_BESIDE`. `totals[pieces]` is the sum of everything
    before."""
    for piece in range(first, end):
        total = cast(0, of)
        for i in range(cast(piece, i64) * PIECE, min(length, (cast(piece, i64) + 1) * PIECE)):
            total += cast(x[i], of)
        totals[piece] = total
    for _ in range(1):
        before = totals[pieces]
        for piece in range(first, end):
            total = totals[piece]
            totals[piece] = before
            before += total
        totals[pieces] = before
    for group in range(first // _BESIDE, (end + _BESIDE - 1) // _BESIDE):
        begin = cast(group, i64) * _BESIDE
        whole = min(length // PIECE - begin, _BESIDE)
        if whole == _BESIDE:
            sums = Vector([totals[begin + k] for k in range(_BESIDE)])
            for i in range(begin * PIECE, (begin + 1) * PIECE):
                for k in static(range(_BESIDE)):
                    sums[k] += cast(x[i + k * PIECE], of)
                    x[i + k * PIECE] = cast(sums[k], dtype)
        else:
            total = totals[begin]
            for i in range(begin * PIECE, length):
                total += cast(x[i], of)
                x[i] = cast(total, dtype)


# ---- on a GPU --------------------------------------------------------------------------------------------------------


@func
def _read(x: Numbers, at: i64, length: i64, step: Constant, of: Constant) -> Any:
    """Return elements `at`, `at + step` and so on, loaded at once if all exist; 0 for elements that do not exist."""
    found = Vector([cast(0, of) for _ in range(_EACH)])
    if at + (_EACH - 1) * step < length:
        for k in static(range(_EACH)):
            found[k] = cast(x[at + k * step], of)
    else:
        for k in static(range(_EACH)):
            if at + k * step < length:
                found[k] = cast(x[at + k * step], of)
    return found


@func
def _scan_piece(
    x: Numbers, begin: i64, length: i64, before: Any, sums: Any, t: i32, of: Constant, dtype: Constant
) -> Any:
    """Replace a piece by its prefix sums, starting at `before`, and return its sum. `sums` has a number for each
    warp."""
    lane, warp = t % _WARP, t // _WARP
    at = begin + warp * (_WARP * _EACH) + lane
    found = _read(x, at, length, _WARP, of)
    for k in static(range(_EACH)):
        found[k] = inclusive_add(found[k])
    for k in static(range(1, _EACH)):
        found[k] += broadcast(found[k - 1], _WARP - 1)
    if lane == _WARP - 1:
        sums[warp] = found[_EACH - 1]
    sync()
    total, own = cast(0, of), before
    for w in static(range(_WARPS)):
        if w < warp:
            own += sums[w]
        total += sums[w]
    for k in static(range(_EACH)):
        if at + k * _WARP < length:
            x[at + k * _WARP] = cast(found[k] + own, dtype)
    sync()
    return total


@func
def _scan_alone(x: Numbers, length: i64, t: i32, of: Constant, dtype: Constant) -> None:
    """Compute prefix sums with one block, piece by piece."""
    sums = SharedArray(_WARPS, of)
    before = cast(0, of)
    for piece in range((length + PIECE - 1) // PIECE):
        before += _scan_piece(x, cast(piece, i64) * PIECE, length, before, sums, t, of, dtype)


@kernel
def _scan_few(x: Numbers, length: i64, of: Constant, dtype: Constant) -> None:
    loop_config(block_dim=_LANES)
    for t in range(_LANES):
        _scan_alone(x, length, t, of, dtype)


@kernel
def _scan_many(x: Numbers, totals: Numbers, length: i64, pieces: i32, of: Constant, dtype: Constant) -> None:
    loop_config(block_dim=_LANES)
    for t in range(pieces * _LANES):
        sums = SharedArray(_WARPS, of)
        lane = t % _LANES
        found = _read(x, cast(t // _LANES, i64) * PIECE + lane, length, _LANES, of)
        total = cast(0, of)
        for k in static(range(_EACH)):
            total += found[k]
        total = reduce_add(total)
        if lane % _WARP == 0:
            sums[lane // _WARP] = total
        sync()
        if lane == 0:
            for w in static(range(1, _WARPS)):
                total += sums[w]
            totals[t // _LANES] = total
        sync()
    loop_config(block_dim=_LANES)
    for t in range(_LANES):
        _scan_alone(totals, cast(pieces, i64), t, of, of)
    loop_config(block_dim=_LANES)
    for t in range(pieces * _LANES):
        sums = SharedArray(_WARPS, of)
        piece = pieces - 1 - t // _LANES
        before = cast(0, of)
        if piece > 0:
            before = totals[piece - 1]
        _scan_piece(x, cast(piece, i64) * PIECE, length, before, sums, t % _LANES, of, dtype)
