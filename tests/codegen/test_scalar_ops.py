"""Every row of the operator tables as machine code, against the table's own numpy meaning, over the extremes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.codegen.machine_code import run
from weft.ir.config import CompileConfig
from weft.ir.ops import BINARY, UNARY, Binary, BitCast, Cast, Unary
from weft.ir.scalar import binary_type, cast_value, unary_type
from weft.ir.types import FLOATS, INTEGERS, PRIMS, Prim, f16, f32, f64, i32, i64, u1, u8, u32, u64

PRECISE = CompileConfig(fast_math=False)
# Rows that the passes replace before codegen (`pow` of integers), or that have no meaning for the type.
TYPES = (u1, u8, i32, u32, i64, u64, f16, f32, f64)


def extremes(type: Prim) -> Any:
    if type is u1:
        return np.array([False, True])
    if type.is_float:
        info = np.finfo(type.np)
        some = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 7.0, -7.25, 100.0, info.max, info.tiny, np.inf, -np.inf, np.nan]
        return np.array(some, type.np)
    info = np.iinfo(type.np)
    both = [0, 1, 2, 3, 5, 7, 31, 100, info.max, info.max - 1, info.min]
    return np.array([*both, *([-1, -7, info.min + 1] if type.is_signed else [255])], type.np)


def pairs(type: Prim) -> tuple[Any, Any]:
    values = extremes(type)
    grid = list(itertools.product(range(len(values)), repeat=2))
    return values[[a for a, _ in grid]], values[[b for _, b in grid]]


def same(found: Any, expected: Any, type: Prim) -> None:
    if type.is_int:
        np.testing.assert_array_equal(found, expected)
        return
    info = np.finfo(type.np)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_allclose(found, expected, rtol=4 * float(info.eps), atol=4 * float(info.tiny))


def _binary_cases() -> list[Any]:
    cases: list[Any] = []
    for kind, type in itertools.product(BINARY, TYPES):
        try:
            left, right, _ = binary_type(kind, type, type)
        except TypeError:
            continue
        if left is not type or right is not type or (kind == "pow" and type.is_int):
            continue
        cases.append(pytest.param(kind, type, id=f"{kind}-{type}"))
    return cases


@pytest.mark.parametrize(("kind", "type"), _binary_cases())
def test_binary(kind: str, type: Prim) -> None:
    a, b = pairs(type)
    if kind in ("mod", "floordiv", "raw_mod") and type.is_float:  # quotients beyond the mantissa mean nothing
        keep = np.isfinite(a) & np.isfinite(b) & (np.abs(a) < 200) & (np.abs(b) < 200) & (np.abs(b) > 0.1)
        a, b = a[keep], b[keep]
    result = binary_type(kind, type, type)[2]
    found = run([a, b], result, lambda build, v: build.add(Binary(kind, v[0], v[1], type=result)), PRECISE)
    same(found, BINARY[kind].evaluate(a, b), result)


def _unary_cases() -> list[Any]:
    cases: list[Any] = []
    for kind, type in itertools.product(UNARY, TYPES):
        try:
            operand, _ = unary_type(kind, type)
        except TypeError:
            continue
        if operand is type:
            cases.append(pytest.param(kind, type, id=f"{kind}-{type}"))
    return cases


@pytest.mark.parametrize(("kind", "type"), _unary_cases())
def test_unary(kind: str, type: Prim) -> None:
    a = extremes(type)
    if kind in ("sin", "cos", "tan") and type.is_float:
        a = a[~(np.abs(a) > 1000)]
    result = unary_type(kind, type)[1]
    found = run([a], result, lambda build, v: build.add(Unary(kind, v[0], type=result)), PRECISE)
    same(found, UNARY[kind].evaluate(a), result)


@pytest.mark.parametrize("source", INTEGERS + FLOATS, ids=str)
def test_cast(source: Prim) -> None:
    values = extremes(source)
    for target in PRIMS.values():
        found = run([values], target, lambda build, v, t=target: build.add(Cast(v[0], type=t)), PRECISE)
        same(found, cast_value(values, target), target)


@pytest.mark.parametrize(("source", "target"), [(f32, i32), (i32, f32), (f64, u64), (u64, f64), (f16, f16)], ids=str)
def test_bit_cast(source: Prim, target: Prim) -> None:
    values = extremes(source)
    found = run([values], target, lambda build, v: build.add(BitCast(v[0], type=target)), PRECISE)
    assert found.tobytes() == values.tobytes()


@pytest.mark.parametrize("kind", ["sin", "cos", "exp", "log", "tanh", "pow"])
def test_fast_math_is_vectorized_and_close(kind: str) -> None:
    x = np.linspace(0.01, 6.0, 4099).astype(np.float32)
    if kind == "pow":
        found = run([x, x], f32, lambda b, v: b.add(Binary("pow", v[0], v[1])), CompileConfig())
        expected = x.astype(np.float64) ** x
    else:
        found = run([x], f32, lambda b, v: b.add(Unary(kind, v[0])), CompileConfig())
        expected = UNARY[kind].evaluate(x.astype(np.float64))
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["exp", "exp2"])
@pytest.mark.parametrize(
    ("type", "tails", "rtol", "atol"),
    [
        (f32, ((-152, -120), (-105, -86), (-1, 1), (86, 90), (126, 129), (88.7228, 88.7229)), 1.2e-7, 1.5e-45),
        (f64, ((-1077, -1020), (-748, -705), (-1, 1), (705, 711), (1020, 1026), (-745.2, -745)), 2.3e-16, 5e-324),
    ],
)
def test_fast_exponentials_are_those_of_c_at_the_ends_too(
    kind: str, type: Prim, tails: tuple[tuple[float, float], ...], rtol: float, atol: float
) -> None:
    """Subnormal results, zeros, infinities, NaN, and both sides of where results stop being finite or normal."""
    x = np.concatenate([*(np.linspace(a, b, 1001) for a, b in tails), extremes(type)]).astype(type.np)
    with np.errstate(over="ignore"):
        wanted = UNARY[kind].evaluate(x.astype(np.float64)).astype(type.np)
    found = run([x], type, lambda b, v: b.add(Unary(kind, v[0])), CompileConfig())
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(wanted))
    np.testing.assert_allclose(found, wanted, rtol=2 * rtol, atol=2 * atol)
