"""Record the frames of a demo into a film, or the last of them into a picture."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from weft.demos.playing import Clock, rows
from weft.lang.logs.progress import progress
from weft.lang.ui.ffmpeg import FilmWriter, find_ffmpeg

__all__ = ["record"]

FILMS = (".gif", ".mp4")  # the endings of files that hold all frames; others hold the last one
RATE = 25.0  # frames per second in films


def record(frame: Callable[[int], Any], count: int, path: Path, clock: Clock) -> None:
    """Write that many frames to a film, or the last of them to a picture. After Ctrl-C, write the frames so far."""
    path.parent.mkdir(parents=True, exist_ok=True)
    film = path.suffix.lower() in FILMS
    image: Any = None
    with ExitStack() as open_until_here:
        bar = open_until_here.enter_context(progress(f"recording {path}", count))
        write: Callable[[Any], None] = open_until_here.enter_context(_film(path)) if film else _nothing
        try:
            for number in range(count):
                image = as_bytes(rows(clock.timed(frame, number)))
                write(image)
                bar.advance()
        except KeyboardInterrupt:
            if image is None:
                raise
    if not film:
        _picture(image).save(path)


def _nothing(_: Any) -> None:
    """Write no film."""


def _film(path: Path) -> Any:
    return FilmWriter(path, RATE) if find_ffmpeg() or path.suffix.lower() != ".gif" else _Gif(path)


class _Gif:
    """Writes a GIF by pillow, where there is no ffmpeg. That takes a tenth of a second for a frame."""

    def __init__(self, path: Path) -> None:
        self._path, self._kept = path, list[Any]()

    def __enter__(self) -> Callable[[Any], None]:
        return lambda image: self._kept.append(_picture(image).quantize(256))

    def __exit__(self, *_: object) -> None:
        if self._kept:
            first, *others = self._kept
            first.save(self._path, save_all=True, append_images=others, duration=round(1000 / RATE), loop=0)


def as_bytes(image: Any) -> Any:
    """Floats in [0, 1] as bytes."""
    return (np.clip(image, 0, 1) * 255 + 0.5).astype(np.uint8)


def _picture(image: Any) -> Any:
    from PIL import Image

    return Image.fromarray(image)
