"""Makes the pictures of derivatives.md and derivatives-reference.md: learning.jpg, what demos show after some rounds of
learning; memory.png, what a bound of memory costs; gradient.png, a gradient in the explorer (needs a Chromium).

Run it as `python docs/pictures/derivatives.py`, or with the names of pictures: `learning`, `memory`, `gradient`.
"""

import importlib
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import weft as ti
from weft.demos.playing import rows

FOLDER = Path(__file__).parent
TILE = (300, 225)
# Frames of the demos, each a row; where in the frame its tile is, from 0 (left, top) to 1; how much of it is cut off.
ROWS = (
    ("walker", (0, 49), (0.0, 1.0), 1.0),
    ("lens", (0, 4, 12, 60), (1.0, 0.5), 1.0),
    ("focus", (0, 1, 8, 39), (1.0, 0.5), 1.0),
    ("skywriting", (0, 1, 10, 99), (0.5, 0.5), 1.0),
    ("drape", (0, 11, 30, 79), (1.0, 0.68), 1.3),
)


def learning() -> None:
    """Rows of pictures: what each demo shows after some rounds."""
    sheet = Image.new("RGB", (4 * TILE[0], len(ROWS) * TILE[1]))
    for row, (name, numbers, place, zoom) in enumerate(ROWS):
        ti.init(arch=ti.cpu, random_seed=1)
        frame = importlib.import_module(f"weft.demos.{name}").build()
        for number in range(numbers[-1] + 1):
            image = rows(frame(number))
            if number in numbers:
                tile = _tile(image, place, zoom, 4 // len(numbers))
                sheet.paste(tile, (numbers.index(number) * tile.width, row * TILE[1]))
    sheet.save(FOLDER / "learning.jpg", quality=84, optimize=True)


def _tile(image: Any, place: tuple[float, float], zoom: float, many: int) -> Any:
    """A part of the frame as an image of the size of so many tiles side by side."""
    height, width, _ = image.shape
    size = (many * TILE[0], TILE[1])
    scale = min(width / size[0], height / size[1]) / zoom
    across, down = size[0] * scale, size[1] * scale
    left, top = (part * rest for part, rest in zip(place, (width - across, height - down)))
    pixels = (np.clip(image, 0, 1) * 255).astype(np.uint8)
    return Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS, (left, top, left + across, top + down))


def memory() -> None:
    """The time of a gradient of 500 steps, by the memory that its copies may take."""
    from matplotlib import pyplot

    steps, states = 500, (4, 6, 9, 13, 18, 32, 64, 128, 256, 520)
    run = _simulation(512, steps)
    times = np.min([[run(count) for count in states] for _ in range(8)], 0)  # other programs may run meanwhile
    print(dict(zip(states, times.round(3).tolist())))
    figure, axes = pyplot.subplots(figsize=(7, 3.2), layout="constrained")
    axes.plot(states, times / times[-1], "o-", color="#d3622b")
    axes.set_xscale("log")
    axes.set_xticks(states, [str(count) for count in states])
    axes.minorticks_off()
    axes.set_xlabel(f"memory for copies, in states of the simulation ({steps} steps)")
    axes.set_ylabel("time of forward and reverse,\nas a multiple of that with all copies")
    axes.set_ylim(0)
    axes.grid(alpha=0.3)
    figure.savefig(FOLDER / "memory.png", dpi=110)


def _simulation(n: int, steps: int) -> Any:
    """A reaction and diffusion that overwrites its state, and the seconds that its gradient takes within so many states
    of memory."""
    ti.init(arch=ti.cpu)
    u, v = (ti.field(ti.f32, (n, n), needs_grad=True) for _ in range(2))
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def step(a: ti.Template, b: ti.Template):
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            around = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
            b[i, j] = a[i, j] + 0.2 * (around - 4 * a[i, j]) + 0.01 * a[i, j] * (1 - a[i, j])

    @ti.kernel
    def measure():
        for i, j in u:
            loss[None] += u[i, j] / (n * n)

    def run(count: int) -> float:
        u.fill(0.3)
        v.fill(0.3)
        start = time.perf_counter()
        with ti.ad.Tape(loss):
            for _ in ti.ad.steps(steps, memory=count * 2 * n * n * 4):
                step(u, v)
                step(v, u)
            measure()
        return time.perf_counter() - start

    return run


PROGRAM = """import weft as ti

ti.init(arch=ti.cpu)
x, y = (ti.field(ti.f32, 1000, needs_grad=True) for _ in range(2))


@ti.kernel
def bend():
    for i in range(1, 999):
        y[i] = ti.sin(x[i - 1]) + x[i + 1] ** 2


bend()
bend.grad()
"""


def gradient() -> None:
    """A gradient in the explorer, with the line of the stencil highlighted."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print("there is no Chromium: gradient.png stays as it is")
        return
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "bend.py").write_text(PROGRAM)
        command = [sys.executable, "-m", "weft", "explore", "bend.py:bend.grad", "-o", "page.html"]
        subprocess.run(command, cwd=folder, check=True)
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1366,768"]
        page = f"{(Path(folder) / 'page.html').as_uri()}#tab=chi&line=10&theme=light"
        subprocess.run([browser, *flags, f"--screenshot={FOLDER / 'gradient.png'}", page], check=True)


if __name__ == "__main__":
    for picture in sys.argv[1:] or ("learning", "memory", "gradient"):
        {"learning": learning, "memory": memory, "gradient": gradient}[picture]()
