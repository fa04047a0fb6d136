"""Make and edit videos with ffmpeg: the program in PATH, or the one in the package `imageio-ffmpeg`."""

from __future__ import annotations

import functools
import importlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from weft.lang.extras import MissingLibrary

__all__ = [
    "FilmWriter",
    "crop_video",
    "find_ffmpeg",
    "frames_to_mp4",
    "mp4_to_gif",
    "pictures_to_mp4",
    "scale_video",
    "speed_up",
]

# H.264 requires even sizes, and colours at half resolution to play everywhere.
_EVEN = "pad=ceil(iw/2)*2:ceil(ih/2)*2"


def find_ffmpeg() -> str:
    """Return the path of ffmpeg, or "" if there is none."""
    return shutil.which("ffmpeg") or _of_the_wheel()


@functools.cache
def _of_the_wheel() -> str:
    try:
        return str(importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        return ""


def _run(*arguments: str) -> None:
    """Run ffmpeg. Raises MissingLibrary if there is none, and RuntimeError with its output if it fails."""
    done = subprocess.run(
        [_found(), "-loglevel", "error", "-y", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"ffmpeg failed: {done.stderr.strip()}")


def _found() -> str:
    ffmpeg = find_ffmpeg()
    if not ffmpeg:
        raise MissingLibrary(
            "a video needs the program ffmpeg: type `pip install imageio-ffmpeg`, or put ffmpeg on the PATH; "
            "for a GIF of frames without ffmpeg, call make_video(mp4=False)"
        )
    return ffmpeg


def frames_to_mp4(pattern: str, output: str, framerate: float, crf: int = 16) -> None:
    """Make an H.264 video of numbered pictures. `pattern` is like "frames/%06d.png". `crf` goes from 0 (lossless) to
    51."""
    coding = ["-vf", _EVEN, "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", str(crf)]
    _run("-framerate", str(framerate), "-i", pattern, *coding, output)


def pictures_to_mp4(pictures: Sequence[Path], output: str, framerate: float, crf: int) -> None:
    """Make a video of those pictures, in that order. Raises ValueError if there are none."""
    if not pictures:
        raise ValueError("there are no pictures for a video")
    with tempfile.TemporaryDirectory() as folder:
        for number, picture in enumerate(pictures):
            shutil.copyfile(picture, Path(folder) / f"{number:06d}{picture.suffix}")
        frames_to_mp4(str(Path(folder) / f"%06d{pictures[0].suffix}"), output, framerate, crf)


# Each frame of a gif has a palette of its own, so that frames are written as they come.
_FILMS = {
    ".gif": ["-vf", "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1", "-loop", "0"],
    ".mp4": ["-vf", _EVEN, "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "16"],
}


class FilmWriter:
    """Writes frames to a .gif or .mp4 while they are computed: `with FilmWriter(path, rate) as write: write(frame)`.
    Frames are u8 of shape (height, width, 3), all of one size, with rows from the top. ffmpeg runs beside the program.
    Raises MissingLibrary if there is none, and RuntimeError with its output if it fails."""

    def __init__(self, path: Path, framerate: float) -> None:
        self._path, self._rate = path, framerate
        self._running: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Callable[[Any], None]:
        return self._write

    def _write(self, frame: Any) -> None:
        if self._running is None:
            height, width, _ = frame.shape
            kind = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(self._rate), "-i", "-"]
            command = [_found(), "-loglevel", "error", "-y", *kind, *_FILMS[self._path.suffix.lower()], str(self._path)]
            # A new session: Ctrl-C ends the program's loop, and ffmpeg writes what it has.
            self._running = subprocess.Popen(
                command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        pipe = self._running.stdin
        assert pipe is not None
        try:
            pipe.write(frame.tobytes())
        except BrokenPipeError:
            self._finish()
            raise

    def _finish(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            _, said = running.communicate()
            if running.returncode:
                raise RuntimeError(f"ffmpeg failed: {said.decode(errors='replace').strip()}")

    def __exit__(self, *_: object) -> None:
        self._finish()


def mp4_to_gif(source: str, output: str, framerate: float) -> None:
    """Make a gif of a video, with an optimized palette."""
    _run("-i", source, "-vf", f"fps={framerate},split[a][b];[a]palettegen[p];[b][p]paletteuse", output)


def speed_up(source: str, output: str, factor: float) -> None:
    """Make a video that is `factor` times as fast, without sound. Raises ValueError unless the factor is above 0."""
    if factor <= 0:
        raise ValueError(f"the factor of the speed must be above 0, not {factor}")
    _run("-i", source, "-vf", f"setpts={1 / factor}*PTS", "-an", output)


def crop_video(source: str, output: str, x: tuple[int, int], y: tuple[int, int]) -> None:
    """Cut out the part of a video with `x[0] <= x < x[1]` and `y[0] <= y < y[1]`, in pixels, y up."""
    (left, right), (low, high) = x, y
    if not (0 <= left < right and 0 <= low < high):
        raise ValueError(f"the part of the video is empty: x from {left} to {right}, y from {low} to {high}")
    _run("-i", source, "-vf", f"crop={right - left}:{high - low}:{left}:ih-{high},{_EVEN}", output)


def scale_video(source: str, output: str, width: float, height: float) -> None:
    """Scale the sides of a video by those factors. Raises ValueError unless they are above 0."""
    if width <= 0 or height <= 0:
        raise ValueError(f"the ratio of a side must be above 0, not {min(width, height)}")
    _run("-i", source, "-vf", f"scale=trunc(iw*{width}/2)*2:trunc(ih*{height}/2)*2", output)
