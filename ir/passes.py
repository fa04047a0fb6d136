"""The register of passes.

A pass is `name(root, config) -> bool`: it rewrites the kernel in place and says whether it changed anything. Its
docstring opens with the picture: IR before, IR after, and when it must not fire.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.ir.config import CompileConfig
from weft.ir.ops import Kernel

__all__ = ["PASSES", "Pass", "pass_"]

Pass = Callable[[Kernel, CompileConfig], bool]
PASSES: dict[str, Pass] = {}


def pass_(name: str) -> Callable[[Pass], Pass]:
    """Register the decorated function as the pass `name`."""

    def register(function: Pass) -> Pass:
        PASSES[name] = function
        return function

    return register
