"""Images as arrays and in files. `x` points right and `y` points up: [0, 0] is the lower left corner, unless `order`
says otherwise (`image_order.py`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import numbers_of, path_of, whole_of
from weft.lang.extras import package
from weft.lang.ui.image_order import checked_order, in_xy, order_of, remember, rows_of

__all__ = [
    "as_bytes",
    "as_floats",
    "imread",
    "imresize",
    "imwrite",
    "pillow",
    "save",
]


_LARGEST = 2**20  # maximum pixels along a side for `imresize`
_JPEGS = (".jpg", ".jpeg", ".jpe", ".jfif")

# Options for lossy formats. (Pillow's defaults for jpg, a quality of 75 and colours at half resolution, halve the
# contrast of noise.)
_LOSSY: dict[str, dict[str, Any]] = {
    **{ending: {"quality": 95, "subsampling": 0} for ending in _JPEGS},
    ".webp": {"quality": 95},
}


def pillow(module: str = "Image") -> Any:
    """Import a module of pillow. Raises MissingLibrary if it is not installed."""
    return package(f"PIL.{module}")


def _scale(image: Any, what: str) -> float:
    """Return the value of white. Raises TypeError for an element type that cannot be a colour."""
    if image.dtype.kind == "f":
        return 1.0
    if image.dtype.kind == "u":
        return float(np.iinfo(image.dtype).max)
    raise TypeError(f"{what} takes floats in [0, 1] or unsigned integers over their whole range, not {image.dtype}")


def as_floats(image: Any, what: str) -> Any:
    """Return pixels as f32 of shape (width, height, 3). One channel is grey, two are red and green, alpha is dropped.
    Raises ValueError for another shape, TypeError for a type that cannot be a colour."""
    array = numbers_of(image, "an image")
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or not 1 <= array.shape[2] <= 4:
        raise ValueError(f"an image must have the shape (width, height) or (width, height, 1 to 4), not {array.shape}")
    if not array.size:
        raise ValueError(f"an image must have at least one pixel, but the array has the shape {array.shape}")
    scale = _scale(array, what)
    pixels = np.zeros((*array.shape[:2], 3), np.float32)
    if array.shape[2] == 1:
        pixels[...] = array
    else:
        pixels[:, :, : min(array.shape[2], 3)] = array[:, :, :3]
    if scale != 1.0:
        pixels /= np.float32(scale)
    return pixels


def as_bytes(image: Any, what: str) -> Any:
    """Return pixels as u8. Floats are clamped to [0, 1] and rounded down to the next step."""
    array = numbers_of(image, "an image")
    if array.dtype == np.uint8:
        return array
    scale = _scale(array, what)
    with np.errstate(invalid="ignore"):
        clipped = np.nan_to_num(np.clip(array.astype(np.float64), 0, scale))
    return (clipped * (255 / scale)).astype(np.uint8)


def imwrite(img: Any, filename: Any, order: Any = None) -> None:
    """Write an image to a file. The ending of the name selects the format (png, jpg, bmp, gif ...). A jpg is written
    with a quality of 95 and colours at full resolution, so that noise keeps its contrast. A png is lossless.

    `img` is a field or array of shape (width, height), or (width, height, channels) for grey, grey and alpha, RGB or
    RGBA. Values are floats in [0, 1] or unsigned integers over their range. With `order="yx"`, `img` is as numpy has
    images: of shape (height, width) or (height, width, channels), with rows from the top. The default is "xy", with an
    ImageOrderWarning for arrays of unsigned integers that `imread` has not made. Raises ValueError for another shape,
    TypeError for another type.

    Example:
        pixels = ti.field(ti.f32, (16, 16, 3))
        pixels.fill(0.5)
        ti.tools.imwrite(pixels, "grey.png")
        ti.tools.imread("grey.png")[0, 0].tolist()  # [127, 127, 127]
        ti.tools.imwrite(np.zeros(5), "line.png")  # raises ValueError
    """
    order, pixels = order_of(order, img, "imwrite"), as_bytes(img, "imwrite")
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] > 4) or not pixels.size:
        raise ValueError(f"an image must have the shape (width, height) or (width, height, 1 to 4), not {pixels.shape}")
    picture = pillow().fromarray(np.ascontiguousarray(rows_of(pixels, order)))
    path = Path(path_of(filename, "imwrite"))
    if path.suffix.lower() in (*_JPEGS, ".bmp") and picture.mode in ("LA", "RGBA"):
        picture = picture.convert("L" if picture.mode == "LA" else "RGB")
    save(picture, path)


def save(picture: Any, path: Path | str) -> None:
    """Write a pillow image to a file. Raises ValueError for a name whose ending is not a format."""
    known = pillow().registered_extensions()
    if Path(path).suffix.lower() not in known:
        raise ValueError(
            f"the name of an image must end in its format, such as .png, .jpg or .bmp, unlike {str(path)!r}"
        )
    picture.save(path, **_LOSSY.get(Path(path).suffix.lower(), {}))


def imread(filename: Any, channels: Any = 0, order: Any = "xy") -> Any:
    """Read an image from a file as u8 of shape (width, height, channels), with y up. `channels` is 1 for grey, 2 for
    grey and alpha, 3 for RGB, 4 for RGBA, and 0 for the number in the file. With `order="yx"` the shape is (height,
    width, channels), with rows from the top, as numpy has images. Raises FileNotFoundError if there is no such file.

    Example:
        ti.tools.imwrite(np.zeros((8, 4, 3), np.float32), "black.png")
        image = ti.tools.imread("black.png")
        image.shape, image.dtype  # ((8, 4, 3), dtype('uint8'))
        ti.tools.imread("black.png", order="yx").shape  # (4, 8, 3)
    """
    order = checked_order(order)
    modes = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
    if whole_of(channels, "the number of channels") not in (0, *modes):
        raise ValueError(
            f"the number of channels must be 1 to 4, or 0 for the number that the file has, not {channels}"
        )
    with pillow().open(filename if hasattr(filename, "read") else path_of(filename, "imread")) as picture:
        if channels or picture.mode not in modes.values():
            default = "RGBA" if "transparency" in picture.info or picture.mode == "PA" else "RGB"
            picture = picture.convert(modes.get(channels, "L" if picture.mode in ("1", "I;16", "I", "F") else default))
        array = np.array(picture, np.uint8)
    if array.ndim == 2:
        array = array[:, :, None]
    return np.ascontiguousarray(array) if order == "yx" else remember(np.ascontiguousarray(in_xy(array, "yx")))


def imresize(img: Any, w: Any, h: Any = None) -> Any:
    """Resize an image to `w` by `h` pixels (`h` defaults to `w`), with the same type. Each pixel takes the nearest one
    below.

    Example:
        ti.tools.imresize(np.zeros((8, 4, 3), np.float32), 16, 2).shape  # (16, 2, 3)
    """
    array = numbers_of(img, "an image")
    h = w if h is None else h
    if array.ndim not in (2, 3) or not array.size:
        raise TypeMismatch(f"an image must have two or three axes, but its shape is {array.shape}")
    if not all(isinstance(size, int | np.integer) and 0 < size < _LARGEST for size in (w, h)):
        raise TypeMismatch(f"the size of an image must be two whole numbers of at least 1, not {w!r} and {h!r}")
    x, y = (np.arange(new) * old // new for new, old in zip((w, h), array.shape))
    return array[x[:, None], y[None, :]]
