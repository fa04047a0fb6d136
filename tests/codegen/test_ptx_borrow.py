"""High words of products whose difference to something NVIDIA's assembler would get wrong (docs/adr/0026)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import weft as ti
from tests.codegen.ptx import Recorder, assembled, compiled, compiling
from tests.sampling import only
from weft.codegen.nvptx.lost_borrows import keep_borrows
from weft.codegen.nvptx.target import libdevice
from weft.ir.errors import WeftError
from weft.lang.stages.disassembly import cubin_of, sass_of

__all__ = ["compiling"]  # a fixture

pytestmark = pytest.mark.skipif(libdevice() is None, reason="no libdevice.10.bc: pip install nvidia-nvvm")

# A multiply-add that says whether it carries.
FUSED = re.compile(r"U?IMAD\.(?:HI|WIDE)\S* +U?R\d+, +U?P\d")

PATTERN = """.version 7.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 a, .param .u32 b)
{
	.reg .pred %p<2>;
	.reg .b32 %r<6>;
	.reg .b64 %rd<6>;
	ld.param.b64 	%rd1, [p];
	ld.param.b32 	%r1, [a];
	ld.param.b32 	%r2, [b];
	setp.eq.b32 	%p1, %r1, %r1;
	@HIGH@
	cvt.u64.u32 	%rd4, %r2;
	sub.s64 	%rd5, %rd3, %rd4;
	st.global.b64 	[%rd1], %rd5;
	ret;
}
"""
PLAIN = "mul.hi.u32 \t%r4, %r1, 6700417;\n\tcvt.u64.u32 \t%rd3, %r4;"


def fused(ptx: str) -> list[str]:
    """The multiply-adds with a carry among NVIDIA's instructions."""
    try:
        code = sass_of(cubin_of(ptx))
    except WeftError as error:
        pytest.skip(f"NO SASS WAS READ: {error}")
    assert "IMAD" in code
    return FUSED.findall(code)


def widened(ptx: str) -> list[str]:
    """The high words that become numbers of 64 bits, or go somewhere else as they are."""
    found = list[str]()
    for function in ptx.split("\n}\n"):
        for high in re.findall(r"mul\.hi\.[us]32\s+(%r\d+),", function):
            found += re.findall(rf"^\s*(?:cvt\.[us]64|mov|st|selp)\b.*{high}\b.*$", function, re.M)
    return found


@pytest.mark.parametrize(
    "high",
    [
        PLAIN,
        "mul.hi.u32 \t%r4, %r1, -1640531527;\n\tcvt.u64.u32 \t%rd3, %r4;",
        "mul.hi.s32 \t%r4, %r1, %r2;\n\tcvt.u64.u32 \t%rd3, %r4;",
        "mul.hi.u32 \t%r4, %r1, %r2;\n\tmov.b64 \t%rd3, {%r4, %r1};",
        "mul.hi.u32 \t%r3, %r1, 25;\n\tmov.b32 \t%r4, %r3;\n\tcvt.u64.u32 \t%rd3, %r4;",
        "mul.hi.u32 \t%r3, %r1, 25;\n\tselp.b32 \t%r4, %r3, %r2, %p1;\n\tcvt.u64.u32 \t%rd3, %r4;",
        "mul.hi.u32 \t%r3, %r1, 25;\n\t@%p1 mov.b32 \t%r4, %r3;\n\tcvt.u64.u32 \t%rd3, %r4;",
        "mul.hi.u32 \t%r3, %r1, 25;\n\tsub.cc.u32 \t%r4, %r3, %r2;\n\tsubc.u32 \t%r5, %r1, 0;\n"
        "\tmov.b64 \t%rd3, {%r4, %r5};",
    ],
)
def test_high_words_that_become_wide(high: str) -> None:
    after = keep_borrows(PATTERN.replace("@HIGH@", high))
    assert "mul.hi" not in after
    assert len(re.findall(r"mul\.wide\.[us]32 \tboth", after)) == 1
    assert keep_borrows(after) == after
    assert not fused(after)


@pytest.mark.parametrize(
    "high",
    [
        "mul.hi.u32 \t%r3, %r1, 1374389535;\n\tshr.u32 \t%r4, %r3, 3;\n\tcvt.u64.u32 \t%rd3, %r4;",
        "mul.hi.u32 \t%r3, %r1, %r2;\n\tmul.lo.s32 \t%r4, %r1, %r2;\n\txor.b32 \t%r5, %r3, %r4;\n"
        "\tcvt.u64.u32 \t%rd3, %r5;",
    ],
)
def test_other_high_words_stay(high: str) -> None:
    before = PATTERN.replace("@HIGH@", high)
    assert keep_borrows(before) == before
    assert not fused(before)


def test_high_words_of_wide_products_stay() -> None:
    before = PATTERN.replace("@HIGH@", "mul.hi.u64 \t%rd3, %rd1, 1374389535;")
    assert keep_borrows(before) == before


def test_functions_do_not_share_names() -> None:
    other = PATTERN.replace("@HIGH@", "mul.hi.u32 \t%r4, %r1, 25;\n\tshr.u32 \t%r3, %r4, 3;").partition(".visible")[2]
    both = PATTERN.replace("@HIGH@", PLAIN) + ".visible" + other.replace("k(", "other(")
    assert keep_borrows(both).count("mul.hi.u32") == 1


def test_the_assembler_loses_the_borrow() -> None:
    """Or else the other tests here say nothing."""
    if not fused(PATTERN.replace("@HIGH@", PLAIN)):
        pytest.skip("THIS PTXAS KEEPS BORROWS: once the drivers do, `keep_borrows` may go")


@pytest.mark.parametrize(("sm", "version"), only([(90, 83)], [(75, 63), (90, 83), (120, 88)]))
def test_differences_to_quotients(sm: int, version: int, compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling(sm, version)
    n = 100_000
    x, b, y = ti.field(ti.u32, n), ti.field(ti.u32, n), ti.field(ti.i64, n)

    @ti.real_func
    def quotient(k: ti.u32) -> ti.u32:
        return k // ti.u32(641) if k > 5 else quotient(k + ti.u32(1))

    @ti.kernel
    def of_index():
        for i in y:
            y[i] = ti.cast(i // 28, ti.i64) - ti.cast(b[i], ti.i64)

    @ti.kernel
    def of_element():
        for i in y:
            y[i] = ti.cast(x[i] // ti.u32(641), ti.i64) - y[i]

    @ti.kernel
    def of_product():
        for i in y:
            y[i] = ti.cast((ti.cast(x[i], ti.u64) * ti.u64(0x9E3779B9)) >> 32, ti.i64) - ti.cast(b[i], ti.i64)

    @ti.kernel
    def of_call():
        for i in y:
            y[i] = ti.cast(quotient(x[i]), ti.i64) - ti.cast(b[i], ti.i64)

    for kernel in (of_index, of_element, of_product, of_call):
        ptx = compiled(device, kernel)
        assert "mul.wide.u32 \tboth" in ptx
        assert not widened(ptx)
        assembled(ptx, sm, tmp_path)
        assert not fused(ptx)
