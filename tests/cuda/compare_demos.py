"""Runs each demo for some frames on the CPU and on the GPU, compares the pictures, and keeps the GPU's.

python tests/cuda/compare_demos.py [folder for the pictures]
"""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import weft as ti
from weft.demos.playing import rows
from weft.demos.runner import NAMES

FRAMES = 3


def frames(name: str, arch: str) -> tuple[list[Any], float, float]:
    """The pictures, seconds to the first one, seconds for each of the others."""
    ti.init(arch=arch, enable_fallback=False)
    start = time.perf_counter()
    frame = importlib.import_module(f"weft.demos.{name}").build()
    images = [np.array(rows(frame(0)))]
    first = time.perf_counter()
    images += [np.array(rows(frame(number))) for number in range(1, FRAMES)]
    return images, first - start, (time.perf_counter() - first) / (FRAMES - 1)


def main(folder: str = "") -> None:
    """One line for each demo."""
    print(f"{'demo':16}{'max':>9}{'pixels off':>12}{'cpu first':>11}{'next':>9}{'cuda first':>12}{'next':>9}")
    for name in NAMES:
        try:
            here, *slow = frames(name, ti.cpu)
            there, *fast = frames(name, ti.cuda)
        except Exception as error:
            print(f"{name:16}{type(error).__name__}: {str(error)[:300]}")
            continue
        apart = np.abs(here[-1] - there[-1])
        off = float((apart.max(-1) > 0.02).mean())
        print(f"{name:16}{apart.max():9.2g}{off:12.3%}{slow[0]:11.2f}{slow[1]:9.4f}{fast[0]:12.2f}{fast[1]:9.4f}")
        if folder:
            from PIL import Image

            Path(folder).mkdir(parents=True, exist_ok=True)
            Image.fromarray((np.clip(there[-1], 0, 1) * 255).astype(np.uint8)).save(Path(folder) / f"{name}.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
