"""The memory of hidden fields, in which instrumentation stores data about a program's fields (`ir/storage/cell.py`).

A kernel has hidden fields besides its own. A launch passes the trees of hidden fields as it passes all trees."""

from __future__ import annotations

from typing import Any

from weft.lang.data.marks import SLACK

__all__ = ["RaceShadow", "ShadowTree", "race_shadow", "shadows_kept"]

_RACES = "the race check (init(check_races=True))"


class ShadowTree:
    """One kind of shadow for all fields of a tree: zeroed memory with the layout of that tree. The tree owns it."""

    grown, may_grow = 0, False  # see `FieldTree`

    def __init__(self, program: Any, kind: str, size: int, reach: int) -> None:
        self.program, self.kind = program, kind
        self._size, self._reach = size, reach
        self._buffer: Any = None

    def buffer(self) -> Any:
        """The bytes of the shadow, allocated at the first call."""
        if self._buffer is None:
            with self.program.lock:
                if self._buffer is None:
                    self._buffer = self.program.device.memory.allocate(self._size, self.kind, SLACK * self._reach)
        return self._buffer

    def let_go(self) -> Any:
        """Give up the bytes and return them. None if there are none."""
        before, self._buffer = self._buffer, None
        return before


class RaceShadow:
    """The shadow of the race check. All kernels of a program share it, because its entries refer to earlier launches
    too. It is as large as the largest launch so far needs."""

    grown, may_grow = 0, False  # see `FieldTree`

    def __init__(self, program: Any, words: int) -> None:
        self.program = program
        self._words, self._buffer = words, None

    def buffer(self, words: int = 0) -> Any:
        """The bytes of the shadow, at least `words` words of 8 bytes. When it grows, it starts empty."""
        with self.program.lock:
            if self._buffer is None or self._words < words:
                self._buffer = None  # freed before the new one is allocated
                self._words = max(words, self._words)
                self._buffer = self.program.device.memory.allocate(8 * self._words, _RACES)
            return self._buffer


def shadows_kept(program: Any) -> tuple[str, ...]:
    """The kinds of shadows that the program keeps for each field: rows of SHADOWS."""
    return ("marks",) if program.config.check_uninitialised else ()


def race_shadow(program: Any) -> RaceShadow:
    """The race shadow of the program."""
    from weft.ir.races import HEADER

    with program.lock:
        program.shadow = program.shadow or RaceShadow(program, HEADER)
        found: RaceShadow = program.shadow
        return found
