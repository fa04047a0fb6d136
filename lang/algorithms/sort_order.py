"""Map numbers to unsigned words with the same order, which are sorted digit by digit."""

from __future__ import annotations

from typing import Any

from weft.ir.types import Prim, f32, f64, i32, i64, u32, u64
from weft.lang.functions.func import func
from weft.lang.values.builtins import bit_cast, cast, static

__all__ = ["DIGIT", "DIGITS", "digits_of", "order", "word_type"]

DIGIT = 8  # bits
DIGITS = 1 << DIGIT  # how many there are


def word_type(dtype: Prim) -> Prim:
    """Return the type of the words of such numbers."""
    return u64 if dtype.bits > 32 else u32


def digits_of(dtype: Prim) -> int:
    """Return the number of digits of the words of such numbers."""
    bits = _seen_as(dtype).bits if dtype.is_float else dtype.bits
    return -(-bits // DIGIT)


def _is_unsigned(dtype: Prim) -> bool:
    return dtype.text[0] == "u"


def _least(dtype: Prim) -> int:
    """Return what is added to such an integer to map the smallest one to 0."""
    return 0 if _is_unsigned(dtype) else 2 ** (dtype.bits - 1)


def _seen_as(dtype: Prim) -> Prim:
    return f64 if dtype.bits > 32 else f32


def _signed(dtype: Prim) -> Prim:
    return i64 if dtype.bits > 32 else i32


def _infinity(dtype: Prim) -> int:
    """Return the bits of an infinite float."""
    return 0x7FF << 52 if dtype.bits > 32 else 0xFF << 23


@func
def order(key: Any, dtype: Any) -> Any:
    """Return the word of a number. The word of a float is the bits of its magnitude, negated below zero, so both zeros
    have the same word. Minus infinity has the first word. The words of NaN follow that of infinity: a NaN with a sign
    wraps around to there."""
    if static(dtype.is_float):
        bits = bit_cast(cast(key, static(_seen_as(dtype))), static(_signed(dtype)))
        sign = bits >> static(_signed(dtype).bits - 1)
        magnitude = bits & cast(static(2 ** (_signed(dtype).bits - 1) - 1), static(_signed(dtype)))
        number = (magnitude ^ sign) - sign
        return cast(number + cast(static(_infinity(dtype)), static(_signed(dtype))), static(word_type(dtype)))
    else:
        return cast(key, static(word_type(dtype))) + cast(static(_least(dtype)), static(word_type(dtype)))
