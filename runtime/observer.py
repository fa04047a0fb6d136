"""Who is told what a device does: `lang/measure/recording.py`, while somebody records."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Observer"]


class Observer(Protocol):
    """Times are those of `time.perf_counter`, in seconds. `place` says which memory or which queue: "cpu", "GPU 0"."""

    def held(self, place: str, change: int, owner: str) -> None:
        """A buffer of `change` bytes was made for `owner`; freed, if that is negative."""
        ...

    def copied(self, what: str, size: int, began: float) -> None:
        """A copy of `size` bytes that began then has just ended."""
        ...

    def task(self, place: str, name: str, began: float, seconds: float) -> None:
        """A task of a kernel ran there."""
        ...
