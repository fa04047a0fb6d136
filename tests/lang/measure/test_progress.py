"""The progress of work that takes more than a second."""

from __future__ import annotations

import io
import re
import sys
import time
from typing import Any

import pytest

import weft as ti
from weft.lang.logs import progress
from weft.lang.measure import watching


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _terminal(monkeypatch: pytest.MonkeyPatch) -> _Terminal:
    """Stands for stderr. (Not in a fixture: pytest sets stderr again before the test.)"""
    monkeypatch.delenv("WEFT_PROGRESS", raising=False)
    made = _Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    return made


def _lines(terminal: _Terminal) -> list[str]:
    return [line for line in terminal.getvalue().split("\r\x1b[K") if line]


@pytest.mark.parametrize(
    ("done", "spent", "line"),
    [
        (0, 1, "work [                        ] 0%, 1 s"),
        (25, 10, "work [######                  ] 25%, 10 s, about 30 s left"),
        (100, 150, "work [########################] 100%, 2 min 30 s, about 0 s left"),
    ],
)
def test_the_line(done: float, spent: float, line: str) -> None:
    bar = progress.Bar("work", 100)
    bar.advance(done)
    assert progress.text_of_bar(bar, bar.began + spent) == line


def test_an_estimate_that_was_too_short_promises_nothing() -> None:
    bar = progress.Bar("work")
    assert progress.text_of_bar(bar, bar.began + 2) == "work: 2 s"
    bar.estimate = 4.0
    assert progress.text_of_bar(bar, bar.began + 2) == "work [############            ] 50%, 2 s, about 2 s left"
    assert "left" not in progress.text_of_bar(bar, bar.began + 5)


def test_a_bar_comes_after_a_second_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    with progress.progress("quick", 2):
        time.sleep(0.2)
    assert not terminal.getvalue(), "work of less than a second has no bar"
    monkeypatch.setattr(progress, "_PATIENCE", 0.05)
    with progress.progress("slow", 4) as bar:
        for _ in range(2):
            bar.advance()
            time.sleep(0.25)
    assert any(re.fullmatch(r"slow \[#{12} {12}\] 50%, \d s, about \d s left", line) for line in _lines(terminal))
    assert terminal.getvalue().endswith("\r\x1b[K"), "the line is empty afterwards"


def test_nothing_is_shown_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    plain = io.StringIO()
    monkeypatch.setattr(sys, "stderr", plain)
    with progress.progress("slow"):
        time.sleep(0.3)
    assert not plain.getvalue()


def test_compilations_are_told_with_the_kernels_name() -> None:
    told: list[str] = []
    progress.follow(told.append)
    try:
        ti.init(arch=ti.cpu, offline_cache=False)
        x = ti.field(ti.f32, 4)

        @ti.kernel
        def slow_to_compile():
            for i in x:
                x[i] = i

        slow_to_compile()
        slow_to_compile()

        @ti.kernel
        def wrong():
            for i in x:
                x[i] = nowhere  # noqa: F821

        with pytest.raises(ti.WeftError):
            wrong()
    finally:
        progress.unfollow(told.append)
    assert told == ["compiling slow_to_compile", "", "compiling wrong", ""]


def test_a_bar_of_a_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    from weft.lang.measure import compile_bars

    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    compile_bars.entered("compile")
    compile_bars.entered("step")
    compile_bars.entered("translate")
    time.sleep(0.15)
    compile_bars.left()
    time.sleep(0.25)
    compile_bars.left()
    compile_bars.left()
    shown: Any = _lines(terminal)
    assert shown[0].startswith("compiling step: 0 s")
    assert re.fullmatch(r"compiling step \[#+ +\] \d+%, 0 s, about \d s left", shown[-1])


@pytest.mark.parametrize("arch", [ti.cpu, ti.python])
def test_launches_count_in_their_kernels(arch: Any) -> None:
    from weft.lang.measure.launch_progress import _counters

    @ti.kernel
    def slow(y: ti.template(), n: ti.i32):
        for i in range(n):
            y[i % 64] += 1
            ti.progress(n)

    for _ in range(2):  # each program has a counter of its own
        ti.init(arch=arch)
        y = ti.field(ti.f32, 64)
        for launch in range(3):
            slow(y, 50)
            assert _counters.done[None] == pytest.approx(launch + 1)
        assert y.to_numpy().sum() == 150
        ti.reset()


def test_a_launch_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_PAUSE", 0.005)
    ti.init(arch=ti.cpu)
    y = ti.field(ti.f32, 64)

    @ti.kernel
    def slow(n: ti.i32, m: ti.i32):
        for i in range(n):
            s = 1.0
            for k in range(m):
                s = ti.sin(s + k)
            y[i % 64] = s
            ti.progress(n)

    slow(4096, 10)
    for _ in range(2):
        slow(4096, 200_000)
    shares = [int(share) for share in re.findall(r"\rslow \[#* *\] (\d+)%", terminal.getvalue().replace("\x1b[K", ""))]
    assert any(0 < share < 100 for share in shares), terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_progress_is_for_kernels() -> None:
    with pytest.raises(ti.WeftError):
        ti.progress(3)


def test_the_next_program_does_not_watch_its_launches() -> None:
    def launch() -> None:
        @ti.kernel
        def run(n: ti.i32) -> ti.i32:
            total = 0
            for _ in range(n):
                total += 1
                if ti.static(counts):
                    ti.progress(n)
            return total

        assert run(10) == 10

    ti.reset()
    before = watching.watches
    for counts in (True, False, True):
        ti.init(arch=ti.cpu)
        launch()
        assert len(watching.watches) == len(before) + counts
    ti.reset()
    assert watching.watches == before
