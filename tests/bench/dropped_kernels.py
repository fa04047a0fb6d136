"""What stays behind of kernels that were dropped: `python -m tests.bench.dropped_kernels [WARM-UP COUNT]`.

Prints, for each kernel that was compiled, run and dropped after the warm-up, the bytes of the process, and the blocks
of Python's own allocator. (Linux with glibc: memory that was freed is handed back first, so that what is left was not.)
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys

import weft as ti


def resident() -> int:
    """Bytes of this process in memory, less what is free."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as words:
        return int(words.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def run_and_drop(number: int) -> None:
    """A kernel that no other is equal to."""

    @ti.kernel
    def scaled(n: ti.i32) -> ti.i32:
        return n * ti.static(number)

    assert scaled(3) == 3 * number


def measure(warm_up: int, count: int) -> tuple[float, float]:
    """For each of `count` kernels: bytes of the process, blocks of Python's allocator."""
    ti.init(arch=ti.cpu, offline_cache=False)
    for number in range(warm_up):
        run_and_drop(number)
    before, blocks = resident(), sys.getallocatedblocks()
    for number in range(count):
        run_and_drop(warm_up + number)
    after = resident()
    return (after - before) / count, (sys.getallocatedblocks() - blocks) / count


if __name__ == "__main__":
    whole, python = measure(*(map(int, sys.argv[1:]) if len(sys.argv) > 1 else (100, 2000)))
    print(f"for each kernel: {whole:.0f} bytes of the process, {python:.1f} blocks of Python")
