"""Measures a GPU: bandwidth of maps, stencils and sums against that of a copy, particles, and what a launch costs.

python tests/cuda/measure.py [part of the name of a row]
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import particles  # noqa: F401 - it has rows of the table
from launches import calls
from workloads import SORTED, SUMMED, WORKLOADS

import weft as ti
from weft.lang.program.init import program


def seconds(run: Callable[[], Any], least: float = 0.15, sync: Callable[[], Any] = ti.sync) -> float:
    """Seconds of one run, the best of three series; the first runs are left out. `sync` waits for the GPU."""
    run()
    run()
    sync()
    count, best = 1, 1e9
    while True:
        start = time.perf_counter()
        for _ in range(count):
            run()
        sync()
        spent = time.perf_counter() - start
        best = min(best, spent / count)
        if spent > least:
            break
        count = max(count + 1, int(count * least / max(spent, 1e-6)) + 1)
    return best


def line(name: str, spent: float, bytes_moved: float = 0.0, copy: float = 0.0, more: str = "") -> None:
    """One row of the table."""
    rate = bytes_moved / spent
    part = f"{rate / 1e12:8.2f} TB/s {rate / copy:6.2f} of copy" if bytes_moved else ""
    print(f"{name:28}{spent * 1e3:10.4f} ms {part}{more}", flush=True)


def copy_rate() -> float:
    """Bytes read and written in a second by a copy of a gigabyte on the device."""
    device = program().device
    size = 1 << 30
    a, b = (device.memory.allocate(size, "copy") for _ in range(2))
    gpu = device.gpu
    spent = seconds(lambda: gpu.driver.copy(b.address, a.address, size, gpu.stream))
    line("copy 1 GiB", spent, 2 * size, 2 * size / spent)
    return 2 * size / spent


def workloads(copy: float, wanted: str) -> None:
    """Whole programs: each is checked on a sample of its result, since a wrong answer is no measurement."""
    for name, (target, make) in WORKLOADS.items():
        if wanted not in name:
            continue
        ti.init(arch=ti.cuda, enable_fallback=False)
        try:
            made = make()
            spent = seconds(made.run)
            error = made.error()
        except Exception as failure:
            print(f"{name:28} {type(failure).__name__}: {str(failure)[:300]}", flush=True)
            continue
        verdict = f"  (target {target:g} ms)" if target else ""
        if error > 1:
            verdict += f"  WRONG: {error:.3g} times what is tolerated"
        line(name, spent, made.moved, copy, verdict)


def torchs(wanted: str) -> None:
    """The same by PyTorch, for rows whose programs it has; a sort there gives the order, too."""
    if importlib.util.find_spec("torch") is None:
        return
    torch = importlib.import_module("torch")
    keys = torch.randint(-(2**31), 2**31, (SORTED,), dtype=torch.int32, device="cuda")
    ones = torch.ones(SUMMED, dtype=torch.int32, device="cuda")
    for name, run in (
        ("torch.sort 16M i32", lambda: torch.sort(keys)),
        ("torch.cumsum 64M i32", lambda: torch.cumsum(ones, 0, dtype=torch.int32)),
    ):
        if wanted in name:
            line(name, seconds(run, sync=torch.cuda.synchronize))


def launches() -> None:
    """Kernels that do next to nothing."""
    for name, call in calls().items():
        line(name, seconds(call))


def main(wanted: str = "") -> None:
    """The whole table, or the rows of workloads with `wanted` in their names."""
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
    workloads(copy, wanted)
    torchs(wanted)
    if wanted:
        return
    ti.init(arch=ti.cuda, enable_fallback=False)
    launches()
    large = np.empty(1 << 28, np.float32)
    ti.init(arch=ti.cuda, enable_fallback=False)
    y = ti.field(ti.f32, 1 << 28)
    line("from_numpy 1 GiB", seconds(lambda: y.from_numpy(large)), 1 << 30, copy)
    line("to_numpy 1 GiB", seconds(y.to_numpy), 1 << 30, copy)


if __name__ == "__main__":
    main(*sys.argv[1:])
