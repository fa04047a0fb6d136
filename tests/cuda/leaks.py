"""Whether anything is left behind: the GPU memory in use before and after what a long session does often.

python tests/cuda/leaks.py
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

import weft as ti
from weft.lang.program.init import program


def used() -> int:
    """Bytes of the GPU that are not free, after everything that can be given back was."""
    gc.collect()
    gpu = program().device.gpu
    gpu.trim()
    free, whole = gpu.driver.free_memory()
    return whole - free


def cycle() -> None:
    """A program from `init` to `reset`."""
    ti.init(arch=ti.cuda, enable_fallback=False)
    x = ti.field(ti.f32, 1 << 20)

    @ti.kernel
    def run() -> ti.f32:
        for i in x:
            x[i] = i
        return x[7]

    assert run() == 7


def allocations() -> None:
    """Ten thousand arrays of many sizes, each used."""

    @ti.kernel
    def touch(a: ti.types.ndarray(ti.f32, 1)):
        for i in a:
            a[i] = 1

    for k in range(10_000):
        touch(ti.ndarray(ti.f32, 1 + k * 37 % 100_000))


def threads() -> None:
    """Two host threads that launch at once."""
    x = ti.field(ti.i32, 1000)

    @ti.kernel
    def add(n: ti.i32):
        for i in x:
            x[i] += n

    work = [threading.Thread(target=lambda k=k: [add(k) for _ in range(5000)]) for k in (1, 2)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert x[999] == 15_000


def prints_and_faults() -> None:
    """A print buffer, and assertions that fail."""
    ti.init(arch=ti.cuda, debug=True, enable_fallback=False)

    @ti.kernel
    def fail(n: ti.i32):
        for i in range(10):
            assert i < n, "as it should"

    for _ in range(200):
        try:
            fail(5)
        except AssertionError:
            continue
        raise RuntimeError("the assertion held")


def report(name: str, run: Callable[[], None], times: int) -> None:
    """One line: the first rounds, which load what stays for good, do not count."""
    ti.init(arch=ti.cuda, enable_fallback=False)
    run()
    ti.init(arch=ti.cuda, enable_fallback=False)
    before = used()
    for _ in range(times):
        run()
    ti.init(arch=ti.cuda, enable_fallback=False)
    after = used()
    verdict = "ok" if after - before < 4 << 20 else "LEAK"
    print(f"{name:28} before {before / 2**20:9.1f} MiB, after {after / 2**20:9.1f} MiB  {verdict}", flush=True)


def main() -> None:
    """All of it."""
    report("100 cycles of init and reset", cycle, 100)
    report("10 000 allocations", allocations, 1)
    report("two threads", threads, 1)
    report("failing assertions", prints_and_faults, 3)


if __name__ == "__main__":
    main()
