"""Simulated loops: which lines are a loop, what is read of `llvm-mca`'s output, and what happens without it."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

import weft as ti
from weft.ir.errors import WeftError
from weft.lang.errors import ArgumentError
from weft.lang.stages.listing import Listing
from weft.lang.stages.throughput import innermost_loops, throughput_of

CODE = """\
weft_task0:
\tpushq\t%rbx
.LBB0_1:
\tincq\t%rdx
.LBB0_2:
\tvaddps\t(%rdi,%rax,4), %ymm0, %ymm0
\taddq\t$8, %rax
\tcmpq\t%rcx, %rax
\tjne\t.LBB0_2
\tcmpq\t%rsi, %rdx
\tjl\t.LBB0_1
\tretq
.LBB0_5:
\tmovq\t%r12, %rdi
\tcallq\t*56(%rax)
\tjmp\t.LBB0_1
weft_task1:
.LBB1_1:
\tcallq\tsinf@PLT
\tdecq\t%rax
\tjne\t.LBB1_1
\tretq
"""

FAKE = """\
#!{python}
import sys
if "--version" in sys.argv:
    print("  LLVM version 99.1")
elif "-mcpu=help" in sys.argv:
    print("  haswell   - Select the haswell processor.", file=sys.stderr)
else:
    lines = [line for line in sys.stdin.read().splitlines() if line.strip()]
    if any("unknown" in line for line in lines):
        print("error: found an unsupported instruction", file=sys.stderr)
        raise SystemExit(1)
    print("Iterations:        200\\nInstructions:      800\\nTotal Cycles:      850\\nTotal uOps:        900\\n")
    print("Block RThroughput: 1.5\\n\\nCycles with backend pressure increase [ 24.75% ]\\nThroughput Bottlenecks: ")
    print("  Resource Pressure       [ 6.09% ]\\n  - HWPort2  [ 6.09% ]\\n  Data Dependencies:      [ 22.39% ]")
    print("  - Register Dependencies [ 22.39% ]\\n  - Memory Dependencies   [ 0.00% ]\\n\\nInstruction Info:")
    print("[1]    [2]    [3]    [4]    [5]    [6]    Instructions:")
    for line in lines:
        print(f" 1      4     0.50    *           U    {line.strip()}")
    print("\\nResources:")
"""


@pytest.fixture
def simulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that answers as `llvm-mca` does."""
    if os.name == "nt":
        pytest.skip("a script with #! is no program on Windows")
    program = tmp_path / "llvm-mca"
    program.write_text(FAKE.replace("{python}", sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("WEFT_MCA", str(program))
    return program


def listing(code: str) -> Listing:
    lines = code.splitlines()
    return Listing(lines, range(len(lines)))


def test_innermost_loops() -> None:
    """The outer loop is none, and neither is cold code that jumps back."""
    assert innermost_loops(CODE.splitlines()) == [(4, 8, "weft_task0"), (17, 20, "weft_task1")]


def test_a_loop_that_is_left_by_a_jump_is_none() -> None:
    code = CODE.replace("\tcmpq\t%rcx, %rax\n", "\tjmp\t.LBB0_5\n")
    assert innermost_loops(code.splitlines())[0] != (4, 8, "weft_task0")


def test_what_is_read(simulator: Path) -> None:
    found = throughput_of(listing(CODE), "x86_64", "znver9", frozenset({"avx2"}))
    assert (found.model, found.program) == ("haswell", "LLVM version 99.1")
    first, second = found.loops
    assert (first.cycles, first.bound, first.instructions, first.spot) == (4.25, 1.5, 4, 5)
    assert first.waits == (("results in registers", 22.39), ("busy units of the processor", 6.09))
    assert first.costs == {5: (4, 0.5), 6: (4, 0.5), 7: (4, 0.5), 8: (4, 0.5)}
    assert second.because == "it calls sinf, whose time is not known"
    assert "weft_task0, line 5 of the assembly: 4 instructions, 4.25 cycles for a pass" in str(found)


def test_an_instruction_that_the_simulator_does_not_know(simulator: Path) -> None:
    found = throughput_of(listing(CODE.replace("vaddps", "unknown")), "x86_64", "haswell", frozenset())
    assert found.loops[0].because == "llvm-mca cannot simulate it (error: found an unsupported instruction)"


def test_a_processor_without_a_model(simulator: Path) -> None:
    with pytest.raises(WeftError, match="has no model of a processor like m1"):
        throughput_of(listing(CODE), "aarch64", "m1", frozenset())


@pytest.fixture
def scale() -> Any:
    ti.init(arch=ti.cpu)
    x = ti.field(ti.f32, 4096)

    @ti.kernel
    def scale():
        for i in x:
            x[i] = x[i] / 3

    return scale


@pytest.mark.skipif(shutil.which("llvm-mca") is None, reason="no llvm-mca on the PATH")
def test_a_real_loop(scale: Any) -> None:
    found = scale.stages().throughput
    loop = next(one for one in found.loops if one.cycles)
    assert 0.5 < loop.cycles < 500
    assert loop.function == "weft_task0"
    assert len(loop.costs) == loop.instructions


def test_other_arches_have_none(scale: Any) -> None:
    assert scale.stages().on("cuda").throughput is None
    assert scale.stages().on("python").throughput is None


def test_without_the_program(scale: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("WEFT_MCA", raising=False)
    with pytest.raises(WeftError, match="llvm-mca is not on the PATH"):
        _ = scale.stages().throughput


def test_options(scale: Any) -> None:
    stages = scale.stages()
    exact = stages.with_options(fast_math=False)
    assert "0.333" in stages.lowered
    assert "0.333" not in exact.lowered
    assert (stages.variant, exact.variant) == ("", "fast_math=False")
    assert exact.on("cuda").variant == "fast_math=False"
    assert exact.with_options(opt_level=1).variant == "fast_math=False, opt_level=1"
    assert "zmm" not in stages.with_options(cpu_features="v3").asm
    assert "0.333" in stages.lowered  # it is not changed


def test_options_that_the_compiler_does_not_have(scale: Any) -> None:
    with pytest.raises(ArgumentError, match="'debug' is no option of the compiler"):
        scale.stages().with_options(debug=True)
    with pytest.raises(ValueError, match="fast_math must be True or False"):
        scale.stages().with_options(fast_math="no")
