"""Show the frames of a demo in a window with keys."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import weft

__all__ = ["KEYS", "Clock", "keys_of", "rows", "show", "upright"]

KEYS = (
    ("Space", "pause, or go on"),
    ("Right", "one frame, while paused"),
    ("R", "start again"),
    ("S", "save the picture in the folder out"),
    ("H", "show these keys"),
    ("Escape", "close the window"),
)


def rows(image: Any) -> Any:
    """The image of a frame as an array of shape (height, width, 3), top row first, of floats in 0..1."""
    if isinstance(image, np.ndarray):
        return image
    return np.clip(image.to_numpy(), 0, 1).swapaxes(0, 1)[::-1]


def upright(image: Any) -> Any:
    """The image of a frame as `set_image` of a canvas takes it. Fields are not copied."""
    if isinstance(image, np.ndarray):
        return np.ascontiguousarray(image[::-1].swapaxes(0, 1), np.float32)
    return image


class Clock:
    """Counts the frames of a demo, and the seconds that it computed them. The first frame, which compiles, is counted
    apart."""

    def __init__(self) -> None:
        self.frames, self.first, self.rest = 0, 0.0, 0.0

    def timed(self, frame: Callable[[int], Any], number: int) -> Any:
        """Compute that frame."""
        start = time.perf_counter()
        image = frame(number)
        spent = time.perf_counter() - start
        self.frames += 1
        if self.frames > 1:
            self.rest += spent
        else:
            self.first = spent
        return image

    def rate(self) -> float:
        """Frames per second after the first frame."""
        return (self.frames - 1) / self.rest if self.rest else 1 / max(self.first, 1e-9)


class _Player:
    """The state of a window: the next frame's number, and whether it is paused."""

    def __init__(self, name: str) -> None:
        self.name, self.number, self.saved = name, 0, 0
        self.paused = self.single = self.restarts = self.helps = False

    def press(self, key: str | None, window: Any) -> None:
        """React to a key."""
        if key == weft.ui.ESCAPE:
            window.running = False
        elif key == weft.ui.SPACE:
            self.paused = not self.paused
        elif key == weft.ui.RIGHT:
            self.single = True
        elif key == "r":
            self.restarts = True
        elif key == "h":
            self.helps = not self.helps
        elif key == "s":
            self.saved += 1
            path = Path("out") / f"{self.name}-{self.saved:04d}.png"
            path.parent.mkdir(exist_ok=True)
            window.save_image(str(path))
            print(f"wrote {path}", flush=True)


def show(
    frame: Callable[[int], Any], count: int, again: Callable[[], Callable[[int], Any]], title: str, clock: Clock
) -> None:
    """Play the frames in a window until the user closes it. After `count` frames, `again` makes the demo anew, unless
    the user steers it."""
    player = _Player(title.split()[0])
    image = clock.timed(frame, 0)
    window = weft.ui.Window(title, upright(image).shape[:2], vsync=True)
    canvas = window.get_canvas()
    while window.running:
        canvas.set_image(upright(image))
        for event in window.get_events(weft.ui.PRESS):
            player.press(event.key, window)
        if not window.running:
            break
        if player.helps:
            _show_keys(window, keys_of(frame))
        window.show()
        window.title = f"{title} - {clock.rate():.0f} frames per second - H shows the keys"
        steer = getattr(frame, "steer", None)
        if player.restarts or (player.number + 1 == count and steer is None):
            frame, player.number, player.restarts = again(), -1, False
        if not player.paused or player.single or player.number < 0:
            player.number, player.single = player.number + 1, False
            if steer is not None:
                steer(window)
            image = clock.timed(frame, player.number)
    window.destroy()


def keys_of(frame: Any) -> tuple[tuple[str, str], ...]:
    """The keys of a demo, and what they do: its own ones first."""
    return (*getattr(frame, "keys", ()), *KEYS)


def _show_keys(window: Any, keys: tuple[tuple[str, str], ...]) -> None:
    with window.get_gui().sub_window("Keys", 0.02, 0.02, 0.5, 0.1) as gui:
        for key, what in keys:
            gui.text(f"{key}: {what}")
