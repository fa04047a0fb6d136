"""`ti.ui.Gui`: panels of widgets over the picture of a window. A program declares them again in each frame."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.lang.arguments import flag_of, number_of, numbers_of, shown, text_of, whole_of
from weft.lang.ui.events import LMB, MOTION, MOVE, PRESS, RELEASE, Event, EventType
from weft.lang.ui.panel_pictures import BAR, GAP, PAD, ROW, Row, panel_picture

__all__ = ["Gui"]

Color = tuple[float, float, float]
_LARGEST = 16  # the maximum size of a panel, in window sizes


@dataclass
class _Panel:
    """A panel of this frame: its position in pixels from the upper left, and its rows from the top."""

    name: str
    left: float
    top: float
    width: int
    height: int
    rows: list[Row] = field(default_factory=list[Row])

    @property
    def tall(self) -> int:
        """The height, which is larger than requested if the rows need more room."""
        return max(self.height, BAR + PAD + len(self.rows) * (ROW + GAP) + PAD - GAP)

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.top + self.tall

    def holds(self, x: float, y: float) -> bool:
        """Return whether a place is in the panel."""
        return self.left <= x < self.left + self.width and self.top <= y < self.bottom


class Gui:
    """The result of a window's `get_gui()`. In every frame, call `begin`, the widgets from the top, and `end`, or use
    `sub_window` in a `with` statement. A widget is identified by its panel and its text. It returns its new value.

    Example:
        window = ti.ui.Window("panel", (200, 200), show_window=False)
        gui = window.get_gui()
        with gui.sub_window("Settings", x=0.05, y=0.05, width=0.6, height=0.6):
            speed = gui.slider_float("speed", 0.5, minimum=0.0, maximum=2.0)
            steps = gui.slider_int("steps", 4, minimum=1, maximum=10)
            is_paused = gui.checkbox("paused", False)
            color = gui.color_edit_3("color", (1.0, 0.0, 0.0))
            gui.text("hello")
            clicked = gui.button("reset")
        speed, steps, is_paused, color, clicked  # (0.5, 4, False, (1.0, 0.0, 0.0), False)
    """

    def __init__(self, size: tuple[int, int]) -> None:
        self._size = size
        self._open: _Panel | None = None
        self._panels: list[_Panel] = []  # of the current frame
        self._shown: list[_Panel] = []  # of the last frame
        self._moved: dict[str, tuple[float, float]] = {}
        self._waiting: list[tuple[EventType, tuple[float, float]]] = []  # what the pointer did since the last frame
        self._captured = False  # from a press on a panel to the release: the program does not see the pointer
        self._pointer, self._active, self._released = (-1.0, -1.0), "", False
        self._pressed: tuple[float, float] | None = None
        self._grip = (0.0, 0.0)  # from the pointer to the offset of the panel
        self._pictures: dict[Any, Any] = {}

    # ---- panels

    @contextmanager
    def sub_window(self, name: str, x: float, y: float, width: float, height: float) -> Generator[Gui, None, None]:
        """Call `begin` and `end` around a `with` block."""
        self.begin(name, x, y, width, height)
        try:
            yield self
        finally:
            self.end()

    def begin(self, name: str, x: float, y: float, width: float, height: float) -> None:
        """Begin a panel with its title, upper left corner and size. These are fractions of the window, with (0, 0) at
        the upper left. The user can drag the panel by its title. It is higher than requested if its widgets need it.
        Raises RuntimeError within another panel, and ValueError for an invalid size."""
        text_of(name, "the name of a panel")
        x, y = (number_of(place, "the corner of a panel") for place in (x, y))
        sides = [number_of(side, "the size of a panel, as a part of the window,") for side in (width, height)]
        if not 0 < min(sides) <= max(sides) <= _LARGEST:
            raise ValueError(
                f"the size of a panel must be above 0 and at most {_LARGEST} times the window, not {width} x {height}"
            )
        width, height = sides
        if self._open is not None:
            raise RuntimeError(f"panel '{name}' begins before panel '{self._open.name}' has ended: call end() first")
        self._replay()
        dx, dy = self._moved.get(name, (0.0, 0.0))
        across, down = self._size
        self._open = _Panel(name, x * across + dx, y * down + dy, max(1, round(width * across)), round(height * down))

    def end(self) -> None:
        """End the panel. Raises RuntimeError if none has begun."""
        panel = self._panel()
        self._open = None
        self._drag(panel)
        self._panels.append(panel)

    def _panel(self) -> _Panel:
        if self._open is None:
            raise RuntimeError(
                "a widget must be in a panel: call begin(name, x, y, width, height) first, or use sub_window"
            )
        return self._open

    def _drag(self, panel: _Panel) -> None:
        """Move a panel whose title was pressed with the pointer."""
        key = f"{panel.name}\0"
        x, y = self._pointer
        if self._pressed is not None and panel.holds(*self._pressed) and self._pressed[1] < panel.top + BAR:
            before, (px, py) = self._moved.get(panel.name, (0.0, 0.0)), self._pressed
            self._active, self._grip = key, (before[0] - px, before[1] - py)
        if self._active == key:
            self._moved[panel.name] = x + self._grip[0], y + self._grip[1]

    # ---- widgets

    def text(self, text: str, color: Any = None) -> None:
        """Show a line of text, in white if no colour is given."""
        self._panel().rows.append(Row("text", str(text), color=None if color is None else _rgb(color)))

    def button(self, text: str) -> bool:
        """Show a button with that text. Returns whether it was clicked: pressed and released."""
        text_of(text, "the text of a widget")
        clicked, state = self._click(text)
        self._panel().rows.append(Row("button", text, state=state))
        return clicked

    def checkbox(self, text: str, old_value: bool) -> bool:
        """Show a check box. Returns whether it is checked now."""
        text_of(text, "the text of a widget")
        before = flag_of(old_value, "the value of a checkbox")
        clicked, state = self._click(text)
        value = before != clicked
        self._panel().rows.append(Row("checkbox", text, (float(value),), state=state))
        return value

    def slider_int(self, text: str, old_value: int, minimum: int, maximum: int) -> int:
        """Show a slider for an integer from `minimum` to `maximum`. Returns its value."""
        text_of(text, "the text of a widget")
        before, low, high = (whole_of(n, "a number of slider_int") for n in (old_value, minimum, maximum))
        share, state = self._slide(text, 0, 1)
        value = before if share is None else round(low + share * (high - low))
        self._panel().rows.append(Row("slider", text, (_share(value, low, high),), f"{value}", state=state))
        return value

    def slider_float(self, text: str, old_value: float, minimum: float, maximum: float) -> float:
        """Show a slider for a number from `minimum` to `maximum`. Returns its value."""
        text_of(text, "the text of a widget")
        before, low, high = (number_of(n, "a number of slider_float") for n in (old_value, minimum, maximum))
        share, state = self._slide(text, 0, 1)
        value = before if share is None else low + share * (high - low)
        self._panel().rows.append(Row("slider", text, (_share(value, low, high),), f"{value:.3f}", state=state))
        return value

    def color_edit_3(self, text: str, old_value: Any) -> Color:
        """Show sliders from 0 to 1 for the red, green and blue of a colour. Returns the colour."""
        text_of(text, "the text of a widget")
        value = list(_rgb(old_value))
        state = ""
        for channel in range(3):
            share, its_state = self._slide(f"{text}\0{channel}", channel, 3)
            value[channel] = value[channel] if share is None else share
            state = state or its_state
        red, green, blue = value
        self._panel().rows.append(Row("color", text, (red, green, blue), state=state))
        return red, green, blue

    # ---- reaction to the pointer

    def _inside(self, place: tuple[float, float] | None, low: float, high: float) -> bool:
        """Return whether a place is in the next row, between two fractions of its width."""
        panel = self._panel()
        if place is None or panel is not self._above(place, panel):
            return False
        top = panel.top + BAR + PAD + len(panel.rows) * (ROW + GAP)
        left, width = panel.left + PAD, panel.width - 2 * PAD
        return left + low * width <= place[0] < left + high * width and top <= place[1] < top + ROW

    def _above(self, place: tuple[float, float], panel: _Panel) -> _Panel:
        """Return `panel`, or a panel of the last frame that covers it at that place."""
        names = [shown.name for shown in self._shown if shown.holds(*place)]
        return panel if not names or names[-1] == panel.name else self._shown[-1]

    def _key(self, text: str) -> str:
        return f"{self._panel().name}\0{text}"

    def _click(self, text: str) -> tuple[bool, str]:
        """Return whether the widget was pressed and released, and its state."""
        over = self._inside(self._pointer, 0, 1)
        if self._inside(self._pressed, 0, 1):
            self._active = self._key(text)
        active = self._active == self._key(text)
        clicked = active and over and self._released
        return clicked, "held" if active and over else "over" if over and not self._active else ""

    def _slide(self, text: str, part: int, parts: int) -> tuple[float | None, str]:
        """Return the position, 0 to 1, to which the pointer drags a slider, or None, and the state of the slider. The
        slider is part number `part` in the 60 percent of the row beside its text."""
        low, high = (0.6 * end / parts for end in (part, part + 1))
        if self._inside(self._pressed, low, high):
            self._active = self._key(text)
        if self._active != self._key(text):
            return None, "over" if self._inside(self._pointer, low, high) and not self._active else ""
        panel = self._panel()
        left, width = panel.left + PAD, panel.width - 2 * PAD
        return min(max(((self._pointer[0] - left) / width - low) / (high - low), 0.0), 1.0), "held"

    def handle(self, event: Event) -> bool:
        """Offer an event of the window to the panels. Returns whether they consumed it."""
        place = event.pos[0] * self._size[0], (1 - event.pos[1]) * self._size[1]
        if event.key == MOVE:
            if self._waiting and self._waiting[-1][0] is MOTION:
                self._waiting.pop()  # only the last of several motions counts
            self._waiting.append((MOTION, place))
            return self._captured
        if event.key != LMB:
            return False
        if event.type is PRESS and any(panel.holds(*place) for panel in self._shown):
            self._captured = True
        elif not (event.type is RELEASE and self._captured):
            return False
        else:
            self._captured = False
        self._waiting.append((event.type, place))
        return True

    def _replay(self) -> None:
        """Let the widgets of this frame see what the pointer did, up to the first release. A further click waits for
        the next frame, so that no click is lost if frames are slow."""
        while self._waiting and not self._released:
            kind, self._pointer = self._waiting.pop(0)
            if kind is PRESS:
                self._pressed = self._pointer
            self._released = kind is RELEASE

    # ---- pictures

    @property
    def has_panels(self) -> bool:
        """Whether the frame has panels."""
        return bool(self._panels) or self._open is not None

    def draw(self, picture: Any) -> None:
        """Draw the panels of this frame onto a pillow image, RGBA, and end the frame. Raises RuntimeError if a panel
        was not ended."""
        if self._open is not None:
            raise RuntimeError(f"panel '{self._open.name}' has not ended: call end()")
        fresh: dict[Any, Any] = {}
        for panel in self._panels:
            key = panel.name, panel.width, panel.tall, tuple(panel.rows)
            fresh[key] = self._pictures.get(key) or panel_picture(*key)
            drawn, left, top = fresh[key], round(panel.left), round(panel.top)
            if left < self._size[0] and top < self._size[1] and left > -drawn.width and top > -drawn.height:
                picture.paste(drawn.convert("RGB"), (left, top), drawn.getchannel("A"))
        self._pictures = fresh

    def finish(self) -> None:
        """End the frame."""
        self._panels, self._shown = [], self._panels
        self._pressed = None
        if self._released:
            self._active, self._released = "", False


def _share(value: float, low: float, high: float) -> float:
    return min(max((value - low) / (high - low), 0.0), 1.0) if high != low else 0.0


def _rgb(color: Any) -> Color:
    """Return the colour of three numbers, or of four, of which the last is ignored. Raises ValueError for other
    values."""
    values = numbers_of(color, "a colour").astype(np.float64).reshape(-1)
    if len(values) not in (3, 4) or not np.isfinite(values).all():
        raise ValueError(f"a color must be three numbers in [0, 1], red, green and blue, not {shown(color)}")
    red, green, blue = values[:3].tolist()
    return red, green, blue
