"""Scopes of the host's time, and what stands in for counters of the hardware."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import weft as ti
from weft.lang.measure import metrics as profiler_metrics


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(profiler_metrics, "_said", set())
    ti.init(arch=ti.cpu, kernel_profiler=True)
    ti.profiler.clear_scoped_profiler_info()
    yield
    ti.profiler.clear_scoped_profiler_info()
    ti.reset()


def scopes(capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[float, int]]:
    """The printed scopes, with their indentation: milliseconds and count."""
    capsys.readouterr()
    ti.profiler.print_scoped_profiler_info()
    rows = capsys.readouterr().out.splitlines()[2:]
    return {row[:36].rstrip(): (float(row[36:].split()[0]), int(row[36:].split()[2])) for row in rows}


def test_compiling_is_noted(capsys: pytest.CaptureFixture[str]) -> None:
    @ti.kernel
    def three(n: ti.template()) -> ti.i32:
        return 3 + n

    for n in (1, 2, 1):
        three(n)
    found = scopes(capsys)
    assert [*found] == ["compile", "  three", "    translate", "    generate code"]
    assert {count for _, count in found.values()} == {2}
    assert found["  three"][0] >= found["    translate"][0] + found["    generate code"][0] - 0.01


def test_scopes_of_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    @ti.profiler.timed
    def frame() -> int:
        with ti.profiler.ScopedProfiler("wait"):
            time.sleep(0.01)
        return 7

    assert [frame(), frame()] == [7, 7]
    with pytest.raises(ZeroDivisionError), ti.profiler.ScopedProfiler("broken"):
        _ = 1 // 0
    found = scopes(capsys)
    assert [*found] == ["frame", "  wait", "broken"]
    assert found["  wait"][1] == 2
    assert 20 <= found["  wait"][0] <= found["frame"][0]
    ti.profiler.clear_scoped_profiler_info()
    assert scopes(capsys) == {}


def test_counters_of_the_hardware_are_not_read(caplog: pytest.LogCaptureFixture) -> None:
    @ti.kernel
    def nothing():
        pass

    with ti.profiler.collect_kernel_profiler_metrics([ti.profiler.CuptiMetric("dram__bytes_read.sum")]):
        nothing()
    with ti.profiler.collect_kernel_profiler_metrics():
        nothing()
    assert ti.profiler.query_kernel_profiler_info("nothing").counter == 2
    assert ti.profiler.get_predefined_cupti_metrics("global_access") == []
    ti.profiler.set_kernel_profiler_metrics()
    assert (ti.profiler.set_kernel_profiler_toolkit("cupti"), ti.profiler.set_kernel_profiler_toolkit()) == (
        False,
        True,
    )
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 4
    assert all("needs NVIDIA's CUPTI, which Weft does not use. Weft measures times" in text for text in said)


def test_names_that_are_wrong() -> None:
    with pytest.raises(ValueError, match="the toolkit must be 'default' or 'cupti', not 'nvprof'"):
        ti.profiler.set_kernel_profiler_toolkit("nvprof")
    with pytest.raises(ValueError, match="the group of counters must be one of global_access"):
        ti.profiler.get_predefined_cupti_metrics("everything")


WATCHED = """
import weft as ti
ti.set_logs("launch")
ti.init(arch=ti.cpu, kernel_profiler=True)  # before anything of kernels is imported
@ti.kernel
def k() -> ti.i32:
    return 1
print(k(), k(), ti.profiler.query_kernel_profiler_info("k").counter)
ti.init(arch=ti.cpu)
ti.set_logs()
print(k(), ti.profiler.query_kernel_profiler_info("k").counter)
ti.init(arch=ti.cpu, kernel_profiler=True)
print(k(), ti.profiler.query_kernel_profiler_info("k").counter)
"""


def test_who_watches_is_told_of_what_began_before(tmp_path: Path) -> None:
    """The profiler, of the program; the log of launches, of its topic."""
    program = tmp_path / "watched.py"
    program.write_text(WATCHED)
    run = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=True)
    assert run.stdout == "1 1 2\n1 0\n1 1\n"
    assert [line.split(": ")[1] for line in run.stderr.splitlines()] == ["k", "k"]
