"""Allocate the buffers of fields and temporaries, and keep account of their owners."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.runtime import mappings, system
from weft.runtime.errors import OutOfMemory
from weft.runtime.observer import Observer

__all__ = ["Memory", "out_of_memory", "readable_size"]

_LISTED = 10


class Memory:
    """Allocates zeroed, aligned buffers. A buffer is a numpy array of bytes. It is freed with the last reference to it
    or to a view of it. One request may not exceed `limit` bytes (0: the machine's memory), because the system would
    grant such memory and then kill the process that uses it."""

    def __init__(self, limit: int = 0) -> None:
        self._limit = limit
        self._held: dict[object, tuple[str, int]] = {}
        self._reserved: dict[object, tuple[str, int, int, bool]] = {}  # owner, address, size, whether it grows
        self.observer: Observer | None = None

    def allocate(self, size: int, owner: str, slack: int = 0) -> Any:
        """Return a zeroed uint8 array of `size` bytes. Its address is a multiple of 64, and there are at least `slack`
        unused bytes on both sides. `owner` names it in the account."""
        limit = self._limit or system.physical_memory()
        if size > limit:
            raise self._refuse(size, owner, f"the limit is {readable_size(limit)}")
        try:
            buffer = mappings.take(size, slack, owner)
        except MemoryError as error:
            raise self._refuse(size, owner, "the system has no more memory") from error
        key = object()
        self._held[key] = (owner, size)
        weakref.finalize(buffer.base, self._free, key).atexit = False
        if self.observer is not None:
            self.observer.held("cpu", size, owner)
        return buffer

    @property
    def most_reserved(self) -> int:
        """The most bytes that it makes sense to reserve for one owner: the limit."""
        return self._limit or system.physical_memory()

    def reserve(self, size: int, owner: str, grows: bool = False, slack: int = 0) -> Any:
        """Return a uint8 array of `size` zero bytes that takes addresses, but memory only for the pages that were
        touched. `grows`: it is used from the begin on without gaps. `slack`: as for `allocate`. The account counts
        the touched pages. Raises OutOfMemory if there are not as many addresses."""
        try:
            buffer = mappings.take_reserved(size, owner, grows, slack)
        except MemoryError as error:
            asked = f"{owner} needs {readable_size(size)} of address space, but the system has no more."
            raise out_of_memory(asked, self.holders()) from error
        key = object()
        self._reserved[key] = (owner, self.address(buffer), size, grows)
        weakref.finalize(buffer.base, self._reserved.pop, key).atexit = False
        return buffer

    def _free(self, key: object) -> None:
        owner, size = self._held.pop(key)
        if self.observer is not None:
            self.observer.held("cpu", -size, owner)

    def address(self, buffer: Any) -> int:
        """Return the address of a buffer."""
        return int(buffer.__array_interface__["data"][0])

    def view(
        self, buffer: Any, dtype: Any, shape: Sequence[int], offset: int = 0, strides: Sequence[int] | None = None
    ) -> Any:
        """Return a view of a buffer (here a numpy array): elements of `dtype` at `offset` bytes, with `strides` in
        bytes (None: row-major)."""
        return np.ndarray(shape, dtype, buffer, offset, strides)

    def duplicate(self, buffer: Any) -> Any:
        """Return a buffer with the same bytes."""
        return buffer.copy()

    def assign(self, target: Any, source: Any) -> None:
        """Copy all bytes of a buffer to one of the same size."""
        target[...] = source

    def follow(self, stream: int) -> None:
        """Do nothing: no GPU stream uses this memory."""

    def copy_out(self, target: int, address: int, size: int) -> None:
        """Copy bytes from an address in a buffer to an address of the host."""
        ctypes.memmove(target, address, size)

    @property
    def total(self) -> int:
        """The number of allocated bytes. Of reserved memory, those of touched pages count."""
        return sum(size for _, size in self._accounts())

    @property
    def free(self) -> int:
        """The number of bytes that the buffers leave of the limit."""
        return max(0, (self._limit or system.physical_memory()) - self.total)

    def holders(self) -> list[tuple[str, int]]:
        """Return (owner, bytes) of the live buffers, the largest first."""
        return sorted(self._accounts(), key=lambda held: (-held[1], held[0]))

    def _accounts(self) -> list[tuple[str, int]]:
        reserved = list(self._reserved.values())
        touched = [(owner, system.resident(at, size, grows)) for owner, at, size, grows in reserved]
        return [*list(self._held.values()), *touched]

    def _refuse(self, size: int, owner: str, reason: str) -> OutOfMemory:
        return out_of_memory(f"{owner} needs {readable_size(size)}, but {reason}.", self.holders())


def out_of_memory(asked: str, held: list[tuple[str, int]]) -> OutOfMemory:
    """Return the error for a request of `asked` bytes. `held` lists (owner, bytes), the largest first."""
    lines = [asked, f"This program uses {readable_size(sum(size for _, size in held))}:"]
    lines += [f"  {readable_size(size):>10}  {owner}" for owner, size in held[:_LISTED]]
    if len(held) > _LISTED:
        lines.append(f"  and {len(held) - _LISTED} smaller ones")
    return OutOfMemory("\n".join(lines))


def readable_size(size: int) -> str:
    """Format a number of bytes: 1536 as "1.5 KiB"."""
    if size < 1024:
        return f"{size} B"
    amount, units = size / 1024, ["KiB", "MiB", "GiB", "TiB"]
    while amount >= 1024 and len(units) > 1:
        amount, units = amount / 1024, units[1:]
    return f"{amount:.1f} {units[0]}"
