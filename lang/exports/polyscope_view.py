"""`ti.views.polyscope`: points, meshes and grids in Polyscope.

The first call starts Polyscope. `polyscope.show()` opens its window."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.lang.exports.frames import Geometry, Points, grid_of, mesh_of, points_of
from weft.lang.exports.shown_shapes import corner_counts, plane_of
from weft.lang.exports.vtk_files import components
from weft.lang.extras import package

__all__ = ["grid", "mesh", "points"]


def points(name: str, positions: Any, /, **channels: Any) -> Any:
    """Show points under this name, and return Polyscope's point cloud. Each further field has a value for each point:
    numbers and vectors become quantities of that name. `color` is a colour, and `radius` the size of points.

    Example:
        import polyscope

        polyscope.set_allow_headless_backends(True)
        positions = np.random.default_rng(0).random((10, 3))
        cloud = ti.views.polyscope.points("drops", positions, speed=np.arange(10.0))
        cloud.n_points()  # 10
    """
    frame = points_of(positions, channels)
    cloud = _started().register_point_cloud(name, frame.positions)
    _add_channels(cloud, frame, {})
    if "radius" in frame.channels and not frame.element("radius"):
        cloud.set_point_radius_quantity("radius", autoscale=False)
    return cloud


def mesh(name: str, vertices: Any, faces: Any, /, **channels: Any) -> Any:
    """Show a mesh under this name, and return Polyscope's surface mesh. Each further field has a value for each vertex.

    Example:
        import polyscope

        polyscope.set_allow_headless_backends(True)
        corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        shown = ti.views.polyscope.mesh("triangle", corners, np.array([[0, 1, 2]]))
        shown.n_faces()  # 1
    """
    frame = mesh_of(vertices, faces, channels)
    surface = _started().register_surface_mesh(name, frame.positions, frame.faces)
    _add_channels(surface, frame, {"defined_on": "vertices"})
    return surface


def grid(
    name: str, /, values: Any = None, *, origin: Any = 0.0, spacing: Any = 1.0, at: str = "cells", **named: Any
) -> Any:
    """Show fields on a grid, placed as by `ti.Recorder`: three axes as a volume grid, two as a plane, in the colours of
    the first field. A field without a name has the name of the grid. Returns Polyscope's structure. Raises ValueError
    for a grid with one axis.

    Example:
        import polyscope

        polyscope.set_allow_headless_backends(True)
        density = ti.field(ti.f32, (4, 4, 4))
        shown = ti.views.polyscope.grid("smoke", density, spacing=0.1)
        type(shown).__name__  # 'VolumeGrid'
    """
    given = named if values is None else {name: values, **named}
    frame = grid_of(given, Geometry.of(origin, spacing, at))
    axes = len(frame.shape)
    if axes == 1:
        raise ValueError(f"Polyscope shows grids with two or three axes, not with the shape {frame.shape}")
    if axes == 2:
        corners, faces = plane_of(frame)
        structure = _started().register_surface_mesh(name, corners, faces)
        place = "faces" if at == "cells" else "vertices"
        flat = {key: array.reshape(-1, *array.shape[2:]) for key, array in frame.values.items()}
        _add_channels(structure, Points(corners, flat), {"defined_on": place}, next(iter(flat)))
        return structure
    counts = corner_counts(frame)
    low = np.array(frame.geometry.origin)
    high = low + np.array(frame.geometry.spacing) * (np.array(counts) - 1)
    structure = _started().register_volume_grid(name, counts, low, high)
    for key, array in frame.values.items():
        parts = components(array, 3)
        several = [(f"{key}[{k}]", parts[..., k]) for k in range(parts.shape[3])] if parts.ndim == 4 else [(key, parts)]
        for title, numbers in several:
            where = {"defined_on": "cells" if at == "cells" else "nodes", "enabled": key in list(frame.values)[:1]}
            structure.add_scalar_quantity(title, numbers.astype(np.float64), **where)
    return structure


def _started() -> Any:
    library = package("polyscope")
    if not library.is_initialized():
        library.init()
    return library


def _add_channels(structure: Any, frame: Points, where: dict[str, str], shown: str = "color") -> None:
    """Add all channels as quantities. That of the name `shown` is what is seen."""
    for name, array in frame.channels.items():
        numbers = components(array, 1).astype(np.float64)
        if name == "color" and array.shape[1:] in ((3,), (4,)):
            scale = 255 if array.dtype == np.uint8 else 1
            structure.add_color_quantity(name, numbers[:, :3] / scale, enabled=True, **where)
        elif numbers.ndim == 1:
            structure.add_scalar_quantity(name, numbers, enabled=name == shown, **where)
        elif numbers.shape[1] == 3:
            structure.add_vector_quantity(name, numbers, **where)
        else:
            for k in range(numbers.shape[1]):
                structure.add_scalar_quantity(f"{name}[{k}]", numbers[:, k], **where)
