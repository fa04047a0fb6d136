"""Matrices up to 32 x 32: right, and compiled in a time that does not grow with them."""

from __future__ import annotations

import numpy as np
import pytest

import weft as ti


@pytest.fixture(params=["cpu", "python"], autouse=True)
def arch(request: pytest.FixtureRequest) -> None:
    ti.init(arch=getattr(ti, request.param))


@pytest.mark.parametrize("n", [7, 12, 32])
def test_products_sums_and_transposes_of_fields(n: int):
    x, y = (ti.Matrix.field(n, n, ti.f64, 3) for _ in range(2))
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 3, n, n))
    x.from_numpy(a)
    y.from_numpy(b)

    @ti.kernel
    def k() -> ti.f64:
        total = 0.0
        for i in x:
            x[i] = x[i] @ y[i] * 2.0 + y[i].transpose()
            y[i] = y[i].transpose()
            y[i] -= x[i]
            total += x[i].sum() + y[i].max()
        return total

    total = k()
    want = a @ b * 2 + b.transpose(0, 2, 1)
    np.testing.assert_allclose(x.to_numpy(), want, rtol=1e-12)
    np.testing.assert_allclose(y.to_numpy(), b.transpose(0, 2, 1) - want, rtol=1e-12)
    assert total == pytest.approx(want.sum() + (b.transpose(0, 2, 1) - want).max((1, 2)).sum(), rel=1e-5)


def test_locals_functions_arguments_and_results():
    kind = ti.types.matrix(8, 8, ti.i32)

    @ti.func
    def f(a, square):
        r = a
        if square:
            r = a @ a
        else:
            r = -a
        return r

    @ti.kernel
    def k(m: kind, i: ti.i32) -> kind:
        b = f(m, m[0, 0] > 0) + f(m, m[0, 0] > 5)
        b[i, i + 1] = 1000
        b[2, 3] += m[i, 0]
        low = ti.Matrix([[p + q for q in range(2)] for p in range(8)])
        s = low @ (low.transpose() @ b) if m[0, 0] > 0 else b
        return ti.select(s > 100, s, -s) + b @ m

    m = np.array([[(i * j + 1) % 7 for j in range(8)] for i in range(8)])
    b = m @ m - m
    b[3, 4] = 1000
    b[2, 3] += m[3, 0]
    low = np.array([[p + q for q in range(2)] for p in range(8)])
    s = low @ (low.T @ b)
    assert np.array_equal(k(ti.Matrix(m), 3).to_numpy(), np.where(s > 100, s, -s) + b @ m)


def test_long_vectors_in_structs():
    cell = ti.types.struct(v=ti.types.vector(50, ti.f32), n=ti.i32)
    f = cell.field(shape=3)

    @ti.kernel
    def k() -> ti.f32:
        for i in f:
            c = cell(v=ti.Vector([float(w) for w in range(50)]), n=i)
            c.v = c.v * i
            f[i] = c
        w = ti.Matrix.identity(ti.f32, 50) @ f[2].v
        return w.sum() + f[1].v[f[1].n + 3]

    assert k() == 2 * 49 * 50 / 2 + 4
