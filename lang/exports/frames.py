"""One frame of a simulation, as arrays of numpy: a grid, points, a mesh, or a picture.

Fields, ndarrays, structs of them and arrays of numpy become frames here. Writers of files and views see only frames."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import is_one, number_of, numbers_of, shown
from weft.lang.data.field import Field
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.struct_field import StructField
from weft.lang.data.struct_ndarray import StructMembers
from weft.lang.ui.image_order import rows_of
from weft.lang.ui.images import as_bytes

__all__ = ["Frame", "Geometry", "Grid", "Mesh", "Picture", "Points", "grid_of", "mesh_of", "picture_of", "points_of"]

_PLACES = ("cells", "points")


@dataclass(frozen=True)
class Geometry:
    """Where the elements of grids lie."""

    origin: tuple[float, float, float]  # the lower corner of the box of cells, or the first point
    spacing: tuple[float, float, float]  # the distances along x, y and z
    at: str  # "cells": elements are cells; "points": elements are the corners of cells

    @staticmethod
    def of(origin: Any, spacing: Any, at: Any) -> Geometry:
        """Check what the user gives: a number for all axes, or one for each axis."""
        if not is_one(at, _PLACES):
            raise ValueError(f"the elements of a grid must be at 'cells' or 'points', not at {shown(at)}")
        steps = _three(spacing, "the spacing of a grid", 1.0)
        if min(steps) <= 0:
            raise ValueError(f"the spacing of a grid must be positive, not {shown(spacing)}")
        return Geometry(_three(origin, "the origin of a grid", 0.0), steps, at)


@dataclass(frozen=True)
class Grid:
    """Numbers on a regular grid."""

    shape: tuple[int, ...]  # the elements along x, y and z: one to three axes
    values: dict[str, Any]  # arrays of shape (*shape, *element)
    geometry: Geometry  # with an origin that takes account of the offset of fields

    def element(self, name: str) -> tuple[int, ...]:
        """The shape of an element of this array: () for numbers."""
        found: tuple[int, ...] = self.values[name].shape[len(self.shape) :]
        return found


@dataclass(frozen=True)
class Points:
    """Points in space."""

    positions: Any  # f32 or f64 of shape (points, 3)
    channels: dict[str, Any]  # arrays of shape (points, *element)

    def element(self, name: str) -> tuple[int, ...]:
        """The shape of an element of this array: () for numbers."""
        found: tuple[int, ...] = self.channels[name].shape[1:]
        return found


@dataclass(frozen=True)
class Mesh(Points):
    """Vertices, and faces between them."""

    faces: Any  # i32 of shape (faces, corners): the vertices of each face


@dataclass(frozen=True)
class Picture:
    """An image, maybe with the depth of each pixel. Rows are from the top."""

    pixels: Any  # u8 of shape (height, width) or (height, width, channels)
    depth: Any = None  # f32 of shape (height, width)


Frame = Grid | Points | Mesh | Picture


def grid_of(named: Mapping[str, Any], geometry: Geometry, exact: bool = False) -> Grid:
    """The grid of these fields and arrays. Fields of structs become an array for each member.

    Fields and ndarrays have a shape, which that of a plain array must begin with. Without any field, all axes of the
    arrays are axes of the grid. `exact` keeps f16 and u1, which files do not have. Raises ValueError if the shapes or
    the offsets differ."""
    items = [item for name, value in named.items() for item in _items(name, value, exact)]
    if not items:
        raise TypeMismatch("a grid must have at least one field or array, passed by name, as in grid(height=height)")
    known = [(item.shape, item.offset) for item in items if item.shape is not None]
    shape, offset = known[0] if known else (tuple(items[0].array.shape), (0,) * items[0].array.ndim)
    for item in items:
        theirs = item.array.shape[: len(shape)] if item.shape is None else item.shape
        if theirs != shape or (item.shape is not None and item.offset != offset):
            raise ValueError(
                f"all fields of a grid must have the same shape and offset, but '{item.name}' has shape "
                f"{theirs} and offset {item.offset}, '{items[0].name}' has shape {shape} and offset {offset}"
            )
    if not 1 <= len(shape) <= 3 or not all(shape):
        raise ValueError(f"a grid must have one to three axes and at least one element, but its shape is {shape}")
    start = (*offset, 0, 0)[:3]
    x, y, z = (low + step * index for low, step, index in zip(geometry.origin, geometry.spacing, start))
    placed = Geometry((x, y, z), geometry.spacing, geometry.at)
    return Grid(shape, {item.name: item.array for item in items}, placed)


def points_of(positions: Any, named: Mapping[str, Any]) -> Points:
    """The points at these positions. All axes of a field of positions count as one. Raises ValueError if a channel does
    not have a value for each point."""
    places = _positions(positions)
    return Points(places, _channels(named, len(places)))


def mesh_of(vertices: Any, faces: Any, named: Mapping[str, Any]) -> Mesh:
    """The mesh of these vertices and faces. `faces` has shape (faces, 3) or (faces, 4), is a field of such vectors, or
    lists the corners of triangles one after the other. Raises ValueError for a vertex that does not exist."""
    places, corners = _positions(vertices), numbers_of(faces, "the faces of a mesh")
    if corners.ndim == 1 and corners.size % 3 == 0:
        corners = corners.reshape(-1, 3)
    if corners.dtype.kind not in "iu" or corners.ndim != 2 or corners.shape[1] not in (3, 4):
        raise ValueError(
            f"the faces of a mesh must be integers of shape (faces, 3) or (faces, 4), not {corners.dtype} of "
            f"shape {corners.shape}"
        )
    wrong = corners[(corners < 0) | (corners >= len(places))]
    if wrong.size:
        raise ValueError(f"the mesh has {len(places)} vertices, but a face has the vertex {wrong[0]}")
    return Mesh(places, _channels(named, len(places)), np.ascontiguousarray(corners, np.int32))


def picture_of(image: Any, depth: Any, order: str) -> Picture:
    """The picture with these pixels, as `imwrite` takes them, and these depths. Raises ValueError if their sizes
    differ."""
    pixels = as_bytes(image, "a recorder")
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and not 1 <= pixels.shape[2] <= 4) or not pixels.size:
        raise ValueError(f"an image must have the shape (width, height) or (width, height, 1 to 4), not {pixels.shape}")
    if depth is None:
        return Picture(rows_of(pixels, order))
    depths = numbers_of(depth, "the depths of a picture")
    if depths.shape != pixels.shape[:2]:
        raise ValueError(f"the image has {pixels.shape[:2]} pixels, but there are {depths.shape} depths")
    return Picture(rows_of(pixels, order), rows_of(depths, order).astype(np.float32))


# ---- arrays of fields


@dataclass(frozen=True)
class _Item:
    """An array and its name. `shape` and `offset` are those of a field; a plain array has none."""

    name: str
    array: Any
    shape: tuple[int, ...] | None = None
    offset: tuple[int, ...] = ()


def _items(name: str, value: Any, exact: bool = False) -> Iterator[_Item]:
    if isinstance(value, StructField | StructMembers):
        for member, inner in value.members.items():
            yield from _items(f"{name}.{member}", inner, exact)
        return
    array = numbers_of(value, f"'{name}'")
    if not exact:
        array = _storable(array)
    if isinstance(value, Field | Ndarray):
        offset = value.offset if isinstance(value, Field) else (0,) * value.ndim
        yield _Item(name, array, tuple(value.shape), tuple(offset))
    else:
        yield _Item(name, array)


def _storable(array: Any) -> Any:
    """The array in types that all formats have: f16 becomes f32 and u1 becomes u8, which changes no value."""
    if array.dtype == np.float16:
        return array.astype(np.float32)
    return array.astype(np.uint8) if array.dtype == np.bool_ else array


def _positions(value: Any) -> Any:
    array = numbers_of(value, "positions")
    axes = len(value.shape) if isinstance(value, Field | Ndarray) else array.ndim - 1
    if axes != array.ndim - 1 or array.shape[-1] not in (2, 3) or not array.size:
        raise ValueError(
            f"positions must be at least one vector of 2 or 3 numbers, not {array.shape[max(axes, 0) :]} for "
            f"each of {array.shape[: max(axes, 0)]}"
        )
    flat = array.reshape(-1, array.shape[-1])
    places = np.zeros((len(flat), 3), np.float64 if array.dtype == np.float64 else np.float32)
    places[:, : flat.shape[1]] = flat
    return places


def _channels(named: Mapping[str, Any], count: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in named.items():
        for item in _items(name, value):
            axes, shape = _point_axes(item, count), item.array.shape
            if axes is None:
                raise ValueError(f"there are {count} points, but '{item.name}' has shape {item.shape or shape}")
            made[item.name] = item.array.reshape(count, *shape[axes:])
    return made


def _point_axes(item: _Item, count: int) -> int | None:
    """How many axes of the array, from the first on, count the points. None if they count something else."""
    shape = item.array.shape
    candidates = range(1, len(shape) + 1) if item.shape is None else (len(item.shape),)
    return next((axes for axes in candidates if math.prod(shape[:axes]) == count), None)


def _three(value: Any, what: str, rest: float) -> tuple[float, float, float]:
    if np.ndim(value) == 0:
        number = number_of(value, what)
        return number, number, number
    numbers = [number_of(one, what) for one in np.asarray(value).tolist()]
    if not 1 <= len(numbers) <= 3:
        raise ValueError(f"{what} must be a number, or a number for each of up to three axes, not {shown(value)}")
    x, y, z = (*numbers, rest, rest)[:3]
    return x, y, z
