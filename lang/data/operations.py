"""Calls of several launches that have a gradient as a whole, such as the solution of a linear system.

The blocks of `ti.ad` do not see the launches of such a call, but the call."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from weft.lang.data.writes import LISTENERS, Listener

__all__ = ["Duals", "Gradients", "Operation", "perform", "unheard"]


class Gradients(Protocol):
    """How a block computes gradients."""

    def gradient_of(self, memory: Any) -> Any:
        """The gradient of a field or ndarray. None if it has none."""

    def run_gradient(self, kernel: Any, args: tuple[Any, ...]) -> None:
        """Add to the gradients of what the kernel reads, from the gradients of what it writes."""


class Duals(Protocol):
    """How a block computes duals."""

    def dual_of(self, memory: Any) -> Any:
        """The dual of a field or ndarray. None if it has none."""

    def run_dual(self, kernel: Any, args: tuple[Any, ...]) -> None:
        """Run a kernel that computes duals beside values."""


@dataclass
class Operation:
    """A call that reads and writes this memory. `run` makes it. `kernel`, if there is one, is launched in it, with such
    `args`, and reads more memory: the parameters, which are not its `own` memory. `back(gradients, parameters)` adds to
    the gradients of what is read, from the gradients of what is written. It needs the values of the parameters, and of
    `needs`. `ahead(duals)` comes after `run`, and computes the duals of what is written; None: forward mode refuses the
    call, if a derivative flows through it. `fresh`: it has made what it writes. Messages call it `name`."""

    name: str
    run: Callable[[], Any]
    back: Callable[[Gradients, Sequence[Any]], None]
    reads: Sequence[Any]
    writes: Sequence[Any]
    needs: Sequence[Any]
    kernel: Any = None
    args: tuple[Any, ...] = ()
    own: Sequence[Any] = ()
    fresh: bool = False
    ahead: Callable[[Duals], None] | None = None


@contextmanager
def unheard() -> Generator[None]:
    """Let no block of `ti.ad` see what this thread does."""
    token = LISTENERS.set(())
    try:
        yield
    finally:
        LISTENERS.reset(token)


def perform(operation: Operation) -> Any:
    """Run an operation. The open blocks of this thread record it, the innermost first."""
    return _through(LISTENERS.get(), operation)


def _through(listeners: tuple[Listener, ...], operation: Operation) -> Any:
    if not listeners:
        with unheard():
            return operation.run()
    *outer, innermost = listeners
    return innermost.operate(operation, lambda: _through(tuple(outer), operation))
