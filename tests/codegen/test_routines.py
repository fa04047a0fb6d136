"""Routines of the run-time library as modules of their own: compiled once, and the same results as in the kernel."""

from __future__ import annotations

import re
from collections.abc import Callable
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
    assert code.llvm.count("call i1 @weft_routine_") == 2
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


def test_a_launch_that_ends_in_a_routine_ends_in_the_kernel_too(compiled: list[str]) -> None:
    """A routine returns whether the launch must end, and the kernel ends then."""
    text = cpu.compile_kernel(mapped(*APART), CompileConfig()).llvm
    calls = re.findall(r"(%\w+) = call i1 @weft_routine_.*\n  br i1 \1, label %exit, label %on", text)
    assert len(calls) == text.count("call i1 @weft_routine_") == 2
    for routine in (one for one in compiled if "weft_routine" in one and "call i1" not in one):
        (caller,) = re.findall(r"^define i1 @weft_routine_.*?^}$", routine, re.MULTILINE | re.DOTALL)
        assert re.search(r"(%\w+) = call preserve_allcc zeroext i1 .*\n  br i1 \1, label %ends, ", caller)
        assert re.search(r"ret i1 false\nends:\n  ret i1 true", caller)
        assert "define internal void @weft_entry(" in routine


@pytest.mark.parametrize("seats", [0, 2])
def test_objects_of_routines_are_kept_for_other_processes(compiled: list[str], seats: int) -> None:
    kept, asked = dict[str, bytes](), list[str]()

    def keep(depends: str, make: Callable[[], bytes]) -> bytes:
        asked.append(depends)
        if depends not in kept:
            kept[depends] = make()
        return kept[depends]

    def compile(**options: Any) -> tuple[bytes, ...]:
        machine._KEPT.clear()  # another process
        crew = helpers(seats) if seats else None
        return cpu.compile_kernel(mapped(*APART), CompileConfig(**options), helpers=crew, keep=keep).parts

    first = compile()
    assert len(compiled) == 2
    assert len(kept) == 1
    assert compile() == first
    assert len(compiled) == 3  # only the kernel
    compile(opt_level=1)
    compile(cpu_features="x86-64-v2")
    assert len(kept) == 3
    assert all("define i1 @weft_routine_" in depends for depends in asked)
