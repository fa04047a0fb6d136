"""Show launches as ranges in NVIDIA's tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from weft.runtime.nvtx import in_range

__all__ = ["named"]


def named(function: Callable[..., Any], run: Callable[..., Any]) -> Callable[..., Any]:
    """Return `run` wrapped in a range with the name and line of that kernel, for NVIDIA's tools."""
    code = function.__code__
    label = f"{function.__name__} ({Path(code.co_filename).name}:{code.co_firstlineno})"

    def launch(*args: Any) -> Any:
        with in_range(label):
            return run(*args)

    return launch
