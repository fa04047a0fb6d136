"""Lambdas, from the program around a kernel and inside it: inlined like functions, wherever a function may stand."""
# ruff: noqa: E731

import pytest

import weft
from weft.ir.errors import CompilationError, TypeMismatch

twice, half = lambda v: v * 2, lambda v: v / 2
table = [lambda v: v + 1,
         lambda v: v * 10]  # fmt: skip
of_module, other = lambda v: weft.max(v, 3), lambda v: weft.min(v, 3)
by_name = {"less": lambda v: v - 1, "square": lambda v: v * v}
long = (
    lambda v,
           by=3:
        v +
        by
)  # fmt: skip


def test_from_the_module(ti):
    @ti.kernel
    def k(n: ti.i32) -> ti.types.vector(5, ti.f32):
        return ti.Vector([twice(n), half(n), by_name["square"](n), long(n), long(n, by=1)])

    assert k(5).to_list() == [10, 2.5, 25, 8, 6]


def test_what_calls_functions_of_an_imported_module(ti):
    of_closure, of_another = lambda v: weft.max(v, 4), lambda v: weft.min(v, 4)
    given = ti.func(lambda v: weft.abs(v) + weft.math.sign(v - 7))

    @ti.kernel
    def k(n: ti.i32) -> ti.types.vector(5, ti.i32):
        return ti.Vector([of_module(n), other(n), of_closure(n), of_another(n), given(n)])

    assert k(5).to_list() == [5, 3, 5, 4, 4]


def test_from_a_closure_a_class_and_an_object(ti):
    by = 3

    @ti.data_oriented
    class A:
        factor = 7
        scaled = ti.func(lambda self, v: v * self.factor)
        plain = lambda self, v: v + self.factor
        alone = staticmethod(lambda v: v * 2)

        def __init__(self):
            self.f = lambda v: v * by

        @ti.kernel
        def run(self, n: ti.i32) -> ti.types.vector(4, ti.i32):
            return ti.Vector([self.f(n), self.scaled(n), self.plain(n), self.alone(n)])

    a = A()
    assert a.run(2).to_list() == [6, 14, 9, 4]
    a.f = lambda v: v - 1
    assert a.run(2).to_list() == [1, 14, 9, 4]
    by = 5
    a.f = lambda v: v * by
    assert a.run(2).to_list() == [10, 14, 9, 4]


def test_passed_and_called_at_once(ti):
    @ti.func
    def of_template(f: ti.template(), v):
        return f(v)

    @ti.func
    def of_value(f, v):
        return f(v)

    @ti.func
    def with_default(v, f=lambda w: w * 3):
        return f(v)

    @ti.kernel
    def k(n: ti.i32) -> ti.types.vector(6, ti.i32):
        return ti.Vector([
            of_template(lambda v: v + n, 1),
            of_value(lambda v: v - n, 1),
            of_template(twice, n) + of_value(long, n),
            with_default(n),
            with_default(n, lambda v: v * v),
            (lambda v, w=2: v * w)(n),
        ])  # fmt: skip

    assert k(5).to_list() == [6, -4, 18, 15, 25, 10]


def test_as_an_argument_of_a_kernel(ti):
    @ti.kernel
    def k(f: ti.template(), n: ti.i32) -> ti.i32:
        return f(n)

    assert [k(f, 4) for f in (twice, lambda v: v + 30, twice, table[1])] == [8, 34, 8, 40]


def test_in_containers_and_static_loops(ti):
    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        s = 0
        for f in ti.static(table):
            s = s * 100 + f(n)
        for f in ti.static([lambda v: v, lambda v: v * 2]):
            s = s * 10 + f(n)
        return s

    assert k(3) == 43036


def test_assigned_in_a_kernel(ti):
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        by = 2
        f = lambda v, w=3: v * w + by
        add = lambda a: lambda b: a * 10 + b
        for i in x:
            g = lambda v: f(v) + i  # noqa: B023
            x[i] = g(n)
        by = 5
        return f(n) + f(n, w=1) * 1000 + add(n)(2) * 100000

    assert k(4) == 17 + 9 * 1000 + 42 * 100000
    assert x.to_numpy().tolist() == [14, 15, 16, 17]


def test_given_back_by_an_inner_function(ti):
    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        def adder(by):
            return lambda v: v + by

        def half(v):
            return v * 0.5

        def whole(v: ti.i32) -> ti.i32:
            return v * 1.9

        return ti.cast(adder(3)(n) * 1000 + half(n) * 100 + whole(half(n)), ti.i32)

    with pytest.warns(UserWarning, match="fraction is lost"):
        assert k(5) == 8000 + 250 + 3


def test_a_parameter_hides_what_is_outside(ti):
    v = ti.Vector([1.5, 2.5])

    @ti.kernel
    def k(n: ti.i32) -> ti.f32:
        f = lambda v: v // 2
        return f(n) + v[1]

    assert k(5) == 4.5


def test_the_common_type_of_what_a_function_chooses(ti):
    @ti.func
    def nonzero(v):
        return v != 0

    @ti.func
    def either(v, w):
        return v if nonzero(v) else w

    outer = lambda v, w: either(v, w)

    @ti.kernel
    def k(n: ti.i32) -> ti.types.vector(4, ti.f32):
        inner = lambda v, w: either(v, w)
        return ti.Vector([outer(n, 1.5) * 4, outer(n, 1) * 4, inner(n, 1.5) * 4, inner(n, 1) * 4])

    assert k(1 << 30).to_list() == [2.0**32, 0, 2.0**32, 0]


def test_rebound_lambdas_are_compiled_again(ti):
    f = lambda v: v + 1
    own = [lambda v: v * 2]

    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        return f(n) * 100 + own[0](n)

    assert k(3) == 406
    f = lambda v: v + 2
    own[0] = lambda v: v * 3
    assert k(3) == 509


def test_faults_name_the_place_in_the_lambda(ti):
    ti.init(arch=ti.cfg.arch, debug=True)
    x = ti.field(ti.f32, 4)
    read = lambda i: x[i] + 1.0

    @ti.kernel
    def k(n: ti.i32) -> ti.f32:
        s = 0.0
        for i in range(n):
            s += read(i)
        return s

    with pytest.raises(IndexError) as fault:
        k(7)
    text = str(fault.value)
    assert "in <lambda>\n    read = lambda i: x[i] + 1.0\n                     ^^^^\n" in text
    assert "s += read(i)" in text
    assert text.endswith("x[4] is out of bounds: its shape is (4,)\nwhere i = 4")


def test_mistakes(ti):
    @ti.kernel
    def too_many(n: ti.i32) -> ti.i32:
        return twice(n, 1)

    with pytest.raises(TypeMismatch, match=r"'<lambda>' takes 1 argument \(v\), got 2"):
        too_many(1)
    recursive = lambda n: n * recursive(n - 1) if n > 1 else 1

    @ti.kernel
    def endless(n: ti.i32) -> ti.i32:
        return recursive(n)

    with pytest.raises(CompilationError, match="'<lambda>' calls itself"):
        endless(3)

    @ti.kernel
    def chosen_too_late(n: ti.i32) -> ti.i32:
        f = lambda v: v
        if n > 2:
            f = lambda v: v + 1
        return f(n)

    with pytest.raises(CompilationError, match="'f' is a compile-time value"):
        chosen_too_late(3)
    with pytest.raises(CompilationError, match="parameter 'n' of kernel '<lambda>' has no type"):
        ti.kernel(lambda n: n + 1)(3)
