"""What happens in a window: events, the names of keys, filters."""

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
    """What kind of thing happened."""

    MOTION = 0
    PRESS = 1
    RELEASE = 2


MOTION, PRESS, RELEASE = EventType.MOTION, EventType.PRESS, EventType.RELEASE


@dataclass(eq=False)
class Event:
    """Something that happened. `type`: PRESS, RELEASE or MOTION; `key`: which key, button, MOVE, WHEEL or EXIT;
    `modifier`: which of SHIFT, ALT, CTRL were down; `pos`: where the pointer was, (0, 0) lower left, (1, 1) upper
    right; `delta`: how far the wheel turned, (x, y), 120 for a notch."""

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
    """Events that a caller wants: each item is a type, a key, or a pair (type, key), or a list or set of these; no
    items: all of them. TypeMismatch for anything else."""

    def __init__(self, *e_filter: Any) -> None:
        self.filter: set[Any] = set(_flat(e_filter))

    def match(self, e: Any) -> bool:
        """Whether some item fits the event."""
        if not isinstance(e, Event):
            raise TypeMismatch(f"what fits a filter is an event, not {shown(e)}")
        return not self.filter or bool(self.filter & {e.type, e.key, (e.type, e.key)})


def _flat(items: Iterable[Any]) -> Iterable[Any]:
    """The items, those in lists and sets one by one; a pair (type, key) stays one."""
    for item in items:
        pair = item if isinstance(item, tuple) and len(item) == 2 else (item,)  # pyright: ignore[reportUnknownVariableType]
        if isinstance(item, list | set | frozenset):
            yield from _flat(item)
        elif all(isinstance(part, str | EventType) for part in pair):
            yield item
        else:
            raise TypeMismatch(f"an event is asked for by its type, its key or (type, key), not by {shown(item)}")


# X names of keys that have a character, and of the two halves of a keyboard.
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
    """The name of a key from its X keysym: letters in lower case, characters as they are, both Shift keys as one."""
    if len(keysym) == 1:
        return keysym.lower()
    name, _, side = keysym.rpartition("_")
    if side in ("L", "R") and name in _SIDES:
        return _SIDES[name]
    return _CHARACTERS.get(keysym, keysym)
