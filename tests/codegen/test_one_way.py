"""A kernel goes down into code generation once and comes back once, and what shows decisions makes none."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import weft as ti
from tests.codegen.ptx import Recorder, compiling
from tests.test_imports import graph

__all__ = ["compiling"]
Crossing = tuple[str, str]  # the floor that calls, and the function that it calls
CODEGEN = "codegen"


def floor_of(frame: FrameType | None) -> str:
    """The floor of a frame, or of the next one around it that is Weft's: `ir`, `codegen`, `runtime`, `lang`."""
    while frame is not None:
        package, _, rest = str(frame.f_globals.get("__name__", "")).partition(".")
        if package == "weft" and rest:
            return rest.partition(".")[0]
        frame = frame.f_back
    return ""


@contextmanager
def crossings() -> Generator[Counter[Crossing], None, None]:
    """Count the calls into code generation from other floors, and the calls out of it to floors that it may not call,
    or to passes."""
    found = Counter[Crossing]()

    def look(frame: FrameType, event: str, _: Any) -> None:
        module = str(frame.f_globals.get("__name__", ""))
        if event != "call" or not module.startswith("weft."):
            return
        caller, called = floor_of(frame.f_back), module.split(".")[1]
        up = called in ("lang", "runtime") or module.startswith("weft.ir.transforms")
        if (called == CODEGEN) != (caller == CODEGEN) and (called == CODEGEN or up):
            found[caller, f"{module}.{frame.f_code.co_name}"] += 1

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(before)


def kernels() -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Two kernels of all kinds of tasks. Compiling the first one imports what the second one needs, too."""
    x, rows, bins = ti.field(ti.f32, 1000), ti.field(ti.f32, (64, 512)), ti.field(ti.i32, 16)

    @ti.real_func
    def factorial(n: ti.i32) -> ti.i32:
        result = 1
        if n > 1:
            result = n * factorial(n - 1)
        return result

    def everything() -> ti.i32:
        for i in x:
            x[i] = ti.sin(x[i]) + x[ti.min(i + 1, 999)]
            bins[int(x[i]) % 16] += 1
        for i in range(64):
            total = 0.0
            for j in range(512):
                total += rows[i, j]
            x[i] = total + float(factorial(i % 5))
        print("done", bins[0])
        return bins[0]

    return ti.kernel(everything), ti.kernel(everything)


def goes_down_once(first: Callable[[], Any], second: Callable[[], Any], target: str, compiles: str) -> None:
    """The second kernel enters code generation once. Nothing is called from there but functions of the IR. Before that,
    the program asks for the target and waits for its turn to compile."""
    first()
    with crossings() as found:
        second()
    entered = {(target, 1), (compiles, 1), ("llvm.crew.__enter__", 1), ("llvm.crew.__exit__", 1)}
    assert {(called.removeprefix("weft.codegen."), count) for (_, called), count in found.items()} == entered
    assert CODEGEN not in {caller for caller, _ in found}


def test_for_cpus() -> None:
    ti.init(arch=ti.cpu, offline_cache=False, compile_threads=1)
    goes_down_once(*kernels(), "cpu.target.cpu_target", "cpu.kernel.compile_kernel")


def test_for_gpus(compiling: Callable[..., Recorder]) -> None:
    compiling(compile_threads=1)
    goes_down_once(*kernels(), "nvptx.target.gpu_target", "nvptx.kernel.compile_kernel")


def test_a_call_back_is_found() -> None:
    """A function of code generation that calls back is seen, once on its way down and once on its way up."""
    above, below = {"__name__": "weft.lang.above"}, {"__name__": "weft.codegen.below"}
    exec("def ask():\n    return 7", above)
    exec("def emit(ask):\n    return [ask(), sum(ask() for _ in range(2))]", below)
    exec("def compile(emit):\n    return emit(ask)", above)
    with crossings() as found:
        assert above["compile"](below["emit"]) == [7, 14]  # type: ignore[operator]
    assert found == {("lang", "weft.codegen.below.emit"): 1, (CODEGEN, "weft.lang.above.ask"): 3}


def test_the_explorer_makes_no_decisions() -> None:
    """The explorer and the stages of kernels read schedules: they import no module that makes a decision."""
    decides = ("weft.ir.mapping", "weft.ir.transforms")
    shows = ("weft.lang.explore", "weft.lang.stages")
    found = {module: [*imports] for module, imports in graph().items() if module.startswith(shows)}
    assert len(found) >= 6
    assert [(module, name) for module, names in found.items() for name in names if name.startswith(decides)] == []
