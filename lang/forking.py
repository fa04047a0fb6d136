"""What a fork of the process waits for.

A forked child has one thread, and the locks that other threads held stay locked in it for good: Weft's own, and that
of LLVM. So whoever takes such locks for long does it inside of a gate, and a fork waits until all others are out.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from threading import Condition, get_ident

__all__ = ["Gate"]

_PATIENCE = 10.0  # seconds: who is inside may wait for what the forking thread holds


class Gate:
    """`with gate:` any number of threads are inside at once, each as often as it likes. A fork waits for all but its
    own, and keeps new ones out meanwhile. `in_child` is called in each child."""

    def __init__(self, in_child: Callable[[], None]) -> None:
        self._changed = Condition()
        self._inside: Counter[int] = Counter()  # how often each thread entered
        self._forking = False
        self._in_child = in_child
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._close, after_in_parent=self._open, after_in_child=self._open_in_child)

    def __enter__(self) -> None:
        with self._changed:
            me = get_ident()
            self._changed.wait_for(lambda: not self._forking or me in self._inside)
            self._inside[me] += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            me = get_ident()
            self._inside[me] -= 1
            if not self._inside[me]:
                del self._inside[me]
                self._changed.notify_all()

    def _close(self) -> None:
        self._changed.acquire()  # held during the fork, so that the child finds it as it is
        self._forking = True
        self._changed.wait_for(lambda: self._inside.keys() <= {get_ident()}, _PATIENCE)

    def _open(self) -> None:
        self._forking = False
        self._changed.notify_all()
        self._changed.release()

    def _open_in_child(self) -> None:
        for other in self._inside.keys() - {get_ident()}:
            del self._inside[other]
        self._open()
        self._in_child()
