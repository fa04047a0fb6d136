"""Launches as ranges that NVIDIA's tools show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from weft.runtime.nvtx import in_range

__all__ = ["named"]


def named(function: Callable[..., Any], run: Callable[..., Any]) -> Callable[..., Any]:
    """`run` in a range of that kernel's name and line, for NVIDIA's tools."""
    code = function.__code__
    label = f"{function.__name__} ({Path(code.co_filename).name}:{code.co_firstlineno})"

    def launch(*args: Any) -> Any:
        with in_range(label):
            return run(*args)

    return launch
