"""What a `@real_func` is given: numbers and matrices by value; arrays, fields and their elements themselves."""

import numpy as np
import pytest

import weft
from weft.ir.errors import CompilationError, TypeMismatch
from weft.lang.errors import ArgumentError

S = weft.types.struct(a=weft.i32, v=weft.math.vec2)


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


def test_writes_of_a_function_to_an_array_are_visible_to_its_caller(ti):
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


def test_defaults_and_keywords(ti):
    @ti.real_func
    def f(a: ti.i32, b: ti.i32 = 7, *, c: ti.i32 = 1) -> ti.i32:
        return a * 100 + b * 10 + c

    @ti.kernel
    def k() -> ti.types.vector(3, ti.i32):
        return ti.Vector([f(1), f(b=2, a=3), f(4, c=5)])

    assert k().to_list() == [171, 321, 475]


@pytest.mark.parametrize("is_real", [True, False])
def test_references_are_the_callers_numbers(ti, is_real):
    function = ti.real_func if is_real else ti.func
    x = ti.field(ti.i32, 3)
    pairs = ti.Vector.field(2, ti.f32, 2)

    @function
    def add(to: ti.ref(ti.i32), n: ti.i32):
        to += n

    @function
    def twice(a: ti.types.ref(float)) -> ti.f32:
        before = a
        a = a * 2
        return before

    @ti.kernel
    def k() -> ti.types.vector(4, ti.f32):
        a, b = 3, 1.5
        add(a, 4)
        add(to=a, n=1)
        c = twice(b)
        for i in range(30):
            add(x[i % 3], 2)
        twice(pairs[1][0])
        return ti.Vector([a, b, c, twice(pairs[1].x)])

    pairs[1] = [5, 7]
    assert k().to_list() == [8, 3, 1.5, 10]
    assert x.to_numpy().tolist() == [20, 20, 20]
    assert pairs.to_numpy().tolist() == [[0, 0], [20, 7]]


def test_references_may_recur(ti):
    @ti.real_func
    def factorial(n: ti.i32, product: ti.ref(ti.f32)):
        if n > 1:
            product *= n
            factorial(n - 1, product)

    @ti.kernel
    def k() -> ti.f32:
        product = 1.0
        factorial(5, product)
        return product

    assert k() == 120


@pytest.mark.parametrize("is_real", [True, False])
def test_arguments_that_cannot_be_references(ti, is_real):
    @(ti.real_func if is_real else ti.func)
    def add(to: ti.ref(ti.i32), n: ti.i32):
        to += n

    @ti.kernel
    def a_number():
        add(3, 4)

    @ti.kernel
    def a_result():
        a = 1
        add(a + 1, 4)

    @ti.kernel
    def another_type():
        a = 1.5
        add(a, 4)

    for kernel, message in (
        (a_number, "argument 'to' of 'add' must be a reference to i32: pass a variable, or an element"),
        (a_result, "argument 'to' of 'add' must be a reference to i32: pass a variable, or an element"),
        (another_type, "argument 'to' of 'add' must be a reference to i32, not to f32"),
    ):
        with pytest.raises(TypeMismatch, match=message):
            kernel()

    @ti.kernel
    def of_kernel(a: ti.ref(ti.i32)):
        a += 1

    with pytest.raises(
        CompilationError, match="parameter 'a' of kernel 'of_kernel': a kernel takes its arguments by value"
    ):
        of_kernel(1)
    with pytest.raises(TypeMismatch):
        ti.ref(ti.math.vec2)


@pytest.mark.parametrize("count", [4, 3000])
def test_recursion_below_large_arrays(ti, count):
    """The arrays of a loop and of the function take no part of the stack that is left for calls."""
    table = ti.types.vector(count, ti.i32)
    small = ti.types.vector(8, ti.i32)
    x = ti.field(ti.i32, 8)

    @ti.real_func
    def climb(n: ti.i32, k: ti.i32) -> ti.i32:
        own = small(n)
        own[(n + k) % 8] += k
        if n > 0:
            own[k % 8] += climb(n - 1, k)
        return own[n % 8] + own[k % 8]

    @ti.kernel
    def run():
        for i in x:
            seen = table(i)
            for k in range(4):
                seen[(k * i) % count] += climb(k, i)
            x[i] = seen[i % count] + seen[0]

    def expected(i):
        def climb(n, k):
            own = [n] * 8
            own[(n + k) % 8] += k
            if n > 0:
                own[k % 8] += climb(n - 1, k)
            return own[n % 8] + own[k % 8]

        seen = [i] * count
        for k in range(4):
            seen[(k * i) % count] += climb(k, i)
        return seen[i % count] + seen[0]

    run()
    assert x.to_numpy().tolist() == [expected(i) for i in range(8)]
