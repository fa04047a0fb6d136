"""`ti.ui.Window`: a window with a canvas, scenes, panels and events. Without a display, it makes pictures."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import any_number, flag_of, numbers_of, shown, size_of, text_of
from weft.lang.data.field import ScalarField
from weft.lang.data.ndarray import ScalarNdarray
from weft.lang.notebook.cells import in_notebook
from weft.lang.notebook.screen import Png, Screen
from weft.lang.ui.canvas import Canvas
from weft.lang.ui.desktop import DesktopWindow, has_display
from weft.lang.ui.events import Event
from weft.lang.ui.images import imwrite
from weft.lang.ui.inputs import Countdown, Inputs
from weft.lang.ui.panels import Gui
from weft.lang.ui.render.rooms import on_host
from weft.lang.ui.scene import Scene

__all__ = ["Window", "check_ggui_availability"]


class Window:
    """Draw a frame on `get_canvas()` and `get_gui()`, then call `show()`.

    `res` is (width, height) in pixels, or one number for both. `show_window=False` opens no window: `save_image` and
    `get_image_buffer_as_numpy` return the pictures. `fps_limit` is the maximum number of frames per second, 60 with
    `vsync`. `pos` is the position of the upper left corner on the screen.

    A notebook shows the frames below the cell. Elsewhere, without a display, there are only pictures, and a program
    that wants a window gets WEFT_GUI_FRAMES (120) frames; then `running` is False.

    Example:
        window = ti.ui.Window("circles", (64, 64), show_window=False)
        canvas = window.get_canvas()
        canvas.set_background_color((1.0, 1.0, 1.0))
        canvas.circles(np.array([[0.5, 0.5]], np.float32), radius=0.2, color=(1.0, 0.0, 0.0))
        window.get_image_buffer_as_numpy()[32, 32].tolist()  # [1.0, 0.0, 0.0, 1.0]
        window.get_window_shape(), window.running  # ((64, 64), True)
        window.save_image("circles.png")
        window.show()
    """

    def __init__(
        self,
        name: str,
        res: Any,
        vsync: bool = False,
        show_window: bool = True,
        fps_limit: float = 1000,
        pos: tuple[int, int] = (100, 100),
    ) -> None:
        self.name, self._size = text_of(name, "the name of a window"), size_of(res, "a window")
        self._fps = any_number(fps_limit, "fps_limit")
        if not self._fps > 0:
            raise ValueError(f"fps_limit must be a number above 0, not {fps_limit}")
        if flag_of(vsync, "vsync"):
            self._fps = min(60.0, self._fps)
        corner, wanted = _corner(pos), flag_of(show_window, "show_window")
        self._event: Event | None = None
        self._title = name
        self._running, self._saved, self._shown_at, self._frames = True, False, 0.0, 0
        self._canvas, self._gui, self._scene = Canvas(self._size), Gui(self._size), Scene()
        self._screen = Screen() if wanted and in_notebook() else None
        on_desktop = wanted and self._screen is None and has_display()
        self._window = DesktopWindow(name, self._size, False, corner) if on_desktop else None
        self._inputs = Inputs(self._window, self._gui.handle)
        waits = wanted and self._window is None and self._screen is None
        self._countdown = Countdown(name, self._inputs) if waits else None
        self._picture: Any = None

    # ---- frames

    @property
    def running(self) -> bool:
        """Whether to continue: True until the window is closed, or this is set to False."""
        return self._running and not (self._window is not None and self._window.closed)

    @running.setter
    def running(self, value: bool) -> None:
        if not flag_of(value, "Window.running"):
            self.destroy()

    def show(self) -> None:
        """Show the frame, then start an empty one. It waits as long as `fps_limit` asks."""
        self._picture = self._drawn()
        if self._window is not None and not self._window.closed:
            self._window.show(self._picture)
            time.sleep(max(0.0, self._shown_at + 1 / self._fps - time.perf_counter()))
            self._shown_at = time.perf_counter()
        elif self._screen is not None:
            self._screen.show(self._picture)
        elif self._countdown is not None and self._countdown.frame(self._frames, self._picture, self._saved):
            self._running = False
        self._frames += 1
        self._saved = False
        self._canvas.finish()
        self._gui.finish()
        self._inputs.next_frame()  # for the widgets of the next frame

    def destroy(self) -> None:
        """Close the window. Then `running` is False, and no more frames are shown."""
        self._running = False
        if self._window is not None:
            self._window.close()

    @property
    def title(self) -> str:
        """The title of the window. Set it to change it."""
        return self._title

    @title.setter
    def title(self, title: str) -> None:
        self._title = text_of(title, "the title of a window")
        if self._window is not None:
            self._window.retitle(title)

    def get_window_shape(self) -> tuple[int, int]:
        """Return the size of the picture in pixels, (width, height)."""
        return self._size

    def get_canvas(self) -> Canvas:
        """Return the canvas of the window, a `Canvas`. It is the same one in each frame."""
        return self._canvas

    def get_scene(self) -> Scene:
        """Return the scene of this window. `ti.ui.Scene()` makes others."""
        return self._scene

    def get_gui(self) -> Gui:
        """Return the panels of widgets, a `Gui`. It is the same one in each frame."""
        return self._gui

    @property
    def GUI(self) -> Gui:  # noqa: N802
        """Return the same as `get_gui()`. Older programs for Taichi use it."""
        return self._gui

    # ---- pictures

    def picture(self) -> Any:
        """Return a pillow image, RGBA, of the frame so far, with its panels. Right after `show`, it is the frame that
        was shown."""
        began = self._canvas.began or self._gui.has_panels
        return self._drawn() if began or self._picture is None else self._picture

    def _drawn(self) -> Any:
        picture = self._canvas.frame.picture()
        if self._gui.has_panels:
            picture = picture.copy()
            self._gui.draw(picture)
        return picture

    def save_image(self, filename: str) -> None:
        """Write the frame so far to a file (png, jpg, bmp). Call it before `show`."""
        self._saved = True
        imwrite(np.asarray(self.picture()), filename, order="yx")

    def get_image_buffer_as_numpy(self) -> Any:
        """Return the frame so far: f32 RGBA in [0, 1] of shape (width, height, 4), y up."""
        pixels = np.asarray(self.picture())[::-1].swapaxes(0, 1)
        return np.ascontiguousarray(pixels, np.float32) / np.float32(255)

    def get_depth_buffer_as_numpy(self) -> Any:
        """Return the depth of the scene at each pixel: f32 of shape (width, height), y up. It is 1 at the camera's near
        plane, and 0 at the far plane and where nothing is. In perspective, it is linear in one over the distance in
        between."""
        return np.array(on_host(self._canvas.depths))

    def get_depth_buffer(self, depth: Any) -> None:
        """Copy the depths into a field, ndarray or array of floats of that shape. Raises ValueError for another shape,
        TypeMismatch for another object."""
        if isinstance(depth, ScalarField | ScalarNdarray):
            fits = depth.dtype.is_float
        else:
            fits = isinstance(depth, np.ndarray) and depth.dtype.kind == "f"
        if not fits:
            raise TypeMismatch(f"get_depth_buffer takes a field, ndarray or array of floats, not {shown(depth)}")
        if tuple(depth.shape) != self._size:
            raise ValueError(
                f"the window has {self._size} pixels, but the field of depths has the shape {tuple(depth.shape)}"
            )
        depths = self.get_depth_buffer_as_numpy()
        if isinstance(depth, np.ndarray):
            depth[...] = depths
        else:
            depth.from_numpy(depths)

    def _repr_png_(self) -> bytes:
        """Return the picture for notebooks."""
        return Png(self.picture())._repr_png_()

    # ---- events

    @property
    def event(self) -> Event | None:
        """The last event of `get_event` or `get_events`, or None before the first one."""
        return self._event

    def get_events(self, tag: Any = None) -> Iterator[Event]:
        """Yield the events. `tag` selects only PRESS, only RELEASE, or only a key. Others are dropped."""
        for event in self._inputs.events(*([] if tag is None else [tag])):
            self._event = event
            yield event

    def get_event(self, tag: Any = None) -> bool:
        """Store the next event that matches in `event`, or None. Returns whether there was one."""
        self._event = next(self.get_events(tag), None)
        return self._event is not None

    def is_pressed(self, *keys: str | Sequence[str]) -> bool:
        """Return whether one of these keys or buttons is down, or was pressed since the frame before the last one, as
        of the last frame shown or the last read of the events. Presses on panels do not count."""
        return self._inputs.is_pressed(*keys)

    def get_cursor_pos(self) -> tuple[float, float]:
        """Return the position of the pointer, in [0, 1], (0, 0) lower left."""
        return self._inputs.cursor


def check_ggui_availability() -> bool:
    """Return whether windows with scenes work: always. Without a display, they make pictures.

    Example:
        ti.ui.check_ggui_availability()  # True
    """
    return True


def _corner(pos: Any) -> tuple[int, int]:
    """Return a position on the screen. Raises ValueError for any other value."""
    place = numbers_of(pos, "the position of a window").reshape(-1)
    if len(place) != 2 or not (abs(place) < 2**16).all():
        raise ValueError(f"the position of a window must be two numbers of pixels, not {shown(pos)}")
    return int(place[0]), int(place[1])
