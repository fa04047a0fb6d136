"""The Python side of the guards around memory: install the fault handler, and raise an exception for a fault.

`guard_ir.py` handles the faults in native code. `mappings.py` places the guards around memory.
"""

from __future__ import annotations

import ctypes

from weft.runtime import mappings
from weft.runtime.errors import MemoryFault
from weft.runtime.guard_ir import FAULT, WROTE
from weft.runtime.jit import Code
from weft.runtime.memory import readable_size
from weft.runtime.pool import in_scratch

__all__ = ["Guards", "memory_fault", "pause", "resume", "watch"]


class Guards:
    """The native functions of `code`."""

    FUNCTIONS = ("guard_install", "guard_pause", "guard_resume")  # the functions that the code must export

    def __init__(self, code: Code) -> None:
        self.install = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code["guard_install"])
        self.pause = ctypes.CFUNCTYPE(ctypes.c_void_p)(code["guard_pause"])
        self.resume = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code["guard_resume"])
        _all.append(self)


_all: list[Guards] = []  # at most one: it is added when the runtime is loaded


def watch() -> None:
    """Install the fault handler. Also installs it again if another library has replaced it."""
    for one in _all:
        one.install(mappings.table_address())


def pause() -> int | None:
    """Disable the handler for this thread, because it runs Python within a kernel and faults are then Python's. Returns
    the argument of `resume`."""
    return _all[0].pause() if _all else None


def resume(mark: int | None) -> None:
    """Enable the handler again, because this thread continues with the kernel."""
    if mark is not None:
        _all[0].resume(mark)


_ADVICE = (
    "To see the line, the index and the shape, use ti.init(debug=True), or run the program with `weft debug FILE`."
)


def memory_fault(kernel: str, fault: int) -> MemoryFault:
    """Return the exception for a fault of that kernel (see `guard_ir.py`)."""
    address = fault & ~(FAULT | WROTE)
    did = f"kernel '{kernel}' {'wrote' if fault & WROTE else 'read'}"
    kept = "Its writes before the fault remain."
    return MemoryFault(f"{did} {_place(address)}, outside of all fields and arrays, and was stopped. {kept}\n{_ADVICE}")


def _place(address: int) -> str:
    block = mappings.nearest(address)
    if block is not None:
        before = address < block.address
        far = block.address - address if before else address - (block.address + block.size)
        way = "before" if before else "past the end of"
        return f"{readable_size(far)} {way} the memory of {block.owner} ({readable_size(block.size)})"
    if in_scratch(address):
        return "far outside of a thread's private copy of a small field"
    return f"at address {address:#x}, which is not near any field or ndarray"
