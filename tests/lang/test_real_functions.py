"""`@real_func`: compiled once, called for real, recursive."""

from __future__ import annotations

import pytest

import weft as ti
from weft.ir.errors import CompilationError

S = ti.types.struct(a=ti.i32, v=ti.math.vec2)


@ti.experimental.real_func
def fib(n: ti.i32) -> ti.i32:
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


@ti.real_func
def odd(n: ti.i32) -> ti.u1:
    r = False
    if n > 0:
        r = even(n - 1)
    return r


@ti.real_func
def even(n: ti.i32) -> ti.u1:
    r = True
    if n > 0:
        r = odd(n - 1)
    return r


@ti.real_func
def doubled(s: S, again: ti.u1) -> S:
    s.a += 1
    s.v *= 2.0
    r = s
    if again:
        r = doubled(s, False)
    return r


@ti.real_func
def both(a: ti.i32) -> (ti.i32, ti.f32):
    return a, a / 2


@pytest.fixture(params=["cpu", "python"], autouse=True)
def arch(request: pytest.FixtureRequest) -> None:
    ti.init(arch=getattr(ti, request.param), debug=True)


def test_recursion_in_parallel():
    x = ti.field(ti.i32, 20)

    @ti.kernel
    def k():
        for i in x:
            x[i] = fib(i) * 10
            if even(i) and not odd(i):
                x[i] += 1

    k()
    a, b = 0, 1
    for i in range(20):
        assert x[i] == a * 10 + (i % 2 == 0)
        a, b = b, a + b


def test_structs_vectors_and_tuples():
    @ti.kernel
    def k() -> ti.f32:
        s = S(a=1, v=ti.math.vec2(1, 2))
        r = doubled(s, True)
        p, q = both(7)
        return r.a * 1000 + r.v.sum() * 100 + p + q + s.a / 8

    assert k() == 3000 + 1200 + 7 + 3.5 + 0.125


def test_what_it_writes_is_seen():
    x, y = ti.field(ti.i32, 8), ti.field(ti.i32, ())

    @ti.real_func
    def bump(i: ti.i32):
        x[i] += y[None]
        n = 0
        while n < 3:
            n += 1
            if n == 2 and i % 2 == 0:
                return
            x[i] += 100

    @ti.kernel
    def k():
        y[None] = 5
        for i in x:
            before = x[i]
            bump(i)
            x[i] += x[i] - before
        y[None] += x[1]

    k()
    assert x.to_numpy().tolist() == [210, 610] * 4
    assert y[None] == 615


def test_it_is_compiled_once():
    ti.init(arch=ti.cpu)

    @ti.real_func
    def f(a: ti.f32) -> ti.f32:
        return ti.sin(a) * 2

    @ti.kernel
    def k(a: ti.f32) -> ti.f32:
        return f(a) + f(a + 1) + f(a + 2)

    assert k(0) == pytest.approx(2 * (0.8414710 + 0.9092974), rel=1e-5)


def test_wrong_arguments_and_random_numbers():
    ti.init(arch=ti.cpu)

    @ti.real_func
    def f(v: ti.math.vec3) -> ti.f32:
        return v.x

    @ti.real_func
    def g(a: ti.f32) -> ti.f32:
        return a * ti.random()

    @ti.kernel
    def k() -> ti.f32:
        return f(ti.Vector([1.0, 2.0]))

    @ti.kernel
    def r() -> ti.f32:
        return g(1.0)

    with pytest.raises(CompilationError, match="argument 'v' of 'f' is"):
        k()
    with pytest.raises(CompilationError, match="draws random numbers"):
        r()
