"""Threads that are in LLVM at once (docs/adr/0020-llvm-in-threads.md)."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from llvmlite.binding import ffi

from tests.mapping import for_cpu
from weft.codegen.cpu.kernel import emit_kernel
from weft.codegen.llvm import machine
from weft.ir.config import CompileConfig
from weft.ir.parse import parse

SOURCES = Path(__file__).parent / "golden"


def nobody(_stage: str) -> None:
    """Who listens to no stage."""


def module_of(name: str) -> str:
    kernel, host = parse((SOURCES / f"{name}.chi").read_text()), machine.host_cpu()
    return emit_kernel(for_cpu(kernel, CompileConfig()), CompileConfig(), host.features).text(host.header)


def test_threads_compile_the_same_as_one() -> None:
    texts = [module_of(name) for name in ("stencil", "histogram", "product")]
    alone = [machine.compile_anew(text, 3, nobody) for text in texts]

    def compile_all(first: int) -> list[bytes]:
        order = [(first + k) % len(texts) for k in range(len(texts))]
        made = {k: machine.compile_anew(texts[k], 3, nobody) for k in order}
        return [made[k] for k in range(len(texts))]

    with ThreadPoolExecutor(4) as pool:
        assert all(made == alone for made in pool.map(compile_all, range(8)))


@pytest.mark.parametrize("name", ["LLVMPY_RunNewModulePassManager", "LLVMPY_TargetMachineEmitToMemory"])
def test_llvmlite_has_a_lock_that_can_be_left_out(name: str) -> None:
    """If this fails, llvmlite has changed: threads wait for one another again, which is slower and not wrong."""
    called = machine._unlocked(name)
    assert called is not getattr(ffi.lib, name)
    assert isinstance(called, ctypes._CFuncPtr)


def test_errors_of_llvm_are_reported() -> None:
    with pytest.raises(RuntimeError, match="parsing"):
        machine.compile_object("define void @f() { ret i32 1 }", 3)
