"""Counts for each source line of kernels on a CPU how often the processor was at an instruction of it.

Linux sends the signal SIGPROF each time that the process has used a millisecond of processors, but at most once in a
tick of its clock, for all threads together. So samples are counted for each function of a kernel apart: a parallel loop
has fewer of them for its processors' time than serial code. A handler in native code notes the address of the
instruction that was interrupted. It takes no lock and calls nothing. Later, the line tables of the object files say
which lines these addresses belong to.
"""

from __future__ import annotations

import ctypes
import platform
import signal
import sys
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from weft.ir.errors import WeftError
from weft.runtime.elf import functions_of
from weft.runtime.jit import Loader, emit
from weft.runtime.line_rows import line_rows

if TYPE_CHECKING:
    from types import TracebackType

    from weft.runtime.launch import CpuKernel
    from weft.runtime.line_rows import LineRows

__all__ = ["LineSampler", "LineSamples"]

_SECONDS = 1e-3  # of processors between two signals
_MOST = 1 << 20  # samples; later ones are dropped
_PC = {"x86_64": 168, "aarch64": 440}  # where a `ucontext_t` of Linux has the address of the instruction
_WITH_CONTEXT, _RESTART = 4, 0x10000000  # flags of `sigaction`

_HANDLER = """
define void @weft_sample(i32 %signal, ptr %info, ptr %context) {{
  %place = getelementptr i8, ptr %context, i64 {pc}
  %pc = load i64, ptr %place
  %number = atomicrmw add ptr inttoptr (i64 {buffer} to ptr), i64 1 monotonic
  %fits = icmp ult i64 %number, {most}
  br i1 %fits, label %note, label %end
note:
  %next = add i64 %number, 1
  %slot = getelementptr i64, ptr inttoptr (i64 {buffer} to ptr), i64 %next
  store i64 %pc, ptr %slot
  br label %end
end:
  ret void
}}
"""


class _Action(ctypes.Structure):
    """`struct sigaction` of Linux's C libraries."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ubyte * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class LineSamples(NamedTuple):
    """The samples of one function of a kernel: how many each line has, by file and number, and how many belong to no
    line."""

    lines: Counter[tuple[str, int]]
    unknown: int

    @property
    def total(self) -> int:
        """The number of samples."""
        return self.lines.total() + self.unknown


class LineSampler:
    """Samples the process in a `with` block. `add` names the kernels to look at. Raises WeftError where it does not
    work: it needs Linux on x86-64 or 64-bit Arm, and a main thread."""

    def __init__(self) -> None:
        if sys.platform != "linux" or platform.machine() not in _PC:
            raise WeftError("the lines of a kernel are timed on Linux only, on x86-64 and 64-bit Arm")
        self._buffer = (ctypes.c_uint64 * (_MOST + 1))()
        text = _HANDLER.format(pc=_PC[platform.machine()], buffer=ctypes.addressof(self._buffer), most=_MOST)
        self._code = Loader().load(emit(text), ["weft_sample"])
        self._kernels: list[tuple[CpuKernel, int, LineRows, list[tuple[int, str]]]] = []
        self._before = _Action()

    def add(self, kernel: CpuKernel) -> int:
        """Look at a loaded kernel, too, and keep it in memory. Returns its number. Raises WeftError if it was compiled
        without line numbers."""
        code, entry = kernel.artifact.code, kernel.artifact.entry
        rows = line_rows(code)
        functions = functions_of(code)
        start = functions[entry]
        if start.section != rows.section:
            raise WeftError(f"the code of kernel '{kernel.artifact.name}' is in a section of its own")
        own = sorted((one.offset, name) for name, one in functions.items() if one.section == rows.section)
        self._kernels.append((kernel, kernel.address(entry) - start.offset, rows, own))
        return len(self._kernels) - 1

    def __enter__(self) -> LineSampler:
        action = _Action(self._code["weft_sample"], flags=_WITH_CONTEXT | _RESTART)
        self._act(action, self._before)
        signal.setitimer(signal.ITIMER_PROF, _SECONDS, _SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        ignored = _Action(ctypes.cast(1, ctypes.c_void_p).value)  # SIG_IGN: drop a signal that is on its way
        self._act(ignored, None)
        self._act(self._before, None)

    def _act(self, action: _Action, before: _Action | None) -> None:
        c = ctypes.CDLL(None, use_errno=True)
        old = None if before is None else ctypes.byref(before)
        if c.sigaction(int(signal.SIGPROF), ctypes.byref(action), old):
            raise WeftError(f"the lines of kernels are not timed: {ctypes.get_errno()} from sigaction")

    def of(self, number: int) -> dict[str, LineSamples]:
        """The samples of the kernel that `add` gave that number, by the name of the function."""
        _, base, rows, functions = self._kernels[number]
        places = [offset for offset, _ in functions]
        lines: dict[str, Counter[tuple[str, int]]] = {}
        unknown = Counter[str]()
        for address in self._buffer[1 : min(self._buffer[0], _MOST) + 1]:
            offset = address - base
            if places[0] <= offset < rows.size:
                name = functions[bisect_right(places, offset) - 1][1]
                row = rows.at(offset)
                unknown[name] += row is None
                lines.setdefault(name, Counter()).update([(row.file, row.line)] if row is not None else [])
        return {name: LineSamples(found, unknown[name]) for name, found in lines.items()}
