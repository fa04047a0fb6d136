"""Long kernels that several threads compile, and scatters that are compiled for the threads there are."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti
from tests.lang.cache.cached_programs import Session
from tests.lang.measure.trace_format import check_trace
from weft.codegen.cpu import parts
from weft.codegen.llvm import machine
from weft.ir.config import MANY_THREADS
from weft.runtime import system

LARGE = 1 << 21  # elements of a field that no thread gets a copy of


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four cores, and every loop is worth a module."""
    monkeypatch.setattr(system, "threads_available", lambda: 4)
    monkeypatch.setattr(parts, "_LEAST", 1)


@pytest.fixture
def helped(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the threads that compile modules from now on; whoever needs a kernel waits until it is helped."""
    ti.reset()
    for thread in threading.enumerate():  # what another test began to compile ahead, and did not wait for
        if thread.name.startswith("weft-compiler"):
            thread.join()
    seen: list[str] = []
    began, compile_object = threading.Event(), machine.compile_object

    def noting(text: str, *rest: Any) -> bytes:
        name = threading.current_thread().name
        seen.append(name)
        if name == "weft-compiler":
            began.set()
        elif "weft_entry" not in text or "declare void @weft_task" in text:
            assert began.wait(30)
        return compile_object(text, *rest)

    monkeypatch.setattr(machine, "compile_object", noting)
    return seen


def three_loops(x: Any, step: int) -> Any:
    """A kernel of three loops."""

    @ti.kernel
    def k():
        for i in x:
            x[i] += step
        for i in x:
            x[i] *= 2
        for i in x:
            x[i] -= i

    return k


def expected(step: int) -> list[int]:
    return [step * 2 - i for i in range(100)]


def test_others_help(cores: None, helped: list[str]) -> None:
    ti.init(arch=ti.cpu)
    x = ti.field(ti.i32, 100)
    three_loops(x, 3)()
    assert x.to_numpy().tolist() == expected(3)
    assert len(helped) == 3
    assert "weft-compiler" in helped


@pytest.mark.parametrize("options", [{"compile_threads": 1}, {"line_info": True}])
def test_one_thread_compiles_one_module(cores: None, helped: list[str], options: dict[str, Any]) -> None:
    ti.init(arch=ti.cpu, **options)
    x = ti.field(ti.i32, 100)
    three_loops(x, 4)()
    assert x.to_numpy().tolist() == expected(4)
    assert helped == ["MainThread"]


def test_one_core_compiles_one_module(monkeypatch: pytest.MonkeyPatch, cores: None, helped: list[str]) -> None:
    monkeypatch.setattr(system, "threads_available", lambda: 1)
    ti.init(arch=ti.cpu, compile_threads=8)
    three_loops(ti.field(ti.i32, 100), 4)()
    assert helped == ["MainThread"]


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_kernels_compiled_ahead_on_few_threads(cores: None, threads: int) -> None:
    ti.init(arch=ti.cpu, compile_threads=threads)
    fields = [ti.field(ti.i32, 100) for _ in range(12)]
    kernels = [three_loops(x, step) for step, x in enumerate(fields)]
    futures = [k.compile_async() for k in kernels[:6]]
    ti.warm(*kernels[6:])
    for future in futures:
        future.result(60)
    for k in kernels:
        k()
    assert [x.to_numpy().tolist() for x in fields] == [expected(step) for step in range(12)]
    assert ti.lang.program.init.program().seats._taken == 0


def test_functions_that_are_called_stay_with_their_callers(cores: None, helped: list[str]) -> None:
    ti.init(arch=ti.cpu)
    x = ti.field(ti.i32, 100)

    @ti.real_func
    def triangle(n: ti.i32) -> ti.i32:
        r = 0
        if n > 0:
            r = n + triangle(n - 1)
        return r

    @ti.kernel
    def k():
        for i in x:
            x[i] = triangle(i)
        for i in x:
            x[i] += 1
        for i in x:
            x[i] += triangle(2)

    k()
    assert x.to_numpy().tolist() == [i * (i + 1) // 2 + 4 for i in range(100)]
    assert len(helped) == 2


def draws(x: Any) -> Any:
    """A kernel that draws random numbers, and may fail in the middle."""

    @ti.kernel
    def k(limit: ti.i32) -> ti.f32:
        for i in x:
            x[i] = ti.random()
        for i in x:
            assert i < limit, "too far"
        total = 0.0
        for i in x:
            total += ti.sin(x[i]) + ti.random()
        return total

    return k


def test_failures_and_random_numbers_are_those_of_one_module(cores: None) -> None:
    seen = []
    for threads in (1, 4):
        ti.init(arch=ti.cpu, compile_threads=threads, debug=True, random_seed=5, fast_math=False)
        x = ti.field(ti.f32, 100)
        k = draws(x)
        with pytest.raises(AssertionError, match="too far"):
            k(50)
        seen.append((x.to_numpy().tolist(), k(100)))
    assert seen[0] == seen[1]


def test_what_goes_wrong_on_another_thread_is_raised_here(
    monkeypatch: pytest.MonkeyPatch, cores: None, helped: list[str]
) -> None:
    ti.init(arch=ti.cpu)
    x = ti.field(ti.i32, 100)
    k = three_loops(x, 1)
    compile_object = machine.compile_object

    def failing(text: str, *rest: Any) -> bytes:
        made = compile_object(text, *rest)
        if threading.current_thread().name == "weft-compiler":
            raise MemoryError("on another thread")
        return made

    with monkeypatch.context() as patch:
        patch.setattr(machine, "compile_object", failing)
        with pytest.raises(MemoryError, match="on another thread"):
            k()
    k()
    assert x.to_numpy().tolist() == expected(1)


def test_the_cache_keeps_all_modules(cores: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(tmp_path, monkeypatch)
    text = """
import weft as ti
x = ti.field(ti.i32, 100)
@ti.kernel
def k():
    for i in x:
        x[i] += 3
    for i in x:
        x[i] *= 2
    for i in x:
        x[i] -= i
def main():
    k()
    return x.to_numpy().tolist()
"""
    assert session.fresh(text) == expected(3)
    kept = [path.read_bytes() for path in (session.cache / "kernels").glob("*")]
    assert any(re.search(rb'"sizes":\[[1-9]\d*,0,[1-9]\d*,[1-9]\d*\]', data) for data in kept)
    assert session.warm(text) == expected(3)
    assert session.warm(text, compile_threads=1) == expected(3)


def test_profiles_and_tables_show_who_did_what(
    cores: None, helped: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WEFT_TIME", "1")
    ti.init(arch=ti.cpu)
    k = three_loops(ti.field(ti.i32, 100), 3)
    with ti.profile(tmp_path / "trace.json"):
        k.compile()
    stages = [event for event in check_trace(tmp_path / "trace.json") if event.get("cat") == "compile"]
    lanes = {event["name"]: set[int]() for event in stages}
    for event in stages:
        lanes[event["name"]].add(event["tid"])
    mine = lanes["translate"]
    assert mine == lanes["emit"] == lanes["wait"]
    assert lanes["optimize"] == lanes["codegen"]
    assert lanes["optimize"] - mine
    table = capsys.readouterr().err
    assert re.search(r"\n    optimize, beside +\d", table)
    assert re.search(r"\n  wait +\d", table)


# ---- atomics ---------------------------------------------------------------------------------------------------------


def bodies(kernel: Any) -> tuple[int, bool]:
    """How many bodies the only loop of a kernel has, and whether one of them locks."""
    text = kernel.last.artifact.llvm
    return len(re.findall(r"^define internal void @weft_task0", text, re.MULTILINE)), "atomicrmw" in text


def scatter(x: Any, lines: int) -> Any:
    """A kernel that adds to a field, with so many lines besides."""
    work = [f"        a = a * {1 + n % 7}.5 + i" for n in range(lines)]
    head = ["@ti.kernel", "def k():", "    for i in range(10000):", "        a = 1.0"]
    adds = ["        if a != 0.0:", f"            x[i * 7919 % {LARGE}] += 1.0", "            x[i % 3] += 2.0"]
    text = "\n".join([*head, *work, *adds])
    space: dict[str, Any] = {"ti": ti, "x": x}
    exec(text, space)
    return space["k"]


@pytest.mark.parametrize(
    ("threads", "lines", "shape"),
    [(1, 1, (1, False)), (2, 1, (1, False)), (64, 1, (2, True)), (1, 400, (1, False)), (64, 400, (1, True))],
)
def test_atomics_lock_where_so_many_threads_gain_by_it(threads: int, lines: int, shape: tuple[int, bool]) -> None:
    ti.init(arch=ti.cpu, cpu_max_num_threads=threads)
    x = ti.field(ti.f32, LARGE)
    k = scatter(x, lines)
    k()
    assert bodies(k) == shape
    wanted = np.zeros(LARGE, np.float32)
    for i in range(10000):
        wanted[i * 7919 % LARGE] += 1
        wanted[i % 3] += 2
    np.testing.assert_array_equal(x.to_numpy(), wanted)


def test_from_so_many_threads_on_code_is_the_same() -> None:
    texts = []
    for threads in (MANY_THREADS - 1, MANY_THREADS, 200):
        ti.init(arch=ti.cpu, cpu_max_num_threads=threads)
        k = scatter(ti.field(ti.f32, LARGE), 0)
        k.compile()
        texts.append(k.last.artifact.llvm)
    assert texts[1] == texts[2]
    ti.reset()
