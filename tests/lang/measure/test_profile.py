"""What `ti.profile` sees, and that its files keep the rules of their format."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti
from tests.lang.measure.trace_format import check_trace
from weft.lang.kernels.kernel import Kernel
from weft.lang.measure import recording
from weft.lang.measure.recording import Event
from weft.lang.measure.trace_events import trace_of, write_trace
from weft.lang.program import store
from weft.runtime import nvtx


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    ti.init(arch=ti.cpu)
    yield
    assert recording.current is None
    ti.reset()


def adder() -> Kernel:
    @ti.kernel
    def add(x: ti.template(), y: ti.types.ndarray(), by: ti.f32):
        for i in x:
            x[i] += y[i] + by

    return add


def of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event.get("cat") == kind]


def inside(inner: dict[str, Any], outer: dict[str, Any]) -> bool:
    ends = inner["ts"] + inner["dur"], outer["ts"] + outer["dur"]
    return outer["ts"] <= inner["ts"] and ends[0] <= ends[1] + 1e-6 and inner["tid"] == outer["tid"]


def test_launches_ranges_and_stages(tmp_path: Path) -> None:
    add, x, y = adder(), ti.field(ti.f32, 6), np.ones(8, np.float32)
    with ti.profile(tmp_path / "trace.json"):
        for _ in range(3):
            with ti.profile.range("step"):
                add(x, y, 2.0)
    assert (x.to_numpy() == 9).all()
    events = check_trace(tmp_path / "trace.json")
    launches, ranges, stages = (of(events, kind) for kind in ("launch", "range", "compile"))
    assert [launch["name"] for launch in launches] == ["add"] * 3
    assert all(launch["args"] == {"x": [6], "y": [8], "by": 2.0} for launch in launches)
    assert [span["name"] for span in ranges] == ["step"] * 3
    assert all(inside(launch, span) for launch, span in zip(launches, ranges, strict=True))
    names = [stage["name"] for stage in stages]
    wanted = ["compile", "add", "translate", "generate code", "lower_tree", "infer_types", "offload", "scalarize"]
    wanted += ["lower_access", "emit", "optimize", "codegen", "load"]
    assert [name for name in names if name in wanted] == wanted
    assert all(inside(stage, launches[0]) for stage in stages)
    simplify = [stage for stage in stages if stage["name"] == "full_simplify"]
    assert all(any(inside(one, all_of) for all_of in simplify) for one in stages if one["name"] == "cse")


def test_the_cache_is_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_OFFLINE_CACHE")
    monkeypatch.setattr(store, "version_stamp", lambda _: "1")  # whoever edits Weft meanwhile
    found: list[Any] = []
    for _ in range(2):
        ti.init(arch=ti.cpu, offline_cache_file_path=str(tmp_path / "cache"))
        with ti.profile(tmp_path / "trace.json"):
            adder()(ti.field(ti.f32, 6), np.ones(8, np.float32), 1.0)
        stages = {stage["name"]: stage["args"] for stage in of(check_trace(tmp_path / "trace.json"), "compile")}
        found.append((stages["cache lookup"]["found"], "translate" in stages, "cache store" in stages))
    assert found == [(False, True, True), (True, True, False)]


def test_nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    add, x, y = adder(), ti.field(ti.f32, 6), np.ones(8, np.float32)
    by_python: list[str] = []
    plain = Kernel.call_on
    add(x, y, 0.0)
    monkeypatch.setattr(Kernel, "call_on", lambda self, *args: (by_python.append(self.__name__), plain(self, *args))[1])
    for _ in range(40):  # more often than plans are made for kernels that are hard to plan for
        with ti.profile() as seen:
            for _ in range(3):
                add(x, y, 0.0)
        assert sum(event.kind == "launch" for event in seen.events) == 3
        for _ in range(3):
            add(x, y, 0.0)
    assert len(by_python) in (0, 80)  # none natively called, or one to make a plan, each time that something changed
    by_python.clear()
    add(x, y, 0.0)
    assert by_python == []


def test_memory_is_counted(tmp_path: Path) -> None:
    before = ti.ndarray(ti.f32, 1000)
    with ti.profile(tmp_path / "trace.json") as seen:
        array = ti.ndarray(ti.f32, 500)
        del array
        other = ti.ndarray(ti.i8, 100)
    counts = [event["args"]["bytes"] for event in check_trace(tmp_path / "trace.json") if event["ph"] == "C"]
    assert counts == [4000, 6000, 4000, 4100]
    del before, other
    assert max(event.details["bytes"] for event in seen.events) == 6000


def test_profiles_inside_and_across_one_another(tmp_path: Path) -> None:
    add, x, y = adder(), ti.field(ti.f32, 6), np.ones(8, np.float32)
    profiles = [ti.profile(tmp_path / f"{number}.json") for number in range(3)]
    launch: Callable[[float], None] = lambda number: add(x, y, number)  # noqa: E731
    launch(0)
    profiles[0].__enter__()
    launch(1)
    profiles[1].__enter__()
    launch(2)
    profiles[2].__enter__()
    launch(3)
    profiles[1].__exit__()
    launch(4)
    profiles[0].__exit__()
    launch(5)
    profiles[2].__exit__()
    launch(6)
    events = [of(check_trace(tmp_path / f"{number}.json"), "launch") for number in range(3)]
    assert [[event["args"]["by"] for event in found] for found in events] == [[1, 2, 3, 4], [2, 3], [3, 4, 5]]


def test_a_profile_that_goes_on_is_not_begun_again() -> None:
    with ti.profile() as seen, pytest.raises(RuntimeError, match="this profile is already active"):
        seen.__enter__()
    with seen, ti.profile.range("again"):
        pass
    assert [event.name for event in seen.events if event.kind == "range"] == ["again"]


def test_an_exception_inside(tmp_path: Path) -> None:
    @ti.kernel
    def wrong():
        _ = ti.Vector([1, 2]) + ti.Vector([1, 2, 3])

    with pytest.raises(ti.CompilationError), ti.profile(tmp_path / "trace.json"), ti.profile.range("outer"):
        wrong()
    events = check_trace(tmp_path / "trace.json")
    assert [event["name"] for event in of(events, "launch") + of(events, "range")] == ["wrong", "outer"]
    with pytest.raises(OSError), ti.profile(tmp_path / "no" / "such" / "folder.json"):
        pass
    assert recording.current is None


def test_a_field_without_a_place_is_the_kernels_error() -> None:
    with pytest.raises(ti.CompilationError, match="is not placed"), ti.profile() as seen:
        adder()(ti.field(ti.f32), np.ones(8, np.float32), 1.0)
    assert [event.name for event in seen.events if event.kind == "launch"] == ["add"]


def test_numbers_that_json_does_not_have(tmp_path: Path) -> None:
    add, x = adder(), ti.field(ti.f32, 6)
    with ti.profile(tmp_path / "trace.json"), ti.profile.range("\ud800 'quoted\""):
        for number in (float("nan"), float("-inf"), np.float32(0.5)):
            add(x, np.ones(8, np.float32), number)
    assert "NaN" not in (tmp_path / "trace.json").read_text()
    launches = of(check_trace(tmp_path / "trace.json"), "launch")
    assert [launch["args"]["by"] for launch in launches] == ["nan", "-inf", 0.5]


def test_as_a_decorator(tmp_path: Path) -> None:
    @ti.profile(tmp_path / "trace.json")
    def count(n: int) -> int:
        """Down."""
        with ti.profile.range(f"count {n}"):
            return count(n - 1) + 1 if n else 0

    @ti.profile.range("inner")
    def twice(n: int) -> int:
        return 2 * n

    assert (count(3), count.__doc__, twice(4)) == (3, "Down.", 8)
    names = [event["name"] for event in of(check_trace(tmp_path / "trace.json"), "range")]
    assert names == ["count 3", "count 2", "count 1", "count 0"]


def test_threads(tmp_path: Path) -> None:
    add, arrays = adder(), [ti.field(ti.f32, 6) for _ in range(3)]
    y = np.ones(8, np.float32)
    add(arrays[0], y, 0.0)

    def work(x: Any) -> None:
        for _ in range(50):
            with ti.profile.range("mine"):
                add(x, y, 1.0)

    threads = [threading.Thread(target=work, args=(x,), name=f"worker {k}") for k, x in enumerate(arrays)]
    with ti.profile(tmp_path / "trace.json"):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    events = check_trace(tmp_path / "trace.json")
    heads = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    names = {head["tid"]: head["args"]["name"] for head in heads if head.get("name") == "thread_name"}
    launched = [names[event["tid"]] for event in of(events, "launch")]
    assert {name: launched.count(name) for name in names.values()} == {f"worker {k}": 50 for k in range(3)}
    mine = of(events, "range")
    assert all(any(inside(launch, span) for span in mine) for launch in of(events, "launch")[:20])


def test_threads_that_profile_at_once() -> None:
    add, y = adder(), np.ones(8, np.float32)
    counts: list[int] = []

    def work(x: Any) -> None:
        for _ in range(30):
            with ti.profile() as seen:
                add(x, y, 1.0)
            own = [e for e in seen.events if e.kind == "launch" and e.track == recording.this_thread()]
            counts.append(len(own))

    threads = [threading.Thread(target=work, args=(ti.field(ti.f32, 6),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [1] * 90


def test_reset_inside(tmp_path: Path) -> None:
    with ti.profile(tmp_path / "trace.json"):
        adder()(ti.field(ti.f32, 6), np.ones(8, np.float32), 1.0)
        ti.init(arch=ti.cpu)
        add, x = adder(), ti.field(ti.f32, 6)
        add(x, np.ones(8, np.float32), 2.0)
        ti.reset()
        ti.init(arch=ti.python)
        adder()(ti.field(ti.f32, 6), np.ones(8, np.float32), 3.0)
    launches = of(check_trace(tmp_path / "trace.json"), "launch")
    assert [launch["args"]["by"] for launch in launches] == [1, 2, 3]


def test_methods_and_keywords(tmp_path: Path) -> None:
    @ti.data_oriented
    class Counter:
        def __init__(self) -> None:
            self.x = ti.field(ti.i32, 4)

        @ti.kernel
        def add(self, by: ti.i32, v: ti.types.vector(2, ti.f32)) -> ti.i32:
            for i in self.x:
                self.x[i] += by
            return self.x[0]

    counter, v = Counter(), ti.Vector([1.0, 2.0])
    with ti.profile(tmp_path / "trace.json"):
        assert [counter.add(2, v), counter.add(by=3, v=v)] == [2, 5]
    first, second = of(check_trace(tmp_path / "trace.json"), "launch")
    assert first["args"] == {"self": "Counter", "by": 2, "v": [2]}
    assert second["args"] == {"self": "Counter", "by": 3, "v": [2]}


def test_tables(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ti.profile, "last", None)
    ti.profile.table()
    assert "There are no profiles" in capsys.readouterr().out
    add, x = adder(), ti.field(ti.f32, 6)
    with ti.profile() as seen:
        for _ in range(4):
            with ti.profile.range("wait"):
                time.sleep(0.002)
            add(x, np.ones(8, np.float32), 1.0)
    ti.profile.table()
    said = capsys.readouterr().out
    seen.table()
    assert capsys.readouterr().out == said
    rows = [line.split() for line in said.splitlines()]
    wait = next(row for row in rows if row[:1] == ["wait"])
    assert wait[2] == "4"
    assert 8 <= float(wait[1]) < 1000
    assert [row[2] for row in rows if row[:1] == ["add"]] == ["4", "1"]
    assert "peak memory on cpu: 24 B" in said


def test_ranges_for_nvidias_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    ranges: list[str] = []

    class Library:
        """libnvToolsExt."""

        def nvtxRangePushA(self, name: bytes) -> int:
            ranges.append(name.decode().split(" (")[0])
            return 0

        def nvtxRangePop(self) -> int:
            ranges.append("end")
            return 0

    monkeypatch.setattr(nvtx, "_library", Library)
    add, x = adder(), ti.field(ti.f32, 6)
    for wanted in (True, False):
        with ti.profile(nvtx=wanted), ti.profile.range("step"):
            add(x, np.ones(8, np.float32), 1.0)
    assert ranges == ["step", "add", "end", "end"]


def test_the_older_interface_writes_the_same_format(tmp_path: Path) -> None:
    ti.init(arch=ti.cpu, kernel_profiler=True)
    add, x = adder(), ti.field(ti.f32, 6)
    with ti.profile(tmp_path / "new.json"):
        for _ in range(3):
            add(x, np.ones(8, np.float32), 1.0)
    ti.profiler.save_timeline(str(tmp_path / "old.json"))
    assert ti.profiler.query_kernel_profiler_info("add").counter == 3
    old, new = (of(check_trace(tmp_path / name), "launch") for name in ("old.json", "new.json"))
    assert [event["name"] for event in old] == [event["name"] for event in new] == ["add"] * 3


@pytest.mark.parametrize(
    ("program", "name"),
    [("/home/me/fall.py", "fall.py"), ("-c", "python"), ("", "python"), ("/lib/tool/__main__.py", "tool")],
)
def test_tracks_are_those_of_the_program(program: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [program])
    spans = [Event("task", "GPU 0", "a", 1.0, 2.0), Event("range", 9, "b", 1.0, 2.0), Event("range", 7, "c", 1.5, 2.0)]
    heads = [e for e in trace_of(spans, {7: "worker", 9: "MainThread"}, 0.0)["traceEvents"] if e["ph"] == "M"]
    assert [head["args"]["name"] for head in heads if "name" in head["args"]] == [name, "MainThread", "worker", "GPU 0"]
    assert [head["args"]["sort_index"] for head in heads if "sort_index" in head["args"]] == [1, 2, 3]


def test_spans_are_put_in_order(tmp_path: Path) -> None:
    spans = [
        Event("compile", 7, "inner", 1.0, 2.0),  # told a moment late: it began before what it is in
        Event("compile", 7, "outer", 1.1, 3.0),
        Event("task", "GPU 0", "first", 1.0, 2.0),
        Event("task", "GPU 0", "second", 1.9, 2.5),
        Event("memory", "GPU 0", "a field", 1.2, 1.2, {"bytes": 5}),
    ]
    write_trace(tmp_path / "trace.json", spans, {7: "main"}, 0.5)
    found = {e["name"]: (e["ts"], e.get("dur")) for e in check_trace(tmp_path / "trace.json")}
    assert found["inner"] == pytest.approx((0.6e6, 0.9e6))
    assert found["outer"] == pytest.approx((0.6e6, 1.9e6))
    assert found["second"] == pytest.approx((1.5e6, 0.5e6))


def test_the_check_finds_what_is_wrong(tmp_path: Path) -> None:
    good = trace_of([Event("range", 7, "a", 1.0, 2.0), Event("range", 7, "b", 1.5, 1.8)], {7: "main"}, 0.5)

    def broken(change: Callable[[list[dict[str, Any]]], Any]) -> None:
        copy = json.loads(json.dumps(good))
        change(copy["traceEvents"])
        (tmp_path / "bad.json").write_text(json.dumps(copy))
        with pytest.raises(AssertionError):
            check_trace(tmp_path / "bad.json")

    broken(lambda events: events[-1].update(dur=1e9))
    broken(lambda events: events[-1].update(ts=-1.0))
    broken(lambda events: events[-1].update(tid=9))
    broken(lambda events: events[-1].update(ph="B"))
    broken(lambda events: events[-1].pop("dur"))
    broken(lambda events: events.pop(0))
    broken(lambda events: events.append(dict(events[-2])))
