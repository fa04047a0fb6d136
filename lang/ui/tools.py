"""`ti.tools`: images and videos in files, meshes, and a timer."""

from __future__ import annotations

import sys
import time
from typing import Any

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import numbers_of, text_of
from weft.lang.notebook.cells import in_notebook
from weft.lang.program.init import sync
from weft.lang.ui.image_order import ImageOrderWarning, in_xy, order_of
from weft.lang.ui.images import imread, imresize, imwrite
from weft.lang.ui.occupancy import draw_tree
from weft.lang.ui.ply import PLYWriter
from weft.lang.ui.video import VideoManager
from weft.lang.ui.vtk import write_vtk
from weft.runtime.doctor import report

__all__ = [
    "ImageOrderWarning",
    "PLYWriter",
    "Timer",
    "VideoManager",
    "diagnose",
    "draw_tree",
    "imread",
    "imresize",
    "imshow",
    "imwrite",
    "write_vtk",
]

image = np2ply = video = vtk = sys.modules[__name__]  # Taichi's modules below `ti.tools`


def diagnose() -> None:
    """Print the facts about this machine, as `weft doctor` does: versions, the processor, GPUs, the compiler.

    Example:
        ti.tools.diagnose()
    """
    print(report())


def imshow(img: Any, title: str = "imshow", order: Any = None) -> None:
    """Show an image in a window until the user closes it or presses Escape. In a notebook, show it below the cell.
    `order` is that of `imwrite`.

    Example:
        ti.tools.imshow(np.zeros((32, 32), np.float32), "black")  # opens a window
        ti.tools.imshow(np.zeros(3))  # raises TypeMismatch
    """
    from weft.lang.ui.gui import GUI  # image files need no window

    order, array = order_of(order, img, "imshow"), numbers_of(img, "an image")
    if array.ndim not in (2, 3) or not array.size:
        raise TypeMismatch(f"an image must have two or three axes, but its shape is {array.shape}")
    array = in_xy(array, order)
    gui = GUI(text_of(title, "the title of an image"), res=(array.shape[0], array.shape[1]))
    if in_notebook():
        gui.set_image(array)
        gui.show()
        return
    while gui.running and not gui.get_event(gui.ESCAPE):
        gui.set_image(array)
        gui.show()
    gui.close()


class Timer:
    """Measure the wall-clock seconds of a `with` block, and wait for kernels at both ends. `with Timer("step"):` prints
    them, `with Timer() as timer:` keeps them in `timer.seconds`.

    Example:
        x = ti.field(ti.f32, 1000)
        with ti.tools.Timer() as timer:
            x.fill(1)
        0 < timer.seconds < 10  # True
    """

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
