"""How long a frame of `ti.ui` takes: `python -m tests.bench.scenes [--arch cuda] [NAME ...]`.

The best and the middle of many frames, in milliseconds: said, drawn and packed into bytes, without a display; `window`
puts them on the screen as well, and is left out where there is none. Scenes are 1280 x 720, images 1024 x 1024.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import weft as ti
from weft.lang.ui.desktop import has_display

FRAMES, WARM = 40, 3
IMAGE, SCENE = (1024, 1024), (1280, 720)
Draw = Callable[[Any, Any], None]  # of a canvas and a scene
rng = np.random.default_rng(0)


def _field(values: Any, kind: Any = ti.f32) -> Any:
    """A field of such numbers; a last axis of 3 becomes vectors."""
    vectors = values.ndim == 2
    field = ti.Vector.field(3, kind, len(values)) if vectors else ti.field(kind, len(values))
    field.from_numpy(values)
    return field


def _seen(draw: Callable[[Any], None]) -> Draw:
    """A scene with a camera and light, in which `draw` puts something."""
    camera = ti.ui.Camera()
    camera.position(0.5, 0.9, 2.2)
    camera.lookat(0.5, 0.45, 0.5)

    def frame(canvas: Any, scene: Any) -> None:
        scene.set_camera(camera)
        scene.ambient_light((0.25, 0.25, 0.25))
        scene.point_light((2, 3, 3), (0.9, 0.9, 0.9))
        draw(scene)
        canvas.scene(scene)

    return frame


def image() -> Draw:
    """A field of colours."""
    colors = ti.Vector.field(3, ti.f32, IMAGE)
    colors.from_numpy(rng.random((*IMAGE, 3)).astype(np.float32))
    return lambda canvas, _: canvas.set_image(colors)


def balls(count: int) -> Draw:
    """A box full of lit balls, which hide each other."""
    centers = _field(rng.random((count, 3)).astype(np.float32))
    return _seen(lambda scene: scene.particles(centers, radius=0.35 / count ** (1 / 3), color=(0.3, 0.6, 1.0)))


def mesh(triangles: int) -> Draw:
    """A wavy sheet."""
    n = round((triangles / 2) ** 0.5)
    x, z = (axis / n for axis in np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij"))
    places = _field(np.stack([x, 0.4 + 0.15 * np.sin(9 * x) * np.cos(7 * z), z], -1).reshape(-1, 3).astype(np.float32))
    first = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    corners = np.stack([first, first + n + 1, first + n + 2, first, first + n + 2, first + 1], -1)
    indices = _field(corners.ravel().astype(np.int32), ti.i32)
    return _seen(lambda scene: scene.mesh(places, indices, color=(0.9, 0.5, 0.3), two_sided=True))


def lines(count: int) -> Draw:
    """Short lines everywhere."""
    begins = rng.random((count, 1, 3))
    ends = begins + 0.04 * (rng.random((count, 1, 3)) - 0.5)
    places = _field(np.concatenate([begins, ends], 1).reshape(-1, 3).astype(np.float32))
    return _seen(lambda scene: scene.lines(places, width=2.0, color=(0.3, 1.0, 0.6)))


def circles(count: int) -> Draw:
    """Circles on the canvas, drawn over each other."""
    centers = rng.random((count, 2)).astype(np.float32)
    return lambda canvas, _: canvas.circles(centers, radius=0.003, color=(0.3, 0.6, 1.0))


CASES: dict[str, tuple[tuple[int, int], Callable[[], Draw]]] = {
    "image": (IMAGE, image),
    "window": (IMAGE, image),
    "circles_100k": (SCENE, lambda: circles(100_000)),
    "balls_1k": (SCENE, lambda: balls(1_000)),
    "balls_10k": (SCENE, lambda: balls(10_000)),
    "balls_100k": (SCENE, lambda: balls(100_000)),
    "balls_1M": (SCENE, lambda: balls(1_000_000)),
    "mesh_20k": (SCENE, lambda: mesh(20_000)),
    "lines_50k": (SCENE, lambda: lines(50_000)),
}


def milliseconds(name: str) -> list[float]:
    """Of each frame, after some that compile and make room."""
    size, case = CASES[name]
    draw, window, scene = case(), ti.ui.Window(name, size, show_window=name == "window"), ti.ui.Scene()
    spent = []
    for _ in range(WARM + FRAMES):
        start = time.perf_counter()
        draw(window.get_canvas(), scene)
        window.show()
        spent.append(1e3 * (time.perf_counter() - start))
    window.destroy()
    return spent[WARM:]


def main() -> None:
    """Measure what the command line names, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *CASES], metavar="NAME")
    parser.add_argument("--arch", choices=("cpu", "cuda"), default="cpu")
    given = parser.parse_args()
    ti.init(arch=getattr(ti, given.arch))
    print(f"{'':14}{'best':>8}{'middle':>8}   ms")
    for name in given.names or CASES:
        if name == "window" and not has_display():
            continue
        spent = milliseconds(name)
        print(f"{name:14}{min(spent):8.2f}{statistics.median(spent):8.2f}", flush=True)


if __name__ == "__main__":
    main()
