"""Runs a demo: in a window where there is a display, else into a GIF and a PNG.

A demo module has a docstring, `FRAMES` (how many are worth watching), and `build()`, a class or a function that makes
its fields and gives `frame(number)`: an image of shape (height, width, 3), floats in 0..1, top row first. `build` may
take sizes; attributes of `frame` are the fields and kernels in which the tests look whether the physics is right.
"""

from __future__ import annotations

import ast
import importlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import weft

__all__ = ["NAMES", "play", "run", "start", "summary"]

NAMES = (
    *("mpm88", "mpm3d", "sph", "pbf", "stable_fluids", "smoke", "vortex_street"),  # fluids and what is like them
    *("fem", "cloth", "galaxy", "waves", "heat", "reaction", "physarum", "life"),  # solids, stars, fields, patterns
    *("cornell", "raymarch", "rasterizer", "mandelbrot", "julia"),  # pictures that are computed
    *("contours", "filters", "seams", "superpixels", "sorting"),  # algorithms on images and arrays
)
FOLDER = Path(__file__).parent


def summary(name: str) -> str:
    """The first line of a demo's docstring, read without running it."""
    text = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text()))
    return (text or name).splitlines()[0]


def start(name: str, arch: str = "cpu") -> Callable[[int], Any]:
    """`frame` of demo `name`, on that arch."""
    weft.init(arch=getattr(weft, arch))
    frame: Callable[[int], Any] = importlib.import_module(f"weft.demos.{name}").build()
    return frame


def run(name: str, arch: str = "cpu", frames: int = 0, out: str = "") -> dict[str, Any]:
    """Run demo `name` on that arch; see `play`."""
    frame = start(name, arch)
    return play(frame, frames or importlib.import_module(f"weft.demos.{name}").FRAMES, f"{name} on {arch}", out)


def play(frame: Callable[[int], Any], frames: int, title: str = "", out: str = "") -> dict[str, Any]:
    """Show `frame(0)`, `frame(1)` ... so many of them. `out` names a .gif or .png to write instead; without it, and
    without a display, both go to `out/`. `title`, which begins with the files' name, is the program's if left out.

    Returns what was measured: frames, frames per second (simulation and drawing, not display), files written."""
    title, clock = title or Path(sys.argv[0]).stem, Clock()
    images, files = clock.timed(frame, frames), list[Path]()
    if out or not has_display():
        both = [Path("out") / f"{title.split()[0]}{end}" for end in (".gif", ".png")]
        files = record(images, frames, [Path(out)] if out else both)
    else:
        show(images, title, clock)
    print(f"\r{title}: {clock.frames} frames, {clock.rate():.1f} frames per second" + " " * 20)
    for path in files:
        print(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)")
    return {"frames": clock.frames, "fps": clock.rate(), "files": [str(path) for path in files]}


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
