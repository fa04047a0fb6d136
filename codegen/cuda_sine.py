"""Sine and cosine of f32 for `fast_math`: no branch but one for large angles, no memory, errors of about 1e-7.

    q = round(x * 2/pi); r = x - q * pi/2       in three parts of pi/2; from 1e5 on in f64
    sin x = (sin r, cos r, -sin r, -cos r)[q % 4]

The polynomials are those that approximate best on |r| <= pi/4. From about 1e15 on no angle is left: there the result
is that of 0.
"""

from __future__ import annotations

from weft.codegen.function import FunctionWriter
from weft.codegen.spelling import constant
from weft.ir.types import f32, f64

__all__ = ["sine"]

_FAR = 1e5
_SHIFT = 12582912.0  # 1.5 * 2^23: a float of that size has no fraction, so adding it rounds; its last bits count
_PARTS = (1.5707962512969971, 7.549789415861596e-08, 5.390302858158119e-15)  # of pi/2
_PARTS_64 = (1.5707963267948966, 6.123233995736766e-17)
_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5)


def sine(f: FunctionWriter, x: str, ahead: int) -> str:
    """sin(x + ahead * pi/2): 0 for the sine, 1 for the cosine."""
    f.module.declarations.setdefault("weft_sine", _function(f))
    return f.set(f"call float @weft_sine(float {x}, i32 {ahead})")


def _function(caller: FunctionWriter) -> str:
    f = FunctionWriter(caller.module)
    rest, turns = f.stack("float", 4), f.stack("i32", 4)
    far, joined = f.fresh_label("far"), f.fresh_label("joined")
    size = _call(f, "float", "fabs", "%x")
    shifted = _fma(f, "float", "%x", constant(0.6366197723675814, f32), constant(_SHIFT, f32))
    whole = f.set(f"fsub float {shifted}, {constant(_SHIFT, f32)}")
    near = "%x"
    for part in _PARTS:
        near = _fma(f, "float", f.set(f"fneg float {whole}"), constant(part, f32), near)
    f.do(f"store float {near}, ptr {rest}, align 4")
    f.do(f"store i32 {f.set(f'bitcast float {shifted} to i32')}, ptr {turns}, align 4")
    f.branch(f.set(f"fcmp ogt float {size}, {constant(_FAR, f32)}"), far, joined)
    f.start(far)
    _reduce_far(f, rest, turns)
    f.start(joined)
    r = f.set(f"load float, ptr {rest}, align 4")
    quarter = f.set(f"add i32 {f.set(f'load i32, ptr {turns}, align 4')}, %ahead")
    s = f.set(f"fmul float {r}, {r}")
    sin = _fma(f, "float", _polynomial(f, s, _SIN), f.set(f"fmul float {s}, {r}"), r)
    cos = _fma(f, "float", _polynomial(f, s, _COS), s, constant(1.0, f32))
    odd = f.set(f"icmp ne i32 {f.set(f'and i32 {quarter}, 1')}, 0")
    value = f.set(f"select i1 {odd}, float {cos}, float {sin}")
    flip = f.set(f"shl i32 {f.set(f'and i32 {quarter}, 2')}, 30")
    bits = f.set(f"xor i32 {f.set(f'bitcast float {value} to i32')}, {flip}")
    result = f.set(f"bitcast i32 {bits} to float")
    body = "\n".join(["entry:", *f.slots, "  br label %start", "start:", *f.lines, f"  ret float {result}"])
    return f"define internal float @weft_sine(float %x, i32 %ahead) nounwind alwaysinline {{\n{body}\n}}\n"


def _reduce_far(f: FunctionWriter, rest: str, turns: str) -> None:
    """The same in f64; what is no angle any more becomes 0, but not a NaN."""
    x = f.set("fpext float %x to double")
    whole = _call(f, "double", "rint", f.set(f"fmul double {x}, {constant(0.6366197723675814, f64)}"))
    r = x
    for part in _PARTS_64:
        r = _fma(f, "double", f.set(f"fneg double {whole}"), constant(part, f64), r)
    lost = f.set(f"fcmp ogt double {_call(f, 'double', 'fabs', r)}, {constant(1.0, f64)}")
    lost_or_nan = f.set(f"select i1 {lost}, double {constant(0.0, f64)}, double {r}")
    f.do(f"store float {f.set(f'fptrunc double {lost_or_nan} to float')}, ptr {rest}, align 4")
    fourth = _call(f, "double", "floor", f.set(f"fmul double {whole}, {constant(0.25, f64)}"))
    within = _fma(f, "double", fourth, constant(-4.0, f64), whole)
    f.do(f"store i32 {_quarter(f, 'double', within)}, ptr {turns}, align 4")


def _quarter(f: FunctionWriter, type: str, whole: str) -> str:
    bits = "f32" if type == "float" else "f64"
    name = f.module.declare(f"i32 @llvm.fptosi.sat.i32.{bits}({type})")
    return f.set(f"call i32 @{name}({type} {whole})")


def _polynomial(f: FunctionWriter, s: str, factors: tuple[float, ...]) -> str:
    value = constant(factors[0], f32)
    for factor in factors[1:]:
        value = _fma(f, "float", value, s, constant(factor, f32))
    return value


def _fma(f: FunctionWriter, type: str, a: str, b: str, c: str) -> str:
    return _call(f, type, "fma", a, b, c)


def _call(f: FunctionWriter, type: str, kind: str, *operands: str) -> str:
    suffix = "f32" if type == "float" else "f64"
    name = f.module.declare(f"{type} @llvm.{kind}.{suffix}({', '.join([type] * len(operands))})")
    return f.set(f"call {type} @{name}({', '.join(f'{type} {operand}' for operand in operands)})")
