"""Rewrites the high words of products in PTX so that NVIDIA's assembler does not lose a borrow after them.

    mul.hi.u32   %r1, %r2, 6700417;         { .reg .b32 low; .reg .b64 both;
    cvt.u64.u32  %rd1, %r1;                   mul.wide.u32 both, %r2, 6700417; mov.b64 {low, %r1}, both; }
    sub.s64      %rd3, %rd1, %rd2;          the others as they are

For the code on the left, ptxas (11.8 to 13.5, for sm_75 and newer, from -O1 on) emits a multiply-add with a carry, and
negates the low word of %rd2 first. If that word is 0 there is no carry, and the high word is 1 too small. ptxas makes
this error through copies, selections and thread memory too. All high words are therefore written as on the right, at
the same cost, except those that are used only in 32-bit computations. These stay, because ptxas emits one instruction
for the two halves of the same product.

LLVM emits high words for divisions by constants, which the IR does not show. See docs/adr/0026.
"""

from __future__ import annotations

import re

__all__ = ["keep_borrows"]

_HIGH = re.compile(r"mul\.hi\.([us])32([ \t]+)(%r\d+), ([^,;]+), ([^,;]+);")
_FUNCTION_END = "\n}\n"
_ARITHMETIC = r"(?:add|and|mad|mul|or|setp|shf|shl|shr|sub|xor)\.(?!cc\.)"  # of 32 bits
_ELSEWHERE = re.compile(rf"^\s*(?:@!?%p\d+\s+)?(?!{_ARITHMETIC})(\S.*)$", re.M)
_REGISTER = re.compile(r"%r\d+")


def keep_borrows(ptx: str) -> str:
    """PTX that computes the same, however it is assembled."""
    if "mul.hi." not in ptx:
        return ptx
    return _FUNCTION_END.join(map(_function, ptx.split(_FUNCTION_END)))


def _function(text: str) -> str:
    if not _HIGH.search(text):
        return text
    used = {name for line in _ELSEWHERE.findall(text) for name in _REGISTER.findall(line)}

    def write(found: re.Match[str]) -> str:
        sign, space, high, a, b = found.groups()
        if high not in used:
            return found[0]
        whole = f"mul.wide.{sign}32{space}both, {a}, {b};"
        return f"{{ .reg .b32 low; .reg .b64 both; {whole} mov.b64{space}{{low, {high}}}, both; }}"

    return _HIGH.sub(write, text)
