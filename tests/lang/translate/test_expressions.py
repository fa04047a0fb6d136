"""What expressions mean in kernels: types, promotion, vectors, structs, functions of the language."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import weft as ti


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    ti.init(arch=ti.cpu)
    yield
    ti.reset()


def test_arithmetic_follows_python_and_promotes() -> None:
    @ti.kernel
    def k(a: ti.i32, b: ti.f32) -> ti.types.vector(10, ti.f64):
        return ti.Vector([a / 2, a // 2, -a // 2, -a % 3, a**2, a + b, a << 1, a >> 1, ~a, (-a) & 6], dt=ti.f64)

    assert k(7, 0.5).to_list() == [3.5, 3, -4, 2, 49, 7.5, 14, 3, -8, 0]


def test_comparison_chains_and_truth() -> None:
    @ti.kernel
    def k(a: ti.i32, b: ti.f32) -> ti.types.vector(6, ti.i32):
        return ti.Vector(
            [1 < a < 5, a > 1 and b < 1.0, a > 1 or b < 1.0, not a, 1 if a > 2 else 0, ti.select(a > 2, 7, 9)]
        )

    assert k(3, 2.5).to_list() == [1, 0, 1, 0, 1, 7]
    assert k(0, 0.5).to_list() == [0, 0, 1, 1, 0, 9]


def test_short_circuit_guards_an_index() -> None:
    ti.init(arch=ti.cpu, debug=True)
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def k(i: ti.i32) -> ti.i32:
        return 1 if i < 4 and x[i] == 0 else 0

    assert k(2) == 1
    assert k(100) == 0


def test_math_and_casts() -> None:
    @ti.kernel
    def k(b: ti.f32) -> ti.types.vector(8, ti.f32):
        return ti.Vector(
            [
                ti.sin(b) + math.cos(b),
                ti.sqrt(b),
                ti.cast(b * 1.7, ti.i32),
                int(b) + ti.i32(b) + float(3),
                abs(-b) + max(b, 2, 3.0) + min(1, b),
                ti.floor(b) + ti.ceil(b) + ti.round(b),
                ti.bit_cast(ti.bit_cast(b, ti.i32), ti.f32),
                ti.atan2(b, 1.0) + math.pi,
            ]
        )

    wanted = [math.sin(2.5) + math.cos(2.5), math.sqrt(2.5), 4, 7, 6.5, 8, 2.5, math.atan2(2.5, 1) + math.pi]
    assert k(2.5).to_list() == pytest.approx(wanted, rel=1e-6)


def test_wide_literals_and_types() -> None:
    @ti.kernel
    def k() -> ti.u64:
        return ti.u64(0xFFFFFFFFFFFFFFFF) - (ti.u64(1) << 63)

    @ti.kernel
    def first() -> ti.i32:
        a = 1
        a += 1.7  # a variable keeps the type of its first assignment
        return a

    assert k() == 2**63 - 1
    assert first() == 2


def test_nan_and_infinity_survive_fast_math() -> None:
    @ti.kernel
    def k(a: ti.f32) -> ti.types.vector(2, ti.i32):
        return ti.Vector([ti.math.isnan(a), ti.math.isinf(a)])

    assert k(math.nan).to_list() == [1, 0]
    assert k(-math.inf).to_list() == [0, 1]
    assert k(1.0).to_list() == [0, 0]


def test_vectors_and_matrices() -> None:
    @ti.kernel
    def k() -> ti.types.matrix(2, 2, ti.f32):
        a = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
        w = ti.Vector([1, 2])
        b = a @ a + a.transpose() * 2 - 1
        b[0, 1] += w.dot(w) + a.determinant() + a.trace() + a.inverse()[0, 0]
        b[1, :] = w
        return b + w.outer_product(w) + ti.Matrix.identity(ti.f32, 2)

    # a @ a + 2 a' - 1 = [[8, 15], [18, 29]]
    np.testing.assert_allclose(k().to_numpy(), [[10, 23], [3, 7]], rtol=1e-5)


def test_swizzles_and_slices_read_and_write() -> None:
    @ti.kernel
    def k() -> ti.types.vector(3, ti.i32):
        v = ti.Vector([1, 2, 3])
        v.xy = v.yx
        v.z += v[0]
        v[1:] = v[1:] * 10
        v[0], v[1] = v[1], v[0]
        return v.zyx

    assert k().to_list() == [50, 2, 10]


def test_reductions_and_elementwise_functions() -> None:
    @ti.kernel
    def k() -> ti.types.vector(7, ti.f32):
        a, b = ti.Vector([3, 1, 2]), ti.Vector([1.5, 2.5, 3.5])
        return ti.Vector(
            [a.sum(), a.max(), b.min(), (a > b).any(), all(a > 0), ti.math.dot(b, b), max(a, b).sum() + len(a)]
        )

    assert k().to_list() == [6, 3, 1.5, 1, 1, 20.75, 12]


def test_captured_constants() -> None:
    gravity, table, names = ti.Vector([0.0, -9.8]), np.array([[1, 2], [3, 4]]), {"a": 5}

    @ti.kernel
    def k() -> ti.f32:
        v = gravity * 2 + ti.static(table[1, 1])
        return v.y + names["a"]

    assert k() == pytest.approx(-19.6 + 4 + 5)


def test_compile_time_containers() -> None:
    @ti.kernel
    def k() -> ti.i32:
        a = [1]
        a.append(2)
        a[0] += 10
        (b, c), d = (a[0], a[1]), 5
        m = ti.Matrix([[i * j for j in range(3)] for i in range(3)])
        total = 0
        for i, pair in ti.static(enumerate(zip([1, 2], (3, 4)))):
            total += i * pair[0] * pair[1]
        return b + c + d + m[2, 2] + total

    assert k() == 11 + 2 + 5 + 4 + 8


Ray = ti.types.struct(o=ti.math.vec3, t=ti.f32)


@ti.dataclass
class Ball:
    c: ti.math.vec2
    r: ti.f32

    @ti.func
    def area(self):
        return self.r**2 * 3

    @ti.func
    def grow(self, by):
        self.r += by


def test_structs_and_their_methods() -> None:
    balls = Ball.field(shape=3)

    @ti.kernel
    def k(ray: Ray) -> Ray:
        for i in balls:
            balls[i] = Ball(c=[i, i], r=i)
            balls[i].grow(2.0)
        copy = balls[1]
        copy.grow(10.0)
        copy.c.x = 7
        made = Ray(ray.o + 1, t=copy.area() + balls[1].r + copy.c.x)
        made.o.y = 50
        return made

    out = k(Ray(o=[1, 2, 3], t=0))
    assert out.o.to_list() == [2, 50, 4]
    assert out.t == 169 * 3 + 3 + 7
    assert balls.r.to_numpy().tolist() == [2, 3, 4]


def test_anonymous_structs() -> None:
    @ti.kernel
    def k() -> ti.f32:
        s = ti.Struct(a=1, b=ti.Vector([1.5, 2.5]))
        s.a += 2
        return s.a * s.b.y

    assert k() == 7.5


def test_random_numbers_are_in_range() -> None:
    x, y = ti.field(ti.f32, 1000), ti.field(ti.f32, 1000)

    @ti.kernel
    def k():
        for i in x:
            x[i] = ti.random()
            y[i] = ti.randn()

    k()
    first = x.to_numpy()
    assert first.min() >= 0
    assert first.max() < 1
    assert abs(first.mean() - 0.5) < 0.1
    assert abs(y.to_numpy().mean()) < 0.2
    assert abs(y.to_numpy().std() - 1) < 0.2
    k()
    assert (x.to_numpy() != first).any()


def test_prints(capsys: pytest.CaptureFixture[str]) -> None:
    @ti.kernel
    def k(a: ti.i32, v: ti.math.vec2):
        print(a, v, "text", True, sep="|", end="!\n")
        print(f"{a:03d} and {v.x:.2f}, {ti.static(3)}")
        print((a, 2), Ray(o=1, t=2))

    k(7, ti.Vector([1.5, 2]))
    assert capsys.readouterr().out == "7|[1.5, 2.0]|text|True!\n007 and 1.50, 3\n[7, 2] {o: [1.0, 1.0, 1.0], t: 2.0}\n"


def test_assertions_in_debug() -> None:
    ti.init(arch=ti.cpu, debug=True)
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def k(n: ti.i32):
        for i in range(n):
            assert x[i] + i < 2, f"at {i}"

    k(2)
    with pytest.raises(AssertionError, match="at 2"):
        k(3)


def test_dtype_defaults() -> None:
    ti.init(arch=ti.cpu, default_fp=ti.f64, default_ip=ti.i64)

    @ti.kernel
    def k(a: int) -> float:
        return a * 0.1 + (1 << 40)

    assert k(2**41) == 2**41 * 0.1 + 2**40


def test_values_known_at_compile_time_stay_python(capsys: pytest.CaptureFixture[str]) -> None:
    data: Any = {"n": 3}

    @ti.kernel
    def k() -> ti.i32:
        n = ti.static(data["n"] * 2 + 1)
        ti.static_print("n is", n)
        ti.static_assert(n == 7)
        return ti.static(n // 2 if n > 5 else 0)

    assert k() == 3
    assert capsys.readouterr().out == "n is 7\n"


def test_indices_known_at_compile_time_reach_into_lists() -> None:
    @ti.kernel
    def k(a: ti.f32) -> ti.f32:
        w = [ti.Vector([a, a * 2]), ti.Vector([a * 3, a * 4])]
        total = 0.0
        for offset in ti.static(ti.grouped(ti.ndrange(2, 2))):
            weight = 1.0
            for i in ti.static(range(2)):
                weight *= w[offset[i]][i]
            total += weight * (offset.x + 1)
        return total

    assert k(1.0) == sum([1, 3][i] * [2, 4][j] * (i + 1) for i in range(2) for j in range(2))


def test_functions_give_python_numbers_in_python():
    """What goes in typed comes out typed; all else is a number of Python's, as elements are."""
    small, whole = ti.types.vector(3, ti.f32)(1, 2, 2), ti.types.vector(3, ti.u8)(1, 2, 3)
    floats = [
        small.norm(),
        small.dot(small),
        small.sum(),
        small.max(),
        ti.max(1.5, 2),
        ti.sqrt(4),
        ti.math.mix(0, 1, 0.5),
    ]
    assert all(type(value) is float for value in floats)
    assert floats[:3] == [3, 9, 5]
    integers = [
        whole.sum(),
        whole.dot(whole),
        whole.min(),
        ti.abs(-3),
        ti.pow(2, 3),
        ti.math.clamp(5, 0, 3),
        ti.popcnt(7),
    ]
    assert integers == [6, 14, 1, 3, 8, 3, 3]
    assert all(type(value) is int for value in integers)
    assert [type(value) for value in (ti.math.isnan(1.0), ti.logical_and(1, 0))] == [bool, bool]
    assert [type(value) for value in ti.frexp(8.0)] == [float, int]
    assert ti.frexp(8.0) == (0.5, 4)
    assert type(ti.sqrt(np.float32(4))) is np.float32
    assert type(ti.cast(1.7, ti.i32)) is np.int32
