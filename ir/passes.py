"""The registry of passes.

A pass is a function `name(root, config) -> bool`. It rewrites the kernel in place and returns whether it changed
anything. Its docstring says what it does, shows IR before and after, and says when it does not apply.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from time import perf_counter

from weft.ir.config import CompileConfig
from weft.ir.ops import Kernel

__all__ = ["OBSERVER", "PASSES", "Observer", "Pass", "pass_"]

Pass = Callable[[Kernel, CompileConfig], bool]
PASSES: dict[str, Pass] = {}

# Called after each pass, the nested ones (`cse` in `full_simplify`) included: name, kernel, changed, when it began and
# when it ended, by `time.perf_counter`.
Observer = Callable[[str, Kernel, bool, float, float], None]
OBSERVER: ContextVar[Observer | None] = ContextVar("OBSERVER", default=None)


def pass_(name: str) -> Callable[[Pass], Pass]:
    """Register the decorated function as the pass `name`. An observing pipeline is notified of every run of it."""

    def register(function: Pass) -> Pass:
        @wraps(function)
        def run(root: Kernel, config: CompileConfig) -> bool:
            observe = OBSERVER.get()
            if observe is None:
                return function(root, config)
            began = perf_counter()
            changed = function(root, config)
            observe(name, root, changed, began, perf_counter())
            return changed

        PASSES[name] = run
        return run

    return register
