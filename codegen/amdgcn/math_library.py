"""sin, exp, pow ... on AMD's GPUs: what LLVM writes itself, our own sine and cosine, and ocml, AMD's math library."""

from __future__ import annotations

from collections.abc import Callable

from weft.codegen.amdgcn.target import AmdTarget
from weft.codegen.gpu.sine import sine
from weft.codegen.llvm.function import FunctionWriter
from weft.codegen.llvm.spelling import in_register
from weft.ir.types import Prim, f16, f32

__all__ = ["AmdMath", "library_options", "own_operators"]

_BY_LLVM = ("exp", "exp2", "log", "log2")  # of f32; exact to the last bit or two, or fast if the flags allow


class AmdMath:
    """Writes calls of math functions; `names` are those of ocml among them."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}

    def __call__(self, f: FunctionWriter, kind: str, type: Prim, *operands: str) -> str:
        if type is f16:
            wide = [f.set(f"fpext half {operand} to float") for operand in operands]
            return f.set(f"fptrunc float {self(f, kind, f32, *wide)} to half")
        name, flags = in_register(type), ""
        takes = ", ".join([name] * len(operands))
        if type is f32 and kind in _BY_LLVM:
            flags, function = f.module.fast, f.module.declare(f"{name} @llvm.{kind}.f32({takes})")
        else:
            function = f"__ocml_{kind}_f{type.bits}"
            self.names[function] = None
            f.module.declare(f"{name} @{function}({takes})", "nounwind willreturn memory(none)")
        return f.set(f"call {flags}{name} @{function}({', '.join(f'{name} {operand}' for operand in operands)})")


def own_operators(fast: bool) -> dict[tuple[str, Prim], Callable[..., str]]:
    """Operators that are faster than the library's, where `fast_math` allows it."""
    if not fast:
        return {}
    return {("sin", f32): lambda f, x: sine(f, x, 0), ("cos", f32): lambda f, x: sine(f, x, 1)}


def library_options(target: AmdTarget) -> dict[str, str]:
    """The constants by which ocml asks how exact it must be and what it runs on, by name."""
    options = {
        "unsafe_math_opt": "i8 0",
        "finite_only_opt": "i8 0",
        "daz_opt": "i8 0",
        "correctly_rounded_sqrt32": "i8 1",
        "wavefrontsize64": f"i8 {int(target.lanes == 64)}",
        "ISA_version": f"i32 {target.version}",
    }
    names = {f"__oclc_{name}": value for name, value in options.items()}
    return {name: f"@{name} = linkonce_odr hidden addrspace(4) constant {value}" for name, value in names.items()}
