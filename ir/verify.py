"""The verifier: one spec per level."""

from __future__ import annotations

from weft.ir.ops import LEVELS, Kernel

__all__ = ["verify"]


def verify(kernel: Kernel, level: str) -> None:
    """To come."""
    assert level in LEVELS or kernel
