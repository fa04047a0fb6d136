"""Sums, intervals and widening of index expressions agree with arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.ir.affine import address_key, affine
from weft.ir.core import Block, BlockArg, Builder
from weft.ir.intervals import _ARITHMETIC, in_bounds, interval
from weft.ir.ops import Arg, Binary, Cast, Const, FieldPtr, For
from weft.ir.scalar import BINARY
from weft.ir.symbols import FieldSymbol, Term
from weft.ir.transforms.thread_local import identity
from weft.ir.types import f32, i16, i32, i64, u8, u32

small = st.integers(-9, 9)


@pytest.mark.parametrize("kind", _ARITHMETIC)
@given(a=st.tuples(small, small), b=st.tuples(small, small))
def test_intervals_hold_every_result(kind, a, b):
    a, b = tuple(sorted(a)), tuple(sorted(b))
    bounds = _ARITHMETIC[kind](a, b)
    if bounds is None:
        return
    for x in range(a[0], a[1] + 1):
        for y in range(b[0], b[1] + 1):
            assert bounds[0] <= BINARY[kind].evaluate(np.int32(x), np.int32(y)) <= bounds[1]


def loop(begin: int, end: int, step: int) -> tuple[Builder, BlockArg]:
    """The inside of a loop, and its index."""
    outside = Builder(Block())
    index = BlockArg(i32, "i")
    limits = [outside.add(Const(value, type=i32)) for value in (begin, end, step)]
    outside.add(For(*limits, Block([index])))
    return Builder(index.block), index


def test_loop_indices_lie_between_the_bounds():
    assert interval(loop(2, 10, 3)[1]) == (2, 9)
    assert interval(loop(10, 2, -1)[1]) == (3, 10)
    assert interval(loop(5, 5, 1)[1]) == (5, 5)


def test_what_may_overflow_has_the_interval_of_its_type():
    at, index = loop(0, 2**31 - 1, 1)
    one, two = at.add(Const(1, type=i32)), at.add(Const(2, type=i32))
    assert interval(at.add(Binary("add", index, one))) == (1, 2**31 - 1)
    assert interval(at.add(Binary("add", index, two))) == (-(2**31), 2**31 - 1)


def test_in_bounds_counts_the_offset():
    symbol = FieldSymbol("x", f32, (8,), 0, (0,), (Term(0, 1, 8, 4),), (-2,), (0,))
    assert in_bounds(FieldPtr(symbol, [loop(-2, 6, 1)[1]]))
    assert not in_bounds(FieldPtr(symbol, [loop(0, 8, 1)[1]]))


def test_equal_sums_are_one_address():
    symbol = FieldSymbol("x", f32, (8,), 0, (0,), (Term(0, 1, 8, 4),), (), (0,))
    at, i = loop(0, 8, 1)
    one, two, n = at.add(Const(1, type=i32)), at.add(Const(2, type=i32)), at.add(Arg(0, type=i32))
    twice = at.add(Binary("mul", two, at.add(Binary("add", i, one))))
    again = at.add(Binary("add", at.add(Binary("add", i, two)), i))
    assert affine(twice) == affine(again)
    assert affine(twice).constant == 2
    assert address_key(FieldPtr(symbol, [twice])) == address_key(FieldPtr(symbol, [again]))
    assert affine(at.add(Binary("sub", i, i))) == affine(at.add(Const(0, type=i64)))
    assert affine(n) == affine(at.add(Arg(0, type=i32)))
    assert affine(at.add(Cast(i, type=i64))) == affine(i)
    assert affine(at.add(Cast(i, type=i16))) != affine(i)
    assert affine(at.add(Binary("mul", i, n))).single() is not None


@pytest.mark.parametrize("type", [u8, i32, u32, i64, f32])
@pytest.mark.parametrize("kind", ["add", "mul", "min", "max", "and", "or", "xor"])
def test_identities_leave_values_alone(type, kind):
    if type.is_float and kind in ("and", "or", "xor"):
        return
    for value in (0, 1, 5, *((-0.0, -7.5, float("inf")) if type.is_float else (100,))):
        got = BINARY[kind].evaluate(type(identity(kind, type)), type(value))
        assert got.tobytes() == type(value).tobytes()
