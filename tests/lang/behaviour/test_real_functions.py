"""`@real_func`: compiled once, called for real, recursive."""

import numpy as np
import pytest

import weft
from weft.ir.errors import CompilationError
from weft.lang.errors import ArgumentError
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


def test_matrices_are_passed_by_value(ti):
    @ti.real_func
    def f(m: ti.math.mat2, v: ti.math.vec2) -> (ti.math.mat2, ti.math.vec2):
        m[0, 0] += 1
        return m * 2, m @ v

    @ti.kernel
    def k() -> ti.types.vector(3, ti.f32):
        m = ti.math.mat2(1)
        a, b = f(m, ti.math.vec2(1, 2))
        c = a @ b
        return ti.math.vec3(c.x, c.y, m[0, 0])

    assert k().to_list() == [22, 14, 1]


def test_what_it_writes_is_seen(ti):
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


def test_fields_as_template_arguments_make_instances(ti):
    x, y = ti.field(ti.i32, 4), ti.field(ti.f32, 4)

    @ti.real_func
    def climb(to: ti.template(), n: ti.i32, scale: ti.template()) -> ti.i32:
        r = 0
        if n > 0:
            to[n] += n * scale
            r = n + climb(to, n - 1, scale)
        return r

    @ti.kernel
    def k() -> ti.i32:
        return climb(x, 3, 1) + climb(y, 2, 0.5) + climb(x, 1, 10)

    assert k() == 6 + 3 + 1
    assert x.to_numpy().tolist() == [0, 11, 2, 3]
    assert y.to_numpy().tolist() == [0, 0.5, 1, 0]


def test_a_template_number_may_count_the_recursion(ti):
    @ti.real_func
    def power(x: ti.f32, n: ti.template()) -> ti.f32:
        r = 1.0
        if ti.static(n > 0):
            r = x * power(x, n - 1)
        return r

    @ti.kernel
    def k(x: ti.f32) -> ti.f32:
        return power(x, 5)

    assert k(2) == 32


def test_arrays_are_passed_themselves(ti):
    @ti.real_func
    def total(a: ti.types.ndarray(dtype=ti.f32, ndim=1), n: ti.i32) -> ti.f32:
        r = 0.0
        if n >= 0:
            r = a[n] + total(a, n - 1)
            a[n] += 1
        return r

    @ti.real_func
    def corner(a: ti.types.ndarray()) -> ti.i32:
        return a.shape[0] * 100 + a.shape[1] * 10 + a[1, 1]

    @ti.kernel
    def k(a: ti.types.ndarray(), b: ti.types.ndarray(), c: ti.types.ndarray()) -> ti.types.vector(3, ti.f32):
        return ti.math.vec3(total(a, 3), total(b, 1), corner(c))

    a, b = np.arange(4, dtype=np.float32), np.arange(6, dtype=np.float32)
    c = np.arange(24, dtype=np.int32).reshape(4, 6)
    assert k(a, b[::3], c[:, ::2]).to_list() == [6, 3, 400 + 30 + 8]
    assert a.tolist() == [1, 2, 3, 4]
    assert b.tolist() == [1, 1, 2, 4, 4, 5]


def test_what_it_writes_to_an_array_is_seen_in_between(ti):
    @ti.real_func
    def put(a: ti.types.ndarray(dtype=ti.i32, ndim=1), i: ti.i32, v: ti.i32):
        a[i] = v

    @ti.kernel
    def k(a: ti.types.ndarray(dtype=ti.i32, ndim=1), b: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in range(4):
            before = a[i]
            put(a, i, before + 10)
            b[i] = a[i] * 100 + before

    a, b = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    k(a, b)
    assert a.tolist() == [10, 11, 12, 13]
    assert b.tolist() == [1000, 1101, 1202, 1303]


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
        record().v.x  # noqa: B018
        inlined().y  # noqa: B018

    k()
    assert x[None] == 122


def test_read_only_arrays_stay_as_they_are(ti):
    @ti.real_func
    def put(a: ti.types.ndarray(dtype=ti.i32, ndim=1), i: ti.i32):
        if i > 0:
            a[i] = i
            put(a, i - 1)

    @ti.real_func
    def hand_on(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        put(a, 3)

    @ti.kernel
    def k(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        hand_on(a)

    a = np.zeros(4, np.int32)
    k(a)
    assert a.tolist() == [0, 1, 2, 3]
    a.flags.writeable = False
    with pytest.raises(ArgumentError, match="'a' is a read-only array"):
        k(a)


def test_elements_as_template_arguments_are_places(ti):
    x = ti.Vector.field(2, ti.i32, 5)
    s = S.field(shape=3)

    @ti.real_func
    def add(to: ti.template(), n: ti.i32):
        if n > 0:
            to += n
            add(to, n - 1)

    @ti.real_func
    def grow(one: ti.template()):
        one.a += 1
        one.v.y = 7

    @ti.kernel
    def k():
        for i in range(40):
            add(x[i % 5], 2)
            add(x[i % 5][1], 1)
        for i in s:
            grow(s[i])

    k()
    assert x.to_numpy().tolist() == [[24, 32]] * 5
    assert [s[i].a for i in range(3)] == [1, 1, 1]
    assert [s[i].v.to_list() for i in range(3)] == [[0, 7]] * 3


def test_variables_as_template_arguments_are_handed_back(ti):
    @ti.real_func
    def halve(v: ti.template(), s: ti.template(), n: ti.i32) -> ti.i32:
        if n == 0:
            return 100
        v[n - 1] /= 2
        s.a += n
        return halve(v, s, n - 1) + 1

    @ti.kernel
    def k() -> ti.types.vector(4, ti.f32):
        v = ti.math.vec2(4, 8)
        s = S(a=10, v=v)
        r = halve(v, s, 2)
        return ti.math.vec4(v.x, v.y, s.a, r)

    assert k().to_list() == [2, 4, 13, 102]


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


def test_defaults_and_keywords(ti):
    @ti.real_func
    def f(a: ti.i32, b: ti.i32 = 7, *, c: ti.i32 = 1) -> ti.i32:
        return a * 100 + b * 10 + c

    @ti.kernel
    def k() -> ti.types.vector(3, ti.i32):
        return ti.Vector([f(1), f(b=2, a=3), f(4, c=5)])

    assert k().to_list() == [171, 321, 475]


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
        (k1, "argument 'v' of 'f' is"),
        (k2, "this function returns a value, but has no '-> type'"),
        (lambda: k3(np.zeros(3, np.float32)), "argument 'a' of 'h' is an array with axes 2, got 1"),
        (k4, "no end to the instances"),
        (k5, "argument 'a' of 'h' must be an array"),
    ):
        with pytest.raises(CompilationError, match=message):
            call()
