"""Line tables of object files: each opcode of their programs, and the table of a kernel as `readelf` sees it."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import weft as ti
from weft.ir.errors import WeftError
from weft.lang.calls.recipe import ON_COMPILED
from weft.runtime.line_rows import LineRow, LineRows, _Unit, line_rows

elf = pytest.mark.skipif(sys.platform != "linux", reason="object files are not ELF")


def unit(program: bytes, version: int = 4, more: Sequence[str] = ()) -> bytes:
    """A unit of the section with two files, for a `program` of rows; instructions have 2 bytes at least."""
    lengths = bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])  # of the operands of the opcodes 1 to 12
    form = bytes([2, *([1] if version >= 4 else []), 1]) + struct.pack("<bBB", -3, 12, 13) + lengths
    files = b"/here\0/there\0\0" + b"a.py\0\1\0\0" + b"b.py\0\2\0\0" + b"c.py\0\0\0\0" + b"\0"
    header = form + files
    rest = struct.pack("<HI", version, len(header)) + header + program
    return struct.pack("<I", len(rest)) + rest


A, B = "/here/a.py", "/there/b.py"
SET_ADDRESS = bytes([0, 9, 2]) + struct.pack("<Q", 16)
END = bytes([0, 1, 1])
PROGRAMS: list[tuple[str, bytes, list[tuple[int, str, int]]]] = [
    ("the first row", bytes([1]), [(0, A, 1)]),
    ("an address", SET_ADDRESS + b"\1", [(16, A, 1)]),
    ("a line back and forth", bytes([3, 10, 1, 3, 0x7F, 1, 3, 0xE5, 0, 1]), [(0, A, 11), (0, A, 10), (0, A, 111)]),
    ("steps of the address", bytes([2, 0x83, 1, 1]), [(262, A, 1)]),
    ("the other files", bytes([4, 2, 1, 4, 3, 1]), [(0, B, 1), (0, "c.py", 1)]),
    ("special opcodes", bytes([13 + 3 + 1 + 12 * 2]), [(4, A, 2)]),
    ("the address of opcode 255", bytes([8, 1]), [((255 - 13) // 12 * 2, A, 1)]),
    ("a fixed step", bytes([9, 5, 1, 1]), [(261, A, 1)]),
    ("opcodes that do not matter here", bytes([5, 0x85, 1, 6, 7, 10, 11, 12, 3, 1]), [(0, A, 1)]),
    ("an extended opcode that does not", bytes([0, 3, 0x80, 1, 1, 1]), [(0, A, 1)]),
    ("two sequences", bytes([3, 4, 1]) + END + b"\1", [(0, A, 5), (0, "", 0), (0, A, 1)]),
]


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize(("what", "program", "rows"), PROGRAMS, ids=[one[0] for one in PROGRAMS])
def test_an_opcode(what: str, program: bytes, rows: list[tuple[int, str, int]], version: int) -> None:
    assert list(_Unit(unit(program, version), 0, {}).rows()) == [LineRow(*row) for row in rows]


def test_the_address_is_relocated() -> None:
    data = unit(SET_ADDRESS + b"\1")
    place = data.index(SET_ADDRESS) + 3
    assert list(_Unit(data, 0, {place: 100}).rows()) == [LineRow(116, A, 1)]
    assert list(_Unit(data, 0, {place + 1: 100}).rows()) == [LineRow(16, A, 1)]


def test_what_is_not_read() -> None:
    with pytest.raises(WeftError, match="has version 5 of DWARF"):
        _Unit(unit(b"", 5), 0, {})
    with pytest.raises(WeftError, match="no line table"):
        line_rows(b"no object file")


def test_an_instruction_belongs_to_the_row_before_it() -> None:
    rows = LineRows([LineRow(20, "", 0), LineRow(4, "a", 7), LineRow(8, "a", 0), LineRow(12, "b", 3)], 1, 20)
    found = [None if (row := rows.at(offset)) is None else (row.file, row.line) for offset in range(0, 24, 2)]
    a, b = ("a", 7), ("b", 3)
    assert found == [None, None, a, a, None, None, b, b, b, b, None, None]


def compiled(**options: Any) -> Any:
    ti.init(arch=ti.cpu, offline_cache=False, **options)
    x = ti.field(ti.f32, 64)

    @ti.func
    def twice(a):
        return ti.sin(a) * 2

    @ti.kernel
    def two_loops():
        for i in x:
            x[i] = twice(x[i])
        for i in x:
            for j in range(i):
                x[i] += ti.sqrt(x[i] + j)

    found: list[Any] = []
    token = ON_COMPILED.set(found.append)
    try:
        two_loops.compile()
    finally:
        ON_COMPILED.reset(token)
    return found[0].loaded.artifact.code


@elf
def test_the_table_of_a_kernel(tmp_path: Path) -> None:
    code = compiled(line_info=True)
    rows = line_rows(code)
    assert all(0 <= row.offset <= rows.size for row in rows.rows)
    text = Path(__file__).read_text(encoding="utf-8").splitlines()
    lines = {text[row.line - 1].strip() for row in rows.rows if row.line}
    assert {"return ti.sin(a) * 2", "x[i] = twice(x[i])", "x[i] += ti.sqrt(x[i] + j)"} <= lines
    assert {Path(row.file).name for row in rows.rows} == {Path(__file__).name, ""}
    if shutil.which("readelf") is None:
        return
    (tmp_path / "kernel.o").write_bytes(code)
    said = subprocess.run(
        ["readelf", "--debug-dump=decodedline", "kernel.o"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    theirs = re.findall(r"^\S+\.py\s+(\d+|-)\s+(0x[0-9a-f]+|0)\b", said, re.MULTILINE)
    assert sorted((int(at, 16), 0 if line == "-" else int(line)) for line, at in theirs) == sorted(
        (row.offset, row.line) for row in rows.rows
    )


@elf
def test_code_without_line_numbers_has_no_table() -> None:
    with pytest.raises(WeftError, match="no line table"):
        line_rows(compiled())
