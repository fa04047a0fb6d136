"""The layout of grids in files of NanoVDB, and their checksums (see `nanovdb.py`)."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.ir.errors import WeftError

__all__ = [
    "CODECS",
    "GRID",
    "HAS_BBOX",
    "HAS_RANGE",
    "LEVEL_BY_LEVEL",
    "MAGIC",
    "MAGICS",
    "META",
    "TREE",
    "TYPES",
    "VERSION",
    "Layout",
    "VolumeError",
    "head_checksum",
    "layout_of",
    "verify",
]

MAGICS = {0x304244566F6E614E: "NanoVDB0", 0x314244566F6E614E: "NanoVDB1", 0x324244566F6E614E: "NanoVDB2"}
MAGIC, VERSION = 0x304244566F6E614E, 32 << 21 | 3 << 10 | 3
GRID, TREE, META = 672, 64, 176  # bytes
HAS_BBOX, HAS_RANGE, LEVEL_BY_LEVEL = 2, 4, 32  # flags of a grid
CODECS = ("none", "zip", "blosc")
_UNKNOWN, _BLOCK = 2**32 - 1, 4096  # a checksum that is not known; the bytes of a block that has one of its own
_LAST_OLD = 32 << 21 | 6 << 10  # the last version whose head ends behind the root

# The number of each type in a file: the type of a number, and how many of them a value has.
TYPES: dict[int, tuple[str, int]] = {
    1: ("float32", 1),
    2: ("float64", 1),
    3: ("int16", 1),
    4: ("int32", 1),
    5: ("int64", 1),
    6: ("float32", 3),
    7: ("float64", 3),
    10: ("uint32", 1),
    17: ("float32", 4),
    18: ("float64", 4),
}


class VolumeError(WeftError, ValueError):
    """A file is not a NanoVDB volume, is damaged, or does not fit the field. It is a ValueError."""


@dataclass(frozen=True)
class Layout:
    """Where the parts of nodes are, for values of a type: `first`, of the minimum; `table`, of the values or children.
    Numbers are aligned to their size, and tables to 32 bytes."""

    number: int
    dtype: np.dtype[Any]
    width: int

    @property
    def bytes(self) -> int:
        return self.dtype.itemsize * self.width

    @property
    def statistics(self) -> np.dtype[Any]:
        return np.dtype(np.float64 if self.dtype.itemsize == 8 else np.float32)

    def ranges(self, start: int) -> tuple[int, int]:
        """Where the minimum, which the maximum follows, and the end of the statistics are behind `start`."""
        first, size = _up(start, self.dtype.itemsize), self.statistics.itemsize
        return first, _up(first + 2 * self.bytes, size) + 2 * size

    def node(self, bits: int) -> tuple[int, int, int, int]:
        """Of an inner node with 2**bits children along each axis: where its minimum and its table are, the bytes of an
        entry of the table, and its own."""
        first, end = self.ranges(32 + 2 * (8**bits // 8))
        table, entry = _up(end, 32), max(_up(self.bytes, 8), 8)
        return first, table, entry, _up(table + entry * 8**bits, 32)

    @property
    def leaf(self) -> tuple[int, int, int]:
        """Where the minimum and the values of a leaf are, and its bytes."""
        first, end = self.ranges(80)
        table = _up(end, 32)
        return first, table, _up(table + 512 * self.bytes, 32)

    @property
    def root(self) -> tuple[int, int]:
        """Where the minimum of the root is (behind the background), and its bytes without tiles."""
        background = _up(28, self.dtype.itemsize)
        first, end = self.ranges(background + self.bytes)
        return first, _up(end, 32)

    @property
    def tile(self) -> int:
        """The bytes of a tile of the root: a key, the place of a child, a state and a value."""
        return _up(_up(20, self.dtype.itemsize) + self.bytes, 32)


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


def layout_of(dtype: Any, width: int) -> Layout:
    """The layout of nodes with values of `width` numbers of that type. Raises VolumeError if there is none."""
    for number, (name, count) in TYPES.items():
        if np.dtype(dtype).name == name and count == width:
            return Layout(number, np.dtype(name).newbyteorder("<"), width)
    held = ", ".join(name if count == 1 else f"{count} x {name}" for name, count in TYPES.values())
    what = np.dtype(dtype).name if width == 1 else f"{width} x {np.dtype(dtype).name}"
    raise VolumeError(f"a NanoVDB volume cannot hold values of {what}: it holds {held}")


# ---- checksums -------------------------------------------------------------------------------------------------------


def head_checksum(grid: bytes, shape: Layout) -> int:
    """The checksum of the head of a grid of VERSION."""
    return _old_checksums(grid, shape, whole=False)[0]


def verify(grid: bytes, shape: Layout) -> None:
    """Raise VolumeError if the grid is not what its checksums say. There are two: of the head, and of the rest. A
    grid may have both, the first one, or none."""
    head, tail = struct.unpack_from("<2I", grid, 8)
    if (head, tail) == (_UNKNOWN, _UNKNOWN):
        return
    version = struct.unpack_from("<I", grid, 16)[0]
    known = _new_checksums if version > _LAST_OLD else _old_checksums
    found = known(grid, shape, tail != _UNKNOWN)
    if head != found[0] or (tail != _UNKNOWN and tail not in found[1:]):
        raise VolumeError("the file is damaged: the checksum of the grid is wrong")


def _new_checksums(grid: bytes, shape: Layout, whole: bool) -> list[int]:
    """The head ends behind the tree. The checksum of the rest is that of the checksums of its blocks of 4096 bytes,
    the last of which is longer."""
    start, sums = GRID + TREE, list[int]()
    count = (len(grid) - start) // _BLOCK if whole else 0
    for number in range(count):
        begin = start + number * _BLOCK
        sums.append(zlib.crc32(memoryview(grid)[begin : begin + _BLOCK if number < count - 1 else len(grid)]))
    return [zlib.crc32(memoryview(grid)[16:start]), zlib.crc32(np.array(sums, "<u4").tobytes())]


def _old_checksums(grid: bytes, shape: Layout, whole: bool) -> list[int]:
    """The head ends behind the root. The checksum of the rest is that of the checksums of its nodes, as numbers of 4
    or, if a compiler has chosen so, 8 bytes."""
    *begins, _, leaves, lowers, uppers = struct.unpack_from("<4q3I", grid, GRID)
    head = zlib.crc32(memoryview(grid)[16 : GRID + begins[2] if uppers else len(grid)])
    sizes, sums = (shape.leaf[2], shape.node(4)[3], shape.node(5)[3]), list[int]()
    for level, count in ((2, uppers), (1, lowers), (0, leaves)) if whole else ():
        if not 0 <= count * sizes[level] <= len(grid):
            raise IndexError(f"there is no room for {count} nodes")
        for start in range(GRID + begins[level], GRID + begins[level] + count * sizes[level], sizes[level]):
            sums.append(zlib.crc32(memoryview(grid)[start : start + sizes[level]]))
    return [head, *(zlib.crc32(np.array(sums, kind).tobytes()) for kind in ("<u4", "<u8"))]
