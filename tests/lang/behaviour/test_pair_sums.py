"""Iterations that all add to the same element, one element after the other: in lanes, several vectors of them run at
once and add their numbers up first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


@pytest.mark.parametrize("n", [1, 5, 64, 100])
def test_the_gradient_of_an_energy_of_pairs(ti: Any, n: int) -> None:
    """Vectors that are not full add nothing."""
    x, loss = ti.Vector.field(3, ti.f64, n, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def energy() -> None:
        for i in x:
            total = ti.f64(0)
            for j in range(n):
                total += ti.rsqrt((x[j] - x[i]).norm_sqr() + ti.f64(1e-2))
            loss[None] -= total / (2 * n)

    places = np.random.default_rng(n).uniform(-1, 1, (n, 3))
    x.from_numpy(places)
    with ti.ad.Tape(loss):
        energy()
    apart = places[None] - places[:, None]
    cubes = ((apart**2).sum(axis=-1, keepdims=True) + 1e-2) ** -1.5
    np.testing.assert_allclose(x.grad.to_numpy(), -(apart * cubes).sum(axis=1) / n, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["i32", "u8", "i64"])
def test_whole_numbers(ti: Any, name: str) -> None:
    """Sums of integers are exact, also where they wrap around."""
    n, places, dtype = 77, 10, getattr(ti, name)
    total, most = ti.field(dtype, places), ti.field(dtype, places)

    @ti.kernel
    def add(weight: ti.i32) -> None:
        for i in range(n):
            for k in range(places):
                part = ti.cast(i * weight + k * i, dtype)
                total[k] += part
                ti.atomic_max(most[k], part)

    add(9)
    i, k = np.arange(n)[:, None], np.arange(places)
    parts = (i * 9 + k * i).astype(total.to_numpy().dtype)
    assert (total.to_numpy() == parts.sum(axis=0, dtype=parts.dtype)).all()
    assert (most.to_numpy() == parts.max(axis=0)).all()
