"""Gradients of stencils with boundaries are what their transposed maps give, in versions for the interior."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as ti
from tests.sampling import every

SHAPES = [(70, 100), (64, 64), (3, 130), (130, 3), (63, 63)]  # some rows are whole vectors; the last box is too small


def made(shape: tuple[int, int]) -> tuple[Any, Any, Any]:
    """A linear stencil with walls, of f64; at corners and edges it does something else."""
    n, m = shape
    x, y = ti.field(ti.f64, shape, needs_grad=True), ti.field(ti.f64, shape, needs_grad=True)

    @ti.kernel
    def step():
        for i, j in x:
            around = ti.cast(0.0, ti.f64)
            if 0 < i < n - 1 and 0 < j < m - 1:
                around = x[i - 1, j] + 2 * x[i + 1, j] + 3 * x[i, j - 1] + 5 * x[i, j + 1] - 11 * x[i, j]
            if j < m - 2:
                around += 7 * x[i, j + 2]
            if i >= 2 and j != 0:
                around -= 0.5 * x[i - 2, j - 1]
            y[i, j] = around + 0.25 * x[i, j]

    return step, x, y


@pytest.mark.parametrize(("shape", "threads"), every(4, [(shape, threads) for shape in SHAPES for threads in (1, 2)]))
def test_a_gradient_is_the_transposed_map(shape: tuple[int, int], threads: int) -> None:
    ti.init(arch=ti.cpu, cpu_max_num_threads=threads)
    step, x, y = made(shape)
    rng = np.random.default_rng(7)
    for _ in range(3):
        v, w = rng.standard_normal(shape), rng.standard_normal(shape)
        x.from_numpy(v)
        step()
        x.grad.fill(0)
        y.grad.from_numpy(w)
        step.grad()
        terms = y.to_numpy() * w
        assert abs(terms.sum() - (v * x.grad.to_numpy()).sum()) <= 1e-12 * np.abs(terms).sum()
        assert not y.grad.to_numpy().any()


def test_the_gather_has_a_version_for_the_interior() -> None:
    ti.init(arch=ti.cpu, cpu_max_num_threads=1)
    step, *_ = made((70, 100))
    step.grad()
    pages = [page for page in step.grad.stages().passes if page.name == "version_interior"]
    assert pages
    assert any(page.changed for page in pages)


def test_ties_of_a_minimum_take_little_code() -> None:
    """The loop that is swept if several elements are the least is not unrolled, and the least one is in the array."""
    ti.init(arch=ti.cpu)
    x, loss = (ti.field(ti.f32, shape, needs_grad=True) for shape in ((25, 8), ()))
    least = ti.field(ti.i32, 64)

    @ti.kernel
    def nearest():
        for i in least:
            found, far = 0, 1e9
            for a in range(25):
                apart = 0.0
                for b in range(8):
                    apart += (x[a, b] - i * 0.1) ** 2
                if apart < far:
                    far, found = apart, a
            least[i] = found
            loss[None] += x[found, 0] + ti.min(far, 1e8)

    @ti.kernel
    def distance():
        for i in least:
            far = 1e9
            for a in range(25):
                apart = 0.0
                for b in range(8):
                    apart += (x[a, b] - i * 0.1) ** 2
                far = ti.min(far, apart)
            loss[None] += far

    gradient = distance.grad.stages()
    assert "llvm.loop.unroll.disable" in gradient.llvm
    assert not [site for stages in (gradient, nearest.stages()) for site in stages.artifact.sites]
