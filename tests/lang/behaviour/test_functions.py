"""`@func`, templates, arguments and results of kernels, classes, closures."""

import math

import numpy as np
import pytest

from weft.lang.errors import ArgumentError

pytestmark = pytest.mark.filterwarnings("ignore::weft.PrecisionWarning")  # values are cut short on purpose


def test_nested_calls_and_early_returns(ti):
    @ti.func
    def clamp(x, low, high):
        if x < low:
            return low
        if x > high:
            return high
        return x

    @ti.func
    def first_divisor(n):
        for d in range(2, n):
            if n % d == 0:
                return d
        return n

    @ti.func
    def both(n):
        return clamp(first_divisor(n) + first_divisor(n + 1), 5, 40)

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        return both(n)

    def expected(n):
        def divisor(k):
            return next((d for d in range(2, k) if k % d == 0), k)

        return min(max(divisor(n) + divisor(n + 1), 5), 40)

    assert [run(n) for n in range(3, 40)] == [expected(n) for n in range(3, 40)]


def test_returns_from_loops_within_loops(ti):
    @ti.func
    def find(n):
        for i in range(n):
            j = 0
            while j < i:
                if i * j == 42:
                    return i * 100 + j
                j += 1
        return -1

    x = ti.field(ti.i32, 20)

    @ti.kernel
    def run():
        for i in x:
            x[i] = find(i)

    run()
    expected = [next((i * 100 + j for i in range(n) for j in range(i) if i * j == 42), -1) for n in range(20)]
    assert x.to_numpy().tolist() == expected


def test_kernels_return_early(ti):
    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        if n < 0:
            return -1
        total = 0
        for _ in range(1):
            for i in range(n):
                total += i
        if total > 10:
            return 10
        return total

    assert [run(n) for n in (-5, 0, 3, 100)] == [-1, 0, 3, 10]


def test_arguments_of_functions_are_copies(ti):
    @ti.func
    def changed(x, v):
        x += 100
        v[0] = 50
        return x + v[0]

    @ti.kernel
    def run() -> ti.types.vector(3, ti.i32):
        a, v = 1, ti.Vector([2, 3])
        r = changed(a, v)
        return ti.Vector([a, v[0], r])

    assert run().to_list() == [1, 2, 151]


def test_template_arguments_are_references(ti):
    if ti.cfg.arch == "python":
        pytest.skip("a Python function cannot change a caller's number")

    @ti.func
    def add(x: ti.template(), v: ti.template(), n):
        x += n
        v[1] += n

    @ti.kernel
    def run() -> ti.types.vector(2, ti.i32):
        a, v = 1, ti.Vector([2, 3])
        add(a, v, 10)
        add(a, v, 5)
        return ti.Vector([a, v[1]])

    assert run().to_list() == [16, 18]


def test_template_fields_and_functions(ti):
    x, y = ti.field(ti.i32, 4), ti.field(ti.f32, (2, 2))

    @ti.func
    def twice(v):
        return v * 2

    @ti.func
    def square(v):
        return v * v

    @ti.kernel
    def fill(f: ti.template(), rule: ti.template(), start: ti.f32):
        for I in ti.grouped(f):
            f[I] = rule(I.sum() + start)

    fill(x, square, 1)
    fill(y, twice, 0.25)
    assert x.to_numpy().tolist() == [1, 4, 9, 16]
    assert y.to_numpy().tolist() == [[0.5, 2.5], [2.5, 4.5]]


def test_recursion_is_an_error(ti):
    if ti.cfg.arch == "python":
        pytest.skip("plain Python can recurse")

    @ti.func
    def down(n):
        return down(n - 1)

    @ti.kernel
    def run() -> ti.i32:
        return down(3)

    with pytest.raises(Exception, match="calls itself"):
        run()


def test_recursion_over_templates_ends(ti):
    @ti.func
    def power(x, n: ti.template()):
        result = x
        if ti.static(n > 1):
            result = x * power(x, n - 1)
        return result

    @ti.kernel
    def run(x: ti.i32) -> ti.i32:
        return power(x, 5)

    assert run(3) == 243


def test_typed_parameters_of_functions_cast(ti):
    @ti.func
    def half(x: ti.i32, y: ti.f64) -> ti.f64:
        return x / 2 + y

    @ti.kernel
    def run(x: ti.f32) -> ti.f64:
        return half(x, 1)

    assert run(5.9) == 3.5


def test_many_arguments(ti):
    mat, vec = ti.types.matrix(2, 3, ti.f32), ti.types.vector(2, ti.i64)

    @ti.kernel
    def run(
        a: ti.i8, b: ti.u16, c: ti.i64, d: ti.f16, e: ti.f64, m: mat, v: vec, arr: ti.types.ndarray(), n: int, x: float
    ) -> ti.f64:
        return ti.f64(a) + b + c + d + e + m[1, 2] + v[0] * v[1] + arr[1] + n + x

    arr = np.array([1, 2], np.int32)
    assert (
        run(-1, 60000, 2**33, 0.5, 0.25, [[0, 0, 0], [0, 0, 6]], [3, 4], arr, 7, 1.5)
        == 59999 + 2**33 + 0.75 + 6 + 12 + 2 + 8.5
    )


def test_keyword_and_default_arguments(ti):
    @ti.kernel
    def run(a: ti.i32, b: ti.i32 = 5, c: ti.i32 = 7) -> ti.i32:
        return a * 100 + b * 10 + c

    assert run(1) == 157
    assert run(1, c=2) == 152
    assert run(b=3, a=2, c=1) == 231


def test_wrong_arguments_are_errors(ti):
    @ti.kernel
    def run(a: ti.i32, v: ti.types.vector(2, ti.f32)) -> ti.i32:
        return a

    for bad in [(1,), (1, [1, 2], 3), ("x", [1, 2]), (1, [1, 2, 3]), (1, 5), (None, [1, 2]), (1.5, [1, 2])]:
        with pytest.raises(ArgumentError):
            run(*bad)
    assert run(1, [1, 2]) == 1


def test_captured_values_are_constants(ti):
    n, scale, table, names = 3, np.float64(0.5), (4, 5), {"k": 6}

    class Config:
        size = 7

    @ti.kernel
    def run() -> ti.f32:
        return n * scale + table[1] + names["k"] + Config.size + math.floor(math.pi)

    assert run() == 1.5 + 5 + 6 + 7 + 3


def test_kernels_made_in_a_loop(ti):
    def make(k):
        @ti.kernel
        def run(x: ti.i32) -> ti.i32:
            return x * k

        return run

    kernels = [make(k) for k in range(5)]
    assert [run(10) for run in kernels] == [0, 10, 20, 30, 40]


def test_data_oriented_classes(ti):
    @ti.data_oriented
    class Grid:
        def __init__(self, n, start):
            self.n, self.start = n, start
            self.x = ti.field(ti.f32, n)

        @ti.func
        def neighbour(self, i):
            return self.x[(i + 1) % self.n]

        @ti.kernel
        def fill(self):
            for i in self.x:
                self.x[i] = self.start + i

        @ti.kernel
        def total(self, scale: ti.f32) -> ti.f32:
            s = 0.0
            for i in range(self.n):
                s += self.neighbour(i) * scale
            return s

        def run(self):
            self.fill()
            return self.total(2)

    a, b = Grid(3, 0), Grid(5, 10)
    assert (a.run(), b.run()) == (6, 120)
    assert a.x.to_numpy().tolist() == [0, 1, 2]


def test_inheritance_of_data_oriented_classes(ti):
    @ti.data_oriented
    class Base:
        def __init__(self):
            self.x = ti.field(ti.i32, ())

        @ti.func
        def step(self):
            return 1

        @ti.kernel
        def run(self):
            self.x[None] += self.step()

    class Derived(Base):
        @ti.func
        def step(self):
            return 10

    a, b = Base(), Derived()
    a.run()
    b.run()
    b.run()
    assert (a.x[None], b.x[None]) == (1, 20)


def test_functions_in_both_scopes(ti):
    @ti.pyfunc
    def area(a, b):
        return a * b + 1

    @ti.kernel
    def run(x: ti.i32) -> ti.i32:
        return area(x, 3)

    assert run(5) == area(5, 3) == 16


def test_default_and_keyword_arguments_of_functions(ti):
    @ti.func
    def weighted(a, b=2, c=3):
        return a * 100 + b * 10 + c

    @ti.kernel
    def run() -> ti.types.vector(3, ti.i32):
        return ti.Vector([weighted(1), weighted(1, c=9), weighted(c=1, a=2, b=5)])

    assert run().to_list() == [123, 129, 251]


def test_functions_made_from_functions(ti):
    def compose(f, g):
        @ti.func
        def both(x):
            return f(g(x))

        return both

    @ti.func
    def twice(x):
        return 2 * x

    @ti.func
    def up(x):
        return x + 1

    f = compose(twice, compose(up, twice))

    @ti.kernel
    def run(x: ti.i32) -> ti.i32:
        return f(x)

    assert run(5) == 22


def test_what_is_assigned_to_an_underscore_is_thrown_away(ti):
    @ti.func
    def both(i):
        return ti.Vector([0.5, 1.5]), i + 1

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        total = 0
        ti.loop_config(serialize=True)
        for _ in range(n):
            _, found = both(total)
            total = found
        for _ in range(n):
            for _ in range(2):
                _ = 2.5
                total += 1
        _ = total
        return total

    assert run(3) == 3 + 6


def test_an_underscore_that_is_read_is_a_name_like_others(ti):
    @ti.kernel
    def doubled(n: ti.i32) -> ti.i32:
        _ = n
        if n > 0:
            _ = n * 2
        return _

    assert doubled(4) == 8

    @ti.kernel
    def changed() -> ti.i32:
        total = 0
        for _ in range(3):
            _ = 7
            total += _
        return total

    with pytest.raises(ti.TaichiCompilationError, match="'_' is the index of a loop"):
        changed()


def test_a_keyword_that_a_function_does_not_have(ti):
    @ti.func
    def add(a, b):
        return a + b

    @ti.kernel
    def run() -> ti.i32:
        return add(1, c=2)

    with pytest.raises(TypeError, match=r"'add' has no parameter 'c'; its parameters are \(a, b\)"):
        run()


def test_a_function_gives_the_common_type_of_each_of_its_calls(ti):
    @ti.func
    def larger(x, y):
        if x > y:
            return x
        return y

    @ti.func
    def shifted(x, y, n):
        return larger(x, y) << n

    @ti.kernel
    def run(a: ti.i16, b: ti.i64) -> ti.types.vector(4, ti.i64):
        found = ti.Vector([0, 0, 0, 0], ti.i64)
        found[0] = larger(a, a) << 20
        found[1] = larger(a, b) << 20
        found[2] = shifted(a, a, 20)
        found[3] = shifted(a, b, 20)
        return found

    assert run(5, 3).to_list() == [5 << 4, 5 << 20, 5 << 4, 5 << 20]
