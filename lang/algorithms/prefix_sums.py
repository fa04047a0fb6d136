"""Prefix sums of lines of numbers, in place: first the sum of each piece, then the prefix sums of these, then those of
the pieces, each of which begins with the sum of what lies before it.

How a line is cut depends on its length alone, so equal lines give equal bits, on any number of threads. Sums are of 32
bits where the elements have fewer.

On a CPU an iteration takes four pieces at once, since each addition waits for the one before it; and so many pieces are
added up before their prefix sums are made that these find them in the cache. On a GPU a block of
threads takes a piece, where a warp has 16 rows of 32 neighbours: what lies before an element in its row is found in 5
steps by shuffles, then rows, warps and pieces are added up. The last pieces come first: they were read last, and are
still in the cache. G. E. Blelloch, "Prefix Sums and Their Applications", 1990; W. D. Hillis and G. L. Steele, "Data
parallel algorithms", 1986.
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
_BESIDE = 4  # pieces that one iteration takes on a CPU
_CACHED = 256  # pieces that the cache of a CPU holds
_WARP, _LANES, _EACH = 32, 256, 16  # lanes of a warp, threads of a block, elements of a thread
_WARPS = _LANES // _WARP
_FEW = 4 * PIECE  # what one block does alone


def sum_type(dtype: Prim) -> Prim:
    """The type in which such numbers are added up."""
    if dtype.size >= 4:
        return dtype
    return f32 if dtype.is_float else types.u32 if dtype.text[0] == "u" else types.i32


def prefix_sums(x: Any, length: int, dtype: Prim, totals: Any) -> None:
    """`x[i]` becomes the sum of `x[0] .. x[i]` for all `i` below `length`. `dtype`: what the array holds; `totals`:
    what `room` made for so many."""
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
    """An array for the sums of the pieces, and of all of them."""
    return ndarray(sum_type(dtype), 1 - (-length // PIECE))


# ---- on a CPU --------------------------------------------------------------------------------------------------------


@kernel
def _scan_on_cpu(
    x: Numbers, totals: Numbers, first: i32, end: i32, pieces: i32, length: i64, of: Constant, dtype: Constant
) -> None:
    """Pieces `first` .. `end`, of which `first` is a multiple of `_BESIDE`; `totals[pieces]` is what lies before."""
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
    """Elements `at`, `at + step` ...: all at once where there are all of them; 0 where there is none."""
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
    """Prefix sums of a piece, on `before`; gives its sum. `sums`: a number for each warp."""
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
    """Prefix sums by one block, one piece after the other."""
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
