"""Queue the events of a window, and end programs that run without a window."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from weft.lang.arguments import text_of
from weft.lang.logs.levels import logger
from weft.lang.ui.desktop import DesktopWindow, headless
from weft.lang.ui.events import ESCAPE, EXIT, MODIFIERS, MOVE, PRESS, RELEASE, Event, EventFilter, EventType

__all__ = ["Countdown", "Inputs"]


_MOST = 4096  # events in the queue of a program that does not read them; the oldest motions are dropped first


class Inputs:
    """The events of `window` (None: there is no window) that `taken` does not consume.

    `pressed` are the keys and buttons that are down. A key that was pressed and released between two frames is in it
    for one frame, so that programs that ask once for each frame miss no click. A press that is `taken` is not in it."""

    def __init__(self, window: DesktopWindow | None, taken: Callable[[Event], bool]) -> None:
        self.queue: list[Event] = []
        self.pressed: set[str] = set()
        self.window, self._taken = window, taken
        self._down: set[str] = set()
        self._fresh: set[str] = set()  # keys that were pressed since the last frame
        self._ending: set[str] = set()  # those of them that are up again

    @property
    def cursor(self) -> tuple[float, float]:
        """The position of the pointer, in [0, 1]."""
        return (0.0, 0.0) if self.window is None else self.window.cursor

    def add(self, type: EventType, key: str) -> None:
        """Add an event."""
        self.queue.append(Event(type, [], self.cursor, key))

    def next_frame(self) -> None:
        """Begin a frame: forget the clicks that the last frame could see, and collect events."""
        self.pressed -= self._ending
        self._fresh, self._ending = set(), set()
        self.collect()

    def collect(self) -> None:
        """Move the events of the window into the queue, and update the keys that are down."""
        for event in self.window.poll() if self.window is not None else ():
            key = event.key or ""
            if event.type is PRESS:
                self._down.add(key)
            elif event.type is RELEASE:
                self._down.discard(key)
            event.modifier = [name for name in MODIFIERS if name in self._down]
            taken = self._taken(event)
            self._update(event.type, key, taken)
            if not taken:
                self.queue.append(event)
        if len(self.queue) > _MOST:
            motions = [event for event in self.queue[:-_MOST] if event.key != MOVE]
            self.queue = motions + self.queue[-_MOST:]

    def _update(self, type: EventType | None, key: str, taken: bool) -> None:
        if type is PRESS and not taken:
            self.pressed.add(key)
            self._fresh.add(key)
            self._ending.discard(key)
        elif type is RELEASE and key in self._fresh:
            self._ending.add(key)
        elif type is RELEASE:
            self.pressed.discard(key)

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
    """Ends a program that needs a window on a machine without a display. After WEFT_GUI_FRAMES (120) frames, it saves
    the last one to `out/<name>.png`, but not with WEFT_HEADLESS=1. From then on, Escape and the closing of the window
    are reported as pressed, once per frame."""

    def __init__(self, name: str, inputs: Inputs) -> None:
        self._name, self._inputs = name, inputs
        self._left = int(os.environ.get("WEFT_GUI_FRAMES", "120"))

    def frame(self, number: int, picture: Any, saved: bool) -> bool:
        """Count frame `number`; `saved` says whether the program wrote it to a file. Returns whether it was the last
        one."""
        self._left -= 1
        if self._left > 0:
            return False
        if self._left == 0 and not (saved or headless()):
            name = "".join(c if c.isalnum() or c in "-_" else "_" for c in self._name) or "gui"
            path = Path("out") / f"{name}.png"
            path.parent.mkdir(exist_ok=True)
            picture.save(path)
            logger.warning(
                "there is no display, so frame %d of the window '%s' was saved as %s", number, self._name, path
            )
        for key in (ESCAPE, EXIT):
            self._inputs.add(PRESS, key)
        return True
