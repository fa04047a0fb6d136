"""Makes gallery.md, its pictures and films, and those of all demos together, demos.jpg and demos.webp.

Run it as `python docs/pictures/gallery.py`, or with names of demos to renew only theirs. With `--keep-times`, the times
stay as they are: use it on a machine that is not the one of the other times.
"""

import importlib
import io
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import weft
from weft.demos import runner
from weft.demos.playing import rows

# Which frame of each demo is its picture; where in the frame it is, from 0 (left, top) to 1, if not in the middle.
FRAMES = (
    *(("mpm88", 110), ("mpm3d", 62), ("snow", 59), ("sph", 150), ("pbf", 32), ("stable_fluids", 60), ("smoke", 165)),
    ("plume", 100),
    *(("vortex_street", 210), ("fem", 60), ("cloth", 44), ("galaxy", 60), ("waves", 150), ("heat", 110)),
    *(("reaction", 150), ("physarum", 90), ("life", 120), ("cornell", 400), ("sculptor", 199), ("raymarch", 40)),
    *(("rasterizer", 8), ("mandelbrot", 60), ("julia", 120), ("contours", 50), ("filters", 30), ("seams", 60)),
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
}
PANELS = {"filters": (3, 8), "lens": (2, 0)}  # pictures beside each other, and the pixels between them
WHOLE = {"drape"}  # nothing is cut off: the colour of the corner is above and below
ZOOM = {"galaxy": 1.3, "plume": 1.3}  # how much of a frame is cut off
SHOWN, COLUMNS, TILE = dict(FRAMES), 6, (200, 150)
APART = {"filters", "heat", "snow", "sorting"}  # not in the picture of all: what is left fills its rows
SIZE, PAGE = (320, 240), Path(__file__).parent.parent / "gallery.md"
MOVING, SHOTS, PAUSE = (256, 192), 36, 90  # a film: its size, how many frames it has, milliseconds for each
LARGEST, TOGETHER = 200_000, (150, 112)  # bytes of a film; the size of a film among those of all demos
HEAD = """# Gallery

{count} small programs of at most 150 lines, to read, to run and to change. Each shows one idea.

- `weft demo NAME` says what the demo shows and opens a window. Space pauses, R starts again, S saves a picture, H
  lists the keys, and Escape closes the window. In `sculptor`, the mouse is the brush. Without a display, it computes
  all frames and writes the last one to `out/NAME.png`.
- `weft demo NAME --out FILE` writes a film if the name ends in `.mp4` or `.gif`.
- `weft demo NAME --arch cuda` runs on a GPU. `weft demo --help` lists `--out FILE`, `--frames N` and the other options.
- `weft example --save NAME` copies the source, so that you can change it and run it with `python NAME.py`.

"""
FOOT = """
## About the programs

The sources are in `demos/`. Each program is a class: first the fields, then the kernels, then what happens in a frame.
Some share palettes (`demos/palette.py`), a view of points in 3-D (`demos/balls.py`), a camera that turns
(`demos/orbit.py`), voxels (`demos/voxels.py`), meshes (`demos/meshes.py`), a search for neighbours (`demos/cells.py`)
and ways to learn (`demos/learning.py`). Most begin with their formulas and the sources of these. `tests/demos` checks
what 22 of them must preserve: energy, momentum, mass, symmetry, light. It compares the gradients of those that learn
with differences. The same seed gives the same picture. It is the same in every digit, except where threads add floats
to the same elements in any order (`mpm88`, `mpm3d`, `snow`, `sph`, `galaxy`, `walker`, `lens`, `skywriting`, `drape`).

A time is that of one frame, simulation and drawing, on two AVX-512 cores: the fastest of the last thirty frames before
the picture. A frame of a program that learns is a round of learning: the simulation, its gradient and a picture. Other
programs used the machine at the same time, so the times may be too long by a factor of two. That of `sculptor` is half
of its processor time.
`docs/pictures/gallery.py` makes this page and its pictures.
"""
CARD = """:::{{grid-item-card}} {title}
:img-top: pictures/gallery/{name}.jpg

{text}

{time:.3g} ms - `weft demo {name}`
:::
"""


def play(name: str) -> tuple[Any, list[Any], float]:
    """The picture, the frames of the film, and milliseconds for a frame or a round of learning."""
    weft.init(arch=weft.cpu, random_seed=1)
    module = importlib.import_module(f"weft.demos.{name}")
    frame, spent, timed = module.build(), list[float](), slice(-30, None)
    if hasattr(module, "ROUNDS"):
        timed = slice(1, module.ROUNDS)
    last = max(module.FRAMES - 1, SHOWN[name])
    shots, still, film = {round(k * last / (SHOTS - 1)) for k in range(SHOTS)}, None, list[Any]()
    for number in range(last + 1):
        start = time.perf_counter()
        image = rows(frame(number))
        spent += [1000 * (time.perf_counter() - start)] if number <= SHOWN[name] else []
        pixels = (np.clip(image, 0, 1) * 255).astype(np.uint8)
        still = fitted(name, pixels, SIZE) if number == SHOWN[name] else still
        film += [fitted(name, pixels, MOVING)] if number in shots else []
    return still, film, min(spent[timed])


def fitted(name: str, pixels: Any, size: tuple[int, int]) -> Any:
    """The middle of the frame as an image of that size; the middle of each panel, if there are several."""
    height, width, _ = pixels.shape
    if name in WHOLE:
        bar = np.broadcast_to(pixels[0, 0], ((width * size[1] // size[0] - height) // 2, width, 3))
        pixels = np.concatenate([bar, pixels, bar])
    if name in PANELS:
        count, gap = PANELS[name]
        panel, strip = (width - gap * (count - 1)) // count, height * size[0] // size[1] // count
        starts = [k * (panel + gap) + (panel - strip) // 2 for k in range(count)]
        pixels = np.concatenate([pixels[:, start : start + strip] for start in starts], 1)
    height, width, _ = pixels.shape
    scale = min(width / size[0], height / size[1]) / ZOOM.get(name, 1.0)
    across, down = size[0] * scale, size[1] * scale
    left, top = (place * rest for place, rest in zip(PLACES.get(name, (0.5, 0.5)), (width - across, height - down)))
    box = (left, top, left + across, top + down)
    return Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS, box)


def film_of(frames: list[Any], largest: int) -> bytes:
    """The frames as a film that repeats, in the best of some qualities that takes at most so many bytes."""
    for quality in (60, 45, 30, 20, 10):
        made = io.BytesIO()
        first, *rest = frames
        how = {"duration": PAUSE, "loop": 0, "quality": quality, "method": 6, "minimize_size": True}
        first.save(made, "WEBP", save_all=True, append_images=rest, **how)
        if made.tell() <= largest:
            break
    return made.getvalue()


def frames_of(film: Path, size: tuple[int, int]) -> list[Any]:
    """The frames of a film that was written before, in another size."""
    with Image.open(film) as image:
        found = []
        for number in range(SHOTS):
            image.seek(min(number, image.n_frames - 1))
            found.append(image.convert("RGB").resize(size, Image.Resampling.LANCZOS))
    return found


def card(name: str, milliseconds: float) -> str:
    """The entry of a demo; its summary is `Title: text`."""
    title, _, text = runner.summary(name).partition(": ")
    return CARD.format(name=name, title=title, text=text[0].upper() + text[1:], time=milliseconds)


def together(tiles: list[Any]) -> Any:
    """Pictures of one size in one, in rows."""
    width, height = tiles[0].size
    sheet = Image.new("RGB", (COLUMNS * width, -(-len(tiles) // COLUMNS) * height))
    for k, tile in enumerate(tiles):
        sheet.paste(tile, (k % COLUMNS * width, k // COLUMNS * height))
    return sheet


def write_all(folder: Path) -> None:
    """The picture and the film of all demos."""
    names = [name for name, _ in FRAMES if name not in APART]
    stills = [Image.open(folder / f"{name}.jpg").resize(TILE, Image.Resampling.LANCZOS) for name in names]
    together(stills).save(folder.parent / "demos.jpg", quality=82, optimize=True)
    films = [frames_of(folder / f"{name}.webp", TOGETHER) for name in names]
    sheets = [together([film[k] for film in films]) for k in range(SHOTS)]
    (folder.parent / "demos.webp").write_bytes(film_of(sheets, 1_500_000))


def main(*given: str) -> None:
    """Renew these demos' pictures, films and times (all of them, without names), and the page."""
    names = [name for name in given if name != "--keep-times"]
    known: dict[str, float] = {}
    if PAGE.exists():
        known = {name: float(ms) for ms, name in re.findall(r"([\d.]+) ms - `weft demo (\w+)`", PAGE.read_text())}
    folder = Path(__file__).parent / "gallery"
    folder.mkdir(exist_ok=True)
    for name in names or runner.NAMES:
        still, film, milliseconds = play(name)
        known[name] = known.get(name, milliseconds) if "--keep-times" in given else milliseconds
        still.save(folder / f"{name}.jpg", quality=86, optimize=True)
        (folder / f"{name}.webp").write_bytes(film_of(film, LARGEST))
        print(f"{name:14} {milliseconds:8.2f} ms", flush=True)
    write_all(folder)
    cards = "\n".join(card(name, known[name]) for name in runner.NAMES)
    grid = f"::::{{grid}} 1 2 3 3\n:gutter: 3\n\n{cards}::::\n"
    PAGE.write_text(HEAD.format(count=len(runner.NAMES)) + grid + FOOT, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
