"""The file format of NanoVDB (`.nvdb`), which OpenVDB's tools, Blender and Warp read: sparse volumes of numbers.

A grid is one block of bytes: a header, a tree, its root, and nodes of 32^3, 16^3 and 8^3 children (the last ones are
leaves, whose children are voxels), level by level. All places are offsets from a node to its child, so a file can be
mapped and read as it is. The format is that of NanoVDB 32.3 (`PNanoVDB.h` and `io/IO.h` of the OpenVDB project)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.ir.errors import WeftError

__all__ = ["VolumeError", "packed", "unpacked"]

_MAGICS = {0x304244566F6E614E: "NanoVDB0", 0x314244566F6E614E: "NanoVDB1", 0x324244566F6E614E: "NanoVDB2"}
_MAGIC, _VERSION = 0x304244566F6E614E, 32 << 21 | 3 << 10 | 3
_GRID, _TREE, _META = 672, 64, 176  # bytes
_HAS_BBOX, _HAS_RANGE, _LEVEL_BY_LEVEL = 2, 4, 32  # flags of a grid
_CODECS = ("none", "zip", "blosc")

# The number of each type in a file: the type of a number, and how many of them a value has.
_TYPES: dict[int, tuple[str, int]] = {
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
class _Layout:
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


def _layout(dtype: Any, width: int) -> _Layout:
    for number, (name, count) in _TYPES.items():
        if np.dtype(dtype).name == name and count == width:
            return _Layout(number, np.dtype(name).newbyteorder("<"), width)
    held = ", ".join(name if count == 1 else f"{count} x {name}" for name, count in _TYPES.values())
    what = np.dtype(dtype).name if width == 1 else f"{width} x {np.dtype(dtype).name}"
    raise VolumeError(f"a NanoVDB volume cannot hold values of {what}: it holds {held}")


# ---- writing ---------------------------------------------------------------------------------------------------------


def packed(
    indices: Any,
    values: Any,
    name: str = "",
    voxel_size: float = 1.0,
    origin: Sequence[float] = (0, 0, 0),
    codec: str = "none",
) -> bytes:
    """The bytes of a file with one grid. `indices` (n, 3) are the active voxels, `values` (n, ...) their values."""
    if codec not in _CODECS[:2]:
        raise VolumeError(f"codec must be one of {', '.join(_CODECS[:2])}, not {codec!r}")
    if not len(indices):
        raise VolumeError("a NanoVDB volume needs at least one active voxel")
    title = name.encode()
    if len(title) > 255 or 0 in title:
        raise VolumeError(f"the name of a grid has at most 255 bytes, none of which is 0, unlike {name!r}")
    size, start = _numbers(voxel_size, (), "voxel_size").item(), _numbers(origin, (3,), "origin")
    if size <= 0:
        raise VolumeError(f"voxel_size must be positive, not {size}")
    shape = _layout(values.dtype, int(np.prod(values.shape[1:], dtype=int)))
    made = _Tree(shape, np.asarray(indices, np.int64), values.reshape(len(values), -1).astype(shape.dtype))
    low, high = made.at.min(axis=0), made.at.max(axis=0)
    world = np.concatenate([low * size + start, (high + 1) * size + start])
    body = made.content()
    head = bytearray(_GRID)
    flags = _HAS_BBOX | _LEVEL_BY_LEVEL | (_HAS_RANGE if shape.width == 1 else 0)
    total = _GRID + len(body)
    struct.pack_into("<QQIIIIQ", head, 0, _MAGIC, 2**64 - 1, _VERSION, flags, 0, 1, total)
    head[40 : 40 + len(title)] = title
    matrix, inverse = np.eye(3) * size, np.eye(3) / size
    for place, kind in ((296, "<f4"), (384, "<f8")):
        parts = np.concatenate([matrix.ravel(), inverse.ravel(), start, [1.0]]).astype(kind).tobytes()
        head[place : place + len(parts)] = parts
    struct.pack_into("<6d3dII", head, 560, *world, size, size, size, 0, shape.number)
    data = bytes(head) + body
    stored = data
    if codec == "zip":
        shrunk = zlib.compress(data)
        stored = struct.pack("<Q", len(shrunk)) + shrunk
    chosen, counts = _CODECS.index(codec), made.counts
    meta = struct.pack("<4Q2I", total, len(stored), _key(title), len(made.at), shape.number, 0)
    meta += struct.pack("<6d6i3d", *world, *low, *high, size, size, size)
    meta += struct.pack("<I4I3IHHI", len(title) + 1, *counts, 1, 0, 0, 0, chosen, 0, _VERSION)
    return struct.pack("<QIHH", _MAGIC, _VERSION, 1, chosen) + meta + title + b"\0" + stored


def _numbers(given: Any, shape: tuple[int, ...], name: str) -> Any:
    """Finite numbers as an array of that shape."""
    try:
        made = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        made = np.array(np.nan)
    if made.shape != shape or not np.isfinite(made).all():
        raise VolumeError(f"{name} must be {'three finite numbers' if shape else 'a finite number'}, not {given!r}")
    return made


def _key(title: bytes) -> int:
    """The number by which a grid is found by its name."""
    found = 0
    for byte in title:
        found = (found * 67 + byte + (found >> 56)) % 2**64
    return found


class _Tree:
    """The nodes of a tree with these voxels."""

    def __init__(self, shape: _Layout, at: Any, values: Any) -> None:
        self.shape = shape
        self.roots, root = np.unique(_root_keys(at), return_inverse=True)
        number = root.reshape(-1).astype(np.int64) << 36
        for shift, bits, place in ((7, 5, 21), (3, 4, 9), (0, 3, 0)):
            inside = at >> shift & (1 << bits) - 1
            number |= (inside[:, 0] << 2 * bits | inside[:, 1] << bits | inside[:, 2]) << place
        order = np.argsort(number, kind="stable")
        self.number, self.at, self.values = number[order], at[order], values[order]
        # the first voxel in each leaf, lower node and upper node
        self.starts = [np.flatnonzero(np.diff(self.number >> shift, prepend=-1)) for shift in (9, 21, 36)]

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many leaves, lower and upper nodes there are."""
        leaves, lowers, uppers = map(len, self.starts)
        return leaves, lowers, uppers

    def content(self) -> bytes:
        """The tree, its root and its nodes."""
        shape = self.shape
        first, root_size = shape.root
        tile_size = shape.tile
        leaves, lowers, uppers = self.counts
        sizes = shape.leaf[2], shape.node(4)[3], shape.node(5)[3]
        root_end = root_size + tile_size * len(self.roots)
        begin = [0, 0, _TREE + root_end]
        begin[1] = begin[2] + uppers * sizes[2]
        begin[0] = begin[1] + lowers * sizes[1]
        tree = struct.pack("<4q3I3IQ", *begin, _TREE, leaves, lowers, uppers, 0, 0, 0, len(self.at))
        root = bytearray(root_end)
        struct.pack_into("<6iI", root, 0, *self.at.min(axis=0), *self.at.max(axis=0), len(self.roots))
        if shape.width == 1:
            ends = np.array([self.values.min(), self.values.max()], shape.dtype).tobytes()
            root[first : first + len(ends)] = ends
        for k, key in enumerate(self.roots.tolist()):
            struct.pack_into("<QqI", root, root_size + k * tile_size, key, root_end + k * sizes[2], 0)
        upper = self.inner(5, 2, begin[2], begin[1], sizes[1])
        lower = self.inner(4, 1, begin[1], begin[0], sizes[0])
        return b"".join((tree, bytes(root), upper, lower, self.leaves()))

    def inner(self, bits: int, level: int, begin: int, below: int, below_size: int) -> bytes:
        """The nodes of a level, which begin there; those below have that size and begin at `below`."""
        first, table, entry, size = self.shape.node(bits)
        starts = self.starts[level]
        nodes = np.zeros((len(starts), size), np.uint8)
        children = self.starts[level - 1]
        owner = np.searchsorted(starts, children, "right") - 1
        place = self.number[children] >> (0, 9, 21)[level] & 8**bits - 1
        nodes[:, :24] = self.boxes(starts).astype("<i4").view(np.uint8)
        nodes[:, 24] = _HAS_BBOX
        mask = np.zeros((len(starts), 8**bits), bool)
        mask[owner, place] = True
        nodes[:, 32 + 8**bits // 8 : 32 + 2 * (8**bits // 8)] = np.packbits(mask, axis=1, bitorder="little")
        self.put_ranges(nodes, starts, first)
        offsets = below + np.arange(len(children)) * below_size - (begin + owner * size)
        entries = nodes[:, table : table + entry * 8**bits].reshape(len(starts), 8**bits, entry)
        entries[owner, place, :8] = offsets.astype("<i8")[:, None].view(np.uint8)
        nodes[:, table : table + entry * 8**bits] = entries.reshape(len(starts), -1)
        return nodes.tobytes()

    def leaves(self) -> bytes:
        """The leaves."""
        first, table, size = self.shape.leaf
        starts = self.starts[0]
        nodes = np.zeros((len(starts), size), np.uint8)
        owner = np.searchsorted(starts, np.arange(len(self.at)), "right") - 1
        place, boxes = self.number & 511, self.boxes(starts)
        nodes[:, :12] = boxes[:, :3].astype("<i4").view(np.uint8)
        nodes[:, 12:15] = (boxes[:, 3:] - boxes[:, :3]).astype(np.uint8)
        nodes[:, 15] = _HAS_BBOX
        mask = np.zeros((len(starts), 512), bool)
        mask[owner, place] = True
        nodes[:, 16:80] = np.packbits(mask, axis=1, bitorder="little")
        self.put_ranges(nodes, starts, first)
        values = np.zeros((len(starts), 512, self.shape.width), self.shape.dtype)
        values[owner, place] = self.values
        nodes[:, table : table + 512 * self.shape.bytes] = values.reshape(len(starts), -1).view(np.uint8)
        return nodes.tobytes()

    def boxes(self, starts: Any) -> Any:
        """The smallest and the largest index of the voxels in each node: (nodes, 6)."""
        low, high = np.minimum.reduceat(self.at, starts, axis=0), np.maximum.reduceat(self.at, starts, axis=0)
        return np.ascontiguousarray(np.concatenate([low, high], axis=1))

    def put_ranges(self, nodes: Any, starts: Any, first: int) -> None:
        """Store the smallest and the largest value of each node, if values are numbers."""
        if self.shape.width == 1:
            size, flat = self.shape.bytes, self.values[:, 0]
            for k, least in enumerate((np.minimum, np.maximum)):
                found = np.ascontiguousarray(least.reduceat(flat, starts)[:, None])
                nodes[:, first + k * size : first + (k + 1) * size] = found.view(np.uint8)


def _root_keys(at: Any) -> Any:
    """The number of the node of 4096^3 voxels in which each voxel is."""
    high = (at & 0xFFFFFFFF).astype(np.uint64) >> np.uint64(12)
    return high[:, 2] | high[:, 1] << np.uint64(21) | high[:, 0] << np.uint64(42)


# ---- reading ---------------------------------------------------------------------------------------------------------


def unpacked(data: bytes, name: str = "") -> tuple[Any, Any]:
    """The indices (n, 3) of the active voxels of a grid of a file, in order, and their values (n, or n x width)."""
    try:
        grid = _grid(data, name)
        number = int.from_bytes(grid[636:640], "little")
        if number not in _TYPES:
            raise VolumeError(f"the grid has values of type {number} of NanoVDB, which cannot be read")
        kind, width = _TYPES[number]
        indices, values = _Reader(np.frombuffer(grid, np.uint8), _layout(kind, width)).read()
    except (struct.error, IndexError, OverflowError, ValueError, zlib.error) as error:
        if isinstance(error, VolumeError):
            raise
        raise VolumeError(f"the file is damaged, or it is not a NanoVDB volume ({error})") from error
    order = np.lexsort(indices.T[::-1])
    return indices[order], values[order] if width > 1 else values[order, 0]


def _grid(data: bytes, name: str) -> bytes:
    """The bytes of the first grid, or of the one of that name."""
    magic, version, count, codec = struct.unpack_from("<QIHH", data)
    if magic not in _MAGICS:
        raise VolumeError("the file is not a NanoVDB volume")
    if version >> 21 != 32:
        raise VolumeError(f"the file is of NanoVDB {version >> 21}, but only version 32 can be read")
    place, found = 16, list[tuple[str, int]]()
    for _ in range(count):
        size, (length,) = struct.unpack_from("<Q", data, place + 8)[0], struct.unpack_from("<I", data, place + 136)
        found.append((data[place + _META : place + _META + length].split(b"\0")[0].decode(), size))
        place += _META + length
    names = [title for title, _ in found]
    if not names or (name and name not in names):
        raise VolumeError(f"the file has no grid {name!r}; it has {', '.join(map(repr, names)) or 'none'}")
    chosen = names.index(name) if name else 0
    for _, size in found[:chosen]:
        place += size
    block = data[place : place + found[chosen][1]]
    if codec == 1:
        block = zlib.decompress(block[8:])
    elif codec:
        raise VolumeError(f"the file is compressed with {_CODECS[codec]}: write it without, or with zip")
    if int.from_bytes(block[:8], "little") not in _MAGICS or len(block) != int.from_bytes(block[32:40], "little"):
        raise VolumeError("the file is damaged: its grid is not where it should be")
    return block


class _Reader:
    """Reads the active voxels of a grid."""

    def __init__(self, data: Any, shape: _Layout) -> None:
        self.data, self.shape = data, shape
        self.found: list[tuple[Any, Any]] = []

    def number(self, place: int, kind: str) -> int:
        return int(self.data[place : place + np.dtype(kind).itemsize].view(kind)[0])

    def rows(self, places: Any, start: int, size: int) -> Any:
        """The bytes from `start` on of each of the nodes at these places."""
        begins = np.asarray(places, np.int64)
        if (begins < 0).any():
            raise IndexError("a node is before the grid")
        return self.data[begins[:, None] + np.arange(start, start + size)]

    def read(self) -> tuple[Any, Any]:
        shape = self.shape
        root = _GRID + self.number(_GRID + 24, "<i8")
        _, root_size = shape.root
        tile_size = shape.tile
        uppers, origins = list[int](), list[list[int]]()
        for k in range(self.number(root + 24, "<u4")):
            tile = root + root_size + k * tile_size
            key, child = self.number(tile, "<u8"), self.number(tile + 8, "<i8")
            corner = [_signed(key >> shift & 0x1FFFFF) << 12 for shift in (42, 21, 0)]
            if child:
                uppers.append(root + child)
                origins.append(corner)
            elif self.number(tile + 16, "<u4"):
                raise VolumeError("the grid has an active block of 4096^3 voxels, which is too large to be read")
        lowers, corners = self.children(uppers, np.array(origins, np.int64).reshape(-1, 3), 5, 128)
        leaves, corners = self.children(lowers, corners, 4, 8)
        self.voxels(leaves, corners)
        if not self.found:
            return np.zeros((0, 3), np.int64), np.zeros((0, shape.width), shape.dtype)
        indices, values = zip(*self.found, strict=True)
        return np.concatenate(indices), np.concatenate(values)

    def children(self, places: Any, origins: Any, bits: int, span: int) -> tuple[Any, Any]:
        """The places and origins of the children of inner nodes. Notes the voxels of active tiles."""
        _, table, entry, _ = self.shape.node(bits)
        if not len(places):
            return np.zeros(0, np.int64), np.zeros((0, 3), np.int64)
        size, places = 8**bits // 8, np.asarray(places, np.int64)
        masks = [np.unpackbits(self.rows(places, 32 + k * size, size), axis=1, bitorder="little") for k in (0, 1)]
        owner, number = np.nonzero(masks[1])
        offsets = self.rows(places[owner] + table + number * entry, 0, 8).copy().view("<i8")[:, 0]
        tiles, at = np.nonzero(masks[0] & ~masks[1])
        if len(tiles):
            values = self.rows(places[tiles] + table + at * entry, 0, self.shape.bytes).copy().view(self.shape.dtype)
            box = np.stack(np.meshgrid(*[np.arange(span)] * 3, indexing="ij"), -1).reshape(-1, 3)
            corners = origins[tiles] + _inside(at, bits) * span
            whole = (corners[:, None] + box).reshape(-1, 3)
            self.found.append((whole, np.repeat(values, span**3, axis=0)))
        return places[owner] + offsets, origins[owner] + _inside(number, bits) * span

    def voxels(self, places: Any, origins: Any) -> None:
        """Note the active voxels of leaves."""
        _, table, _ = self.shape.leaf
        if len(places):
            mask = np.unpackbits(self.rows(places, 16, 64), axis=1, bitorder="little")
            owner, number = np.nonzero(mask)
            values = self.rows(places[owner] + table + number * self.shape.bytes, 0, self.shape.bytes)
            self.found.append((origins[owner] + _inside(number, 3), values.copy().view(self.shape.dtype)))


def _inside(number: Any, bits: int) -> Any:
    """The index of a child along each axis."""
    return np.stack([number >> 2 * bits, number >> bits & (1 << bits) - 1, number & (1 << bits) - 1], -1)


def _signed(number: int) -> int:
    """A number of 20 bits, with a sign."""
    number &= 0xFFFFF
    return number - (1 << 20) if number >> 19 else number
