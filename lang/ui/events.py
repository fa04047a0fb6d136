"""Events of a window, the names of keys, and filters."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import shown

__all__ = [
    "ALT",
    "BACKSPACE",
    "CAPSLOCK",
    "CTRL",
    "DOWN",
    "ESCAPE",
    "EXIT",
    "LEFT",
    "LMB",
    "MMB",
    "MODIFIERS",
    "MOTION",
    "MOVE",
    "PRESS",
    "RELEASE",
    "RETURN",
    "RIGHT",
    "RMB",
    "SHIFT",
    "SPACE",
    "TAB",
    "UP",
    "WHEEL",
    "Event",
    "EventFilter",
    "EventType",
    "key_name",
]

SHIFT, ALT, CTRL, CAPSLOCK = "Shift", "Alt", "Control", "Caps_Lock"
ESCAPE, RETURN, TAB, BACKSPACE, SPACE = "Escape", "Return", "Tab", "BackSpace", " "
UP, DOWN, LEFT, RIGHT = "Up", "Down", "Left", "Right"
LMB, MMB, RMB = "LMB", "MMB", "RMB"
EXIT, WHEEL, MOVE = "WMClose", "Wheel", "Motion"
MODIFIERS = (SHIFT, ALT, CTRL)


class EventType(enum.IntEnum):
    """The type of an event."""

    MOTION = 0
    PRESS = 1
    RELEASE = 2


MOTION, PRESS, RELEASE = EventType.MOTION, EventType.PRESS, EventType.RELEASE


@dataclass(eq=False)
class Event:
    """An event. `type` is PRESS, RELEASE or MOTION. `key` is the key or button, MOVE, WHEEL or EXIT. `modifier` lists
    which of SHIFT, ALT, CTRL were down. `pos` is the position of the pointer: (0, 0) is lower left, (1, 1) upper right.
    `delta` is the turn of the wheel (x, y), 120 per notch."""

    type: EventType | None = None
    modifier: list[str] = field(default_factory=list[str])
    pos: tuple[float, float] = (0.0, 0.0)
    key: str | None = None
    delta: tuple[float, float] = (0.0, 0.0)

    @property
    def action(self) -> EventType | None:
        """The same as `type`."""
        return self.type


class EventFilter:
    """The events that a caller wants. Each item is a type, a key, a pair (type, key), or a list or set of these.
    Without items, all events match. Raises TypeMismatch for any other item."""

    def __init__(self, *e_filter: Any) -> None:
        self.filter: set[Any] = set(_flat(e_filter))

    def match(self, e: Any) -> bool:
        """Return whether an item matches the event."""
        if not isinstance(e, Event):
            raise TypeMismatch(f"match takes an event, not {shown(e)}")
        return not self.filter or bool(self.filter & {e.type, e.key, (e.type, e.key)})


def _flat(items: Iterable[Any]) -> Iterable[Any]:
    """Return the items with lists and sets flattened. A pair (type, key) stays a pair."""
    for item in items:
        pair = item if isinstance(item, tuple) and len(item) == 2 else (item,)  # pyright: ignore[reportUnknownVariableType]
        if isinstance(item, list | set | frozenset):
            yield from _flat(item)
        elif all(isinstance(part, str | EventType) for part in pair):
            yield item
        else:
            raise TypeMismatch(f"a filter of events must be a type, a key or (type, key), not {shown(item)}")


# X names of keys that produce a character, and of keys that a keyboard has twice.
_CHARACTERS = {
    "space": " ",
    "minus": "-",
    "equal": "=",
    "comma": ",",
    "period": ".",
    "slash": "/",
    "semicolon": ";",
    "apostrophe": "'",
    "bracketleft": "[",
    "bracketright": "]",
    "backslash": "\\",
    "grave": "`",
    "plus": "+",
    "exclam": "!",
    "at": "@",
    "numbersign": "#",
    "dollar": "$",
    "percent": "%",
    "asciicircum": "^",
    "ampersand": "&",
    "asterisk": "*",
    "parenleft": "(",
    "parenright": ")",
    "underscore": "_",
    "colon": ":",
    "quotedbl": '"',
    "less": "<",
    "greater": ">",
    "question": "?",
    "bar": "|",
    "asciitilde": "~",
    "braceleft": "{",
    "braceright": "}",
    "KP_Enter": RETURN,
    "ISO_Left_Tab": TAB,
}
_SIDES = {"Shift": SHIFT, "Alt": ALT, "Meta": ALT, "Option": ALT, "Control": CTRL}


def key_name(keysym: str) -> str:
    """Return the name of a key from its X keysym: letters in lower case, characters as they are, both Shift keys under
    one name."""
    if len(keysym) == 1:
        return keysym.lower()
    name, _, side = keysym.rpartition("_")
    if side in ("L", "R") and name in _SIDES:
        return _SIDES[name]
    return _CHARACTERS.get(keysym, keysym)
