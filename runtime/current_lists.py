"""Which lists of active cells of a GPU are current: what its host code knows about the memory of the device.

A sparse node has a list of its active cells in a memory of its own, the book. Launches that make the list, and those
that change which cells are active, keep a table on the host (`codegen/nvptx/host.py`). A loop over a list that is known
to be current needs no launches that make the list. Where the memory of a book changes without a launch, the table must
forget the book: when the memory is freed, and when it is written.
"""

from __future__ import annotations

import numpy as np

from weft.ir.artifact import LIST_BITS, LIST_MIX

__all__ = ["CurrentLists"]


class CurrentLists:
    """The table of a device, at `address`. Other threads may launch while a book is forgotten: a word that they write
    meanwhile may be lost, so that a list is made again in vain."""

    def __init__(self) -> None:
        self._table = np.zeros(1 << LIST_BITS, np.uint64)
        self.address = int(self._table.ctypes.data)

    def knows(self, book: int) -> bool:
        """Whether the list in the book at that address is known to be current."""
        return bool(self._table[_place(book)] == book)

    def forget(self, book: int) -> None:
        """Nothing is known of the book at that address."""
        if self.knows(book):
            self._table[_place(book)] = 0


def _place(book: int) -> int:
    return (book * LIST_MIX) % 2**64 >> (64 - LIST_BITS)
