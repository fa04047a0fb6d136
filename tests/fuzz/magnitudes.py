"""How large the floats are that a kernel computes on the way. Differences say nothing about a program that computes the
sine of a large number, or goes through infinity, though its results may be small and seem to be smooth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from weft.ir.autodiff.companions import carries
from weft.ir.machine import RUNNERS
from weft.ir.ops import Binary, Unary

__all__ = ["Largest", "watched"]


class Largest:
    """The largest absolute value so far; infinite after a value that is none."""

    def __init__(self) -> None:
        self.value = 0.0

    def note(self, value: Any) -> None:
        """Compare it with a value."""
        size = np.max(np.abs(np.asarray(value, np.float64)), initial=0.0)
        self.value = max(self.value, float(size)) if np.isfinite(size) else np.inf


@contextmanager
def watched() -> Iterator[Largest]:
    """Within the context, the evaluator tells the largest result of operators on floats."""
    found = Largest()

    def watching(original: Callable[..., Any]) -> Callable[..., Any]:
        def compiled(machine: Any, op: Any) -> Any:
            run = original(machine, op)
            if not carries(op.type):
                return run

            def noted(env: Any) -> Any:
                value = run(env)
                found.note(value)
                return value

            return noted

        return compiled

    with patch.dict(RUNNERS, {kind: watching(RUNNERS[kind]) for kind in (Unary, Binary)}):
        yield found
