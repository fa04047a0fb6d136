"""Make videos of frames: png files in a folder become an mp4 by ffmpeg, or a gif by pillow."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import flag_of, is_several, number_of, numbers_of, path_of, shown, text_of, whole_of
from weft.lang.ui import ffmpeg
from weft.lang.ui.images import imwrite, pillow

__all__ = ["VideoManager"]


class VideoManager:
    r"""Collects frames in `output_dir/frames` and makes videos of them.

    `video_filename` is the name of the videos without an ending ("video"); `width` and `height` are the size of the
    frames, by default that of the first frame; `post_processor(image)` is applied to each frame; `framerate` is per
    second. With `automatic_build` and ffmpeg, the mp4 is made again each time the number of frames doubles.

    Example:
        video = ti.tools.VideoManager("out", framerate=24, automatic_build=False)
        for frame in range(3):
            video.write_frame(np.full((16, 16, 3), frame / 3, np.float32))
        video.make_video(gif=True, mp4=False)
        video.get_output_filename(".gif").replace("\\", "/")  # 'out/video.gif'
    """

    def __init__(
        self,
        output_dir: Any,
        video_filename: str | None = None,
        width: int | None = None,
        height: int | None = None,
        post_processor: Callable[[Any], Any] | None = None,
        framerate: Any = 24,
        automatic_build: bool = True,
    ) -> None:
        self.directory = Path(path_of(output_dir, "VideoManager"))
        self.frame_directory = self.directory / "frames"
        self.video_filename = (
            text_of("" if video_filename is None else video_filename, "the name of a video") or "video"
        )
        self.width = None if width is None else whole_of(width, "the width of a video", 1)
        self.height = None if height is None else whole_of(height, "the height of a video", 1)
        if post_processor is not None and not callable(post_processor):
            raise TypeMismatch(f"post_processor must be a function of an image, not {shown(post_processor)}")
        self.post_processor, self.automatic_build = post_processor, flag_of(automatic_build, "automatic_build")
        self.framerate = number_of(framerate, "the number of frames per second", 0, above=True)
        self.frame_counter, self.frame_fns, self.next_video_checkpoint = 0, list[str](), 4
        self.frame_directory.mkdir(parents=True, exist_ok=True)

    def get_output_filename(self, suffix: str) -> str:
        """Return the path of the video with that ending, such as ".mp4"."""
        return str(self.directory / f"{self.video_filename}{text_of(suffix, 'the ending of a name')}")

    def get_frame_directory(self) -> str:
        """Return the path of the folder of the frames, a string."""
        return str(self.frame_directory)

    def write_frame(self, img: Any) -> None:
        """Add a frame: an image as `imwrite` takes it. Raises ValueError if its size differs from that of the
        others."""
        image: Any = numbers_of(img if self.post_processor is None else self.post_processor(img), "a frame")
        if image.ndim not in (2, 3):
            raise TypeMismatch(f"a frame must have two or three axes, but its shape is {image.shape}")
        self.width, self.height = self.width or image.shape[0], self.height or image.shape[1]
        if image.shape[:2] != (self.width, self.height):
            raise ValueError(f"the frames have {self.width} x {self.height} pixels, but this one has {image.shape[:2]}")
        name = f"{self.frame_counter:06d}.png"
        imwrite(image, str(self.frame_directory / name), order="xy")
        self.frame_fns.append(name)
        self.frame_counter += 1
        if self.frame_counter == self.next_video_checkpoint:
            self.next_video_checkpoint *= 2
            if self.automatic_build and ffmpeg.find_ffmpeg():
                self.make_video(gif=False)

    def write_frames(self, images: Iterable[Any]) -> None:
        """Add several frames, one after the other, as `write_frame` adds one."""
        if not is_several(images):
            raise TypeMismatch(f"frames must be a list of images, not {shown(images)}")
        for image in images:
            self.write_frame(image)

    def clean_frames(self) -> None:
        """Delete the files of the frames. Videos that were made stay."""
        for name in self.frame_fns:
            (self.frame_directory / name).unlink(missing_ok=True)
        self.frame_fns.clear()
        self.frame_counter, self.next_video_checkpoint = 0, 4

    def make_video(self, mp4: bool = True, gif: bool = True) -> None:
        """Make the videos. If ffmpeg is missing, an mp4 cannot be made: raises MissingLibrary if no gif is wanted;
        otherwise makes the gif and warns."""
        if not self.frame_fns:
            raise ValueError("there are no frames for a video: call write_frame first")
        mp4, gif = flag_of(mp4, "mp4"), flag_of(gif, "gif")
        if mp4 and (ffmpeg.find_ffmpeg() or not gif):
            pattern = str(self.frame_directory / "%06d.png")
            ffmpeg.frames_to_mp4(pattern, self.get_output_filename(".mp4"), self.framerate)
        elif mp4:
            warnings.warn("cannot make an mp4 without ffmpeg: type `pip install imageio-ffmpeg`", stacklevel=2)
        if gif:
            self._make_gif()

    def _make_gif(self) -> None:
        image = pillow()
        frames = [
            image.open(self.frame_directory / name).convert("RGB").quantize(256, dither=image.Dither.NONE)
            for name in self.frame_fns
        ]
        first, *rest = frames
        duration = max(20, round(1000 / self.framerate))  # viewers show faster frames more slowly
        first.save(
            self.get_output_filename(".gif"),
            save_all=True,
            append_images=rest,
            duration=duration,
            loop=0,
            optimize=False,
        )
