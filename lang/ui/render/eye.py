"""What a camera sees, as kernels want it.

Positions are those of the eye: x to the right, y up, and the depth t straight ahead. The ray of a pixel meets the
depth t at (X t, Y t) in perspective, at (X, Y) without, where (X, Y) = (pixel - shift) / scale.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Eye"]


class Eye(NamedTuple):
    """`turn` (3, 3) and `move` (3,) take the world's positions, as rows, to those of the eye; `lens`: the scale and the
    shift, (x, y, x, y), in pixels; `near`, `far`: the depths that are seen; `flat`: 1 without perspective, else 0."""

    turn: Any
    move: Any
    lens: Any
    near: float
    far: float
    flat: int

    @property
    def position(self) -> Any:
        """Where it is in the world, (3,)."""
        return -self.turn @ self.move

    def sees(self, points: Any) -> Any:
        """Positions of the world (n, 3) as the eye's."""
        with np.errstate(invalid="ignore", over="ignore"):  # what is nowhere stays so
            return (points @ self.turn + self.move).astype(np.float32)

    def turned(self, directions: Any) -> Any:
        """Directions of the world (n, 3) as the eye's."""
        return (directions @ self.turn).astype(np.float32)
