"""What a forked child finds: locks that are open, and modules that are whole.

A child has one thread, and what other threads were doing is not done. A lock that one of them held would stay locked
for good: Weft's own, LLVM's, and that of a module which was being imported, at a first kernel for instance. So

    with gate: ...         what takes long or must not be left half done: a fork waits until all others are out
    forkable(Lock())       a lock for short work: the child's to take, whoever had it

and a fork waits for imports of Weft's modules that are under way (`with importing():` where Python itself sees none),
and keeps new ones from beginning meanwhile.
"""

from __future__ import annotations

import _imp
import importlib
import os
import sys
import time
import weakref
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from threading import Condition, RLock, get_ident
from typing import Any, TypeVar

__all__ = ["Gate", "forkable", "gate", "importing"]

L = TypeVar("L")

_OURS = ("weft", "llvmlite")
_PATIENCE, _PAUSE = 10.0, 0.0005  # seconds: who is waited for may wait for what the forking thread holds

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def forkable(lock: L) -> L:
    """That lock (a `threading.Lock` or `RLock`), which in a forked child nobody else has."""
    _locks.add(lock)
    return lock


def _open_locks() -> None:
    for lock in (*_locks, *_locks_of_llvm()):
        if not getattr(lock, "_is_owned", bool)():  # the thread that forked may have an RLock: it gives it back itself
            lock._at_fork_reinit()


def _locks_of_llvm() -> Iterator[Any]:
    """That of llvmlite, which a thread holds that was still compiling when a fork had waited long enough for it."""
    library = getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None)
    lock = getattr(getattr(library, "_lock", None), "_lock", None)
    if hasattr(lock, "_at_fork_reinit"):
        yield lock


class _Imports:
    """Python's imports, held still while the process forks."""

    def __init__(self) -> None:
        self._held = False
        self._lock = forkable(RLock())  # by which our own ones begin (`with`: Ctrl-C cannot leave it locked)
        self._own: dict[int, int] = {}  # how many modules each thread runs without Python's import

    def begin(self) -> None:
        """This thread runs a module."""
        me = get_ident()
        with self._lock:
            self._own[me] = self._own.get(me, 0) + 1

    def end(self) -> None:
        """It has run."""
        me = get_ident()
        self._own[me] -= 1
        if not self._own[me]:
            del self._own[me]

    def hold(self) -> None:
        """Wait until no other thread is within one of ours, and let none begin."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            _imp.acquire_lock()  # by which imports begin
            if self._lock.acquire(blocking=False):  # who has it may wait for imports, in a finalizer
                owners = {owner for name, owner, _ in _under_way() if name.partition(".")[0] in _OURS} | {*self._own}
                if not owners or get_ident() in owners or time.monotonic() > deadline:
                    self._held = True
                    return
                self._lock.release()
            _imp.release_lock()
            time.sleep(_PAUSE)

    def let_go(self) -> None:
        """Imports go on."""
        if self._held:
            self._held = False
            self._lock.release()
            _imp.release_lock()

    def let_go_in_child(self) -> None:
        """What other threads were importing, after all, is imported anew by who asks for it."""
        for other in self._own.keys() - {get_ident()}:
            del self._own[other]
        for name, owner, locks in list(_under_way()):
            if owner != get_ident():
                locks.pop(name, None)
                if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
                    del sys.modules[name]
        self.let_go()


def _under_way() -> Iterator[tuple[str, int, dict[str, Any]]]:
    """(module, the thread that imports it, where its lock is) of each import. (Python tells it nowhere else; where this
    is not there, nothing waits.)"""
    locks: dict[str, Any] = getattr(getattr(importlib, "_bootstrap", None), "_module_locks", {})
    for name, ref in list(locks.items()):
        owner = getattr(ref(), "owner", None)
        if isinstance(owner, int):
            yield name, owner, locks


class Gate:
    """`with gate:` any number of threads are inside at once, each as often as it likes. A fork waits for all but its
    own, and keeps new ones out meanwhile."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._inside: dict[int, int] = {}  # how often each thread entered
        self._forking: int | None = None  # the thread that forks

    def __enter__(self) -> None:
        with self._changed:
            me = get_ident()
            self._changed.wait_for(lambda: self._forking in (None, me) or me in self._inside)
            self._inside[me] = self._inside.get(me, 0) + 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            me = get_ident()
            left = self._inside[me] - 1
            if left:
                self._inside[me] = left
                return
            del self._inside[me]  # never 0, not for a moment: a finalizer that came in then and left would remove it
            self._changed.notify_all()

    def close(self) -> None:
        """Before a fork."""
        self._changed.acquire()  # held during the fork, so that the child finds it as it is
        self._changed.wait_for(lambda: self._forking is None)  # another thread may be first
        self._forking = get_ident()
        self._changed.wait_for(lambda: self._inside.keys() <= {get_ident()}, _PATIENCE)

    def open(self) -> None:
        """After it."""
        self._forking = None
        self._changed.notify_all()
        self._changed.release()

    def open_in_child(self) -> None:
        """After it, in the child."""
        for other in self._inside.keys() - {get_ident()}:
            del self._inside[other]
        self.open()


gate = Gate()
_imports = _Imports()


@contextmanager
def importing() -> Generator[None, None, None]:
    """What runs a module without Python's `import`, which a fork would not know of. (A thread within the gate would be
    waited for as well; but one that imports cannot wait for the gate, since the fork waits for it.)"""
    _imports.begin()
    try:
        yield
    finally:
        _imports.end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_imports.hold, after_in_parent=_imports.let_go, after_in_child=_imports.let_go_in_child)
    os.register_at_fork(before=gate.close, after_in_parent=gate.open, after_in_child=gate.open_in_child)  # closed first
    os.register_at_fork(after_in_child=_open_locks)
