"""The two ways to index an image: `order="xy"`, which is Taichi's, and `order="yx"`, which is numpy's.

- "xy": `image[x, y]`, of shape (width, height) and maybe channels. y points up: [0, 0] is the lower left pixel.
- "yx": `image[row, column]`, of shape (height, width) and maybe channels. Row 0 is the top row. Pillow, OpenCV, imageio
  and Matplotlib give such arrays."""

from __future__ import annotations

import sys
import warnings
import weakref
from typing import Any

import numpy as np

from weft.ir.errors import LIBRARY
from weft.lang.arguments import is_one, numbers_of, shown

__all__ = ["ORDERS", "ImageOrderWarning", "checked_order", "in_xy", "order_of", "remember", "rows", "rows_of"]

ORDERS = ("xy", "yx")

_read: dict[int, weakref.ref[Any]] = {}  # the arrays that `imread` made in the order "xy", by `id`


class ImageOrderWarning(UserWarning):
    """An image may be in another order than the function takes it in: `order` says which it is. Floats are not
    ambiguous: `ti.tools` takes them in its own order.

    Example:
        import warnings

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ti.tools.imwrite(np.zeros((4, 2, 3), np.uint8), "photo.png")
        caught[0].category is ti.tools.ImageOrderWarning  # True
    """


def rows(pixels: Any) -> Any:
    """Convert an image from "xy" to "yx"."""
    return pixels.swapaxes(0, 1)[::-1]


def in_xy(pixels: Any, order: str) -> Any:
    """The same image in the order "xy"."""
    return pixels if order == "xy" else pixels[::-1].swapaxes(0, 1)


def rows_of(pixels: Any, order: str) -> Any:
    """The same image in the order "yx"."""
    return rows(pixels) if order == "xy" else pixels


def order_of(order: Any, image: Any, what: str) -> str:
    """Check the `order` that the user gives to the function `what`. For None it is "xy", with an ImageOrderWarning if
    the image may be a photograph in the order "yx": an array of another library, of unsigned integers, that `imread`
    has not made."""
    if order is None:
        if _may_be_photograph(image):
            _warn(image, what)
        return "xy"
    return checked_order(order)


def checked_order(order: Any) -> str:
    """Return "xy" or "yx". Raises ValueError for anything else."""
    if not is_one(order, ORDERS):
        raise ValueError(f"the order of an image must be 'xy' or 'yx', not {shown(order)}")
    return str(order)


def remember(image: Any) -> Any:
    """Remember that `imread` has made this array, in the order "xy". Returns the array."""
    key = id(image)

    def forget(_: Any) -> None:
        _read.pop(key, None)

    _read[key] = weakref.ref(image, forget)
    return image


def _may_be_photograph(image: Any) -> bool:
    if hasattr(image, "to_numpy"):  # a field or an ndarray of Weft
        return False
    array = numbers_of(image, "an image")
    if array.dtype.kind != "u":
        return False
    while array is not None:
        if id(array) in _read:
            return False
        array = getattr(array, "base", None)
    return True


def _warn(image: Any, what: str) -> None:
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(LIBRARY):
        frame, level = frame.f_back, level + 1
    warnings.warn(
        f"{what} takes this array of shape {np.shape(image)} as image[x, y], with y up. If the array has rows "
        "from the top, as images of numpy, Pillow and OpenCV do, it is shown turned: pass order='yx'. "
        "Otherwise pass order='xy' to leave out this warning",
        ImageOrderWarning,
        stacklevel=level,
    )
