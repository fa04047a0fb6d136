"""Files of VTK's XML formats, which ParaView, VisIt and PyVista read: grids (.vti), points and meshes (.vtp), and lists
of such files with their times (.pvd). They are written without a library.

A file begins as XML. The numbers follow in its last element, as bytes, each array after its length. Their places are in
the XML."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import numpy as np

from weft.lang.atomic_files import replacing, write_bytes
from weft.lang.exports.frames import Grid, Mesh, Points

__all__ = ["box_of", "components", "read_pvd", "write_pvd", "write_vti", "write_vtp"]

_KINDS = {"f": "Float", "i": "Int", "u": "UInt"}
_ORDER = "LittleEndian" if sys.byteorder == "little" else "BigEndian"


def components(array: Any, axes: int) -> Any:
    """The array with at most one more axis after the first `axes`. VTK has vectors and matrices of space only: a vector
    of 2 numbers gets a third, and a 2 x 2 matrix a row and a column, of zeros. A matrix is stored row by row."""
    element = array.shape[axes:]
    if element in ((2,), (2, 2)):
        array = np.pad(array, [(0, 0)] * axes + [(0, 1)] * len(element))
    return array.reshape(*array.shape[:axes], -1) if element else array


def box_of(grid: Grid) -> tuple[int, ...]:
    """The number of cells along x, y and z, as VTK counts them: none along an axis that the grid lacks."""
    less = 0 if grid.geometry.at == "cells" else 1
    return (*(n - less for n in grid.shape), 0, 0)[:3]


def write_vti(path: str | Path, grid: Grid) -> None:
    """Write a grid. A grid of one or two axes is a line or a plane at z = origin."""
    blocks = _Blocks()
    extent = " ".join(f"0 {cells}" for cells in box_of(grid))
    spots = {name: _x_fastest(array, len(grid.shape)) for name, array in grid.values.items()}
    data = "".join(blocks.add(name, array) for name, array in spots.items())
    origin, spacing = (" ".join(map(repr, three)) for three in (grid.geometry.origin, grid.geometry.spacing))
    place = "CellData" if grid.geometry.at == "cells" else "PointData"
    body = f"<Piece Extent={quoteattr(extent)}>\n<{place}>\n{data}</{place}>\n</Piece>\n"
    facts = f'WholeExtent="{extent}" Origin="{origin}" Spacing="{spacing}"'
    _write(path, "ImageData", facts, body, blocks)


def write_vtp(path: str | Path, points: Points) -> None:
    """Write points, each of which is a vertex, or a mesh."""
    blocks, count = _Blocks(), len(points.positions)
    channels = "".join(blocks.add(name, components(array, 1)) for name, array in points.channels.items())
    places = blocks.add("Points", points.positions)
    cells = points.faces if isinstance(points, Mesh) else np.arange(count, dtype=np.int32)[:, None]
    ends = np.arange(1, len(cells) + 1, dtype=np.int64) * cells.shape[1]
    table = blocks.add("connectivity", cells.ravel().astype(np.int64)) + blocks.add("offsets", ends)
    kind = "Polys" if isinstance(points, Mesh) else "Verts"
    numbers = f'NumberOfPoints="{count}" NumberOf{kind}="{len(cells)}"'
    body = (
        f"<Piece {numbers}>\n<PointData>\n{channels}</PointData>\n<Points>\n{places}</Points>\n"
        f"<{kind}>\n{table}</{kind}>\n</Piece>\n"
    )
    _write(path, "PolyData", "", body, blocks)


def write_pvd(path: str | Path, frames: Sequence[tuple[float, str]]) -> None:
    """Write the list of (time, file) of a series. Files are named relative to the list."""
    sets = "".join(f'<DataSet timestep="{time!r}" part="0" file={quoteattr(file)}/>\n' for time, file in frames)
    text = (
        '<?xml version="1.0"?>\n'
        f'<VTKFile type="Collection" version="1.0" byte_order="{_ORDER}">\n'
        f"<Collection>\n{sets}</Collection>\n</VTKFile>\n"
    )
    write_bytes(path, text.encode())


def read_pvd(path: str | Path) -> list[tuple[float, str]]:
    """The list of (time, file) of a series that `write_pvd` has written."""
    found = ElementTree.parse(path).getroot().iter("DataSet")
    return [(float(one.attrib["timestep"]), one.attrib["file"]) for one in found]


class _Blocks:
    """The arrays that follow the XML."""

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self._size = 0

    def add(self, name: str, array: Any) -> str:
        """Add an array of numbers, or of rows of components. Returns the element that describes it."""
        content = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
        several = f' NumberOfComponents="{content.shape[1]}"' if content.ndim > 1 else ""
        element = (
            f'<DataArray type="{_KINDS[content.dtype.kind]}{content.dtype.itemsize * 8}" Name={quoteattr(name)}'
            f'{several} format="appended" offset="{self._size}"/>\n'
        )
        self.parts += [np.uint64(content.nbytes).tobytes(), content]
        self._size += 8 + content.nbytes
        return element


def _x_fastest(array: Any, axes: int) -> Any:
    """The elements of a grid one after the other, x fastest, with their components."""
    whole = components(array, axes)
    order = (*reversed(range(axes)), *range(axes, whole.ndim))
    return whole.transpose(order).reshape(-1, *whole.shape[axes:])


def _write(path: str | Path, kind: str, facts: str, body: str, blocks: _Blocks) -> None:
    head = (
        '<?xml version="1.0"?>\n'
        f'<VTKFile type="{kind}" version="1.0" byte_order="{_ORDER}" header_type="UInt64">\n'
        f'<{kind} {facts}>\n{body}</{kind}>\n<AppendedData encoding="raw">\n_'
    )
    with replacing(path) as new, open(new, "wb") as file:
        file.write(head.encode())
        for part in blocks.parts:
            file.write(part)
        file.write(b"\n</AppendedData>\n</VTKFile>\n")
