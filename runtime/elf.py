"""The functions of object files, as far as they are ELF: where they are, and who may refer to them."""

from __future__ import annotations

import struct
from typing import NamedTuple

__all__ = ["Function", "functions_of"]

_SYMBOLS, _FUNCTION, _GLOBAL = 2, 2, 1  # a section of symbols; the kind of a function; a binding


class Function(NamedTuple):
    """A function: its section, its offset there, and whether other object files see it."""

    section: int
    offset: int
    is_global: bool


def functions_of(code: bytes) -> dict[str, Function]:
    """The functions that an object file defines, by name. Empty if it is not a 64-bit ELF file of little-endian
    numbers, as on macOS and Windows."""
    if code[:6] != b"\x7fELF\x02\x01":
        return {}
    (table,) = struct.unpack_from("<Q", code, 0x28)
    size, count = struct.unpack_from("<HH", code, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, table + k * size) for k in range(count)]
    found: dict[str, Function] = {}
    for _, kind, _, _, start, length, link, _, _, each in sections:
        if kind != _SYMBOLS:
            continue
        strings = sections[link][4]
        for place in range(start, start + length, each):
            name, info, _, section, offset, _ = struct.unpack_from("<IBBHQQ", code, place)
            if info & 15 == _FUNCTION and section:
                text = code[strings + name : code.index(b"\0", strings + name)].decode()
                found[text] = Function(section, offset, info >> 4 == _GLOBAL)
    return found
