"""Sine and cosine of f32 for `fast_math`: one branch for large angles, no memory accesses, errors of about 1e-7.

    n = round(x / pi); r = x - n * pi           in two parts of pi; from 1e5 on in f64
    sin x = (sin r, -sin r)[n % 2]              one polynomial, |r| <= pi/2

For the cosine, n is halfway between two integers. The polynomial is the best approximation, adjusted by a few last bits
so that its largest value is 1, and is reached at pi/2: cos(0) is 1, and no value exceeds it. From about 1e15 on, the
angle has no significant bits left, and the result is that of 0.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.codegen.llvm.function import FunctionWriter
from weft.codegen.llvm.spelling import constant
from weft.ir.types import Prim, f32, f64

__all__ = ["sine", "sines"]

_FAR = 1e5
_SHIFT = 12582912.0  # 1.5 * 2^23: a float of that size has no fraction, so adding it rounds; its last bits count
_TURN = 0.3183098861837907  # 1 / pi
_PARTS = (3.1415927410125732, -8.742277657347586e-08)  # of pi
_PARTS_64 = (3.141592653589793, 1.2246467991473532e-16)
_SIN = (2.60005481e-06, -0.000198066147, 0.00833300222, -0.166666538)


def sines() -> dict[tuple[str, Prim], Callable[..., str]]:
    """Sine and cosine as own operators of a target, for `fast_math`."""
    return {("sin", f32): lambda f, x: sine(f, x, 0), ("cos", f32): lambda f, x: sine(f, x, 1)}


def sine(f: FunctionWriter, x: str, ahead: int) -> str:
    """sin(x + ahead * pi/2): 0 for the sine, 1 for the cosine."""
    name = ("weft_sine", "weft_cosine")[ahead]
    if name not in f.module.declarations:
        f.module.declarations[name] = _function(f, name, ahead)
    return f.set(f"call float @{name}(float {x})")


def _function(caller: FunctionWriter, name: str, ahead: int) -> str:
    f = FunctionWriter(caller.module, caller.target)
    rest, turns = f.stack("float", 4), f.stack("i32", 4)
    far, joined = f.fresh_label("far"), f.fresh_label("joined")
    size = _call(f, "float", "fabs", "%x")
    shifted, whole = _rounded(f, ahead)
    near = "%x"
    for part in _PARTS:
        near = _fma(f, "float", f.set(f"fneg float {whole}"), constant(part, f32), near)
    f.do(f"store float {near}, ptr {rest}, align 4")
    f.do(f"store i32 {f.set(f'bitcast float {shifted} to i32')}, ptr {turns}, align 4")
    f.branch(f.set(f"fcmp ogt float {size}, {constant(_FAR, f32)}"), far, joined)
    f.start(far)
    _reduce_far(f, rest, turns, ahead)
    f.start(joined)
    r = f.set(f"load float, ptr {rest}, align 4")
    square, factors = f.set(f"fmul float {r}, {r}"), [constant(factor, f32) for factor in _SIN]
    value = factors[0]
    for factor in factors[1:]:
        value = _fma(f, "float", value, square, factor)
    value = _fma(f, "float", value, f.set(f"fmul float {square}, {r}"), r)
    odd = f.set(f"load i32, ptr {turns}, align 4")
    if ahead:  # cos((n + 1/2) pi + r) = -(-1)^n sin r
        odd = f.set(f"add i32 {odd}, 1")
    bits = f.set(f"xor i32 {f.set(f'bitcast float {value} to i32')}, {f.set(f'shl i32 {odd}, 31')}")
    result = f.set(f"bitcast i32 {bits} to float")
    return f.returning(f"define internal float @{name}(float %x) nounwind alwaysinline", f"float {result}")


def _rounded(f: FunctionWriter, ahead: int) -> tuple[str, str]:
    """A float whose last bit is that of n (for the cosine: of n - 1/2), and n."""
    shift, half = constant(_SHIFT, f32), constant(0.5, f32)
    if not ahead:
        shifted = _fma(f, "float", "%x", constant(_TURN, f32), shift)
        return shifted, f.set(f"fsub float {shifted}, {shift}")
    between = _fma(f, "float", "%x", constant(_TURN, f32), constant(-0.5, f32))
    shifted = f.set(f"fadd float {between}, {shift}")
    return shifted, f.set(f"fadd float {f.set(f'fsub float {shifted}, {shift}')}, {half}")


def _reduce_far(f: FunctionWriter, rest: str, turns: str, ahead: int) -> None:
    """The same in f64. A value that is too large for an angle gives the result for 0. A NaN stays a NaN."""
    half, x = constant(0.5 * ahead, f64), f.set("fpext float %x to double")
    between = f.set(f"fsub double {f.set(f'fmul double {x}, {constant(_TURN, f64)}')}, {half}")
    below = _call(f, "double", "rint", between)
    whole, r = f.set(f"fadd double {below}, {half}"), x
    for part in _PARTS_64:
        r = _fma(f, "double", f.set(f"fneg double {whole}"), constant(part, f64), r)
    lost = f.set(f"fcmp ogt double {_call(f, 'double', 'fabs', r)}, {constant(2.0, f64)}")
    none = constant(ahead * _PARTS_64[0] / 2, f64)
    r = f.set(f"select i1 {lost}, double {none}, double {r}")
    f.do(f"store float {f.set(f'fptrunc double {r} to float')}, ptr {rest}, align 4")
    pairs = _call(f, "double", "floor", f.set(f"fmul double {below}, {constant(0.5, f64)}"))
    odd = f.set(f"fcmp une double {_fma(f, 'double', pairs, constant(-2.0, f64), below)}, {constant(0.0, f64)}")
    odd = f.set(f"select i1 {lost}, i1 {'true' if ahead else 'false'}, i1 {odd}")
    f.do(f"store i32 {f.set(f'zext i1 {odd} to i32')}, ptr {turns}, align 4")


def _fma(f: FunctionWriter, type: str, a: str, b: str, c: str) -> str:
    return _call(f, type, "fma", a, b, c)


def _call(f: FunctionWriter, type: str, kind: str, *operands: str) -> str:
    suffix = "f32" if type == "float" else "f64"
    name = f.module.declare(f"{type} @llvm.{kind}.{suffix}({', '.join([type] * len(operands))})")
    return f.set(f"call {type} @{name}({', '.join(f'{type} {operand}' for operand in operands)})")
