"""Memory between pages that nobody may touch, for fields and ndarrays on the CPU. None of it is the C heap's.

    | guard | slack | bytes | slack | guard |                                 a mapping of its own
    | guard | slack | bytes | slack | bytes | slack | ... | slack | guard |   what is small shares one

An access that misses the bytes by a little meets slack, which is nobody's; one that misses them by much meets a guard,
pages without access, and `guard_ir.py` hears of it. Guards cost addresses and no memory, and so does slack until it is
touched. A mapping that is let go is kept for a while, up to _IDLE bytes of them: a page that the system gives anew
costs more than one that is cleared.
"""

from __future__ import annotations

import ctypes
import mmap
import weakref
from itertools import count
from typing import Any

import numpy as np

from weft.runtime import system
from weft.runtime.guard_table import GuardTable

__all__ = ["ALIGNMENT", "Block", "Mapping", "nearest", "table_address", "take"]

ALIGNMENT = 64
_PAGE = mmap.PAGESIZE

_GUARD = 16 << 20, 4 << 30  # bytes: at least and at most; in between, as many as there are to guard
_SMALL_GUARD = 16 * _PAGE  # where the process may not have so many addresses

# What is small: a piece of a shared mapping, slack included. Programs have hundreds of fields of one element; a page
# for each would be a set of the cache and an entry of the TLB for all of them.
_PIECES = 256, 4096
_SHARED = 64 << 10

_IDLE, _IDLE_MAPPINGS = 64 << 20, 64

# From this size on we ask for pages of 2 MiB, and begin at one.
_HUGE, _HUGE_PAGE = 4 << 20, 2 << 20

# Where memory begins within its page: no two in a row at one place, or loops over several of them would meet in the
# same sets of the caches.
_SKEW = 69 * 64


class Mapping:
    """Addresses from `begin` to `end`, of which `room` bytes from `first` on may be used."""

    __slots__ = ("begin", "end", "entry", "first", "room")

    def __init__(self, room: int, align: int) -> None:
        for guard in (min(max(_GUARD[0], room), _GUARD[1]), _SMALL_GUARD):
            size = room + 2 * guard + align - _PAGE
            begin = system.reserve(size)
            if begin:
                break
        else:
            raise MemoryError
        self.begin, self.end, self.room = begin, begin + size, room
        self.first = _up(begin + guard, align)
        if not system.commit(self.first, room, huge=align > _PAGE):
            system.release(begin, size)
            raise MemoryError
        self.entry = _table.add(self.begin, self.end)

    def close(self) -> None:
        """Give it back to the system."""
        _table.remove(self.entry)
        system.release(self.begin, self.end - self.begin)


class Block:
    """`size` bytes at `address`, somewhere in a mapping. numpy arrays are made of it, and keep it."""

    __slots__ = ("__array_interface__", "__weakref__", "address", "mapping", "owner", "size")

    def __init__(self, address: int, size: int, owner: str, mapping: Mapping) -> None:
        self.address, self.size, self.owner, self.mapping = address, size, owner, mapping
        shape = (max(size, 1),)  # numpy has its own memory for no bytes
        self.__array_interface__ = {"data": (address, False), "shape": shape, "typestr": "|u1", "version": 3}


_table = GuardTable()
_blocks = weakref.WeakValueDictionary[int, Block]()  # by address
_pieces: dict[int, list[tuple[int, Mapping]]] = {}  # free ones, by their size
_idle: list[Mapping] = []
_numbers = count()


def take(size: int, slack: int, owner: str) -> Any:
    """A numpy array of `size` zero bytes, at a multiple of ALIGNMENT, with at least `slack` bytes before and behind
    that are nobody's. Its memory goes with the last view of it. MemoryError where there is none. `owner` is told who
    misses it."""
    around = _up(max(slack, 1), ALIGNMENT)
    need = size + 2 * around
    block = _piece(size, around, owner) if need <= _PIECES[1] else _own(size, around, owner)
    _blocks[block.address] = block
    return np.asarray(block)[:size]


def nearest(address: int) -> Block | None:
    """The block that an address misses: of those in the mapping that it is in, the nearest; None if it is in none."""
    there = [block for block in list(_blocks.values()) if block.mapping.begin <= address < block.mapping.end]
    return min(there, key=lambda block: _distance(block, address), default=None)


def table_address() -> int:
    """Where native code finds which addresses are ours (see `guard_table.py`)."""
    return _table.address


def _distance(block: Block, address: int) -> int:
    return max(block.address - address, address - (block.address + block.size - 1), 0)


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


def _piece(size: int, around: int, owner: str) -> Block:
    length = max(1 << (size + 2 * around - 1).bit_length(), _PIECES[0])
    free = _pieces.setdefault(length, [])
    try:
        place, mapping = free.pop()  # (another thread may come between a look and a pop)
    except IndexError:
        mapping = Mapping(_SHARED, _PAGE)
        _table.call(mapping.entry, "a small field")
        place, *others = range(mapping.first, mapping.first + _SHARED, length)
        free.extend((other, mapping) for other in reversed(others))
    ctypes.memset(place, 0, length)
    block = Block(place + around, size, owner, mapping)
    weakref.finalize(block, free.append, (place, mapping)).atexit = False
    return block


def _own(size: int, around: int, owner: str) -> Block:
    huge = size >= _HUGE
    around, steps = _up(around, _PAGE), 16 * _PAGE if huge else _PAGE
    skew = next(_numbers) * _SKEW % steps
    mapping = _mapping(size + 2 * around + steps, _HUGE_PAGE if huge else _PAGE)
    _table.call(mapping.entry, owner)
    block = Block(mapping.first + around + skew, size, owner, mapping)
    weakref.finalize(block, _let_go, mapping).atexit = False
    return block


def _mapping(need: int, align: int) -> Mapping:
    """One that was let go, if it fits, the latest first, or a new one."""
    for mapping in _idle[::-1]:
        if need <= mapping.room <= 2 * need and mapping.first % align == 0:
            try:
                _idle.remove(mapping)
            except ValueError:  # another thread has it
                continue
            ctypes.memset(mapping.first, 0, mapping.room)
            return mapping
    return Mapping(_up(need, _PAGE), align)


def _let_go(mapping: Mapping) -> None:
    if mapping.room > _IDLE // 2:
        mapping.close()
        return
    _idle.append(mapping)
    while len(_idle) > _IDLE_MAPPINGS or sum(one.room for one in list(_idle)) > _IDLE:
        try:
            _idle.pop(0).close()
        except IndexError:  # another thread has it
            return
