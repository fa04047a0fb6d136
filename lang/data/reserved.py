"""The memories of a tree beside that of its root: pools with the cells of sparse nodes, and their books.

A launch passes the base of each of them, as it passes those of trees."""

from __future__ import annotations

import weakref
from typing import Any

__all__ = ["ReservedMemory"]


class ReservedMemory:
    """Addresses for `size` bytes that are zero, and that take memory when they are touched. The tree owns it. `grows`:
    it is a pool, whose cells are used from the first one on."""

    may_grow = True  # see `FieldTree`

    def __init__(self, tree: Any, label: str, size: int, grows: bool) -> None:
        self.program, self.size, self.grows = tree.program, size, grows
        self._label = f"the cells of {label}" if grows else f"the tables of {label}"
        self._tree = weakref.ref(tree)
        self._buffer: Any = None

    @property
    def grown(self) -> int:
        """That of the tree; -1 if the tree is gone."""
        tree = self._tree()
        return -1 if tree is None else int(tree.grown)

    @property
    def tree(self) -> Any:
        """The tree."""
        return self._tree()

    def buffer(self) -> Any:
        """The bytes, reserved at the first call. Raises FieldError if the tree was destroyed, and OutOfMemory if there
        are not as many addresses."""
        if self._buffer is None:
            with self.program.lock:  # two threads may call this at once
                if self._buffer is None:
                    tree = self._tree()
                    if tree is not None:
                        tree.check()
                    self._buffer = self.program.device.memory.reserve(self.size, self._label, self.grows)
        return self._buffer

    def let_go(self) -> Any:
        """Give up the bytes and return them. None if there are none."""
        before, self._buffer = self._buffer, None
        return before
