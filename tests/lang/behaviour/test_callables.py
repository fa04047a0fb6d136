"""What may stand where a function is called: bound and partial ones, objects, `super()`, properties, dicts."""

from functools import partial, wraps

import pytest

from weft.ir.errors import CompilationError


def test_super(ti):
    @ti.data_oriented
    class Base:
        def __init__(self, n):
            self.n = n

        @ti.func
        def scaled(self, x):
            return x * self.n

    @ti.data_oriented
    class Middle(Base):
        @ti.func
        def scaled(self, x):
            return super().scaled(x) + 1

    @ti.data_oriented
    class Top(Middle):
        @ti.func
        def scaled(self, x):
            return super().scaled(x) * 10 + super(Middle, self).scaled(x) + Base.scaled(self, 1)

        @ti.kernel
        def run(self, x: ti.i32) -> ti.i32:
            return self.scaled(x)

    assert Top(3).run(2) == (2 * 3 + 1) * 10 + 2 * 3 + 3


def test_super_outside_of_a_method(ti):
    @ti.func
    def alone():
        return super().x

    @ti.kernel
    def k() -> ti.i32:
        return alone()

    with pytest.raises((CompilationError, RuntimeError), match=r"super\(\)"):
        k()


def test_partial_functions_and_objects(ti):
    class Scale:
        def __init__(self, by):
            self.by = by

        @ti.func
        def __call__(self, x, shift=0):
            return x * self.by + shift

    @ti.func
    def f(a, b, c):
        return a * 100 + b * 10 + c

    first, double = partial(f, 1, c=3), Scale(2)
    again = partial(double, shift=5)

    @ti.kernel
    def k(n: ti.i32) -> ti.types.vector(3, ti.i32):
        return ti.Vector([first(n), double(n), again(n)])

    assert k(2).to_list() == [123, 4, 9]


def test_properties_class_methods_and_static_ones(ti):
    @ti.data_oriented
    class A:
        start = 7

        def __init__(self):
            self._n = 4

        @property
        def n(self):
            return self._n * 2

        @classmethod
        @ti.func
        def of_class(cls, x):
            return x * cls.start

        @staticmethod
        @ti.func
        def of_nobody(x):
            return x + 1

        @ti.kernel
        def run(self, x: ti.i32) -> ti.types.vector(3, ti.i32):
            return ti.Vector([self.n, self.of_class(x), A.of_nobody(x)])

        @staticmethod
        @ti.kernel
        def plain(x: ti.i32) -> ti.i32:
            return A.of_nobody(x)

        @classmethod
        @ti.kernel
        def on_class(cls) -> ti.i32:
            return cls.start

        @property
        @ti.kernel
        def value(self) -> ti.i32:
            return self._n

    a = A()
    assert a.run(3).to_list() == [8, 21, 4]
    assert (A.plain(5), a.plain(5), A.on_class(), a.on_class(), a.value) == (6, 6, 7, 7, 4)


def test_methods_come_from_the_first_base_that_has_them(ti):
    class Left:
        @ti.func
        def f(self):
            return 1

    class Right:
        @ti.func
        def f(self):
            return 2

        @ti.func
        def g(self):
            return 30

    @ti.data_oriented
    class Both(Left, Right):
        @ti.kernel
        def run(self) -> ti.i32:
            return self.f() + self.g()

    assert Both().run() == 31


def test_functions_in_containers_and_under_other_decorators(ti):
    def traced(function):
        @wraps(function)
        def run(*args, **keywords):
            return function(*args, **keywords)

        return run

    @ti.func
    def up(x):
        return x + 1

    @ti.func
    def double(x):
        return x * 2

    table, order = {"up": up, "double": double}, [up, double]

    @traced
    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        r = n
        for f in ti.static(order):
            r = r * 10 + f(n)
        return r * 100 + table["up"](n) + table["double"](n)

    assert k(3) == (34 * 10 + 6) * 100 + 4 + 6


def test_stars(ti):
    given, named = (1, 2), {"c": 3}

    @ti.func
    def total(first, *rest, **more):
        s = first
        for x in ti.static(rest):
            s = s * 10 + x
        return s * 10 + more["c"]

    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        return total(n, *given, **named)

    assert k(4) == 4123


def test_a_class_of_code_that_belongs_to_no_module(ti):
    """Python says of it that it is of the module of int."""
    space = {"ti": ti}
    exec("@ti.data_oriented\nclass Thing:\n    n = 3\n\nthing = Thing()", space)
    thing = space["thing"]

    @ti.kernel
    def run() -> ti.i32:
        return thing.n

    assert run() == 3
