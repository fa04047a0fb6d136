"""The canvas of a GUI: an array of f32 colours, [x, y] with y up, and antialiased shapes.

Coordinates are in [0, 1] across the canvas, sizes are in pixels. A shape covers each pixel by a share between 0 and 1,
which is computed from the pixel's distance to the shape. Its colour is mixed in by that share. Later shapes cover
earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.lang.arguments import numbers_of, shown
from weft.lang.ui import stamping
from weft.lang.ui.image_order import rows
from weft.lang.ui.images import pillow
from weft.lang.ui.render.rooms import in_place

__all__ = ["GuiCanvas", "colors_of", "one_each"]

Coverage = Callable[[Any, Any, Any], Any]  # (indices of the shapes, x, y) -> share of the pixel that is covered

_FINE = 4  # supersampling of triangles along each axis


def colors_of(color: Any, count: int) -> Any:
    """Return colours as f32 of shape (count, 3) in [0, 1]. The argument is one colour 0xRRGGBB for all, or one for
    each; higher bits are ignored. Raises ValueError for a value that is not an integer of 32 bits, and for another
    number of colours."""
    given = numbers_of(color, "a color 0xRRGGBB").reshape(-1)
    if not ((given >= 0) & (given < 2**32) & (given == np.floor(given))).all():
        raise ValueError(f"a color must be 0xRRGGBB, a whole number from 0 to 0xFFFFFF, not {shown(color)}")
    numbers = one_each(given.astype(np.int64), count, "colours")
    return np.stack([numbers >> 16 & 255, numbers >> 8 & 255, numbers & 255], 1).astype(np.float32) / 255


def one_each(values: Any, count: int, what: str) -> Any:
    """Return numbers of shape (count,) from one for all, or one for each. Raises ValueError for another number of
    them."""
    if values.shape not in ((1,), (count,)):
        raise ValueError(
            f"there are {count} shapes, but {len(values)} {what}: pass one for all shapes, or one for each"
        )
    return np.broadcast_to(values, (count,))


class GuiCanvas:
    """A canvas with `pixels` of shape (width, height, 3)."""

    def __init__(self, width: int, height: int) -> None:
        self.size = np.array([width, height])
        self._pixels = np.zeros((width, height, 3), np.float32)
        self._color: Any = None  # with which the canvas is still to be filled
        self._bytes: Any = None

    @property
    def pixels(self) -> Any:
        """The pixels, to read and to draw on."""
        if self._color is not None:
            self._pixels[...] = self._color
            self._color = None
        return self._pixels

    def clear(self, color: int) -> None:
        """Fill the canvas with one colour, unless an image covers it before anything else is drawn."""
        self._color = colors_of(color, 1)[0]

    def set_image(self, image: Any) -> None:
        """Fill the canvas with an image of its size."""
        self._color = None
        found = in_place(image, 3, 3) if stamping.worth_kernels(self._pixels.shape[0] * self._pixels.shape[1]) else None
        if found is not None and tuple(found.shape[:2]) == self._pixels.shape[:2]:
            stamping.copy_image(self._pixels, found)
        else:
            self._pixels[...] = image

    def circles(self, centers: Any, radii: Any, colors: Any) -> None:
        """Draw filled circles: `centers` (n, 2), `radii` (n,), `colors` (n, 3)."""
        places = centers * self.size
        if stamping.worth_kernels(len(places)):
            stamping.stamp_circles(self.pixels, places, radii, colors)
            return

        def coverage(which: Any, x: Any, y: Any) -> Any:
            return radii[which] - np.hypot(x - places[which, 0], y - places[which, 1])

        reach = radii[:, None]
        self._stamp(places - reach, places + reach, coverage, colors)

    def lines(self, begins: Any, ends: Any, radii: Any, colors: Any) -> None:
        """Draw straight lines with round ends: `begins`, `ends` (n, 2)."""
        a, b = begins * self.size, ends * self.size
        if stamping.worth_kernels(len(a)):
            stamping.stamp_lines(self.pixels, a, b, radii, colors)
            return
        along = b - a
        length = np.maximum((along**2).sum(1), 1e-12)

        def coverage(which: Any, x: Any, y: Any) -> Any:
            dx, dy = x + 0.5 - a[which, 0], y + 0.5 - a[which, 1]
            u, v = along[which, 0], along[which, 1]
            t = np.clip((dx * u + dy * v) / length[which], 0, 1)
            return radii[which] - np.hypot(dx - t * u, dy - t * v)

        reach = radii[:, None] + 0.5
        self._stamp(np.minimum(a, b) - reach, np.maximum(a, b) + reach, coverage, colors)

    def _stamp(self, low: Any, high: Any, coverage: Coverage, colors: Any) -> None:
        """Draw shapes within the boxes `low` .. `high` (in pixels). Many small shapes are drawn offset by offset, all
        of them at once. Few large shapes are drawn one by one."""
        sound = np.isfinite(low).all(1) & np.isfinite(high).all(1)
        first = np.clip(np.floor(np.where(sound[:, None], low, 0)), 0, self.size).astype(np.int64)
        last = np.clip(np.ceil(np.where(sound[:, None], high, -1)) + 1, 0, self.size).astype(np.int64)
        extents = last - first
        seen = np.flatnonzero((extents > 0).all(1))
        if not seen.size:
            return
        width, height = extents[seen].max(0)
        if width * height <= 2 * seen.size:
            for dx in range(width):
                for dy in range(height):
                    inside = seen[(extents[seen] > (dx, dy)).all(1)]
                    x, y = first[inside, 0] + dx, first[inside, 1] + dy
                    self._mix((x, y), np.clip(coverage(inside, x, y), 0, 1)[:, None], colors[inside])
            return
        for number in seen:
            (x0, y0), (x1, y1) = first[number], last[number]
            x, y = np.arange(x0, x1)[:, None], np.arange(y0, y1)[None, :]
            share = np.clip(coverage(number, x, y), 0, 1)[:, :, None]
            self._mix((slice(x0, x1), slice(y0, y1)), share, colors[number])

    def _mix(self, where: Any, share: Any, colors: Any) -> None:
        before = self.pixels[where]
        self.pixels[where] = before + share.astype(np.float32) * (colors - before)

    def triangles(self, corners: Any, colors: Any) -> None:
        """Draw filled triangles: `corners` (n, 3, 2). They are drawn together, so there are no seams between
        neighbours."""
        corners = corners[np.isfinite(corners).all((1, 2))] * self.size
        if not len(corners):
            return
        low = np.clip(np.floor(corners.min((0, 1))), 0, self.size).astype(int)
        high = np.clip(np.ceil(corners.max((0, 1))), 0, self.size).astype(int)
        if (high <= low).any():
            return
        image, draw = pillow(), pillow("ImageDraw")
        extent = tuple(int(n) * _FINE for n in high - low)
        color, mask = image.new("RGB", extent), image.new("L", extent)
        pens = draw.Draw(color), draw.Draw(mask)
        # Pillow also fills the pixels on the border. A shift by half a fine pixel to the lower left compensates for
        # that.
        points = np.clip((corners - low) * _FINE - 0.5, -32000, 32000).reshape(-1, 6)
        for points_of, rgb in zip(points.tolist(), (colors * 255 + 0.5).astype(np.uint8).tolist()):
            pens[0].polygon(points_of, fill=tuple(rgb))
            pens[1].polygon(points_of, fill=255)
        covered = np.asarray(mask.reduce(_FINE), np.float32).T[:, :, None] / 255
        drawn = np.asarray(color.reduce(_FINE), np.float32).swapaxes(0, 1) / 255
        box = (slice(low[0], high[0]), slice(low[1], high[1]))
        self.pixels[box] = self.pixels[box] * (1 - covered) + drawn

    def text(self, content: str, corner: Any, size: float, color: Any) -> None:
        """Draw a line of text with its upper left corner at `corner`, `size` pixels high."""
        font = pillow("ImageFont").load_default(size)
        x, y = (np.asarray(corner) * self.size).tolist()
        mask = pillow().new("L", tuple(self.size.tolist()))
        pillow("ImageDraw").Draw(mask).text((x, self.size[1] - y), content, fill=255, font=font)
        bounds = mask.getbbox()
        if bounds is None:
            return
        left, top, right, bottom = bounds
        share = np.asarray(mask.crop(bounds), np.float32)[::-1].T[:, :, None] / 255
        height = int(self.size[1])
        self._mix((slice(left, right), slice(height - bottom, height - top)), share, color)

    def picture(self) -> Any:
        """Return the canvas as a pillow image. It is valid until the next call."""
        if stamping.worth_kernels(len(self._pixels)):
            if self._bytes is None:
                self._bytes = np.empty((*self._pixels.shape[1::-1], 3), np.uint8)
            stamping.pack_image(self._bytes, self.pixels)
            return pillow().frombuffer("RGB", tuple(self.size.tolist()), self._bytes, "raw", "RGB", 0, 1)
        pixels = (np.clip(rows(self.pixels), 0, 1) * np.float32(255)).astype(np.uint8)
        return pillow().fromarray(np.ascontiguousarray(pixels))
