"""Kernels as WebAssembly: linked, run, and compared with the evaluator bit by bit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import weft as ti
from tests.codegen.test_lanes import EXACT, unsigned_zeros
from tests.codegen.wasm_machine import WasmKernel, needs_wasm
from tests.generate import Program, chi_kernels
from tests.ir.test_passes_agree import bits, outcome
from tests.sampling import draws
from weft.codegen.wasm.kernel import MAPPED_TO, compile_kernel, imports
from weft.ir.errors import InternalError
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, map_to_target, run_passes
from weft.ir.text import print_ir
from weft.ir.types import flatten

CONFIG = replace(EXACT, threads=1, target=MAPPED_TO)
examples = settings(max_examples=draws(24), deadline=None, suppress_health_check=list(HealthCheck))


def ran(program: Program, folder: Path) -> dict[str, Any]:
    """All that a run of the lowered kernel leaves, but for prints."""
    memory = program.memory()
    args = [np.copy(arg) if isinstance(arg, np.ndarray) else arg for arg in program.args]
    scalars = WasmKernel(compile_kernel(program.kernel, CONFIG), folder)(memory.trees, args)
    prims = [prim for type in program.kernel.results for prim in flatten(type)]
    seen = {symbol.name: bits(memory.read(symbol)) for symbol in program.kernel.fields}
    seen |= {"results": [bits(np.array(s, p.np)) for s, p in zip(scalars, prims, strict=True)]}
    return seen | {"array": bits(args[-1])}


@needs_wasm
@examples
@given(program=chi_kernels(mixed=True))
def test_random_kernels(program: Program) -> None:
    run_passes(program.kernel, TO_TASKS + TO_LOWERED, CONFIG, None, "untyped")
    expected = outcome(program.kernel, program, CONFIG)
    map_to_target(program.kernel, (), CONFIG)
    with TemporaryDirectory() as folder:
        found = ran(program, Path(folder))
    for what, value in found.items():
        if what in expected and not np.array_equal(unsigned_zeros(value), unsigned_zeros(expected[what])):
            pytest.fail(f"{what} is {value}, evaluated {expected[what]}\n{print_ir(program.kernel)}")


# ---- kernels of programs ---------------------------------------------------------------------------------------------


def machine(kernel: Any, folder: Path, *args: Any) -> WasmKernel:
    artifact = kernel.stages(*args).on("wasm32").artifact
    assert artifact is not None
    return WasmKernel(artifact, folder)


@pytest.fixture
def program() -> Iterator[None]:
    ti.init(arch=ti.cpu)
    yield
    ti.reset()


def test_maps_become_vectors(program: None) -> None:
    x = ti.field(ti.f32, 1024)

    @ti.kernel
    def run(a: ti.f32):
        for k in x:
            x[k] = a * x[k] + 1

    stages = run.stages(2.0).on("wasm32")
    assert stages.asm is not None
    assert re.search(r"v128\.load.*f32x4\.mul.*f32x4\.add.*v128\.store", stages.asm, re.DOTALL)
    assert stages.object is not None
    assert imports(stages.object) == ()


@needs_wasm
def test_results_arrays_and_random_numbers(program: None, tmp_path: Path) -> None:
    x = ti.field(ti.f32, (30, 40))

    @ti.kernel
    def run(a: ti.f64, z: ti.types.ndarray(ti.i32, 2)) -> ti.i64:
        count = ti.i64(0)
        for i, j in x:
            x[i, j] = ti.f32(a) * (i * 40 + j) + ti.random()
            count += i * j
        for i, j in z:
            z[i, j] = z[i, j] * 3 + i - j
        return count

    z = np.arange(12, dtype=np.int32).reshape(3, 4)
    bytes_of_x, given = np.zeros((30, 40), np.float32), z.copy()
    results = machine(run, tmp_path, 0.5, z)([bytes_of_x], [0.5, given])
    rows, columns = np.ogrid[:3, :4]
    assert results == [sum(i * j for i in range(30) for j in range(40))]
    assert (given == z * 3 + rows - columns).all()
    drawn = bytes_of_x - 0.5 * np.arange(1200, dtype=np.float32).reshape(30, 40)
    assert ((drawn >= 0) & (drawn < 1)).all()
    assert len(np.unique(drawn)) > 1000


@needs_wasm
def test_prints_assertions_and_warnings(tmp_path: Path) -> None:
    ti.init(arch=ti.cpu, debug=True)
    x = ti.field(ti.i32, 8)

    @ti.kernel
    def run(n: ti.i32):
        for k in range(n):
            if k == 2:
                print("two is", k, 40 + x[k])
            assert k < 5, "too far"
            x[k] = k

    kernel, memory = machine(run, tmp_path, 8), np.zeros(8, np.int32)
    kernel([memory], [8])
    ((site, words),) = kernel.printed
    assert kernel.artifact.sites[site].kind == "print"
    assert [word & 0xFFFFFFFF for word in words] == [2, 40]
    state, site, *_ = kernel.record
    assert state & 0xFFFFFFFF == 2
    assert kernel.artifact.sites[site].text[0].startswith("too far")
    assert memory.tolist() == [0, 1, 2, 3, 4, 0, 0, 0]
    ti.reset()


@needs_wasm
def test_functions_of_the_c_library_are_imports(program: None, tmp_path: Path) -> None:
    x, y = ti.field(ti.f32, 64), ti.field(ti.f64, 64)

    @ti.kernel
    def run(a: ti.f64):
        for k in x:
            x[k] = ti.sin(x[k]) + ti.exp(x[k])
            y[k] = ti.pow(y[k], a) + ti.atan2(y[k], 2.0)

    stages = run.stages(1.7).on("wasm32")
    assert stages.object is not None
    assert imports(stages.object) == ("atan2", "pow", "sinf")  # exp is our own
    a, b = np.linspace(-3, 3, 64, dtype=np.float32), np.linspace(1, 2, 64)
    memory = [a.copy(), b.copy()]
    machine(run, tmp_path, 1.7)(memory, [1.7])
    np.testing.assert_allclose(memory[0], np.sin(a) + np.exp(a), rtol=1e-6)
    np.testing.assert_allclose(memory[1], np.power(b, 1.7) + np.arctan2(b, 2.0), rtol=1e-12)


def test_files_that_are_not_webassembly() -> None:
    with pytest.raises(InternalError, match="does not begin with the magic number of WebAssembly"):
        imports(b"\x7fELF")
