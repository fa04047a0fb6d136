"""A kernel cut into modules that threads compile: the same results, the same bytes each time, the same instructions;
and what becomes of errors (docs/adr/0029-tasks-in-threads.md)."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests.codegen.machine_code import DEVICE
from tests.codegen.test_lanes import EXACT, native
from tests.generate import Program, chi_kernels
from tests.mapping import for_cpu
from tests.sampling import draws
from weft.codegen.cpu import kernel as cpu
from weft.codegen.cpu import parts
from weft.codegen.llvm import machine
from weft.codegen.llvm.crew import Crew, Helpers, Seats
from weft.ir.artifact import Artifact
from weft.ir.config import MANY_THREADS, CompileConfig
from weft.ir.mapping.cost import Cost
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.text import print_ir
from weft.runtime import jit

STENCIL = (Path(__file__).parent / "golden" / "stencil.chi").read_text()


def nobody(*_: Any) -> None:
    """Who listens to nothing."""


def helpers(count: int, heard: Callable[[str, float, float], None] = nobody) -> Helpers:
    """Seats for one thread, which is there, and so many helpers."""
    seats = Seats(1 + count)
    assert seats.take()
    return Helpers(seats, heard)


def stencils(count: int) -> Kernel:
    """A kernel of so many loops, mapped to the host."""
    head, task = STENCIL.split("  task", 1)
    loops = [re.sub("%", f"%k{k}_", task.rstrip().removesuffix("}")) for k in range(count)]
    return for_cpu(parse("".join([head, *(f"  task{loop}" for loop in loops), "}\n"])), CompileConfig())


@pytest.fixture(autouse=True)
def _anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each module be compiled, whatever was compiled before."""

    def anew(
        text: str, level: int, note: Callable[[str], None], features: str, keep: machine.Keep | None = None
    ) -> bytes:
        return machine.compile_anew(text, level, note, features)

    monkeypatch.setattr(machine, "compile_object", anew)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every loop be worth a module."""
    monkeypatch.setattr(parts, "_LEAST", 1)


def results(artifact: Artifact) -> list[float]:
    """What the stencils leave in y."""
    x, y = np.arange(4096, dtype=np.float32) % 37, np.zeros(4096, np.float32)
    DEVICE.load(artifact)([x.ctypes.data, y.ctypes.data], [])
    return y.tolist()


@pytest.mark.parametrize("count", [0, 1, 5])
@pytest.mark.parametrize("linker", ["the usual", "the other"])
def test_modules_do_what_one_does(monkeypatch: pytest.MonkeyPatch, short: None, count: int, linker: str) -> None:
    if linker == "the other":
        monkeypatch.setattr(jit, "_TOGETHER", not jit._TOGETHER)
        monkeypatch.setattr(DEVICE, "loader", jit.Loader())
    whole = cpu.compile_kernel(stencils(4), CompileConfig())
    cut = cpu.compile_kernel(stencils(4), CompileConfig(), helpers=helpers(count))
    assert (len(whole.parts), len(cut.parts)) == (0, 3)
    assert any(results(whole))
    assert results(cut) == results(whole)


def test_the_same_bytes_each_time(short: None) -> None:
    made = [cpu.compile_kernel(stencils(5), CompileConfig(), helpers=helpers(1 + n % 4)) for n in range(8)]
    assert all((one.code, one.parts, one.llvm) == (made[0].code, made[0].parts, made[0].llvm) for one in made)


def test_the_text_is_that_of_the_whole(short: None) -> None:
    whole = cpu.compile_kernel(stencils(3), CompileConfig())
    assert cpu.compile_kernel(stencils(3), CompileConfig(), helpers=helpers(2)).llvm == whole.llvm


def instructions(text: str) -> dict[str, list[str]]:
    """Of each function of a module: its instructions as machine code, without the names of labels."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in machine.assembly(text).splitlines():
        if start := re.match(r"(weft_\w+):", line):
            lines = found.setdefault(start[1], [])
        elif re.match(r"\s+[a-z]", line):
            lines.append(re.sub(r"\.L\w+", "", line.partition("#")[0]).strip())
    return found


def test_a_loop_has_the_same_instructions_in_its_own_module(monkeypatch: pytest.MonkeyPatch, short: None) -> None:
    texts: list[str] = []
    compile_object = machine.compile_object

    def noting(text: str, *rest: Any) -> bytes:
        texts.append(text)
        return compile_object(text, *rest)

    monkeypatch.setattr(machine, "compile_object", noting)
    made = cpu.compile_kernel(stencils(3), CompileConfig(), helpers=helpers(2))
    whole, apart = instructions(made.llvm), [instructions(text) for text in texts]
    tasks = [f"weft_task{number}" for number in range(3)]
    assert sorted(name for one in apart for name in one) == ["weft_entry", *tasks]
    assert all(one[name] == whole[name] for one in apart for name in one if name in tasks)


@settings(max_examples=draws(30), deadline=None, suppress_health_check=list(HealthCheck))
@given(program=chi_kernels(mixed=True))
def test_random_kernels(program: Program) -> None:
    run_passes(program.kernel, TO_TASKS + TO_LOWERED, EXACT, None, "untyped")
    again, whole = parse(print_ir(program.kernel)), native(program.kernel, program, EXACT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "_LEAST", 1)
        compile_kernel = cpu.compile_kernel
        patch.setattr("tests.codegen.test_lanes.compile_kernel", lambda *a: compile_kernel(*a, helpers=helpers(2)))
        cut = native(again, program, EXACT)
    for what, value in whole.items():
        if not np.array_equal(value, cut[what]):
            pytest.fail(f"{what} is {cut[what]} cut, {value} whole\n{print_ir(program.kernel)}")


def test_short_kernels_and_those_with_lines_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cpu.compile_kernel(stencils(3), CompileConfig(), helpers=helpers(2)).parts == ()
    monkeypatch.setattr(parts, "_LEAST", 1)
    assert cpu.compile_kernel(stencils(1), CompileConfig(), helpers=helpers(2)).parts == ()
    assert cpu.compile_kernel(stencils(3), CompileConfig(line_info=True), helpers=helpers(2)).parts == ()


def test_errors_of_llvm_in_a_helper_thread_are_raised(monkeypatch: pytest.MonkeyPatch, short: None) -> None:
    here, threads = threading.current_thread(), set[str]()
    helped = threading.Event()

    def refusing(text: str, *_: Any) -> bytes:
        if threading.current_thread() is here:
            assert helped.wait(30)
            return b""
        threads.add(threading.current_thread().name)
        helped.set()
        return machine.parse("define void @f() { ret i32 1 }")

    monkeypatch.setattr(machine, "compile_object", refusing)
    one = helpers(1)
    with pytest.raises(RuntimeError, match="parsing"):
        cpu.compile_kernel(stencils(3), CompileConfig(), helpers=one)
    assert threads == {"weft-compiler"}
    assert one.seats.take()
    assert not one.seats.take()


# ---- who works -------------------------------------------------------------------------------------------------------


def test_stages_are_told_on_the_thread_that_is_in_them(short: None) -> None:
    heard, noted = list[tuple[str, str]](), list[str]()
    done = threading.Event()

    def hear(stage: str, began: float, ended: float) -> None:
        assert began <= ended
        heard.append((threading.current_thread().name, stage))
        done.set()

    def note(stage: str) -> None:
        noted.append(stage)
        if stage == "optimize":
            assert done.wait(30)

    cpu.compile_kernel(stencils(3), CompileConfig(), note, helpers=helpers(1, hear))
    assert set(heard) == {("weft-compiler", "optimize"), ("weft-compiler", "codegen")}
    assert (noted[0], noted[-1]) == ("emit", "wait")
    assert len(heard) + noted.count("optimize") + noted.count("codegen") == 6


@pytest.mark.parametrize("seats", [1, 2, 4])
def test_no_more_threads_than_seats(seats: int) -> None:
    lock, inside, most = threading.Lock(), 0, 0

    def work(_note: Any) -> int:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        threading.Event().wait(0.01)
        with lock:
            inside -= 1
            return inside

    one = helpers(seats - 1)
    with Crew[int](one, nobody) as crew:
        for size in range(12):
            crew.give(size, work)
        assert len(crew.finish()) == 12
    assert 1 <= most <= seats
    assert sum(one.seats.take() for _ in range(8)) == seats - 1


def test_large_pieces_first_and_results_in_order() -> None:
    done: list[int] = []
    with Crew[int](helpers(0), nobody) as crew:
        for size in (3, 9, 1, 9):
            crew.give(size, lambda _note, size=size: done.append(size) or size)
        assert crew.finish() == [3, 9, 1, 9]
    assert done == [9, 9, 3, 1]


def test_who_is_interrupted_leaves_nobody_at_work() -> None:
    begun, go, ended = threading.Event(), threading.Event(), threading.Event()

    def work(_note: Any) -> None:
        begun.set()
        assert go.wait(30)
        ended.set()

    with pytest.raises(KeyboardInterrupt), Crew[None](helpers(1), nobody) as crew:  # noqa: PT012 - that is the point
        for _ in range(5):
            crew.give(1, work)
        assert begun.wait(30)
        threading.Timer(0.05, go.set).start()
        raise KeyboardInterrupt
    assert ended.is_set()


def test_without_threads_one_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    one = helpers(1)
    with Crew[int](one, nobody) as crew:
        for number in range(3):
            crew.give(1, lambda _note, number=number: number)
        assert crew.finish() == [0, 1, 2]
    assert one.seats.take()


# ---- which bodies there are ------------------------------------------------------------------------------------------


def test_beyond_so_many_threads_code_is_the_same() -> None:
    for kind in ({"atomics": 100.0, "plain": 12.0}, {"atomics": 50.0, "plain": 12.0}, {"work": 5.0}):
        assert Cost(**kind).contest < MANY_THREADS
