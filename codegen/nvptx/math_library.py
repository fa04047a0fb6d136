"""sin, exp, pow ... on the GPU: NVIDIA's libdevice, and what is faster where `fast_math` allows it."""

from __future__ import annotations

from collections.abc import Callable

from weft.codegen.gpu.sine import sine
from weft.codegen.llvm.function import FunctionWriter
from weft.codegen.llvm.spelling import in_register
from weft.codegen.nvptx.approximate import approximations, power
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
        own |= approximations()
        own["pow", f32] = lambda f, a, b: power(f, a, b) or math(f, "pow", f32, a, b)
        own |= {("sin", f32): lambda f, x: sine(f, x, 0), ("cos", f32): lambda f, x: sine(f, x, 1)}
        own |= {("floordiv", f32): _floor_divide, ("mod", f32): _modulo}
    return own


def _floor_divide(f: FunctionWriter, a: str, b: str) -> str:
    """Exact: 2.9999998 would become 2."""
    name = f.module.declare("float @llvm.floor.f32(float)")
    return f.set(f"call float @{name}(float {f.set(f'fdiv float {a}, {b}')})")


def _modulo(f: FunctionWriter, a: str, b: str) -> str:
    whole = f.set(f"fmul float {b}, {_floor_divide(f, a, b)}")
    return f.set(f"fsub float {a}, {whole}")
