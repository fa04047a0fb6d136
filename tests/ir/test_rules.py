"""Every rule of the algebra, computed on both sides over NaN, infinities, zeros of both signs and integer extremes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from weft.ir.core import Op, Value
from weft.ir.ops import Arg, Binary, Cast, Const, Kernel, Select, Unary
from weft.ir.rewrite import Apply, Expression, Fixed, Rewriter, Rule, Variable, compile_rules
from weft.ir.rules import RULES
from weft.ir.scalar import BINARY, UNARY, cast_value
from weft.ir.types import FLOATS, Prim, f16, f32, f64, i8, i32, i64, u1, u8, u32, u64

TYPES = (u1, i8, u8, i32, u32, i64, u64, f32, f64)
CAST_TYPES = (u1, i8, u8, i32, u32, f16, f32, f64)


def samples(prim: Prim) -> Any:
    """Values where operators misbehave."""
    if prim is u1:
        return np.array([False, True])
    if prim.is_int:
        info = np.iinfo(prim.np)
        numbers = [info.min, info.min + 1, -100, -3, -2, -1, 0, 1, 2, 3, 7, 100, info.max - 1, info.max]
        return np.array([n for n in numbers if info.min <= n <= info.max], prim.np)
    limits = np.finfo(prim.np)
    numbers = [np.nan, np.inf, 0.0, 0.3, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 1e9 + 0.5, limits.max, limits.tiny]
    numbers += [limits.smallest_subnormal, 2.0 ** (limits.nmant + 1) - 1]
    with np.errstate(over="ignore"):
        return np.array([*numbers, *(-n for n in numbers)], prim.np)


def constants(prim: Prim) -> list[Any]:
    if prim.is_float:
        return [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, 0.1, -0.1, 1e30, -1e30, 1e-30, float("inf"), float("nan")]
    values = [-3, -2, -1, 0, 1, 2, 3, 5, 8, 31, *(int(v) for v in samples(prim)[[0, -1]])]
    return sorted({cast_value(v, prim).item() for v in values})


class Tree:
    """A pattern as IR: variables are args (of type u1 as the condition of a select), constants take given values."""

    def __init__(self, rule: Rule, prim: Prim, casts: tuple[Prim, ...], numbers: dict[str, Any]) -> None:
        self.kernel = Kernel("k", ())
        self.casts, self.numbers = list(casts), numbers
        self.args: dict[str, Arg] = {}
        root = self.build(rule.pattern, prim)
        assert isinstance(root, Op)
        self.root = root

    def put(self, op: Op) -> Op:
        return self.kernel.body.insert(op)

    def build(self, part: Expression, prim: Prim) -> Value:
        if isinstance(part, Variable) and part.constant:
            return self.put(Const(self.numbers[part.name], type=prim))
        if isinstance(part, Variable):
            if part.name not in self.args:
                self.args[part.name] = Arg(len(self.args), type=prim, name=part.name)
                self.put(self.args[part.name])
            return self.args[part.name]
        if isinstance(part, Fixed):
            ones = -1 if prim.is_signed else 2**prim.bits - 1
            value = ones if isinstance(part.value, str) else part.value
            return self.put(Const(cast_value(value, prim).item(), type=prim))
        assert isinstance(part, Apply)
        return self.put(self.apply(part, prim))

    def apply(self, part: Apply, prim: Prim) -> Op:
        if part.kind == "select":
            return Select(self.build(part.args[0], u1), *(self.build(arg, prim) for arg in part.args[1:]))
        if part.kind == "cast":
            target = self.casts.pop()  # the innermost cast has the first type
            return Cast(self.build(part.args[0], prim), type=target)
        if part.kind in UNARY:
            return Unary(part.kind, self.build(part.args[0], prim))
        first, second = part.args
        if isinstance(first, Fixed) or (isinstance(first, Variable) and first.constant):
            right = self.build(second, prim)
            return Binary(part.kind, self.build(first, right.type), right)
        left = self.build(first, prim)
        return Binary(part.kind, left, self.build(second, left.type))


def compute(value: Value, inputs: dict[Value, Any]) -> Any:
    if value in inputs:
        return inputs[value]
    assert isinstance(value, Op)
    xs = [compute(operand, inputs) for operand in value.operands]
    if isinstance(value, Const):
        return cast_value(value.value, value.type)
    if isinstance(value, Cast):
        return cast_value(xs[0], value.type)
    if isinstance(value, Select):
        return np.where(*xs)
    assert isinstance(value, (Unary, Binary))
    return (UNARY if isinstance(value, Unary) else BINARY)[value.kind].evaluate(*xs)


def parts(pattern: Expression) -> Iterator[Expression]:
    yield pattern
    if isinstance(pattern, Apply):
        for arg in pattern.args:
            yield from parts(arg)


def instances(rule: Rule) -> Iterator[Tree]:
    """The rule's pattern in every type and with every constant that gives well-typed IR."""
    inside = list(parts(rule.pattern))
    names = sorted({part.name for part in inside if isinstance(part, Variable) and part.constant})
    casts = sum(isinstance(part, Apply) and part.kind == "cast" for part in inside)
    for prim, *targets in product(CAST_TYPES if casts else TYPES, *[CAST_TYPES] * casts):
        choices = constants(targets[-1] if targets else prim)
        for numbers in product(choices, repeat=len(names)):
            try:
                tree = Tree(rule, prim, tuple(targets[::-1]), dict(zip(names, numbers)))
            except TypeError:
                continue
            if well_typed(tree.root):
                yield tree


def well_typed(value: Value) -> bool:
    """As `infer_types` leaves it: operands of one type, and of a type that the operator does not promote."""
    if not isinstance(value, Op) or not all(map(well_typed, value.operands)):
        return False
    if isinstance(value, Binary):
        typing = BINARY[value.kind].typing
        prim = value.lhs.type
        if prim is not value.rhs.type or (prim is u1 and typing not in ("bits", "compare")):
            return False
        return prim in FLOATS or typing != "float"
    if isinstance(value, Unary):
        typing = UNARY[value.kind].typing
        integer_only = value.x.type is u1 and value.kind not in ("not", "bit_not")
        return not integer_only and (value.x.type in FLOATS or typing != "float")
    return True


def agree(a: Any, b: Any, fast: bool, scale: float) -> bool:
    """Bit by bit, all NaNs alike; for fast rules up to rounding of terms as large as `scale`, as they may cancel."""
    a, b = np.broadcast_arrays(a, b)
    if a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    if fast:
        limits = np.finfo(a.dtype)
        with np.errstate(all="ignore"):
            near = np.allclose(a, b, rtol=8 * limits.eps, atol=limits.tiny + scale * limits.eps, equal_nan=True)
        return near and bool(np.array_equal(np.isfinite(a), np.isfinite(b)))
    same = (a == b) & (np.signbit(a) == np.signbit(b)) | (np.isnan(a) & np.isnan(b))
    return bool(same.all())


@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
def test_both_sides_agree(rule: Rule) -> None:
    assert isinstance(rule.pattern, Apply)
    match = compile_rules([rule], fast_math=True)[rule.pattern.kind]
    fired = 0
    for tree in instances(rule):
        build = Rewriter([])
        build.block = tree.kernel.body
        result = match(tree.root, build)
        if result is None:
            continue
        fired += 1
        assert result.type is tree.root.type
        grid = np.meshgrid(*[samples(arg.type) for arg in tree.args.values()])  # type: ignore[arg-type]
        inputs: dict[Value, Any] = dict(zip(tree.args.values(), grid))
        before, after = compute(tree.root, inputs), compute(result, inputs)
        scale = max([abs(number) for number in tree.numbers.values() if np.isfinite(number)], default=0)
        assert agree(before, after, rule.fast, scale), f"{tree.numbers} {tree.root.type}\n{before}\n{after}"
    assert fired


def test_fast_rules_need_fast_math() -> None:
    exact = [rule for rule in RULES if not rule.fast]
    assert compile_rules(exact, False).keys() <= compile_rules(RULES, False).keys() <= compile_rules(RULES, True).keys()
    fast = [rule for rule in RULES if rule.fast]
    assert fast
    assert not compile_rules(fast, False)


def test_names_are_unique() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
