"""`ti.ui.Scene`: particles, meshes and lines in space, with lights and a camera."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import any_number, flag_of, numbers_of, shown, whole_of
from weft.lang.ui.camera import Camera
from weft.lang.ui.render.eye import Eye
from weft.lang.ui.render.frame import Frame
from weft.lang.ui.render.rooms import on_device
from weft.lang.ui.render.solid import Balls, Lights, Rods, Surfaces, draw_solids
from weft.lang.ui.vertices import color_of, colors_for, copied, copied_colors, groups, part, points, sizes_for

__all__ = ["Scene"]

Color = tuple[float, float, float]
_GREY: Color = (0.5, 0.5, 0.5)
_WIRE = 1.0  # pixels


class Scene:
    """Add the contents to a scene, then draw it with `canvas.scene(scene)`. That empties the scene, except for its
    camera.

    Positions are fields, ndarrays or arrays, of any shape, of vectors of three numbers. Indices are fields, ndarrays or
    arrays of numbers: three consecutive ones for a triangle, two for a line. Both are copied at once. A colour is three
    numbers in [0, 1]. `per_vertex_color` gives a colour per vertex instead. Raises ValueError for arguments that do not
    match.

    Example:
        window = ti.ui.Window("ball", (64, 64), show_window=False)
        scene, camera = window.get_scene(), ti.ui.Camera()
        camera.position(0.0, 0.0, 3.0)
        camera.lookat(0.0, 0.0, 0.0)
        scene.set_camera(camera)
        scene.ambient_light((0.5, 0.5, 0.5))
        scene.point_light((2.0, 2.0, 2.0), color=(1.0, 1.0, 1.0))
        scene.particles(np.zeros((1, 3), np.float32), radius=0.5, color=(1.0, 1.0, 1.0))
        window.get_canvas().scene(scene)
        bool(window.get_image_buffer_as_numpy()[32, 32, 0] > 0.4)  # True
    """

    def __init__(self) -> None:
        self._camera = Camera()
        self._forget()

    def _forget(self) -> None:
        self._balls: list[Balls] = []
        self._surfaces: list[tuple[Any, ...]] = []
        self._rods: list[tuple[Any, ...]] = []
        self._lights: list[tuple[Any, Any]] = []
        self._ambient = np.zeros(3, np.float32)

    def set_camera(self, camera: Any) -> None:
        """Set the camera, a `Camera`. It stays the same until another one is set."""
        if not isinstance(camera, Camera):
            raise TypeMismatch(f"set_camera takes a ti.ui.Camera, not {shown(camera)}")
        self._camera = camera

    def ambient_light(self, color: Any) -> None:
        """Set the light from all directions. Without it, points that no point light reaches are black."""
        self._ambient = self._ambient + color_of(color)

    def point_light(self, pos: Any, color: Any) -> None:
        """Add a point light. Its brightness does not decrease with the distance."""
        place = numbers_of(pos, "the position of a light").astype(np.float32).reshape(-1)
        if len(place) != 3:
            raise ValueError(f"the position of a light must be three numbers, not {shown(pos)}")
        self._lights.append((place, color_of(color)))

    def particles(
        self,
        centers: Any,
        radius: float,
        color: Any = _GREY,
        per_vertex_color: Any = None,
        per_vertex_radius: Any = None,
        index_offset: int = 0,
        index_count: int | None = None,
    ) -> None:
        """Add balls of that radius, or with `per_vertex_radius`: `index_count` of them (default: all) from
        `index_offset` on."""
        places, count = copied(centers, "centers")
        sizes = sizes_for(1 if per_vertex_radius is None else count, radius, per_vertex_radius)
        shades = copied_colors(count, color, per_vertex_color)
        chosen = part(range(count), index_offset, index_count)
        offset = whole_of(index_offset, "index_offset")
        self._balls.append(Balls(places, on_device(np.array(sizes), np.float32), shades, offset, len(chosen)))

    def lines(
        self,
        vertices: Any,
        width: float,
        indices: Any = None,
        color: Any = _GREY,
        per_vertex_color: Any = None,
        vertex_offset: int = 0,
        vertex_count: int | None = None,
        index_offset: int = 0,
        index_count: int | None = None,
    ) -> None:
        """Add straight lines, `width` pixels wide at any distance, without lighting. Without `indices`, every two
        vertices from `vertex_offset` on make a line. With them, every two indices from `index_offset` on do, plus
        `vertex_offset`."""
        places = points(vertices, 3, "vertices")
        shades = colors_for(len(places), color, per_vertex_color)
        if indices is None:
            places, shades = (part(array, vertex_offset, vertex_count) for array in (places, shades))
        pairs = groups(indices, 2, len(places), index_offset, index_count, vertex_offset)
        self._rods.append((places[pairs], shades[pairs], any_number(width, "the width of lines")))

    def mesh(
        self,
        vertices: Any,
        indices: Any = None,
        normals: Any = None,
        color: Any = _GREY,
        per_vertex_color: Any = None,
        two_sided: bool = False,
        vertex_offset: int = 0,
        vertex_count: int | None = None,
        index_offset: int = 0,
        index_count: int | None = None,
        show_wireframe: bool = False,
    ) -> None:
        """Add triangles. Without `normals`, the normal of a vertex is the average of its triangles' normals, weighted
        by area. `two_sided` lights both sides; otherwise, the side that the normals point away from is dark.
        `show_wireframe` draws only edges. `vertex_offset` to `index_count` select triangles, as in `lines`."""
        self.mesh_instance(
            *(vertices, indices, normals, color, per_vertex_color, two_sided, None, 0, None),
            *(vertex_offset, vertex_count, index_offset, index_count, show_wireframe),
        )

    def mesh_instance(
        self,
        vertices: Any,
        indices: Any = None,
        normals: Any = None,
        color: Any = _GREY,
        per_vertex_color: Any = None,
        two_sided: bool = False,
        transforms: Any = None,
        instance_offset: int = 0,
        instance_count: int | None = None,
        vertex_offset: int = 0,
        vertex_count: int | None = None,
        index_offset: int = 0,
        index_count: int | None = None,
        show_wireframe: bool = False,
    ) -> None:
        """Add a mesh for each of `transforms`, a field or array of 4 x 4 matrices that map columns (x, y, z, 1) to the
        world: `instance_count` of them (default: all) from `instance_offset` on. See `mesh`."""
        lit_twice, edges_only = flag_of(two_sided, "two_sided"), flag_of(show_wireframe, "show_wireframe")
        places = points(vertices, 3, "vertices")
        shades = colors_for(len(places), color, per_vertex_color)
        given = None if normals is None else points(normals, 3, "normals")
        if given is not None and len(given) < len(places):
            raise ValueError(f"there are {len(places)} vertices, but {len(given)} normals")
        if indices is None:
            places, shades = (part(array, vertex_offset, vertex_count) for array in (places, shades))
            given = None if given is None else part(given, vertex_offset, vertex_count)
        corners = groups(indices, 3, len(places), index_offset, index_count, vertex_offset)
        upright = _normals(places, corners) if given is None else given[: len(places)]
        for turn, move in _placings(transforms, instance_offset, instance_count):
            with np.errstate(invalid="ignore", over="ignore"):  # positions that are not finite stay so
                placed = places @ turn.T + move
            if edges_only:
                edges = np.unique(np.sort(corners[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)), axis=0)
                self._rods.append((placed[edges], shades[edges], _WIRE))
            else:
                outward = upright if transforms is None else upright @ np.linalg.pinv(turn)
                self._surfaces.append((placed, outward, shades, corners, lit_twice))

    def draw(self, frame: Frame) -> None:
        """Draw the scene over the contents of the frame, and empty it."""
        eye = self._camera.eye(frame.size)
        balls, lights = self._balls, self._lights
        lamps = Lights(
            eye.sees(_joined([place[None] for place, _ in lights], (3,))),
            _joined([color[None] for _, color in lights], (3,)),
            self._ambient,
        )
        surfaces, rods = _surfaces(eye, self._surfaces), _rods(self._rods)
        self._forget()
        draw_solids(frame, eye, balls, surfaces, rods, lamps)


def _joined(arrays: list[Any], shape: tuple[int, ...]) -> Any:
    return np.concatenate(arrays) if arrays else np.zeros((0, *shape), np.float32)


def _normals(places: Any, corners: Any) -> Any:
    """Return, for each vertex, the sum of the normals of its triangles, each with the length of twice its area. A
    triangle with a corner that is not finite adds nothing, so the lighting of its neighbours does not change."""
    a, b, c = (places[corners[:, k]] for k in range(3))
    with np.errstate(invalid="ignore", over="ignore"):
        across = np.cross(b - a, c - a)
    across[~np.isfinite(across).all(1)] = 0.0
    sums = [sum(np.bincount(corners[:, k], across[:, axis], len(places)) for k in range(3)) for axis in range(3)]
    return np.stack(sums, 1).astype(np.float32)


def _placings(transforms: Any, offset: int, count: int | None) -> list[tuple[Any, Any]]:
    """Return (3 x 3 matrix, translation) of each instance. Instances that are not finite are left out."""
    if transforms is None:
        return [(np.eye(3, dtype=np.float32), np.zeros(3, np.float32))]
    matrices = numbers_of(transforms, "transforms").astype(np.float32, copy=False)
    if matrices.shape[-2:] != (4, 4):
        raise ValueError(f"transforms must be a field or array of 4 x 4 matrices, not of shape {matrices.shape}")
    chosen = part(matrices.reshape(-1, 4, 4), offset, count)
    return [(m[:3, :3], m[:3, 3]) for m in chosen if np.isfinite(m).all()]


def _surfaces(eye: Eye, meshes: list[tuple[Any, ...]]) -> Surfaces:
    firsts = np.cumsum([0, *(len(mesh[0]) for mesh in meshes)])
    places, normals, shades = (_joined([mesh[k] for mesh in meshes], (3,)) for k in range(3))
    corners = _joined([mesh[3] + first for mesh, first in zip(meshes, firsts)], (3,)).astype(np.int32)
    two_sided = _joined([np.full(len(mesh[3]), mesh[4], np.int32) for mesh in meshes], ())
    return Surfaces(eye.sees(places), eye.turned(normals), shades, corners, two_sided)


def _rods(lines: list[tuple[Any, ...]]) -> Rods:
    places, shades = (_joined([line[k] for line in lines], (2, 3)) for k in range(2))
    return Rods(places, shades, _joined([np.full(len(line[0]), line[2] / 2, np.float32) for line in lines], ()))
