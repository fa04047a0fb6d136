"""Grids as data sets of xarray, with coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import is_several, number_of, shown
from weft.lang.exports.frames import Geometry, grid_of
from weft.lang.extras import package

__all__ = ["xarray"]


def xarray(
    values: Mapping[str, Any] | None = None,
    /,
    *,
    origin: Any = 0.0,
    spacing: Any = 1.0,
    at: str = "cells",
    dims: Any = ("x", "y", "z"),
    time: Any = None,
    **named: Any,
) -> Any:
    """Make an `xarray.Dataset` of fields of one shape, of one to three axes: `ti.views.xarray(height=height)`. A dict
    of fields does the same as keywords. The data is copied.

    Each axis has the name that `dims` gives it, and coordinates: the centres of cells, or with `at="points"` their
    corners, for this `origin` and `spacing` (see `ti.Recorder`). The components of the vectors of field `v` are the
    axis `v_component`; matrices have the axes `v_row` and `v_column`. `time` becomes a coordinate, so that
    `xarray.concat(sets, "time")` joins the frames of a simulation.

    Example:
        import xarray

        height = ti.field(ti.f32, (4, 3))
        height.fill(2)
        data = ti.views.xarray(height=height, spacing=0.5, time=0.1)
        data.height.dims, data.x.values.tolist()  # (('x', 'y'), [0.25, 0.75, 1.25, 1.75])
    """
    library = package("xarray")
    grid = grid_of({**(values or {}), **named}, Geometry.of(origin, spacing, at), exact=True)
    if not is_several(dims) or not all(isinstance(one, str) for one in dims) or len(set(dims)) < len(grid.shape):
        raise TypeMismatch(f"dims must have a name for each of {len(grid.shape)} axes, not {shown(dims)}")
    names = tuple(dims)[: len(grid.shape)]
    middle = 0.5 if at == "cells" else 0.0
    axes = zip(names, grid.shape, grid.geometry.origin, grid.geometry.spacing)
    places: dict[str, Any] = {name: low + step * (np.arange(n) + middle) for name, n, low, step in axes}
    if time is not None:
        places["time"] = number_of(time, "the time of a data set")
    data = {name: ((*names, *_inner(name, grid.element(name))), array) for name, array in grid.values.items()}
    return library.Dataset(data, places)


def _inner(name: str, element: tuple[int, ...]) -> tuple[str, ...]:
    """The names of the axes of an element."""
    if len(element) == 2:
        return f"{name}_row", f"{name}_column"
    return (f"{name}_component",) if len(element) == 1 else tuple(f"{name}_{k}" for k in range(len(element)))
