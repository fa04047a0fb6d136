"""Negations, differences and absolute values that NVIDIA's assembler would not wrap (docs/adr/0037)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import weft as ti
from tests.codegen.ptx import Recorder, assembled, compiled, compiling
from weft.codegen.nvptx.lost_wraps import keep_wraps
from weft.codegen.nvptx.target import libdevice
from weft.ir.errors import WeftError
from weft.lang.stages.disassembly import cubin_of, sass_of

__all__ = ["compiling"]  # a fixture

pytestmark = pytest.mark.skipif(libdevice() is None, reason="no libdevice.10.bc: pip install nvidia-nvvm")

SUSPECT = re.compile(r"^\s*(?:(?:neg|abs|sub)\.s16|abs\.s32)\b.*$", re.M)

PATTERN = """.version 7.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
	.reg .pred %p<2>;
	.reg .b16 %rs<6>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<2>;
	ld.param.b64 	%rd1, [p];
	ld.global.b32 	%r1, [%rd1];
	ld.global.b32 	%r2, [%rd1+4];
	ld.global.b32 	%r3, [%rd1+8];
	cvt.u16.u32 	%rs1, %r1;
	cvt.u16.u32 	%rs2, %r2;
	@BODY@
	st.global.b32 	[%rd1+12], %r8;
	ret;
}
"""
# What may be wrong of it: the instruction, and what follows.
BODIES = {
    "neg": "neg.s16 \t%rs3, %rs1;\n\tcvt.s32.s16 \t%r8, %rs3;",
    "sub": "sub.s16 \t%rs3, %rs1, %rs2;\n\tcvt.s32.s16 \t%r8, %rs3;",
    "sub of a constant": "sub.s16 \t%rs3, -7, %rs2;\n\tcvt.s32.s16 \t%r8, %rs3;",
    "abs": "abs.s16 \t%rs3, %rs1;\n\tcvt.s32.s16 \t%r8, %rs3;",
    "abs of 32 bits": "abs.s32 \t%r4, %r1;\n\tsetp.lt.s32 \t%p1, %r4, 0;\n\tselp.b32 \t%r8, 1, 0, %p1;",
    "max": "neg.s32 \t%r4, %r2;\n\tmax.s32 \t%r5, %r1, %r4;\n\tmax.s32 \t%r8, %r5, %r3;",
}


STORES = {
    "st.global.b32 \t[%rd1+4], %rd2;": "{ .reg .b32 w; cvt.u32.u64 w, %rd2; st.global.b32 \t[%rd1+4], w; }",
    "st.global.b8 \t[%rd1], %rd2;": "{ .reg .b16 w; cvt.u16.u64 w, %rd2; st.global.b8 \t[%rd1], w; }",
    "st.b16 \t[%rd1], %r2;": "{ .reg .b16 w; cvt.u16.u32 w, %r2; st.b16 \t[%rd1], w; }",
    "\tst.shared.b8 \t[x+8], %r2;": "\t{ .reg .b16 w; cvt.u16.u32 w, %r2; st.shared.b8 \t[x+8], w; }",
    "@%p1 st.shared.b8 \t[x+8], %r2;": "",  # no block can be under a predicate; LLVM branches around it
    "st.global.b64 \t[%rd1], %rd2;": "",
    "st.global.b32 \t[%rd1], %r2;": "",
    "st.global.b8 \t[%rd1], %rs2;": "",
    "st.global.v2.b32 \t[%rd1], {%r1, %r2};": "",
}


@pytest.mark.parametrize("store", STORES)
def test_stores_of_low_bits(store: str) -> None:
    """Of a float that was an integer, 13.0 would store the integer."""
    assert keep_wraps(store) == (STORES[store] or store)


@pytest.mark.parametrize("name", BODIES)
def test_what_is_written_otherwise(name: str, tmp_path: Path) -> None:
    before = PATTERN.replace("@BODY@", BODIES[name])
    after = keep_wraps(before)
    first = BODIES[name].partition("\n")[0]
    assert after != before
    assert first not in after
    assert after.count("{ .reg .b32") == 1
    assert not SUSPECT.search(after)
    assert ("mov.b32 w, -7;" in after) == ("-7" in before)  # only registers are widened
    assembled(after, 90, tmp_path)


@pytest.mark.parametrize(
    "body",
    [
        "neg.s32 \t%r4, %r2;\n\tmax.s32 \t%r8, %r1, %r4;",  # one extreme is not fused with another
        "neg.s32 \t%r4, %r2;\n\tmax.u32 \t%r5, %r1, %r4;\n\tmax.u32 \t%r8, %r5, %r3;",
        "add.s16 \t%rs3, %rs1, %rs2;\n\tcvt.s32.s16 \t%r8, %rs3;",
        "mul.lo.s16 \t%rs3, %rs1, %rs2;\n\tcvt.s32.s16 \t%r8, %rs3;",
        "sub.s32 \t%r8, %r1, %r2;",
    ],
)
def test_what_stays(body: str) -> None:
    before = PATTERN.replace("@BODY@", body)
    assert keep_wraps(before) == before


def test_extremes_are_counted_for_each_function() -> None:
    one = PATTERN.replace("@BODY@", "neg.s32 \t%r4, %r2;\n\tmax.s32 \t%r8, %r1, %r4;")
    assert keep_wraps(one + one.replace("k(", "other(")) == one + one.replace("k(", "other(")


def instructions(ptx: str) -> str:
    """NVIDIA's instructions."""
    try:
        return str(sass_of(cubin_of(ptx)))
    except WeftError as error:
        pytest.skip(f"NO SASS WAS READ: {error}")


def test_extremes_keep_the_sign() -> None:
    """A fused extreme has no operand that was to be negated before; the assembler that forgets it makes no IMAD.MOV."""
    code = instructions(keep_wraps(PATTERN.replace("@BODY@", BODIES["max"])))
    assert "MNMX" in code
    assert re.search(r"LOP3\.LUT|~R\d+|-R\d+", code)


@pytest.mark.parametrize("type", [ti.i8, ti.u8, ti.i16, ti.u16, ti.i32])
def test_kernels(type: ti.DataType, compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling()
    x, y, out = ti.field(type, 100), ti.field(type, 100), ti.field(ti.i64, 100)
    greatest, table = ti.field(ti.i32, 100), ti.field(ti.f32, 256)

    @ti.kernel
    def differences():
        for i in x:
            out[i] = (x[i] - y[i]) // 3 + ti.cast(y[i] < -x[i], ti.i64) + abs(x[i])

    @ti.kernel
    def absolute():
        for i in x:
            out[i] = ti.cast(table[abs(x[i] - y[i]) & 255], ti.i64)

    @ti.kernel
    def chosen():  # LLVM finds the absolute value by itself
        for i in x:
            out[i] = x[i] if x[i] > 0 else -x[i]

    @ti.kernel
    def extremes():
        for i in x:
            for v in range(5):
                ti.atomic_max(greatest[i], -ti.cast(x[i], ti.i32) * (v <= y[v]))

    for kernel in (differences, absolute, chosen, extremes):
        ptx = compiled(device, kernel)
        assert not SUSPECT.search(ptx)
        for function in ptx.split("\n}\n"):
            if len(re.findall(r"\bmax\.s32", function)) > 1:
                assert not re.search(r"^\s*neg\.s32", function, re.M)
        assembled(ptx, 90, tmp_path)
