"""Which launches wait for one another: those on the same memory, with and without a lock for each memory."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.ir.artifact import Slots
from weft.ir.symbols import Param
from weft.ir.types import array, f32
from weft.runtime import launch
from weft.runtime.launch_locks import ALL_MEMORY, DEVICE_LOCK, memory_of

OPEN = 1 << 30  # a launch waits until its gate, which it counts up, is open
Numbers = ti.types.ndarray(dtype=ti.i32, ndim=1)
THREADS, ROUNDS = 4, 40


@pytest.fixture(params=[False, True], ids=["in turn", "apart"])
def apart(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether launches on different memory go side by side."""
    monkeypatch.setattr(launch, "memory_of", partial(memory_of, apart=request.param))
    ti.init(arch=ti.cpu, cpu_max_num_threads=16)  # (few take turns at atomics, or one does without them)
    return bool(request.param)


def begun(work: Callable[..., Any], *args: Any) -> threading.Thread:
    thread = threading.Thread(target=work, args=args)
    thread.start()
    return thread


def test_who_waits(apart: bool):
    @ti.kernel
    def wait(gate: Numbers, a: Numbers):
        for i in range(1 << 18):
            if i == 0:
                while ti.atomic_add(gate[0], 1) < OPEN:
                    pass
                a[0] = 2 * a[0] + 1

    @ti.kernel
    def add(a: Numbers):
        a[0] += 10

    gate, a = np.full(1, OPEN, np.int32), np.zeros(3, np.int32)
    apart_from_it = [np.zeros(3, np.int32) for _ in range(8)]  # (but for those few that meet it at one lock by chance)
    for b in apart_from_it:
        add(b)
    wait(gate, a)
    gate[0] = 0
    first = begun(wait, gate, a)
    while gate[0] == 0:
        time.sleep(0)
    same, others = begun(add, a), [begun(add, b) for b in apart_from_it]
    if apart:
        while all(other.is_alive() for other in others):
            time.sleep(0)
    time.sleep(0.05)
    assert (same.is_alive(), all(other.is_alive() for other in others), a[0]) == (True, not apart, 1)
    gate[0] = OPEN
    for thread in (first, same, *others):
        thread.join()
    assert a[0] == 13  # (2 * 1 + 1) + 10: the second came after the first
    assert [b[0] for b in apart_from_it] == [20] * len(apart_from_it)


def test_loops_sums_and_copies_of_small_arrays(apart: bool):
    bins = ti.field(ti.i32, 64)
    shared = np.zeros(100_000, np.int32)
    values = (np.arange(300_000) % 64).astype(np.int32)

    @ti.kernel
    def add(a: Numbers):
        for i in a:
            a[i] += 1

    @ti.kernel
    def count(a: Numbers):
        for i in a:
            bins[a[i]] += 1

    @ti.kernel
    def total(a: Numbers) -> ti.i64:
        s = ti.i64(0)
        for i in a:
            s += a[i]
        return s

    def work() -> None:
        own = np.zeros(300_000, np.int32)
        for turn in range(ROUNDS):
            add(own)
            add(shared)
            count(values)
            sums.append(total(own) - 300_000 * (turn + 1))

    sums: list[int] = []
    threads = [begun(work) for _ in range(THREADS)]
    for thread in threads:
        thread.join()
    assert sums == [0] * (THREADS * ROUNDS)
    assert (shared == THREADS * ROUNDS).all()
    assert (bins.to_numpy() == np.bincount(values) * THREADS * ROUNDS).all()


def test_output_that_launches_kernels(apart: bool, monkeypatch: pytest.MonkeyPatch):
    a = np.zeros(8, np.int32)

    @ti.kernel
    def add(a: Numbers):
        for i in range(1, 8):
            a[i] += 1

    @ti.kernel
    def say(a: Numbers):
        print("now", a[0])
        a[0] += 100

    class Output:
        def write(self, text: str) -> None:
            add(a)

        def flush(self) -> None:
            pass

    add(a)
    monkeypatch.setattr(sys, "stdout", Output())
    threads = [begun(say, a) for _ in range(THREADS)] + [begun(add, a) for _ in range(THREADS)]
    for thread in threads:
        thread.join()
    monkeypatch.undo()
    assert a.tolist() == [100 * THREADS] + [1 + 2 * THREADS] * 7


def test_what_a_run_excludes():
    def slots(trees: int, arrays: int) -> Slots:
        return Slots(trees, tuple(Param(f"a{k}", array(f32, 2)) for k in range(arrays)), (), 0)

    assert memory_of(slots(2, 1), prints=False, apart=True) == 0b111000
    assert memory_of(slots(0, 2), prints=False, apart=True) == 1 << 3 | 1 << 8
    assert memory_of(slots(0, 0), prints=False, apart=True) == 0
    assert memory_of(slots(0, 13), prints=False, apart=True) == ALL_MEMORY
    assert memory_of(slots(1, 0), prints=True, apart=True) == ALL_MEMORY | DEVICE_LOCK
    assert {memory_of(slots(n, n), prints=n > 1, apart=False) for n in range(4)} == {DEVICE_LOCK}
