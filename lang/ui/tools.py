"""`ti.tools`: images and videos in files, meshes, and a stopwatch."""

from __future__ import annotations

import time

from weft.lang.arguments import text_of
from weft.lang.program.init import sync
from weft.lang.ui.images import imread, imresize, imshow, imwrite
from weft.lang.ui.ply import PLYWriter
from weft.lang.ui.video import VideoManager
from weft.lang.ui.vtk import write_vtk
from weft.runtime.doctor import report

__all__ = ["PLYWriter", "Timer", "VideoManager", "diagnose", "imread", "imresize", "imshow", "imwrite", "write_vtk"]


def diagnose() -> None:
    """Print what Weft finds on this machine, as `weft doctor` does."""
    print(report())


class Timer:
    """Seconds of wall clock between the two ends of a `with` block, kernels finished at both; `with Timer("step"):`
    prints them, `with Timer() as timer:` keeps them in `timer.seconds`."""

    def __init__(self, name: str = "") -> None:
        self.name, self.seconds, self._began = text_of(name, "the name of a timer"), 0.0, 0.0

    def __enter__(self) -> Timer:
        sync()
        self._began = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        sync()
        self.seconds = time.perf_counter() - self._began
        if self.name:
            print(f"{self.name}: {self.seconds * 1000:.3f} ms")
