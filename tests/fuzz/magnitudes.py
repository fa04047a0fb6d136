"""What a kernel computes on the way: how large its floats are, and what it decides. Differences say nothing about a
program that computes the sine of a large number, or goes through infinity, though its results may be small and seem to
be smooth. They say nothing about one that decides otherwise a little ahead: `t * (1.5 % t)` has kinks everywhere near
0, which differences average."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from weft.ir.autodiff.companions import carries
from weft.ir.machine import RUNNERS
from weft.ir.ops import Binary, Cast, Unary

__all__ = ["Decisions", "Largest", "deciding", "watched"]

_STEPS = ("floor", "ceil", "round", "trunc", "floordiv", "sgn")  # operators on floats that jump


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


class Decisions:
    """What a run has decided, as one number: comparisons, roundings, and the pieces of functions that it was in."""

    def __init__(self) -> None:
        self.value = 0

    def note(self, value: Any) -> None:
        """One more decision."""
        self.value = hash((self.value, np.asarray(value).tobytes()))


@contextmanager
def deciding() -> Iterator[Decisions]:
    """Within the context, the evaluator tells what it decides."""
    found = Decisions()

    def noting(original: Callable[..., Any]) -> Callable[..., Any]:
        def compiled(machine: Any, op: Any) -> Any:
            run, piece = original(machine, op), _piece(machine, op)

            def noted(env: Any) -> Any:
                value = run(env)
                if piece is not None:
                    found.note(piece(env, value))
                return value

            return noted

        return compiled

    with patch.dict(RUNNERS, {kind: noting(RUNNERS[kind]) for kind in (Unary, Binary, Cast)}):
        yield found


def _piece(machine: Any, op: Any) -> Callable[[Any, Any], Any] | None:
    """What tells the pieces of an operator apart, between which it jumps or has a kink; None if it has one piece."""
    operands = [machine.slot(operand) for operand in op.operands]
    if not carries(op.type) or (isinstance(op, (Unary, Binary)) and op.kind in _STEPS):
        return lambda env, value: value
    if isinstance(op, Binary) and op.kind in ("min", "max"):
        return lambda env, value: np.asarray(env[operands[0]] < env[operands[1]])
    if isinstance(op, Binary) and op.kind in ("mod", "raw_mod"):
        return lambda env, value: np.round((env[operands[0]] - value) / env[operands[1]])
    if isinstance(op, Unary) and op.kind == "abs":
        return lambda env, value: np.asarray(env[operands[0]] < 0)
    return None
