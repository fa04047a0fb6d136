"""Math functions (sin, exp, pow ...) on NVIDIA GPUs: NVIDIA's libdevice, and faster versions that
`fast_math` allows.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.codegen.gpu.library_math import LibraryMath
from weft.codegen.gpu.sine import sines
from weft.codegen.llvm.function import FunctionWriter
from weft.codegen.nvptx.approximate import approximations, power
from weft.ir.types import Prim, f16, f32, f64

__all__ = ["CudaMath", "own_operators"]


class CudaMath(LibraryMath):
    """Writes calls of libdevice."""

    def __init__(self) -> None:
        super().__init__(lambda kind, type: f"__nv_{kind}{'f' if type is f32 else ''}")


def own_operators(math: CudaMath, fast: bool) -> dict[tuple[str, Prim], Callable[..., str]]:
    """Operators for which LLVM emits slow code, or more exact code than required, by kind and type of the operands."""

    def remainder(type: Prim) -> Callable[..., str]:
        return lambda f, a, b: math(f, "fmod", type, a, b)

    own: dict[tuple[str, Prim], Callable[..., str]] = {("raw_mod", type): remainder(type) for type in (f16, f32, f64)}
    if fast:
        own |= approximations()
        own["pow", f32] = lambda f, a, b: power(f, a, b) or math(f, "pow", f32, a, b)
        own |= sines()
        own |= {("floordiv", f32): _floor_divide, ("mod", f32): _modulo}
    return own


def _floor_divide(f: FunctionWriter, a: str, b: str) -> str:
    """Exact: 2.9999998 would become 2."""
    name = f.module.declare("float @llvm.floor.f32(float)")
    return f.set(f"call float @{name}(float {f.set(f'fdiv float {a}, {b}')})")


def _modulo(f: FunctionWriter, a: str, b: str) -> str:
    whole = f.set(f"fmul float {b}, {_floor_divide(f, a, b)}")
    return f.set(f"fsub float {a}, {whole}")
