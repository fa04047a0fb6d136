"""The picture of a frame: pixels that kernels can access, converted to bytes for windows and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.lang.functions.func import func
from weft.lang.kernels.kernel import kernel
from weft.lang.program.init import program
from weft.lang.ui.images import as_floats, pillow
from weft.lang.ui.render.kinds import Depths, Packed, Pixels, Vec3
from weft.lang.ui.render.rooms import Rooms, in_place, on_device, on_host, room
from weft.lang.values.builtins import cast, max, min

if TYPE_CHECKING:
    u32 = Any
else:
    from weft.lang.values.types import u32

__all__ = ["Frame"]

_BLOCK = 16  # pixels along each side of a block that is transposed at once


@kernel
def _clear(pixels: Pixels, depths: Depths, color: Vec3) -> None:
    for x, y in pixels:
        pixels[x, y] = color
        depths[x, y] = 0.0


@kernel
def _copy(pixels: Pixels, image: Pixels) -> None:
    for x, y in pixels:
        pixels[x, y] = image[x, y]


@kernel
def _stretch(pixels: Pixels, image: Pixels) -> None:
    for x, y in pixels:
        u, v = x * image.shape[0] // pixels.shape[0], y * image.shape[1] // pixels.shape[1]
        pixels[x, y] = image[u, v]


@func
def _byte(value: Any) -> Any:
    return cast(min(max(value, 0.0), 1.0) * 255.0 + 0.5, u32)


@kernel
def _pack(packed: Packed, pixels: Pixels) -> None:
    """Write rows of bytes R, G, B, A from the top. It works block by block, so that source and target stay in the
    cache."""
    width, height = pixels.shape[0], pixels.shape[1]
    across, down = (width + _BLOCK - 1) // _BLOCK, (height + _BLOCK - 1) // _BLOCK
    for block in range(across * down):
        left, low = block // down * _BLOCK, block % down * _BLOCK
        for y in range(low, min(low + _BLOCK, height)):
            for x in range(left, min(left + _BLOCK, width)):
                color = pixels[x, y]
                green_blue = _byte(color[1]) << 8 | _byte(color[2]) << 16
                packed[height - 1 - y, x] = _byte(color[0]) | green_blue | cast(0xFF000000, u32)


class Frame:
    """A picture of `size` pixels. `pixels` is f32 RGB of shape (width, height), y up. `depths` is f32: 1 at the near
    plane of the camera, 0 where nothing is. `rooms` holds the other arrays for drawing. They belong to the program that
    `ti.init` started; after another `ti.init`, the frame is empty."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = size
        self._generation = -1
        self.pixels: Any = None
        self.depths: Any = None
        self._packed: Any = None
        self.rooms = Rooms()

    def clear(self, color: Any) -> None:
        """Fill the frame with one colour, three floats in [0, 1]."""
        if self._generation != program().generation:
            width, height = self.size
            self.pixels, self.depths = room(np.float32, self.size, (3,)), room(np.float32, self.size)
            self._packed = room(np.uint32, (height, width))
            self.rooms = Rooms()
            self._generation = program().generation
        _clear(self.pixels, self.depths, color)

    def set_image(self, image: Any) -> None:
        """Fill the frame with an image, stretched to its size. Each pixel takes the nearest element below. See
        `as_floats`."""
        source = in_place(image, 3, 3)
        if source is None:
            source = on_device(as_floats(image, "Canvas.set_image"), np.float32, (3,))
        shape = tuple(source.shape[:2])
        (_copy if shape == self.size else _stretch)(self.pixels, source)

    def picture(self) -> Any:
        """Return the current contents as a pillow image, RGBA."""
        _pack(self._packed, self.pixels)
        return pillow().frombuffer("RGBA", self.size, on_host(self._packed), "raw", "RGBA", 0, 1)
