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

from weft.lang.sparse_fields.nanovdb_format import (
    CODECS,
    GRID,
    HAS_BBOX,
    HAS_RANGE,
    LEVEL_BY_LEVEL,
    MAGIC,
    MAGICS,
    META,
    TREE,
    TYPES,
    VERSION,
    Layout,
    VolumeError,
    head_checksum,
    layout_of,
    verify,
)
from weft.runtime.errors import OutOfMemory

__all__ = ["VolumeError", "packed", "unpacked"]

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
    if codec not in CODECS[:2]:
        raise VolumeError(f"codec must be one of {', '.join(CODECS[:2])}, not {codec!r}")
    if not len(indices):
        raise VolumeError("a NanoVDB volume needs at least one active voxel")
    title = name.encode()
    if len(title) > 255 or 0 in title:
        raise VolumeError(f"the name of a grid has at most 255 bytes, none of which is 0, unlike {name!r}")
    size, start = _numbers(voxel_size, (), "voxel_size").item(), _numbers(origin, (3,), "origin")
    if size <= 0:
        raise VolumeError(f"voxel_size must be positive, not {size}")
    shape = layout_of(values.dtype, int(np.prod(values.shape[1:], dtype=int)))
    made = _Tree(shape, np.asarray(indices, np.int64), values.reshape(len(values), -1).astype(shape.dtype))
    low, high = made.at.min(axis=0), made.at.max(axis=0)
    world = np.concatenate([low * size + start, (high + 1) * size + start])
    body = made.content()
    head = bytearray(GRID)
    flags = HAS_BBOX | LEVEL_BY_LEVEL | (HAS_RANGE if shape.width == 1 else 0)
    total = GRID + len(body)
    struct.pack_into("<QQIIIIQ", head, 0, MAGIC, 2**64 - 1, VERSION, flags, 0, 1, total)
    head[40 : 40 + len(title)] = title
    matrix, inverse = np.eye(3) * size, np.eye(3) / size
    for place, kind in ((296, "<f4"), (384, "<f8")):
        parts = np.concatenate([matrix.ravel(), inverse.ravel(), start, [1.0]]).astype(kind).tobytes()
        head[place : place + len(parts)] = parts
    struct.pack_into("<6d3dII", head, 560, *world, size, size, size, 0, shape.number)
    struct.pack_into("<I", head, 8, head_checksum(bytes(head) + body, shape))
    data = bytes(head) + body
    stored = data
    if codec == "zip":
        shrunk = zlib.compress(data)
        stored = struct.pack("<Q", len(shrunk)) + shrunk
    chosen, counts = CODECS.index(codec), made.counts
    meta = struct.pack("<4Q2I", total, len(stored), _key(title), len(made.at), shape.number, 0)
    meta += struct.pack("<6d6i3d", *world, *low, *high, size, size, size)
    meta += struct.pack("<I4I3IHHI", len(title) + 1, *counts, 1, 0, 0, 0, chosen, 0, VERSION)
    return struct.pack("<QIHH", MAGIC, VERSION, 1, chosen) + meta + title + b"\0" + stored


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

    def __init__(self, shape: Layout, at: Any, values: Any) -> None:
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
        begin = [0, 0, TREE + root_end]
        begin[1] = begin[2] + uppers * sizes[2]
        begin[0] = begin[1] + lowers * sizes[1]
        tree = struct.pack("<4q3I3IQ", *begin, TREE, leaves, lowers, uppers, 0, 0, 0, len(self.at))
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
        nodes[:, 24] = HAS_BBOX
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
        nodes[:, 15] = HAS_BBOX
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


def unpacked(data: bytes, name: str = "", index: int = 0, most: int = 1 << 32) -> tuple[Any, Any]:
    """The indices (n, 3) of the active voxels of a grid of a file, in order, and their values (n, or n x width).
    `index`: the number of the grid among those of that name, or among all (""). `most`: the voxels for which there is
    room. A file of a few bytes can have active blocks of any number of voxels: OutOfMemory then."""
    try:
        grid = _chosen(_grids(data), name, index).content(data)
        number = int.from_bytes(grid[636:640], "little")
        if number not in TYPES:
            raise VolumeError(f"the grid has values of type {number} of NanoVDB, which cannot be read")
        shape = layout_of(*TYPES[number])
        verify(grid, shape)
        indices, values = _Reader(np.frombuffer(grid, np.uint8), shape, most).read()
    except (struct.error, IndexError, OverflowError, ValueError, zlib.error) as error:
        if isinstance(error, VolumeError):
            raise
        raise VolumeError(f"the file is damaged, or it is not a NanoVDB volume ({error})") from error
    order = np.lexsort(indices.T[::-1])
    return indices[order], values[order] if shape.width > 1 else values[order, 0]


@dataclass(frozen=True)
class _Grid:
    """A grid of a file: its name, and where its bytes are. If `codec` has compressed them, they become `whole`
    bytes."""

    title: str
    place: int
    size: int
    codec: int = 0
    whole: int = 0

    def content(self, data: bytes) -> bytes:
        """Its bytes."""
        block = data[self.place : self.place + self.size]
        if self.codec == 1:
            block = _expanded(block[8:], self.whole)
        elif self.codec:
            known = CODECS[self.codec] if self.codec < len(CODECS) else f"codec {self.codec}"
            raise VolumeError(f"the file is compressed with {known}: write it without, or with zip")
        if int.from_bytes(block[:8], "little") not in MAGICS or len(block) != int.from_bytes(block[32:40], "little"):
            raise VolumeError("the file is damaged: its grid is not where it should be")
        return block


def _expanded(packed: bytes, whole: int) -> bytes:
    """The bytes of a grid that zip has compressed. A few bytes can become a thousand times as many: they become no more
    than the header of the file and that of the grid say."""
    stream = zlib.decompressobj()
    head = stream.decompress(packed, GRID)
    if whole < GRID or len(head) < GRID or int.from_bytes(head[32:40], "little") != whole:
        raise VolumeError(f"the file is damaged: a grid has another size than the {whole} bytes that its header says")
    try:
        body = stream.decompress(stream.unconsumed_tail, whole - GRID + 1)
    except MemoryError:
        raise OutOfMemory(f"no memory for a grid of {whole} bytes") from None
    if len(body) != whole - GRID or not stream.eof:
        raise VolumeError(f"the file is damaged: a grid does not end after the {whole} bytes that its header says")
    return head + body


def _grids(data: bytes) -> list[_Grid]:
    """The grids of all segments of a file. A file may also be grids that follow one another, without a header."""
    place, found = 0, list[_Grid]()
    while place < len(data) or not found:
        magic = struct.unpack_from("<Q", data, place)[0]
        if magic not in MAGICS:
            raise VolumeError(
                "the file is not a NanoVDB volume" if not place else "the file is damaged: a part is not one"
            )
        made = _bare(data, place) if MAGICS[magic] == "NanoVDB1" else _segment(data, place)
        if not made:
            break
        found += made
        place = made[-1].place + made[-1].size
    return found


def _bare(data: bytes, place: int) -> list[_Grid]:
    """A grid without a header."""
    version, size = struct.unpack_from("<I", data, place + 16)[0], struct.unpack_from("<Q", data, place + 32)[0]
    _check_version(version)
    if size < GRID:
        raise VolumeError(f"the file is damaged: a grid has {size} bytes")
    return [_Grid(_title(data, place + 40, 256), place, size)]


def _segment(data: bytes, place: int) -> list[_Grid]:
    """The grids of the segment there: its header, a description of each grid, and the grids."""
    _, version, count, codec = struct.unpack_from("<QIHH", data, place)
    _check_version(version)
    place, told = place + 16, list[tuple[str, int, int]]()
    for _ in range(count):
        whole, size = struct.unpack_from("<2Q", data, place)
        (length,) = struct.unpack_from("<I", data, place + 136)
        told.append((_title(data, place + META, length), size, whole))
        place += META + length
    found = list[_Grid]()
    for title, size, whole in told:
        found.append(_Grid(title, place, size, codec, whole))
        place += size
    return found


def _check_version(version: int) -> None:
    if version >> 21 != 32:
        raise VolumeError(f"the file is of NanoVDB {version >> 21}, but only version 32 can be read")


def _title(data: bytes, place: int, length: int) -> str:
    return data[place : place + length].split(b"\0")[0].decode()


def _chosen(grids: Sequence[_Grid], name: str, index: int) -> _Grid:
    """The grid of that number among those of that name, or among all."""
    alike = [grid for grid in grids if not name or grid.title == name]
    if 0 <= index < len(alike):
        return alike[index]
    what = (
        f"grid {name!r}" if name and not alike else f"grid number {index}" + (f" of the name {name!r}" if name else "")
    )
    there = ", ".join(repr(grid.title) for grid in grids)
    raise VolumeError(f"the file has no {what}; it has {there or 'none'}")


class _Reader:
    """Reads the active voxels of a grid."""

    def __init__(self, data: Any, shape: Layout, most: int) -> None:
        self.data, self.shape, self.most = data, shape, most
        self.found: list[tuple[Any, Any]] = []
        # what the grid says that it has: tiles of 8^3 and 128^3 voxels, and voxels in all
        self.tiles = {span: self.number(GRID + 44 + 4 * k, "<u4") for k, span in enumerate((8, 128))}
        self.left = self.told = self.number(GRID + 56, "<u8")

    def number(self, place: int, kind: str) -> int:
        return int(self.data[place : place + np.dtype(kind).itemsize].view(kind)[0])

    def rows(self, places: Any, start: int, size: int) -> Any:
        """The bytes from `start` on of each of the nodes at these places."""
        begins = np.asarray(places, np.int64)
        if (begins < 0).any():
            raise IndexError("a node is before the grid")
        return self.data[begins[:, None] + np.arange(start, start + size)]

    def read(self) -> tuple[Any, Any]:
        if self.told > self.most:
            raise OutOfMemory(f"no memory for a grid of {self.told} active voxels: there is room for {self.most}")
        shape = self.shape
        root = GRID + self.number(GRID + 24, "<i8")
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
        self.check_room(len(uppers), self.shape.node(5)[3])
        lowers, corners = self.children(uppers, np.array(origins, np.int64).reshape(-1, 3), 5, 128)
        leaves, corners = self.children(lowers, corners, 4, 8)
        self.voxels(leaves, corners)
        if not self.found:
            return np.zeros((0, 3), np.int64), np.zeros((0, shape.width), shape.dtype)
        indices, values = zip(*self.found, strict=True)
        return np.concatenate(indices), np.concatenate(values)

    def check_room(self, count: int, size: int) -> None:
        """Raise VolumeError if so many nodes of that size do not fit in the grid: some must be the same one."""
        if count * size > len(self.data):
            raise VolumeError(f"the file is damaged: {count} nodes do not fit in a grid of {len(self.data)} bytes")

    def take(self, count: int, each: int) -> None:
        """Raise VolumeError if the grid has more voxels than it says with `count` times `each` more. What is read later
        has at least as many bytes in the file."""
        self.left -= count * each
        if self.left < 0:
            raise VolumeError(
                f"the file is damaged: it says that the grid has {self.told} active voxels, but it has more"
            )

    def check_tiles(self, count: int, span: int) -> None:
        """Raise an error if so many tiles are more than the grid says, or if there is no room for their voxels."""
        if count > self.tiles[span]:
            raise VolumeError(
                f"the file is damaged: it says that the grid has {self.tiles[span]} active blocks of {span}^3 voxels, "
                f"but it has {count}"
            )
        if count * span**3 > self.most:
            raise OutOfMemory(
                f"no memory for {count} active blocks of {span}^3 voxels: there is room for {self.most} voxels"
            )
        self.take(count, min(span, 16) ** 3)  # (NanoVDB's own builder counts a block of 128^3 voxels as 16^3)

    def children(self, places: Any, origins: Any, bits: int, span: int) -> tuple[Any, Any]:
        """The places and origins of the children of inner nodes. Notes the voxels of active tiles."""
        _, table, entry, _ = self.shape.node(bits)
        if not len(places):
            return np.zeros(0, np.int64), np.zeros((0, 3), np.int64)
        size, places = 8**bits // 8, np.asarray(places, np.int64)
        masks = [np.unpackbits(self.rows(places, 32 + k * size, size), axis=1, bitorder="little") for k in (0, 1)]
        owner, number = np.nonzero(masks[1])
        self.check_room(len(owner), self.shape.node(4)[3] if bits == 5 else self.shape.leaf[2])
        offsets = self.rows(places[owner] + table + number * entry, 0, 8).copy().view("<i8")[:, 0]
        tiles, at = np.nonzero(masks[0] & ~masks[1])
        if len(tiles):
            self.check_tiles(len(tiles), span)
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
            self.take(len(owner), 1)
            values = self.rows(places[owner] + table + number * self.shape.bytes, 0, self.shape.bytes)
            self.found.append((origins[owner] + _inside(number, 3), values.copy().view(self.shape.dtype)))


def _inside(number: Any, bits: int) -> Any:
    """The index of a child along each axis."""
    return np.stack([number >> 2 * bits, number >> bits & (1 << bits) - 1, number & (1 << bits) - 1], -1)


def _signed(number: int) -> int:
    """A number of 20 bits, with a sign."""
    number &= 0xFFFFF
    return number - (1 << 20) if number >> 19 else number
