"""Radix sort on a CPU. Keys are first split by the first digit of 8 bits in which they differ. Each part is then sorted
in the cache by its other digits, from the last to the first.

The range of the keys is found first, and leading digits that all keys share are skipped: numbers below a million are
split by 8 of 20 bits and sorted by 12. A split keeps the order of equal digits: the digits of each chunk of the keys
are counted, which gives the place of the keys of each chunk and digit. A part that is still large is split again. (This
happens if a few keys are far from the others, so that most keys have the same first digit.) Parts of a few keys are
sorted by insertion. Values move with the keys. The same code runs in Python (`arch=python`).

D. E. Knuth, "The Art of Computer Programming", volume 3, 5.2.5; P. M. McIlroy, K. Bostic, M. D. McIlroy, "Engineering
radix sort", 1993.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from weft.ir.types import Prim
from weft.lang.algorithms.sort_order import DIGIT, DIGITS, order, word_type
from weft.lang.functions.func import func
from weft.lang.kernels.kernel import kernel
from weft.lang.program.init import program
from weft.lang.values.builtins import atomic_max, atomic_min, cast, static
from weft.lang.values.kinds import Constant, Numbers, i32, u64

__all__ = ["sort_on_cpu"]

_WHOLE = 1 << 16  # keys that are sorted without a split
_LARGE = 1 << 18  # keys of a part that is split again
_FEW = 32  # keys that are sorted by insertion
_CHUNKS = 2  # per thread


class _Room(NamedTuple):
    """The given keys and values, equally large temporary arrays, and the element types."""

    keys: Any
    values: Any
    others: Any
    spare: Any
    dtype: Prim
    carried: Prim | None

    def part(self, begin: int, end: int) -> _Room:
        """Return the keys `begin` .. `end` with their values."""
        keys, values, others, spare = (array[begin:end] for array in self[:4])
        return _Room(keys, values, others, spare, self.dtype, self.carried)


def sort_on_cpu(keys: Any, values: Any, length: int, dtype: Prim, carried: Prim | None) -> None:
    """Sort in place. `dtype` is the type of `keys`. `carried` is the type of `values`, or None without values."""
    others = np.empty(length, dtype.np)
    spare = others if carried is None else np.empty(length, carried.np)
    _sort(_Room(keys[:length], keys[:length] if carried is None else values[:length], others, spare, dtype, carried))


def _sort(room: _Room) -> None:
    keys, values, others, spare, dtype, carried = room
    length, kinds = len(keys), (dtype, carried)
    low, high = _reach(keys, dtype)
    bits = (high - low).bit_length()
    if length <= _WHOLE or bits <= DIGIT:
        begins, tables = np.array([0, length], np.int32), np.empty(DIGITS, np.int32)
        _sort_parts(keys, others, values, spare, begins, tables, 1, low, -(-bits // DIGIT), length, False, *kinds)
        return
    chunks = _CHUNKS * program().device.threads
    begins, table = np.empty(DIGITS + 1, np.int32), np.empty(DIGITS * chunks, np.int32)
    _split(keys, others, values, spare, table, begins, length, chunks, low, bits - DIGIT, *kinds)
    tables, rest = np.empty(DIGITS * DIGITS, np.int32), -(-(bits - DIGIT) // DIGIT)
    _sort_parts(others, keys, spare, values, begins, tables, DIGITS, low, rest, _LARGE, True, *kinds)
    for k in np.flatnonzero(np.diff(begins) > _LARGE):
        _sort(room.part(begins[k], begins[k + 1]))


def _reach(keys: Any, dtype: Prim) -> tuple[int, int]:
    """Return the smallest and the largest word."""
    word = word_type(dtype)
    bounds = np.array([2**word.bits - 1, 0], word.np)
    _find_reach(keys, bounds, len(keys), dtype)
    return int(bounds[0]), int(bounds[1])


@kernel
def _find_reach(x: Numbers, bounds: Numbers, length: i32, dtype: Constant) -> None:
    for i in range(length):
        word = order(x[i], dtype)
        atomic_min(bounds[0], word)
        atomic_max(bounds[1], word)


@func
def _digit(key: Any, low: u64, shift: i32, dtype: Constant) -> Any:
    return cast(((order(key, dtype) - cast(low, static(word_type(dtype)))) >> shift) & (DIGITS - 1), i32)


@kernel
def _split(
    x: Numbers,
    y: Numbers,
    p: Numbers,
    q: Numbers,
    table: Numbers,
    begins: Numbers,
    length: i32,
    chunks: i32,
    low: u64,
    shift: i32,
    dtype: Constant,
    carried: Constant,
) -> None:
    """Split keys `x` with values `p` into `y` and `q`, by the digit from bit `shift` on. Returns where each digit
    begins there."""
    size = (length + chunks - 1) // chunks
    for chunk in range(chunks):
        for d in range(DIGITS):
            table[chunk * DIGITS + d] = 0
        for i in range(chunk * size, min(length, (chunk + 1) * size)):
            at = chunk * DIGITS + _digit(x[i], low, shift, dtype)
            table[at] = table[at] + 1
    for _ in range(1):
        total = cast(0, i32)
        for d in range(DIGITS):
            begins[d] = total
            for chunk in range(chunks):
                count = table[chunk * DIGITS + d]
                table[chunk * DIGITS + d] = total
                total += count
        begins[DIGITS] = total
    for chunk in range(chunks):
        for i in range(chunk * size, min(length, (chunk + 1) * size)):
            key = x[i]
            at = chunk * DIGITS + _digit(key, low, shift, dtype)
            to = table[at]
            table[at] = to + 1
            y[to] = key
            if static(carried is not None):
                q[to] = p[i]


@func
def _insert(x: Numbers, p: Numbers, begin: i32, end: i32, dtype: Constant, carried: Constant) -> None:
    for i in range(begin + 1, end):
        key, value, at = x[i], p[i], i
        word = order(key, dtype)
        while at > begin and order(x[at - 1], dtype) > word:
            x[at] = x[at - 1]
            if static(carried is not None):
                p[at] = p[at - 1]
            at -= 1
        x[at] = key
        if static(carried is not None):
            p[at] = value


@func
def _by_digit(
    x: Numbers,
    y: Numbers,
    p: Numbers,
    q: Numbers,
    table: Numbers,
    first: i32,
    begin: i32,
    end: i32,
    low: u64,
    shift: i32,
    dtype: Constant,
    carried: Constant,
) -> None:
    """Sort elements `begin` .. `end` of `x` and `p` into `y` and `q` by a digit, on one thread."""
    for d in range(DIGITS):
        table[first + d] = 0
    for i in range(begin, end):
        at = first + _digit(x[i], low, shift, dtype)
        table[at] = table[at] + 1
    to = begin
    for d in range(DIGITS):
        count = table[first + d]
        table[first + d] = to
        to += count
    for i in range(begin, end):
        key = x[i]
        at = first + _digit(key, low, shift, dtype)
        place = table[at]
        table[at] = place + 1
        y[place] = key
        if static(carried is not None):
            q[place] = p[i]


@kernel
def _sort_parts(
    x: Numbers,
    y: Numbers,
    p: Numbers,
    q: Numbers,
    begins: Numbers,
    tables: Numbers,
    parts: i32,
    low: u64,
    passes: i32,
    large: i32,
    move: Constant,
    dtype: Constant,
    carried: Constant,
) -> None:
    """Sort each part of `x` and `p` by its last digits. The result is in `y` and `q` if `move` is set, else in `x` and
    `p`. Parts of more than `large` keys are not sorted."""
    for part in range(parts):
        begin, end = begins[part], begins[part + 1]
        turn, moved = 0, 0
        if end - begin <= _FEW:
            _insert(x, p, begin, end, dtype, carried)
        elif end - begin <= large:
            while turn < passes:
                if turn % 2 == 0:
                    _by_digit(x, y, p, q, tables, part * DIGITS, begin, end, low, turn * DIGIT, dtype, carried)
                else:
                    _by_digit(y, x, q, p, tables, part * DIGITS, begin, end, low, turn * DIGIT, dtype, carried)
                turn += 1
            moved = passes % 2
        if static(move):
            if moved == 0:
                for i in range(begin, end):
                    y[i] = x[i]
                    if static(carried is not None):
                        q[i] = p[i]
        elif moved == 1:
            for i in range(begin, end):
                x[i] = y[i]
                if static(carried is not None):
                    p[i] = q[i]
