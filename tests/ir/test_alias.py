"""Which addresses can meet."""

from __future__ import annotations

import pytest

from weft.ir.alias import ANYWHERE, EXPOSED, TEMPS, may_alias, memory_effects, same_address, space_of, spaces_meet
from weft.ir.core import Value
from weft.ir.ops import (
    Address,
    Alloca,
    Arg,
    ArrayBase,
    ArrayPtr,
    Atomic,
    Binary,
    Cast,
    Const,
    ElementPtr,
    FieldPtr,
    For,
    If,
    Load,
    Store,
    TempPtr,
    TreeBase,
)
from weft.ir.symbols import FieldSymbol
from weft.ir.types import array, f32, i8, i32, i64, pointer, tensor

X = FieldSymbol("x", f32, (8, 8), 0, (0,), ())
Y = FieldSymbol("y", f32, (8, 8), 0, (4,), ())
E = FieldSymbol("e", f32, (8, 8), 0, (8,), (), exposed=True)
G = FieldSymbol("g", f32, (8, 8), 0, (12,), (), exposed=True)
V = FieldSymbol("v", tensor(f32, (2,)), (8,), 0, (0, 4), ())
I, J = Arg(0, type=i32), Arg(1, type=i32)


def const(value: int, type: object = i32) -> Const:
    return Const(value, type=type)


def plus(value: Value, number: int) -> Binary:
    return Binary("add", value, Const(number, type=value.type))


def address(
    index: Value, offset: int = 0, stride: int = 4, scope: str = "field:x", base: Value | None = None
) -> Address:
    return Address(base or TreeBase(0), [index], [const(stride, i64)], offset, scope, type=pointer(f32))


WIDE = Cast(I, type=i64)
NEXT = Cast(plus(I, 1), type=i64)
SMALL = Arg(2, type=i8)
LOCAL, OTHER = Alloca(type=pointer(tensor(f32, (3,)))), Alloca(type=pointer(f32))
CONTIGUOUS, STRIDED = Arg(3, type=array(f32, 1)), Arg(4, type=array(f32, 1, False))
OPEN, OPEN_TOO = Arg(5, type=array(f32, 1, exposed=True)), Arg(6, type=array(f32, 1, False, exposed=True))
ELEMENT = FieldPtr(V, [I])

APART = [
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
    (Address(OTHER, [], [], 0, "local:a", type=pointer(f32)), address(WIDE)),
]

TOGETHER = [
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
    assert space_of(address(WIDE)) == "field:x"
    assert space_of(address(WIDE, scope="array:3")) == space_of(ArrayPtr(CONTIGUOUS, [I])) == "array:3"
    assert space_of(address(WIDE, scope="exposed array:3")) == space_of(ArrayPtr(OPEN, [I])) == EXPOSED
    assert space_of(address(WIDE, scope="exposed field:e")) == space_of(FieldPtr(E, [I, J])) == EXPOSED
    assert space_of(TempPtr(8, type=pointer(f32))) == TEMPS
    assert space_of(TreeBase(0)) == ANYWHERE
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


def test_effects_of_a_loop_count_what_is_inside() -> None:
    loop, branch = For(const(0), I, const(1)), If(Arg(5, type=i32))
    loop.body.insert(branch)
    p, q = FieldPtr(X, [I, J]), FieldPtr(Y, [I, J])
    load = Load(p)
    branch.then.insert(load)
    branch.orelse.insert(Atomic("add", q, load))
    branch.orelse.insert(Store(OTHER, load))
    assert memory_effects(loop) == ([p, q], [q, OTHER], False)
