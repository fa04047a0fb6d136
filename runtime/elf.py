"""The functions of object files, as far as they are ELF: where they are, and who may refer to them."""

from __future__ import annotations

import struct
from typing import NamedTuple

__all__ = ["Function", "Section", "functions_of", "sections_of"]

_SYMBOLS, _FUNCTION, _GLOBAL = 2, 2, 1  # a section of symbols; the kind of a function; a binding


class Function(NamedTuple):
    """A function: its section, its offset there, and whether other object files see it."""

    section: int
    offset: int
    is_global: bool


class Section(NamedTuple):
    """A part of an object file. `link` and `info` are numbers of other sections."""

    name: str
    kind: int
    start: int
    size: int
    link: int
    info: int
    each: int


def sections_of(code: bytes) -> list[Section]:
    """The sections of an object file. Empty if it is not a 64-bit ELF file of little-endian numbers, as on macOS and
    Windows."""
    if code[:6] != b"\x7fELF\x02\x01":
        return []
    (table,) = struct.unpack_from("<Q", code, 0x28)
    size, count, names = struct.unpack_from("<HHH", code, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", code, table + k * size) for k in range(count)]
    strings = headers[names][4]
    return [
        Section(_text(code, strings + name), kind, start, length, link, info, each)
        for name, kind, _, _, start, length, link, info, _, each in headers
    ]


def functions_of(code: bytes) -> dict[str, Function]:
    """The functions that an object file defines, by name. Empty for a file without `sections_of`."""
    found: dict[str, Function] = {}
    sections = sections_of(code)
    for one in sections:
        if one.kind != _SYMBOLS:
            continue
        strings = sections[one.link].start
        for place in range(one.start, one.start + one.size, one.each):
            name, info, _, section, offset, _ = struct.unpack_from("<IBBHQQ", code, place)
            if info & 15 == _FUNCTION and section:
                found[_text(code, strings + name)] = Function(section, offset, info >> 4 == _GLOBAL)
    return found


def _text(code: bytes, start: int) -> str:
    return code[start : code.index(b"\0", start)].decode()
