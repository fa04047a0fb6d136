"""The time of each task of a kernel on a CPU, by the clock.

A kernel runs its parallel loops through the service `parallel_for` (`ir/artifact.py`). A `TaskClock` puts a function
in the place of that service for one loaded kernel. It calls the service, and reads the clock before and after. A task
that the calling thread runs alone does not call the service, so it has no time.
"""

from __future__ import annotations

import ctypes
import re
import time
from typing import TYPE_CHECKING

from weft.ir.errors import WeftError
from weft.runtime.elf import functions_of

if TYPE_CHECKING:
    from weft.runtime.launch import CpuKernel

__all__ = ["TaskClock"]

_WORD, _ADDRESS = ctypes.c_int64, ctypes.c_void_p
_SERVICE = ctypes.CFUNCTYPE(None, _WORD, _ADDRESS, _ADDRESS, _ADDRESS, _WORD, _WORD)
_TASK = re.compile(r"weft_task(\d+)")


class TaskClock:
    """Times the tasks of a loaded kernel, from now on. Raises WeftError on a system whose object files are not ELF."""

    def __init__(self, kernel: CpuKernel) -> None:
        artifact = kernel.artifact
        own = functions_of(artifact.code)
        if artifact.entry not in own:
            raise WeftError(f"the tasks of kernel '{artifact.name}' are not timed: its object file is not ELF")
        start = own[artifact.entry]
        base = kernel.address(artifact.entry) - start.offset
        self._names = {base + one.offset: name for name, one in own.items() if one.section == start.section}
        for part in artifact.parts:
            self._names |= {kernel.address(name): name for name, one in functions_of(part).items() if one.is_global}
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
