"""`ti.views.rerun`: points, meshes, grids and pictures in Rerun.

The functions log to the recording that the program has started with `rerun.init`. If there is none, the first call
starts one, and opens the viewer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.lang.arguments import number_of
from weft.lang.exports.frames import Geometry, Points, grid_of, mesh_of, picture_of, points_of
from weft.lang.exports.shown_shapes import color_bytes, triangles
from weft.lang.extras import package
from weft.lang.ui.image_order import order_of

__all__ = ["grid", "image", "mesh", "points"]


def points(name: str, positions: Any, /, *, time: Any = None, **channels: Any) -> None:
    """Log points under this name, at this time. Each further field has a value for each point. `color` is a colour or a
    number that becomes one, and `radius` the size of a point; others are logged as values.

    Example:
        import rerun

        rerun.init("drops")
        rerun.save("drops.rrd")
        positions = np.random.default_rng(0).random((10, 3))
        ti.views.rerun.points("drops", positions, color=np.arange(10.0), time=0.1)
        rerun.disconnect()
        open("drops.rrd", "rb").read(3)  # b'RRF'
    """
    frame, library = points_of(positions, channels), _at(time)
    radii = frame.channels.get("radius")
    shape = library.Points3D(frame.positions, colors=color_bytes(frame), radii=radii)
    library.log(name, shape, *_others(library, frame, ("color", "radius")))


def mesh(name: str, vertices: Any, faces: Any, /, *, time: Any = None, **channels: Any) -> None:
    """Log a mesh under this name, at this time. Each further field has a value for each vertex. `color` is a colour or
    a number that becomes one; others are logged as values.

    Example:
        import rerun

        rerun.init("cloth")
        rerun.save("cloth.rrd")
        corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        ti.views.rerun.mesh("cloth", corners, np.array([[0, 1, 2]]), time=0.0)
        rerun.disconnect()
        open("cloth.rrd", "rb").read(3)  # b'RRF'
    """
    frame, library = mesh_of(vertices, faces, channels), _at(time)
    shape = library.Mesh3D(
        vertex_positions=frame.positions, triangle_indices=triangles(frame.faces), vertex_colors=color_bytes(frame)
    )
    library.log(name, shape, *_others(library, frame, ("color",)))


def grid(name: str, /, values: Any = None, *, time: Any = None, **named: Any) -> None:
    """Log fields on a grid as tensors with the axes x, y, z, and `component` for vectors. A field without a name is
    logged under `name`, others under `name/field`.

    Example:
        import rerun

        rerun.init("smoke")
        rerun.save("smoke.rrd")
        density = ti.field(ti.f32, (4, 4, 4))
        ti.views.rerun.grid("smoke", density, time=0.0)
        rerun.disconnect()
        open("smoke.rrd", "rb").read(3)  # b'RRF'
    """
    given: Mapping[str, Any] = named if values is None else {"": values, **named}
    frame, library = grid_of(given, Geometry.of(0.0, 1.0, "cells")), _at(time)
    for key, array in frame.values.items():
        axes = len(frame.shape)
        flat = array.reshape(*frame.shape, -1) if array.ndim > axes else array
        names = [*"xyz"[:axes], *(["component"] if flat.ndim > axes else [])]
        library.log(f"{name}/{key}" if key else name, library.Tensor(np.ascontiguousarray(flat), dim_names=names))


def image(name: str, pixels: Any, depth: Any = None, /, *, time: Any = None, order: Any = None) -> None:
    """Log a picture under this name, as `ti.tools.imwrite` takes it, also as to `order`, and its depth under
    `name/depth`.

    Example:
        import rerun

        rerun.init("camera")
        rerun.save("camera.rrd")
        ti.views.rerun.image("camera", np.zeros((8, 4, 3), np.float32), time=0.0)
        rerun.disconnect()
        open("camera.rrd", "rb").read(3)  # b'RRF'
    """
    frame, library = picture_of(pixels, depth, order_of(order, pixels, "ti.views.rerun.image")), _at(time)
    rows = frame.pixels[:, :, 0] if frame.pixels.shape[2:] in ((1,), (2,)) else frame.pixels
    library.log(name, library.Image(np.ascontiguousarray(rows)))
    if frame.depth is not None:
        library.log(f"{name}/depth", library.DepthImage(np.ascontiguousarray(frame.depth)))


def _at(time: Any) -> Any:
    """The library, with a recording whose time is set."""
    library = package("rerun")
    if library.get_data_recording() is None:
        library.init("weft", spawn=True)
    if time is not None:
        library.set_time("time", duration=number_of(time, "the time of a view"))
    return library


def _others(library: Any, frame: Points, shown: tuple[str, ...]) -> list[Any]:
    """The channels that are not shown, as values."""
    rest = {
        name: array.reshape(len(array), -1).squeeze() for name, array in frame.channels.items() if name not in shown
    }
    return [library.AnyValues(**rest)] if rest else []
