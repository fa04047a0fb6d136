"""What `breakpoint()` means, and which frames stand around the program: the command `weft` says so."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextvars import ContextVar
from types import FrameType

__all__ = ["HOOKS", "running", "wants_pdb"]

running: ContextVar[FrameType | None] = ContextVar("running", default=None)  # the frame that runs a program

HOOKS: list[Callable[..., object]] = [sys.__breakpointhook__]  # values of `sys.breakpointhook` that mean pdb


def wants_pdb() -> bool:
    """Whether nobody asked for a debugger other than Python's."""
    return os.environ.get("PYTHONBREAKPOINT", "") in ("", "pdb.set_trace")
