"""The print service: what kernels print goes to Python's `sys.stdout`, formatted as Python formats."""

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
    """The print service of one kernel: `address` is a native function that any thread may call. What goes wrong in a
    print, Ctrl-C included, waits in `raised` until the launch is over. `address` is 0 for a kernel that has nothing to
    say; `prints`: whether it prints, and does not only warn. Functions in `heard` are told
    the text of each print."""

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
        """The first of what was raised, which is nobody else's to raise then; None if there is nothing."""
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
            if sys.stdout is not None:  # as Python's own print does where there is no console
                sys.stdout.write(text)
        except BaseException as error:
            raised.append(error)
        finally:
            guards.resume(mark)

    return show


def format_print(site: Site, slots: bytes) -> str:
    """The text of a print: literal parts as they are; a part `NUL spec` is the next value formatted by `spec`."""
    scalars = iter(read_scalars(site.types, slots))
    values = iter([assemble(type, scalars) for type in site.types])
    return "".join(show(next(values), part[1:]) if part[:1] == "\0" else part for part in site.text)
