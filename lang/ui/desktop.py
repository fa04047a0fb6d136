"""A window of the desktop. It uses tkinter, which is part of Python, to show pictures and receive events."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from weft.ir.errors import WeftError
from weft.lang.extras import MissingLibrary
from weft.lang.logs import progress
from weft.lang.ui.events import EXIT, LMB, MMB, MOTION, MOVE, PRESS, RELEASE, RMB, WHEEL, Event, EventType, key_name
from weft.lang.ui.images import pillow

__all__ = ["DesktopWindow", "has_display", "headless"]

_BUTTONS = {1: LMB, 2: MMB, 3: RMB}
_NOTCH = 120.0  # the value of one notch of a wheel in events


def has_display() -> bool:
    """Return whether a window can open: always on macOS and Windows, elsewhere if there is an X display (also in
    Wayland). With WEFT_HEADLESS=1 in the environment, none opens."""
    if headless():
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY"))


def headless() -> bool:
    """Return whether the environment asks for no windows."""
    return os.environ.get("WEFT_HEADLESS", "0") not in ("", "0")


class DesktopWindow:
    """Shows pictures of one size. `poll()` returns the events since the last call. `cursor` is the last position of the
    pointer. `pos` is the position of the upper left corner on the screen, in pixels. Until the first picture, the
    window says what the program does: that it compiles a kernel, for instance. Later, the title says it."""

    def __init__(self, title: str, size: tuple[int, int], fullscreen: bool, pos: tuple[int, int] | None = None) -> None:
        try:
            tkinter: Any = importlib.import_module("tkinter")
        except ImportError as error:
            raise MissingLibrary(
                f"a window needs tkinter, which this Python does not have ({error}): install your system's "
                "package python3-tk, or draw to files with ti.GUI(..., show_gui=False) and gui.show(file)"
            ) from None
        self.size, self.cursor, self.closed = size, (0.0, 0.0), False
        self._events: list[tuple[Event, int]] = []
        try:
            self._root: Any = tkinter.Tk()
        except tkinter.TclError as error:
            raise WeftError(f"a window cannot open on the display {os.environ.get('DISPLAY', '')!r}: {error}") from None
        self._title, self._owner = title, threading.get_ident()
        self._root.title(title)
        self._root.resizable(False, False)
        if fullscreen:
            self._root.attributes("-fullscreen", True)
        else:
            place = "" if pos is None else f"+{int(pos[0])}+{int(pos[1])}"
            self._root.geometry(f"{size[0]}x{size[1]}{place}")
        colors = {"background": "black", "foreground": "#d0d6e0"}
        self._label = tkinter.Label(self._root, borderwidth=0, text="waiting for the first frame", **colors)
        self._label.pack(expand=True, fill="both")
        self._root.configure(background="black")
        self._photo: Any = None
        self._bind()
        self._root.update()
        progress.follow(self._say)

    def retitle(self, title: str) -> None:
        """Change the title."""
        self._title = title
        if self._root is not None:
            self._root.title(title)

    def _say(self, what: str) -> None:
        """Show what the program does, in the window or, once there is a picture, in the title. Only the thread that
        made the window may draw in it."""
        if self._root is None or threading.get_ident() != self._owner:
            return
        if self._photo is None:
            self._label.configure(text=f"{what} ..." if what else "waiting for the first frame")
            self._root.update()
        else:
            self._root.title(f"{self._title} - {what} ..." if what else self._title)
            self._root.update_idletasks()

    def _bind(self) -> None:
        root = self._root
        root.protocol("WM_DELETE_WINDOW", self._exit)
        root.bind("<KeyPress>", lambda e: self._note(PRESS, key_name(e.keysym), e))
        root.bind("<KeyRelease>", lambda e: self._note(RELEASE, key_name(e.keysym), e))
        for number, button in _BUTTONS.items():
            self._label.bind(f"<ButtonPress-{number}>", self._noting(PRESS, button))
            self._label.bind(f"<ButtonRelease-{number}>", self._noting(RELEASE, button))
        self._label.bind("<Motion>", self._noting(MOTION, MOVE))
        self._label.bind("<MouseWheel>", lambda e: self._note(MOTION, WHEEL, e, _wheel(e.delta)))
        if sys.platform not in ("darwin", "win32"):  # X reports wheels as buttons
            for number, delta in ((4, _NOTCH), (5, -_NOTCH)):
                self._label.bind(f"<ButtonPress-{number}>", self._noting(MOTION, WHEEL, (0.0, delta)))

    def _noting(self, type: EventType, key: str, delta: tuple[float, float] = (0.0, 0.0)) -> Callable[[Any], None]:
        return lambda e: self._note(type, key, e, delta)

    def _note(self, type: EventType, key: str, e: Any, delta: tuple[float, float] = (0.0, 0.0)) -> None:
        if e.widget is self._label:
            self.cursor = e.x / self.size[0], 1 - e.y / self.size[1]
        self._events.append((Event(type, [], self.cursor, key, delta), int(e.time)))

    def _exit(self) -> None:
        self._events.append((Event(PRESS, [], self.cursor, EXIT), 0))
        self.closed = True

    def show(self, picture: Any) -> None:
        """Show a pillow image of the window's size."""
        if self._root is None:
            return
        image_tk = pillow("ImageTk")
        if self._photo is None:
            self._photo = image_tk.PhotoImage(picture, master=self._root)
            self._label.configure(image=self._photo, text="")
        else:
            self._photo.paste(picture)
        self._root.update()

    def poll(self) -> list[Event]:
        """Return the events. A key that is held down is reported once, although X repeats release and press."""
        if self._root is not None:
            self._root.update()
        found, self._events = self._events, []
        kept: list[tuple[Event, int]] = []
        for event, moment in found:
            last = kept[-1] if kept else None
            repeated = last is not None and last[1] == moment and last[0].key == event.key
            if repeated and last is not None and last[0].type is RELEASE and event.type is PRESS:
                kept.pop()
            else:
                kept.append((event, moment))
        return [event for event, _ in kept]

    def close(self) -> None:
        """Close the window."""
        root, self._root, self.closed = self._root, None, True
        self._photo = None
        progress.unfollow(self._say)
        if root is not None:
            root.destroy()


def _wheel(delta: float) -> tuple[float, float]:
    """Return the turn of the wheel. macOS reports notches, Windows reports 1/120 of a notch."""
    return 0.0, float(delta) * (_NOTCH if sys.platform == "darwin" else 1.0)
