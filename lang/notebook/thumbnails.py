"""Small pictures of arrays as PNG data, made with numpy and zlib only.

A picture has the shape (height, width, 3), u8, with rows from the top. Numbers become colours by their range: from dark
to bright if they have one sign; from blue to red, with zero in white, if they have both. Numbers that are not finite
are magenta.
"""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Scale", "colored", "picture_of_colors", "png", "png_url", "scale_of", "thumbnail"]

_LARGEST = 160  # pixels along the longer side
_ROWS = 48  # the height of a plot of one axis
_NOT_FINITE = (220, 0, 200)
# Nine colours of viridis, and seven of RdBu reversed.
_BRIGHT = np.array(
    [(68, 1, 84), (71, 45, 123), (59, 82, 139), (44, 114, 142), (33, 145, 140), (40, 174, 128)]
    + [(94, 201, 98), (173, 220, 48), (253, 231, 37)],
    np.float64,
)
_SIGNED = np.array(
    [(33, 102, 172), (103, 169, 207), (209, 229, 240), (247, 247, 247)]
    + [(253, 219, 199), (239, 138, 98), (178, 24, 43)],
    np.float64,
)


class Scale(NamedTuple):
    """How numbers become colours: from `low` to `high`."""

    low: float
    high: float
    signed: bool  # whether zero is in the middle, in white


def scale_of(low: float, high: float) -> Scale:
    """Return the scale for finite numbers of that range."""
    if low < 0 < high:
        most = max(-low, high)
        return Scale(-most, most, True)
    return Scale(low, high, False)


def colored(numbers: Any, scale: Scale) -> Any:
    """Return numbers as colours, u8 with a last axis of 3."""
    table = _SIGNED if scale.signed else _BRIGHT
    finite = np.isfinite(numbers)
    span = scale.high - scale.low
    share = (np.where(finite, numbers, scale.low).astype(np.float64) - scale.low) / span if span else 0.5
    at = np.clip(np.broadcast_to(share, np.shape(numbers)), 0, 1) * (len(table) - 1)
    below = np.minimum(at.astype(np.int64), len(table) - 2)
    part = (at - below)[..., None]
    colors = (table[below] * (1 - part) + table[below + 1] * part + 0.5).astype(np.uint8)
    colors[~finite] = _NOT_FINITE
    return colors


def thumbnail(numbers: Any, scale: Scale) -> Any:
    """Return a picture of numbers with one, two or more axes. One axis is a plot. With two, x points right and y up.
    Of more, the picture is the middle along the further axes."""
    while numbers.ndim > 2:
        numbers = numbers[..., numbers.shape[-1] // 2]
    if numbers.ndim == 1:
        return _plot(numbers[:: _step(numbers.shape)], scale)
    return colored(_small(numbers), scale)


def picture_of_colors(colors: Any) -> Any:
    """Return a picture of colours: f32 of shape (width, height, 3) in [0, 1], with y up."""
    small = _small(np.where(np.isfinite(colors), colors, 0.0))
    return (np.clip(small, 0, 1) * 255 + 0.5).astype(np.uint8)


def _step(shape: tuple[int, ...]) -> int:
    return max(1, -(-max(shape[:2]) // _LARGEST))


def _small(image: Any) -> Any:
    """Return an image [x, y] as rows from the top, with at most `_LARGEST` pixels along a side."""
    step = _step(image.shape)
    return image[::step, ::step].swapaxes(0, 1)[::-1]


def _plot(numbers: Any, scale: Scale) -> Any:
    """Return bars from zero, or from the lowest number."""
    finite = np.isfinite(numbers)
    span = scale.high - scale.low
    share = (np.where(finite, numbers, scale.low).astype(np.float64) - scale.low) / span if span else 0.5
    top = np.broadcast_to(share, numbers.shape) * (_ROWS - 1)
    base = (_ROWS - 1) / 2 if scale.signed else 0.0
    row = np.arange(_ROWS - 1, -1, -1)[:, None]
    inside = (row >= np.minimum(top, base) - 0.5) & (row <= np.maximum(top, base) + 0.5)
    return np.where(inside[..., None], colored(numbers, scale)[None], np.uint8(255))


def png(picture: Any) -> bytes:
    """Return a picture as the bytes of a PNG file."""
    height, width, _ = picture.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # each row begins with 0: it is not filtered
    rows[:, 1:] = picture.reshape(height, 3 * width)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 3)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )


def png_url(picture: Any) -> str:
    """Return a picture as a URL that holds its data."""
    return "data:image/png;base64," + base64.b64encode(png(picture)).decode()
