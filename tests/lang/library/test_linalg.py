import numpy as np
import pytest

import weft as ti
import weft.math as tm
from weft.ir.errors import CompilationError

rng = np.random.default_rng(7)
close = np.testing.assert_allclose


def test_vector_methods():
    a, b = ti.Vector([3.0, 4.0]), ti.Vector([1.0, 2.0])
    assert a.norm() == 5
    assert a.norm_sqr() == 25
    assert a.norm(11.0) == 6
    assert a.norm_inv() == 0.2
    assert a.normalized().to_list() == [0.6, 0.8]
    assert a.dot(b) == 11
    assert a.cross(b) == 2
    assert a.outer_product(b).to_list() == [[3, 6], [4, 8]]
    c, d = rng.standard_normal((2, 3))
    close(ti.Vector(c).cross(ti.Vector(d)).to_numpy(), np.cross(c, d))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_inverse_determinant_trace_solve(n):
    a = rng.standard_normal((n, n))
    close(ti.Matrix(a).determinant(), np.linalg.det(a), rtol=1e-9)
    close(ti.Matrix(a).inverse().to_numpy(), np.linalg.inv(a), rtol=1e-9)
    close(ti.Matrix(a).trace(), np.trace(a))
    b = rng.standard_normal(n)
    close(ti.solve(ti.Matrix(a), ti.Vector(b)).to_numpy(), np.linalg.solve(a, b), rtol=1e-9)


def test_wrong_shapes():
    for method in ("determinant", "inverse", "trace"):
        with pytest.raises(CompilationError, match="square"):
            getattr(ti.Matrix([[1, 2, 3], [4, 5, 6]]), method)()
    with pytest.raises(CompilationError, match="cross takes"):
        ti.Vector([1, 2, 3, 4]).cross(ti.Vector([1, 2, 3, 4]))


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("kind", ["any", "reflected", "singular", "zero", "identity", "equal", "tiny", "rank1"])
def test_svd_and_polar(n, kind):
    a = rng.standard_normal((n, n))
    a = {
        "any": a * np.sign(np.linalg.det(a)) if n % 2 else a,
        "reflected": np.diag([1.0] * (n - 1) + [-1.0]) @ (a @ a.T),
        "singular": a @ np.diag([1.0] * (n - 1) + [0.0]),
        "zero": a * 0,
        "identity": np.eye(n),
        "equal": 3 * np.linalg.qr(a)[0],
        "tiny": a * 1e-8,
        "rank1": np.outer(a[0], a[1]),
    }[kind]
    u, s, v = (x.to_numpy() for x in ti.svd(ti.Matrix(a)))
    scale = max(1e-30, np.abs(a).max())
    close(u @ s @ v.T, a, atol=1e-12 * scale)
    close(u @ u.T, np.eye(n), atol=1e-9)
    close(v @ v.T, np.eye(n), atol=1e-9)
    close(np.abs(np.diag(s)), np.linalg.svd(a)[1], atol=1e-9 * scale)
    assert np.linalg.det(v) > 0
    assert n == 2 or np.linalg.det(u) > 0
    r, p = (x.to_numpy() for x in ti.polar_decompose(ti.Matrix(a)))
    close(r @ p, a, atol=1e-9 * scale)
    close(p, p.T, atol=1e-9 * scale)


@pytest.mark.parametrize("n", [2, 3])
def test_sym_eig(n):
    a = rng.standard_normal((n, n))
    a = a + a.T
    values, vectors = (x.to_numpy() for x in ti.sym_eig(ti.Matrix(a)))
    expected = np.linalg.eigvalsh(a)
    close(values, expected[::-1] if n == 2 else expected, rtol=1e-9)
    close(a @ vectors, vectors * values, atol=1e-9)


@pytest.mark.parametrize(
    "a", [[[1.0, 2.0], [3.0, 5.0]], [[0.0, -1.0], [1.0, 0.0]], [[2.0, 0.0], [0.0, 2.0]], [[1.0, 1.0], [0.0, 1.0]]]
)
def test_eig(a):
    values, vectors = (x.to_numpy() for x in ti.eig(ti.Matrix(a)))
    for k in range(2):
        value = complex(*values[k])
        vector = vectors[0::2, k] + 1j * vectors[1::2, k]
        close(np.array(a) @ vector, value * vector, atol=1e-7)
        close(np.linalg.norm(vector), 1)


# What Taichi 1.7.4 prints in a kernel for these calls.
KNOWN = [
    (
        lambda: tm.rot_by_axis(tm.vec3(1.0, 2.0, 3.0), 0.5),
        [
            [0.886327, 0.401884, -0.230031, 0],
            [-0.366907, 0.912559, 0.180596, 0],
            [0.282496, -0.075667, 0.956279, 0],
            [0, 0, 0, 1],
        ],
    ),
    (
        lambda: tm.rot_yaw_pitch_roll(0.1, 0.2, 0.3),
        [
            [0.956425, 0.289629, -0.036957, 0],
            [-0.275096, 0.936293, 0.218351, 0],
            [0.097843, -0.198669, 0.975170, 0],
            [0, 0, 0, 1],
        ],
    ),
    (
        lambda: tm.rotation3d(0.1, 0.2, 0.3),
        [
            [0.942155, 0.197677, -0.270682, 0],
            [-0.160881, 0.975170, 0.152184, 0],
            [0.294044, -0.099833, 0.950564, 0],
            [0, 0, 0, 1],
        ],
    ),
    (lambda: tm.rotation2d(0.5), [[0.877583, -0.479426], [0.479426, 0.877583]]),
    (lambda: tm.translate(1.0, 2.0, 3.0), [[1, 0, 0, 1], [0, 1, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]),
    (lambda: tm.scale(1.0, 2.0, 3.0), [[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 3, 0], [0, 0, 0, 1]]),
    (lambda: tm.vdir(0.5), [0.877583, 0.479426]),
    (lambda: tm.eye(2), [[1, 0], [0, 1]]),
    (lambda: tm.refract(tm.normalize(tm.vec2(1.0, -1.0)), tm.vec2(0.0, 1.0), 0.9), [0.636396, -0.771362]),
    (lambda: tm.refract(tm.normalize(tm.vec2(1.0, -1.0)), tm.vec2(0.0, 1.0), 1.9), [0, 0]),
    (lambda: tm.reflect(tm.vec2(1.0, -1.0), tm.vec2(0.0, 1.0)), [1, 1]),
    (lambda: tm.cdiv(tm.vec2(1.0, 2.0), tm.vec2(3.0, -4.0)), [-0.2, 0.4]),
    (lambda: tm.cexp(tm.vec2(1.0, 2.0)), [-1.131204, 2.471727]),
    (lambda: tm.cinv(tm.vec2(1.0, 2.0)), [0.2, -0.4]),
    (lambda: tm.clog(tm.vec2(1.0, 2.0)), [0.804719, 1.107149]),
    (lambda: tm.cpow(tm.vec2(1.0, 2.0), 3.0), [-11, -2]),
    (lambda: tm.csqrt(tm.vec2(1.0, 2.0)), [1.272020, 0.786151]),
    (lambda: tm.sign(tm.vec2(0.0, 3.0)), [0, 1]),
    (lambda: tm.step(1.0, 1.0), 1),
    (lambda: tm.smoothstep(0.0, 2.0, 0.5), 0.15625),
    (lambda: tm.mod(-5.5, 2.0), 0.5),
    (lambda: tm.fract(-1.25), 0.75),
    (lambda: tm.degrees(1.0), 57.29578),
    (lambda: tm.radians(90.0), 1.570796),
    (lambda: tm.distance(tm.vec2(1.0, 2.0), tm.vec2(3.0, 5.0)), 3.605551),
    (lambda: tm.clamp(5, 0, 3), 3),
    (lambda: tm.mix(1.0, 3.0, 0.25), 1.5),
    (lambda: tm.popcnt(7), 3),
    (lambda: tm.log2(8.0), 3),
]


@pytest.mark.parametrize(("call", "expected"), KNOWN)
def test_math_functions(call, expected):
    got = call()
    close(np.asarray(getattr(got, "values", got), np.float64), np.asarray(expected, np.float64), atol=3e-6)


def test_math_module_is_importable():
    from weft.math import pi, vec3

    assert pi == tm.pi
    assert vec3 is tm.vec3
