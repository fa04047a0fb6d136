"""Samples of lines: the slow line has most of them, and everything is as before when sampling ends."""

from __future__ import annotations

import platform
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import weft as ti
from weft.ir.errors import WeftError
from weft.lang.calls.recipe import ON_COMPILED
from weft.runtime import line_sampler
from weft.runtime.line_sampler import LineSampler, LineSamples

pytestmark = [
    pytest.mark.skipif(
        sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"), reason="needs Linux"
    ),
    pytest.mark.unverified,
]
SLOW = "s += ti.exp(-ti.sqrt(x[i] + j))"


def sampled(sampler: LineSampler, wanted: int = 60, **options: Any) -> Any:
    """The samples of a parallel loop with a slow and a quick line, of `wanted` samples of the process."""
    ti.init(arch=ti.cpu, offline_cache=False, **options)
    x = ti.field(ti.f32, 1 << 14)

    @ti.kernel
    def work():
        for i in x:
            s = 0.0
            for j in range(400):
                s += ti.exp(-ti.sqrt(x[i] + j))
            for j in range(4):
                s += x[i] * j
            x[i] = s

    token = ON_COMPILED.set(lambda instance: sampler.add(instance.loaded))
    try:
        work.compile()
        with sampler:
            end = time.perf_counter() + 60
            while sampler._buffer[0] < wanted and time.perf_counter() < end:
                work()
    finally:
        ON_COMPILED.reset(token)
    found = sampler.of(0)
    loop = found.pop("weft_task0", LineSamples(Counter(), 0))
    assert sum(one.total for one in found.values()) <= max(3, 0.1 * loop.total), "the kernel is one parallel loop"
    return loop


def text_of(line: tuple[str, int]) -> str:
    return Path(__file__).read_text(encoding="utf-8").splitlines()[line[1] - 1].strip()


@pytest.mark.parametrize("threads", [1, 2])
def test_the_slow_line_has_most_samples(threads: int) -> None:
    found = sampled(LineSampler(), 150, line_info=True, cpu_max_num_threads=threads)
    assert found.total >= 30
    assert found.total == found.lines.total() + found.unknown
    ((line, count),) = found.lines.most_common(1)
    assert text_of(line) == SLOW
    assert count > 0.6 * found.total


def test_nothing_is_left_behind() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGPROF, lambda number, _: heard.append(number))
    try:
        first = sampled(LineSampler(), 5, line_info=True)
        assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
        assert heard == []
        signal.raise_signal(signal.SIGPROF)
        assert heard == [signal.SIGPROF], "the handler of the program is back"
    finally:
        signal.signal(signal.SIGPROF, before)
    assert first.total == sum(first.lines.values()) + first.unknown


def test_samples_beyond_the_buffer_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 30  # the first samples may lie outside the loop
    monkeypatch.setattr(line_sampler, "_MOST", most)
    sampler = LineSampler()
    found = sampled(sampler, line_info=True)
    assert sampler._buffer[0] > most
    assert 0 < found.total <= most


def test_it_says_why_it_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WeftError, match="no line table"):
        sampled(LineSampler())
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(WeftError, match="on Linux only"):
        LineSampler()
