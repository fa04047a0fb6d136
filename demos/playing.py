"""How frames get to be seen, and how fast they come."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Clock", "has_display", "record", "show"]


class Clock:
    """Measures the demo itself: the first frame, which compiles, is told apart."""

    def __init__(self) -> None:
        self.frames, self.first, self.rest = 0, 0.0, 0.0

    def timed(self, frame: Callable[[int], Any], count: int) -> Iterator[Any]:
        """The images of frames 0 .. count-1, timed one by one."""
        for number in range(count):
            start = time.perf_counter()
            image = frame(number)
            spent = time.perf_counter() - start
            self.frames += 1
            if number:
                self.rest += spent
            else:
                self.first = spent
            if sys.stdout.isatty():
                print(f"\rframe {number + 1}/{count}, {self.rate():.1f} frames per second", end="", flush=True)
            yield image

    def rate(self) -> float:
        """Frames per second after the first frame."""
        return (self.frames - 1) / self.rest if self.rest else 1 / max(self.first, 1e-9)


def has_display() -> bool:
    """Whether a window can open: always on macOS and Windows, with an X or Wayland display elsewhere."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def record(images: Iterator[Any], count: int, paths: list[Path]) -> list[Path]:
    """Write the images: a .gif gets (at most 120 of) the frames, anything else the last one."""
    from PIL import Image

    kept: list[Any] = []
    stride, last = -(-count // 120), None
    for number, image in enumerate(images):
        last = Image.fromarray((np.clip(image, 0, 1) * 255).astype(np.uint8))
        if number % stride == 0:
            colors = last.quantize(256)  # dithered, since smooth shades would show as bands
            kept.append(last.quantize(palette=colors, dither=Image.Dither.FLOYDSTEINBERG))
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".gif":
            kept[0].save(path, save_all=True, append_images=kept[1:], duration=40 * stride, loop=0, optimize=False)
        elif last is not None:
            last.save(path)
    return paths


def show(images: Iterator[Any], title: str, clock: Clock) -> None:
    """A window that plays the images until they end or it is closed."""
    import matplotlib.pyplot as plt

    figure: Any = None
    for image in images:
        if figure is None:
            height, width = image.shape[:2]
            figure = plt.figure(figsize=(width / 80, height / 80), dpi=80)
            canvas = figure.add_axes((0, 0, 1, 1)).imshow(image, interpolation="nearest")
            plt.axis("off")
            plt.show(block=False)
        if not plt.fignum_exists(figure.number):
            return
        canvas.set_data(image)
        figure.canvas.manager.set_window_title(f"{title} - {clock.rate():.0f} frames per second")
        plt.pause(0.001)
