"""What a frame of the demos takes with pictures of 1024 x 1024: `python -m tests.bench.demo_frames [--features v3]`.

The times are those of the processor in milliseconds, the middle of many frames, without a display: computing by all
threads, drawing into the window by all threads, and both on the main thread. On two cores that nothing else uses, a
frame takes about the time of the main thread, and what the desktop needs to show it."""

from __future__ import annotations

import argparse
import importlib
import inspect
import time
from typing import Any
from unittest.mock import patch

import numpy as np

import weft as ti
from weft.demos.playing import upright

__all__ = ["SIZES", "milliseconds"]

SIDE, FRAMES, SECONDS = 1024, 40, 8.0  # of one demo
SIZES: dict[str, dict[str, int]] = {  # the constants that give a demo that many pixels
    "waves": {"WIDTH": SIDE, "HEIGHT": SIDE},
    "contours": {"SIZE": SIDE},
    "physarum": {"N": SIDE},
    "life": {"N": SIDE, "SCALE": 1},
    "fem": {"SIZE": SIDE, "FINE": 2 * SIDE},
    "mpm88": {"SIZE": SIDE},
    "galaxy": {"SIZE": SIDE},
    "heat": {"N": SIDE},
    "reaction": {"N": SIDE},
    "julia": {"WIDTH": SIDE, "HEIGHT": SIDE},
    "smoke": {"WIDTH": SIDE // 2, "HEIGHT": SIDE // 2},
    "mandelbrot": {"WIDTH": SIDE, "HEIGHT": SIDE},
    "raymarch": {"WIDTH": SIDE, "HEIGHT": SIDE},
    "cornell": {"SIZE": SIDE},
}


def milliseconds(name: str, sizes: dict[str, int], frames: int = FRAMES) -> tuple[float, float, float]:
    """Computing, drawing, and the main thread's part of both, for one demo with those constants."""
    module: Any = importlib.import_module(f"weft.demos.{name}")
    with patch.multiple(module, **sizes):
        times = _times(name, module, sizes, frames)
    compute, draw, main = 1e3 * np.median(times[1:], axis=0)  # the first one compiles what draws
    return float(compute), float(draw), float(main)


def _times(name: str, module: Any, sizes: dict[str, int], frames: int) -> list[tuple[float, float, float]]:
    known = inspect.signature(module.build).parameters
    frame = module.build(**{key.lower(): value for key, value in sizes.items() if key.lower() in known})
    image = frame(0)
    window = ti.ui.Window(name, upright(image).shape[:2], show_window=False)
    times: list[tuple[float, float, float]] = []
    began = time.perf_counter()
    for number in range(1, min(frames, module.FRAMES)):
        main, start = time.thread_time(), time.process_time()
        image = frame(number)
        middle = time.process_time()
        window.get_canvas().set_image(upright(image))
        window.show()
        times.append((middle - start, time.process_time() - middle, time.thread_time() - main))
        if number > 3 and time.perf_counter() - began > SECONDS:
            break
    window.destroy()
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", default="native", help="the instruction set; v3: at most AVX2")
    given = parser.parse_args()
    print(f"{'demo':14}{'computing':>11}{'drawing':>11}{'main thread':>13}")
    for name, sizes in SIZES.items():
        ti.init(arch=ti.cpu, cpu_features=given.features, log_level=ti.ERROR)
        compute, draw, part = milliseconds(name, sizes)
        print(f"{name:14}{compute:11.1f}{draw:11.1f}{part:13.1f}", flush=True)


if __name__ == "__main__":
    main()
