"""Whole words: the 16 bytes that one instruction of a GPU moves, and the addresses that are multiples of 16."""

from __future__ import annotations

from weft.ir.addresses import element_of
from weft.ir.core import Value
from weft.ir.ops import Address, Const

__all__ = ["WORD", "cell", "whole_words"]

WORD = 16  # bytes that one instruction moves


def whole_words(stride: Value) -> bool:
    """Whether the value is known to be a multiple of a word."""
    return isinstance(stride, Const) and int(stride.value) % WORD == 0


def cell(place: Value) -> Address | None:
    """The address of the element that contains the address, or the address itself."""
    element, _ = element_of(place)
    return element if isinstance(element, Address) else None
