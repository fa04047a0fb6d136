"""`init(check_nan=True)`, and divisions of integers by zero in debug mode: reported alike on every arch."""

import numpy as np
import pytest


@pytest.fixture
def checked(ti):
    """The language with both checks."""
    ti.init(arch=ti.cfg.arch, check_nan=True, debug=True)
    return ti


def said(fault):
    """What stands below the caret."""
    return str(fault.value).split("^\n")[-1].splitlines()


def test_the_first_number_that_is_none(checked):
    ti = checked
    x, v = ti.field(ti.f32, 5), ti.Vector.field(2, ti.f32, 5)
    y = ti.field(ti.f16, ())

    @ti.kernel
    def run(what: ti.template(), n: ti.f32):
        for i in range(2, 3):
            if ti.static(what == "quotient"):
                x[i] = n / (i - 2.0)
            elif ti.static(what == "function"):
                x[i] = ti.sqrt(n - 3) + 1
            elif ti.static(what == "vector"):
                v[i] = ti.Vector([n, 1.0]) * n
            elif ti.static(what == "matrix"):
                a = ti.Matrix([[n, 1.0], [2.0, 1.0]])
                v[i] = a @ a[:, 0]
            elif ti.static(what == "atomic"):
                x[i] += n
                x[i] += n
            elif ti.static(what == "library"):
                v[i] = ti.Vector([n, n]).normalized()
            else:
                y[None] = ti.cast(n, ti.f16)

    for what, n, message in (
        ("quotient", 1.0, "1.0 / 0.0 is inf"),
        ("quotient", 0.0, "0.0 / 0.0 is nan"),
        ("function", 1.0, "sqrt(-2.0) is nan"),
        ("vector", 1e30, "[1e+30, 1.0] * 1e+30 is [inf, 1e+30]"),
        ("atomic", 3e38, "3e+38 + 3e+38 is inf"),
        ("library", 0.0, "[0.0, 0.0] / 0.0 is [nan, nan]"),
        ("cast", 65536.0, "65536.0 is inf"),
    ):
        x.fill(0)
        with pytest.raises(ArithmeticError) as fault:
            run(what, n)
        assert said(fault) == [message, "where i = 2"], what
        run(what, 4.0) if what != "quotient" else None
    with pytest.raises(ArithmeticError, match=r"@ \[1e\+30, 2.0\] is \[inf, 2e\+30\]"):
        run("matrix", 1e30)


def test_what_was_none_before_is_not_reported(checked):
    ti = checked
    x = ti.field(ti.f32, 3)

    @ti.kernel
    def run(bad: ti.f32) -> ti.f32:
        least = ti.math.inf
        for i in x:
            ti.atomic_min(least, x[i])
            x[i] = bad * 2 + 1
        return ti.max(least, -ti.math.inf)

    x.fill(2)
    assert run(np.nan) == 2
    assert np.isnan(x.to_numpy()).all()
    run(np.inf)
    assert np.isinf(x.to_numpy()).all()


def test_a_side_that_is_not_taken_is_not_computed(checked):
    ti = checked

    @ti.kernel
    def run(n: ti.f32, k: ti.i32) -> ti.f32:
        inverse = 1 / n if n != 0 else 0.0
        rest = 7 % k if k != 0 else 0
        if n != 0 and 1 / n > 2:
            rest += 1
        return inverse + rest

    assert run(0.0, 0) == 0
    assert run(0.25, 4) == 4 + 3 + 1


def test_integer_division_by_zero(checked):
    ti = checked

    @ti.kernel
    def run(what: ti.template(), n: ti.i32) -> ti.i32:
        total = 0
        for i in range(5):
            if ti.static(what == "quotient"):
                total += 7 // (n - i)
            elif ti.static(what == "rest"):
                total += 7 % (n - i)
            else:
                total += (ti.Vector([7, 8]) // ti.Vector([1, n - i])).sum()
        return total

    for what, message in (
        ("quotient", "7 // 0 divides by zero"),
        ("rest", "7 % 0 divides by zero"),
        ("vector", "[7, 8] // [1, 0] divides by zero"),
    ):
        with pytest.raises(ArithmeticError) as fault:
            run(what, 3)
        assert said(fault) == [message, "where i = 3"]
        run(what, 9)


def test_without_checks_nothing_is_said(ti):
    @ti.kernel
    def run(n: ti.f32, k: ti.i32) -> ti.f32:
        return 1 / n + 7 // k

    assert run(0.0, 0) == np.inf
