"""Progress of work that takes more than a second: a bar with the time that is left, on a terminal or below a cell.

    with progress("recording", 150) as bar:
        for frame in frames:
            bar.advance()

A thread draws the bars, so that work which does not return to Python has one too. Bars of different threads share a
line: it shows the one that began first. WEFT_PROGRESS=0 turns bars off. WEFT_PROGRESS=1 writes them to stderr also if
that is not a terminal.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from html import escape
from time import perf_counter, sleep
from typing import Protocol

from weft.lang.notebook.cells import Html, Place, in_notebook
from weft.runtime.forks import forkable

__all__ = ["Bar", "begin", "end", "follow", "measured", "progress", "text_of_bar", "unfollow"]

_PATIENCE = 1.0  # seconds, after which a bar is shown
_PAUSE = 0.1  # seconds between two drawings
_IDLE = 20  # pauses without a bar, after which the thread ends
_WIDTH = 24  # of the bar, in characters


class Bar:
    """Work in progress. `done` of `total` units are done; a `total` of 0 means that the number of units is unknown.
    `estimate` is the number of seconds that the work is expected to take, for work without units."""

    __slots__ = ("began", "done", "estimate", "label", "read", "total")

    def __init__(self, label: str, total: float = 0) -> None:
        self.label, self.total, self.done = label, total, 0.0
        self.estimate: float | None = None
        self.read: Callable[[], float] | None = None  # reads `done`; the bar is not shown while that is 0
        self.began = perf_counter()

    def advance(self, units: float = 1) -> None:
        """Count units of work that are done."""
        self.done += units

    def share(self, now: float) -> float | None:
        """Return the share of the work that is done, from 0 to 1, or None if it is unknown. An estimated share stays
        below 1 until the work ends."""
        if self.total > 0:
            return min(self.done / self.total, 1.0)
        if self.estimate:
            return min((now - self.began) / self.estimate, 0.95)
        return None


def text_of_bar(bar: Bar, now: float) -> str:
    """Return the line of a bar: `recording [######      ] 50 %, 3 s, about 3 s left`."""
    spent, share = now - bar.began, bar.share(now)
    if share is None:
        return f"{bar.label}: {_seconds(spent)}"
    full = round(share * _WIDTH)
    line = f"{bar.label} [{'#' * full}{' ' * (_WIDTH - full)}] {share:.0%}, {_seconds(spent)}"
    if bar.total <= 0 and share >= 0.95:  # the estimate was too short
        return line
    return f"{line}, about {_seconds(spent / share - spent)} left" if share > 0 else line


def _seconds(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, whole = divmod(whole, 60)
    return f"{minutes} min {whole} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class _Screen(Protocol):
    """Where bars are drawn."""

    def draw(self, bar: Bar, line: str) -> None:
        """Show a bar in place of the one before."""

    def clear(self) -> None:
        """Show no bar."""


class _Terminal:
    """The last line of a terminal."""

    def draw(self, bar: Bar, line: str) -> None:
        """Write the line over the one before."""
        width = shutil.get_terminal_size().columns
        sys.stderr.write(f"\r\x1b[K{line[: width - 1]}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Empty the line."""
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


class _Cell:
    """A place below the running cell."""

    def __init__(self) -> None:
        self._place: Place | None = None

    def draw(self, bar: Bar, line: str) -> None:
        """Show the bar as HTML."""
        self._place = self._place or Place()
        share = bar.share(perf_counter())
        value = "" if share is None else f' value="{share:.3f}"'
        label = line if share is None else f"{bar.label} {line[line.rindex(']') + 1 :]}"
        self._place.show(Html(f"<progress{value}></progress> <code>{escape(label)}</code>", line))

    def clear(self) -> None:
        """Empty the place."""
        if self._place is not None:
            self._place.show(Html("", ""))
            self._place = None


class _Drawer:
    """Draws the bars, from a thread that runs while there are any."""

    def __init__(self) -> None:
        self.lock = forkable(threading.Lock())
        self.bars: list[Bar] = []
        self._thread: threading.Thread | None = None

    def add(self, bar: Bar) -> None:
        """Draw the bar from the second on."""
        with self.lock:
            self.bars.append(bar)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="weft progress", daemon=True)
                self._thread.start()

    def remove(self, bar: Bar) -> None:
        """Stop drawing the bar. When this returns, its line is gone."""
        with self.lock:
            if bar in self.bars:
                self.bars.remove(bar)
            if not self.bars:
                self._clear()

    def _run(self) -> None:
        idle = 0
        while True:
            with self.lock:
                self._draw(perf_counter())
                idle = 0 if self.bars else idle + 1
                if idle > _IDLE:
                    self._thread = None
                    return
            sleep(_PAUSE)

    _screen: _Screen | None = None

    def _draw(self, now: float) -> None:
        for bar in self.bars:
            if bar.read is not None:
                bar.done = bar.read()
            if now - bar.began >= _PATIENCE and (bar.read is None or bar.done > 0):
                self._screen = self._screen or (_Cell() if in_notebook() else _Terminal())
                self._screen.draw(bar, text_of_bar(bar, now))
                return

    def _clear(self) -> None:
        if self._screen is not None:
            self._screen.clear()
            self._screen = None


_drawer = _Drawer()
_followers: list[Callable[[str], None]] = []


def follow(told: Callable[[str], None]) -> None:
    """Call `told(label)` in the thread that begins work, and `told("")` when the work ends."""
    _followers.append(told)


def unfollow(told: Callable[[str], None]) -> None:
    """Stop calling `told`."""
    if told in _followers:
        _followers.remove(told)


def begin(label: str, total: float = 0) -> Bar:
    """Begin work. `total` is the number of its units, 0 if that is not known."""
    bar = Bar(label, total)
    if _visible():
        _drawer.add(bar)
    for told in tuple(_followers):
        told(label)
    return bar


def end(bar: Bar) -> None:
    """End the work."""
    _drawer.remove(bar)
    for told in tuple(_followers):
        told("")


@contextmanager
def progress(label: str, total: float = 0) -> Generator[Bar, None, None]:
    """Show the progress of the `with` block, if it takes more than a second."""
    bar = begin(label, total)
    try:
        yield bar
    finally:
        end(bar)


@contextmanager
def measured(label: str, read: Callable[[], float]) -> Generator[None, None, None]:
    """Show the progress of the `with` block, which `read` tells: from 0 to 1. Another thread calls it."""
    if not _visible():
        yield
        return
    bar = Bar(label, 1)
    bar.read = read
    _drawer.add(bar)
    try:
        yield
    finally:
        _drawer.remove(bar)


def _visible() -> bool:
    wanted = os.environ.get("WEFT_PROGRESS", "")
    if wanted:
        return wanted != "0"
    return in_notebook() or bool(getattr(sys.stderr, "isatty", bool)())
