"""Which launches a `with` block of `ti.ad` sees: those of the thread that entered it. The innermost block
sees a launch first, and hands it to the next one. Launches are watched while a block is open, in any thread."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import Token
from threading import RLock
from types import TracebackType
from typing import Any, Protocol, TypeVar, cast

from weft.ir.errors import WeftError
from weft.lang.data.elements import hear
from weft.lang.data.operations import Operation
from weft.lang.data.writes import LISTENERS, Listener
from weft.lang.measure import watching
from weft.runtime.forks import forkable

__all__ = ["Block", "Context", "active", "seen_by", "suspended", "unrecorded"]


class Context(Listener, Protocol):
    """An open block. `records`: it is a tape, and `insert` records a call with this gradient. `has_duals`: launches in
    it compute duals. `whole`: it differentiates a whole function, so that no other block may be in it, but blocks that
    `nests` of functions that compute derivatives. `shares`: its gradients may read the records of a launch that another
    tape has made. `validates`: launches in it are checked for races."""

    records: bool
    shares: bool
    validates: bool
    has_duals: bool
    whole: bool
    nests: bool

    def enclose(self, kind: str) -> None:
        """A function in the block begins to compute derivatives, in companions of that kind."""

    def launch_derivative(self, launch: Any, run: Callable[[], Any]) -> Any:
        """Run a launch of a derivative, which `run()` runs, or one that differentiates it in its place."""

    def consume(self, values: Sequence[Any]) -> None:
        """A function in the block has used these values, which kernels have returned."""

    def note(self, value: Any, box: Any, memory: Any, told: str, places: Any) -> None:
        """A function in the block has given Python a value from memory. It is in a box, too, which is an ndarray.
        `told`: a warning, if it is no output of the function. `places`: see `numbers_in`."""

    def plainly(self, launch: Any) -> AbstractContextManager[None]:
        """In the block, launches compute no duals: a function that computes those of `launch` runs, or with None a
        function through which no derivative flows."""
        ...

    def replace(self, launch: Any, gradient: Callable[[], Any]) -> None:
        """Record a launch that was run, whose gradient the program has written."""

    def insert(self, gradient: Callable[[], Any]) -> None:
        """Record a call that has this gradient."""

    def beside(self, kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run a launch by a function whose kernels tapes do not record."""

    def operate_beside(self, operation: Operation, run: Callable[[], Any]) -> Any:
        """Run an operation in a function whose calls tapes do not record."""

    def overwrite(self, target: Any, source: Any, again: Callable[[], None]) -> None:
        """What `write` says, in a function whose writes tapes do not record."""

    def launch(self, kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run the launch `call(*args, **keywords)` of `kernel`, or another one in its place."""


_lock = forkable(RLock())  # garbage collection in the meantime may close a block: that of an abandoned generator
_open = 0  # blocks, of all threads


def active() -> tuple[Context, ...]:
    """The open blocks of this thread, the innermost last."""
    return cast(tuple[Context, ...], LISTENERS.get())


_B = TypeVar("_B", bound="Block")


class Block(Context):
    """A context that sees the launches in its `with` block, which is entered once. `begin` runs before the block, and
    `finish` after it, with whether it ended without an exception."""

    has_duals = False
    whole = False
    nests = False
    shares = False
    validates = False
    _token: Token[tuple[Listener, ...]] | None = None

    def plainly(self, launch: Any) -> AbstractContextManager[None]:
        """Nothing, since launches compute no duals. (A `Context`.)"""
        del launch
        return nullcontext()

    def replace(self, launch: Any, gradient: Callable[[], Any]) -> None:
        """Nothing, since no launch is recorded. (A `Context`.)"""

    def enclose(self, kind: str) -> None:
        """Nothing. (A `Context`.)"""

    def launch_derivative(self, launch: Any, run: Callable[[], Any]) -> Any:
        """Run it. (A `Context`.)"""
        del launch
        return run()

    def consume(self, values: Sequence[Any]) -> None:
        """Nothing. (A `Context`.)"""

    def note(self, value: Any, box: Any, memory: Any, told: str, places: Any) -> None:
        """Nothing. (A `Context`.)"""

    def operate(self, operation: Operation, run: Callable[[], Any]) -> Any:
        """Run an operation, and compute the duals of what it writes. Raises WeftError if it cannot do that, and duals
        may be lost. (A `Listener`.)"""
        if operation.ahead is None:
            self.refuse(operation, "no derivative in forward mode: call it outside, or use a tape")
            return run()
        result = run()
        if self.computes_duals:
            with suspended():
                operation.ahead(self)
        return result

    def refuse(self, operation: Operation, why: str) -> None:
        """Raise WeftError if a derivative may flow through an operation."""
        if operation.kernel is not None or any(map(self.may_have_dual, (*operation.reads, *operation.writes))):
            raise WeftError(f"{operation.name} has {why}")

    @property
    def computes_duals(self) -> bool:
        """Whether launches compute duals now."""
        return self.has_duals

    def dual_of(self, memory: Any) -> Any:
        """The dual of a field or ndarray. None if it has none. (Of `Duals`.)"""
        return memory.companions.get("dual")

    def run_dual(self, kernel: Any, args: tuple[Any, ...]) -> None:
        """Run a kernel that computes duals beside values. (Of `Duals`.)"""
        with seen_by(self):
            kernel(*args)

    def take(self, name: str, memory: Any) -> None:
        """Raise WeftError if the memory carries a derivative. (A `Listener`.)"""
        if self.carries(memory):
            raise WeftError(
                f"{name} is a value of Python, in which derivatives are lost: compute it in a kernel, or in a function "
                "with @ti.ad.no_grad if this is what you want"
            )

    def carries(self, memory: Any) -> bool:
        """Whether a value that is computed from this memory may carry a derivative."""
        return self.may_have_dual(memory)

    def may_have_dual(self, memory: Any) -> bool:
        """Whether a field or ndarray may have a dual that is not 0."""
        return "dual" in memory.companions

    operate_beside = operate

    def begin(self) -> None:
        """Prepare the block. If this raises, the block is not entered."""

    def entered(self) -> None:
        """Do what comes at the begin of the block, when it sees launches already."""

    def finish(self, complete: bool) -> None:
        """Do what comes after the block."""

    def __enter__(self: _B) -> _B:
        if self._token is not None:
            raise WeftError(f"this {type(self).__name__} was already entered: create another one")
        if any(one.whole for one in active()) and not self.nests:
            raise WeftError(
                f"a {type(self).__name__} cannot be used in a function that ti.ad.grad or another one differentiates: "
                "the derivative of its gradients would be lost. Use ti.ad.grad or ti.ad.jvp there"
            )
        self.begin()
        _watch(1)
        self._token = LISTENERS.set((*active(), self))
        hear(1)
        self.entered()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._token is not None
        _watch(-1)
        LISTENERS.reset(self._token)
        hear(-1)
        self.finish(error is None)


@contextmanager
def seen_by(*contexts: Context) -> Generator[None]:
    """Let these contexts see the launches of this thread, and no others."""
    _watch(1)
    token = LISTENERS.set(contexts)
    try:
        yield
    finally:
        LISTENERS.reset(token)
        _watch(-1)


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


@contextmanager
def constant() -> Generator[None]:
    """Let no derivative flow through the launches of this thread: no tape records them, and in a function that is
    differentiated as a whole, no duals are computed."""
    with ExitStack() as stack:
        for one in active():
            if one.whole:
                stack.enter_context(one.plainly(None))
        stack.enter_context(unrecorded())
        yield


class _Beside:
    """A tape that does not record."""

    records = shares = validates = False

    def __init__(self, tape: Context) -> None:
        self.launch = self.beside = tape.beside
        self.write, self.write_element = tape.overwrite, tape.write_element
        self.operate, self.enclose, self.consume = tape.operate_beside, tape.enclose, tape.consume
        self.has_duals, self.plainly, self.whole = tape.has_duals, tape.plainly, tape.whole
        self.nests = False  # what it would compute has no derivative

    def take(self, name: str, memory: Any) -> None:
        """Allow it: no derivative is wanted. (A `Listener`.)"""

    def replace(self, launch: Any, gradient: Callable[[], Any]) -> None:
        """Record nothing. (A `Context`.)"""

    def insert(self, gradient: Callable[[], Any]) -> None:
        """Record nothing. (A `Context`.)"""

    def launch_derivative(self, launch: Any, run: Callable[[], Any]) -> Any:
        """Run it. (A `Context`.)"""
        del launch
        return run()

    def note(self, value: Any, box: Any, memory: Any, told: str, places: Any) -> None:
        """Nothing. (A `Context`.)"""


def _watch(more: int) -> None:
    """Count the open blocks. The first one starts the watch of launches, and the last one ends it."""
    global _open
    with _lock:
        before, _open = _open, _open + more
        if not before:
            watching.begin(_see)
        if not _open:
            watching.end(_see)


def _see(kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Give a launch to the open blocks. (A `Watch`.)"""
    contexts = active()
    if len(contexts) == 1:
        return contexts[0].launch(kernel, call, args, keywords)
    return _pass(contexts, kernel, call, args, keywords)


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
    outer, innermost = contexts[:-1], contexts[-1]
    return innermost.launch(
        kernel, lambda *args, **keywords: _pass(outer, kernel, call, args, keywords), args, keywords
    )
