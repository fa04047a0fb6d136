"""Which addresses can meet."""

from __future__ import annotations

import pytest

from weft.ir.alias import ANYWHERE, EXPOSED, TEMPS, may_alias, same_address, space_of, spaces_meet
from weft.ir.core import Value
from weft.ir.ops import (
    Address,
    Alloca,
    Arg,
    ArrayBase,
    ArrayPtr,
    Binary,
    Cast,
    Const,
    ElementPtr,
    FieldPtr,
    Load,
    MemberPtr,
    Shared,
    TempPtr,
    TreeBase,
)
from weft.ir.scopes import Scope
from weft.ir.symbols import FieldSymbol
from weft.ir.types import array, f32, i8, i32, i64, pointer, struct, tensor

X = FieldSymbol.dense("x", f32, (8, 8), 0, (0,), ())
Y = FieldSymbol.dense("y", f32, (8, 8), 0, (4,), ())
E = FieldSymbol.dense("e", f32, (8, 8), 0, (8,), (), exposed=True)
G = FieldSymbol.dense("g", f32, (8, 8), 0, (12,), (), exposed=True)
V = FieldSymbol.dense("v", tensor(f32, (2,)), (8,), 0, (0, 4), ())
I, J = Arg(0, type=i32), Arg(1, type=i32)


def const(value: int, type: object = i32) -> Const:
    return Const(value, type=type)


def plus(value: Value, number: int) -> Binary:
    return Binary("add", value, Const(number, type=value.type))


def address(
    index: Value, offset: int = 0, stride: int = 4, scope: str = "field:x", base: Value | None = None
) -> Address:
    return Address(base or TreeBase(0), [index], [const(stride, i64)], offset, Scope.parse(scope), type=pointer(f32))


WIDE = Cast(I, type=i64)
NEXT = Cast(plus(I, 1), type=i64)
SMALL = Arg(2, type=i8)
LOCAL, OTHER = Alloca(type=pointer(tensor(f32, (3,)))), Alloca(type=pointer(f32))
CONTIGUOUS, STRIDED = Arg(3, type=array(f32, 1)), Arg(4, type=array(f32, 1, False))
OPEN, OPEN_TOO = Arg(5, type=array(f32, 1, exposed=True)), Arg(6, type=array(f32, 1, False, exposed=True))
ELEMENT = FieldPtr(V, [I])
PAIR = struct((("a", f32), ("b", tensor(f32, (2,)))))
P = FieldSymbol.dense("p", PAIR, (8,), 0, (0, 4, 8), ())
NESTED = FieldSymbol.dense("n", struct((("a", f32), ("b", PAIR))), (8,), 0, (0, 4, 8, 12), (), exposed=True)
INNER = FieldSymbol.dense("n.b", PAIR, (8,), 0, (4, 8, 12), (), exposed=True)  # the second member of each
LONG, STRIDE = Arg(7, type=i64), Arg(8, type=i64)
BYTE, NEXT_PAGE = Cast(I, type=i8), Cast(plus(I, 256), type=i8)  # one value
PAIRS, MORE_PAIRS = (Arg(number, type=array(tensor(f32, (2,)), 1, exposed=True)) for number in (9, 10))
EXPOSED_PAIR = FieldSymbol.dense("w", tensor(f32, (2,)), (8,), 0, (0, 4), (), exposed=True)


def at(base: Value, number: int) -> ElementPtr:
    return ElementPtr(base, [const(number)])


def stepped(stride: Value, *index: Value, offset: int = 0) -> Address:
    strides = [const(32, i64), stride][-len(index) :]
    return Address(TreeBase(0), list(index), strides, offset, Scope("field:x"), type=pointer(f32))


def record(offset: int) -> Address:
    return Address(TreeBase(0), [], [], offset, Scope("field:p"), type=pointer(PAIR))


APART = [
    (FieldPtr(X, [plus(I, 1), I]), FieldPtr(X, [Binary("add", const(2), I), J])),
    (FieldPtr(X, [Binary("sub", I, const(1)), J]), FieldPtr(X, [plus(I, 1), J])),
    (MemberPtr(FieldPtr(P, [I]), 0), MemberPtr(FieldPtr(P, [J]), 1)),
    (at(MemberPtr(FieldPtr(P, [I]), 1), 0), at(MemberPtr(FieldPtr(P, [J]), 1), 1)),
    (ArrayPtr(CONTIGUOUS, [const(0, i64)]), ArrayPtr(CONTIGUOUS, [const(2**31, i64)])),
    (stepped(STRIDE, WIDE), stepped(STRIDE, WIDE, offset=4)),
    (stepped(STRIDE, NEXT, LONG), stepped(STRIDE, WIDE, LONG)),
    (record(0), record(24)),
    (FieldPtr(X, [I, J]), FieldPtr(Y, [I, J])),
    (FieldPtr(X, [I, J]), FieldPtr(X, [plus(I, 1), J])),
    (FieldPtr(X, [plus(I, -1), J]), FieldPtr(X, [plus(I, 1), I])),
    (FieldPtr(X, [I, const(0)]), FieldPtr(X, [J, const(1)])),
    (ElementPtr(FieldPtr(V, [I]), [const(0)]), ElementPtr(FieldPtr(V, [J]), [const(1)])),
    (ElementPtr(LOCAL, [const(0)]), ElementPtr(LOCAL, [const(1)])),
    (LOCAL, OTHER),
    (LOCAL, FieldPtr(X, [I, J])),
    (ArrayPtr(CONTIGUOUS, [I]), ArrayPtr(CONTIGUOUS, [plus(I, 1)])),
    (ArrayPtr(CONTIGUOUS, [I]), FieldPtr(X, [I, J])),
    (ArrayPtr(CONTIGUOUS, [I]), ArrayPtr(STRIDED, [I])),
    (ArrayPtr(OPEN, [I]), ArrayPtr(OPEN, [plus(I, 1)])),
    (FieldPtr(E, [I, J]), FieldPtr(G, [I, J])),
    (FieldPtr(E, [I, J]), FieldPtr(E, [plus(I, 1), J])),
    (FieldPtr(E, [I, J]), LOCAL),
    (TempPtr(0, type=pointer(f32)), TempPtr(4, type=pointer(f32))),
    (address(WIDE), address(WIDE, scope="field:y")),
    (address(WIDE), address(WIDE, 4)),
    (address(WIDE), address(NEXT)),
    (address(WIDE, 0, 4, "array:0", ArrayBase(0)), address(WIDE, 4, 4, "array:0", ArrayBase(0))),
    (address(WIDE, 0, 4, "array:0", ArrayBase(0)), address(WIDE, 4, 4, "array:1", ArrayBase(1))),
    (address(WIDE, 0, 4, "exposed array:0", ArrayBase(0)), address(WIDE, 4, 4, "exposed array:0", ArrayBase(0))),
    (Address(OTHER, [], [], 0, Scope("local:a"), type=pointer(f32)), address(WIDE)),
]

TOGETHER = [
    (FieldPtr(X, [I, J]), FieldPtr(X, [plus(J, 1), J])),
    (FieldPtr(X, [const(1), J]), FieldPtr(X, [I, J])),
    (FieldPtr(X, [I, J]), FieldPtr(X, [Binary("mul", I, const(2)), J])),
    (FieldPtr(X, [I, J]), FieldPtr(X, [Binary("add", I, J), J])),
    (FieldPtr(X, [plus(I, 1), J]), FieldPtr(X, [Binary("sub", const(1), I), J])),
    (FieldPtr(X, [plus(I, 1), J]), FieldPtr(X, [Binary("sub", const(3), I), J])),  # where I is 1
    (FieldPtr(X, [plus(SMALL, 127), J]), FieldPtr(X, [plus(SMALL, -128), J])),
    (FieldPtr(X, [BYTE, J]), FieldPtr(X, [NEXT_PAGE, J])),
    (FieldPtr(X, [const(0), J]), FieldPtr(X, [const(1, i64), J])),  # of two types: nobody asks
    (MemberPtr(FieldPtr(P, [I]), 1), MemberPtr(FieldPtr(P, [J]), 1)),
    (MemberPtr(MemberPtr(FieldPtr(NESTED, [I]), 1), 0), MemberPtr(FieldPtr(INNER, [I]), 0)),
    (MemberPtr(FieldPtr(P, [I]), 1), at(MemberPtr(FieldPtr(P, [J]), 1), 0)),
    (ArrayPtr(CONTIGUOUS, [I]), ArrayPtr(CONTIGUOUS, [J])),
    (ArrayPtr(CONTIGUOUS, [LONG]), ArrayPtr(CONTIGUOUS, [plus(LONG, 2**31)])),
    # Elements of memory that is lent twice may be shifted: the second of one is the first of another.
    (at(ArrayPtr(PAIRS, [I]), 0), at(ArrayPtr(MORE_PAIRS, [I]), 1)),
    (at(ArrayPtr(PAIRS, [I]), 0), at(FieldPtr(EXPOSED_PAIR, [I]), 1)),
    (at(FieldPtr(EXPOSED_PAIR, [I]), 0), at(ArrayPtr(PAIRS, [I]), 1)),
    (address(WIDE), address(Cast(J, type=i64), 4)),
    (stepped(STRIDE, WIDE), stepped(STRIDE, NEXT)),
    (stepped(const(4, i64), WIDE), stepped(const(8, i64), WIDE, offset=4)),  # i = -1
    (stepped(const(4, i64), LONG, LONG), stepped(const(4, i64), plus(LONG, 1), plus(LONG, -7))),
    (Address(TreeBase(0), [], [], 0, Scope("field:x"), type=pointer(f32)), address(WIDE, 8)),
    (record(0), record(8)),
    (FieldPtr(X, [I, J]), FieldPtr(X, [I, J])),
    (FieldPtr(X, [I, J]), FieldPtr(X, [J, I])),
    (ELEMENT, ElementPtr(ELEMENT, [const(0)])),
    (LOCAL, ElementPtr(LOCAL, [I])),
    (ElementPtr(LOCAL, [I]), ElementPtr(LOCAL, [const(1)])),
    (ArrayPtr(STRIDED, [I]), ArrayPtr(STRIDED, [plus(I, 1)])),
    (ArrayPtr(OPEN, [I]), ArrayPtr(OPEN_TOO, [plus(I, 1)])),
    (ArrayPtr(OPEN, [I]), FieldPtr(E, [I, J])),
    (FieldPtr(E, [I, J]), FieldPtr(E, [J, I])),
    (TempPtr(0, type=pointer(i64)), TempPtr(4, type=pointer(f32))),
    (address(WIDE), address(Cast(J, type=i64))),
    (address(WIDE, 4), address(NEXT)),
    (address(WIDE), address(WIDE, 2)),
    (address(WIDE, 0, 4, "exposed array:0", ArrayBase(0)), address(WIDE, 4, 4, "exposed array:1", ArrayBase(1))),
    (address(WIDE, scope="exposed field:e"), address(WIDE, 4, 4, "exposed array:1", ArrayBase(1))),
    # 8 bits wrap: i + 255 is i - 1.
    (address(Cast(plus(SMALL, 127), type=i64)), address(Cast(plus(SMALL, -128), type=i64))),
]


@pytest.mark.parametrize(("p", "q"), APART)
def test_apart(p: Value, q: Value) -> None:
    assert not may_alias(p, q)
    assert not may_alias(q, p)


@pytest.mark.parametrize(("p", "q"), TOGETHER)
def test_together(p: Value, q: Value) -> None:
    assert may_alias(p, q)
    assert may_alias(q, p)


def test_spaces() -> None:
    assert space_of(ElementPtr(LOCAL, [I])) is LOCAL
    assert space_of(ELEMENT) is V
    assert space_of(address(WIDE)) == Scope("field:x")
    assert space_of(address(WIDE, scope="array:3")) == space_of(ArrayPtr(CONTIGUOUS, [I])) == Scope("array:3")
    assert space_of(address(WIDE, scope="exposed array:3")) == space_of(ArrayPtr(OPEN, [I])) == EXPOSED
    assert space_of(address(WIDE, scope="exposed field:e")) == space_of(FieldPtr(E, [I, J])) == EXPOSED
    inner = address(WIDE, scope="array:3", base=ArrayBase(0))
    assert space_of(address(WIDE, base=inner)) == Scope("field:x")  # the last step knows best
    assert space_of(TempPtr(8, type=pointer(f32))) == TEMPS
    assert space_of(TreeBase(0)) == ANYWHERE
    block = Shared((8,), type=array(f32, 1))
    assert space_of(ArrayPtr(block, [I])) is block
    assert spaces_meet(ANYWHERE, X)
    assert spaces_meet(EXPOSED, ANYWHERE)
    assert not spaces_meet(EXPOSED, X)
    assert not spaces_meet(ANYWHERE, LOCAL)
    assert not spaces_meet(TEMPS, ANYWHERE)


def test_same_address() -> None:
    assert same_address(FieldPtr(X, [I, const(1)]), FieldPtr(X, [I, const(1)]))
    assert not same_address(FieldPtr(X, [I, const(1)]), FieldPtr(X, [I, const(2)]))
    assert not same_address(FieldPtr(X, [I, J]), FieldPtr(Y, [I, J]))
    assert same_address(address(WIDE, 4), address(WIDE, 4))
    integer = Address(TreeBase(0), [WIDE], [const(4, i64)], 4, Scope("field:x"), type=pointer(i32))
    assert not same_address(address(WIDE, 4), integer)
    assert not same_address(address(WIDE), Address(TreeBase(0), [], [], 0, Scope("field:x"), type=pointer(f32)))
    cell = Alloca(type=pointer(i32))
    assert same_address(cell, cell)
    assert not same_address(FieldPtr(X, [Load(cell), J]), FieldPtr(X, [Load(cell), J]))  # a store may be between
