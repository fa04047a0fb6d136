"""Makes gallery.md, its pictures, and one of them all, demos.jpg: a frame of each demo, its sentence, its time.

Run it as `python docs/pictures/gallery.py`, or with names of demos to renew only their pictures and times.
"""

import importlib
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import weft
from weft.demos import runner

# Which frame of each demo is its picture; where in the frame it is, from 0 (left, top) to 1, if not in the middle.
FRAMES = (
    *(("mpm88", 110), ("mpm3d", 62), ("snow", 36), ("sph", 150), ("pbf", 32), ("stable_fluids", 60), ("smoke", 165)),
    ("plume", 100),
    *(("vortex_street", 210), ("fem", 60), ("cloth", 44), ("galaxy", 60), ("waves", 150), ("heat", 110)),
    *(("reaction", 150), ("physarum", 90), ("life", 120), ("cornell", 400), ("raymarch", 40), ("rasterizer", 8)),
    *(("mandelbrot", 60), ("julia", 120), ("contours", 50), ("filters", 30), ("seams", 60)),
    *(("superpixels", 60), ("sorting", 50), ("walker", 80), ("billiards", 110), ("lens", 60), ("focus", 169)),
    *(("skywriting", 170), ("drape", 79)),
)
PLACES = {
    "mpm88": (0.5, 1.0),
    "sph": (1.0, 1.0),
    "plume": (0.0, 1.0),
    "vortex_street": (0.25, 0.5),
    "fem": (0.5, 1.0),
    "cornell": (0.5, 0.7),
    "walker": (0.1, 0.5),
    "billiards": (1.0, 0.5),
    "lens": (1.0, 0.5),
    "drape": (1.0, 0.5),
}
ZOOM = {"galaxy": 1.3, "plume": 1.3}  # how much of a frame is cut off
SHOWN, COLUMNS, TILE = dict(FRAMES), 6, (200, 150)
APART = {"filters", "snow", "sorting"}  # not in the picture of all: what is left fills its rows
SIZE, PAGE = (320, 240), Path(__file__).parent.parent / "gallery.md"
HEAD = """# Gallery

{count} small programs of at most 150 lines, to read, to run and to change. Each shows one idea.

- `weft demo NAME` says what the demo shows and opens a window. Space pauses, R starts again, S saves a picture, H
  lists the keys, and Escape closes the window. Without a display, it computes all frames and writes the last one to
  `out/NAME.png`.
- `weft demo NAME --out FILE` writes a film if the name ends in `.mp4` or `.gif`.
- `weft demo NAME --arch cuda` runs on a GPU. `weft demo --help` lists `--out FILE`, `--frames N` and the other options.
- `weft example --save NAME` copies the source, so that you can change it and run it with `python NAME.py`.

"""
FOOT = """
## About the programs

The sources are in `demos/`. Each program is a class: first the fields, then the kernels, then what happens in a frame.
Some share palettes (`demos/palette.py`), a view of points in 3-D (`demos/balls.py`), meshes (`demos/meshes.py`), a
search for neighbours (`demos/cells.py`) and ways to learn (`demos/learning.py`). Most begin with their formulas and the
sources of these. `tests/demos` checks what 21 of them must preserve: energy, momentum, mass, symmetry, light. It
compares the gradients of those that learn with differences. The same seed gives the same picture. It is the same in
every digit, except where threads add floats to the same elements in any order (`mpm88`, `mpm3d`, `snow`, `sph`,
`galaxy`, `walker`, `lens`, `skywriting`, `drape`).

A time is that of one frame, simulation and drawing, on two AVX-512 cores: the fastest of the last thirty frames before
the picture. A frame of a program that learns is a round of learning: the simulation, its gradient and a picture. Other
programs used the machine at the same time, so the times may be too long by a factor of two.
`docs/pictures/gallery.py` makes this page and its pictures.
"""
CARD = """:::{{grid-item-card}} {title}
:img-top: pictures/gallery/{name}.jpg

{text}

{time:.3g} ms - `weft demo {name}`
:::
"""


def picture(name: str) -> tuple[Any, float]:
    """The frame as an image of SIZE, filled by its middle, and milliseconds for a frame or a round of learning."""
    weft.init(arch=weft.cpu, random_seed=1)
    module = importlib.import_module(f"weft.demos.{name}")
    frame, spent, timed = module.build(), list[float](), slice(-30, None)
    if hasattr(module, "ROUNDS"):
        timed = slice(1, module.ROUNDS)
    image: Any = None
    for number in range(SHOWN[name] + 1):
        start = time.perf_counter()
        image = frame(number)
        spent.append(1000 * (time.perf_counter() - start))
    return fitted(name, (np.clip(image, 0, 1) * 255).astype(np.uint8)), min(spent[timed])


def fitted(name: str, pixels: Any) -> Any:
    """The middle of the frame as an image of SIZE; of `filters`, the middle of each of its three panels."""
    height, width, _ = pixels.shape
    if name == "filters":
        panel, strip = (width - 16) // 3, height * SIZE[0] // SIZE[1] // 3
        starts = [k * (panel + 8) + (panel - strip) // 2 for k in range(3)]
        pixels = np.concatenate([pixels[:, start : start + strip] for start in starts], 1)
        height, width, _ = pixels.shape
    scale = min(width / SIZE[0], height / SIZE[1]) / ZOOM.get(name, 1.0)
    across, down = SIZE[0] * scale, SIZE[1] * scale
    left, top = (place * rest for place, rest in zip(PLACES.get(name, (0.5, 0.5)), (width - across, height - down)))
    box = (left, top, left + across, top + down)
    return Image.fromarray(pixels).resize(SIZE, Image.Resampling.LANCZOS, box)


def card(name: str, milliseconds: float) -> str:
    """The entry of a demo; its summary is `Title: text`."""
    title, _, text = runner.summary(name).partition(": ")
    return CARD.format(name=name, title=title, text=text[0].upper() + text[1:], time=milliseconds)


def together(folder: Path) -> Any:
    """The pictures in one."""
    names = [name for name, _ in FRAMES if name not in APART]
    sheet = Image.new("RGB", (COLUMNS * TILE[0], -(-len(names) // COLUMNS) * TILE[1]))
    for k, name in enumerate(names):
        with Image.open(folder / f"{name}.jpg") as image:
            tile = image.resize(TILE, Image.Resampling.LANCZOS)
        sheet.paste(tile, (k % COLUMNS * TILE[0], k // COLUMNS * TILE[1]))
    return sheet


def main(*names: str) -> None:
    """Renew these demos' pictures and times (all of them, without names), and the page."""
    known: dict[str, float] = {}
    if PAGE.exists():
        known = {name: float(ms) for ms, name in re.findall(r"([\d.]+) ms - `weft demo (\w+)`", PAGE.read_text())}
    folder = Path(__file__).parent / "gallery"
    folder.mkdir(exist_ok=True)
    for name in names or runner.NAMES:
        image, known[name] = picture(name)
        image.save(folder / f"{name}.jpg", quality=86, optimize=True)
        print(f"{name:14} {known[name]:8.2f} ms", flush=True)
    together(folder).save(folder.parent / "demos.jpg", quality=82, optimize=True)
    cards = "\n".join(card(name, known[name]) for name in runner.NAMES)
    grid = f"::::{{grid}} 1 2 3 3\n:gutter: 3\n\n{cards}::::\n"
    PAGE.write_text(HEAD.format(count=len(runner.NAMES)) + grid + FOOT, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
