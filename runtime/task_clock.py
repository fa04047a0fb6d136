"""The time of each task of a kernel on a CPU, by the clock.

A kernel runs its parallel loops through the service `parallel_for` (`ir/artifact.py`). A `TaskClock` puts a function
in the place of that service for one loaded kernel. It calls the service, and reads the clock before and after. A task
that the calling thread runs alone does not call the service, so it has no time.
"""

from __future__ import annotations

import ctypes
import re
import struct
import time
from typing import TYPE_CHECKING

from weft.ir.errors import WeftError

if TYPE_CHECKING:
    from weft.runtime.launch import CpuKernel

__all__ = ["TaskClock", "functions_of"]

_WORD, _ADDRESS = ctypes.c_int64, ctypes.c_void_p
_SERVICE = ctypes.CFUNCTYPE(None, _WORD, _ADDRESS, _ADDRESS, _ADDRESS, _WORD, _WORD)
_TASK = re.compile(r"weft_task(\d+)")
_SYMBOLS, _FUNCTION = 2, 2  # a section of ELF with symbols; the kind of a symbol that is a function


class TaskClock:
    """Times the tasks of a loaded kernel, from now on. Raises WeftError for a kernel whose code this cannot read: one
    of several parts, or one for a system whose object files are not ELF."""

    def __init__(self, kernel: CpuKernel) -> None:
        artifact = kernel.artifact
        offsets = functions_of(artifact.code, artifact.entry) if not artifact.parts else {}
        if artifact.entry not in offsets:
            raise WeftError(
                f"kernel '{artifact.name}' has code of several parts, or not as ELF: its tasks are not timed"
            )
        base = kernel.address(artifact.entry) - offsets[artifact.entry]
        self._names = {base + offset: name for name, offset in offsets.items()}
        self._seconds: dict[str, list[float]] = {}
        self._timed = _SERVICE(self._run)  # kept: the kernel has its address
        address = ctypes.cast(self._timed, _ADDRESS).value or 0
        self._service = _SERVICE(kernel.replace_service("parallel_for", address, self))

    def _run(self, pool: int, body: int, context: int, box: int, count: int, grain: int) -> None:
        start = time.perf_counter()
        self._service(pool, body, context, box, count, grain)
        self._seconds.setdefault(self._names.get(body, ""), []).append(time.perf_counter() - start)

    def tasks(self) -> dict[int, tuple[float, int]]:
        """By the number of the task: the least seconds of a launch, and how many launches were timed. A task of several
        functions, such as a loop on private copies and their merging, has the sum of theirs."""
        found: dict[int, tuple[float, int]] = {}
        for name, seconds in self._seconds.items():
            if match := _TASK.match(name):
                number = int(match[1])
                before, launches = found.get(number, (0.0, 0))
                found[number] = before + min(seconds), max(launches, len(seconds))
        return found


def functions_of(code: bytes, entry: str) -> dict[str, int]:
    """The functions of an object file that are in one section with `entry`: name -> offset in the section. Empty if it
    is not a 64-bit ELF file of little-endian numbers, or has no such function."""
    if code[:6] != b"\x7fELF\x02\x01":
        return {}
    (table,) = struct.unpack_from("<Q", code, 0x28)
    size, count = struct.unpack_from("<HH", code, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, table + k * size) for k in range(count)]
    found = dict[str, tuple[int, int]]()
    for _, kind, _, _, start, length, link, _, _, each in sections:
        if kind != _SYMBOLS:
            continue
        strings = sections[link][4]
        for place in range(start, start + length, each):
            name, info, _, home, value, _ = struct.unpack_from("<IBBHQQ", code, place)
            if info & 15 == _FUNCTION and home:
                found[code[strings + name : code.index(b"\0", strings + name)].decode()] = home, value
    same = found.get(entry, (0, 0))[0]
    return {name: value for name, (home, value) in found.items() if home == same}
