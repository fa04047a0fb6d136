"""Measure host time in nested, named scopes. Weft records what it compiles; a program can add its own scopes.

with ti.profiler.ScopedProfiler("load"):      # or @ti.profiler.timed
    ...
ti.profiler.print_scoped_profiler_info()
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import shown, text_of
from weft.lang.measure import compile_bars, recording
from weft.runtime.forks import forkable

__all__ = ["ScopedProfiler", "clear_scoped_profiler_info", "print_scoped_profiler_info", "timed"]

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(eq=False)
class _Scope:
    """The number of entries of a scope, its total seconds, and its inner scopes by name."""

    count: int = 0
    seconds: float = 0.0
    inner: dict[str, _Scope] = field(default_factory=dict[str, "_Scope"])


class _Open(threading.local):
    """The scopes that a thread is in, outermost first, and when it entered them."""

    def __init__(self) -> None:
        self.scopes: list[tuple[_Scope, float]] = []


_root, _open, _lock = _Scope(), _Open(), forkable(threading.Lock())


class ScopedProfiler:
    """Times the body of `with ScopedProfiler(name):`, as a scope inside the current one. Work on a GPU that was only
    launched in the body is not included: call `ti.sync()` at its end to include it. `ti.profile` shows the scope on its
    timeline, with that `kind`.

    Example:
        with ti.profiler.ScopedProfiler("loading"):
            x = ti.field(ti.f32, 100)
            x.fill(1)
        ti.profiler.print_scoped_profiler_info()
    """

    def __init__(self, name: str, kind: str = recording.RANGE) -> None:
        self.name, self.kind = text_of(name, "the name of a scope"), kind

    def __enter__(self) -> ScopedProfiler:
        around = _open.scopes[-1][0] if _open.scopes else _root
        with _lock:
            inner = around.inner.setdefault(self.name, _Scope())
        _open.scopes.append((inner, time.perf_counter()))
        if self.kind == recording.COMPILE:
            compile_bars.entered(self.name)
        return self

    def __exit__(self, *_: object) -> None:
        ended, (scope, began) = time.perf_counter(), _open.scopes.pop()
        with _lock:
            scope.count += 1
            scope.seconds += ended - began
        if self.kind == recording.COMPILE:
            compile_bars.left()
        record = recording.current
        if record is not None:
            record.span(self.kind, self.name, began, ended)


def timed(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a Python function so that its calls are timed, as a scope with its name (see `ScopedProfiler`).

    Example:
        @ti.profiler.timed
        def load():
            return 5

        load()  # 5
        ti.profiler.clear_scoped_profiler_info()
    """
    name = getattr(function, "__qualname__", None)
    if not callable(function) or not isinstance(name, str):
        raise TypeMismatch(f"timed must decorate a function, not {shown(function)}")
    scope = name.rpartition("<locals>.")[2]

    @functools.wraps(function)
    def run(*args: P.args, **keywords: P.kwargs) -> R:
        with ScopedProfiler(scope):
            return function(*args, **keywords)

    return run


def print_scoped_profiler_info() -> None:
    """Print the scopes, inner ones indented: milliseconds, the share of the outer scope, the number of entries, and the
    average time.

    Example:
        with ti.profiler.ScopedProfiler("outer"):
            with ti.profiler.ScopedProfiler("inner"):
                pass
        ti.profiler.print_scoped_profiler_info()
    """
    print("Host times, milliseconds")
    print(f"{'scope':<36}{'total':>11}{'share':>9}{'count':>8}{'avg':>11}")
    with _lock:
        whole = sum(scope.seconds for scope in _root.inner.values())
        for line in _lines(_root, whole, 0):
            print(line)


def _lines(around: _Scope, whole: float, depth: int) -> list[str]:
    found: list[str] = []
    for name, scope in around.inner.items():
        share = 100 * scope.seconds / whole if whole else 0.0
        average = 1000 * scope.seconds / max(scope.count, 1)
        label = "  " * depth + name
        found.append(f"{label:<36}{1000 * scope.seconds:>11.3f}{share:>8.2f}%{scope.count:>8}{average:>11.3f}")
        found += _lines(scope, scope.seconds, depth + 1)
    return found


def clear_scoped_profiler_info() -> None:
    """Forget all scopes so far. Scopes that are open now are recorded again when they end.

    Example:
        with ti.profiler.ScopedProfiler("old"):
            pass
        ti.profiler.clear_scoped_profiler_info()
        with ti.profiler.ScopedProfiler("new"):
            pass
        # this shows no scope "old"
        ti.profiler.print_scoped_profiler_info()
    """
    with _lock:
        _root.inner.clear()
