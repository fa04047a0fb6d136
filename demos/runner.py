"""Runs a demo: in a window where there is a display, else into a GIF and a PNG.

A demo module has a docstring, `FRAMES` (how many are worth watching), and `build()`, a class or a function that makes
its fields and gives `frame(number)`: an image of shape (height, width, 3), floats in 0..1, top row first. `build` may
take sizes; attributes of `frame` are the fields and kernels in which the tests look whether the physics is right.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import weft
from weft.demos.playing import Clock, has_display, record, show

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
