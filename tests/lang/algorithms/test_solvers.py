"""`ti.linalg`: matrix-free solvers on dense fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import weft as ti

N = 16


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    ti.init(arch=ti.cpu)
    yield
    ti.reset()


@ti.kernel
def laplace(x: ti.template(), Ax: ti.template()):
    for i, j in x:
        left = x[i - 1, j] if i > 0 else 0.0
        right = x[i + 1, j] if i + 1 < N else 0.0
        below = x[i, j - 1] if j > 0 else 0.0
        above = x[i, j + 1] if j + 1 < N else 0.0
        Ax[i, j] = 4.0 * x[i, j] - left - right - below - above


@ti.kernel
def upwind(x: ti.template(), Ax: ti.template()):
    for i in x:
        Ax[i] = 3.0 * x[i] - (2.0 * x[i - 1] if i > 0 else 0.0) + (0.5 * x[i + 1] if i + 1 < N else 0.0)


@ti.kernel
def scaled(x: ti.template(), Ax: ti.template()):
    for i in x:
        Ax[i] = (i + 1) * x[i]


@pytest.mark.parametrize(("dtype", "tol"), [(ti.f32, 1e-4), (ti.f64, 1e-10)])
def test_conjugate_gradients(dtype: Any, tol: float) -> None:
    b, x = ti.field(dtype, (N, N)), ti.field(dtype, (N, N))
    b.from_numpy(np.random.default_rng(1).random((N, N)))
    x.fill(0.5)  # the first guess
    A = ti.linalg.LinearOperator(laplace)
    assert ti.linalg.MatrixFreeCG(A, b, x, tol=tol, maxiter=200)
    Ax = ti.field(dtype, (N, N))
    A.matvec(x, Ax)
    assert np.linalg.norm(Ax.to_numpy() - b.to_numpy()) < 2 * tol


def test_stabilised_biconjugate_gradients() -> None:
    b, x, Ax = (ti.field(ti.f64, N) for _ in range(3))
    b.from_numpy(np.random.default_rng(2).random(N))
    A = ti.linalg.LinearOperator(upwind)
    assert ti.linalg.MatrixFreeBICGSTAB(A, b, x, tol=1e-10, maxiter=100)
    A.matvec(x, Ax)
    np.testing.assert_allclose(Ax.to_numpy(), b.to_numpy(), atol=1e-9)


def test_fields_of_vectors() -> None:
    b, x = ti.Vector.field(3, ti.f64, N), ti.Vector.field(3, ti.f64, N)
    b.from_numpy(np.random.default_rng(3).random((N, 3)))
    assert ti.linalg.taichi_cg_solver(ti.linalg.LinearOperator(scaled), b, x, tol=1e-10)
    np.testing.assert_allclose(x.to_numpy() * np.arange(1, N + 1)[:, None], b.to_numpy(), atol=1e-9)


def test_too_few_steps_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    b, x = ti.field(ti.f64, N), ti.field(ti.f64, N)
    b.fill(1.0)
    assert not ti.linalg.MatrixFreeCG(ti.linalg.LinearOperator(scaled), b, x, maxiter=2, quiet=False)
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["step 1", "step 2"]


def test_what_does_not_fit_is_refused() -> None:
    A = ti.linalg.LinearOperator(scaled)
    f32, f64, longer = ti.field(ti.f32, N), ti.field(ti.f64, N), ti.field(ti.f32, N + 1)
    with pytest.raises(ti.TaichiTypeError, match="b has type f32, but x has type f64"):
        ti.linalg.MatrixFreeCG(A, f32, f64)
    with pytest.raises(ti.TaichiTypeError, match="b must be a field of f32 or f64"):
        ti.linalg.MatrixFreeCG(A, ti.field(ti.i32, N), f64)
    with pytest.raises(ti.TaichiRuntimeError, match=r"b has shape \(16,\), but x has shape \(17,\)"):
        ti.linalg.MatrixFreeBICGSTAB(A, f32, longer)
    with pytest.raises(ti.TaichiRuntimeError, match="matvec: x has shape"):
        A.matvec(f32, longer)
