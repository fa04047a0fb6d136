"""Which launches a `with` block of `ti.ad` sees: those of the thread that entered it. The innermost block
sees a launch first, and hands it to the next one.

The first block of a program starts a watch of launches. It stays until the program ends, because starting and ending a
watch makes every kernel find its code anew, and programs enter such blocks again and again."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import Token
from threading import Lock
from types import TracebackType
from typing import Any, Protocol, TypeVar, cast

from weft.ir.errors import WeftError
from weft.lang.data.writes import LISTENERS, Listener
from weft.lang.measure import watching
from weft.lang.program.init import Program, program
from weft.runtime.forks import forkable

__all__ = ["Block", "Context", "active", "suspended", "unrecorded"]


class Context(Listener, Protocol):
    """An open block. `records`: it is a tape, and `insert` records a call with this gradient."""

    records: bool

    def insert(self, gradient: Callable[[], Any]) -> None:
        """Record a call that has this gradient."""

    def beside(self, kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run a launch by a function whose kernels tapes do not record."""

    def overwrite(self, target: Any, source: Any, again: Callable[[], None]) -> None:
        """What `write` says, in a function whose writes tapes do not record."""

    def launch(self, kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run the launch `call(*args, **keywords)` of `kernel`, or another one in its place."""


_lock = forkable(Lock())


def active() -> tuple[Context, ...]:
    """The open blocks of this thread, the innermost last."""
    return cast(tuple[Context, ...], LISTENERS.get())


_B = TypeVar("_B", bound="Block")


class Block(Context):
    """A context that sees the launches in its `with` block, which is entered once. `begin` runs before the block, and
    `finish` after it, with whether it ended without an exception."""

    _token: Token[tuple[Listener, ...]] | None = None

    def begin(self) -> None:
        """Prepare the block. If this raises, the block is not entered."""

    def finish(self, complete: bool) -> None:
        """Do what comes after the block."""

    def __enter__(self: _B) -> _B:
        if self._token is not None:
            raise WeftError(f"this {type(self).__name__} was already entered: create another one")
        self.begin()
        _Watch.start(program())
        self._token = LISTENERS.set((*active(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._token is not None
        LISTENERS.reset(self._token)
        self.finish(error is None)


@contextmanager
def suspended() -> Generator[None]:
    """Let no block see the launches of this thread."""
    token = LISTENERS.set(())
    try:
        yield
    finally:
        LISTENERS.reset(token)


@contextmanager
def unrecorded() -> Generator[None]:
    """Let no tape record the launches of this thread."""
    token = LISTENERS.set(tuple(_Beside(one) if one.records else one for one in active()))
    try:
        yield
    finally:
        LISTENERS.reset(token)


class _Beside:
    """A tape that does not record."""

    records = False

    def __init__(self, tape: Context) -> None:
        self.launch = self.beside = tape.beside
        self.write = tape.overwrite

    def insert(self, gradient: Callable[[], Any]) -> None:
        """Record nothing. (A `Context`.)"""


class _Watch:
    """The watch of a program's launches."""

    current: _Watch | None = None

    @classmethod
    def start(cls, program: Program) -> None:
        """Start the watch of this program, unless it is there."""
        with _lock:
            if cls.current is None:
                cls.current = cls()
                watching.begin(_see)
                program.retake()
                program.adopt(cls.current)

    def end(self, why: str) -> None:
        """End the watch, because the program ends."""
        del why
        with _lock:
            if _Watch.current is self:
                _Watch.current = None
                watching.end(_see)


def _see(kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Give a launch to the open blocks. (A `Watch`.)"""
    return _pass(active(), kernel, call, args, keywords)


def _pass(
    contexts: tuple[Context, ...],
    kernel: Any,
    call: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    """Give a launch to the innermost of these blocks. Where it calls `call`, the next one sees the launch."""
    if not contexts:
        return call(*args, **keywords)
    *outer, innermost = contexts
    if not outer:
        return innermost.launch(kernel, call, args, keywords)
    return innermost.launch(
        kernel, lambda *args, **keywords: _pass(tuple(outer), kernel, call, args, keywords), args, keywords
    )
