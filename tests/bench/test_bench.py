"""The benchmarks run, and say what they could not measure."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import pytest

import weft as ti
from tests.bench import checkpoints, compile_ratios, demo_frames, levels, matrix_product, report, sparse_cells, topology
from tests.bench.__main__ import Measured, Worker, different, measure
from tests.bench.sparse_goals.__main__ import WORKS, table
from tests.bench.sparse_goals.measuring import Bench
from weft.codegen.llvm.instruction_sets import levels_here


@pytest.fixture
def weft() -> Iterator[Worker]:
    worker = Worker("weft", sys.executable)
    yield worker
    worker.end()


def test_each_program_has_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    import gradbench  # noqa: F401
    import launches  # noqa: F401
    import more_simulations  # noqa: F401
    import physics  # noqa: F401
    import pixels  # noqa: F401
    import simulations  # noqa: F401
    import smoke  # noqa: F401
    from programs import PROGRAMS

    sections = [*report.SECTIONS.values(), *report.DERIVATIVES.values()]
    assert sorted(PROGRAMS) == sorted(name for names in sections for name in names)


def test_a_gradient_in_a_bounded_memory_is_measured() -> None:
    ti.init(arch="cpu")
    try:
        found = checkpoints.measure(ti, particles=64, grid=16, steps=40, memory=0.2, rounds=1)
    finally:
        ti.reset()
    assert 0 < found.used <= found.allowed < found.all_bytes
    assert found.apart < 1e-2
    assert "times that of keeping all" in str(found)


@pytest.mark.parametrize("work", WORKS)
def test_goals_of_sparse_fields_are_measured(work: str) -> None:
    bench = Bench(ti, "cpu", threads=1, scale=32, rounds=1)
    try:
        WORKS[work](bench)
    finally:
        ti.reset()
    assert bench.rows
    assert all(value >= 0 for _, value, _ in bench.rows)
    lines = table(bench, dict.fromkeys(bench.times, 1.0)).splitlines()
    assert len(lines) == len(bench.rows) + len(bench.times)


def test_the_memory_of_sparse_fields_meets_its_goals() -> None:
    bench = Bench(ti, "cpu", threads=1, scale=8, rounds=1)
    try:
        WORKS["memory"](bench)
    finally:
        ti.reset()
    assert [name for name, value, goal in bench.rows if value > goal] == []


@pytest.mark.filterwarnings("ignore::weft.OutOfBoundsWarning")
def test_loops_over_cells_are_measured() -> None:
    ti.init(arch="cpu")
    try:
        ratios = sparse_cells.measure(16, rounds=1, clock=perf_counter)
    finally:
        ti.reset()
    assert len(ratios) == 11
    assert all(ratio > 0 for ratio in ratios.values())


@pytest.mark.filterwarnings("ignore::weft.OutOfBoundsWarning")
def test_times_of_compiling_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    try:
        assert all(took > 0 for took in compile_ratios.sparse("own elements", 16))
        assert "heat_step_4096" in compile_ratios.programs_with_gradients()
        assert all(took > 0 for took in compile_ratios.gradient("ode"))
    finally:
        ti.reset()


def test_frames_of_a_demo_are_measured() -> None:
    from weft.demos import contours

    ti.init(arch="cpu")
    try:
        assert all(took > 0 for took in demo_frames.milliseconds("contours", {"SIZE": 64}, frames=4))
    finally:
        ti.reset()
    assert contours.SIZE == 512, "the demo keeps its size"


def test_a_program_is_measured(weft: Worker) -> None:
    found = measure("loop_1024", [weft], rounds=2, seconds=0.01)["weft"]
    assert not found.absent
    assert 0 < found.best < found.first
    assert found.sample == [1000.0] * 1024


@pytest.mark.exhaustive  # (it compiles all of the peer)
@pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler here")
def test_cpp_computes_the_same(weft: Worker) -> None:
    cpp = Worker("cpp", sys.executable)
    try:
        found = measure("mpm88_50", [weft, cpp], rounds=1, seconds=0.01)
        missing = measure("element_read", [weft, cpp], rounds=1, seconds=0.01)["cpp"]
    finally:
        cpp.end()
    assert (found["cpp"].absent, found["cpp"].apart) == ("", 0.0)
    assert missing.absent == "not written for it"


@pytest.mark.skipif(importlib.util.find_spec("taichi") is not None, reason="Taichi is installed here")
def test_an_absent_peer_leaves_a_dash_and_the_reason() -> None:
    taichi = Worker("taichi", sys.executable)
    taichi.end()
    assert "taichi" in taichi.absent
    row = {"weft": Measured(best=1.0), "taichi": Measured(absent=taichi.absent)}
    assert report.row("sum_64m", row, ["taichi"]).split()[:4] == ["sum_64m", "1", "-", "-"]
    assert taichi.absent in report.notes({"sum_64m": row}, ["taichi"])


def test_other_results_are_marked() -> None:
    assert different([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0004]) == 0.0
    assert different([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 5.0]) == 0.25
    assert different([float("nan")], [1.0]) == 1.0
    assert different([1.0], [1.0, 2.0]) == 1.0
    row = {"weft": Measured(best=2.0), "cpp": Measured(best=4.0, apart=0.25)}
    assert report.ratio_of(row["weft"], row["cpp"]) == "0.50!"


def test_an_instruction_set_has_a_column() -> None:
    """A level that the machine lacks leaves dashes, and the reason."""
    workers = [Worker("weft", sys.executable, 1), Worker("v2", sys.executable, 1), Worker("v4", sys.executable, 1)]
    try:
        found = measure("loop_1024", workers, rounds=1, seconds=0.01)
    finally:
        for worker in workers:
            worker.end()
    assert (found["v2"].absent == "") == ("x86-64-v2" in levels_here())
    assert (found["v4"].absent == "") == ("x86-64-v4" in levels_here())
    assert report.heading(["v2"]).split() == [
        "program",
        "Weft",
        "ms",
        "Weft,",
        "SSE4.2",
        "ms",
        "ratio",
        "first",
        "call,",
        "ms",
    ]
    table = report._table({"loop_1024": found}, ["v2", "v4"])
    assert table.splitlines()[0] == "| program | Weft | Weft, SSE4.2 | Weft, AVX-512 | first call |"
    if "x86-64-v4" not in levels_here():
        assert "| - |" in table
        assert "this machine lacks avx512" in report.notes({"loop_1024": found}, ["v2", "v4"])


def test_each_kind_of_machine_has_its_table() -> None:
    v4, v3 = ([mark.format(level) for mark in report.MARKS] for level in ("v4", "v3"))
    page = "\n".join(["before", v4[0], "old", *v4[1:], *v3, ""])
    found = {"sum_64m": {"weft": Measured(best=1.0, first=20.0), "cpp": Measured(best=2.0)}}
    table = "| `sum_64m` | 1 | 2 (0.50) | 20 |"
    for level, other in (("v3", "v4"), ("v4", "v3")):
        text = report.with_table(page, level, found, ["cpp"], alone=False)
        begin, end = (mark.format(level) for mark in report.MARKS)
        assert table in text[text.index(begin) : text.index(end)]
        assert text.count(table) == 1
        assert text[text.index(report.MARKS[0].format(other)) :].count("old") == page.count("old") * (other == "v4")
    written = (report.DOCS / "performance.md").read_text(encoding="utf-8")
    assert all(mark.format(level) in written for mark in report.MARKS for level in ("v3", "v4"))


def test_topology() -> None:
    found = topology.measured(ti, "cpu", 2000)
    assert all(milliseconds > 0 for milliseconds in found.values())
    assert topology.table({"weft": found}).count("\n") == len(found)


def test_instruction_sets_are_compared() -> None:
    ways = [("weft", "v2", 1), ("weft", "v4", 1)]
    found = levels.measured(["loop_1024"], ways, rounds=1, seconds=0.01)["loop_1024"]
    assert (found[ways[0]].absent == "") == ("x86-64-v2" in levels_here())
    assert (found[ways[1]].absent == "") == ("x86-64-v4" in levels_here())
    ways = [("weft", "v3", 1), ("cpp", "v3", 1), ("weft", "v4", 0), ("cpp", "v4", 0)]
    row = dict(
        zip(ways, [Measured(best=1.0), Measured(best=2.0), Measured(best=3.0), Measured(absent="no")], strict=True)
    )
    lines = levels.table({"loop_1024": row}, ways).splitlines()
    assert lines[0] == "| program | AVX2, one core | AVX-512, all cores |"
    assert lines[2] == "| `loop_1024` | 1 (0.50) | 3 |"


@pytest.mark.skipif("x86-64-v3" not in levels_here(), reason="needs AVX2")
@pytest.mark.parametrize("way", ["weft", "blas"])
def test_a_matrix_product_is_measured(way: str) -> None:
    told = matrix_product.ask(sys.executable, way, "v3", 1, 0.01)
    assert 0 < told["best"] < 60_000
    assert told["apart"] < 1e-3
    text = matrix_product.table({(way, "v3", 1): told}, [("v3", 1)])
    assert text.splitlines()[0] == "| | AVX2, one core |"
    assert text.count("| - |") == 4


@pytest.mark.exhaustive
@pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler here")
@pytest.mark.parametrize("level", [name for name in ("v3", "v4") if f"x86-64-{name}" in levels_here()])
def test_the_tiled_product_is_right(level: str) -> None:
    told = matrix_product.ask(sys.executable, "tiled", level, 1, 0.01)
    assert told["apart"] < 1e-3
