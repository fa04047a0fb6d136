"""How `ti.testing` measures, with clocks that tell what they are told; what it writes; what it calls close."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti
from tests import emulated
from weft.lang.program.init import program

MS = 1e-3


class Clock:
    """A device whose time passes only where somebody says so, in milliseconds; `flushes` counts."""

    def __init__(self) -> None:
        self.now, self.flushes, self.done = 0.0, 0, 0.0

    def stamp(self) -> float:
        return self.now

    def seconds_between(self, begin: float, end: float) -> float:
        assert begin <= end <= self.done, "asked for before the device had passed it"
        return (end - begin) * MS

    def synchronize(self) -> None:
        self.done = self.now

    def cache_flush(self) -> Any:
        def flush() -> None:
            self.now += 5
            self.flushes += 1

        return flush


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    ti.init(arch=ti.cpu)
    made = Clock()
    monkeypatch.setattr(program(), "_device", made)
    monkeypatch.setattr(ti.testing.time, "perf_counter", lambda: made.now * MS)
    yield made
    monkeypatch.undo()
    ti.reset()


def test_only_the_call_counts(clock: Clock) -> None:
    calls: list[str] = []

    def work() -> None:
        clock.now += 2
        calls.append("work")

    def put_back() -> None:
        clock.now += 3
        calls.append("put back")

    assert ti.testing.do_bench(work, warmup=10, rep=100, before=put_back) == pytest.approx(2)
    assert calls[:4] == ["put back", "work"] * 2
    assert clock.flushes == 1 + 5 + 10  # a call takes 2 + 3 + 5 ms with what is done around it: ten fit 100 ms
    assert len(calls) // 2 == clock.flushes + 5  # and five of 2 ms, in warm caches, fit 10 ms
    assert ti.testing.do_bench(work, warmup=0, rep=0) == pytest.approx(2)


def test_what_is_made_of_the_times(clock: Clock) -> None:
    def bench(**options: Any) -> Any:
        turn = iter([1.0] * 7 + [4.0, 1.0, 2.0, 3.0, 10.0])

        def work() -> None:
            clock.now += next(turn)

        return ti.testing.do_bench(work, warmup=1.5, rep=5.5, clear_cache=False, **options)

    assert bench(return_mode="all") == pytest.approx([4, 1, 2, 3, 10])
    expected = {"mean": 4, "median": 3, "min": 1, "max": 10}
    assert {mode: bench(return_mode=mode) for mode in expected} == pytest.approx(expected)
    assert bench(quantiles=[0, 0.5, 1]) == pytest.approx([1, 3, 10])


@pytest.mark.parametrize(
    ("options", "what"), [({"return_mode": "sum"}, "mean, median, min"), ({"quantiles": [2]}, "0, 1")]
)
def test_options_that_are_wrong(options: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        ti.testing.do_bench(lambda: None, **options)


def test_a_real_kernel_takes_time() -> None:
    ti.init(arch=ti.cpu)
    x = ti.field(ti.f32, 1 << 16)

    @ti.kernel
    def step():
        for i in x:
            x[i] += 1

    times = ti.testing.do_bench(step, warmup=1, rep=100, return_mode="all")
    assert times
    assert all(0 < t < 1000 for t in times)
    calls = x.to_numpy()
    assert (calls == calls[0]).all()
    assert calls[0] >= 7 + len(times)


def test_the_events_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    emulated.use(monkeypatch)
    ti.init(arch=ti.cuda, enable_fallback=False)
    driver, now = program().device.driver, 0.0
    monkeypatch.setattr(driver, "clock", lambda: now)

    def work() -> None:
        nonlocal now
        now += 2e-3

    assert ti.testing.do_bench(work, warmup=1, rep=4) == pytest.approx(2.0)
    made = len(driver.events)
    ti.testing.do_bench(work, warmup=1, rep=4)
    assert len(driver.events) <= made + 20, "events are not used again"
    ti.reset()


def _report(**options: Any) -> Any:
    sizes = ti.testing.Benchmark(
        x_names=["n", "m"],
        x_vals=[8, (16, 4), 32],
        line_arg="way",
        line_vals=[1, 2],
        line_names=["once", "twice"],
        plot_name="areas",
        args={"scale": 10},
        ylabel="GB/s",
        x_log=True,
        styles=[("blue", "-"), ("green", "--")],
        **options,
    )

    @ti.testing.perf_report(sizes)
    def area(n: int, m: int, way: int, scale: int, more: int = 0) -> Any:
        middle = n * m * way * scale + more
        return (middle, middle - 1, middle + 1) if way == 2 else middle

    return area


ROWS = [(8, 8, 640.0, 1280.0), (16, 4, 640.0, 1280.0), (32, 32, 10240.0, 20480.0)]


def test_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="plots are matplotlib's").use("Agg")
    assert _report().run(print_data=True, save_path=tmp_path / "new") == [ROWS]
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert printed[0] == ["areas:"]
    assert printed[3] == ["16", "4", "640", "1280"]
    with (tmp_path / "new" / "areas.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [["n", "m", "once (GB/s)", "twice (GB/s)"], *([str(v) for v in row] for row in ROWS)]
    picture = (tmp_path / "new" / "areas.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 5000
    assert _report().run(more=1)[0][0] == (8, 8, 641.0, 1281.0)


def test_a_report_without_matplotlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    assert _report().run(save_path=tmp_path) == [ROWS]
    assert [file.name for file in tmp_path.iterdir()] == ["areas.csv"]
    assert "matplotlib is not installed" in capsys.readouterr().err


def test_benchmarks_that_are_wrong() -> None:
    with pytest.raises(ValueError, match="there are 2 line_vals, but 1 line_names"):
        ti.testing.Benchmark(["n"], [1], "way", [1, 2], ["one"], "plot")
    with pytest.raises(ValueError, match="there are 2 line_vals, but 1 styles"):
        ti.testing.Benchmark(["n"], [1], "way", [1, 2], ["one", "two"], "plot", styles=[("red", "-")])
    wrong = ti.testing.perf_report(ti.testing.Benchmark(["n"], [(1, 2)], "way", [1], ["one"], "plot"))(lambda n, way: n)
    with pytest.raises(ValueError, match="has 2 values for n"):
        wrong.run()


def test_close() -> None:
    ti.init(arch=ti.cpu)
    x, n = ti.Vector.field(2, ti.f32, 3), ti.ndarray(ti.i32, 3)
    x.fill(1 / 3)
    n.fill(7)
    ti.testing.assert_close(x, np.full((3, 2), 1 / 3))
    ti.testing.assert_close(n, np.full(3, 7))
    ti.testing.assert_close(1.0, 1.0 + 1e-8)
    ti.testing.assert_close(np.array([np.nan, np.inf]), np.array([np.nan, np.inf]), rtol=0, atol=0)
    ti.testing.assert_close(np.array([2**62]), np.array([2**62]))
    ti.testing.assert_close(np.uint8([200]), np.uint8([201]), atol=1)


@pytest.mark.parametrize(
    ("a", "b", "what"),
    [
        (
            np.float32([1, 2, 3]),
            np.float32([1, 2, 3.1]),
            r"1 of 3 elements .* rtol=1.3e-06, .* worst is at \[2\]: 3.0 and",
        ),
        (np.float64(1), np.float64(1 + 1e-6), "rtol=1e-07"),
        (np.array([2**62]), np.array([2**62 + 1]), "rtol=0, atol=0"),
        (np.uint8([255, 0]), np.uint8([0, 0]), r"worst is at \[0\]: 255 and 0"),
        (np.array([1.0, np.nan]), np.array([1.0, 2.0]), r"worst is at \[1\]: nan and 2.0"),
        (np.array([np.inf]), np.array([-np.inf]), "inf and -inf"),
        (np.array([True]), np.array([False]), "True and False"),
        (np.zeros(3), np.zeros(4), r"the shapes differ: \(3,\) and \(4,\)"),
    ],
)
def test_not_close(a: Any, b: Any, what: str) -> None:
    with pytest.raises(AssertionError, match=what):
        ti.testing.assert_close(a, b)
