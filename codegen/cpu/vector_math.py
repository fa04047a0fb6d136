"""Math functions (sin, exp, pow ...) on the CPU, in a form that LLVM's loop vectorizer can vectorize.

glibc's libmvec contains vector versions of the C math functions. LLVM vectorizes the call of a scalar function that it
does not know by name if the call site has a vector-function-ABI attribute that lists the vector versions. Each function
therefore gets a private scalar wrapper (`@weft_sinf`) around the C function. Without libmvec, or without `fast_math`
(its results may be off by 4 ulp), the plain C function is called. With `fast_math`, exp and exp2 are Weft's own
(`exponentials.py`).
"""

from __future__ import annotations

import ctypes
from functools import cache

from weft.codegen.cpu.exponentials import EXPONENTIALS, exponential
from weft.codegen.llvm.function import FunctionWriter
from weft.codegen.llvm.spelling import in_register
from weft.ir.types import Prim, f16, f32

__all__ = ["LIBRARY", "CpuMath", "piece", "put_piece"]

LIBRARY = "libmvec.so.1"

# Vector register of each ABI letter: (letter, CPU feature it needs, bits).
_WIDTHS = (("b", "sse2", 128), ("d", "avx2", 256), ("e", "avx512f", 512))


@cache
def _libmvec() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError:
        return None


class CpuMath:
    """Writes math calls for a CPU with those features ("avx2", "avx512f", ...)."""

    def __init__(self, features: frozenset[str], vectorize: bool) -> None:
        self.features, self.vectorize = features, vectorize

    def __call__(self, f: FunctionWriter, kind: str, type: Prim, *operands: str) -> str:
        if type is f16:
            half, single = f.spell(f16), f.spell(f32)
            wide = [f.set(f"fpext {half} {operand} to {single}") for operand in operands]
            return f.set(f"fptrunc {single} {self(f, kind, f32, *wide)} to {half}")
        if self.vectorize and kind in EXPONENTIALS:
            return exponential(f, kind, type, operands[0])
        if f.width > 1:
            return self._lanes(f, kind, type, operands)
        name, scalar = in_register(type), kind + ("f" if type is f32 else "")
        takes = ", ".join([name] * len(operands))
        given = ", ".join(f"{name} {operand}" for operand in operands)
        f.module.declare(f"{name} @{scalar}({takes})", "nounwind willreturn memory(none)")
        variants = self._variants(scalar, type, len(operands)) if self.vectorize else []
        if not variants:
            return f.set(f"call {f.module.fast}{name} @{scalar}({given})")
        wrapper = f"weft_{scalar}"
        self._define(f, wrapper, scalar, name, len(operands))
        mapping = ",".join(self._map(f, scalar, wrapper, type, variant, len(operands)) for variant in variants)
        attribute = f'"vector-function-abi-variant"="{mapping}"'
        return f.set(f"call {f.module.fast}{name} @{wrapper}({given}) nounwind willreturn memory(none) {attribute}")

    def _lanes(self, f: FunctionWriter, kind: str, type: Prim, operands: tuple[str, ...]) -> str:
        """The function of every lane: by the widest vector version there is, piece by piece, or one by one."""
        name, scalar, width = in_register(type), kind + ("f" if type is f32 else ""), f.width
        fitting = [v for v in self._variants(scalar, type, len(operands)) if v[1] <= width] if self.vectorize else []
        letter, lanes = fitting[-1] if fitting else ("", 1)
        part = f"<{lanes} x {name}>" if letter else name
        target = f"_ZGV{letter}N{lanes}{'v' * len(operands)}_{scalar}" if letter else scalar
        takes = ", ".join([part] * len(operands))
        f.module.declare(f"{part} @{target}({takes})", "nounwind willreturn memory(none)")
        if letter:
            f.module.keep(target)
        result = "poison"
        for first in range(0, width, lanes):
            given = ", ".join(f"{part} {piece(f, name, width, x, first, lanes)}" for x in operands)
            made = f.set(f"call {f.module.fast}{part} @{target}({given})")
            result = put_piece(f, name, width, result, made, first, lanes)
        return result

    def _variants(self, scalar: str, type: Prim, arity: int) -> list[tuple[str, int]]:
        library = _libmvec()
        if library is None:
            return []
        found: list[tuple[str, int]] = []
        for letter, feature, bits in _WIDTHS:
            lanes = bits // type.bits
            if feature in self.features and hasattr(library, f"_ZGV{letter}N{lanes}{'v' * arity}_{scalar}"):
                found.append((letter, lanes))
        return found

    def _define(self, f: FunctionWriter, wrapper: str, scalar: str, name: str, arity: int) -> None:
        takes = ", ".join(f"{name} %x{k}" for k in range(arity))
        f.module.declarations.setdefault(
            wrapper,
            f"define linkonce_odr hidden {name} @{wrapper}({takes}) noinline nounwind willreturn memory(none) {{\n"
            f"  %r = call {name} @{scalar}({takes})\n  ret {name} %r\n}}",
        )

    def _map(
        self, f: FunctionWriter, scalar: str, wrapper: str, type: Prim, variant: tuple[str, int], arity: int
    ) -> str:
        """Declare one vector version, keep it alive, and give its line of the attribute."""
        letter, lanes = variant
        prefix, vector = f"_ZGV{letter}N{lanes}{'v' * arity}_", f"<{lanes} x {in_register(type)}>"
        target = f.module.declare(f"{vector} @{prefix}{scalar}({', '.join([vector] * arity)})")
        f.module.keep(target)
        return f"{prefix}{wrapper}({target})"


def piece(f: FunctionWriter, name: str, width: int, x: str, first: int, lanes: int) -> str:
    """Lanes [first, first + lanes) of a vector of `width` lanes; the scalar where `lanes` is 1."""
    if lanes == width:
        return x
    if lanes == 1:
        return f.set(f"extractelement <{width} x {name}> {x}, i64 {first}")
    order = ", ".join(f"i32 {first + k}" for k in range(lanes))
    whole = f"<{width} x {name}>"
    return f.set(f"shufflevector {whole} {x}, {whole} poison, <{lanes} x i32> <{order}>")


def put_piece(f: FunctionWriter, name: str, width: int, whole: str, part: str, first: int, lanes: int) -> str:
    """`whole` with those lanes replaced."""
    if lanes == width:
        return part
    if lanes == 1:
        return f.set(f"insertelement <{width} x {name}> {whole}, {name} {part}, i64 {first}")
    spread = ", ".join(f"i32 {k}" if k < lanes else "i32 poison" for k in range(width))
    wide = f.set(f"shufflevector <{lanes} x {name}> {part}, <{lanes} x {name}> poison, <{width} x i32> <{spread}>")
    choice = ", ".join(f"i32 {width + k - first if first <= k < first + lanes else k}" for k in range(width))
    vector = f"<{width} x {name}>"
    return f.set(f"shufflevector {vector} {whole}, {vector} {wide}, <{width} x i32> <{choice}>")
