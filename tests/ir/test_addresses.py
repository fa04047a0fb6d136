"""How addresses and indices are taken apart."""

from __future__ import annotations

import random

import numpy as np
import pytest

from weft.ir.addresses import byte_sum, element_of, element_steps, root_of, split
from weft.ir.core import Value
from weft.ir.ops import Address, Arg, Binary, Cast, Const, ElementPtr, FieldPtr, MemberPtr, TreeBase
from weft.ir.scalar import BINARY, cast_value
from weft.ir.scopes import UNKNOWN
from weft.ir.symbols import FieldSymbol
from weft.ir.types import Prim, f32, i8, i16, i32, i64, pointer, struct, tensor, u32, u64

I, K, U, SMALL, F = (Arg(k, type=t) for k, t in enumerate((i32, i64, u32, i16, f32)))
PAIRS = struct((("a", f32), ("b", tensor(f32, (2, 3)))))


def const(value: int, type: Prim = i32) -> Const:
    return Const(value, type=type)


def add(a: Value, b: Value) -> Binary:
    return Binary("add", a, b, type=a.type)


def sub(a: Value, b: Value) -> Binary:
    return Binary("sub", a, b, type=a.type)


def step(base: Value, *indices: Value, offset: int = 0) -> Address:
    strides = [const(4 * (k + 1), i64) for k in range(len(indices))]
    return Address(base, list(indices), strides, offset, UNKNOWN, type=pointer(f32))


# ---- steps -----------------------------------------------------------------------------------------------------------


def test_element_steps_lead_from_the_root_to_the_part() -> None:
    root = FieldPtr(FieldSymbol.dense("x", PAIRS, (8,), 0, (0,), ()), [I])
    member = MemberPtr(root, 1, type=pointer(tensor(f32, (2, 3))))
    part = ElementPtr(member, [I, const(2)], type=pointer(f32))
    assert element_steps(part) == (root, [member, part])
    assert element_steps(root) == (root, [])
    assert root_of(part) is root


def test_the_sum_of_an_address_has_all_steps() -> None:
    base = TreeBase(0)
    cell = step(base, K, offset=16)
    part = step(cell, offset=4)
    inner = step(part, K, K, offset=1)
    found = byte_sum(inner)
    assert (found.base, found.offset, len(found.terms)) == (base, 21, 3)
    assert [int(stride.value) for _, stride in found.terms if isinstance(stride, Const)] == [4, 8, 4]
    assert root_of(inner) is base
    assert byte_sum(base).terms == ()
    assert byte_sum(base).base is base


def test_the_element_of_a_component_is_the_step_that_has_indices() -> None:
    base = TreeBase(0)
    cell = step(base, K, offset=16)
    assert element_of(step(step(cell, offset=4), offset=2)) == (cell, 6)
    assert element_of(cell) == (cell, 0)
    single = step(base, offset=8)  # of a field without axes
    assert element_of(step(single, offset=4)) == (single, 4)
    assert element_of(base) == (base, 0)


# ---- indices ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "value", "constant"),
    [
        (I, I, 0),
        (add(I, const(3)), I, 3),
        (add(const(3), I), I, 3),
        (sub(I, const(3)), I, -3),
        (sub(add(I, const(5)), const(2)), I, 3),
        (add(const(2), sub(add(I, const(5)), const(2))), I, 5),
        (const(7), None, 7),
        (add(const(7), const(2)), None, 9),
    ],
)
def test_constants_are_split_off(index: Value, value: Value | None, constant: int) -> None:
    assert split(index) == (value, constant)
    assert split(index, exact=True) == (value, constant)


def test_a_constant_minus_a_value_is_no_value_plus_a_constant() -> None:
    index = sub(const(7), I)
    assert split(index) == (index, 0)
    assert split(index, exact=True) == (index, 0)


def test_other_operators_are_not_split() -> None:
    index = Binary("mul", I, const(2), type=i32)
    assert split(index) == (index, 0)


def test_casts_between_indices_are_looked_through_modulo_two_to_the_32() -> None:
    index = add(Cast(add(I, const(1)), type=i64), const(2, i64))
    assert split(index) == (I, 3)
    assert split(index, exact=True) == (index.lhs, 2)
    assert split(Cast(add(K, const(1, i64)), type=i32)) == (K, 1)


def test_casts_of_what_is_no_index_are_not() -> None:
    for x in (SMALL, F):
        index = Cast(x, type=i32)
        assert split(add(index, const(1))) == (index, 1)
    narrow = Binary("add", SMALL, const(1, i16), type=i16)
    assert split(narrow) == (narrow, 0)


def test_an_unsigned_index_is_not_split_exactly() -> None:
    index = sub(U, const(5, u32))
    assert split(index) == (U, -5)
    assert split(index, exact=True) == (index, 0)


def value_of(value: Value, numbers: dict[Value, int]) -> int:
    if isinstance(value, Const):
        return int(value.value)
    if isinstance(value, Cast):
        return int(cast_value(value_of(value.x, numbers), value.type))
    if isinstance(value, Binary):
        operands = [cast_value(value_of(x, numbers), x.type) for x in value.operands]
        with np.errstate(over="ignore"):
            return int(BINARY[value.kind].evaluate(*operands))
    return numbers[value]


def drawn(rng: random.Random, leaf: Value, depth: int) -> Value:
    index: Value = leaf
    for _ in range(depth):
        if rng.random() < 0.3:
            index = Cast(index, type=rng.choice((i32, i64, u32, u64)))
            continue
        assert isinstance(index.type, Prim)
        bound = 2**31 - 1
        number = const(rng.choice((rng.randint(-9, 9), rng.randint(-bound, bound))), index.type)
        if not index.type.is_signed:
            number = const(abs(int(number.value)), index.type)
        made = rng.choice(("l", "r", "s"))
        index = add(index, number) if made == "r" else add(number, index) if made == "l" else sub(index, number)
    return index


def test_the_sum_holds_modulo_two_to_the_32() -> None:
    rng = random.Random(3)
    split_off = 0
    for _ in range(400):
        leaf = Arg(0, type=rng.choice((i32, i64, u32)))
        index = drawn(rng, leaf, rng.randint(1, 6))
        value, constant = split(index)
        assert value is leaf
        split_off += constant != 0
        for number in (0, 1, 5, 2**31 - 1, rng.randint(0, 2**31 - 1)):
            assert (value_of(index, {leaf: number}) - number - constant) % 2**32 == 0
    assert split_off > 300


def test_the_exact_sum_is_the_index_unless_that_wrapped_around() -> None:
    rng = random.Random(4)
    for _ in range(400):
        leaf = Arg(0, type=rng.choice((i32, i64)))
        index: Value = leaf
        for _ in range(rng.randint(1, 5)):
            number = const(rng.randint(-1000, 1000), index.type)  # type: ignore[arg-type]
            index = add(index, number) if rng.random() < 0.5 else sub(index, number)
        value, constant = split(index, exact=True)
        assert value is leaf
        for number in (0, -70000, 70000, rng.randint(-(2**30), 2**30)):
            assert value_of(index, {leaf: number}) == number + constant


def test_what_differs_in_its_constants_is_never_the_same_index() -> None:
    rng = random.Random(5)
    for _ in range(300):
        leaf = Arg(0, type=rng.choice((i32, i64, u32)))
        one, other = (drawn(rng, leaf, rng.randint(0, 4)) for _ in range(2))
        (_, a), (_, b) = split(one), split(other)
        if 0 < abs(a - b) < 2**32:
            for number in (0, 7, 2**31 - 1):
                assert value_of(one, {leaf: number}) != value_of(other, {leaf: number})


def test_small_integers_stay_whole() -> None:
    small = Arg(0, type=i8)
    index = Cast(Binary("add", small, const(1, i8), type=i8), type=i32)
    assert split(index) == (index, 0)
