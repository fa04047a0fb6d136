"""Functions and lambdas inside kernels, and kernels whose text is in no file."""

from __future__ import annotations

import pytest

import weft as ti
from weft.ir.errors import CompilationError


@pytest.fixture(params=["cpu", "python"], autouse=True)
def arch(request: pytest.FixtureRequest) -> None:
    ti.init(arch=getattr(ti, request.param))


def test_functions_inside_a_kernel():
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def k(s: ti.i32) -> ti.i32:
        r = 5

        def f(x, y=3):
            r = x * 2
            return r + y + s

        @ti.func
        def h(x: ti.i32) -> ti.i32:
            if x > 2:
                return 1
            return r

        g = lambda x: x + r  # noqa: E731
        for i in x:
            q = lambda a, b=2: a * b + i  # noqa: B023, E731
            x[i] = q(i) + f(i)
        return f(3) + g(1) + f(1, y=2) + h(3) + h(1) * 10 + (lambda v: v * v)(r)

    assert k(100) == 295
    assert x.to_numpy().tolist() == [103, 108, 113, 118]


def test_a_lambda_as_an_argument():
    @ti.func
    def apply(f: ti.template(), x):
        return f(x)

    @ti.kernel
    def k() -> ti.i32:
        n = 4
        return apply(lambda x: x + n, 3)

    assert k() == 7


def test_a_wrong_call_of_an_inner_function():
    ti.init(arch=ti.cpu)

    @ti.kernel
    def k() -> ti.i32:
        def f(a):
            return a

        return f(1, 2)

    with pytest.raises(CompilationError, match="'f' takes 1 arguments, got 2"):
        k()
