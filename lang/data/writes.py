"""Who hears of what Python writes to fields and ndarrays: the open blocks of `ti.ad`.

`fill`, `from_numpy`, `copy_from` and assignments to elements tell them, because a gradient that runs later may need the
old values, and the new values carry no derivative, or that of the source."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Protocol

__all__ = ["LISTENERS", "Listener", "derivatives_wanted", "tell", "tell_element"]


class Listener(Protocol):
    """An open block of `ti.ad`. `records`: it is a tape. `has_duals`: launches in it compute duals. `whole`: it
    differentiates a whole function, and makes the gradients and duals that are missing."""

    records: bool
    has_duals: bool
    whole: bool

    def write(self, target: Any, source: Any, again: Callable[[], None]) -> None:
        """All elements of `target` will be written: those of `source`, or numbers if it is None. `again` does it
        again."""

    def write_element(self, target: Any, index: tuple[int, ...], part: Any, again: Callable[[], None]) -> None:
        """An element of `target` will be written, or a part of a vector or matrix. (None: all of it.)"""

    def take(self, name: str, memory: Any) -> None:
        """Python takes numbers that `name` computes from this memory. Raises WeftError if they carry a derivative,
        which would be lost."""

    def operate(self, operation: Any, run: Callable[[], Any]) -> Any:
        """Run an `Operation` (`operations.py`): `run()` runs it."""


def derivatives_wanted() -> dict[str, bool]:
    """The options with which the open blocks of this thread want a new ndarray to be made."""
    every = [one for one in LISTENERS.get() if not one.whole]  # the others make what is missing
    return {"needs_grad": any(one.records for one in every), "needs_dual": any(one.has_duals for one in every)}


LISTENERS: ContextVar[tuple[Listener, ...]] = ContextVar("weft.writes", default=())  # of this thread


def tell(target: Any, source: Any, again: Callable[[], None]) -> None:
    """Tell the open blocks of this thread that Python writes all elements of a field or ndarray. The innermost one is
    told first: it may keep what is there, also duals that those around it set then."""
    for one in reversed(LISTENERS.get()):
        one.write(target, source, again)


def tell_element(target: Any, index: tuple[int, ...], part: Any, again: Callable[[], None]) -> None:
    """Tell the open blocks of this thread that Python writes an element of a field or ndarray, the innermost first."""
    for one in reversed(LISTENERS.get()):
        one.write_element(target, index, part, again)
