"""What stays behind of kernels that were dropped: `python -m tests.bench.dropped_kernels [WARM-UP COUNT [KIND]]`.

Kinds: `scalar` (the usual one), with a `field` of its own, an `array`, a real `function`, a `method` of an object; with
`_debug` behind it, with checks. Prints, for each kernel that was compiled, run and dropped after the warm-up, the bytes
of the process, and the blocks of Python's own allocator. (Linux with glibc: memory that was freed is handed back first,
so that what is left was not.)
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys

import numpy as np

import weft as ti


def resident() -> int:
    """Bytes of this process in memory, less what is free."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as words:
        return int(words.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# Each makes a kernel that no other is equal to, and runs it.


def scalar(number: int) -> None:
    @ti.kernel
    def scaled(n: ti.i32) -> ti.i32:
        return n * ti.static(number)

    assert scaled(3) == 3 * number


def field(number: int) -> None:
    x = ti.field(ti.i32, 16)

    @ti.kernel
    def add():
        for i in x:
            x[i] += ti.static(number)

    add()
    assert x[15] == number


def array(number: int) -> None:
    x = np.zeros(16, np.int32)

    @ti.kernel
    def add(y: ti.types.ndarray(ti.i32, 1)):
        for i in y:
            y[i] += ti.static(number)

    add(x)
    assert x[15] == number


def function(number: int) -> None:
    @ti.real_func
    def scaled(n: ti.i32) -> ti.i32:
        return n * ti.static(number)

    @ti.kernel
    def call(n: ti.i32) -> ti.i32:
        return scaled(n)

    assert call(3) == 3 * number


def method(number: int) -> None:
    @ti.data_oriented
    class Counter:
        def __init__(self) -> None:
            self.x = ti.field(ti.i32, 16)

        @ti.kernel
        def add(self):
            for i in self.x:
                self.x[i] += ti.static(number)

    counter = Counter()
    counter.add()
    assert counter.x[15] == number


KINDS = {kind.__name__: kind for kind in (scalar, field, array, function, method)}


def measure(warm_up: int, count: int, kind: str) -> tuple[float, float]:
    """For each of `count` kernels: bytes of the process, blocks of Python's allocator."""
    name, _, debug = kind.partition("_")
    run_and_drop = KINDS[name]
    ti.init(arch=ti.cpu, offline_cache=False, debug=bool(debug))
    for number in range(warm_up):
        run_and_drop(number)
    before, blocks = resident(), sys.getallocatedblocks()
    for number in range(count):
        run_and_drop(warm_up + number)
    after = resident()
    return (after - before) / count, (sys.getallocatedblocks() - blocks) / count


if __name__ == "__main__":
    warm_up, count, kind, *_ = [*sys.argv[1:], *("100", "2000", "scalar")[len(sys.argv) - 1 :]]
    whole, python = measure(int(warm_up), int(count), kind)
    print(f"for each kernel: {whole:.0f} bytes of the process, {python:.1f} blocks of Python")
