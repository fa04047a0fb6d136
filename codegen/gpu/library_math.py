"""sin, pow, atan2 ... as calls of a library for GPUs, which is linked into the module."""

from __future__ import annotations

from collections.abc import Callable

from weft.codegen.llvm.function import FunctionWriter
from weft.codegen.llvm.spelling import in_register
from weft.ir.types import Prim, f16, f32

__all__ = ["LibraryMath", "by_llvm"]


class LibraryMath:
    """Writes the calls; `names` are the functions called. `spell(kind, type)` is the name of one, for f32 or f64."""

    def __init__(self, spell: Callable[[str, Prim], str]) -> None:
        self.names: dict[str, None] = {}
        self._spell = spell

    def __call__(self, f: FunctionWriter, kind: str, type: Prim, *operands: str) -> str:
        if type is f16:
            wide = [f.set(f"fpext half {operand} to float") for operand in operands]
            return f.set(f"fptrunc float {self(f, kind, f32, *wide)} to half")
        name, scalar = in_register(type), self._spell(kind, type)
        self.names[scalar] = None
        takes = ", ".join([name] * len(operands))
        f.module.declare(f"{name} @{scalar}({takes})", "nounwind willreturn memory(none)")
        return f.set(f"call {name} @{scalar}({', '.join(f'{name} {operand}' for operand in operands)})")


def by_llvm(kind: str, type: Prim) -> Callable[[FunctionWriter, str], str]:
    """Writes calls of LLVM's intrinsic, for which the target has code of its own."""

    def write(f: FunctionWriter, x: str) -> str:
        name = f.spell(type)
        intrinsic = f.module.declare(f"{name} @llvm.{kind}.{f.suffix(type)}({name})")
        return f.set(f"call {f.module.fast}{name} @{intrinsic}({name} {x})")

    return write
