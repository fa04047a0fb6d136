"""Queue the events of a window, and end programs that run without a window."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from weft.lang.arguments import text_of
from weft.lang.logs.levels import logger
from weft.lang.ui.desktop import DesktopWindow
from weft.lang.ui.events import ESCAPE, EXIT, MODIFIERS, PRESS, RELEASE, Event, EventFilter, EventType

__all__ = ["Countdown", "Inputs"]


class Inputs:
    """The events of `window` (None: there is no window) that `taken` does not consume, and the keys that are down."""

    def __init__(self, window: DesktopWindow | None, taken: Callable[[Event], bool]) -> None:
        self.queue: list[Event] = []
        self.pressed: set[str] = set()
        self.window, self._taken = window, taken

    @property
    def cursor(self) -> tuple[float, float]:
        """The position of the pointer, in [0, 1]."""
        return (0.0, 0.0) if self.window is None else self.window.cursor

    def add(self, type: EventType, key: str) -> None:
        """Add an event."""
        self.queue.append(Event(type, [], self.cursor, key))

    def collect(self) -> None:
        """Move the events of the window into the queue, and update the keys that are down."""
        for event in self.window.poll() if self.window is not None else ():
            if event.type is PRESS and event.key is not None:
                self.pressed.add(event.key)
            elif event.type is RELEASE:
                self.pressed.discard(event.key or "")
            event.modifier = [key for key in MODIFIERS if key in self.pressed]
            if not self._taken(event):
                self.queue.append(event)

    def events(self, *wanted: Any) -> Iterator[Event]:
        """Yield the events that match (see `EventFilter`). Others are dropped."""
        fits = EventFilter(*wanted)
        self.collect()
        while self.queue:
            event = self.queue.pop(0)
            if fits.match(event):
                yield event

    def is_pressed(self, *keys: str | Sequence[str]) -> bool:
        """Return whether one of these keys is down, as of the last read of the events."""
        flat = [name for key in keys for name in (key if isinstance(key, list | tuple | set) else [key])]
        for name in flat:
            text_of(name, "a key")
        return any(key in self.pressed for key in flat)


class Countdown:
    """Ends a program that wants a window where there is none. After WEFT_GUI_FRAMES (120) frames, it saves the last one
    to `out/<name>.png`. Escape and the closing of the window are then reported as pressed, once per frame."""

    def __init__(self, name: str, inputs: Inputs) -> None:
        self._name, self._inputs = name, inputs
        self._left = int(os.environ.get("WEFT_GUI_FRAMES", "120"))

    def frame(self, number: int, picture: Any, saved: bool) -> bool:
        """Count frame `number`; `saved` says whether the program wrote it to a file. Returns whether it was the last
        one."""
        self._left -= 1
        if self._left > 0:
            return False
        if self._left == 0 and not saved:
            name = "".join(c if c.isalnum() or c in "-_" else "_" for c in self._name) or "gui"
            path = Path("out") / f"{name}.png"
            path.parent.mkdir(exist_ok=True)
            picture.save(path)
            logger.warning("there is no display for a window: frame %d of '%s' is in %s", number, self._name, path)
        for key in (ESCAPE, EXIT):
            self._inputs.add(PRESS, key)
        return True
