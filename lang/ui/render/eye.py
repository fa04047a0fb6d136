"""The view of a camera, in the form that kernels need.

Positions are relative to the eye: x to the right, y up, and the depth t straight ahead. The ray of a pixel reaches the
depth t at (X t, Y t) in perspective, and at (X, Y) without, where (X, Y) = (pixel - shift) / scale.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Eye"]


class Eye(NamedTuple):
    """`turn` (3, 3) and `move` (3,) map world positions, as rows, to eye positions. `lens` is the scale and the shift,
    (x, y, x, y), in pixels. `near` and `far` limit the visible depths. `flat` is 1 without perspective, else 0."""

    turn: Any
    move: Any
    lens: Any
    near: float
    far: float
    flat: int

    @property
    def position(self) -> Any:
        """The position in the world, (3,)."""
        return -self.turn @ self.move

    def sees(self, points: Any) -> Any:
        """Map world positions (n, 3) to eye positions."""
        with np.errstate(invalid="ignore", over="ignore"):  # positions that are not finite stay so
            return (points @ self.turn + self.move).astype(np.float32)

    def turned(self, directions: Any) -> Any:
        """Map world directions (n, 3) to eye directions."""
        return (directions @ self.turn).astype(np.float32)
