"""The interface that a device reports its work to. While a recording is active, `lang/measure/recording.py` implements
it."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Observer"]


class Observer(Protocol):
    """Receives what a device does. Times are in seconds, from `time.perf_counter`. `place` names the memory or the
    queue: "cpu", "GPU 0"."""

    def held(self, place: str, change: int, owner: str) -> None:
        """A buffer of `change` bytes was allocated for `owner`, or freed if `change` is negative."""
        ...

    def copied(self, what: str, size: int, began: float) -> None:
        """A copy of `size` bytes, which began at the given time, has just ended."""
        ...

    def task(self, place: str, name: str, began: float, seconds: float) -> None:
        """A task of a kernel ran at that place."""
        ...
