"""Show the frames of a window below the running cell of a notebook.

Each frame replaces the one before. Frames that come faster than the notebook takes them are left out; the last frame of
a cell is always shown. A frame in a later cell is shown below that cell."""

from __future__ import annotations

import io
import time
from typing import Any

from weft.lang.notebook.cells import Place, shell

__all__ = ["Png", "Screen"]

_FASTEST = 1 / 30  # seconds between two frames
_SHARE = 2  # as many times as long as it takes to encode a frame, the program runs undisturbed


class Png:
    """A picture that a notebook shows."""

    def __init__(self, picture: Any) -> None:
        self.picture = picture

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.picture.convert("RGB").save(file, "png", compress_level=1)
        return file.getvalue()

    def __repr__(self) -> str:
        return f"<picture of {self.picture.width} x {self.picture.height} pixels>"


class Screen:
    """The place where a window shows its frames. `left_out` counts the frames that were not shown."""

    def __init__(self) -> None:
        self._place: Place | None = None
        self._waiting: Any = None
        self._next = 0.0
        self.left_out = 0

    def show(self, picture: Any) -> None:
        """Show a pillow image. It may be drawn over afterwards."""
        now = time.perf_counter()
        if self._place is not None and now < self._next:
            self.left_out += self._waiting is not None
            self._waiting = picture.copy()
            return
        if self._place is None:
            self._place = Place()
            shell().events.register("post_run_cell", self._end)
        self._waiting = None
        self._place.show(Png(picture))
        ended = time.perf_counter()
        self._next = ended + max(_FASTEST, _SHARE * (ended - now))

    def _end(self, *_: object) -> None:
        """The cell has ended: show the last frame."""
        shell().events.unregister("post_run_cell", self._end)
        if self._place is not None and self._waiting is not None:
            self._place.show(Png(self._waiting))
        self._place = self._waiting = None
