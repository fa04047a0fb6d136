"""sin, exp, pow ... on the GPU: NVIDIA's libdevice, and the hardware's approximations where `fast_math` allows them.

The special function unit divides and takes (inverse) square roots to within 2 units in the last place over the whole
range of f32; those are used with `fast_math`. Its logarithm and power of two are good in absolute terms only, and
libdevice refines them in a few instructions, so libdevice it is. Sine and cosine have a file of their own.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.codegen.cuda_sine import sine
from weft.codegen.function import FunctionWriter
from weft.codegen.spelling import in_register
from weft.ir.types import Prim, f16, f32, f64

__all__ = ["CudaMath", "own_operators"]


class CudaMath:
    """Writes calls of libdevice; `names` are those written."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}

    def __call__(self, f: FunctionWriter, kind: str, type: Prim, *operands: str) -> str:
        if type is f16:
            wide = [f.set(f"fpext half {operand} to float") for operand in operands]
            return f.set(f"fptrunc float {self(f, kind, f32, *wide)} to half")
        name, scalar = in_register(type), f"__nv_{kind}{'f' if type is f32 else ''}"
        self.names[scalar] = None
        takes = ", ".join([name] * len(operands))
        f.module.declare(f"{name} @{scalar}({takes})", "nounwind willreturn memory(none)")
        return f.set(f"call {name} @{scalar}({', '.join(f'{name} {operand}' for operand in operands)})")


def own_operators(math: CudaMath, fast: bool) -> dict[tuple[str, Prim], Callable[..., str]]:
    """Operators that LLVM writes badly, or more exactly than asked for. Keyed by kind and type of the operands."""

    def remainder(type: Prim) -> Callable[..., str]:
        return lambda f, a, b: math(f, "fmod", type, a, b)

    own: dict[tuple[str, Prim], Callable[..., str]] = {("raw_mod", type): remainder(type) for type in (f16, f32, f64)}
    if fast:
        own |= {("div", f32): _divide, ("raw_div", f32): _divide, ("rsqrt", f32): _inverse_root}
        own |= {("sin", f32): lambda f, x: sine(f, x, 0), ("cos", f32): lambda f, x: sine(f, x, 1)}
        own |= {("floordiv", f32): _floor_divide, ("mod", f32): _modulo}
    return own


def _divide(f: FunctionWriter, a: str, b: str) -> str:
    """`div.full`: 2 ulp and the full range. By a constant: LLVM multiplies by its inverse."""
    if b.startswith("0x"):
        return f.set(f"fdiv {f.module.fast}float {a}, {b}")
    name = f.module.declare("float @llvm.nvvm.div.full(float, float)")
    return f.set(f"call float @{name}(float {a}, float {b})")


def _inverse_root(f: FunctionWriter, x: str) -> str:
    name = f.module.declare("float @llvm.nvvm.rsqrt.approx.f(float)")
    return f.set(f"call float @{name}(float {x})")


def _floor_divide(f: FunctionWriter, a: str, b: str) -> str:
    """Exact: 2.9999998 would become 2."""
    name = f.module.declare("float @llvm.floor.f32(float)")
    return f.set(f"call float @{name}(float {f.set(f'fdiv float {a}, {b}')})")


def _modulo(f: FunctionWriter, a: str, b: str) -> str:
    whole = f.set(f"fmul float {b}, {_floor_divide(f, a, b)}")
    return f.set(f"fsub float {a}, {whole}")
