"""Launches on trees with sparse fields, and changes of the layouts of such trees, exclude one another.

    with program.layouts.held():      while memory of such a tree is used: the layout stays as it is
    with program.layouts.changing():  while a layout changes (`FieldTree.grow`): nobody uses such a tree

Any number of threads may hold the layouts at once. Each has a lock of its own, so they do not wait for one another, and
holding costs no more than a lock that nobody else wants. A change takes the locks of all threads. A thread that holds
the layouts may hold them again; it cannot change them.

Native calls take no locks. A change makes their plans invalid and waits for those that are under way. Plans for such
trees are made while the layouts are held.

A thread that waits here for a change must not have a lock that the change may need. Changes launch kernels, and may
compile them first, so no kernel is compiled while the layouts are held."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import RLock, local
from typing import Any
from weakref import WeakSet

from weft.ir.errors import WeftError
from weft.runtime.epochs import drain
from weft.runtime.forks import forkable

__all__ = ["LayoutChanges"]

_Lock: Any = type(RLock())


class LayoutChanges:
    """The locks of one program."""

    def __init__(self) -> None:
        self._of_thread = local()
        self._all: WeakSet[Any] = WeakSet()  # those of threads that have ended go
        self._turn = forkable(RLock())  # held by the thread that changes layouts
        self.are_changing = False

    def held(self) -> Any:
        """What keeps the layouts as they are: a context manager."""
        own = getattr(self._of_thread, "lock", None)
        if own is None:
            own = self._join()
        elif self.are_changing and not own._is_owned():
            with self._turn:  # otherwise a thread that launches all the time would keep changes waiting
                pass
        return own

    def _join(self) -> Any:
        with self._turn:  # a change knows all locks
            own = self._of_thread.lock = forkable(RLock())
            self._all.add(own)
            return own

    @contextmanager
    def changing(self, touch: Callable[[], None]) -> Generator[None]:
        """Wait until nobody uses a sparse tree, and keep others from it. `touch` makes plans of native code invalid.
        Raises WeftError if this thread uses such a tree."""
        with self._turn:
            own = self.held()
            if own._is_owned():
                raise WeftError(
                    "a derivative needs more memory in the cells of sparse fields, which cannot be made while this "
                    "thread runs a kernel on such fields: call it once before, or after the kernel has ended"
                )
            locks = list(self._all)
            # (made here, so that a signal handler cannot raise an exception between two of these steps)
            let_go = map(_Lock.release, filter(_Lock._is_owned, locks))
            try:
                self.are_changing = True
                for lock in locks:
                    lock.acquire()
                touch()
                drain()
                yield
            finally:
                self.are_changing = False
                deque(let_go, 0)
