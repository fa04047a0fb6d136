"""Memory between inaccessible guard pages, for fields and ndarrays on the CPU. It is not taken from the C heap.

    | guard | slack | bytes | slack | guard |                                 a mapping of its own
    | guard | slack | bytes | slack | bytes | slack | ... | slack | guard |   small blocks share a mapping

Reserved memory (`take_reserved`) is a mapping of its own that takes addresses when it is made, and memory only for the
pages that are touched.

An access slightly out of bounds touches slack, which is unused. An access far out of bounds touches a guard, which has
no access rights, and `guard_ir.py` handles the fault. Guards take addresses but no memory, and slack takes no memory
until it is touched. A released mapping is kept for reuse, up to _IDLE bytes in all: a new page from the system costs
more than clearing an old one.
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

__all__ = ["ALIGNMENT", "Block", "Mapping", "nearest", "table_address", "take", "take_reserved"]

ALIGNMENT = 64
_PAGE = mmap.PAGESIZE

_GUARD = 16 << 20, 4 << 30  # bytes: minimum and maximum; in between, as large as the memory that it guards
_SMALL_GUARD = 16 * _PAGE  # if the process may not reserve so many addresses

# The largest small block: a piece of a shared mapping, slack included. Programs have hundreds of fields of one element.
# A page for each would put all of them into one set of the cache and use an entry of the TLB each.
_PIECES = 256, 4096
_SHARED = 64 << 10

_IDLE, _IDLE_MAPPINGS = 64 << 20, 64

# From this size on, memory uses pages of 2 MiB and begins at one.
_HUGE, _HUGE_PAGE = 4 << 20, 2 << 20

# The offsets of memory within its page. Successive blocks get different offsets, because loops over several of them
# would otherwise compete for the same sets of the caches.
_SKEW = 69 * 64


class Mapping:
    """Addresses from `begin` to `end`. `room` bytes from `first` on may be used. `lazy`: the system promises no memory
    for them before they are touched."""

    __slots__ = ("begin", "end", "entry", "first", "room")

    def __init__(self, room: int, align: int, lazy: bool = False) -> None:
        for guard in (min(max(_GUARD[0], room), _GUARD[1]), _SMALL_GUARD):
            size = room + 2 * guard + align - _PAGE
            begin = system.reserve(size, lazy)
            if begin:
                break
        else:
            raise MemoryError
        self.begin, self.end, self.room = begin, begin + size, room
        self.first = _up(begin + guard, align)
        if not system.commit(self.first, room):
            system.release(begin, size)
            raise MemoryError
        if align > _PAGE:
            system.advise(self.first, room, huge=True)
        self.entry = _table.add(self.begin, self.end)

    def close(self) -> None:
        """Return the addresses to the system."""
        _table.remove(self.entry)
        system.release(self.begin, self.end - self.begin)


class Block:
    """`size` bytes at `address` in a mapping. numpy arrays are made of it and keep it alive."""

    __slots__ = ("__array_interface__", "__weakref__", "address", "mapping", "owner", "size")

    def __init__(self, address: int, size: int, owner: str, mapping: Mapping) -> None:
        self.address, self.size, self.owner, self.mapping = address, size, owner, mapping
        shape = (max(size, 1),)  # numpy would allocate its own memory for zero bytes
        self.__array_interface__ = {"data": (address, False), "shape": shape, "typestr": "|u1", "version": 3}


_table = GuardTable()
_blocks = weakref.WeakValueDictionary[int, Block]()  # by address
_pieces: dict[int, list[tuple[int, Mapping]]] = {}  # free pieces, by their size
_idle: list[Mapping] = []
_numbers = count()


def take(size: int, slack: int, owner: str) -> Any:
    """Return a numpy array of `size` zero bytes. Its address is a multiple of ALIGNMENT, and there are at least `slack`
    unused bytes before and behind it. The memory is freed with the last view of it. Raises MemoryError if there is
    none. Faults near it name `owner`."""
    around = _up(max(slack, 1), ALIGNMENT)
    need = size + 2 * around
    block = _piece(size, around, owner) if need <= _PIECES[1] else _own(size, around, owner)
    _blocks[block.address] = block
    return np.asarray(block)[:size]


def take_reserved(size: int, owner: str, grows: bool, slack: int = 0) -> Any:
    """Return a numpy array of `size` zero bytes that takes memory only where it was touched. `grows`: it is used from
    the begin on without gaps, so all but its first bytes may lie in large pages. Otherwise as `take`."""
    around = _up(slack, _PAGE)
    mapping = Mapping(_up(max(size, 1), _PAGE) + 2 * around, _HUGE_PAGE, lazy=True)
    first = min(_HUGE, mapping.room) if grows else mapping.room
    system.advise(mapping.first, first, huge=False)  # (else the first byte could take 2 MiB)
    _table.call(mapping.entry, owner)
    block = Block(mapping.first + around, size, owner, mapping)
    weakref.finalize(block, mapping.close).atexit = False
    _blocks[block.address] = block
    return np.asarray(block)[:size]


def nearest(address: int) -> Block | None:
    """Return the block that an access at this address missed: the nearest one in the same mapping; None outside of
    mappings."""
    there = [block for block in list(_blocks.values()) if block.mapping.begin <= address < block.mapping.end]
    return min(there, key=lambda block: _distance(block, address), default=None)


def table_address() -> int:
    """Return the address of the table of Weft's memory (see `guard_table.py`)."""
    return _table.address


def _distance(block: Block, address: int) -> int:
    return max(block.address - address, address - (block.address + block.size - 1), 0)


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


def _piece(size: int, around: int, owner: str) -> Block:
    length = max(1 << (size + 2 * around - 1).bit_length(), _PIECES[0])
    free = _pieces.setdefault(length, [])
    try:
        place, mapping = free.pop()  # (another thread may take it between the check and the pop)
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
    """Return a released mapping that fits, the latest first, or a new one."""
    for mapping in _idle[::-1]:
        if need <= mapping.room <= 2 * need and mapping.first % align == 0:
            try:
                _idle.remove(mapping)
            except ValueError:  # another thread has taken it
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
        except IndexError:  # another thread has taken it
            return
