"""The memory of hidden fields: what instrumentations keep of a program's fields (see `ir/storage/cell.py`).

A kernel has hidden fields beside its own, and at a launch is given the trees that they lie in as it is given all trees.
"""

from __future__ import annotations

from typing import Any

from weft.lang.data.marks import SLACK

__all__ = ["RaceShadow", "ShadowTree", "race_shadow", "shadows_kept"]

_RACES = "the race check (init(check_races=True))"


class ShadowTree:
    """One kind of shadow of all fields of a tree: zeroed memory laid out as that tree is. The tree keeps it."""

    def __init__(self, program: Any, kind: str, size: int, reach: int) -> None:
        self.program, self.kind = program, kind
        self._size, self._reach = size, reach
        self._buffer: Any = None

    def buffer(self) -> Any:
        """Its bytes, allocated at the first call."""
        if self._buffer is None:
            with self.program.lock:
                if self._buffer is None:
                    self._buffer = self.program.device.memory.allocate(self._size, self.kind, SLACK * self._reach)
        return self._buffer

    def let_go(self) -> Any:
        """Give up its bytes, and give them back; None if there are none."""
        before, self._buffer = self._buffer, None
        return before


class RaceShadow:
    """The shadow of the race check: one for all kernels of a program, since entries tell of earlier launches, too. It
    is as large as the largest launch so far wants."""

    def __init__(self, program: Any, words: int) -> None:
        self.program = program
        self._words, self._buffer = words, None

    def buffer(self, words: int = 0) -> Any:
        """Its bytes; at least so many words of 8 bytes. Where it grows it starts empty."""
        with self.program.lock:
            if self._buffer is None or self._words < words:
                self._buffer = None  # gone before the new one is asked for
                self._words = max(words, self._words)
                self._buffer = self.program.device.memory.allocate(8 * self._words, _RACES)
            return self._buffer


def shadows_kept(program: Any) -> tuple[str, ...]:
    """Which shadows the program keeps of each of its fields: rows of SHADOWS."""
    return ("marks",) if program.config.check_uninitialised else ()


def race_shadow(program: Any) -> RaceShadow:
    """That of the program."""
    from weft.ir.races import HEADER

    with program.lock:
        program.shadow = program.shadow or RaceShadow(program, HEADER)
        found: RaceShadow = program.shadow
        return found
