"""Kernels of Weft's own that are compiled on every arch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.lang.kernels.kernel import Kernel, kernel

__all__ = ["compiled_kernel"]


def compiled_kernel(function: Callable[..., Any]) -> Kernel:
    """Make `function` a kernel that is compiled also with `arch=python`, because kernels that run as Python need it."""
    made = kernel(function)
    made.compiles = True
    return made
