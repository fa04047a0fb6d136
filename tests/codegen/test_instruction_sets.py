"""The instruction set of `init(cpu_features=...)`: what code is made of, and what the machine cannot do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.codegen.llvm import instruction_sets, machine
from weft.codegen.llvm.instruction_sets import LEVELS, host_features, levels_here, named

HERE = [
    pytest.param(level, marks=pytest.mark.skipif(level not in levels_here(), reason="not here")) for level in LEVELS
]

# What code of that level must not hold: the registers, or instructions, of the next.
_BEYOND = {"x86-64-v2": r"%[yz]mm|\bv[a-z]+p[sd]\b", "x86-64-v3": r"%zmm|%k[0-7]", "x86-64-v4": r"%tmm"}


@pytest.fixture(autouse=True)
def ends(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("WEFT_CPU_FEATURES", "TI_CPU_FEATURES"):  # the environment would have the last word
        monkeypatch.delenv(name, raising=False)
    yield
    ti.reset()


def total(a: Any) -> Any:
    @ti.kernel
    def run(x: ti.types.ndarray(ti.f32, 1), n: ti.i32):
        for i in x:
            s = 0.0
            for j in range(n):
                s += ti.sqrt(x[i] + j)
            x[i] = s

    run(a, 5)
    return run


@pytest.mark.parametrize("level", HERE)
def test_code_is_made_of_it(level: str) -> None:
    ti.init(arch=ti.cpu, cpu_features=level)
    a = np.arange(100, dtype=np.float32)
    run = total(a)
    expected = np.sqrt(np.arange(100)[:, None] + np.arange(5)).sum(1)
    np.testing.assert_allclose(a, expected, rtol=1e-5)
    assert ti.cfg.cpu_features == level
    assembly = str(run.last.asm)
    assert "sqrt" in assembly
    assert re.search(_BEYOND[level], assembly) is None
    assert ("%ymm" in assembly or "%zmm" in assembly) == (level != "x86-64-v2")  # lanes follow it


@pytest.mark.parametrize("level", HERE)
def test_levels_have_the_features_that_llvm_gives_them(level: str) -> None:
    """The lanes, the functions for vectors and the prices read the table."""
    host = machine.host_cpu(3, level)
    assert (host.name, host.features) == (level, LEVELS[level])
    text = host.header + (
        "declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)\n"
        "define void @f(ptr %p) {\n  %a = load <8 x float>, ptr %p\n"
        "  %b = call <8 x float> @llvm.fma.v8f32(<8 x float> %a, <8 x float> %a, <8 x float> %a)\n"
        "  store <8 x float> %b, ptr %p\n  ret void\n}\n"
    )
    assert ("vfmadd" in machine.assembly(text, 3, level)) == ("fma" in LEVELS[level])


def test_the_cache_keeps_them_apart(kept_kernels: None) -> None:
    from weft.lang.cache.kernels import _words
    from weft.lang.program.init import program

    words = set[str]()
    for level in ("native", *levels_here()):
        ti.init(arch=ti.cpu, cpu_features=level)
        words.add(_words(program(), program().config))
        a = np.arange(100, dtype=np.float32)
        run = total(a)
        assert level == "native" or re.search(_BEYOND[level], str(run.last.asm)) is None
    assert len(words) == 1 + len(levels_here())


def test_short_names_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    if not levels_here():
        pytest.skip("this is no x86-64-v2")
    ti.init(cpu_features="v2")
    assert ti.cfg.cpu_features == "x86-64-v2"
    ti.init()
    assert ti.cfg.cpu_features == "native"
    monkeypatch.setenv("WEFT_CPU_FEATURES", "v2")
    ti.init(cpu_features="native")
    assert ti.cfg.cpu_features == "x86-64-v2"


def test_missing_features_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instruction_sets, "host_features", lambda: LEVELS["x86-64-v3"] - {"fma", "bmi"})
    message = r"cpu_features='x86-64-v3': this machine lacks bmi, fma; it has x86-64-v2 \('native' uses all features\)"
    with pytest.raises(ti.WeftError, match=message):
        ti.init(cpu_features="v3")
    assert named("v2") == "x86-64-v2"
    monkeypatch.setattr(instruction_sets, "host_features", frozenset)
    with pytest.raises(ti.WeftError, match="it supports none of x86-64-v2 or above"):
        ti.init(cpu_features="v2")
    assert named("native") == "native"


def test_native_is_all_that_there_is() -> None:
    assert machine.host_cpu().features == host_features()
    assert machine.host_cpu(3, "native") is machine.host_cpu(3, "native")
