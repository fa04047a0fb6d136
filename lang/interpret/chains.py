"""Chains of comparisons: each side is evaluated at most once, and only if the sides before it do not decide.

a < b < c       becomes     last_side("lt", c) if first_sides("lt", a, b) else chained()
"""

from __future__ import annotations

from typing import Any

from weft.lang.values.matrix import Matrix

__all__ = ["Chains"]


class Chains:
    """Part of `Semantics`, which the rewritten functions call."""

    def __init__(self) -> None:
        super().__init__()
        self._chains: list[tuple[Any, Any]] = []  # of each open chain: its value so far, and its last side

    def compare(self, kind: str, a: Any, b: Any) -> Any:
        """Evaluate one comparison, or "and" of two truth values."""
        raise NotImplementedError

    def first_sides(self, kind: str, a: Any, b: Any) -> bool:
        """Evaluate the first comparison. Returns whether the next side is evaluated."""
        return self._goes_on(self.compare(kind, a, b), b)

    def next_side(self, kind: str, side: Any) -> bool:
        """Evaluate the next comparison. Returns whether the side after it is evaluated."""
        found, before = self._chains.pop()
        return self._goes_on(self.compare("and", found, self.compare(kind, before, side)), side)

    def last_side(self, kind: str, side: Any) -> Any:
        """Return the value of the chain, whose last side this is."""
        found, before = self._chains.pop()
        return self.compare("and", found, self.compare(kind, before, side))

    def chained(self) -> Any:
        """Return the value of a chain that is decided before its last side."""
        return self._chains.pop()[0]

    def _goes_on(self, found: Any, side: Any) -> bool:
        self._chains.append((found, side))
        return isinstance(found, Matrix) or bool(found)  # each element of a vector has an answer of its own
