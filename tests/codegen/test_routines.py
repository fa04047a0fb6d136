"""Routines of the run-time library as modules of their own: compiled once, and the same results as in the kernel."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.codegen.machine_code import DEVICE
from tests.codegen.test_parts import helpers
from tests.ir.test_routines import mapped, sums
from weft.codegen.cpu import kernel as cpu
from weft.codegen.llvm import machine
from weft.codegen.llvm.kept_objects import KeptObjects
from weft.ir.artifact import Artifact
from weft.ir.config import CompileConfig
from weft.ir.evaluate import Memory, evaluate
from weft.ir.ops import Kernel

TASKS = (sums("x", "a", "b", "c", 0), sums("", "b", "c", "f", 8), sums("y", "d", "e", "f", 8))
APART = (TASKS[0], TASKS[1].replace("offset=8", "offset=16"), TASKS[2])


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that LLVM compiles."""
    found, compile_anew = list[str](), machine.compile_anew

    def seen(text: str, *rest: Any) -> bytes:
        found.append(text)
        return compile_anew(text, *rest)

    monkeypatch.setattr(machine, "compile_anew", seen)
    monkeypatch.setattr(machine, "_KEPT", KeptObjects())
    return found


def test_equal_routines_are_compiled_once(compiled: list[str]) -> None:
    kernel = mapped(TASKS[0], TASKS[2])
    code = cpu.compile_kernel(kernel, CompileConfig())
    assert len(code.parts) == 1
    assert len(compiled) == 2
    assert code.llvm.count("call void @weft_routine_") == 2
    again = cpu.compile_kernel(kernel, CompileConfig())
    assert again == code
    assert len(compiled) == 2
    threads = cpu.compile_kernel(kernel, CompileConfig(), helpers=helpers(2))
    assert threads.parts == code.parts
    assert len(compiled) == 3  # the module with the entry has another text
    cpu.compile_kernel(kernel, CompileConfig(opt_level=1))
    assert len(compiled) == 5


def test_lines_of_the_source_keep_them_in_the_kernel() -> None:
    assert cpu.compile_kernel(mapped(*APART), CompileConfig(line_info=True)).parts == ()


def run(kernel: Kernel, code: Artifact, memory: Memory) -> None:
    """Launch the code of a kernel on that memory."""
    DEVICE.load(code)([tree.__array_interface__["data"][0] for tree in memory.trees], [])


@pytest.mark.parametrize("seats", [0, 2])
def test_routines_do_what_their_tasks_do(seats: int) -> None:
    kernel = mapped(*APART)
    code = cpu.compile_kernel(kernel, CompileConfig(), helpers=helpers(seats) if seats else None)
    assert len(code.parts) == 1
    expected, found = Memory.of(kernel.fields), Memory.of(kernel.fields)
    for number, symbol in enumerate(kernel.fields):
        values = (np.arange(8, dtype=np.int32) * (number + 3)) % 5
        for memory in (expected, found):
            memory.write(symbol, values)
    evaluate(kernel, [], expected, CompileConfig())
    run(kernel, code, found)
    for symbol in kernel.fields:
        np.testing.assert_array_equal(found.read(symbol), expected.read(symbol), err_msg=symbol.name)
    assert expected.read(kernel.fields[1]).any()


def test_a_launch_that_ends_in_a_routine_ends_in_the_kernel_too() -> None:
    """Behind the call, as behind a parallel loop, is a test whether the launch must end."""
    text = cpu.compile_kernel(mapped(*APART), CompileConfig()).llvm
    calls = re.findall(r"call void @weft_routine_.*\n  (%\w+) = load atomic i64, ptr %record monotonic", text)
    assert len(calls) == text.count("call void @weft_routine_") == 2
