"""Sliders, labels and buttons: a column at the upper left of a GUI, drawn over the picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.lang.arguments import any_number, number_of, text_of
from weft.lang.ui.events import LMB, MOVE, PRESS, RELEASE, Event
from weft.lang.ui.gui_canvas import GuiCanvas, colors_of

__all__ = ["Panel", "WidgetValue"]

_WIDTH, _HEIGHT, _GAP, _TEXT = 200, 20, 4, 14  # in pixels
_BACK, _MARK, _HELD, _INK = 0x28303A, 0x5577AA, 0x88AADD, 0xFFFFFF


class WidgetValue:
    """The number that a slider or a label shows. Read and set `value`. Raises TypeMismatch for an object that is not a
    number."""

    def __init__(self, value: float) -> None:
        self._value = value

    @property
    def value(self) -> float:
        """The number that is shown."""
        return self._value

    @value.setter
    def value(self, value: float) -> None:
        self._value = any_number(value, "the value of a widget")


class _Widget:
    """One row. `low` .. `high` is the range of a slider. `key` is the key of the event of a button."""

    def __init__(self, text: str, value: WidgetValue | None, limits: tuple[float, float, float] | None, key: str):
        self.text, self.value, self.limits, self.key = text, value, limits, key


class Panel:
    """The widgets of a GUI of `size` pixels. `pressed(key)` is called when a button is pressed."""

    def __init__(self, size: tuple[int, int], pressed: Callable[[str], None]) -> None:
        self._size, self._pressed = size, pressed
        self._widgets: list[_Widget] = []
        self._held: _Widget | None = None

    def slider(self, text: str, minimum: float, maximum: float, step: float) -> WidgetValue:
        """Add a slider for a number from `minimum` to `maximum` in steps."""
        low, high = number_of(minimum, "the minimum of a slider"), number_of(maximum, "the maximum of a slider")
        value = WidgetValue(low)
        self._add(text, value, (low, high, number_of(step, "the step of a slider", 0)), "")
        return value

    def label(self, text: str) -> WidgetValue:
        """Add a label that shows a number."""
        value = WidgetValue(0.0)
        self._add(text, value, None, "")
        return value

    def button(self, text: str, key: str) -> None:
        """Add a button."""
        self._add(text, None, None, key)

    def _add(self, text: str, value: WidgetValue | None, limits: tuple[float, float, float] | None, key: str) -> None:
        self._widgets.append(_Widget(text_of(text, "the text of a widget"), value, limits, key))

    def _box(self, row: int) -> tuple[float, float, float, float]:
        """Return left, top, right and bottom of a row, in pixels from the upper left."""
        top = _GAP + row * (_HEIGHT + _GAP)
        return _GAP, top, _GAP + _WIDTH, top + _HEIGHT

    def handle(self, event: Event) -> bool:
        """Offer an event to the widgets. Returns whether they consumed it."""
        x, y = event.pos[0] * self._size[0], (1 - event.pos[1]) * self._size[1]
        if event.key == LMB and event.type is PRESS:
            for row, widget in enumerate(self._widgets):
                left, top, right, bottom = self._box(row)
                if left <= x < right and top <= y < bottom and (widget.limits or widget.key):
                    self._held = widget
                    self._drag(x)
                    return True
        elif self._held is not None and event.key == MOVE:
            self._drag(x)
            return True
        elif self._held is not None and event.key == LMB and event.type is RELEASE:
            widget, self._held = self._held, None
            if widget.key:
                self._pressed(widget.key)
            return True
        return False

    def _drag(self, x: float) -> None:
        assert self._held is not None
        if self._held.limits is None or self._held.value is None:
            return
        low, high, step = self._held.limits
        wanted = low + (high - low) * min(max((x - _GAP) / _WIDTH, 0.0), 1.0)
        self._held.value.value = min(low + round((wanted - low) / step) * step if step else wanted, high)

    def draw(self, canvas: GuiCanvas) -> None:
        """Draw all widgets."""
        for row, widget in enumerate(self._widgets):
            left, top, right, bottom = self._box(row)
            self._fill(canvas, left, top, right, bottom, _MARK if widget.key else _BACK)
            if widget is self._held and widget.key:
                self._fill(canvas, left, top, right, bottom, _HELD)
            if widget.limits is not None and widget.value is not None:
                low, high, _ = widget.limits
                share = (widget.value.value - low) / (high - low) if high != low else 0.0
                self._fill(canvas, left, top, left + _WIDTH * min(max(0.0, share), 1.0), bottom, _MARK)
            shown = widget.text if widget.value is None else f"{widget.text}: {widget.value.value:.6g}"
            corner = (left + 4) / self._size[0], 1 - (top + 1) / self._size[1]
            canvas.text(shown, corner, _TEXT, colors_of(_INK, 1)[0])

    def _fill(self, canvas: GuiCanvas, left: float, top: float, right: float, bottom: float, color: int) -> None:
        height: Any = self._size[1]
        x, y = slice(int(left), int(right)), slice(max(0, int(height - bottom)), max(0, int(height - top)))
        canvas.pixels[x, y] = colors_of(color, 1)[0]
