"""How long sparse kernels take to compile, beside the same kernels on dense fields: `python -m
tests.bench.compile_ratios`.

The loops of `sparse_cells.py` on fields of 64 x 64 x 64. Each runs in a process of its own, after a dense kernel.
"First": the first kernel of the process that uses a sparse field, with the routines of its nodes. "Next": another
kernel of the same text, when they are compiled. The table gives the best of three, in milliseconds of the processor's
time. The compiler has one thread.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import weft as ti
from tests.bench.sparse_cells import Fields

ROUNDS, SIZE = 3, 64
LOOPS = ("own elements", "a copy into another tree", "7 points, 0 outside", "7 points, kept in range")


def first_call(kernel: Callable[[], Any]) -> float:
    """Milliseconds of the processor's time for what the first call of a kernel takes besides the launch."""
    began = time.process_time()
    kernel()
    compiled = time.process_time()
    kernel()
    return (2 * compiled - began - time.process_time()) * 1e3


def measure(name: str) -> tuple[float, float, float]:
    """The first call of the dense loop, of the sparse one, and of another sparse one."""
    ti.init(arch=ti.cpu, offline_cache=False, cpu_max_num_threads=1, compile_threads=1)
    fields = Fields(SIZE)
    dense = [fields.programs()[name][1] for _ in range(2)]
    first_call(dense[0])  # imports the compiler
    sparse = [fields.programs()[name][0] for _ in range(2)]
    return first_call(dense[1]), first_call(sparse[0]), first_call(sparse[1])


def main(arguments: list[str]) -> None:
    """The command line."""
    if arguments:
        print(*measure(arguments[0]))
        return
    print(f"{'':26}{'dense':>8}{'first':>8}{'next':>8}   first / dense, next / dense")
    for name in LOOPS:
        command = [sys.executable, "-W", "ignore", "-m", "tests.bench.compile_ratios", name]
        runs = [subprocess.check_output(command, text=True, env=dict(os.environ)).split() for _ in range(ROUNDS)]
        dense, first, second = (min(map(float, column)) for column in zip(*runs, strict=True))
        print(f"{name:26}{dense:8.1f}{first:8.1f}{second:8.1f}   {first / dense:6.2f}{second / dense:8.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
