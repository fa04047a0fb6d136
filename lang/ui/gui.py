"""`ti.GUI`: a window to draw in. Without a display, it writes pictures to files."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from weft.ir.errors import WeftError
from weft.lang.arguments import flag_of, number_of, numbers_of, path_of, shown, size_of, text_of
from weft.lang.notebook.cells import in_notebook
from weft.lang.notebook.screen import Png, Screen
from weft.lang.ui import events, widgets
from weft.lang.ui.colormaps import colored, extent, numbers, table
from weft.lang.ui.desktop import DesktopWindow, has_display
from weft.lang.ui.events import PRESS
from weft.lang.ui.gui_canvas import GuiCanvas, colors_of, one_each
from weft.lang.ui.images import as_floats, imresize, save
from weft.lang.ui.inputs import Countdown, Inputs
from weft.lang.ui.render.rooms import in_place
from weft.lang.ui.vertices import arrows_of, longest
from weft.lang.values.color import rgb_to_hex

__all__ = ["GUI", "rgb_to_hex"]

_LARGEST_TEXT = 4096  # pixels


class GUI:
    """A picture that is drawn again for each frame. `show` displays it.

    `name` is the title; `res` is (width, height) in pixels, or one number for both; `background_color` is 0xRRGGBB;
    `show_gui=False` opens no window; `fast_gui` has no effect. Positions are in [0, 1], with (0, 0) at the lower left.
    Sizes are in pixels, colours are 0xRRGGBB. The positions of several shapes are fields or arrays of shape (n, 2). A
    colour or size is one for all shapes, or an array with one for each.

    A notebook shows the frames below the cell. Elsewhere, without a display, `show` only writes files: the file that it
    is given, or, in programs that give none, the last of WEFT_GUI_FRAMES (120) frames to `out/<name>.png`. Then
    `running` is False, and ESCAPE and EXIT are reported as pressed, so that a program written for a window ends.

    Example:
        gui = ti.GUI("picture", res=(64, 32), show_gui=False)
        gui.clear(0x112233)
        gui.circle((0.5, 0.5), color=0xFFFFFF, radius=5)
        gui.text("hello", (0.1, 0.9))
        gui.get_image().shape  # (64, 32, 4)
        gui.show("picture.png")
        ti.tools.imread("picture.png").shape  # (64, 32, 3)
    """

    Event, EventFilter, WidgetValue = events.Event, events.EventFilter, widgets.WidgetValue
    SHIFT, ALT, CTRL, CAPSLOCK = events.SHIFT, events.ALT, events.CTRL, events.CAPSLOCK
    ESCAPE, RETURN, TAB = events.ESCAPE, events.RETURN, events.TAB
    BACKSPACE, SPACE = events.BACKSPACE, events.SPACE
    UP, DOWN, LEFT, RIGHT = events.UP, events.DOWN, events.LEFT, events.RIGHT
    LMB, MMB, RMB = events.LMB, events.MMB, events.RMB
    EXIT, WHEEL, MOVE = events.EXIT, events.WHEEL, events.MOVE
    event: events.Event | None
    MOTION, PRESS, RELEASE = events.MOTION, events.PRESS, events.RELEASE

    def __init__(
        self,
        name: str = "Taichi",
        res: Any = 512,
        background_color: int = 0x0,
        show_gui: bool = True,
        fullscreen: bool = False,
        fast_gui: bool = False,
    ) -> None:
        self.name, self.res = text_of(name, "the name of a GUI"), size_of(res, "a GUI")
        self.background_color, self.fast_gui = background_color, flag_of(fast_gui, "fast_gui")
        self._fps_limit: float | None = 60.0
        self.frame = 0
        self.event = None
        self.canvas = GuiCanvas(*self.res)
        self._closed, self._shown_at = False, 0.0
        wanted = self.get_bool_environ("TI_GUI_SHOW", flag_of(show_gui, "show_gui"))
        fullscreen = self.get_bool_environ("TI_GUI_FULLSCREEN", flag_of(fullscreen, "fullscreen"))
        self._screen = Screen() if wanted and in_notebook() else None
        on_desktop = wanted and self._screen is None and has_display()
        self._window = DesktopWindow(name, self.res, fullscreen) if on_desktop else None
        self._panel = widgets.Panel(self.res, lambda key: self._inputs.add(PRESS, key))
        self._inputs = Inputs(self._window, self._panel.handle)
        waits = wanted and self._window is None and self._screen is None
        self._countdown = Countdown(name, self._inputs) if waits else None
        self._last: Any = None  # the picture that was shown last
        self.clear()

    @staticmethod
    def get_bool_environ(key: str, default: bool) -> bool:
        """Return whether an environment variable is set to a true value: anything except 0, false and the empty
        string."""
        text_of(key, "the name of an environment variable")
        return os.environ[key].lower() not in ("", "0", "false") if key in os.environ else default

    def __enter__(self) -> GUI:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- frames

    @property
    def running(self) -> bool:
        """Whether to continue: True until the window is closed, or this is set to False."""
        if self._window is not None and self._window.closed:
            self._closed = True
        return not self._closed

    @running.setter
    def running(self, value: bool) -> None:
        self._closed = not flag_of(value, "GUI.running")
        if self._closed:
            self.close()

    @property
    def fps_limit(self) -> float | None:
        """The maximum number of frames per second of a window; None: unlimited."""
        return self._fps_limit

    @fps_limit.setter
    def fps_limit(self, value: float | None) -> None:
        self._fps_limit = None if value is None else number_of(value, "fps_limit", 0, above=True)

    def close(self) -> None:
        """Close the window. Then `running` is False. Pictures can still be made."""
        self._closed = True
        if self._window is not None:
            self._window.close()

    def clear(self, color: int | None = None) -> None:
        """Fill the picture with a colour, by default that of the background."""
        self.canvas.clear(self.background_color if color is None else color)

    def show(self, file: str | None = None) -> None:
        """Show the frame, and write it to `file` if given (png, jpg, bmp). Then start an empty frame."""
        path = None if file is None else path_of(file, "GUI.show")
        self._panel.draw(self.canvas)
        picture = self.canvas.picture()
        if path is not None:
            save(picture, path)
        if self._window is not None and not self._window.closed:
            self._window.show(picture)
            self._wait()
        elif self._screen is not None:
            self._screen.show(picture)
        elif self._countdown is not None and self._countdown.frame(self.frame, picture, path is not None):
            self._closed = True
        self.frame, self._last = self.frame + 1, picture
        self._inputs.next_frame()
        self.clear()

    def _repr_png_(self) -> bytes:
        """Return the frame that was shown last, for notebooks."""
        return Png(self.canvas.picture() if self._last is None else self._last)._repr_png_()

    def _wait(self) -> None:
        """Wait until the frame rate permits the next frame."""
        if self.fps_limit:
            time.sleep(max(0.0, self._shown_at + 1 / self.fps_limit - time.perf_counter()))
        self._shown_at = time.perf_counter()

    def get_image(self) -> Any:
        """Return the picture so far: f32 of shape (width, height, 4)."""
        opaque = np.ones((*self.res, 1), np.float32)
        return np.concatenate([self.canvas.pixels, opaque], 2)

    # ---- drawing

    def cook_image(self, img: Any) -> Any:
        """Convert an image as `set_image` takes it to f32 of shape (width, height, 3)."""
        return as_floats(img, "GUI.set_image")

    def set_image(self, img: Any) -> None:
        """Fill the picture with a field or array of shape `res`, or `res` and 1 to 4 channels: grey, red and green,
        RGB, or RGBA. Values are floats in [0, 1] or unsigned integers over their range. Raises ValueError for another
        size."""
        image = img if in_place(img, 3, 3) is not None else self.cook_image(img)
        if tuple(image.shape[:2]) != self.res:
            raise ValueError(f"the image has {image.shape[0]} x {image.shape[1]} pixels, but the GUI has {self.res}")
        self.canvas.set_image(image)

    def contour(self, scalar_field: Any, normalize: bool = False) -> None:
        """Fill the picture with the numbers of a two-dimensional field as colours, from 0 (dark blue) to 1 (yellow).
        `normalize` maps the minimum to 0 and the maximum to 1."""
        values = numbers(scalar_field)
        low, scale = extent(values) if flag_of(normalize, "normalize") else (0.0, 1.0)
        self.canvas.pixels[...] = colored(imresize((values - low) * scale, *self.res), table("plasma"))

    def circle(self, pos: Any, color: int = 0xFFFFFF, radius: float = 1) -> None:
        """Draw a filled circle around `pos`, with a radius in pixels."""
        self.circles(_point(pos), radius, color)

    def circles(
        self, pos: Any, radius: Any = 1, color: Any = 0xFFFFFF, palette: Any = None, palette_indices: Any = None
    ) -> None:
        """Draw filled circles. With `palette`, a list of colours, `palette_indices` selects the colour of each."""
        centers = _points(pos)
        if palette is not None:
            if palette_indices is None:
                raise ValueError("a palette needs palette_indices, the index of the color of each circle")
            color = _of_palette(numbers_of(palette, "a palette").reshape(-1), palette_indices)
        self.canvas.circles(centers, _sizes(radius, len(centers)), colors_of(color, len(centers)))

    def line(self, begin: Any, end: Any, radius: float = 1, color: int = 0xFFFFFF) -> None:
        """Draw a straight line from `begin` to `end`, with round ends of that radius in pixels."""
        self.lines(_point(begin), _point(end), radius, color)

    def lines(self, begin: Any, end: Any, radius: Any = 1, color: Any = 0xFFFFFF) -> None:
        """Draw straight lines from each of `begin` to each of `end`: fields or arrays of shape (n, 2)."""
        begins, ends = _points(begin), _points(end)
        if begins.shape != ends.shape:
            raise ValueError(f"there are {len(begins)} begins of lines, but {len(ends)} ends")
        self.canvas.lines(begins, ends, _sizes(radius, len(begins)), colors_of(color, len(begins)))

    def triangle(self, a: Any, b: Any, c: Any, color: int = 0xFFFFFF) -> None:
        """Draw a filled triangle with the corners `a`, `b` and `c`."""
        self.triangles(_point(a), _point(b), _point(c), color)

    def triangles(self, a: Any, b: Any, c: Any, color: Any = 0xFFFFFF) -> None:
        """Draw filled triangles with the corners `a[k]`, `b[k]` and `c[k]`: fields or arrays of shape (n, 2)."""
        of_each = [_points(a), _points(b), _points(c)]
        if len({len(points) for points in of_each}) > 1:
            raise ValueError(
                f"a, b and c must have the same number of corners, not {', '.join(str(len(p)) for p in of_each)}"
            )
        corners = np.stack(of_each, 1)
        self.canvas.triangles(corners, colors_of(color, len(corners)))

    def rect(self, topleft: Any, bottomright: Any, radius: float = 1, color: int = 0xFFFFFF) -> None:
        """Draw the outline of a rectangle between two opposite corners."""
        (x0, y0), (x1, y1) = _point(topleft)[0], _point(bottomright)[0]
        corners = np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)])
        self.lines(corners, np.roll(corners, -1, 0), radius, color)

    def text(self, content: str, pos: Any, font_size: float = 15, color: int = 0xFFFFFF) -> None:
        """Draw a line of text. `pos` is its upper left corner."""
        corner = _point(pos)[0]
        size = number_of(font_size, "the size of a text", 0, above=True)
        if not np.isfinite(corner).all() or size > _LARGEST_TEXT:
            raise ValueError(
                f"a text must have a finite position, not {corner}, and a size of at most {_LARGEST_TEXT}, not {size:g}"
            )
        self.canvas.text(str(content), corner, size, colors_of(color, 1)[0])

    def arrow(self, orig: Any, direction: Any, radius: float = 1, color: int = 0xFFFFFF, **kwargs: Any) -> None:
        """Draw an arrow from `orig` to `orig + direction`; see `arrows`."""
        self.arrows(_point(orig), _point(direction), radius, color, **kwargs)

    def arrows(
        self,
        orig: Any,
        direction: Any,
        radius: Any = 1,
        color: Any = 0xFFFFFF,
        tip_scale: float = 0.2,
        angle: float = 45,
    ) -> None:
        """Draw arrows from `orig` to `orig + direction`. The two lines of a head have `tip_scale` times the length of
        the arrow, and are turned by `angle` degrees from it, as in a square picture."""
        begins, along = _points(orig), _points(direction)
        if len(begins) != len(along) and 1 not in (len(begins), len(along)):
            raise ValueError(f"there are {len(begins)} arrows, but {len(along)} directions")
        begins, along = np.broadcast_arrays(begins, along)
        tip_scale, angle = number_of(tip_scale, "tip_scale"), number_of(angle, "the angle of a tip")
        ends = begins + along
        self.lines(begins, ends, radius, color)
        for turn in (math.radians(180 - angle), math.radians(180 + angle)):
            x, y = along.T * tip_scale
            tip = np.stack([x * math.cos(turn) - y * math.sin(turn), x * math.sin(turn) + y * math.cos(turn)], 1)
            self.lines(ends, ends + tip, radius, color)

    def _bases(self, w: int, h: int, bound: float) -> Any:
        """Return the points of a w x h grid, each `bound` cells from the lower left corner of its cell."""
        start = number_of(bound, "bound")
        x, y = (np.linspace(start, n - start, n) / n for n in (w, h))
        return np.stack(np.meshgrid(x, y, indexing="ij"), 2).reshape(-1, 2)

    def arrow_field(
        self, direction: Any, radius: Any = 1, color: Any = 0xFFFFFF, bound: float = 0.5, **kwargs: Any
    ) -> None:
        """Draw an arrow for each element of a two-dimensional field of vectors, spread over the picture."""
        along = numbers_of(direction, "a field of directions")
        if along.ndim != 3 or along.shape[2] != 2:
            raise ValueError(f"directions must have the shape (w, h, 2), not {along.shape}")
        w, h, _ = along.shape
        self.arrows(self._bases(w, h, bound), along.reshape(-1, 2), radius, color, **kwargs)

    def point_field(self, radius: Any, color: Any = 0xFFFFFF, bound: float = 0.5) -> None:
        """Draw a circle for each element of a two-dimensional field of radii, spread over the picture."""
        radii = numbers_of(radius, "a field of radii")
        if radii.ndim != 2:
            raise ValueError(f"radii must have the shape (w, h), not {radii.shape}")
        w, h = radii.shape
        self.circles(self._bases(w, h, bound), radii.reshape(-1), color)

    def vector_field(self, vector_field: Any, arrow_spacing: int = 5, color: int = 0xFFFFFF) -> None:
        """Draw arrows for a field of vectors of the picture's size, one for every `arrow_spacing` pixels, which is also
        the length of the longest. NaN and infinite vectors have no arrow."""
        vectors = arrows_of(vector_field, arrow_spacing)
        w, h = (max(1, n // arrow_spacing) for n in self.res)
        places = self._bases(w, h, 0.5)
        x, y = (places * vectors.shape[:2]).astype(int).T
        self.arrows(places, vectors[x, y] * (arrow_spacing / longest(vectors)) / np.array(self.res), color=color)

    # ---- widgets

    def slider(self, text: str, minimum: float, maximum: float, step: float = 1) -> widgets.WidgetValue:
        """Add a slider and return it. Its `value` goes from `minimum` to `maximum` in steps."""
        return self._panel.slider(text, minimum, maximum, step)

    def label(self, text: str) -> widgets.WidgetValue:
        """Add a label and return it. Set its `value` to show a number."""
        return self._panel.label(text)

    def button(self, text: str, event_name: str | None = None) -> str:
        """Add a button. Returns the key of the PRESS event that it creates."""
        given = "" if event_name is None else text_of(event_name, "the name of an event")
        key = given or f"WidgetButton_{text}"
        self._panel.button(text, key)
        return key

    # ---- events

    @property
    def key_pressed(self) -> set[str]:
        """Return the keys and buttons that are down, as of the last read of the events."""
        return self._inputs.pressed

    def has_key_event(self) -> bool:
        """Return whether there are events that the program has not read yet."""
        self._inputs.collect()
        return bool(self._inputs.queue)

    def get_event(self, *e_filter: Any) -> bool:
        """Store the next event that matches (see `EventFilter`) in `event`. Returns whether there was one. Others are
        dropped."""
        for _ in self.get_events(*e_filter):
            return True
        return False

    def get_events(self, *e_filter: Any) -> Iterator[events.Event]:
        """Yield the events that match, and store each in `event`. Others are dropped."""
        for event in self._inputs.events(*e_filter):
            self.event = event
            yield event

    def get_key_event(self) -> events.Event:
        """Wait for the next event. Raises WeftError if there is no window that could produce one."""
        while not self.has_key_event():
            if self._window is None or self._window.closed:
                raise WeftError("there is no window, so there are no events to wait for")
            time.sleep(0.005)
        self.event = self._inputs.queue.pop(0)
        return self.event

    def is_pressed(self, *keys: str | Sequence[str]) -> bool:
        """Return whether one of these keys is down, as of the last read of the events."""
        return self._inputs.is_pressed(*keys)

    def get_cursor_pos(self) -> tuple[float, float]:
        """Return the position of the pointer, in [0, 1]."""
        return self._inputs.cursor


def _point(pos: Any) -> Any:
    """Convert a position, a vector of at least two numbers, to an array of shape (1, 2). Raises ValueError for other
    objects."""
    array = numbers_of(pos, "a position").astype(np.float64)
    if array.size < 2 or array.size != max(array.shape):
        raise ValueError(f"a position must be a vector of two numbers, not {shown(pos)}")
    return array.reshape(-1)[:2].reshape(1, 2)


def _points(pos: Any) -> Any:
    """Convert positions to an array of shape (n, 2). Raises ValueError for another number of coordinates."""
    array = numbers_of(pos, "positions").astype(np.float64, copy=False)
    if array.ndim < 1 or array.shape[-1] != 2:
        raise ValueError(f"positions must have the shape (n, 2), not {array.shape}")
    return array.reshape(-1, 2)


def _sizes(radius: Any, count: int) -> Any:
    return one_each(numbers_of(radius, "a size").astype(np.float64, copy=False).reshape(-1), count, "sizes")


def _of_palette(palette: Any, which: Any) -> Any:
    """Return the colours of a palette by their integer indices. Raises ValueError for an index outside of the
    palette."""
    numbers = numbers_of(which, "palette_indices").reshape(-1)
    sound = (numbers >= 0) & (numbers < len(palette)) & (numbers == np.floor(numbers))
    if not sound.all():
        raise ValueError(f"a palette of {len(palette)} colors has no color {numbers[~sound][0]}")
    return palette[numbers.astype(np.int64)]
