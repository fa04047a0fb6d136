"""Keep locks and imports consistent across a fork, so that the child finds open locks and complete modules.

A forked child has one thread, and the work of the other threads is lost. A lock that one of them held would stay locked
forever: Weft's own locks, those of LLVM, and that of a module that was being imported, for example at a first kernel.
Therefore:

    with gate: ...         for long work, or work that must not be interrupted: a fork waits until the others leave
    forkable(Lock())       a lock for short work: the child can take it, even if another thread held it

A fork also waits for pending imports of Weft's modules, and prevents new ones from starting in the meantime.
"""

from __future__ import annotations

import _imp
import importlib
import os
import sys
import time
import weakref
from collections.abc import Iterator
from threading import Condition, get_ident
from typing import Any, TypeVar

__all__ = ["Gate", "forkable", "gate"]

L = TypeVar("L")

_OURS = ("weft", "llvmlite")
_PATIENCE, _PAUSE = 10.0, 0.0005  # seconds; another thread may wait for what the forking one holds

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def forkable(lock: L) -> L:
    """Return the lock (a `threading.Lock` or `RLock`). In a forked child, no other thread holds it."""
    _locks.add(lock)
    return lock


def _open_locks() -> None:
    for lock in (*_locks, *_locks_of_llvm()):
        if not getattr(lock, "_is_owned", bool)():  # if the forking thread holds an RLock, it releases it itself
            lock._at_fork_reinit()


def _locks_of_llvm() -> Iterator[Any]:
    """Yield llvmlite's lock. A thread may hold it that still compiled when the fork had waited long enough."""
    library = getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None)
    lock = getattr(getattr(library, "_lock", None), "_lock", None)
    if hasattr(lock, "_at_fork_reinit"):
        yield lock


class _Imports:
    """Stops Python's imports while the process forks."""

    def __init__(self) -> None:
        self._held = False

    def hold(self) -> None:
        """Wait until no other thread imports one of Weft's modules, and let none begin."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            _imp.acquire_lock()  # every import begins with this lock
            owners = {owner for name, owner, _ in _under_way() if name.partition(".")[0] in _OURS}
            if not owners or get_ident() in owners or time.monotonic() > deadline:
                self._held = True
                return
            _imp.release_lock()
            time.sleep(_PAUSE)

    def let_go(self) -> None:
        """Let imports continue."""
        if self._held:
            self._held = False
            _imp.release_lock()

    def let_go_in_child(self) -> None:
        """Let imports continue in the child. Modules that other threads were importing are imported again on demand."""
        for name, owner, locks in list(_under_way()):
            if owner != get_ident():
                locks.pop(name, None)
                if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
                    del sys.modules[name]
        self.let_go()


def _under_way() -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Return (module, importing thread, place of its lock) of each pending import. (Python has no public interface for
    this. If the internal one is missing, a fork does not wait.)"""
    locks: dict[str, Any] = getattr(getattr(importlib, "_bootstrap", None), "_module_locks", {})
    for name, ref in list(locks.items()):
        owner = getattr(ref(), "owner", None)
        if isinstance(owner, int):
            yield name, owner, locks


class Gate:
    """`with gate:` lets any number of threads in at once, and each thread several times. A fork waits for all threads
    but its own, and keeps new ones out meanwhile."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._inside: dict[int, int] = {}  # number of entries of each thread
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
            del self._inside[me]  # never 0: a finalizer that enters and leaves meanwhile would remove it
            self._changed.notify_all()

    def close(self) -> None:
        """Close the gate before a fork."""
        self._changed.acquire()  # held during the fork, so that its state is consistent in the child
        self._changed.wait_for(lambda: self._forking is None)  # another thread may fork first
        self._forking = get_ident()
        self._changed.wait_for(lambda: self._inside.keys() <= {get_ident()}, _PATIENCE)

    def open(self) -> None:
        """Open the gate after a fork."""
        self._forking = None
        self._changed.notify_all()
        self._changed.release()

    def open_in_child(self) -> None:
        """Open the gate in the child."""
        for other in self._inside.keys() - {get_ident()}:
            del self._inside[other]
        self.open()


gate = Gate()
_imports = _Imports()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_imports.hold, after_in_parent=_imports.let_go, after_in_child=_imports.let_go_in_child)
    os.register_at_fork(before=gate.close, after_in_parent=gate.open, after_in_child=gate.open_in_child)  # closed first
    os.register_at_fork(after_in_child=_open_locks)
