"""`ti.views.viser`: points, meshes and grids in a browser, by viser.

`server()` is started at the first call, for programs on this machine, and says its address. Every function also takes a
`viser.ViserServer` that the program has started itself, for instance to let other machines connect."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.exports.frames import Geometry, Points, grid_of, mesh_of, points_of
from weft.lang.exports.shown_shapes import color_bytes, number_bytes, plane_of, triangles
from weft.lang.extras import package

__all__ = ["grid", "mesh", "points", "server"]

_GREY = (90, 200, 255)
_servers: list[Any] = []  # the server that `server` has started


def server() -> Any:
    """The server, a `viser.ViserServer`. It is started at the first call, and y points up in it.

    Example:
        import viser

        isinstance(ti.views.viser.server(), viser.ViserServer)  # True
    """
    if not _servers:
        started = package("viser").ViserServer(host="127.0.0.1")
        started.scene.set_up_direction("+y")
        _servers.append(started)
    return _servers[0]


def points(name: str, positions: Any, /, *, server: Any = None, **channels: Any) -> Any:
    """Show points under this name, and return viser's handle. `color` is a colour, or a number that becomes one, for
    each point; `radius` is one size for all points.

    Example:
        import viser

        positions = np.random.default_rng(0).random((10, 3))
        shown = ti.views.viser.points("/drops", positions, color=np.arange(10.0), radius=0.02)
        shown.name  # '/drops'
    """
    radius = channels.pop("radius", 0.01)
    frame, scene = points_of(positions, channels), _scene(server)
    _check(frame)
    colors = color_bytes(frame)
    return scene.add_point_cloud(
        name,
        frame.positions,
        _GREY if colors is None else colors[:, :3],
        point_size=2 * float(np.max(radius)),
        precision="float32",
    )


def mesh(name: str, vertices: Any, faces: Any, /, *, server: Any = None, **channels: Any) -> Any:
    """Show a mesh under this name, and return viser's handle. `color` is a colour, or a number that becomes one, for
    each vertex.

    Example:
        import viser

        corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        ti.views.viser.mesh("/cloth", corners, np.array([[0, 1, 2]])).name  # '/cloth'
    """
    frame, scene = mesh_of(vertices, faces, channels), _scene(server)
    _check(frame)
    colors = color_bytes(frame)
    if colors is None:
        return scene.add_mesh_simple(name, frame.positions, triangles(frame.faces), color=_GREY, side="double")
    return _colored(scene, name, frame.positions, triangles(frame.faces), colors)


def grid(
    name: str,
    values: Any,
    /,
    *,
    origin: Any = 0.0,
    spacing: Any = 1.0,
    at: str = "cells",
    server: Any = None,
) -> Any:
    """Show a field of numbers with two axes as a coloured plane, placed as by `ti.Recorder`. Returns viser's handle.

    Example:
        import viser

        height = ti.field(ti.f32, (8, 8))
        ti.views.viser.grid("/water", height, spacing=0.1).name  # '/water'
    """
    frame, scene = grid_of({name: values}, Geometry.of(origin, spacing, at)), _scene(server)
    array = frame.values.get(name)
    if array is None or array.ndim != 2 or len(frame.shape) != 2:
        raise TypeMismatch("viser can show only fields of numbers with two axes")
    corners, faces = plane_of(frame)
    colors = number_bytes(array)
    if at == "cells":  # each face has corners of its own, all of its colour
        corners, colors = corners[faces.ravel()], colors.repeat(4, axis=0)
        faces = np.arange(faces.size, dtype=np.int32).reshape(-1, 4)
    return _colored(scene, name, corners, triangles(faces), colors)


def _scene(given: Any) -> Any:
    return (server() if given is None else given).scene


def _check(frame: Points) -> None:
    others = sorted(set(frame.channels) - {"color"})
    if others:
        raise TypeMismatch(f"viser can show only the color of points and vertices, not '{others[0]}': pass it as color")


def _colored(scene: Any, name: str, corners: Any, faces: Any, colors: Any) -> Any:
    trimesh = package("trimesh")  # viser installs it
    return scene.add_mesh_trimesh(name, trimesh.Trimesh(corners, faces, process=False, vertex_colors=colors))
