"""The print service: writes what kernels print to Python's `sys.stdout`, formatted as Python does."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

from weft.ir.artifact import Site
from weft.ir.types import flat_size
from weft.runtime import guards
from weft.runtime.errors import assemble, read_scalars, show, warn

__all__ = ["PrintService", "format_print"]

_PRINT = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)


class PrintService:
    """The print service of one kernel. `address` is a native function that any thread may call, or 0 if the kernel
    neither prints nor warns. `prints` is false if it only warns. Exceptions in a print, including Ctrl-C, are kept in
    `raised` until the launch is over. Functions in `heard` receive the text of each print."""

    def __init__(self, sites: tuple[Site, ...], kernel: str) -> None:
        self.raised: list[BaseException] = []
        self.heard: list[Callable[[str], None]] = []
        self._sites, self._sizes = sites, [8 * sum(map(flat_size, site.types)) for site in sites]
        self._callback: Any = None
        self.address = 0
        self.prints = any(site.kind == "print" for site in sites)
        if self.prints or any(site.warns for site in sites):
            self._callback = _PRINT(_bound(self._sites, self._sizes, self.raised, self.heard, kernel))
            self.address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def taken(self) -> BaseException | None:
        """Return the first exception that was raised and clear it, so that it is raised only once. Return None if there
        is none."""
        try:
            return self.raised.pop(0)
        except IndexError:
            return None


def _bound(
    sites: tuple[Site, ...],
    sizes: list[int],
    raised: list[BaseException],
    heard: list[Callable[[str], None]],
    kernel: str,
) -> Any:
    told = set[object]()

    def show(site: int, values: int | None) -> None:
        mark = guards.pause()
        try:
            slots = ctypes.string_at(values, sizes[site]) if values and sizes[site] else b""
            if sites[site].warns:
                if sites[site].told_with not in told:
                    told.add(sites[site].told_with)
                    warn(sites[site], slots, kernel)
                return
            text = format_print(sites[site], slots)
            for hear in heard:
                hear(text)
            if sys.stdout is not None:  # None where there is no console: Python's own print does nothing then
                sys.stdout.write(text)
        except BaseException as error:
            raised.append(error)
        finally:
            guards.resume(mark)

    return show


def format_print(site: Site, slots: bytes) -> str:
    """Return the text of a print. Literal parts are copied. A part `NUL spec` is the next value formatted by `spec`."""
    scalars = iter(read_scalars(site.types, slots))
    values = iter([assemble(type, scalars) for type in site.types])
    return "".join(show(next(values), part[1:]) if part[:1] == "\0" else part for part in site.text)
