"""What `measure.py` measures: programs over fields, written as their authors would write them.

Each entry of `WORKLOADS` makes its fields and kernels and gives a `Workload`. Those of particles are in `particles.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import weft as ti

WORKLOADS: dict[str, tuple[float, Callable[[], Workload]]] = {}
SAMPLES = 500


@dataclass(frozen=True)
class Workload:
    """`run` is the measured step, `moved` the bytes that it must at least move (0: not bound by memory), `error()` runs
    it once more and gives how far a sample of its result is from what numpy computes, in units of what is tolerated."""

    run: Callable[[], Any]
    moved: int
    error: Callable[[], float]


def workload(name: str, target: float = 0.0) -> Callable[[Callable[[], Workload]], Callable[[], Workload]]:
    """Register a maker under the name of its row; `target`: milliseconds on an H200, 0 for none."""

    def register(make: Callable[[], Workload]) -> Callable[[], Workload]:
        WORKLOADS[name] = (target, make)
        return make

    return register


def apart(got: Any, want: Any, tolerance: float = 1e-5) -> float:
    """The largest difference of two arrays, relative to the largest value wanted, over the tolerance."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    return float(np.abs(got - want).max() / (np.abs(want).max() * tolerance + 1e-30))


def points(n: int, margin: int, axes: int, seed: int = 1) -> Any:
    """Random points inside a box, some of them at its edges."""
    found = np.random.default_rng(seed).integers(margin, n - margin, (SAMPLES, axes))
    found[:4], found[4:8] = margin, n - margin - 1
    return found


# ---- maps and sums ---------------------------------------------------------------------------------------------------

N = 1 << 28


def filled(n: int, dtype: Any = ti.f32) -> Any:
    """A field of numbers between 0 and 1 that differ from one to the next."""
    x = ti.field(dtype, n)

    @ti.kernel
    def fill():
        for i in x:
            x[i] = 0.001 + (i * 7919 % 10007) / 10007

    fill()
    return x


def sample(x: Any) -> tuple[Any, Any]:
    """Places in a long field and what it holds there."""
    at = np.sort(np.random.default_rng(2).integers(0, x.shape[0], SAMPLES))
    at[0], at[-1] = 0, x.shape[0] - 1
    return at, np.array([x[int(i)] for i in at])


@workload("fill 256M f32")
def fill() -> Workload:
    x = ti.field(ti.f32, N)

    @ti.kernel
    def step():
        for i in x:
            x[i] = 1.0

    return Workload(step, 4 * N, lambda: apart(sample(x)[1], np.ones(SAMPLES)))


@workload("saxpy 256M f32")
def saxpy() -> Workload:
    x, y = filled(N), filled(N)

    @ti.kernel
    def step(a: ti.f32):
        for i in x:
            y[i] = a * x[i] + y[i]

    def error() -> float:
        _, before = sample(y)
        step(0.5)
        return apart(sample(y)[1], before + 0.5 * sample(x)[1])

    return Workload(lambda: step(0.5), 12 * N, error)


@workload("sum of 256M f32")
def add() -> Workload:
    x, total = filled(N), ti.field(ti.f32, ())

    @ti.kernel
    def step():
        for i in x:
            total[None] += x[i]

    def error() -> float:
        total[None] = 0
        step()
        return apart(total[None], x.to_numpy().sum(dtype=np.float64), 1e-4)

    return Workload(step, 4 * N, error)


@workload("sin * exp + log 256M f32")
def transcendental() -> Workload:
    x, y = filled(N), ti.field(ti.f32, N)

    @ti.kernel
    def step():
        for i in x:
            y[i] = ti.sin(x[i]) * ti.exp(x[i]) + ti.log(x[i])

    def error() -> float:
        step()
        v = sample(x)[1].astype(np.float64)
        return apart(sample(y)[1], np.sin(v) * np.exp(v) + np.log(v), 1e-6)

    return Workload(step, 8 * N, error)


@workload("... + pow(x, 1.5)")
def with_power() -> Workload:
    x, y = filled(N), ti.field(ti.f32, N)

    @ti.kernel
    def step():
        for i in x:
            y[i] = ti.sin(x[i]) * ti.exp(x[i]) + ti.log(x[i] + 1.0) + ti.pow(x[i], 1.5)

    def error() -> float:
        step()
        v = sample(x)[1].astype(np.float64)
        return apart(sample(y)[1], np.sin(v) * np.exp(v) + np.log(v + 1) + v**1.5, 1e-6)

    return Workload(step, 8 * N, error)


@workload("histogram 256M u8")
def histogram() -> Workload:
    x, bins = ti.field(ti.u8, N), ti.field(ti.i32, 256)

    @ti.kernel
    def start():
        for i in x:
            x[i] = ti.cast(i * 7 + i // 251, ti.u8)

    @ti.kernel
    def step():
        for i in x:
            bins[x[i]] += 1

    def error() -> float:
        bins.fill(0)
        step()
        return apart(bins.to_numpy(), np.bincount(x.to_numpy(), minlength=256), 1e-12)

    start()
    return Workload(step, N, error)


# ---- sorting and prefix sums -----------------------------------------------------------------------------------------

SORTED, SUMMED = 1 << 24, 1 << 26


def shuffled(n: int) -> Any:
    """An array of numbers of all 32 bits, none of them twice."""
    x = ti.ndarray(ti.i32, n)

    @ti.kernel
    def fill(x: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in x:
            x[i] = i * -1640531527 ^ 0x5BD1E995

    fill(x)
    return x


def sorting(values: Any) -> Workload:
    """Every step sorts the same keys, which a copy at memory's speed brings back before."""
    before, keys = shuffled(SORTED), ti.ndarray(ti.i32, SORTED)

    def step() -> None:
        keys.copy_from(before)
        ti.algorithms.parallel_sort(keys, values)

    def error() -> float:
        step()
        return apart(keys.to_numpy(), np.sort(before.to_numpy()), 1e-12)

    return Workload(step, 0, error)


@workload("sort 16M i32")
def sort_keys() -> Workload:
    return sorting(None)


@workload("sort 16M i32 with values")
def sort_pairs() -> Workload:
    return sorting(ti.ndarray(ti.i32, SORTED))


@workload("prefix sum 64M i32")
def prefix_sum() -> Workload:
    x, executor = ti.ndarray(ti.i32, SUMMED), ti.algorithms.PrefixSumExecutor(SUMMED)

    def error() -> float:
        numbers = shuffled(SUMMED)
        x.copy_from(numbers)
        executor.run(x)
        return apart(x.to_numpy(), np.cumsum(numbers.to_numpy(), dtype=np.int32), 1e-12)

    return Workload(lambda: executor.run(x), 8 * SUMMED, error)


# ---- stencils --------------------------------------------------------------------------------------------------------


@workload("heat 16384^2 f32")
def heat() -> Workload:
    n = 16384
    a, b = filled(n * n), ti.field(ti.f32, (n, n))
    x = ti.field(ti.f32, (n, n))

    @ti.kernel
    def start():
        for i, j in x:
            x[i, j] = a[i * n + j]

    @ti.kernel
    def step():
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            b[i, j] = x[i, j] + 0.2 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j])

    def error() -> float:
        step()
        v, (i, j) = x.to_numpy(), points(n, 1, 2).T
        want = v[i, j] + 0.2 * (v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1] - 4 * v[i, j])
        return apart(b.to_numpy()[i, j], want)

    start()
    return Workload(step, 8 * n * n, error)


@workload("life 16384^2 u8")
def life() -> Workload:
    n = 16384
    u, v = ti.field(ti.u8, (n, n)), ti.field(ti.u8, (n, n))

    @ti.kernel
    def start():
        for i, j in u:
            u[i, j] = 1 if (i * 131 + j * 71 + i * j) % 7 < 3 else 0

    @ti.kernel
    def step():
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            around = ti.cast(0, ti.u8)
            for p, q in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                if ti.static(p != 0 or q != 0):
                    around += u[i + p, j + q]
            v[i, j] = 1 if around == 3 or (around == 2 and u[i, j] == 1) else 0

    def error() -> float:
        step()
        x, (i, j) = u.to_numpy(), points(n, 1, 2).T
        around = sum(x[i + p, j + q] for p in (-1, 0, 1) for q in (-1, 0, 1) if p or q)
        want = (around == 3) | ((around == 2) & (x[i, j] == 1))
        return apart(v.to_numpy()[i, j], want, 1e-12)

    start()
    return Workload(step, 2 * n * n, error)


@workload("7-point 512^3 f32")
def seven_point() -> Workload:
    m = 512
    c, d = ti.field(ti.f32, (m, m, m)), ti.field(ti.f32, (m, m, m))

    @ti.kernel
    def start():
        for i, j, k in c:
            c[i, j, k] = ((i * 31 + j * 17 + k) % 101) / 101

    @ti.kernel
    def step():
        for i, j, k in ti.ndrange((1, m - 1), (1, m - 1), (1, m - 1)):
            near = c[i - 1, j, k] + c[i + 1, j, k] + c[i, j - 1, k] + c[i, j + 1, k] + c[i, j, k - 1] + c[i, j, k + 1]
            d[i, j, k] = c[i, j, k] + 0.1 * (near - 6 * c[i, j, k])

    def error() -> float:
        step()
        v, (i, j, k) = c.to_numpy(), points(m, 1, 3).T
        near = v[i - 1, j, k] + v[i + 1, j, k] + v[i, j - 1, k] + v[i, j + 1, k] + v[i, j, k - 1] + v[i, j, k + 1]
        return apart(d.to_numpy()[i, j, k], v[i, j, k] + 0.1 * (near - 6 * v[i, j, k]))

    start()
    return Workload(step, 8 * m**3, error)


def picture(n: int) -> Any:
    """An image of three floats a pixel."""
    x = ti.Vector.field(3, ti.f32, (n, n))

    @ti.kernel
    def start():
        for i, j in x:
            x[i, j] = ti.Vector([(i * 31 + j * 17) % 101, (i * 7 + j * 3) % 53, (i + j * j) % 29]) / 101

    start()
    return x


def blur(radius: int) -> Workload:
    """The mean of a square around each pixel of an 8192 x 8192 image."""
    n = 8192
    x, y = picture(n), ti.Vector.field(3, ti.f32, (n, n))

    @ti.kernel
    def step():
        for i, j in ti.ndrange((radius, n - radius), (radius, n - radius)):
            total = ti.Vector([0.0, 0.0, 0.0])
            for p, q in ti.ndrange((-radius, radius + 1), (-radius, radius + 1)):
                total += x[i + p, j + q]
            y[i, j] = total / (2 * radius + 1) ** 2

    def error() -> float:
        step()
        v, got = x.to_numpy(), y.to_numpy()
        size = 2 * radius + 1
        at = points(n, radius, 2)[:50]
        want = [v[i - radius : i + radius + 1, j - radius : j + radius + 1].sum((0, 1)) / size**2 for i, j in at]
        return apart([got[i, j] for i, j in at], want)

    return Workload(step, 24 * n * n, error)


@workload("5x5 blur 8192^2 vec3", 0.8)
def blur_5() -> Workload:
    return blur(2)


@workload("11x11 blur 8192^2 vec3", 3.0)
def blur_11() -> Workload:
    return blur(5)


@workload("bilateral 11x11 4096^2 vec3", 1.2)
def bilateral() -> Workload:
    n, radius = 4096, 5
    x, y = picture(n), ti.Vector.field(3, ti.f32, (n, n))

    @ti.kernel
    def step():
        for i, j in y:
            middle, total, weights = x[i, j], ti.Vector([0.0, 0.0, 0.0]), 0.0
            for a, b in ti.ndrange((-radius, radius + 1), (-radius, radius + 1)):
                other = x[ti.max(0, ti.min(n - 1, i + a)), ti.max(0, ti.min(n - 1, j + b))]
                apart = other - middle
                weight = ti.exp(-0.03 * (a * a + b * b) - 4.0 * apart.dot(apart))
                total += weight * other
                weights += weight
            y[i, j] = total / weights

    def error() -> float:
        step()
        v, got = x.to_numpy(), y.to_numpy()
        reach, at = np.arange(-radius, radius + 1), points(n, 0, 2)[:50]
        near = -0.03 * (reach[:, None] ** 2 + reach[None] ** 2)
        want = list[Any]()
        for i, j in at:
            other = v[np.clip(i + reach, 0, n - 1)[:, None], np.clip(j + reach, 0, n - 1)[None]].astype(np.float64)
            weight = np.exp(near - 4 * ((other - v[i, j]) ** 2).sum(-1))
            want.append((weight[..., None] * other).sum((0, 1)) / weight.sum())
        return apart([got[i, j] for i, j in at], want)

    return Workload(step, 0, error)
