"""Times of tasks: each parallel loop has one, launches compute the same, and code that cannot be read is refused."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.ir.errors import WeftError
from weft.lang.calls.recipe import ON_COMPILED
from weft.runtime.elf import functions_of
from weft.runtime.task_clock import TaskClock

SIZE = 1 << 20
elf = pytest.mark.skipif(sys.platform != "linux", reason="object files are not ELF")


@elf
def test_each_parallel_loop_is_timed() -> None:
    ti.init(arch=ti.cpu, cpu_max_num_threads=2)
    x, bins, total = ti.field(ti.f32, SIZE), ti.field(ti.i32, 16), ti.field(ti.f32, ())

    @ti.kernel
    def work():
        for i in x:
            x[i] = ti.sin(ti.cast(i, ti.f32)) + 2
        for i in x:
            bins[ti.cast(x[i] * 4, ti.i32)] += 1
        total[None] = x[3]

    clocks: list[TaskClock] = []
    token = ON_COMPILED.set(lambda instance: clocks.append(TaskClock(instance.loaded)))
    try:
        for _ in range(3):
            work()
    finally:
        ON_COMPILED.reset(token)
    (clock,) = clocks
    times = clock.tasks()
    assert sorted(times) == [0, 1]  # the last task is serial
    assert all(0 < seconds < 60 for seconds, _ in times.values())
    assert times[0][1] == 3
    assert bins.to_numpy().sum() == 3 * SIZE
    assert total[None] == x[3]


@elf
def test_a_failing_launch_raises_as_ever() -> None:
    ti.init(arch=ti.cpu, cpu_max_num_threads=2, debug=True)
    x = ti.field(ti.f32, SIZE)

    @ti.kernel
    def fails():
        for i in x:
            assert x[i] > 0, "not positive"
            x[i] = ti.sin(x[i])

    token = ON_COMPILED.set(lambda instance: TaskClock(instance.loaded))
    try:
        with pytest.raises(AssertionError, match="not positive"):
            fails()
    finally:
        ON_COMPILED.reset(token)


@elf
def test_a_kernel_of_several_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions of all object files are known."""
    monkeypatch.setattr("weft.codegen.cpu.parts._LEAST", 1)
    ti.init(arch=ti.cpu, cpu_max_num_threads=2, offline_cache=False, compile_threads=2)
    x, y = ti.field(ti.f32, SIZE), ti.field(ti.f32, SIZE)

    @ti.kernel
    def work():
        for i in x:
            x[i] = ti.sin(ti.cast(i, ti.f32))
        for i in x:
            y[i] = ti.cos(x[i])

    clocks: list[TaskClock] = []
    parts: list[int] = []

    def told(instance: Any) -> None:
        clocks.append(TaskClock(instance.loaded))
        parts.append(len(instance.loaded.artifact.parts))

    token = ON_COMPILED.set(told)
    try:
        work()
    finally:
        ON_COMPILED.reset(token)
    assert parts[0] > 0, "the kernel was not split"
    assert sorted(clocks[0].tasks()) == [0, 1]
    assert abs(y[5] - np.cos(np.sin(5.0))) < 1e-5


def test_code_that_is_not_elf_has_no_functions() -> None:
    assert functions_of(b"\xcf\xfa\xed\xfe" + bytes(200)) == {}
    assert functions_of(b"") == {}


def test_a_kernel_whose_code_is_not_elf_is_refused() -> None:
    artifact: Any = SimpleNamespace(code=b"", parts=(), entry="weft_entry", name="long")
    with pytest.raises(WeftError, match="tasks of kernel 'long' are not timed: its object file is not ELF"):
        TaskClock(SimpleNamespace(artifact=artifact))  # type: ignore[arg-type]
