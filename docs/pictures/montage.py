"""Makes demos.png: one frame of each demo, two rows of four. Run it as `python docs/pictures/montage.py`."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import font_manager
from PIL import Image, ImageDraw, ImageFont

import weft

# Which frame of each demo to show, and how wide; the demos that move from frame to frame are run up to it.
ROWS = (
    (("mpm88", 110, 300), ("stable_fluids", 40, 300), ("life", 120, 300), ("heat", 110, 300)),
    (("galaxy", 80, 240), ("julia", 120, 270), ("filters", 30, 258), ("raymarch", 40, 432)),
)
STATELESS = ("julia", "filters", "raymarch")
HEIGHT, GAP, INK = 300, 6, (236, 236, 236)


def frame_of(name: str, number: int) -> Any:
    """That frame as an image."""
    weft.init(arch=weft.cpu, random_seed=1)
    frame = importlib.import_module(f"weft.demos.{name}").build()
    for earlier in range(number if name not in STATELESS else 0):
        frame(earlier)
    return Image.fromarray((np.clip(frame(number), 0, 1) * 255).astype(np.uint8))


def cropped(image: Any, width: int, at: float = 0.5) -> Any:
    """The part of the image around `at` (0 left, 1 right) that is that wide once it is as high as a row."""
    side = min(image.height, round(image.width * HEIGHT / width))
    across = round(side * width / HEIGHT)
    left, top = round((image.width - across) * at), (image.height - side) // 2
    return image.crop((left, top, left + across, top + side)).resize((width, HEIGHT), Image.Resampling.LANCZOS)


def tile(name: str, number: int, width: int) -> Any:
    """The middle of the frame (of `filters`: of each of its three panels), with the demo's name."""
    image = frame_of(name, number)
    if name == "filters":
        picture, panel = Image.new("RGB", (width, HEIGHT)), (image.width - 16) // 3
        for k in range(3):
            left = k * (panel + 8)
            strip = cropped(image.crop((left, 0, left + panel, image.height)), width // 3)
            picture.paste(strip, (k * (width // 3), 0))
    else:
        picture = cropped(image, width, 0.0 if name == "julia" else 0.5)  # the inset is too small here
    pen, font = ImageDraw.Draw(picture), ImageFont.truetype(font_manager.findfont("DejaVu Sans"), 13)
    pen.text((8, HEIGHT - 22), name, INK, font, stroke_width=2, stroke_fill=(0, 0, 0))
    return picture


def main() -> None:
    across = sum(width + GAP for _, _, width in ROWS[0]) - GAP
    sheet = Image.new("RGB", (across, len(ROWS) * (HEIGHT + GAP) - GAP), (255, 255, 255))
    for row, demos in enumerate(ROWS):
        left = 0
        for name, number, width in demos:
            sheet.paste(tile(name, number, width), (left, row * (HEIGHT + GAP)))
            left += width + GAP
    palette = sheet.quantize(256)
    dithered = sheet.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG)
    dithered.save(Path(__file__).with_name("demos.png"), optimize=True)


if __name__ == "__main__":
    main()
