"""What `breakpoint()` calls, and which frames belong to the command `weft` that runs the program."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextvars import ContextVar
from types import FrameType

__all__ = ["HOOKS", "running", "wants_pdb"]

running: ContextVar[FrameType | None] = ContextVar("running", default=None)  # the frame that runs the program

HOOKS: list[Callable[..., object]] = [sys.__breakpointhook__]  # values of `sys.breakpointhook` that select pdb


def wants_pdb() -> bool:
    """Return whether `breakpoint()` selects Python's own debugger."""
    return os.environ.get("PYTHONBREAKPOINT", "") in ("", "pdb.set_trace")
