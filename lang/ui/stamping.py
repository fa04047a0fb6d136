"""Draw many circles or lines on a GUI's canvas at once, by kernels.

Each thread draws all shapes, in order, on its own band of columns. `GuiCanvas` defines how much of a pixel a shape
covers. If kernels do not run on the CPU, where the canvas is, it draws with numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.lang.functions.func import func
from weft.lang.kernels.kernel import kernel
from weft.lang.program.init import program
from weft.lang.values.builtins import cast, ceil, floor, isinf, isnan, loop_config, max, min, sqrt, static
from weft.lang.values.kinds import f32, i32
from weft.runtime.system import threads_available

if TYPE_CHECKING:
    from typing import TypeAlias

    Bytes: TypeAlias = Any
    Pixels: TypeAlias = Any  # to type checkers: what the arguments are bound to
    Places: TypeAlias = Any
    Sizes: TypeAlias = Any
    Shades: TypeAlias = Any
    Vec2: TypeAlias = Any
    u8 = Any
else:
    from weft.lang.values.types import NdarrayType, VectorType, f64, u8

    Vec2 = VectorType(2, f64)
    Pixels, Shades = NdarrayType(VectorType(3, f32), 2), NdarrayType(VectorType(3, f32), 1)
    Bytes = NdarrayType(u8, 3)
    Places, Sizes = NdarrayType(Vec2, 1), NdarrayType(f64, 1)

__all__ = ["copy_image", "pack_image", "stamp_circles", "stamp_lines", "worth_kernels"]

_FEW = 64  # shapes, below which numpy is faster than the search for a kernel
_MOST_BANDS = 64
_BLOCK = 16  # pixels along each side of a block that is transposed at once


def worth_kernels(count: int) -> bool:
    """Return whether a kernel draws that many shapes faster."""
    backend = program().backend
    return count >= _FEW and not (backend.own_memory or backend.interprets)


def copy_image(pixels: Any, image: Any) -> None:
    """Copy an image of f32 onto `pixels`, both of shape (w, h, 3)."""
    _copy(pixels, image)


def pack_image(packed: Any, pixels: Any) -> None:
    """Write `pixels` (w, h, 3) into `packed`, u8 of shape (h, w, 3), with rows from the top. Values are clamped to [0,
    1] and rounded down to the next step."""
    _pack(packed, pixels)


def stamp_circles(pixels: Any, centers: Any, radii: Any, colors: Any) -> None:
    """Draw filled circles on `pixels` (w, h, 3): `centers` (n, 2) and `radii` (n,) in pixels, `colors` (n, 3)."""
    _circles(pixels, *_arrays(centers, radii), np.ascontiguousarray(colors), _bands())


def stamp_lines(pixels: Any, begins: Any, ends: Any, radii: Any, colors: Any) -> None:
    """Draw straight lines with round ends. `radii` (n,) are half of their widths. See `stamp_circles` for the
    others."""
    _lines(pixels, *_arrays(begins, ends, radii), np.ascontiguousarray(colors), _bands())


def _arrays(*arrays: Any) -> list[Any]:
    return [np.ascontiguousarray(array, np.float64) for array in arrays]


def _bands() -> int:
    """Return the number of bands: two per thread, to balance the load. Each band tests all shapes."""
    threads: int = program().config.threads or threads_available()
    return 2 * threads if 2 * threads < _MOST_BANDS else _MOST_BANDS


@kernel
def _copy(pixels: Pixels, image: Pixels) -> None:
    for x, y in pixels:
        pixels[x, y] = image[x, y]


@kernel
def _pack(packed: Bytes, pixels: Pixels) -> None:
    width, height = pixels.shape[0], pixels.shape[1]
    across, down = (width + _BLOCK - 1) // _BLOCK, (height + _BLOCK - 1) // _BLOCK
    for block in range(across * down):
        left, low = block // down * _BLOCK, block % down * _BLOCK
        for y in range(low, min(low + _BLOCK, height)):
            for x in range(left, min(left + _BLOCK, width)):
                for channel in static(range(3)):
                    packed[height - 1 - y, x, channel] = cast(
                        cast(min(max(pixels[x, y][channel], 0.0), 1.0) * 255.0, i32), u8
                    )


@func
def _box(low: Vec2, high: Vec2, left: i32, right: i32, height: i32) -> Any:
    """Return the pixels between two corners in that band: begin and end of x, begin and end of y; None if a corner is
    not finite."""
    sound = not (isnan(low) or isinf(low) or isnan(high) or isinf(high)).any()
    x0, y0 = max(cast(floor(low[0]), i32), left), max(cast(floor(low[1]), i32), 0)
    x1 = min(cast(min(ceil(high[0]), 1e6), i32) + 1, right) if sound else x0
    return x0, x1, y0, min(cast(min(ceil(high[1]), 1e6), i32) + 1, height)


@kernel
def _circles(pixels: Pixels, centers: Places, radii: Sizes, colors: Shades, bands: i32) -> None:
    loop_config(simd=1)
    for band in range(bands):
        left, right = band * pixels.shape[0] // bands, (band + 1) * pixels.shape[0] // bands
        for i in range(centers.shape[0]):
            center, radius = centers[i], radii[i]
            if center[0] + radius < left - 1 or center[0] - radius > right:
                continue
            x0, x1, y0, y1 = _box(center - radius, center + radius, left, right, pixels.shape[1])
            for x in range(x0, x1):
                for y in range(y0, y1):
                    dx, dy = x - center[0], y - center[1]
                    share = cast(min(max(radius - sqrt(dx * dx + dy * dy), 0.0), 1.0), f32)
                    pixels[x, y] = pixels[x, y] + share * (colors[i] - pixels[x, y])


@kernel
def _lines(pixels: Pixels, begins: Places, ends: Places, radii: Sizes, colors: Shades, bands: i32) -> None:
    loop_config(simd=1)
    for band in range(bands):
        left, right = band * pixels.shape[0] // bands, (band + 1) * pixels.shape[0] // bands
        for i in range(begins.shape[0]):
            a, b, reach = begins[i], ends[i], radii[i] + 0.5
            if max(a[0], b[0]) + reach < left - 1 or min(a[0], b[0]) - reach > right:
                continue
            along = b - a
            scale = 1.0 / max(along.dot(along), 1e-12)
            x0, x1, y0, y1 = _box(min(a, b) - reach, max(a, b) + reach, left, right, pixels.shape[1])
            for x in range(x0, x1):
                for y in range(y0, y1):
                    dx, dy = x + 0.5 - a[0], y + 0.5 - a[1]
                    t = min(max((dx * along[0] + dy * along[1]) * scale, 0.0), 1.0)
                    dx, dy = dx - t * along[0], dy - t * along[1]
                    share = cast(min(max(radii[i] - sqrt(dx * dx + dy * dy), 0.0), 1.0), f32)
                    pixels[x, y] = pixels[x, y] + share * (colors[i] - pixels[x, y])
