"""Points and meshes as PLY files, which Blender, Houdini and MeshLab read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.atomic_files import replacing
from weft.lang.exports.frames import Mesh, Points
from weft.lang.ui.ply import PLYWriter

__all__ = ["write_ply"]

_TYPES = {"i1": "char", "u1": "uchar", "i2": "short", "u2": "ushort", "i4": "int", "u4": "uint", "f4": "float"}
_LETTERS = "xyzw"


def write_ply(path: str | Path, points: Points) -> None:
    """Write points or a mesh. The channel `color`, of 3 or 4 numbers, becomes red, green, blue (and alpha): floats in
    [0, 1], or u8. A vector `v` becomes `v_x`, `v_y` and so on, a matrix `v_0`, `v_1` and so on."""
    faces = points.faces if isinstance(points, Mesh) else np.zeros((0, 3), np.int32)
    writer = PLYWriter(len(points.positions), len(faces), "quad" if faces.shape[1] == 4 else "tri")
    writer.add_vertex_pos(*points.positions.T)
    if isinstance(points, Mesh):
        writer.add_faces(faces)
    for name, array in points.channels.items():
        if name == "color" and array.shape[1:] in ((3,), (4,)):
            add = writer.add_vertex_rgba if array.shape[1] == 4 else writer.add_vertex_color
            add(*array.T)
            continue
        flat = array.reshape(len(array), -1)
        for number, column in enumerate(flat.T):
            writer.add_vertex_channel(_column_name(name, array.shape[1:], number), *_typed(name, column))
    with replacing(path) as new:
        writer.export(new)


def _column_name(name: str, element: tuple[int, ...], number: int) -> str:
    if not element:
        return name
    return f"{name}_{_LETTERS[number]}" if len(element) == 1 and element[0] <= 4 else f"{name}_{number}"


def _typed(name: str, column: Any) -> tuple[str, Any]:
    """The type of PLY for these numbers. Integers of 64 bits are written as 32 bits if they fit."""
    kind = f"{column.dtype.kind}{column.dtype.itemsize}"
    if kind == "f8":
        return "double", column
    if kind in ("i8", "u8"):
        if column.size and not (column.min() >= -(2**31) and column.max() < 2**31):
            raise TypeMismatch(f"integers of a PLY file have 32 bits, but '{name}' has larger values")
        return "int", column
    return _TYPES[kind], column
