"""Rewrites negations, differences and absolute values in PTX so that NVIDIA's assembler wraps results that overflow.

    neg.s16  %rs2, %rs1;         { .reg .b32 w; cvt.u32.u16 w, %rs1; neg.s32 w, w; cvt.u16.u32 %rs2, w; }
    abs.s32  %r2, %r1;           { .reg .b32 m, x; shr.s32 m, %r1, 31; xor.b32 x, %r1, m; sub.s32 %r2, x, m; }
    neg.s32  %r2, %r1;           { .reg .b32 w; not.b32 w, %r1; add.s32 %r2, w, 1; }

For the code on the left, ptxas (13.0, and the driver's of that time) assumes that no result overflows. It computes in
32 bits and drops the sign extension after `neg.s16` and `abs.s16`, so that -(-32768) widened is 32768. It does the same
for `sub.s16` if it finds that the minuend is 0. It treats the results of `abs.s32` and `abs.s16` as numbers of at least
0 in comparisons, and (13.5 too) as unsigned numbers in conversions to floats. If it merges two `min.s32` or two
`max.s32` into one instruction, it forgets that the second operand is negated: max(max(a, -b), c) becomes max(a, b, c).

    st.b8 [%rd1], %rd2;          { .reg .b16 w; cvt.u16.u64 w, %rd2; st.b8 [%rd1], w; }

If a store is narrower than its register, and `cvt` has converted the register from an integer to a float, ptxas stores
the float converted back to an integer instead of its low bits.

LLVM emits such code for narrow types by itself, whatever the IR says, so the PTX is rewritten. See docs/adr/0037.
"""

from __future__ import annotations

import re

__all__ = ["keep_wraps"]

_FUNCTION_END = "\n}\n"
_SUSPECT = re.compile(r"\b((?:neg|abs|sub)\.s16|(?:neg|abs)\.s32)[ \t]+([^,;]+), ([^,;]+)(?:, ([^,;]+))?;")
_NARROW = re.compile(r"(?m)^([ \t]*)st((?:\.\w+)*)\.b(8|16|32)([ \t]+\[[^\]]+\], )(%rd?\d+);")
_EXTREME = re.compile(r"\b(?:min|max)\.s32\b")


def keep_wraps(ptx: str) -> str:
    """PTX that computes the same, however it is assembled."""
    ptx = _NARROW.sub(_narrow_store, ptx)
    if not _SUSPECT.search(ptx):
        return ptx
    return _FUNCTION_END.join(map(_function, ptx.split(_FUNCTION_END)))


def _narrow_store(found: re.Match[str]) -> str:
    """A store of the low bits of a register, which are taken first. (The assembler makes nothing of that.)"""
    indent, space, bits, address, register = found.groups()
    held, width = (64 if register.startswith("%rd") else 32), max(16, int(bits))
    if held == width:
        return found[0]
    return f"{indent}{{ .reg .b{width} w; cvt.u{width}.u{held} w, {register}; st{space}.b{bits}{address}w; }}"


def _function(text: str) -> str:
    fused = len(_EXTREME.findall(text)) > 1

    def write(found: re.Match[str]) -> str:
        kind, result, a, b = found.groups()
        if kind == "neg.s32" and not fused:
            return found[0]
        return f"{{ {_WRITERS[kind](result, a, b)} }}"

    return _SUSPECT.sub(write, text)


def _negated(result: str, a: str, _: str) -> str:
    return f".reg .b32 w; cvt.u32.u16 w, {a}; neg.s32 w, w; cvt.u16.u32 {result}, w;"


def _difference(result: str, a: str, b: str) -> str:
    return f".reg .b32 w, x; {_widened('w', a)} {_widened('x', b)} sub.s32 w, w, x; cvt.u16.u32 {result}, w;"


def _widened(name: str, operand: str) -> str:
    return f"cvt.u32.u16 {name}, {operand};" if operand.startswith("%") else f"mov.b32 {name}, {operand};"


def _absolute(result: str, a: str, _: str) -> str:
    return f".reg .b32 w; cvt.s32.s16 w, {a}; abs.s32 w, w; cvt.u16.u32 {result}, w;"


def _absolute_of_32(result: str, a: str, _: str) -> str:
    return f".reg .b32 m, x; shr.s32 m, {a}, 31; xor.b32 x, {a}, m; sub.s32 {result}, x, m;"


def _negated_of_32(result: str, a: str, _: str) -> str:
    return f".reg .b32 w; not.b32 w, {a}; add.s32 {result}, w, 1;"


_WRITERS = {
    "neg.s16": _negated,
    "sub.s16": _difference,
    "abs.s16": _absolute,
    "abs.s32": _absolute_of_32,
    "neg.s32": _negated_of_32,
}
