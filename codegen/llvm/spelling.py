"""The LLVM spelling of Weft's types and constants.

A u1 is an `i1` in a register and an `i8` in memory. Every other type has a single spelling.
"""

from __future__ import annotations

import re
import struct
from functools import cache

from weft.ir.types import Prim, f16, f32, u1

__all__ = ["constant", "identifier", "in_memory", "in_register"]

_FLOATS = {16: "half", 32: "float", 64: "double"}


def identifier(name: str) -> str:
    """A name of the program in characters that LLVM, PTX and NVIDIA's assembler take."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)


@cache
def in_register(type: Prim) -> str:
    """The LLVM type of a scalar in SSA form."""
    return _FLOATS[type.bits] if type.is_float else f"i{type.bits}"


def in_memory(type: Prim) -> str:
    """The LLVM type of a scalar in memory."""
    return "i8" if type is u1 else in_register(type)


def constant(value: int | float | bool, type: Prim) -> str:
    """A literal: floats by their bits, so that nothing is lost on the way."""
    if type is u1:
        return "true" if value else "false"
    if type.is_int:
        low = int(value) & (2**type.bits - 1)
        return str(low - 2**type.bits if type.is_signed and low >> (type.bits - 1) else low)
    number = float(value)
    if type is f16:
        return f"0xH{struct.unpack('<H', struct.pack('<e', _clamped(number)))[0]:04X}"
    if type is f32:  # LLVM writes a float literal with the bits of the equal double
        number = _single(number)
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"


def _single(number: float) -> float:
    try:
        result: float = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")
    return result


def _clamped(number: float) -> float:
    """Halves beyond the largest finite one are infinite; `struct` would refuse them."""
    if abs(number) < 65520.0 or number != number:
        return number
    return float("inf") if number > 0 else float("-inf")
