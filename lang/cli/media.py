"""The commands of `weft` that make and edit videos: `video`, `gif`, `video_speed`, `video_crop`, `video_scale`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from weft.ir.errors import WeftError
from weft.lang.ui import ffmpeg

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Declare the commands. Each sets `action`, which runs it."""
    video = commands.add_parser("video", help="make a video from PNG files (default: all of this folder)")
    video.add_argument("inputs", nargs="*", metavar="PNG", help="the frames, in this order")
    video.add_argument("-o", "--output", default="video.mp4", metavar="FILE")
    video.add_argument("-f", "--framerate", type=float, default=24, metavar="N", help="frames per second")
    video.add_argument("-c", "--crf", type=int, default=20, metavar="N", help="the quality, from 0 (the best) to 51")
    video.set_defaults(action=partial(_told, _video))
    gif = _on_a_video(commands, "gif", "make a GIF from a video", _gif)
    gif.add_argument("-f", "--framerate", type=float, default=24, metavar="N", help="frames per second")
    speed = _on_a_video(commands, "video_speed", "speed up a video", _speed)
    speed.add_argument("-s", "--speed", type=float, required=True, metavar="FACTOR")
    crop = _on_a_video(commands, "video_crop", "crop a video; pixels count from its lower left corner", _crop)
    for name in ("x1", "x2", "y1", "y2"):
        crop.add_argument(f"--{name}", type=int, required=True, metavar="PIXEL")
    scale = _on_a_video(commands, "video_scale", "scale a video", _scale)
    scale.add_argument("-w", "--ratio-width", type=float, required=True, metavar="FACTOR")
    scale.add_argument("--ratio-height", type=float, metavar="FACTOR", help="default: the ratio of the width")


def _on_a_video(commands: Any, name: str, text: str, action: Callable[[Any], int]) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text)
    parser.add_argument("-i", "--input", required=True, metavar="FILE")
    parser.set_defaults(action=partial(_told, action))
    return parser


def _told(action: Callable[[Any], int], given: argparse.Namespace) -> int:
    """Run the function and print an error as one line."""
    try:
        return action(given)
    except (OSError, RuntimeError, ValueError, WeftError) as error:
        print(f"weft: {error}", file=sys.stderr)
        return 2


def _beside(source: str, ending: str) -> str:
    """Return the name of a file beside the source, with the same stem and another ending."""
    path = Path(source)
    return str(path.with_name(path.stem + ending))


def _video(given: argparse.Namespace) -> int:
    pictures = [Path(name) for name in given.inputs] or sorted(Path().glob("*.png"))
    ffmpeg.pictures_to_mp4(pictures, given.output, given.framerate, given.crf)
    print(f"{given.output}: {len(pictures)} frames")
    return 0


def _done(path: str) -> int:
    print(path)
    return 0


def _gif(given: argparse.Namespace) -> int:
    output = _beside(given.input, ".gif")
    ffmpeg.mp4_to_gif(given.input, output, given.framerate)
    return _done(output)


def _speed(given: argparse.Namespace) -> int:
    output = _beside(given.input, "-sped.mp4")
    ffmpeg.speed_up(given.input, output, given.speed)
    return _done(output)


def _crop(given: argparse.Namespace) -> int:
    output = _beside(given.input, "-cropped.mp4")
    ffmpeg.crop_video(given.input, output, (given.x1, given.x2), (given.y1, given.y2))
    return _done(output)


def _scale(given: argparse.Namespace) -> int:
    output = _beside(given.input, "-scaled.mp4")
    height = given.ratio_width if given.ratio_height is None else given.ratio_height
    ffmpeg.scale_video(given.input, output, given.ratio_width, height)
    return _done(output)
