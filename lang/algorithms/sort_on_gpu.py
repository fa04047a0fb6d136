"""Radix sort on a GPU, by one digit of 8 bits after the other, from the last to the first. Each step keeps the order of
equal digits. For each digit

    count     every block counts the digits of its part of the keys
    place     the counts give the place of the keys of each block and digit
    move      a block handles 4096 keys at a time. The lanes of a warp find lanes with the same digit, which gives the
              rank of each key in its warp; then warps are added up. The keys are reordered in shared memory, so that
              writes to global memory are coalesced

Up to 4096 keys are sorted by one block in shared memory. Values move with the keys. N. Satish, M. Harris, M. Garland,
"Designing efficient sorting algorithms for manycore GPUs", 2009; D. Merrill and A. Grimshaw, "High performance and
scalable radix sorting", 2011.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from weft.ir.types import Prim
from weft.lang.algorithms.sort_order import DIGIT, DIGITS, digits_of, order
from weft.lang.data.make_ndarray import ndarray
from weft.lang.functions.func import func
from weft.lang.kernels.kernel import kernel
from weft.lang.library.mathlib import popcnt
from weft.lang.program.init import Program, program
from weft.lang.simt.block import SharedArray, sync
from weft.lang.simt.subgroup import inclusive_add
from weft.lang.simt.warp import ballot
from weft.lang.simt.warp import sync as sync_warp
from weft.lang.values.builtins import cast, loop_config, select, static
from weft.lang.values.kinds import Constant, Numbers, i32
from weft.lang.values.matrix import Vector

__all__ = ["sort_on_gpu"]

_WARP, _ALL = 32, 2**32 - 1
_LANES, _EACH = DIGITS, 16  # threads of a block: one for each digit; keys of a thread
_WARPS, _TILE = _LANES // _WARP, _LANES * _EACH
_BLOCKS = 2048  # at most


def sort_on_gpu(keys: Any, values: Any, length: int, dtype: Prim, carried: Prim | None) -> None:
    """Sort in place. `dtype` is the type of `keys`. `carried` is the type of `values`, or None without values."""
    passes = digits_of(dtype)
    values = keys if carried is None else values
    if length <= _TILE:
        _sort_few(keys, values, length, passes, dtype, carried)
        return
    tiles = -(-length // _TILE)
    tiles_each = -(-tiles // _BLOCKS)
    blocks = -(-tiles // tiles_each)
    others, spare, table, totals = _room(length, blocks, dtype, carried)
    for digit in range(passes):
        numbers = length, blocks, tiles_each, digit * DIGIT
        _sort_by_digit(keys, others, values, spare, table, totals, *numbers, dtype, carried)
        keys, others, values, spare = others, keys, spare, values
    if passes % 2:
        _copy(keys, others, values, spare, length, carried)


_kept: WeakKeyDictionary[Program, tuple[Any, tuple[Any, ...]]] = WeakKeyDictionary()


def _room(length: int, blocks: int, dtype: Prim, carried: Prim | None) -> tuple[Any, ...]:
    """Return memory for keys, values, the counts of the blocks and all counts. The memory of the last similar call is
    reused: for few keys, allocation would take longer than the sort."""
    key, current = (length, dtype, carried), program()
    last, arrays = _kept.get(current, (None, ()))
    if last != key:
        _kept.pop(current, None)
        others = ndarray(dtype, length)
        spare = others if carried is None else ndarray(carried, length)
        arrays = others, spare, ndarray(i32, DIGITS * blocks), ndarray(i32, DIGITS)
        _kept[current] = key, arrays
    return arrays


@func
def _digit(key: Any, shift: i32, dtype: Constant) -> Any:
    return cast((order(key, dtype) >> shift) & (DIGITS - 1), i32)


@func
def _read(x: Numbers, at: i32, left: i32, step: Constant, dtype: Constant) -> Any:
    """Return elements `at`, `at + step` and so on, loaded at once if all exist; 0 for elements that are not among the
    `left` ones from `at` on."""
    found = Vector([cast(0, dtype) for _ in range(_EACH)])
    if (_EACH - 1) * step < left:
        for k in static(range(_EACH)):
            found[k] = x[at + k * step]
    else:
        for k in static(range(_EACH)):
            if k * step < left:
                found[k] = x[at + k * step]
    return found


@func
def _digits(keys: Any, left: i32, shift: i32, dtype: Constant) -> Any:
    """Return the digits of a thread's keys. A missing key has the last digit, so it stays behind the keys."""
    digits = Vector([cast(DIGITS - 1, i32) for _ in range(_EACH)])
    for k in static(range(_EACH)):
        if k * _WARP < left:
            digits[k] = _digit(keys[k], shift, dtype)
    return digits


@func
def _sum_before(value: i32, sums: Any, t: i32) -> Any:
    """Return the sum of the numbers of all previous threads of the block. `sums` has a number for each warp."""
    upto = inclusive_add(value)
    if t % _WARP == _WARP - 1:
        sums[t // _WARP] = upto
    sync()
    before = upto - value
    for w in static(range(_WARPS)):
        if w < t // _WARP:
            before += sums[w]
    sync()
    return before


@func
def _alike(digit: i32) -> Any:
    """Return a mask of the lanes of the warp that have the same digit. It uses a vote for each bit, which is faster
    than `match_any`: on an H200, the whole sort takes two thirds of the time."""
    lanes = cast(-1, i32)
    for k in static(range(DIGIT)):
        bit = digit & static(1 << k)
        lanes &= ballot(bit) ^ select(bit == 0, cast(-1, i32), cast(0, i32))
    return lanes


@func
def _ranks(digits: Any, counters: Any, t: i32) -> Any:
    """Return, for each key, how many earlier keys of the warp have the same digit. The counters of the warp, 0 at
    first, then contain the number of keys with each digit."""
    own = cast(1, i32) << (t % _WARP)
    ranks = Vector([cast(0, i32) for _ in range(_EACH)])
    for k in static(range(_EACH)):
        alike, at = _alike(digits[k]), t // _WARP * DIGITS + digits[k]
        ranks[k] = counters[at] + popcnt(alike & (own - 1))
        sync_warp(_ALL)
        if alike & -own == own:  # the last lane with this digit
            counters[at] = ranks[k] + 1
        sync_warp(_ALL)
    return ranks


@func
def _places(digits: Any, counters: Any, sums: Any, t: i32) -> Any:
    """Return the place in the tile of each key, where the keys with digit `t` begin, and how many there are."""
    for w in static(range(_WARPS)):
        counters[w * DIGITS + t] = 0
    sync()
    places = _ranks(digits, counters, t)
    sync()
    count = cast(0, i32)
    for w in static(range(_WARPS)):
        own = counters[w * DIGITS + t]
        counters[w * DIGITS + t] = count
        count += own
    first = _sum_before(count, sums, t)
    for w in static(range(_WARPS)):
        counters[w * DIGITS + t] = counters[w * DIGITS + t] + first
    sync()
    for k in static(range(_EACH)):
        places[k] += counters[t // _WARP * DIGITS + digits[k]]
    return places, first, count


@func
def _count(
    x: Numbers, table: Numbers, length: i32, blocks: i32, tiles_each: i32, shift: i32, i: i32, dtype: Constant
) -> None:
    """Count how often each digit occurs among the keys of a block."""
    counters = SharedArray(DIGITS, i32)
    block, t = i // _LANES, i % _LANES
    counters[t] = 0
    sync()
    for tile in range(block * tiles_each, (block + 1) * tiles_each):
        left = length - tile * _TILE - t
        keys = _read(x, tile * _TILE + t, left, _LANES, dtype)
        for k in static(range(_EACH)):
            if k * _LANES < left:
                counters[_digit(keys[k], shift, dtype)] += 1
    sync()
    table[t * blocks + block] = counters[t]
    sync()


@func
def _add_up(table: Numbers, totals: Numbers, blocks: i32, i: i32) -> None:
    """Compute how often a digit occurs in the blocks before each block, and in all blocks."""
    sums = SharedArray(_WARPS, i32)
    digit, t = i // _LANES, i % _LANES
    total = cast(0, i32)
    for part in range((blocks + _LANES - 1) // _LANES):
        block = part * _LANES + t
        count = cast(0, i32)
        if block < blocks:
            count = table[digit * blocks + block]
        before = total + _sum_before(count, sums, t)
        if block < blocks:
            table[digit * blocks + block] = before
        if t == _LANES - 1:
            sums[0] = before + count
        sync()
        total = sums[0]
        sync()
    if t == 0:
        totals[digit] = total


@kernel
def _sort_by_digit(
    x: Numbers,
    y: Numbers,
    p: Numbers,
    q: Numbers,
    table: Numbers,
    totals: Numbers,
    length: i32,
    blocks: i32,
    tiles_each: i32,
    shift: i32,
    dtype: Constant,
    carried: Constant,
) -> None:
    """Sort keys `x` with values `p` into `y` and `q` by a digit. A block handles `tiles_each` tiles."""
    loop_config(block_dim=_LANES)
    for i in range(blocks * _LANES):
        _count(x, table, length, blocks, tiles_each, shift, i, dtype)
    loop_config(block_dim=_LANES)
    for i in range(DIGITS * _LANES):
        _add_up(table, totals, blocks, i)
    loop_config(block_dim=_LANES)
    for i in range(blocks * _LANES):
        counters, sums = SharedArray(_WARPS * DIGITS, i32), SharedArray(_WARPS, i32)
        moves, tile_of = SharedArray(DIGITS, i32), SharedArray(_TILE, dtype)
        block, t = i // _LANES, i % _LANES
        begin = _sum_before(totals[t], sums, t) + table[t * blocks + block]
        for tile in range(block * tiles_each, (block + 1) * tiles_each):
            left = length - tile * _TILE
            if left > 0:
                own = t // _WARP * (_WARP * _EACH) + t % _WARP
                keys = _read(x, tile * _TILE + own, left - own, _WARP, dtype)
                digits = _digits(keys, left - own, shift, dtype)
                places, first, count = _places(digits, counters, sums, t)
                moves[t] = begin - first
                begin += count
                for k in static(range(_EACH)):
                    tile_of[places[k]] = keys[k]
                sync()
                for k in static(range(_EACH)):
                    keys[k] = tile_of[t + k * _LANES]
                    digits[k] = moves[_digit(keys[k], shift, dtype)] + t
                    if k * _LANES < left - t:
                        y[digits[k] + k * _LANES] = keys[k]
                if static(carried is not None):
                    load_of = SharedArray(_TILE, carried)
                    values = _read(p, tile * _TILE + own, left - own, _WARP, carried)
                    for k in static(range(_EACH)):
                        load_of[places[k]] = values[k]
                    sync()
                    for k in static(range(_EACH)):
                        if k * _LANES < left - t:
                            q[digits[k] + k * _LANES] = load_of[t + k * _LANES]
                sync()


@kernel
def _sort_few(x: Numbers, p: Numbers, length: i32, passes: i32, dtype: Constant, carried: Constant) -> None:
    """Sort up to one tile of keys, in place."""
    loop_config(block_dim=_LANES)
    for t in range(_LANES):
        counters, sums = SharedArray(_WARPS * DIGITS, i32), SharedArray(_WARPS, i32)
        tile_of, at = SharedArray(_TILE, dtype), t // _WARP * (_WARP * _EACH) + t % _WARP
        load_of = SharedArray(static(1 if carried is None else _TILE), static(carried or dtype))
        keys = _read(x, at, length - at, _WARP, dtype)
        values = _read(p, at, length - at, _WARP, static(carried or dtype))
        for n in range(passes):
            digits = _digits(keys, length - at, n * DIGIT, dtype)
            places, _, _ = _places(digits, counters, sums, t)
            for k in static(range(_EACH)):
                tile_of[places[k]] = keys[k]
                if static(carried is not None):
                    load_of[places[k]] = values[k]
            sync()
            for k in static(range(_EACH)):
                keys[k] = tile_of[at + k * _WARP]
                if static(carried is not None):
                    values[k] = load_of[at + k * _WARP]
            sync()
        for k in static(range(_EACH)):
            if at + k * _WARP < length:
                x[at + k * _WARP] = keys[k]
                if static(carried is not None):
                    p[at + k * _WARP] = values[k]


@kernel
def _copy(x: Numbers, y: Numbers, p: Numbers, q: Numbers, length: i32, carried: Constant) -> None:
    for i in range(length):
        y[i] = x[i]
        if static(carried is not None):
            q[i] = p[i]
