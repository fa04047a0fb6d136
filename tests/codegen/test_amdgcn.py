"""A second GPU: kernels become object code for AMD's, and LLVM's linker makes code objects of it. Nothing runs them."""

from __future__ import annotations

import importlib
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weft as ti
from tests.codegen.linking import link, needs_linkers
from tests.codegen.ptx import Recorder, compiling
from tests.machine_code import LEARNING
from tests.sampling import every
from weft.codegen.amdgcn.target import AmdTarget, math_library, target_of
from weft.demos.runner import NAMES
from weft.lang.calls.recipe import ON_COMPILED
from weft.lang.stages import Stages

__all__ = ["compiling"]  # a fixture

PROCESSORS = ("gfx90a", "gfx1100")  # with waves of 64 and of 32
_AMDGPU = 224  # the machine, in an ELF header
LIBRARY = re.compile(r"__ocml_\w+ needs AMD's math library, but the file ocml\.bc was not found")


def on(kernel: Any, processor: str, *args: Any) -> Stages:
    stages: Stages = kernel.stages(*args).on("amdgcn", processor)
    return stages


def checked(stages: Stages) -> str:
    """The assembly of a kernel whose object file is one, with an entry for each launch."""
    code, artifact = stages.object, stages.artifact
    assert code is not None
    assert artifact is not None
    assert code[:4] == b"\x7fELF"
    assert struct.unpack_from("<H", code, 18) == (_AMDGPU,)
    assembly = stages.asm
    assert assembly is not None
    assert re.findall(r"\.amdhsa_kernel (\w+)", assembly) == list(artifact.tasks)
    return assembly


@pytest.fixture(params=every(2, PROCESSORS))
def processor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_map_over_memory(compiling: Callable[..., Recorder], processor: str) -> None:
    compiling()
    x, y = ti.Vector.field(3, ti.f32, (64, 48)), ti.field(ti.f64, 1000)

    @ti.kernel
    def run(a: ti.f32, z: ti.types.ndarray(ti.i32, 2)):
        for i, j in x:
            x[i, j] = a * x[i, j] + ti.Vector([1.0, 2.0, i])
        for k in y:
            for n in range(k % 7):
                y[k] = ti.sqrt(y[k]) / (n + 1)
            while y[k] > 100:
                y[k] /= 2
        for I in ti.grouped(z):
            z[I] = z[I] // 3 % 5 + int(y[I[0]])

    import numpy as np

    text = checked(on(run, processor, 2.0, np.zeros((8, 8), np.int32)))
    assert "global_load" in text
    assert not re.search(r"\bflat_(load|store)", text), "generic addresses are slow"


def test_atomics(compiling: Callable[..., Recorder], processor: str) -> None:
    compiling()
    f, d, i, h = ti.field(ti.f32, 8), ti.field(ti.f64, 8), ti.field(ti.i64, 8), ti.field(ti.f16, 8)
    small, wide = ti.field(ti.i8, 8), ti.Vector.field(4, ti.f32, 64)

    @ti.kernel
    def run() -> ti.i64:
        old = ti.i64(0)
        for k in range(1 << 20):
            f[k % 5] -= 0.5
            ti.atomic_min(f[k % 3], 1.0 / k)
            ti.atomic_max(d[k % 5], k * 0.5)
            i[k % 8] |= 1 << (k % 60)
            h[k % 8] += 1.0
            small[k % 8] ^= 1
            wide[k * k % 64] += ti.Vector([1.0, 2.0, 3.0, 4.0])
            old += ti.atomic_add(i[k % 8], 1)
        return old

    assert "atomic" in checked(on(run, processor))


def test_reductions_and_histograms_use_shared_memory(compiling: Callable[..., Recorder], processor: str) -> None:
    compiling()
    x, bins = ti.field(ti.i32, 1 << 20), ti.field(ti.i32, 64)

    @ti.kernel
    def run() -> ti.f32:
        total = 0.0
        for k in x:
            bins[x[k] & 63] += 1
            total += x[k]
        return total

    text = checked(on(run, processor))
    assert "ds_add_u32" in text
    assert "ds_bpermute_b32" in text
    assert "s_barrier" in text


def test_what_threads_do_together(compiling: Callable[..., Recorder], processor: str) -> None:
    compiling()
    x = ti.field(ti.i32, 1024)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=128)
        for k in range(1024):
            pad = ti.simt.block.SharedArray((128,), ti.f32)
            thread = k % 128
            pad[thread] = x[k]
            ti.simt.block.sync()
            full, lane = ti.u32(0xFFFFFFFF), k % 32
            a = ti.simt.warp.shfl_sync_i32(full, x[k], 3) + ti.simt.warp.shfl_up_i32(full, x[k], 1)
            a += ti.simt.warp.shfl_down_i32(full, x[k], 2) + ti.simt.warp.shfl_xor_i32(full, x[k], 4)
            a += ti.simt.warp.all_nonzero(full, a) + ti.simt.warp.any_nonzero(full, a) + ti.simt.warp.unique(full, a)
            a += (
                int(ti.simt.warp.ballot(a))
                + int(ti.simt.warp.match_any(full, a))
                + int(ti.simt.warp.match_all(full, a))
            )
            a += int(ti.simt.warp.active_mask())
            ti.simt.warp.sync(full)
            a += ti.simt.block.sync_all_nonzero(a) + ti.simt.block.sync_any_nonzero(a)
            a += ti.simt.block.sync_count_nonzero(a)
            ti.simt.block.mem_sync()
            ti.simt.grid.memfence()
            x[k] = a + ti.i32(pad[127 - thread]) + lane

    text = checked(on(run, processor))
    assert "ds_bpermute_b32" in text
    assert f".amdhsa_wavefront_size32 {int(AmdTarget(processor).lanes == 32)}" in text or processor == "gfx90a"


def test_prints_and_assertions(compiling: Callable[..., Recorder], processor: str) -> None:
    compiling(debug=True)
    x = ti.field(ti.i32, 16)

    @ti.kernel
    def run(n: ti.i32):
        for k in range(n):
            print("k is", k, x[k])
            assert x[k] > 0, "not positive"
            x[k] = 10 // x[k]

    stages = on(run, processor, 4)
    checked(stages)
    assert stages.artifact is not None
    assert {site.kind for site in stages.artifact.sites} >= {"print", "assert", "bounds", "arithmetic"}


def test_functions_and_random_numbers(compiling: Callable[..., Recorder], processor: str) -> None:
    compiling()
    x = ti.field(ti.f32, 100)

    @ti.real_func
    def half(a: ti.f32) -> ti.f32:
        if a < 0:
            return 0.0
        return a / 2

    @ti.kernel
    def run():
        for k in x:
            x[k] = half(ti.random()) + ti.exp(x[k]) * ti.log(x[k]) + ti.sin(x[k]) + ti.cos(x[k])

    checked(on(run, processor))


def test_what_it_lacks_has_a_name(compiling: Callable[..., Recorder], monkeypatch: pytest.MonkeyPatch) -> None:
    compiling()
    x = ti.field(ti.f64, 4)

    @ti.real_func
    def down(n: ti.i32) -> ti.i32:
        return 0 if n < 1 else down(n - 1) + 1

    @ti.kernel
    def recursive() -> ti.i32:
        return down(3)

    @ti.kernel
    def plain():
        x[0] = 1

    @ti.kernel
    def library():
        for k in x:
            x[k] = ti.tan(x[k])

    with pytest.raises(ti.WeftError, match="AMD's gfx90a does not support recursive functions"):
        _ = on(recursive, "gfx90a").object
    monkeypatch.setattr("weft.codegen.amdgcn.kernel.math_library", lambda: None)
    with pytest.raises(ti.WeftError, match=r"__ocml_tan_f64 needs AMD's math library.*WEFT_OCML"):
        _ = on(library, "gfx90a").object
    with pytest.raises(ti.WeftError, match=r"gfx900 to gfx1250, such as gfx90a, not for 'mi300'"):
        on(library, "mi300")
    with pytest.raises(ti.WeftError, match="LLVM does not know the processor 'gfx9ff'"):
        _ = on(plain, "gfx9ff").object


def test_processors() -> None:
    found = [
        (target_of(name).version, target_of(name).lanes)
        for name in ("gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1201")
    ]
    assert found == [(9000, 64), (9010, 64), (9402, 64), (10300, 32), (12001, 32)]


@needs_linkers
@pytest.mark.skipif(math_library() is None, reason="NOT LINKED: no ocml.bc here; name it in WEFT_OCML")
def test_the_math_library_is_linked_in(compiling: Callable[..., Recorder], processor: str, tmp_path: Path) -> None:
    compiling()
    x, y = ti.field(ti.f32, 64), ti.field(ti.f64, 64)

    @ti.kernel
    def run():
        for k in x:
            x[k] = ti.pow(x[k], x[0]) + ti.tanh(x[k]) + ti.atan2(x[k], x[1])
            y[k] = ti.sin(y[k]) + ti.exp(y[k]) + ti.acos(y[k])

    code = on(run, processor).object
    assert code is not None
    link("ld.lld", code, tmp_path, "-shared", "--no-undefined")


@needs_linkers
def test_a_linker_makes_a_code_object(compiling: Callable[..., Recorder], processor: str, tmp_path: Path) -> None:
    compiling()
    x = ti.field(ti.f32, 4096)

    @ti.kernel
    def run(a: ti.f32) -> ti.f32:
        total = 0.0
        for k in x:
            x[k] = a * x[k] + ti.sin(x[k])
            total += x[k]
        return total

    stages = on(run, processor, 2.0)
    assert stages.object is not None
    made = link("ld.lld", stages.object, tmp_path, "-shared", "--no-undefined")
    assert struct.unpack_from("<HH", made, 16) == (3, _AMDGPU)  # a shared object
    for name in stages.artifact.tasks if stages.artifact is not None else ():
        assert f"{name}.kd".encode() in made  # what a launch looks for


@pytest.mark.parametrize("name", every(9, NAMES))
def test_demos(name: str, compiling: Callable[..., Recorder]) -> None:
    """Each kernel compiles, or what is missing is AMD's math library."""
    compiling()
    found = list[str]()
    token = ON_COMPILED.set(lambda instance: found.append(said(Stages(instance.recipe, "amdgcn"))))
    try:
        importlib.import_module(f"weft.demos.{name}").build(**LEARNING.get(name, {}))(0)
    finally:
        ON_COMPILED.reset(token)
    assert found
    for why in found:
        assert not why or (math_library() is None and LIBRARY.search(why)), why


def said(stages: Stages) -> str:
    """Why there is no object file, if there is none."""
    try:
        return "" if stages.object else "nothing"
    except ti.WeftError as error:
        return str(error)
