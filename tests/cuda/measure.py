"""Measures a GPU: bandwidth of maps, stencils and sums against that of a copy, MPM88, and what a launch costs.

python tests/cuda/measure.py
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import weft as ti
from weft.lang.init import program


def seconds(run: Callable[[], Any], least: float = 0.15) -> float:
    """Seconds of one run, the best of three series; the first runs are left out."""
    run()
    run()
    ti.sync()
    count, best = 1, 1e9
    while True:
        start = time.perf_counter()
        for _ in range(count):
            run()
        ti.sync()
        spent = time.perf_counter() - start
        best = min(best, spent / count)
        if spent > least:
            break
        count = max(count + 1, int(count * least / max(spent, 1e-6)) + 1)
    return best


def line(name: str, spent: float, bytes_moved: float = 0.0, copy: float = 0.0) -> None:
    """One row of the table."""
    rate = bytes_moved / spent
    part = f"{rate / 1e12:8.2f} TB/s {rate / copy:6.2f} of copy" if bytes_moved else ""
    print(f"{name:28}{spent * 1e3:10.4f} ms {part}", flush=True)


def copy_rate() -> float:
    """Bytes read and written in a second by a copy of a gigabyte on the device."""
    device = program().device
    size = 1 << 30
    a, b = (device.memory.allocate(size, "copy") for _ in range(2))
    gpu = device.gpu
    spent = seconds(lambda: gpu.driver.call("cuMemcpyDtoDAsync_v2", b.address, a.address, size, gpu.stream))
    line("copy 1 GiB", spent, 2 * size, 2 * size / spent)
    return 2 * size / spent


def arrays(copy: float) -> None:
    """Maps and sums over 256M floats."""
    n = 1 << 28
    x, y, total = ti.field(ti.f32, n), ti.field(ti.f32, n), ti.field(ti.f32, ())

    @ti.kernel
    def saxpy(a: ti.f32):
        for i in x:
            y[i] = a * x[i] + y[i]

    @ti.kernel
    def fill():
        for i in x:
            x[i] = 1.0

    @ti.kernel
    def add():
        for i in x:
            total[None] += x[i]

    @ti.kernel
    def transcendental():
        for i in x:
            y[i] = ti.sin(x[i]) * ti.exp(x[i]) + ti.log(x[i])

    line("fill 256M f32", seconds(fill), 4 * n, copy)
    line("saxpy 256M f32", seconds(lambda: saxpy(0.5)), 12 * n, copy)
    line("sum 256M f32", seconds(add), 4 * n, copy)
    line("sin*exp+log 256M f32", seconds(transcendental), 8 * n, copy)
    x.fill(1)
    total[None] = 0
    add()
    print("sum is", total[None], "of", n)


def bytes_and_bins(copy: float) -> None:
    """A histogram of 256M bytes."""
    n = 1 << 28
    x, bins = ti.field(ti.u8, n), ti.field(ti.i32, 256)

    @ti.kernel
    def fill():
        for i in x:
            x[i] = ti.cast(i * 7 + i // 251, ti.u8)

    @ti.kernel
    def histogram():
        for i in x:
            bins[x[i]] += 1

    fill()
    line("histogram 256M u8", seconds(histogram), n, copy)


def stencils(copy: float) -> None:
    """Heat in two and three dimensions, and life."""
    n = 16384
    a, b = ti.field(ti.f32, (n, n)), ti.field(ti.f32, (n, n))

    @ti.kernel
    def heat():
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            b[i, j] = a[i, j] + 0.2 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] - 4 * a[i, j])

    line("heat 16384^2 f32", seconds(heat), 8 * n * n, copy)
    u, v = ti.field(ti.u8, (n, n)), ti.field(ti.u8, (n, n))

    @ti.kernel
    def life():
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            around = ti.cast(0, ti.u8)
            for p, q in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                if ti.static(p != 0 or q != 0):
                    around += u[i + p, j + q]
            v[i, j] = 1 if around == 3 or (around == 2 and u[i, j] == 1) else 0

    line("life 16384^2 u8", seconds(life), 2 * n * n, copy)
    m = 512
    c, d = ti.field(ti.f32, (m, m, m)), ti.field(ti.f32, (m, m, m))

    @ti.kernel
    def heat3():
        for i, j, k in ti.ndrange((1, m - 1), (1, m - 1), (1, m - 1)):
            near = c[i - 1, j, k] + c[i + 1, j, k] + c[i, j - 1, k] + c[i, j + 1, k] + c[i, j, k - 1] + c[i, j, k + 1]
            d[i, j, k] = c[i, j, k] + 0.1 * (near - 6 * c[i, j, k])

    line("7-point 512^3 f32", seconds(heat3), 8 * m**3, copy)


def particles() -> None:
    """MPM88 as the demo has it, and with a million particles on a 1024 x 1024 grid (50 substeps)."""
    demo: Any = importlib.import_module("weft.demos.mpm88")
    frame = demo.build()
    line("mpm88 frame (8192, 50 steps)", seconds(lambda: frame(0)))


def launches() -> None:
    """Kernels that do next to nothing."""
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def nothing():
        for i in x:
            x[i] = 0

    @ti.kernel
    def answer() -> ti.i32:
        return 42

    @ti.kernel
    def ten(
        a: ti.types.ndarray(),
        b: ti.types.ndarray(),
        c: ti.types.ndarray(),
        d: ti.types.ndarray(),
        e: ti.types.ndarray(),
    ):
        for i in a:
            a[i] = b[i] + c[i] + d[i] + e[i]

    arguments = [ti.ndarray(ti.f32, 8) for _ in range(5)]
    line("launch", seconds(nothing))
    line("launch, 5 arrays", seconds(lambda: ten(*arguments)))
    line("launch and answer", seconds(answer))
    line("element read", seconds(lambda: x[1]))


def main() -> None:
    """The whole table."""
    start = time.perf_counter()
    ti.init(arch=ti.cuda, enable_fallback=False)
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def first():
        for i in x:
            x[i] = ti.sin(i)

    first()
    ti.sync()
    print(f"first kernel after import: {time.perf_counter() - start:.2f} s")
    copy = copy_rate()
    for part in (arrays, bytes_and_bins, stencils):
        ti.init(arch=ti.cuda, enable_fallback=False)
        part(copy)
    ti.init(arch=ti.cuda, enable_fallback=False)
    launches()
    particles()
    large = np.empty(1 << 28, np.float32)
    ti.init(arch=ti.cuda, enable_fallback=False)
    y = ti.field(ti.f32, 1 << 28)
    line("from_numpy 1 GiB", seconds(lambda: y.from_numpy(large)), 1 << 30, copy)
    line("to_numpy 1 GiB", seconds(y.to_numpy), 1 << 30, copy)


if __name__ == "__main__":
    main()
