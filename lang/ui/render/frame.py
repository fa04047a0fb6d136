"""The picture of a frame: pixels that kernels can access, converted to bytes for windows and files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.lang.functions.func import func
from weft.lang.kernels.kernel import kernel
from weft.lang.program.init import program
from weft.lang.ui.images import as_floats, pillow
from weft.lang.ui.render.kinds import Colors, Depths, Packed, Pixels, Vec3, f32, i32
from weft.lang.ui.render.rooms import Rooms, in_place, on_device, on_host, room
from weft.lang.values.builtins import cast, max, min
from weft.lang.values.matrix import Vector

if TYPE_CHECKING:
    from typing import TypeAlias

    Bytes: TypeAlias = Any
    u32 = Any
else:
    from weft.lang.values.types import NdarrayType, u8, u32

    Bytes = NdarrayType(u8, 3)

__all__ = ["Frame"]

_BLOCK = 8  # pixels along each side of a block that is transposed at once


@kernel
def _clear(pixels: Pixels, depths: Depths, color: Vec3) -> None:
    for x, y in pixels:
        pixels[x, y] = color
        depths[x, y] = 0.0


@func
def _byte(value: Any) -> Any:
    return cast(cast(min(max(value, 0.0), 1.0) * 255.0 + 0.5, i32), u32)  # (CPUs convert floats to signed integers)


@func
def _opaque(red: Any, green: Any, blue: Any) -> Any:
    """Return a pixel of bytes R, G, B, A."""
    return red | green << 8 | blue << 16 | cast(0xFF000000, u32)


@kernel
def _pack(packed: Packed, image: Pixels) -> None:
    """Write rows of pixels from the top, of an image of the same size. It works block by block, so that source and
    target stay in the cache."""
    width, height = image.shape[0], image.shape[1]
    across, down = (width + _BLOCK - 1) // _BLOCK, (height + _BLOCK - 1) // _BLOCK
    for block in range(across * down):
        left, low = block // down * _BLOCK, block % down * _BLOCK
        for y in range(low, min(low + _BLOCK, height)):
            for x in range(left, min(left + _BLOCK, width)):
                color = image[x, y]
                packed[height - 1 - y, x] = _opaque(_byte(color[0]), _byte(color[1]), _byte(color[2]))


@kernel
def _pack_stretched(packed: Packed, image: Pixels) -> None:
    """Write rows of pixels from the top, of an image of any size. Each pixel takes the nearest element below."""
    height, width = packed.shape[0], packed.shape[1]
    for y, x in packed:
        color = image[x * image.shape[0] // width, (height - 1 - y) * image.shape[1] // height]
        packed[y, x] = _opaque(_byte(color[0]), _byte(color[1]), _byte(color[2]))


@kernel
def _pack_bytes(packed: Packed, image: Bytes, second: i32, third: i32) -> None:
    """Write rows of pixels from the top, of an image of bytes of the same size. Its channels 0, `second` and `third`
    are red, green and blue."""
    width, height = image.shape[0], image.shape[1]
    across, down = (width + _BLOCK - 1) // _BLOCK, (height + _BLOCK - 1) // _BLOCK
    for block in range(across * down):
        left, low = block // down * _BLOCK, block % down * _BLOCK
        for y in range(low, min(low + _BLOCK, height)):
            for x in range(left, min(left + _BLOCK, width)):
                red, green, blue = image[x, y, 0], image[x, y, second], image[x, y, third]
                packed[height - 1 - y, x] = _opaque(cast(red, u32), cast(green, u32), cast(blue, u32))


@kernel
def _pack_grey(packed: Packed, image: Depths) -> None:
    """Write rows of grey pixels from the top, of an image of the same size."""
    width, height = image.shape[0], image.shape[1]
    across, down = (width + _BLOCK - 1) // _BLOCK, (height + _BLOCK - 1) // _BLOCK
    for block in range(across * down):
        left, low = block // down * _BLOCK, block % down * _BLOCK
        for y in range(low, min(low + _BLOCK, height)):
            for x in range(left, min(left + _BLOCK, width)):
                grey = _byte(image[x, y])
                packed[height - 1 - y, x] = _opaque(grey, grey, grey)


@kernel
def _pack_mapped(packed: Packed, values: Depths, low: f32, scale: f32, colors: Colors) -> None:
    """Write rows of pixels from the top, of numbers of the same size. `(value - low) * scale` is the place between the
    first of the `colors`, 0, and the last, 1."""
    width, height, last = values.shape[0], values.shape[1], colors.shape[0] - 1
    across, down = (width + _BLOCK - 1) // _BLOCK, (height + _BLOCK - 1) // _BLOCK
    for block in range(across * down):
        left, bottom = block // down * _BLOCK, block % down * _BLOCK
        for y in range(bottom, min(bottom + _BLOCK, height)):
            for x in range(left, min(left + _BLOCK, width)):
                place = min(max((values[x, y] - low) * scale, 0.0), 1.0) * last
                first = min(cast(place, i32), last - 1)
                color = colors[first] + (place - first) * (colors[first + 1] - colors[first])
                packed[height - 1 - y, x] = _opaque(_byte(color[0]), _byte(color[1]), _byte(color[2]))


@kernel
def _copy(pixels: Pixels, depths: Depths, image: Pixels, kept: f32) -> None:
    """Begin a frame with an image of the same size, in the range of colours. `kept` is 1 to keep the depths, 0 to clear
    them."""
    for x, y in pixels:
        pixels[x, y] = min(max(image[x, y], 0.0), 1.0)
        depths[x, y] *= kept


@kernel
def _unpack(pixels: Pixels, depths: Depths, packed: Packed, kept: f32) -> None:
    """Continue a frame of bytes as one of floats. `kept` is 1 to keep the depths, 0 to clear them."""
    width, height = pixels.shape[0], pixels.shape[1]
    across, down = (width + _BLOCK - 1) // _BLOCK, (height + _BLOCK - 1) // _BLOCK
    for block in range(across * down):
        left, low = block // down * _BLOCK, block % down * _BLOCK
        for y in range(low, min(low + _BLOCK, height)):
            for x in range(left, min(left + _BLOCK, width)):
                color = packed[height - 1 - y, x]
                pixels[x, y] = Vector([color & 255, color >> 8 & 255, color >> 16 & 255]) / 255.0
                depths[x, y] *= kept


class Frame:
    """A picture of `size` pixels. `pixels` is f32 RGB of shape (width, height), y up. `depths` is f32: 1 at the near
    plane of the camera, 0 where nothing is. `rooms` holds the other arrays for drawing. They belong to the program that
    `ti.init` started; after another `ti.init`, the frame is empty.

    A frame that is only an image needs no `pixels`: it becomes bytes at once. If something is drawn over it, its pixels
    are these bytes, divided by 255, or, if this was also so in the last frame, the colours of the image."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = size
        self._generation = -1
        self._pixels: Any = None
        self._depths: Any = None
        self._packed: Any = None
        self._begin: Callable[[], None] | None = None  # fills the pixels and depths, at the first drawing
        self._is_packed = False  # whether the bytes are those of the frame
        self._is_image, self._is_covered = False, False  # whether it has an image, and something over the last image
        self.rooms = Rooms()

    @property
    def empty(self) -> bool:
        """Whether there was no frame yet."""
        return self._depths is None

    @property
    def pixels(self) -> Any:
        """The pixels, to draw on."""
        self._start_drawing()
        self._is_packed, self._is_covered = False, self._is_image
        return self._pixels

    @property
    def depths(self) -> Any:
        """The depths, to draw on."""
        self._start_drawing()
        return self._depths

    def _start_drawing(self) -> None:
        if self._begin is not None:
            begin, self._begin = self._begin, None
            begin()

    def clear(self, color: Any) -> None:
        """Fill the frame with one colour, three floats in [0, 1]."""
        if self._generation != program().generation:
            width, height = self.size
            self._pixels, self._depths = room(np.float32, self.size, (3,)), room(np.float32, self.size)
            self._packed = room(np.uint32, (height, width))
            self.rooms = Rooms()
            self._generation = program().generation
        self._begin, self._is_packed = partial(_clear, self._pixels, self._depths, color), False
        self._is_image = False

    def set_image(self, image: Any) -> None:
        """Fill the frame with an image, stretched to its size. Each pixel takes the nearest element below. See
        `as_floats`."""
        covered, self._is_image, self._is_covered = self._is_covered, True, False
        if covered and (source := in_place(image, 3, last=3)) is not None and tuple(source.shape[:2]) == self.size:
            _copy(self._pixels, self._depths, source, self._kept())
            self._is_packed, self._begin = False, None
            return
        self._pack_image(image)
        self._become_image()

    def set_mapped(self, values: Any, low: float, scale: float, colors: Any) -> bool:
        """Fill the frame with the numbers of a field or array of f32 as colours: from the first of the `colors` (n, 3),
        for `low`, to the last, for `low + 1 / scale`. Returns whether it did: not if the type or size is another."""
        source = in_place(values, 2)
        if source is None or tuple(source.shape) != self.size:
            return False
        _pack_mapped(self._packed, source, low, scale, on_device(colors, np.float32, (3,)))
        self._become_image()
        return True

    def _become_image(self) -> None:
        self._begin = partial(_unpack, self._pixels, self._depths, self._packed, self._kept())
        self._is_packed = self._is_image = True

    def _kept(self) -> float:
        """Return 1 if what was drawn in this frame keeps its depths, 0 if there is nothing."""
        return 1.0 if self._begin is None else 0.0

    def _pack_image(self, image: Any) -> None:
        """Make bytes of an image. Images of the usual types and the same size are read where they are."""
        if (grey := in_place(image, 2)) is not None and tuple(grey.shape) == self.size:
            _pack_grey(self._packed, grey)
            return
        channels = in_place(image, 3, dtype=np.uint8)
        if channels is not None and tuple(channels.shape[:2]) == self.size and channels.shape[2] in (1, 3, 4):
            last = int(channels.shape[2]) - 1
            _pack_bytes(self._packed, channels, min(last, 1), min(last, 2))
            return
        source = in_place(image, 3, last=3)
        if source is None:
            source = on_device(as_floats(image, "Canvas.set_image"), np.float32, (3,))
        (_pack if tuple(source.shape[:2]) == self.size else _pack_stretched)(self._packed, source)

    def picture(self) -> Any:
        """Return the current contents as a pillow image, RGBA."""
        if not self._is_packed:
            self._start_drawing()
            _pack(self._packed, self._pixels)
            self._is_packed = True
        return pillow().frombuffer("RGBA", self.size, on_host(self._packed), "raw", "RGBA", 0, 1)
