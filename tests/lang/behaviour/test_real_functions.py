"""`@real_func`: compiled once, called for real, recursive."""

import numpy as np
import pytest

import weft
from weft.ir.errors import CompilationError
from weft.runtime.errors import KernelFault, RecursionFault

S = weft.types.struct(a=weft.i32, v=weft.math.vec2)


@weft.experimental.real_func
def fib(n: weft.i32) -> weft.i32:
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


@weft.real_func
def odd(n: weft.i32) -> weft.u1:
    r = False
    if n > 0:
        r = even(n - 1)
    return r


@weft.real_func
def even(n: weft.i32) -> weft.u1:
    r = True
    if n > 0:
        r = odd(n - 1)
    return r


@weft.real_func
def doubled(s: S, again: weft.u1) -> S:
    s.a += 1
    s.v *= 2.0
    r = s
    if again:
        r = doubled(s, False)
    return r


@weft.real_func
def both(a: weft.i32) -> (weft.i32, weft.f32):
    return a, a / 2


@weft.func
def twice(a):
    return a * 2


@weft.real_func
def chained(n: weft.i32) -> weft.i32:
    r = 1
    if n > 0:
        r = twice(chained(n - 1)) + twice(n)
    return r


@weft.real_func
def away(n: weft.i32) -> weft.i32:
    r = 1
    while r > 0:  # without the failure, it would go on for ever
        r = away(n + 1) + 1
    return r


def test_recursion_in_parallel(ti):
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


def test_structs_vectors_and_tuples(ti):
    @ti.kernel
    def k() -> ti.f32:
        s = S(a=1, v=ti.math.vec2(1, 2))
        r = doubled(s, True)
        p, q = both(7)
        return r.a * 1000 + r.v.sum() * 100 + p + q + s.a / 8

    assert k() == 3000 + 1200 + 7 + 3.5 + 0.125


def test_writes_of_real_functions_are_visible(ti):
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


def test_inlined_functions_inside(ti):
    @ti.kernel
    def k() -> ti.i32:
        return chained(4)

    assert k() == 2 * (2 * (2 * (2 * 1 + 2) + 4) + 6) + 8


def test_calls_whose_value_nobody_wants(ti):
    x = ti.field(ti.i32, ())

    @ti.real_func
    def number() -> ti.i32:
        x[None] += 1
        return 5

    @ti.real_func
    def record() -> S:
        x[None] += 10
        return S(a=1, v=ti.math.vec2(2, 3))

    @ti.func
    def inlined():
        x[None] += 100
        return ti.math.vec2(1, 2)

    @ti.kernel
    def k():
        number()
        number() + 1
        record()
        record().v.x
        inlined().y

    k()
    assert x[None] == 122


def test_methods(ti):
    @ti.data_oriented
    class Counter:
        def __init__(self, step):
            self.step, self.x = step, ti.field(ti.i32, 3)

        @ti.real_func
        def down(self, n: ti.i32) -> ti.i32:
            r = self.step
            if n > 0:
                self.x[n] += 1
                r += self.down(n - 1)
            return r

        @ti.kernel
        def run(self) -> ti.i32:
            return self.down(2)

    one, ten = Counter(1), Counter(10)
    assert (one.run(), ten.run()) == (3, 30)
    assert one.x.to_numpy().tolist() == ten.x.to_numpy().tolist() == [0, 1, 1]


def test_methods_of_structs(ti):
    @ti.real_func
    def _walk(self, n: ti.i32) -> ti.i32:
        r = 0
        if n > 0:
            self.at += n
            r = self.walk(n - 1) + 1
        return r

    @ti.dataclass
    class Walker:
        at: ti.i32
        walk = _walk

    @ti.kernel
    def k() -> ti.i32:
        w = Walker(5)
        steps = w.walk(3)
        return w.at * 10 + steps

    assert k() == 113


def test_random_numbers_do_not_depend_on_the_call(ti):
    x, y = ti.field(ti.f32, 6), ti.field(ti.f32, 6)

    @ti.real_func
    def called(n: ti.i32) -> ti.f32:
        r = ti.random()
        if n > 0:
            r += called(n - 1)
        return r

    @ti.func
    def inlined():
        a = ti.random()
        b = ti.random()
        return a + b

    @ti.kernel
    def by_call() -> ti.f32:
        for i in x:
            x[i] = called(1)
        return called(1)

    @ti.kernel
    def by_inlining() -> ti.f32:
        for i in y:
            y[i] = inlined()
        return inlined()

    ti.init(arch=ti.cfg.arch, random_seed=3)
    x, y = ti.field(ti.f32, 6), ti.field(ti.f32, 6)
    a = by_call()
    ti.init(arch=ti.cfg.arch, random_seed=3)
    first, x, y = x, ti.field(ti.f32, 6), ti.field(ti.f32, 6)
    del first
    assert by_inlining() == pytest.approx(a)


@pytest.mark.parametrize("parallel", [False, True])
def test_runaway_recursion_is_an_error(ti, parallel):
    x = ti.field(ti.i32, 3000)

    @ti.kernel
    def one() -> ti.i32:
        return away(0)

    @ti.kernel
    def many():
        for i in x:
            x[i] = away(i)

    with pytest.raises(RecursionFault, match=r"away|sys.setrecursionlimit"):
        many() if parallel else one()
    x.fill(3)  # the process and the device live on
    assert x[7] == 3


def test_deep_recursion_that_ends(ti):
    @ti.real_func
    def depth(n: ti.i32) -> ti.i32:
        r = 0
        if n > 0:
            r = depth(n - 1) + 1
        return r

    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        return depth(n)

    steps = 10_000 if ti.cfg.arch == "cpu" else 40
    assert k(steps) == steps


def test_a_failure_inside_unwinds(ti):
    ti.init(arch=ti.cfg.arch, debug=True)
    x = ti.field(ti.i32, ())

    @ti.real_func
    def check(n: ti.i32) -> ti.i32:
        assert n < 3, f"{n} is too many"
        return 1

    @ti.kernel
    def k():
        n = 0
        while n < 10:
            if check(n) == 0:
                n = 0  # for ever, if a failed call came back with zero
            n += 1
            x[None] = n

    with pytest.raises(KernelFault, match="3 is too many"):
        k()
    assert x[None] == 3


def test_mistakes(ti):
    @ti.real_func
    def f(v: ti.math.vec3) -> ti.f32:
        return v.x

    @ti.real_func
    def g(a: ti.f32):
        return a

    @ti.real_func
    def h(a: ti.types.ndarray(dtype=ti.f32, ndim=2)) -> ti.f32:
        return a[0, 0]

    @ti.real_func
    def endless(n: ti.template()) -> ti.i32:
        return endless(n + 1)

    @ti.kernel
    def k1() -> ti.f32:
        return f(ti.Vector([1.0, 2.0]))

    @ti.kernel
    def k2() -> ti.f32:
        return g(1.0)

    @ti.kernel
    def k3(a: ti.types.ndarray()) -> ti.f32:
        return h(a)

    @ti.kernel
    def k4() -> ti.i32:
        return endless(0)

    @ti.kernel
    def k5() -> ti.f32:
        return h(3.0)

    if ti.cfg.arch == "python":
        pytest.skip("arch=python finds mistakes of types as Python does: when it runs the line")
    for call, message in (
        (k1, "argument 'v' of 'f' must be of type f32x3"),
        (k2, "this function returns a value, but has no return annotation"),
        (lambda: k3(np.zeros(3, np.float32)), "argument 'a' of 'h' must be an array with axes 2, not 1"),
        (k4, "would have to be compiled without end"),
        (k5, "argument 'a' of 'h' must be an array"),
    ):
        with pytest.raises(CompilationError, match=message):
            call()


def test_updates_in_functions_are_atomic(ti):
    """Iterations that run at once are in the same function at once."""
    n = 300 if ti.cfg.arch == "python" else 200_000
    bins, total = ti.field(ti.i32, 3), ti.field(ti.i64, ())

    @ti.real_func
    def count(k: ti.i32, times: ti.i32):
        for _ in range(times):
            bins[k] += 1
        total[None] += k

    @ti.real_func
    def add(to: ti.template(), amount: ti.i32):
        to += amount

    @ti.kernel
    def run():
        for i in range(n):
            count(i % 3, 4)
            add(bins[i % 2], 2)

    run()
    i = np.arange(n)
    expected = [4 * (i % 3 == k).sum() + 2 * (i % 2 == k).sum() for k in range(3)]
    assert bins.to_numpy().tolist() == expected
    assert total[None] == (i % 3).sum()


def test_names_beyond_ascii(ti):
    größe = ti.field(ti.f32, 4)

    @ti.real_func
    def höhe(α: ti.f32) -> ti.f32:
        β = α * 2
        if β > 3:
            return β
        return höhe(β) + 1

    @ti.real_func
    def hähe(λ: ti.f32) -> ti.f32:
        return λ + 0.5

    @ti.kernel
    def größer(λ: ti.f32) -> ti.f32:
        Σ = 0.0
        for ι in größe:
            größe[ι] = höhe(λ) + hähe(ι)
            Σ += größe[ι]
        return Σ

    assert größer(1.5) == 36.0
    assert größe.to_numpy().tolist() == [7.5, 8.5, 9.5, 10.5]


@weft.real_func
def crossed(v: weft.f64, n: weft.i32) -> weft.f64:
    """A local of 17 KiB. Serial code of a kernel keeps such locals in memory of the kernel."""
    a = weft.Matrix.zero(weft.f64, 46, 46)
    for i, j in weft.ndrange(46, 46):
        a[i, j] = v
    for k in range(n):
        a[k % 46, (k * 7) % 46] = a[(k + 5) % 46, k % 46] + v * k
    s = weft.f64(0)
    for k in range(46):
        s += a[k, n % 46]
    return s


@weft.real_func
def crossed_again(v: weft.f64, n: weft.i32) -> weft.f64:
    """The same local in a function that calls itself while it has it."""
    a = weft.Matrix.zero(weft.f64, 46, 46)
    for i, j in weft.ndrange(46, 46):
        a[i, j] = v * n
    s = weft.f64(0)
    if n > 0:
        s = crossed_again(v * 0.5, n - 1)
    for k in range(46):
        s += a[k, n]
    return s


def test_each_thread_has_large_locals_of_its_own(ti):
    x, y = weft.field(weft.f64, 12), weft.field(weft.f64, 12)

    @weft.kernel
    def run():
        for i in x:
            y[i] = crossed(x[i], 50)

    def expected(v: float) -> float:
        a = np.full((46, 46), v)
        for k in range(50):
            a[k % 46, (k * 7) % 46] = a[(k + 5) % 46, k % 46] + v * k
        return a[:, 50 % 46].sum()

    values = np.linspace(0.0, 1.0, 12)
    x.from_numpy(values)
    run()
    np.testing.assert_allclose(y.to_numpy(), [expected(v) for v in values], rtol=1e-12)


def test_each_call_has_large_locals_of_its_own(ti):
    if ti.cfg.arch not in ("cpu", "python"):
        pytest.skip("a GPU would reserve such a stack for each of 270 000 threads")
    x, y = weft.field(weft.f64, 3), weft.field(weft.f64, 3)

    @weft.kernel
    def run():
        for i in x:
            y[i] = crossed_again(x[i], 3)

    x.from_numpy(np.linspace(0.0, 1.0, 3))
    run()
    np.testing.assert_allclose(y.to_numpy(), np.linspace(0.0, 1.0, 3) * 46 * (3 + 0.5 * 2 + 0.25), rtol=1e-12)
