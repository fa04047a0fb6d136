"""Draw panels of widgets. They are drawn at twice their size and then halved, which smooths the edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from weft.lang.ui.images import pillow

__all__ = ["BAR", "GAP", "PAD", "ROW", "Row", "panel_picture"]

BAR, ROW, GAP, PAD = 26, 22, 5, 10  # in pixels: height of the title, height of a row, gap between rows, padding
_FINE = 2
_TEXT = 13
_BACK, _TITLE, _EDGE = (24, 28, 36, 226), (36, 42, 54, 242), (86, 98, 120, 160)
_INK, _FADED = (236, 240, 246, 255), (172, 182, 198, 255)
_FIELD = {"": (48, 56, 70, 255), "over": (60, 70, 88, 255), "held": (66, 78, 98, 255)}
_ACCENT = {"": (64, 128, 220, 255), "over": (82, 148, 240, 255), "held": (112, 172, 255, 255)}
_PRIMARIES = ((214, 74, 74, 255), (74, 180, 96, 255), (78, 120, 230, 255))


class Row(NamedTuple):
    """A widget: its kind (a row of `_DRAW`), its text, its values in [0, 1], the text of the values, its colour, and
    its state: "over" if the pointer is on it, "held" if it is pressed."""

    kind: str
    text: str
    values: tuple[float, ...] = ()
    said: str = ""
    color: tuple[float, float, float] | None = None
    state: str = ""


class _Pen:
    """Draws on an image of higher resolution than the result."""

    def __init__(self, image: Any) -> None:
        self._draw = pillow("ImageDraw").Draw(image)
        self._font = pillow("ImageFont").load_default(_TEXT * _FINE)

    def box(self, left: float, top: float, right: float, bottom: float, fill: Any, radius: float = 4) -> None:
        """Draw a box with round corners."""
        if right - left >= 1:
            corners = [round(value * _FINE) for value in (left, top, right, bottom)]
            corners[2:] = [value - 1 for value in corners[2:]]
            self._draw.rounded_rectangle(corners, min(radius, (right - left) / 2) * _FINE, fill)

    def text(self, x: float, y: float, text: str, fill: Any, anchor: str = "lm") -> None:
        """Draw text at a place: its left ("lm") or its middle ("mm"), vertically centered."""
        self._draw.text((x * _FINE, y * _FINE), text, fill=fill, font=self._font, anchor=anchor)

    def tick(self, x: float, y: float, size: float, fill: Any) -> None:
        """Draw a tick in a square box."""
        points = [(x + a * size, y + b * size) for a, b in ((0.22, 0.52), (0.43, 0.72), (0.79, 0.28))]
        self._draw.line([(a * _FINE, b * _FINE) for a, b in points], fill, round(2.2 * _FINE), joint="curve")


def panel_picture(name: str, width: int, height: int, rows: tuple[Row, ...]) -> Any:
    """Return a pillow image, RGBA, of a panel."""
    image = pillow().new("RGBA", (width * _FINE, height * _FINE), (*_BACK[:3], 0))
    pen = _Pen(image)
    pen.box(0, 0, width, height, _EDGE, 8)
    pen.box(1, 1, width - 1, height - 1, _BACK, 7)
    pen.box(1, 1, width - 1, BAR, _TITLE, 7)
    pen.box(1, BAR - 8, width - 1, BAR, _TITLE, 0)
    pen.text(PAD, BAR / 2, name, _INK)
    for number, row in enumerate(rows):
        _DRAW[row.kind](pen, row, PAD, BAR + PAD + number * (ROW + GAP), width - 2 * PAD)
    return image.reduce(_FINE)


def _text(pen: _Pen, row: Row, left: float, top: float, width: float) -> None:
    ink = _INK if row.color is None else (*(round(255 * min(max(c, 0.0), 1.0)) for c in row.color), 255)
    pen.text(left, top + ROW / 2, row.text, ink)


def _button(pen: _Pen, row: Row, left: float, top: float, width: float) -> None:
    pen.box(left, top, left + width, top + ROW, _ACCENT[row.state])
    pen.text(left + width / 2, top + ROW / 2, row.text, _INK, "mm")


def _checkbox(pen: _Pen, row: Row, left: float, top: float, width: float) -> None:
    ticked = row.values[0] > 0
    pen.box(left, top + 2, left + ROW - 4, top + ROW - 2, (_ACCENT if ticked else _FIELD)[row.state])
    if ticked:
        pen.tick(left, top + 2, ROW - 4, _INK)
    pen.text(left + ROW + 4, top + ROW / 2, row.text, _INK)


def _slider(pen: _Pen, row: Row, left: float, top: float, width: float) -> None:
    wide = 0.6 * width
    pen.box(left, top, left + wide, top + ROW, _FIELD[row.state])
    pen.box(left, top, left + row.values[0] * wide, top + ROW, _ACCENT[row.state])
    pen.text(left + wide / 2, top + ROW / 2, row.said, _INK, "mm")
    pen.text(left + wide + 8, top + ROW / 2, row.text, _FADED)


def _color(pen: _Pen, row: Row, left: float, top: float, width: float) -> None:
    part = 0.6 * width / 3
    for channel, (value, primary) in enumerate(zip(row.values, _PRIMARIES)):
        begin = left + channel * part
        pen.box(begin, top, begin + part - 3, top + ROW, _FIELD[row.state])
        pen.box(begin, top, begin + min(max(value, 0.0), 1.0) * (part - 3), top + ROW, primary)
        pen.text(begin + part / 2 - 2, top + ROW / 2, f"{value:.2f}", _INK, "mm")
    shown = (*(round(255 * min(max(value, 0.0), 1.0)) for value in row.values), 255)
    pen.box(left + 3 * part + 6, top + 1, left + 3 * part + ROW + 4, top + ROW - 1, shown)
    pen.text(left + 3 * part + ROW + 12, top + ROW / 2, row.text, _FADED)


_DRAW: dict[str, Callable[[_Pen, Row, float, float, float], None]] = {
    "text": _text,
    "button": _button,
    "checkbox": _checkbox,
    "slider": _slider,
    "color": _color,
}
