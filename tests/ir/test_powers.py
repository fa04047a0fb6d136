"""Gradients of products of equal factors, and of quotients by powers of roots."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.ir.dual_kernels import kernel_of
from tests.ir.reverse_checks import PLAIN, in_mode, point_of, run
from tests.sampling import draws
from weft.ir.autodiff.powers import power_of
from weft.ir.config import CompileConfig
from weft.ir.core import Block, Builder, Value
from weft.ir.ops import Binary, Const, Kernel, Unary
from weft.ir.pipeline import run_passes
from weft.ir.text import print_ir
from weft.ir.types import f64

FAST = CompileConfig(verify=True)
EXACT = replace(PLAIN, verify=True)


def gradient_of(body: str, config: CompileConfig, x: float | None = None) -> tuple[Kernel, float, float]:
    """The gradient of a kernel that stores f(x, y) in `z`, and what it gives at the first element: by x, and by y. `x`:
    another one than usual."""
    loop = f"""parallel_for begins=[%c0], ends=[%c4] (%i: i32) {{
        %px = field_ptr @x[%i] : *f64  %x = load %px : f64  %py = field_ptr @y[%i] : *f64  %y = load %py : f64
        {body}  %pz = field_ptr @z[%i] : *f64  store %pz, %r }}"""
    made = run_passes(in_mode(kernel_of(loop), "vjp"), ("differentiate", "full_simplify"), config)
    before = point_of(kernel_of(loop), 1).before
    if x is not None:
        before = before | {"x": np.full(4, x)}
    grads = {f"{name}.grad": np.zeros_like(value) for name, value in before.items()} | {"z.grad": np.ones(4)}
    found = run(made, before | grads)
    return made, float(found["x.grad"][0]), float(found["y.grad"][0])


def kinds(kernel: Kernel) -> set[str]:
    return {op.kind for op in kernel.all_of(Unary, Binary)}  # type: ignore[attr-defined]


X, Y = (point_of(kernel_of(""), 1).before[name][0] for name in "xy")


def power(base: str, count: int, order: str = "%{0} = binary mul %{1}, {2} : f64") -> str:
    """Text that computes a product of so many factors `base`: %p1, %p2, ..."""
    return "  ".join(
        [f"%p1 = binary mul {base}, %one : f64"]
        + [order.format(f"p{k}", f"p{k - 1}", "%p1") for k in range(2, count + 1)]
    )


ONE = "%one = const 1.0 : f64  "


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("order", ["%{0} = binary mul %{1}, {2} : f64", "%{0} = binary mul {2}, %{1} : f64"])
def test_a_product_of_equal_factors(count: int, order: str) -> None:
    body = f"{ONE}{power('%x', count, order)}  %r = binary mul %p{count}, %y : f64"
    for config in (FAST, EXACT):
        made, by_x, by_y = gradient_of(body, config)
        np.testing.assert_allclose((by_x, by_y), (count * X ** (count - 1) * Y, X**count), rtol=1e-13)
        products = [op for op in made.all_of(Binary) if op.kind == "mul"]
        assert len(products) <= count + 3  # the power, times y, times z.grad, and times the count


def test_the_factors_of_long_products_are_found_at_once() -> None:
    """Products of earlier products take no time that grows as their number does, and long ones no depth of calls."""
    builder, x = Builder(Block()), Const(1.0, type=f64)
    before: Value = x
    last: Value = builder.add(Unary("sin", x))
    for _ in range(90):
        before, last = last, builder.add(Binary("mul", before, last))
    assert power_of(last) == (None, 0)
    power: Value = builder.add(Binary("mul", x, x))
    for _ in range(3000):
        power = builder.add(Binary("mul", x, power))
    assert power_of(power) == (x, 3002)


@pytest.mark.parametrize("config", [FAST, EXACT], ids=["fast", "exact"])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_a_quotient_by_a_power_of_a_root(count: int, config: CompileConfig) -> None:
    body = f"{ONE}%s = unary sqrt %x : f64  {power('%s', count)}  %r = binary div %y, %p{count} : f64"
    made, by_x, by_y = gradient_of(body, config)
    np.testing.assert_allclose((by_x, by_y), (-count / 2 * Y * X ** (-count / 2 - 1), X ** (-count / 2)), rtol=1e-13)
    assert (kinds(made) >= {"div", "sqrt"}) == (config is EXACT)
    assert ("rsqrt" in kinds(made)) == (config is FAST)


def test_a_quotient_of_a_tensor() -> None:
    """The divisor is a scalar for all elements."""
    body = f"""{ONE}%s = unary sqrt %x : f64  {power("%s", 3)}  %w = splat %p3 : f64x2
        %u = make_tensor [%y, %x] : f64x2  %q = binary div %u, %w : f64x2  %r = reduce add %q : f64"""
    made, by_x, by_y = gradient_of(body, FAST)
    np.testing.assert_allclose((by_x, by_y), (-1.5 * Y * X**-2.5 - 0.5 * X**-1.5, X**-1.5), rtol=1e-13)
    assert kinds(made).isdisjoint({"div", "sqrt"})


@pytest.mark.parametrize(
    ("body", "by_x"),
    [
        (f"{ONE}%s = unary exp %x : f64  {power('%s', 3)}  %r = binary div %y, %p3 : f64", -3 * Y * np.exp(-3 * X)),
        (
            """%s = unary sqrt %x : f64  %t = unary sqrt %y : f64  %m = binary mul %s, %t : f64
            %r = binary div %y, %m : f64""",
            -0.5 * np.sqrt(Y) * X**-1.5,
        ),
        (
            "%s = unary sqrt %x : f64  %m = binary mul %s, %x : f64  %r = binary div %y, %m : f64",
            -1.5 * Y * X**-2.5,
        ),
    ],
    ids=["another function", "two roots", "a root and its square"],
)
def test_other_divisors_remain(body: str, by_x: float) -> None:
    made, found, _ = gradient_of(body, FAST)
    np.testing.assert_allclose(found, by_x, rtol=1e-13)
    assert "div" in kinds(made), print_ir(made)


QUOTIENT = "%s = unary sqrt %x : f64  %q = binary div %y, %s : f64  "


@pytest.mark.parametrize(
    ("inside", "stays"),
    [
        ("%r = binary mul %q, %x : f64", False),
        ("%t = binary max %q, %x : f64  %r = binary mul %t, %x : f64", False),
        ("%l = alloca : *f64  store %l, %q  %t = load %l : f64  %r = binary mul %t, %t : f64", False),
        ("%b = binary lt %q, %x : u1  %r = select %b, %q, %y : f64", True),
        ("%f = unary floor %q : f64  %r = binary mul %f, %q : f64", True),
        ("%n = cast %q : i32  %m = binary and %n, %c1 : i32  %e = field_ptr @x[%m] : *f64  %r = load %e : f64", True),
        ("%n = cast %q : i32  %g = cast %n : f64  %r = binary mul %g, %q : f64", True),
        ("%r = binary mod %q, %x : f64", True),
        (
            """%l = alloca : *f64  store %l, %x  for %c0, %c4, %c1 (%n: i32) { %t = load %l : f64
            %u = binary add %t, %q : f64  store %l, %u }  %w = load %l : f64
            %b = binary lt %w, %y : u1  %r = select %b, %q, %w : f64""",
            True,
        ),
    ],
    ids=[
        "product",
        "larger one",
        "local",
        "comparison",
        "floor",
        "index",
        "whole number",
        "remainder",
        "what a local holds",
    ],
)
def test_quotients_that_decide_stay(inside: str, stays: bool) -> None:
    """The product may have other bits, and the gradient would be that of another branch or element."""
    made, *_ = gradient_of(QUOTIENT + inside, FAST)
    assert ("div" in kinds(made)) == stays, print_ir(made)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("config", [FAST, EXACT], ids=["fast", "exact"])
@pytest.mark.parametrize("top", [1.0, 3.0])
def test_a_quotient_that_is_masked_where_x_is_0(top: float, config: CompileConfig, count: int) -> None:
    """The derivative by x is 0 there, with `fast_math` and without, and no product of 0 and infinity."""
    body = f"""{ONE}%top = const {top} : f64  %zero = const 0.0 : f64  %s = unary sqrt %x : f64
        {power("%s", count)}  %q = binary div %top, %p{count} : f64  %b = binary gt %x, %zero : u1
        %r = select %b, %q, %y : f64"""
    _, by_x, by_y = gradient_of(body, config, x=0.0)
    assert (by_x, by_y) == (0, 1)


def test_random_products_and_quotients() -> None:
    """Random trees of products and quotients of x, y, their roots and earlier values, against differences."""
    for seed in range(draws(64)):
        random = np.random.default_rng(seed)
        values, lines = ["%x", "%y", "%s", "%t"], ["%s = unary sqrt %x : f64", "%t = unary sqrt %y : f64"]
        exponents = {"%x": (2, 0), "%y": (0, 2), "%s": (1, 0), "%t": (0, 1)}  # in halves: each value is a monomial
        for number in range(8):
            a = str(random.choice(values[-4:]))
            b = a if random.random() < 0.4 else str(random.choice(values))
            kind = "div" if random.random() < 0.35 else "mul"
            sign = -1 if kind == "div" else 1
            lines.append(f"%v{number} = binary {kind} {a}, {b} : f64")
            values.append(f"%v{number}")
            exponents[values[-1]] = tuple(i + sign * j for i, j in zip(exponents[a], exponents[b], strict=True))  # type: ignore[assignment]
        lines.append(f"%r = binary mul {values[-1]}, %x : f64")
        m, n = exponents[values[-1]][0] / 2 + 1, exponents[values[-1]][1] / 2
        _, by_x, by_y = gradient_of("  ".join(lines), FAST)
        wanted = (m * X ** (m - 1) * Y**n, n * X**m * Y ** (n - 1))
        np.testing.assert_allclose(
            (by_x, by_y), wanted, rtol=1e-10, atol=1e-12 * max(map(abs, wanted)), err_msg=f"{seed}"
        )
