"""A GPU's track on the timeline of `ti.profile`: tasks by the device's clock, copies, memory."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.lang.measure.trace_format import check_trace
from weft.lang.program.init import program as ti_program
from weft.runtime import cuda_timer


def program(ti: Any) -> tuple[Any, Any]:
    x = ti.field(ti.f32, 1000)

    @ti.kernel
    def two(a: ti.types.ndarray()):
        for i in x:
            x[i] = i
        for i in range(500):
            x[i] += a[0]

    return two, x


def of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event.get("cat") == kind]


def test_tasks_are_on_a_track_of_the_device(ti: Any, tmp_path: Path) -> None:
    two, x = program(ti)
    array = np.ones(4, np.float32)
    two(array)  # compiled, and launched as a graph
    with ti.profile(tmp_path / "trace.json"):
        two(array)
        two(array)
    assert x.to_numpy()[499] == 500
    events = check_trace(tmp_path / "trace.json")
    tasks = of(events, "task")
    names = [task["name"] for task in tasks]
    assert len(names) >= 4
    assert names == names[: len(names) // 2] * 2
    assert len({(task["pid"], task["tid"]) for task in tasks}) == 1
    heads = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    names = {head["tid"]: head["args"]["name"] for head in heads if head["name"] == "thread_name"}
    assert names[tasks[0]["tid"]] == "GPU 0"
    assert names[of(events, "launch")[0]["tid"]] == "MainThread"
    assert all(task["dur"] > 0 for task in tasks)


def test_tasks_of_launches_that_a_tape_makes(ti: Any, tmp_path: Path) -> None:
    """Gradients, and steps that are made again: as many as with all launches made by Python."""
    x, loss = ti.field(ti.f64, 64, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def step(k: ti.f64):
        for i in x:
            x[i] = ti.sin(x[i]) + k

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    def gradient(memory: str) -> None:
        x.fill(0.5)
        with ti.ad.Tape(loss):
            for _ in ti.ad.steps(20, memory=memory):
                step(0.1)
            total()

    gradient("3 kB")  # compiled, and planned
    gradient("1 MB")
    for memory, runs in (("1 MB", 20), ("3 kB", 21)):
        with ti.profile(tmp_path / "trace.json"):
            gradient(memory)
        events = check_trace(tmp_path / "trace.json")
        names = [task["name"] for task in of(events, "task")]
        assert sum("step_grad" in name for name in names) >= 20
        assert sum("step" in name and "grad" not in name for name in names) >= runs


def test_copies_and_memory_are_seen(ti: Any, tmp_path: Path) -> None:
    two, x = program(ti)
    x.fill(0)
    with ti.profile(tmp_path / "trace.json"):
        two(np.ones(1000, np.float32))
        x.to_numpy()
        y = ti.ndarray(ti.f32, 500)
        y.from_numpy(np.ones(500, np.float32))
    events = check_trace(tmp_path / "trace.json")
    copies = [(copy["name"], copy["args"]["bytes"]) for copy in of(events, "copy")]
    assert copies == [("host to device", 4000), ("device to host", 4000), ("host to device", 2000)]
    counts = [event["args"]["bytes"] for event in events if event["ph"] == "C" and "GPU 0" in event["name"]]
    assert counts[0] >= 4000  # the field was there
    assert max(counts) - counts[0] >= 4000  # what the array was copied to
    assert counts[-1] - counts[0] >= 2000


def test_launches_are_as_before_afterwards(ti: Any) -> None:
    two, x = program(ti)
    array = ti.ndarray(ti.f32, 4)
    for _ in range(3):
        with ti.profile() as seen:
            two(array)
        assert sum(event.kind == "task" for event in seen.events) >= 2
        two(array)
        two(array)
    assert ti_program().device.timer is None
    assert x.to_numpy()[7] == 7


def test_with_the_kernel_profiler(ti: Any) -> None:
    ti.init(arch=ti.cuda, kernel_profiler=True, enable_fallback=False)
    two, _ = program(ti)
    array = ti.ndarray(ti.f32, 4)
    two(array)
    with ti.profile() as seen:
        two(array)
    two(array)
    assert ti.profiler.query_kernel_profiler_info("two").counter == 3
    assert sum(event.kind == "task" for event in seen.events) >= 2


def test_events_are_read_now_and_then(ti: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_timer, "_MOST_WAITING", 10)
    two, _ = program(ti)
    array = ti.ndarray(ti.f32, 4)
    with ti.profile() as seen:
        for _ in range(57):
            two(array)
    tasks = [event for event in seen.events if event.kind == "task"]
    assert len(tasks) == 57 * len({task.name for task in tasks})
    assert [task.began for task in tasks] == sorted(task.began for task in tasks)


def test_what_came_before_is_no_part_of_it(ti: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the host hears late that the device has passed a point: times then seem to be later than they are."""
    two, _ = program(ti)
    array = ti.ndarray(ti.f32, 4)
    gpu = ti_program().device.gpu
    wait = gpu.synchronize

    def late() -> None:
        wait()
        time.sleep(0.02)

    monkeypatch.setattr(gpu, "synchronize", late)
    with ti.profile():
        for _ in range(5):
            two(array)
        with ti.profile() as inner:
            two(array)
    tasks = [event.name for event in inner.events if event.kind == "task"]
    assert len(tasks) == len(set(tasks)) >= 2


def test_many_launches_and_profiles_inside(ti: Any) -> None:
    two, x = program(ti)
    array = ti.ndarray(ti.f32, 4)
    with ti.profile() as outer:
        for _ in range(1500):
            two(array)
        with ti.profile() as inner:
            two(array)
        ti.init(arch=ti.cuda, enable_fallback=False)
        again, _ = program(ti)
        again(np.ones(4, np.float32))
    each = sum(event.kind == "task" for event in inner.events)
    assert each >= 2
    assert sum(event.kind == "task" for event in outer.events) == 1502 * each
