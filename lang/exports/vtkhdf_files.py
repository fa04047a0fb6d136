"""Series in one file of VTK's HDF5 format (.vtkhdf), which ParaView 5.12 and newer read. h5py writes it.

The arrays of all steps are appended to each other. The group `Steps` has the time of each step, and where its part of
each array begins. The file is closed after each step, so that it can be read while the program runs."""

from __future__ import annotations

import errno
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.atomic_files import WriteFailed, replacing, require_space
from weft.lang.exports.frames import Grid, Mesh, Points
from weft.lang.exports.vtk_files import box_of, components
from weft.lang.extras import package

__all__ = ["VtkHdf"]

_CELLS = ("Vertices", "Lines", "Polygons", "Strips")  # the kinds of cells of points and meshes, in VTK's order
_CHUNK = 1 << 16  # numbers: how much of an array HDF5 stores in one piece


class VtkHdf:
    """A series in the file `path`, which begins with its first `first` steps if it exists. Raises ValueError if it has
    fewer."""

    def __init__(self, path: Path, first: int) -> None:
        self._h5py, self._path, self._begun = package("h5py"), path, first > 0
        if first:
            with self._opened("r+") as root:
                _cut(root, first)

    def write(self, time: float, frame: Grid | Points) -> list[Path]:
        """Append a step. Raises TypeMismatch if it has other arrays than the steps before."""
        if not self._begun:
            with replacing(self._path) as new, self._h5py.File(new, "w") as file:
                _begin(file.create_group("VTKHDF"), frame)
        self._begun = True
        arrays = frame.values if isinstance(frame, Grid) else {"": frame.positions, **frame.channels}
        require_space(self._path, sum(array.nbytes for array in arrays.values()) * 2)
        with self._opened("r+") as root:
            _check(root, frame)
            if isinstance(frame, Grid):
                _append_grid(root, frame)
            else:
                _append_points(root, frame)
            _append(root["Steps/Values"], [time])
            root["Steps"].attrs["NSteps"] += 1  # last: a reader sees whole steps only
        return [self._path]

    def close(self) -> None:
        """Do nothing: the file has all steps."""

    @contextmanager
    def _opened(self, mode: str) -> Generator[Any, None, None]:
        try:
            with self._h5py.File(self._path, mode) as file:
                yield file["VTKHDF"]
        except (OSError, RuntimeError) as error:
            number = getattr(error, "errno", None) or errno.EIO
            raise WriteFailed(number, f"could not add a step to {str(self._path)!r}: {error}") from error


def _begin(root: Any, frame: Grid | Points) -> None:
    """Write what does not change from step to step, and empty arrays for the rest."""
    root.attrs["Version"] = (2, 0)
    steps = root.create_group("Steps")
    steps.attrs["NSteps"] = 0
    _extendable(steps, "Values", np.float64)
    if isinstance(frame, Grid):
        _set_type(root, "ImageData")
        root.attrs["WholeExtent"] = [bound for cells in box_of(frame) for bound in (0, cells)]
        root.attrs["Origin"], root.attrs["Spacing"] = frame.geometry.origin, frame.geometry.spacing
        root.attrs["Direction"] = np.eye(3).ravel()
        place = "CellData" if frame.geometry.at == "cells" else "PointData"
        _begin_data(root, place, {name: _slices(frame, name) for name in frame.values})
        return
    _set_type(root, "PolyData")
    root.attrs["Mesh"] = isinstance(frame, Mesh)
    for name in ("NumberOfParts", "PartOffsets", "PointOffsets"):
        _extendable(steps, name, np.int64)
    for name in ("CellOffsets", "ConnectivityIdOffsets"):
        _extendable(steps, name, np.int64, (len(_CELLS),))
    _extendable(root, "NumberOfPoints", np.int64)
    _extendable(root, "Points", frame.positions.dtype, (3,))
    for kind in _CELLS:
        for name in ("NumberOfCells", "NumberOfConnectivityIds", "Connectivity", "Offsets"):
            _extendable(root.require_group(kind), name, np.int64)
    _begin_data(root, "PointData", {name: components(array, 1) for name, array in frame.channels.items()})


def _set_type(root: Any, kind: str) -> None:
    root.attrs.create("Type", kind.encode("ascii"), dtype=f"S{len(kind)}")  # VTK wants a string of fixed length


def _begin_data(root: Any, place: str, arrays: dict[str, Any]) -> None:
    group, offsets = root.create_group(place), root["Steps"].create_group(f"{place}Offsets")
    for name, array in arrays.items():
        _extendable(group, name, array.dtype, array.shape[1:])
        _extendable(offsets, name, np.int64)


def _extendable(group: Any, name: str, dtype: Any, rest: tuple[int, ...] = ()) -> None:
    """An empty array to append to. `rest` is the shape of a row."""
    rows = max(1, _CHUNK // max(1, int(np.prod(rest))))
    group.create_dataset(name, (0, *rest), dtype, maxshape=(None, *rest), chunks=(rows, *rest))


def _append(dataset: Any, rows: Any) -> None:
    array = np.asarray(rows)
    dataset.resize(len(dataset) + len(array), axis=0)
    if len(array):
        dataset[-len(array) :] = array


def _slices(grid: Grid, name: str) -> Any:
    """The elements as one row of shape (z, y, x) or (z, y, x, components), without the axes that the grid lacks."""
    axes = len(grid.shape)
    whole = components(grid.values[name], axes)
    whole = whole.transpose(*reversed(range(axes)), *range(axes, whole.ndim))
    return whole[None]


def _append_grid(root: Any, grid: Grid) -> None:
    place = "CellData" if grid.geometry.at == "cells" else "PointData"
    for name in grid.values:
        _append(root[f"Steps/{place}Offsets/{name}"], [len(root[f"{place}/{name}"])])
        _append(root[f"{place}/{name}"], _slices(grid, name))


def _append_points(root: Any, points: Points) -> None:
    steps, count = root["Steps"], len(points.positions)
    cells = points.faces if isinstance(points, Mesh) else np.arange(count)[:, None]
    own = "Polygons" if isinstance(points, Mesh) else "Vertices"
    _append(steps["PartOffsets"], [len(root["NumberOfPoints"])])
    _append(steps["NumberOfParts"], [1])
    _append(steps["PointOffsets"], [len(root["Points"])])
    starts = [int(root[kind]["NumberOfCells"][...].sum()) for kind in _CELLS]
    _append(steps["CellOffsets"], [starts])
    _append(steps["ConnectivityIdOffsets"], [[len(root[kind]["Connectivity"]) for kind in _CELLS]])
    for name, array in points.channels.items():
        _append(steps[f"PointDataOffsets/{name}"], [len(root[f"PointData/{name}"])])
        _append(root[f"PointData/{name}"], components(array, 1))
    _append(root["NumberOfPoints"], [count])
    _append(root["Points"], points.positions)
    for kind in _CELLS:
        rows = cells if kind == own else cells[:0]
        _append(root[kind]["NumberOfCells"], [len(rows)])
        _append(root[kind]["NumberOfConnectivityIds"], [rows.size])
        _append(root[kind]["Connectivity"], rows.ravel())
        _append(root[kind]["Offsets"], np.arange(len(rows) + 1) * cells.shape[1])


def _check(root: Any, frame: Grid | Points) -> None:
    """Raise TypeMismatch unless the step has the arrays of the file."""
    if isinstance(frame, Grid):
        place = "CellData" if frame.geometry.at == "cells" else "PointData"
        mine = {name: _slices(frame, name) for name in frame.values}
    else:
        place, mine = "PointData", {name: components(array, 1) for name, array in frame.channels.items()}
    kind = "ImageData" if isinstance(frame, Grid) else "PolyData"
    theirs = {name: (array.dtype, array.shape[1:]) for name, array in root.get(place, {}).items()}
    same = {name: (array.dtype, array.shape[1:]) for name, array in mine.items()} == theirs
    if not same or root.attrs["Type"] != kind.encode() or root.attrs.get("Mesh", False) != isinstance(frame, Mesh):
        there = ", ".join(f"'{name}' ({dtype} {shape})" for name, (dtype, shape) in theirs.items())
        raise TypeMismatch(
            f"all steps of a .vtkhdf file must have the same arrays, types and shapes; the first has {there}"
        )


def _cut(root: Any, first: int) -> None:
    """Remove all steps from number `first` on."""
    steps = root["Steps"]
    if steps.attrs["NSteps"] < first:
        raise ValueError(f"the file has {steps.attrs['NSteps']} steps, so the series cannot continue at number {first}")
    if len(steps["Values"]) == first:
        return
    steps.attrs["NSteps"] = first
    ends: dict[str, int] = {}
    for place in ("CellData", "PointData"):
        for name in root.get(place, {}):
            ends[f"{place}/{name}"] = int(steps[f"{place}Offsets/{name}"][first])
            steps[f"{place}Offsets/{name}"].resize(first, axis=0)
    if root.attrs["Type"] == b"PolyData":
        _find_ends_of_cells(root, first, ends)
    steps["Values"].resize(first, axis=0)
    for name, end in ends.items():
        root[name].resize(end, axis=0)


def _find_ends_of_cells(root: Any, first: int, ends: dict[str, int]) -> None:
    steps = root["Steps"]
    ends["Points"] = int(steps["PointOffsets"][first])
    ends["NumberOfPoints"] = first
    for number, kind in enumerate(_CELLS):
        ends[f"{kind}/NumberOfCells"] = ends[f"{kind}/NumberOfConnectivityIds"] = first
        ends[f"{kind}/Connectivity"] = int(steps["ConnectivityIdOffsets"][first, number])
        ends[f"{kind}/Offsets"] = int(steps["CellOffsets"][first, number]) + first
    for name in ("NumberOfParts", "PartOffsets", "PointOffsets", "CellOffsets", "ConnectivityIdOffsets"):
        ends[f"Steps/{name}"] = first
