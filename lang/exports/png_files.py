"""Pictures as PNG files, and their depths beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from weft.lang.atomic_files import replacing
from weft.lang.exports.frames import Picture
from weft.lang.ui.images import pillow

__all__ = ["write_png"]

_STEPS = 65535  # the largest number of 16 bits


def write_png(path: str | Path, picture: Picture, depth_range: tuple[float, float]) -> None:
    """Write a picture. If it has depths, write `name.depth.png` too: grey values of 16 bits, 0 for the first depth of
    `depth_range` and 65535 for the second. The text `depth_range` in that file has both. Raises ValueError for a depth
    outside of the range."""
    image, path = pillow(), Path(path)
    low, high = depth_range
    if picture.depth is not None:
        inside = (picture.depth >= low) & (picture.depth <= high)
        if not inside.all():
            wrong = picture.depth[~inside][0]
            raise ValueError(f"the depth {wrong} is outside of the recorder's depth_range, {low} to {high}")
    pixels = picture.pixels[:, :, 0] if picture.pixels.shape[2:] == (1,) else picture.pixels
    with replacing(path) as new:
        image.fromarray(np.ascontiguousarray(pixels)).save(new, format="PNG")
    if picture.depth is None:
        return
    scaled = np.rint((picture.depth.astype(np.float64) - low) * (_STEPS / (high - low))).astype(np.uint16)
    facts = pillow("PngImagePlugin").PngInfo()
    facts.add_text("depth_range", f"{low!r} {high!r}")
    with replacing(path.with_suffix(".depth.png")) as new:
        image.fromarray(np.ascontiguousarray(scaled)).save(new, format="PNG", pnginfo=facts)
