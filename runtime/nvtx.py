"""Show named ranges on the timeline of NVIDIA's tools (Nsight Systems, Nsight Compute), if their library is
installed."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["available", "in_range"]

_NAMES = ("libnvToolsExt.so.1", "libnvtx3interop.so.1", "libnvtx3interop.so", "nvToolsExt64_1.dll", "nvtx3interop.dll")
_WHEELS = ("nvidia/nvtx/lib", "nvidia/nvtx/bin", "nvidia/cu13/lib", "nvidia/cu13/bin")


@cache
def _library() -> Any:
    """Return the library, from the system or from NVIDIA's wheels, or None if there is none."""
    places = [Path(root) / folder / name for root in sys.path for folder in _WHEELS for name in _NAMES]
    for place in (*_NAMES, *(str(place) for place in places if place.exists())):
        try:
            library = ctypes.CDLL(place)
            library.nvtxRangePushA.argtypes = (ctypes.c_char_p,)
        except (OSError, AttributeError):  # it is missing, or lacks these functions
            continue
        return library
    return None


def available() -> bool:
    """Return whether the library is available."""
    return _library() is not None


@contextmanager
def in_range(name: str) -> Generator[None, None, None]:
    """Show the body of the `with` block as range `name`. Does nothing without the library."""
    library = _library()
    if library is None:
        yield
        return
    library.nvtxRangePushA(name.encode())
    try:
        yield
    finally:
        library.nvtxRangePop()
