"""Runs a demo: in a window where there is a display, else into a PNG file.

A demo module has a docstring, `FRAMES` (how many are worth watching), and `build()`, a class or a function that makes
its fields and gives `frame(number)`: an image in a field of vectors, with y up, or an array of shape (height, width,
3), top row first, of floats in 0..1. The next frame may use the same field again. `build` may take sizes; attributes of
`frame` are the fields and kernels in which the tests look whether the physics is right. In a window,
`frame.steer(window)`, if there is one, is called before each frame, and `frame.keys` says which keys it reads.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import weft
from weft.demos.playing import Clock, keys_of, show
from weft.demos.recording import record
from weft.lang.notebook.cells import in_notebook
from weft.lang.ui.desktop import has_display

__all__ = ["NAMES", "about", "play", "run", "start", "summary"]

NAMES = (
    *(
        "mpm88",
        "mpm3d",
        "snow",
        "sph",
        "pbf",
        "stable_fluids",
        "smoke",
        "plume",
        "vortex_street",
    ),  # fluids and what is like them
    *("fem", "cloth", "galaxy", "waves", "heat", "reaction", "physarum", "life"),  # solids, stars, fields, patterns
    *("cornell", "sculptor", "raymarch", "rasterizer", "mandelbrot", "julia"),  # pictures that are computed
    *("walker", "billiards", "lens", "focus", "skywriting", "drape"),  # what learns by derivatives
    *("contours", "filters", "seams", "superpixels", "sorting"),  # algorithms on images and arrays
)
FOLDER = Path(__file__).parent


def summary(name: str) -> str:
    """The first line of a demo's docstring, read without running it."""
    return about(name).splitlines()[0]


def about(name: str) -> str:
    """The docstring of a demo, read without running it."""
    return ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))) or name


def start(name: str, arch: str = "cpu") -> Callable[[int], Any]:
    """`frame` of demo `name`, on that arch."""
    weft.init(arch=getattr(weft, arch))
    frame: Callable[[int], Any] = importlib.import_module(f"weft.demos.{name}").build()
    return frame


def run(name: str, arch: str = "cpu", frames: int = 0, out: str = "") -> dict[str, Any]:
    """Say what demo `name` shows, and run it on that arch; see `play`."""
    print(f"{about(name)}\n", flush=True)
    frame, module = start(name, arch), importlib.import_module(f"weft.demos.{name}")
    return play(frame, frames or module.FRAMES, f"{name} on {arch}", out, module.build)


def play(
    frame: Callable[[int], Any],
    frames: int,
    title: str = "",
    out: str = "",
    again: Callable[[], Callable[[int], Any]] | None = None,
) -> dict[str, Any]:
    """Show `frame(0)`, `frame(1)` ... in a window. After that many `frames`, `again()` (default: `type(frame)()`) makes
    the demo anew. Without a display, or with `out`, compute that many frames and write them to the file `out`, a .gif
    or .mp4, or the last of them, as a .png. The default is `out/<name>.png`. `title`, which begins with the name, is
    the program's if left out.

    Returns what was measured: frames, frames per second (simulation and drawing, not display), the file written."""
    title, clock, path = title or Path(sys.argv[0]).stem, Clock(), None
    if not out and (has_display() or in_notebook()):
        print("\n".join(f"  {key:<12}{what}" for key, what in keys_of(frame)), flush=True)
        anew: Any = type(frame)
        show(frame, frames, again or anew, title, clock)
    else:
        path = Path(out) if out else Path("out") / f"{title.split()[0]}.png"
        if not out:
            print(f"there is no display for a window: computing {frames} frames for {path}", flush=True)
        record(frame, frames, path, clock)
    print(f"{title}: {clock.frames} frames, {clock.rate():.1f} frames per second")
    if path is not None:
        print(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)", flush=True)
    return {"frames": clock.frames, "fps": clock.rate(), "files": [] if path is None else [str(path)]}
