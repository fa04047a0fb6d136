"""The line table of an ELF object file: which source line each instruction comes from (DWARF 4, section 6.2).

LLVM writes one program for each compilation unit into the section .debug_line. The addresses in it are relocated: the
relocation has the place in the section of the code."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from weft.ir.errors import WeftError
from weft.runtime.elf import Section, sections_of

__all__ = ["LineRow", "LineRows", "line_rows"]

_VERSIONS = (2, 3, 4)
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE = 1, 2, 3, 4  # opcodes without an operand that is skipped
_CONST_ADD_PC, _FIXED_ADVANCE_PC = 8, 9
_END, _SET_ADDRESS = 1, 2  # extended opcodes


class LineRow(NamedTuple):
    """From this place in the code on, instructions come from that line; file "": the table ends, line 0: from none."""

    offset: int
    file: str
    line: int


class LineRows:
    """The rows of an object file, to be searched. `size` is the length of its code in bytes."""

    def __init__(self, rows: list[LineRow], section: int, size: int) -> None:
        self.rows, self.section, self.size = sorted(rows, key=lambda row: row.offset), section, size
        self._offsets = [row.offset for row in self.rows]

    def at(self, offset: int) -> LineRow | None:
        """The row of the instruction at that place in the code. None if no line is known."""
        place = bisect_right(self._offsets, offset) - 1
        row = self.rows[place] if place >= 0 else None
        return row if row is not None and row.file and row.line else None


def line_rows(code: bytes) -> LineRows:
    """The line table of an object file. Raises WeftError if it has none."""
    sections = sections_of(code)
    table = next((one for one in sections if one.name == ".debug_line"), None)
    text = next((number for number, one in enumerate(sections) if one.name == ".text"), None)
    if table is None or text is None:
        raise WeftError("the object file has no line table")
    data = code[table.start : table.start + table.size]
    moved = _relocated(code, sections, sections.index(table))
    rows: list[LineRow] = []
    start = 0
    while start < len(data):
        unit = _Unit(data, start, moved)
        rows += unit.rows()
        start = unit.end
    return LineRows(rows, text, sections[text].size)


def _relocated(code: bytes, sections: list[Section], target: int) -> dict[int, int]:
    """What the linker adds at places of a section, whose symbols are those of sections."""
    found: dict[int, int] = {}
    for one in sections:
        if one.name == ".rela.debug_line" and one.info == target:
            for place in range(one.start, one.start + one.size, 24):
                offset, _, addend = struct.unpack_from("<QQq", code, place)
                found[offset] = addend
    return found


class _Unit:
    """The program of one compilation unit, which begins at `start` of the section."""

    def __init__(self, data: bytes, start: int, moved: dict[int, int]) -> None:
        self._data, self._place, self._moved = data, start, moved
        self.end = start + 4 + self._number("<I")
        version = self._number("<H")
        if version not in _VERSIONS:
            raise WeftError(f"the line table of the object file has version {version} of DWARF")
        first = self._number("<I")
        self._program = self._place + first
        self._step = self._number("<B")
        if version >= 4:
            self._number("<B")  # operations of an instruction, for VLIW
        self._number("<B")  # whether a row begins a statement
        self._line_base, self._line_range = self._number("<b"), self._number("<B")
        self._base = self._number("<B")
        self._operands = [self._number("<B") for _ in range(self._base - 1)]
        folders = ["", *self._strings()]
        self._files = [""]
        while name := self._string():
            folder = folders[self._unsigned()]
            self._files.append(f"{folder}/{name}" if folder else name)
            self._unsigned()  # the time of the file
            self._unsigned()  # its size
        self._place = self._program

    def rows(self) -> Iterator[LineRow]:
        """Run the program."""
        address, file, line = 0, 1, 1
        while self._place < self.end:
            opcode = self._number("<B")
            if opcode >= self._base:
                special = opcode - self._base
                address += special // self._line_range * self._step
                line += self._line_base + special % self._line_range
                yield LineRow(address, self._files[file], line)
            elif opcode == 0:
                length = self._unsigned()
                operands = self._place
                kind = self._number("<B")
                if kind == _END:
                    yield LineRow(address, "", 0)
                    address, file, line = 0, 1, 1
                elif kind == _SET_ADDRESS:
                    (own,) = struct.unpack_from("<Q", self._data, self._place)
                    address = own + self._moved.get(self._place, 0)
                self._place = operands + length
            elif opcode == _COPY:
                yield LineRow(address, self._files[file], line)
            elif opcode == _ADVANCE_PC:
                address += self._unsigned() * self._step
            elif opcode == _ADVANCE_LINE:
                line += self._signed()
            elif opcode == _SET_FILE:
                file = self._unsigned()
            elif opcode == _CONST_ADD_PC:
                address += (255 - self._base) // self._line_range * self._step
            elif opcode == _FIXED_ADVANCE_PC:
                address += self._number("<H")
            else:
                for _ in range(self._operands[opcode - 1]):
                    self._unsigned()

    def _number(self, form: str) -> int:
        (value,) = struct.unpack_from(form, self._data, self._place)
        self._place += struct.calcsize(form)
        return int(value)

    def _unsigned(self) -> int:
        """The next LEB128 number."""
        value = shift = 0
        while True:
            byte = self._number("<B")
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def _signed(self) -> int:
        start = self._place
        value = self._unsigned()
        bits = 7 * (self._place - start)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value

    def _string(self) -> str:
        end = self._data.index(b"\0", self._place)
        text = self._data[self._place : end].decode()
        self._place = end + 1
        return text

    def _strings(self) -> list[str]:
        found: list[str] = []
        while text := self._string():
            found.append(text)
        return found
