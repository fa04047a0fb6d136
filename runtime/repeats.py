"""Launches that a tape expects again, as native code is told of them (see `repeat_ir.py`)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextvars import ContextVar
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from weft.runtime.direct import Callable
from weft.runtime.epochs import keep
from weft.runtime.forks import forkable
from weft.runtime.repeat_ir import EXPECTED, REPEAT

if TYPE_CHECKING:
    from weft.runtime.jit import Code

__all__ = ["Expected", "Repeats", "expected_rows", "is_native"]

_DATA = bytes.__basicsize__ - 1  # where the bytes of such an object begin
_DONE = REPEAT.names.index("done")


def is_native(target: Any) -> bool:
    """Whether native code makes the calls of this object of a kernel."""
    return isinstance(target, Callable) and type(target).__basicsize__ != Callable.__basicsize__


def expected_rows(kernels: Any, binders: Any, tokens: Any, contexts: Sequence[bytes]) -> Any:
    """The words of expected launches: of each the addresses of its objects, and the bytes of its context. The caller
    keeps the objects and the bytes."""
    columns = {
        "kernel": kernels,
        "binder": binders,
        "token": tokens,
        "context": [id(one) + _DATA for one in contexts],
        "words": [len(one) // 8 for one in contexts],
    }
    return np.stack([np.array(columns[name], np.int64) for name in EXPECTED.names], axis=1)


class Repeats:
    """Tells the native code of a loaded runtime what it expects. One tape of the process at a time expects launches."""

    _all: ClassVar[list[Repeats]] = []
    _now: ClassVar[Expected | None] = None
    _lock = forkable(RLock())  # garbage collection in the meantime may end those of another tape

    def __init__(self, code: Code) -> None:
        self._set = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code["set_repeat"])
        Repeats._all.append(self)

    @classmethod
    def begin(cls, expected: Expected) -> bool:
        """Expect these launches. False: another tape expects some."""
        with cls._lock:
            if cls._now is not None:
                return False
            cls._now = expected
            for one in cls._all:
                one._set(ctypes.addressof(expected.words))
            return True

    @classmethod
    def end(cls, expected: Expected) -> None:
        """Expect them no more."""
        with cls._lock:
            if cls._now is not expected:
                return
            cls._now = None
            for one in cls._all:
                one._set(None)
        keep(expected)  # a call of another thread may be reading it


class Expected:
    """Launches that come next, where a context variable has a certain value; `rows` are those of `expected_rows`. It
    keeps what they refer to (`keeps`)."""

    def __init__(self, variable: ContextVar[Any], value: Any, rows: Any, keeps: Any) -> None:
        self._keeps = variable, value, rows, keeps
        words = REPEAT.words(variable=id(variable), value=id(value), done=0, count=len(rows), entries=rows.ctypes.data)
        self.words = (ctypes.c_int64 * len(words))(*words)

    @property
    def done(self) -> int:
        """How many of them have come."""
        return self.words[_DONE]
