"""Math functions (sin, exp, pow ...) on AMD GPUs: LLVM's own code, Weft's sine and cosine, and ocml, AMD's math
library.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.codegen.amdgcn.target import AmdTarget
from weft.codegen.gpu.library_math import LibraryMath, by_llvm
from weft.codegen.gpu.sine import sines
from weft.ir.types import Prim, f16, f32

__all__ = ["AmdMath", "library_options", "own_operators"]

_BY_LLVM = ("exp", "exp2", "log", "log2")  # exact to the last bit or two, or fast if the flags allow


class AmdMath(LibraryMath):
    """Writes calls of ocml."""

    def __init__(self) -> None:
        super().__init__(lambda kind, type: f"__ocml_{kind}_f{type.bits}")


def own_operators(fast: bool) -> dict[tuple[str, Prim], Callable[..., str]]:
    """Operators that the library is not asked for. With `fast`, sine and cosine are our own."""
    own = {(kind, type): by_llvm(kind, type) for kind in _BY_LLVM for type in (f16, f32)}
    return own | (sines() if fast else {})


def library_options(target: AmdTarget) -> dict[str, str]:
    """The constants that tell ocml the required accuracy and the hardware, by name."""
    values = dict.fromkeys(("unsafe_math_opt", "finite_only_opt", "daz_opt"), "i8 0")
    values |= {"correctly_rounded_sqrt32": "i8 1", "wavefrontsize64": f"i8 {target.lanes // 64}"}
    values["ISA_version"] = f"i32 {target.version}"
    kind = "linkonce_odr hidden addrspace(4) constant"
    return {f"__oclc_{name}": f"@__oclc_{name} = {kind} {value}" for name, value in values.items()}
