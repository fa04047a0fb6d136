"""Vectors and matrices: every size, operator, method, swizzle and index, against numpy."""

import math

import numpy as np
import pytest

SHAPES = [(n, m) for n in range(1, 5) for m in range(1, 5)]


def made(shape, seed, dtype=np.float32):
    """A repeatable array of numbers that suit every operator."""
    return np.random.default_rng(seed).uniform(0.5, 4, shape).astype(dtype)


@pytest.mark.parametrize("shape", [*SHAPES, (7,), (1,), (3,), (16,)])
def test_elementwise_operators(ti, shape):
    kind = ti.types.vector(shape[0], ti.f32) if len(shape) == 1 else ti.types.matrix(*shape, ti.f32)
    out = [
        ti.Matrix.field(*kind.get_shape()[:2], ti.f32, 10) if len(shape) == 2 else ti.Vector.field(shape[0], ti.f32, 10)
    ][0]

    @ti.kernel
    def run(a: kind, b: kind, s: ti.f32):
        out[0] = a + b
        out[1] = a - b
        out[2] = a * b
        out[3] = a / b
        out[4] = -a + s
        out[5] = s - a
        out[6] = ti.max(a, b)
        out[7] = a % b
        out[8] = (a > b) * 1.0
        out[9] = ti.sin(a) + ti.floor(b)

    a, b, s = made(shape, 1), made(shape, 2), np.float32(1.5)
    run(a, b, s)
    wanted = [a + b, a - b, a * b, a / b, -a + s, s - a, np.maximum(a, b), a % b, a > b, np.sin(a) + np.floor(b)]
    found = out.to_numpy(keep_dims=len(shape) == 2)
    np.testing.assert_allclose(found, np.array(wanted, np.float32), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_products(ti, n, k):
    left, right, square = ti.types.matrix(n, k, ti.f32), ti.types.matrix(k, n, ti.f32), ti.types.matrix(n, n, ti.f32)
    column = ti.types.vector(k, ti.f32)

    @ti.kernel
    def run(a: left, b: right) -> square:
        return a @ b

    @ti.kernel
    def apply(a: left, v: column) -> ti.types.vector(n, ti.f32):
        return a @ v

    @ti.kernel
    def apply_left(v: column, b: right) -> ti.types.vector(n, ti.f32):
        return v @ b

    @ti.kernel
    def dot(v: column) -> ti.f32:
        return v @ (2 * v)

    a, b, v = made((n, k), 1), made((k, n), 2), made((k,), 3)
    np.testing.assert_allclose(np.array(apply_left(v, b).to_numpy()), v @ b, rtol=1e-5)
    np.testing.assert_allclose(dot(v), v @ (2 * v), rtol=1e-5)
    np.testing.assert_allclose(np.array(run(a, b).to_numpy()), a @ b, rtol=1e-5)
    np.testing.assert_allclose(np.array(apply(a, v).to_numpy()), a @ v, rtol=1e-5)


def test_pythons_functions_take_vectors(ti):
    @ti.kernel
    def run(v: ti.math.vec3) -> ti.types.vector(5, ti.f32):
        m = ti.Matrix([[1, 2], [7, 3]])
        return ti.Vector([sum(v), min(v), max(v), ti.max(m), min(v.x, v.y)])

    assert run(ti.math.vec3(5, 1, 2)).to_list() == [8, 1, 5, 7, 1]


def test_a_vector_times_a_row_is_a_matrix(ti):
    @ti.kernel
    def run(v: ti.math.vec3) -> ti.types.matrix(3, 2, ti.f32):
        return v @ ti.Matrix([[4, 5]])

    assert run(ti.math.vec3(1, 2, 3)).to_list() == [[4, 5], [8, 10], [12, 15]]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_methods_of_square_matrices(ti, n):
    kind = ti.types.matrix(n, n, ti.f64)
    out = ti.Matrix.field(n, n, ti.f64, 3)
    scalars = ti.field(ti.f64, 6)

    @ti.kernel
    def run(a: kind):
        out[0] = a.transpose()
        out[1] = a.inverse()
        out[2] = ti.Matrix.identity(ti.f64, n) * 2 + a
        scalars[0] = a.determinant()
        scalars[1] = a.trace()
        scalars[2] = a.sum()
        scalars[3] = a.max()
        scalars[4] = a.min()
        scalars[5] = a.norm()

    a = made((n, n), 7, np.float64) + np.eye(n) * 3
    run(a)
    np.testing.assert_allclose(out.to_numpy(keep_dims=True), [a.T, np.linalg.inv(a), np.eye(n) * 2 + a], rtol=1e-9)
    wanted = [np.linalg.det(a), np.trace(a), a.sum(), a.max(), a.min(), np.linalg.norm(a)]
    np.testing.assert_allclose(scalars.to_numpy(), wanted, rtol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_methods_of_vectors(ti, n):
    kind = ti.types.vector(n, ti.f32)
    out = ti.field(ti.f32, 7)
    unit = ti.Vector.field(n, ti.f32, ())

    @ti.kernel
    def run(a: kind, b: kind):
        out[0] = a.dot(b)
        out[1] = a.norm()
        out[2] = a.norm_sqr()
        out[3] = a.sum()
        out[4] = a.max()
        out[5] = a.min()
        out[6] = a.outer_product(b).sum()
        unit[None] = a.normalized()

    a, b = made(n, 1), made(n, 2)
    run(a, b)
    wanted = [a @ b, np.linalg.norm(a), a @ a, a.sum(), a.max(), a.min(), np.outer(a, b).sum()]
    np.testing.assert_allclose(out.to_numpy(), wanted, rtol=1e-5)
    np.testing.assert_allclose(unit.to_numpy(), a / np.linalg.norm(a), rtol=1e-5)


def test_cross_products(ti):
    @ti.kernel
    def run(a: ti.math.vec3, b: ti.math.vec3) -> ti.math.vec3:
        return a.cross(b)

    @ti.kernel
    def flat(a: ti.math.vec2, b: ti.math.vec2) -> ti.f32:
        return ti.math.cross(a, b)

    a, b = made(3, 1), made(3, 2)
    np.testing.assert_allclose(run(a, b).to_numpy(), np.cross(a, b), rtol=1e-5)
    assert flat([1, 2], [3, 5]) == -1


def test_swizzles(ti):
    @ti.kernel
    def run(v: ti.types.vector(4, ti.i32)) -> ti.types.vector(4, ti.i32):
        w = v
        w.xy = v.zw
        w.w = w.x * 10
        w.zx += ti.Vector([100, 200])
        return w.wzyx + v.rgba * 0 + v.xxyy * 0

    # w = [3, 4, 3, 4], w.w = 30, w.z += 100, w.x += 200
    assert run([1, 2, 3, 4]).to_list() == [30, 103, 4, 203]


def test_dynamic_indices(ti):
    @ti.kernel
    def run(n: ti.i32) -> ti.types.vector(5, ti.i32):
        v = ti.Vector([0, 0, 0, 0, 0])
        for _ in range(1):
            for i in range(n):
                v[i % 5] += i
                v[(i * 2) % 5] -= 1
        return v

    v = [0] * 5
    for i in range(17):
        v[i % 5] += i
        v[(i * 2) % 5] -= 1
    assert run(17).to_list() == v


def test_dynamic_indices_of_matrices(ti):
    out = ti.Matrix.field(3, 4, ti.i32, 2)

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        m = ti.Matrix.zero(ti.i32, 3, 4)
        for k in range(2):
            for i in range(3):
                for j in range(4):
                    out[k][i, j] += i * 10 + j + k * 100
        total = 0
        for _ in range(1):
            for i in range(3):
                for j in range(n):
                    m[i, j] = i * j
            for i in range(3):
                total += m[i, n - 1] * 10**i
        return total

    assert run(4) == 3 * 10 + 6 * 100
    i, j = np.indices((3, 4))
    assert out.to_numpy().tolist() == [(i * 10 + j + k * 100).tolist() for k in range(2)]


def test_matrices_are_values(ti):
    @ti.kernel
    def run() -> ti.types.vector(4, ti.i32):
        a = ti.Vector([1, 2])
        b = a
        b[0] = 10
        c = ti.Matrix([[1, 2], [3, 4]])
        row = ti.Vector([c[1, 0], c[1, 1]])
        c[1, 0] = 9
        return ti.Vector([a[0], b[0], row[0], c[1, 0]])

    assert run().to_list() == [1, 10, 3, 9]


def test_construction(ti):
    @ti.kernel
    def run(x: ti.f32) -> ti.types.matrix(3, 3, ti.f32):
        rows = ti.Matrix.rows([ti.Vector([1.0, 2.0, 3.0]), ti.Vector([4.0, 5.0, 6.0]), ti.Vector([x, x, x])])
        columns = ti.Matrix.cols([ti.Vector([1.0, 2.0, 3.0]), ti.Vector([4.0, 5.0, 6.0]), ti.Vector([x, x, x])])
        return rows - columns + ti.Matrix.diag(3, x) + ti.Matrix.one(ti.f32, 3, 3) + ti.Matrix.zero(ti.f32, 3, 3)

    rows = np.array([[1, 2, 3], [4, 5, 6], [7, 7, 7]], np.float32)
    assert run(7).to_numpy().tolist() == (rows - rows.T + 7 * np.eye(3) + 1).tolist()


def test_glsl_style(ti):
    vec2, vec3, vec4 = ti.math.vec2, ti.math.vec3, ti.math.vec4

    @ti.kernel
    def run(a: vec2) -> vec4:
        b = vec3(a, 5.0)
        c = vec4(b.zy, vec2(1.5))
        return ti.math.mix(c, vec4(0.0), 0.5) + ti.math.clamp(c, 0.0, 2.0) + ti.math.fract(c) + ti.math.step(2.0, c)

    c = np.array([5, 2.25, 1.5, 1.5], np.float32)
    wanted = c / 2 + np.clip(c, 0, 2) + c % 1 + (c >= 2)
    assert run([1.25, 2.25]).to_list() == wanted.tolist()


def test_element_types(ti):
    @ti.kernel
    def run(v: ti.types.vector(3, ti.f64)) -> ti.types.vector(3, ti.i64):
        w = v.cast(ti.i32)
        u = ti.Vector([1, 2, 3], ti.u8) + 255
        x = ti.cast(v * 2, ti.i64)
        return w + u + x + ti.Vector([1.5, 2.5, 3.5])

    # u8 + i32 is i32: 256, 257, 258
    assert run([1.9, -1.9, 2.5]).to_list() == [1 + 256 + 3 + 1, -1 + 257 - 3 + 2, 2 + 258 + 5 + 3]


def test_any_all_and_comparisons(ti):
    @ti.kernel
    def run(a: ti.types.vector(3, ti.i32), b: ti.types.vector(3, ti.i32)) -> ti.i32:
        result = 0
        if all(a == b):
            result += 1
        if any(a < b):
            result += 2
        if (a != b).all():
            result += 4
        return result

    for a, b in [((1, 2, 3), (1, 2, 3)), ((1, 2, 3), (2, 2, 3)), ((1, 2, 3), (4, 3, 2))]:
        x, y = np.array(a), np.array(b)
        assert run(a, b) == (x == y).all() + 2 * (x < y).any() + 4 * (x != y).all()


def test_unpacking(ti):
    @ti.kernel
    def run(v: ti.types.vector(3, ti.i32)) -> ti.i32:
        a, b, c = v
        x, y = ti.Vector([a, b]) + c
        return x * 100 + y + len(v)

    assert run([1, 2, 3]) == 408


def test_solvers(ti):
    @ti.kernel
    def run(a: ti.math.mat2) -> ti.math.mat2:
        u, s, v = ti.svd(a)
        r, p = ti.polar_decompose(a)
        return u @ s @ v.transpose() + r @ p

    a = np.array([[2.0, 1.0], [-1.0, 3.0]], np.float32)
    np.testing.assert_allclose(run(a).to_numpy(), 2 * a, rtol=1e-4, atol=1e-4)


def test_large_matrices(ti):
    n = 12

    @ti.kernel
    def run(s: ti.f32) -> ti.f32:
        a = ti.Matrix.zero(ti.f32, n, n)
        for i in range(n):
            for j in range(n):
                a[i, j] = i * s + j
        b = a @ a
        return b.trace() + a.sum()

    i, j = np.indices((n, n))
    a = (i * 0.5 + j).astype(np.float64)
    assert run(0.5) == pytest.approx(np.trace(a @ a) + a.sum(), rel=1e-5)


def test_nan_in_vectors(ti):
    @ti.kernel
    def run(v: ti.math.vec3) -> ti.types.vector(3, ti.i32):
        return ti.math.isnan(v) + 2 * ti.math.isinf(v)

    assert run([math.nan, 1.0, math.inf]).to_list() == [1, 0, 2]


def test_elements_by_constant_and_by_computed_index(ti):
    """Both may be one element of one vector: the second sees what the first wrote, in vectorized loops too."""
    n = 64
    v, amounts = ti.Vector.field(3, ti.f32, n), ti.field(ti.f64, n)

    @ti.kernel
    def run(b: ti.f32):
        for i in range(n):
            v[i] *= v[i]
            k = 0
            while k < 2:
                k += 1
                v[i][1] += amounts[i] * b
                v[i][(i + 1) % 3] += 2.0

    start = made((n, 3), 5)
    v.from_numpy(start)
    amounts.from_numpy(np.arange(n, dtype=np.float64))
    run(0.75)
    wanted = start * start
    for i in range(n):
        for _ in range(2):
            wanted[i, 1] += i * 0.75
            wanted[i, (i + 1) % 3] += 2
    np.testing.assert_allclose(v.to_numpy(), wanted, rtol=1e-5)


def test_methods_by_the_name_of_the_class(ti):
    a, b = ti.Vector([1.0, 2.0, 3.0]), ti.Vector([3.0, 1.0, 2.0])

    @ti.kernel
    def run(x: ti.math.vec3, y: ti.math.vec3) -> ti.math.vec4:
        m = ti.Matrix.transpose(ti.Matrix([[x.x, 2.0], [3.0, 5.0]]))
        c = ti.Vector.cross(x, y)
        return ti.Vector([c.x, ti.Matrix.sum(y), m[1, 0] + ti.Matrix.determinant(m), ti.Vector.norm_sqr(x)])

    assert run(a, b).to_list() == [1, 6, 1, 14]
    assert ti.Vector.cross(a, b).to_list() == [1, 7, -5]
    assert ti.Matrix.dot(a, b) == 11


def test_products_keep_the_sign_of_zero(ti):
    """As they are summed from the first product on."""
    ti.init(arch=ti.cfg.arch, fast_math=False)

    @ti.kernel
    def run(zero: ti.f32) -> ti.types.vector(2, ti.f32):
        m = ti.Matrix([[zero, -zero], [-zero, -zero]])
        return m @ ti.Vector([1.0, 1.0])

    for value in (run(-0.0), ti.Matrix([[-0.0, 0.0], [0.0, 0.0]]) @ ti.Vector([1.0, 1.0])):
        assert np.signbit(value.to_numpy()).tolist() == [False, False]
    both = ti.Matrix([[-0.0, -0.0], [0.0, -0.0]]) @ ti.Vector([1.0, 1.0])
    assert np.signbit(both.to_numpy()).tolist() == [True, False]
