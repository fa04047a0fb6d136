"""`frexp` takes numbers apart as C's does, bit by bit the same on every arch."""

import numpy as np
import pytest

EDGES = [0.0, -0.0, 1.0, -8.0, 0.1, 3.7, -0.75, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("name", ["f16", "f32", "f64"])
def test_mantissa_and_exponent(ti, name):
    dtype = getattr(np, f"float{name[1:]}")
    limits = np.finfo(dtype)
    ends = [limits.max, limits.tiny, limits.smallest_subnormal, -3 * limits.smallest_subnormal, limits.tiny / 3]
    values = np.concatenate(
        [np.array(EDGES, dtype), np.array(ends, dtype), np.ldexp(1, np.arange(-13, 15)).astype(dtype)]
    )
    x, m = ti.field(getattr(ti, name), len(values)), ti.field(getattr(ti, name), len(values))
    e = ti.field(ti.i32, len(values))

    @ti.kernel
    def run():
        for i in x:
            m[i], e[i] = ti.frexp(x[i])

    x.from_numpy(values)
    run()
    mantissas, exponents = np.frexp(values)
    np.testing.assert_array_equal(m.to_numpy(), mantissas)
    np.testing.assert_array_equal(np.signbit(m.to_numpy())[:-1], np.signbit(mantissas)[:-1])
    np.testing.assert_array_equal(e.to_numpy(), exponents)


def test_of_vectors_integers_and_constants(ti):
    @ti.kernel
    def run(v: ti.math.vec3, n: ti.i32) -> ti.types.matrix(3, 3, ti.f32):
        m, e = ti.frexp(v)
        of_integer, of_constant = ti.frexp(n), ti.frexp(-0.75)
        return ti.Matrix.rows([m, e, [of_integer[0], of_integer[1], of_constant[0] + of_constant[1]]])

    assert run([8.0, 0.1, -3.0], 40).to_list() == [
        [0.5, pytest.approx(0.8), -0.75],
        [4, -3, 2],
        [0.625, 6, -0.75],
    ]


def test_is_evaluated_once(ti):
    calls = ti.field(ti.i32, ())

    @ti.func
    def counted():
        calls[None] += 1
        return 6.0

    @ti.kernel
    def run() -> ti.f32:
        m, e = ti.frexp(counted())
        return m * 2**e

    assert run() == 6
    assert calls[None] == 1


def test_wrong_calls(ti):
    @ti.kernel
    def two() -> ti.f32:
        return ti.frexp(1.0, 2)[0]

    with pytest.raises(ti.CompilationError, match="frexp takes 1 argument, got 2"):
        two()
