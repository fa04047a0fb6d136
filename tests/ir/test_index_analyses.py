"""Sums, intervals and widening of index expressions agree with arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.ir.affine import address_key, affine
from weft.ir.core import Block, BlockArg, Builder
from weft.ir.intervals import _ARITHMETIC, in_bounds, interval, unclipped
from weft.ir.ops import (
    Alloca,
    Arg,
    ArrayExtent,
    ArrayPtr,
    ArrayShape,
    Binary,
    Cast,
    Clamp,
    Const,
    ElementPtr,
    FieldPtr,
    For,
    MemberPtr,
    StructFor,
    TempPtr,
    Unary,
)
from weft.ir.parse import parse
from weft.ir.scalar import BINARY, identity
from weft.ir.storage.dense import Term
from weft.ir.symbols import FieldSymbol
from weft.ir.types import array, f32, i16, i32, i64, pointer, struct, tensor, u8, u32

small = st.integers(-9, 9)


@pytest.mark.parametrize("kind", _ARITHMETIC)
@settings(deadline=None)
@given(a=st.tuples(small, small), b=st.tuples(small, small))
def test_intervals_hold_every_result(kind, a, b):
    a, b = tuple(sorted(a)), tuple(sorted(b))
    bounds = _ARITHMETIC[kind](a, b)
    if bounds is None:
        return
    for x in range(a[0], a[1] + 1):
        for y in range(b[0], b[1] + 1):
            assert bounds[0] <= BINARY[kind].evaluate(np.int32(x), np.int32(y)) <= bounds[1]


@pytest.mark.parametrize(("kind", "range"), [("min", (-4, 9)), ("max", (9, 12))])
def test_intervals_of_clamps(kind, range):
    index = Binary("mod", Cast(Arg(0, type=i16), type=i64), Const(17, type=i64), type=i64)
    moved = Binary("sub", index, Const(4, type=i64), type=i64)
    assert interval(moved) == (-4, 12)
    assert interval(Clamp(kind, moved, Const(9, type=i64), 0, -4, -4, type=i64)) == range


def test_intervals_are_narrow():
    assert _ARITHMETIC["mod"]((0, 9), (3, 3)) == _ARITHMETIC["raw_mod"]((0, 9), (3, 3)) == (0, 2)
    assert _ARITHMETIC["mod"]((-9, 9), (3, 5)) == (0, 4)
    assert _ARITHMETIC["mod"]((0, 9), (30, 50)) == _ARITHMETIC["raw_mod"]((0, 9), (30, 50)) == (0, 9)
    assert _ARITHMETIC["floordiv"]((4, 9), (2, 3)) == _ARITHMETIC["raw_div"]((4, 9), (2, 3)) == (1, 4)
    assert _ARITHMETIC["floordiv"]((-9, 9), (3, 3)) == (-9, 3)
    assert _ARITHMETIC["and"]((0, 9), (-5, 5)) == (0, 9)
    assert _ARITHMETIC["and"]((-9, 9), (0, 5)) == (0, 5)
    assert _ARITHMETIC["shr"]((-8, 8), (1, 2)) == (-4, 4)
    assert _ARITHMETIC["shl"]((-8, 8), (2, 2)) == (-32, 32)
    assert _ARITHMETIC["min"]((0, 9), (3, 5)) == (0, 5)
    assert _ARITHMETIC["max"]((0, 9), (3, 5)) == (3, 9)
    for kind in ("mod", "raw_mod", "floordiv", "raw_div"):
        assert _ARITHMETIC[kind]((0, 9), (0, 3)) is None
    for kind in ("raw_mod", "raw_div"):
        assert _ARITHMETIC[kind]((-1, 9), (3, 3)) is None
    assert _ARITHMETIC["and"]((-9, 9), (-5, 5)) is None
    assert _ARITHMETIC["shr"]((0, 9), (-1, 2)) is _ARITHMETIC["shr"]((0, 9), (0, 64)) is None
    assert _ARITHMETIC["shl"]((0, 9), (1, 2)) is _ARITHMETIC["shl"]((0, 9), (31, 31)) is None


def loop(begin: int, end: int, step: int) -> tuple[Builder, BlockArg]:
    """The inside of a loop, and its index."""
    outside = Builder(Block())
    index = BlockArg(i32, "i")
    limits = [outside.add(Const(value, type=i32)) for value in (begin, end, step)]
    outside.add(For(*limits, body=Block([index])))
    return Builder(index.block), index


def test_loop_indices_lie_between_the_bounds():
    assert interval(loop(2, 10, 3)[1]) == (2, 9)
    assert interval(loop(10, 2, -1)[1]) == (3, 10)
    assert interval(loop(5, 5, 1)[1]) == (5, 5)
    for offset in (-2, 0):
        symbol = FieldSymbol.dense("x", f32, (8,), 0, (0,), (Term(0, 1, 8, 4),), (offset,) if offset else (), (0,))
        over = Builder(Block()).add(StructFor(symbol))
        index = BlockArg(i32, "i")
        index.block, over.body.args = over.body, [index]
        assert interval(index) == (offset, offset + 7)


def test_indices_that_may_overflow_have_the_interval_of_their_type():
    at, index = loop(0, 2**31 - 1, 1)
    one, two = at.add(Const(1, type=i32)), at.add(Const(2, type=i32))
    assert interval(at.add(Binary("add", index, one))) == (1, 2**31 - 1)
    assert interval(at.add(Binary("add", index, two))) == (-(2**31), 2**31 - 1)
    n = at.add(Arg(0, type=i32))
    assert interval(at.add(Binary("sub", n, one))) == (-(2**31), 2**31 - 1)
    assert interval(at.add(Binary("add", n, one))) == (-(2**31), 2**31 - 1)
    assert interval(at.add(Unary("neg", n))) == (-(2**31), 2**31 - 1)
    assert interval(at.add(Unary("neg", index))) == (-(2**31) + 2, 0)
    assert interval(at.add(Unary("abs", n))) == (-(2**31), 2**31 - 1)
    for kind in ("abs", "bit_not", "sign"):
        assert interval(at.add(Unary(kind, index))) == (-(2**31), 2**31 - 1)
    assert unclipped(at.add(Binary("sub", n, one))) == (-(2**31) - 1, 2**31 - 2)
    real = at.add(Arg(1, type=f32))
    assert unclipped(at.add(Binary("min", real, real))) is unclipped(at.add(Unary("neg", real))) is None
    for type, whole in ((u8, (0, 255)), (i16, (-(2**15), 2**15 - 1)), (u32, (0, 2**32 - 1))):
        assert interval(at.add(Cast(n, type=type))) == whole
        assert interval(at.add(Cast(real, type=type))) == whole


def test_in_bounds_counts_the_offset():
    symbol = FieldSymbol.dense("x", f32, (8,), 0, (0,), (Term(0, 1, 8, 4),), (-2,), (0,))
    assert in_bounds(FieldPtr(symbol, [loop(-2, 6, 1)[1]]))
    assert not in_bounds(FieldPtr(symbol, [loop(0, 8, 1)[1]]))


def test_equal_sums_are_one_address():
    symbol = FieldSymbol.dense("x", f32, (8,), 0, (0,), (Term(0, 1, 8, 4),), (), (0,))
    at, i = loop(0, 8, 1)
    one, two, n = at.add(Const(1, type=i32)), at.add(Const(2, type=i32)), at.add(Arg(0, type=i32))
    twice = at.add(Binary("mul", two, at.add(Binary("add", i, one))))
    again = at.add(Binary("add", at.add(Binary("add", i, two)), i))
    assert affine(twice) == affine(again)
    assert affine(twice).constant == 2
    assert address_key(FieldPtr(symbol, [twice])) == address_key(FieldPtr(symbol, [again]))
    t = at.add(Arg(3, type=array(f32, 1)))
    assert address_key(ArrayPtr(t, [twice])) == address_key(ArrayPtr(t, [again])) != address_key(ArrayPtr(t, [i]))
    assert affine(at.add(Binary("sub", i, i))) == affine(at.add(Const(0, type=i64)))
    assert affine(n) == affine(at.add(Arg(0, type=i32)))
    extents = [at.add(ArrayShape(at.add(Arg(k, type=array(f32, 2))), axis)) for k, axis in ((1, 0), (1, 0), (1, 1))]
    assert affine(extents[0]) == affine(extents[1]) != affine(extents[2])
    assert affine(at.add(Cast(i, type=i64))) == affine(i)
    assert affine(at.add(Cast(i, type=i16))) != affine(i)
    assert affine(at.add(Binary("mul", i, n))).single() is not None


def test_sums_are_those_of_their_width():
    at, i = loop(0, 8, 1)
    two, zero = at.add(Const(2, type=i32)), at.add(Const(0, type=i32))
    minus = at.add(Unary("neg", i))
    assert affine(minus) == affine(at.add(Binary("sub", zero, i)))
    assert affine(at.add(Binary("mul", i, zero))) == affine(zero)
    assert affine(at.add(Unary("abs", i))).single() != affine(minus).single()
    assert affine(at.add(Unary("abs", i))) != affine(i)
    for kind in ("and", "mod", "floordiv", "max"):
        op = at.add(Binary(kind, i, two))
        assert affine(op).terms == {(op, 1)}
    short = at.add(Cast(i, type=i16))
    two16 = at.add(Const(2, type=i16))
    for made in (Binary("add", short, two16), Binary("mul", short, two16), Unary("neg", short)):
        op = at.add(made)  # it may wrap
        assert affine(op).terms == {(op, 1)}
    long = at.add(Arg(0, type=i64))
    assert affine(at.add(Cast(long, type=i32))) != affine(long)
    assert affine(at.add(Cast(at.add(Cast(i, type=i64)), type=i32))) == affine(i)
    low = at.add(Binary("sub", at.add(Cast(i, type=i64)), at.add(Const(2**40, type=i64))))
    high = at.add(Binary("add", at.add(Cast(i, type=i64)), at.add(Const(2**40, type=i64))))
    for wide in (low, high):
        assert affine(at.add(Cast(wide, type=i32))) != affine(wide)
    n = at.add(Arg(2, type=i32))
    assert affine(at.add(Cast(n, type=u32))) == affine(at.add(Cast(n, type=i64))) == affine(n)
    real = at.add(Arg(1, type=f32))
    op = at.add(Cast(real, type=i32))
    assert affine(op).terms == {(op, 1)}


PAIR = struct((("a", f32), ("b", tensor(f32, (2,)))))


def test_members_have_addresses_of_their_own():
    symbol = FieldSymbol.dense("p", PAIR, (8,), 0, (0, 4, 8), (Term(0, 1, 8, 12),), (), (0,))
    at, i = loop(0, 8, 1)
    one = at.add(Const(1, type=i32))
    whole, again = FieldPtr(symbol, [i]), FieldPtr(symbol, [at.add(Cast(at.add(Cast(i, type=i64)), type=i32))])
    assert address_key(MemberPtr(whole, 0)) == address_key(MemberPtr(again, 0)) != address_key(MemberPtr(whole, 1))
    assert address_key(TempPtr(8, type=pointer(f32))) == address_key(TempPtr(8, type=pointer(f32)))
    assert address_key(TempPtr(8, type=pointer(f32))) != address_key(TempPtr(8, type=pointer(i32)))
    assert address_key(TempPtr(8, type=pointer(f32))) != address_key(TempPtr(4, type=pointer(f32)))
    last = [ElementPtr(MemberPtr(base, 1), [one]) for base in (whole, again)]
    assert address_key(last[0]) == address_key(last[1]) != address_key(MemberPtr(whole, 1))
    outside = FieldPtr(symbol, [loop(0, 9, 1)[1]])
    for inside, base in ((True, whole), (False, outside)):
        assert in_bounds(MemberPtr(base, 0)) == inside
        assert in_bounds(ElementPtr(MemberPtr(base, 1), [one])) == inside
    assert not in_bounds(ElementPtr(MemberPtr(whole, 1), [i]))


def test_locals_and_temporaries_are_in_bounds():
    assert in_bounds(Alloca(type=pointer(f32)))
    assert in_bounds(TempPtr(8, type=pointer(f32)))
    assert in_bounds(ElementPtr(Alloca(type=pointer(tensor(f32, (2,)))), [Const(1, type=i32)]))
    assert not in_bounds(ElementPtr(Alloca(type=pointer(tensor(f32, (2,)))), [Const(2, type=i32)]))
    assert not in_bounds(ArrayPtr(Arg(0, type=array(f32, 1)), [Const(0, type=i32)]))


def test_intervals_of_what_is_not_known():
    outside = Builder(Block())
    n, zero, index = outside.add(Arg(0, type=i32)), outside.add(Const(0, type=i32)), BlockArg(i32, "i")
    outside.add(For(zero, outside.add(Const(8, type=i32)), n, body=Block([index])))
    assert interval(index) == (-(2**31), 2**31 - 1)
    assert interval(Const(0.5, type=f32)) == (-(2**64), 2**64)
    assert interval(ArrayExtent(0, 0, False)) == (0, 2**31 - 1)
    assert interval(ArrayExtent(0, 0, True)) == (0, 2**63 - 1)


@pytest.mark.parametrize("type", [u8, i32, u32, i64, f32])
@pytest.mark.parametrize("kind", ["add", "mul", "min", "max", "and", "or", "xor"])
def test_identities_leave_values_alone(type, kind):
    if type.is_float and kind in ("and", "or", "xor"):
        return
    for value in (0, 1, 5, *((-0.0, -7.5, float("inf")) if type.is_float else (100,))):
        got = BINARY[kind].evaluate(type(identity(kind, type)), type(value))
        assert got.tobytes() == type(value).tobytes()


_LOCAL = """kernel @k() -> () {{
  %c0 = const 0 : i32  %c1 = const 1 : i32  %c5 = const 5 : i32  %c9 = const 9 : i32  %yes = const true : u1
  %n = cast %yes : i32
  %l = alloca : *i32
  {first}
  for %c1, %c9, %c1 (%k: i32) {{
    %old = load %l : i32
    {body}
  }}
  %last = load %l : i32
}}
"""
_FIRST = "store %l, %c5"
_WHOLE = (-(2**31), 2**31 - 1)


@pytest.mark.parametrize(
    ("first", "body", "expected"),
    [
        (_FIRST, "", (5, 5)),
        (_FIRST, "store %l, %k", (1, 8)),
        (_FIRST, "%new = select %yes, %old, %k : i32  store %l, %new", (1, 8)),
        (_FIRST, "%new = binary max %old, %k : i32  store %l, %new", (1, 8)),
        (_FIRST, "%new = binary sub %k, %c9 : i32  if %yes then { store %l, %new }", (-8, 5)),
        (_FIRST, "%new = binary add %old, %c1 : i32  store %l, %new", _WHOLE),
        (_FIRST, "%new = binary add %old, %c1 : i32  %or = select %yes, %new, %k : i32  store %l, %or", _WHOLE),
        (_FIRST, "%a = atomic add %l, %k : i32", _WHOLE),
        ("", "store %l, %k", _WHOLE),
        ("%early = load %l : i32  store %l, %c5", "store %l, %k", _WHOLE),
        ("if %yes then { store %l, %c5 }", "store %l, %k", _WHOLE),
    ],
)
def test_a_local_holds_what_is_stored_to_it(first, body, expected):
    kernel = parse(_LOCAL.format(first=first, body=body))
    assert interval(kernel.body.last) == expected


def test_each_value_that_a_local_may_hold_is_examined_once():
    """Here, 2^60 ways lead to it."""
    steps = [
        f"%a{n} = binary min %v{n}, %k : i32  %b{n} = binary max %v{n}, %k : i32  "
        f"%v{n + 1} = select %yes, %a{n}, %b{n} : i32"
        for n in range(60)
    ]
    body = "\n".join(["%v0 = select %yes, %old, %k : i32", *steps, "store %l, %v60"])
    kernel = parse(_LOCAL.format(first=_FIRST, body=body))
    assert interval(kernel.body.last) == (1, 8)
