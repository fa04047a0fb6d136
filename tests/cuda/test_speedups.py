"""What makes kernels fast changes no result: coarsened threads, small targets in blocks, pinned copies, sines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.sampling import only


@pytest.mark.parametrize("n", [1, 3, 1000, 100003])
def test_small_targets(ti: Any, n: int) -> None:
    x, bins = ti.field(ti.u8, n), ti.field(ti.i32, 256)
    sums, least = ti.Vector.field(2, ti.f32, 7), ti.field(ti.u32, (2, 3))

    @ti.kernel
    def run():
        for i in x:
            x[i] = ti.cast(i * 7 + i // 251, ti.u8)
        for i in x:
            bins[x[i]] += 1
            sums[i % 7] -= ti.Vector([1.0, 0.5])
            ti.atomic_min(least[i % 2, i % 3], ti.cast(i + 5, ti.u32))

    least.fill(1 << 20)
    bins.fill(3)
    run()
    i = np.arange(n)
    assert (bins.to_numpy() == 3 + np.bincount((i * 7 + i // 251) % 256, minlength=256)).all()
    counts = np.bincount(i % 7, minlength=7)
    assert np.allclose(sums.to_numpy(), -np.stack([counts, counts / 2], 1))
    want = np.full((2, 3), 1 << 20)
    np.minimum.at(want, (i % 2, i % 3), i + 5)
    assert (least.to_numpy() == want).all()


@pytest.mark.parametrize("width", only([5, 1001], [5, 64, 1001, 2048]))
@pytest.mark.parametrize("first", [0, 1, 3])
def test_neighbours_together(ti: Any, width: int, first: int) -> None:
    rows = 3000
    a, b = ti.field(ti.f32, (rows, width)), ti.field(ti.f32, (rows, width))
    u, total = ti.field(ti.u8, rows * width), ti.field(ti.i32, ())

    @ti.kernel
    def run(low: ti.i32, high: ti.i32):
        for i, j in ti.ndrange((1, rows - 1), (1, width - 1)):
            b[i, j] = a[i - 1, j] + a[i + 1, j] + 2 * a[i, j - 1] + 3 * a[i, j + 1]
        for i in range(low, high):
            u[i] = ti.cast(i, ti.u8) + u[i]
        for i in range(low, high):
            total[None] += u[i]

    x = np.random.default_rng(0).random((rows, width), np.float32)
    a.from_numpy(x)
    high = rows * width - 2
    run(first, high)
    want = np.zeros_like(x)
    want[1:-1, 1:-1] = x[:-2, 1:-1] + x[2:, 1:-1] + 2 * x[1:-1, :-2] + 3 * x[1:-1, 2:]
    assert np.allclose(b.to_numpy(), want, rtol=1e-5)
    i = np.arange(rows * width)
    bytes = np.where((i >= first) & (i < high), i, 0).astype(np.uint8)
    assert (u.to_numpy() == bytes).all()
    assert total[None] == bytes.sum(dtype=np.int64)


@pytest.mark.parametrize("n", [(1 << 20) + 1, (4 << 20) + 3, 5 << 20, 8 << 20])
def test_large_copies(ti: Any, n: int) -> None:
    x = ti.field(ti.f32, n)
    values = np.arange(n, dtype=np.float32)
    x.from_numpy(values)
    assert (x.to_numpy() == values).all()
    x.from_numpy(values[::-1])
    assert (x.to_numpy() == values[::-1]).all()


@pytest.mark.parametrize("most", [1.0, 1e3, 9.9e4, 1e7, 1e14])
def test_fast_sine(ti: Any, most: float) -> None:
    n = 20000
    x, y, z = (ti.field(ti.f32, n) for _ in range(3))

    @ti.kernel
    def run():
        for i in x:
            y[i] = ti.sin(x[i])
            z[i] = ti.cos(x[i])

    values = np.linspace(-most, most, n).astype(np.float32)
    values[0], values[1] = np.nan, np.inf
    x.from_numpy(values)
    run()
    exact = values[2:].astype(np.float64)
    assert np.abs(y.to_numpy()[2:] - np.sin(exact)).max() < 2e-7
    assert np.abs(z.to_numpy()[2:] - np.cos(exact)).max() < 2e-7
    assert np.isnan(y.to_numpy()[:2]).all()
    assert np.isnan(z.to_numpy()[:2]).all()


def test_sine_stays_within_one(ti: Any) -> None:
    """Where it is largest the last bit counts: roots of 1 - sin^2 are taken everywhere."""
    n = 1 << 14
    x, y, z = (ti.field(ti.f32, n) for _ in range(3))

    @ti.kernel
    def run():
        for i in x:
            y[i] = ti.sin(x[i])
            z[i] = ti.cos(x[i])

    near = (np.arange(64)[:, None] * np.pi / 2 * (1 + np.linspace(-1e-3, 1e-3, n // 64))).astype(np.float32).ravel()
    near[:2] = 0.0, -0.0
    x.from_numpy(near)
    run()
    assert np.abs(y.to_numpy()).max() <= 1
    assert np.abs(z.to_numpy()).max() <= 1
    assert (z.to_numpy()[:2] == 1).all()
    assert (y.to_numpy()[:2] == 0).all()


@pytest.mark.parametrize("shape", [(1, 7), (33, 65), (40, 9)])
def test_axes_follow_what_is_written(ti: Any, shape: tuple[int, int]) -> None:
    n, m = shape
    x, y, z = ti.field(ti.i32, (n, m)), ti.field(ti.i32, (m, n)), ti.Vector.field(2, ti.i32, (m, 3, n))
    w = ti.field(ti.i32, (m, n))

    @ti.kernel
    def run(a: ti.types.ndarray(ndim=2)):
        for i, j in x:
            y[j, i] = x[i, j]
            a[j, i] = x[i, j] + 1
        for i, j in ti.ndrange((1, n + 1), (-2, m - 2)):
            w[2 + j, i - 1] = x[i - 1, 2 + j] + 2
        for i, k, j in ti.ndrange(n, (1, 3), m):
            z[j, k, i] = ti.Vector([x[i, j], k])

    values, a = np.arange(n * m, dtype=np.int32).reshape(n, m), np.zeros((m, n), np.int32)
    x.from_numpy(values)
    run(a)
    assert (y.to_numpy() == values.T).all()
    assert (a == values.T + 1).all()
    assert (w.to_numpy() == values.T + 2).all()
    assert (z.to_numpy()[:, 1:, :, 0] == values.T[:, None]).all()
    assert (z.to_numpy()[..., 1] == np.array([0, 1, 2])[None, :, None]).all()
