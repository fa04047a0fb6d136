"""`ti.ui.Scene` and `ti.ui.Camera`: what is seen, from where, and in what light."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.lang.ui import camera as camera_module
from weft.lang.ui.camera import Camera
from weft.lang.ui.window import Window


def _window(width: int = 96, height: int = 64) -> Window:
    return ti.ui.Window("test", (width, height), show_window=False)


def _colors(window: Window) -> Any:
    return window.get_image_buffer_as_numpy()[..., :3]


def _torus(along: int = 48, around: int = 24) -> tuple[Any, Any, Any]:
    u, v = np.meshgrid(np.arange(along), np.arange(around), indexing="ij")
    a, b = u * 2 * np.pi / along, v * 2 * np.pi / around
    wide = 1 + 0.38 * np.cos(b)
    places = np.stack([wide * np.cos(a), 0.38 * np.sin(b), wide * np.sin(a)], 2).reshape(-1, 3)
    colors = (0.5 + 0.5 * np.cos(a[..., None] + np.array([0, 2, 4]))).reshape(-1, 3)

    def at(i: int, j: int) -> Any:
        return (u + i) % along * around + (v + j) % around

    corners = np.stack([at(0, 0), at(1, 1), at(1, 0), at(0, 0), at(0, 1), at(1, 1)], 2)
    return places.astype(np.float32), corners.reshape(-1), colors.astype(np.float32)


def _camera(*position: float) -> Camera:
    camera = ti.ui.Camera()
    camera.position(*position)
    camera.lookat(0, 0, 0)
    return camera


def test_a_scene_looks_as_it_did(like: Any) -> None:
    window, scene = _window(240, 180), ti.ui.Scene()
    canvas = window.get_canvas()
    canvas.set_background_color((0.08, 0.1, 0.13))
    scene.set_camera(_camera(2.2, 1.8, 3.0))
    scene.ambient_light((0.25, 0.25, 0.28))
    scene.point_light((3, 4, 4), (0.9, 0.88, 0.8))
    places, corners, colors = _torus()
    scene.mesh(places, corners, per_vertex_color=colors)
    turn = np.arange(40) * 2.4
    scene.particles(np.stack([1.6 * np.cos(turn), 0.2 + turn / 96, 1.6 * np.sin(turn)], 1), 0.09, (0.9, 0.6, 0.25))
    floor = np.array([(-5, -0.9, -5), (5, -0.9, -5), (5, -0.9, 5), (-5, -0.9, 5)])
    scene.mesh(floor, np.array([0, 2, 1, 0, 3, 2]), color=(0.35, 0.38, 0.42))
    grid = [p for k in range(-3, 4) for p in ((k, -0.88, -3), (k, -0.88, 3), (-3, -0.88, k), (3, -0.88, k))]
    scene.lines(np.array(grid, np.float32), 1.2, color=(0.6, 0.65, 0.75))
    canvas.scene(scene)
    like(window, "scene")


def test_a_ball_is_where_and_as_large_as_it_should_be() -> None:
    window, scene = _window(101, 101), ti.ui.Scene()
    camera = _camera(0, 0, 5)
    camera.fov(60)
    scene.set_camera(camera)
    scene.ambient_light((1, 1, 1))
    scene.particles(np.zeros((1, 3)), 1.0, (1, 0.5, 0))
    window.get_canvas().scene(scene)
    seen, depths = _colors(window)[..., 0], window.get_depth_buffer_as_numpy()
    radius = 1 / np.sqrt(5**2 - 1) / np.tan(np.radians(30)) * 50.5  # of the cone that touches it
    assert abs(seen.sum() - np.pi * radius**2) < 0.005 * np.pi * radius**2
    near, far = 0.1, 1000
    assert np.isclose(depths[50, 50], near * (far - 4) / ((far - near) * 4), rtol=1e-3)
    assert depths[0, 0] == 0
    into = ti.field(ti.f32, (101, 101))
    window.get_depth_buffer(into)
    assert (into.to_numpy() == depths).all()
    with pytest.raises(ValueError, match="the field of depths"):
        window.get_depth_buffer(np.zeros((3, 3)))


def test_the_nearest_is_seen_whatever_the_order() -> None:
    triangle = np.array([(-3, -3, 0), (3, -3, 0), (0, 4, 0)], np.float32)
    drawings = [
        lambda s: s.mesh(triangle, color=(1, 0, 0)),
        lambda s: s.particles(np.array([(0.0, 0, 0)]), 0.5, (0, 1, 0)),
        lambda s: s.lines(np.array([(-2.0, 0, 1), (2, 0, 1)]), 4, color=(0, 0, 1)),
    ]
    pictures = []
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        window, scene = _window(60, 60), ti.ui.Scene()
        scene.set_camera(_camera(0, 0, 6))
        scene.ambient_light((1, 1, 1))
        for number in order:
            drawings[number](scene)
        window.get_canvas().scene(scene)
        pictures.append(_colors(window))
    assert all((picture == pictures[0]).all() for picture in pictures)
    assert pictures[0][30, 30].tolist() == [0, 0, 1]
    assert pictures[0][30, 34].tolist() == [0, 1, 0]
    assert pictures[0][30, 20].tolist() == [1, 0, 0]


def _crowd(window: Window, order: Any) -> Any:
    """Balls, triangles and lines that hide each other, each kind given in that order."""
    rng, scene = np.random.default_rng(4), ti.ui.Scene()
    centers, colors = rng.random((len(order), 3)), rng.random((len(order), 3)).astype(np.float32)
    legs = 0.05 * rng.random((len(order), 3, 3)) - 0.025
    corners = ((rng.random((len(order), 1, 3)) + legs)[order]).reshape(-1, 3)
    camera = _camera(0.5, 0.6, 2.5)
    camera.lookat(0.5, 0.5, 0.5)
    scene.set_camera(camera)
    scene.ambient_light((0.3, 0.3, 0.3))
    scene.point_light((2, 3, 3), (0.8, 0.8, 0.8))
    scene.particles(centers[order], 0.02, per_vertex_color=colors[order])
    scene.mesh(corners, per_vertex_color=np.repeat(colors[order], 3, 0), two_sided=True)
    scene.lines(np.repeat(centers[order], 2, 0) + legs[order][:, :2].reshape(-1, 3), 1.5, color=(1, 1, 1))
    window.get_canvas().scene(scene)
    return window.get_image_buffer_as_numpy()


def test_thousands_look_the_same_on_every_run_and_in_any_order() -> None:
    window, order = _window(160, 120), np.arange(6000)
    first = _crowd(window, order)
    window.show()
    assert (_crowd(window, order) == first).all()  # (into arrays that still hold the last frame)
    window.show()
    few = _crowd(window, order[:10])
    window.show()
    assert not np.array_equal(few, first)
    assert (_crowd(window, np.random.default_rng(1).permutation(order)) == first).all()


@pytest.mark.parametrize("options", [{"cpu_max_num_threads": 1}, {"check_nan": True}, {"check_races": True}])
def test_drawing_has_no_races_and_does_not_depend_on_threads(options: dict[str, Any]) -> None:
    window, order = _window(48, 36), np.arange(150)
    first = _crowd(window, order)
    window.show()
    ti.init(arch=ti.cpu, **options)
    assert (_crowd(window, order) == first).all()  # (the window makes room in the new program)


def test_particles_are_copied_when_they_are_given() -> None:
    window, scene = _window(), ti.ui.Scene()
    field, array = ti.Vector.field(3, ti.f32, 1), np.zeros((1, 3), np.float32)
    pictures = []
    for changed in (False, True):
        scene.set_camera(_camera(0, 0, 5))
        scene.ambient_light((1, 1, 1))
        scene.particles(array - 1, 0.5)
        scene.particles(field, 0.5)
        scene.particles(array, 0.5, per_vertex_radius=np.array([0.7]), per_vertex_color=np.array([(1.0, 0, 0, 1)]))
        if changed:
            field.fill(9)
            array[...] = 9
        window.get_canvas().scene(scene)
        pictures.append(_colors(window))
        window.show()
    assert (pictures[0] == pictures[1]).all()
    assert pictures[0].any()
    scene.particles(np.zeros((0, 3), np.float32), 1.0)  # none at all
    window.get_canvas().scene(scene)
    assert not _colors(window).any()


def test_light_follows_lambert() -> None:
    window, scene = _window(40, 40), ti.ui.Scene()
    camera = _camera(0, 0, 2)
    camera.projection_mode(ti.ui.ProjectionMode.Orthogonal)
    wall = np.array([(-2, -2, 0), (2, -2, 0), (2, 2, 0), (-2, 2, 0)], np.float32)
    for two_sided, turned, wanted in ((False, 1, 0.5), (False, -1, 0.0), (True, -1, 0.5)):
        scene.set_camera(camera)
        scene.point_light((0, 1000 * np.sqrt(3), 1000), (1, 1, 1))  # from 60 degrees above
        normals = np.tile(np.array([(0, 0, turned)], np.float32), (4, 1))
        scene.mesh(wall, np.array([0, 1, 2, 0, 2, 3]), normals, (0.8, 0.8, 0.8), two_sided=two_sided)
        window.get_canvas().scene(scene)
        assert np.allclose(_colors(window)[20, 20], 0.8 * wanted, atol=0.01)
        window.show()


@pytest.mark.parametrize("flat", [False, True])
def test_what_is_behind_the_camera_is_not_seen(flat: bool) -> None:
    window, scene = _window(40, 40), ti.ui.Scene()
    camera = ti.ui.Camera()  # looks along z
    camera.projection_mode(ti.ui.ProjectionMode(int(flat)))
    scene.set_camera(camera)
    scene.ambient_light((1, 1, 1))
    scene.particles(np.array([(0.0, 0, -2)]), 1, (1, 1, 1))
    scene.mesh(np.array([(-1, -1, -3), (1, -1, -3), (0, 1, -3)], np.float32), color=(1, 1, 1))
    scene.lines(np.array([(0, 0, -1), (0, 1, -5)], np.float32), 3, color=(1, 1, 1))
    window.get_canvas().scene(scene)
    assert not _colors(window).any()
    scene.ambient_light((1, 1, 1))
    ground = np.array([(-9, -0.5, -9), (9, -0.5, -9), (9, -0.5, 90), (-9, -0.5, 90)], np.float32)
    scene.mesh(ground, np.array([0, 1, 2, 0, 2, 3]), color=(1, 1, 1))  # begins behind, ends ahead
    scene.lines(np.array([(0, 0.5, -5), (0, 0.5, 50)], np.float32), 2, color=(0, 1, 0))
    window.get_canvas().scene(scene)
    seen = _colors(window)
    if not flat:  # (without perspective the ground is seen from its edge)
        assert seen[20, 2].tolist() == [1, 1, 1]
        assert seen[20, 23:].any(axis=1).any()
    assert not seen[2, 36].any()


def _lit(bad: float | None, transforms: Any = None) -> Any:
    """A sheet of 4 x 4 squares, seen from the front; its middle vertex is at `bad`."""
    window, scene = _window(80, 80), ti.ui.Scene()
    scene.set_camera(_camera(0, 0, 3))
    scene.point_light((0, 0, 5), (1, 1, 1))
    x, y = np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-1, 1, 5))
    places = np.stack([x, y, 0 * x], 2).astype(np.float32)
    if bad is not None:
        places[2, 2] = bad
    corners = [(k, k + 1, k + 5, k + 1, k + 6, k + 5) for k in (5 * i + j for i in range(4) for j in range(4))]
    scene.mesh_instance(places, np.array(corners), transforms=transforms)
    window.get_canvas().scene(scene)
    return _colors(window)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_vertex_that_is_nowhere_leaves_its_neighbours_lit(bad: float) -> None:
    whole, holed = _lit(None), _lit(bad)
    assert (holed[40, 40] == 0).all()
    there = holed.any(axis=2)
    assert there.mean() > 0.7 * whole.any(axis=2).mean()
    inner = there & np.roll(there, 1, 0) & np.roll(there, -1, 0) & np.roll(there, 1, 1) & np.roll(there, -1, 1)
    assert np.allclose(holed[inner], whole[inner], atol=0.01)


def test_instances_that_are_nowhere_are_left_out() -> None:
    transforms = np.stack([np.eye(4, dtype=np.float32)] * 3)
    transforms[0, 0, 0], transforms[2, 1, 3] = np.nan, np.inf
    assert (_lit(None, transforms) == _lit(None)).all()


def test_instances_and_parts_and_wires() -> None:
    window, scene = _window(90, 30), ti.ui.Scene()
    camera = _camera(0, 0, 5)
    camera.projection_mode(ti.ui.ProjectionMode.Orthogonal)
    camera.left(-3)
    camera.right(3)
    scene.set_camera(camera)
    square = np.array([(-0.5, -0.5, 0), (0.5, -0.5, 0), (0.5, 0.5, 0), (-0.5, 0.5, 0)], np.float32)
    corners = ti.field(ti.i32, 9)
    corners.from_numpy(np.array([3, 3, 3, 0, 1, 2, 0, 2, 3]))
    places = ti.Matrix.field(4, 4, ti.f32, 4)
    for k, x in enumerate((-9, -2, 0, 2)):
        places[k] = [[1, 0, 0, x], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    scene.ambient_light((1, 1, 1))
    vertices = ti.Vector.field(3, ti.f32, 4)
    vertices.from_numpy(square)
    scene.mesh_instance(vertices, corners, color=(1, 1, 1), transforms=places, instance_offset=1, index_offset=3)
    window.get_canvas().scene(scene)
    row = _colors(window)[:, 15, 0]
    assert [bool(row[x]) for x in (3, 8, 15, 21, 30, 38, 45, 51, 60, 68, 75, 81, 87)] == [False, *[True] * 3] * 3 + [
        False
    ]
    window.show()
    scene.mesh(vertices, corners, show_wireframe=True, color=(1, 1, 1))
    window.get_canvas().scene(scene)
    seen = _colors(window)[..., 0]
    assert seen[41, 15] == 0  # within the square, beside its diagonal
    assert seen[37:39, 15].any()
    assert seen[51:53, 15].any()
    with pytest.raises(ValueError, match="elements 0 to 7 are out of bounds: the array has 4 elements"):
        scene.particles(vertices, 1, index_count=7)


def test_the_matrices_of_a_camera() -> None:
    camera = _camera(1, 2, 3)
    view = camera.get_view_matrix()
    wanted = [
        (0.9486834, -0.1690309, 0.2672612, 0),
        (0, 0.8451543, 0.5345225, 0),
        (-0.3162278, -0.5070926, 0.8017837, 0),
    ]
    assert np.allclose(view, [*wanted, (0, 0, -3.7416575, 1)], atol=1e-6)
    project = camera.get_projection_matrix(2.0)
    for depth, wanted_depth in ((0.1, 1), (1000, 0)):
        x, y, z, w = np.array([0.3, 0.2, -depth, 1]) @ project
        assert np.isclose(z / w, wanted_depth, atol=1e-5)
        assert np.isclose(y / w, 0.2 / depth / np.tan(np.radians(22.5)), rtol=1e-5)
        assert np.isclose(x / w, 0.15 / depth / np.tan(np.radians(22.5)), rtol=1e-5)
    camera.projection_mode(ti.ui.ProjectionMode.Orthogonal)
    for set_side, side in ((camera.left, -2), (camera.right, 4), (camera.bottom, 0), (camera.top, 1)):
        set_side(side)
    corners = np.array([(-2, 0, -0.1, 1), (4, 1, -1000, 1)]) @ camera.get_projection_matrix(2.0)
    assert np.allclose(corners, [(-1, -1, 1, 1), (1, 1, 0, 1)], atol=1e-6)


def test_cameras_that_see_nothing_say_why() -> None:
    camera = _camera(0, 0, 0)
    with pytest.raises(ValueError, match="the two points must differ"):
        camera.get_view_matrix()
    with pytest.raises(ValueError, match="a field of view"):
        camera.fov(180)
    camera.z_near(0)
    with pytest.raises(ValueError, match=r"z_far = 1000\.0 must be above z_near = 0\.0"):
        camera.get_projection_matrix(1)


class Held:
    """A window whose keys and pointer are set."""

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.cursor = (0.5, 0.5)

    def is_pressed(self, key: str) -> bool:
        return key in self.keys

    def get_cursor_pos(self) -> tuple[float, float]:
        return self.cursor


def test_a_camera_walks_and_looks_around(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, window, camera = [100.0], Held(), ti.ui.make_camera()
    monkeypatch.setattr(camera_module.time, "perf_counter", lambda: clock[0])
    camera.track_user_inputs(window, movement_speed=2.0)
    for key, wanted in (("w", (0, 0, 1)), ("d", (-1, 0, 1)), ("e", (-1, 1, 1)), ("s", (-1, 1, 0)), ("q", (-1, 0, 0))):
        clock[0] += 0.5
        window.keys = {key}
        camera.track_user_inputs(window, movement_speed=2.0)
        assert np.allclose(np.asarray(camera.curr_position), wanted, atol=1e-6), key
    window.keys, window.cursor = {ti.ui.RMB}, (0.5, 0.5)
    camera.track_user_inputs(window, hold_key=ti.ui.RMB)
    window.cursor = (0.5 + np.pi / 4, 0.5)
    camera.track_user_inputs(window, hold_key=ti.ui.RMB)  # a quarter turn to the right, which is -x
    assert np.allclose(np.asarray(camera.curr_lookat) - np.asarray(camera.curr_position), (-1, 0, 0), atol=1e-6)
    window.keys, window.cursor = set(), (0, 0)
    camera.track_user_inputs(window, hold_key=ti.ui.RMB)
    assert np.allclose(np.asarray(camera.curr_lookat) - np.asarray(camera.curr_position), (-1, 0, 0), atol=1e-6)


def test_every_arch_draws_the_same() -> None:
    pictures = []
    for arch in (ti.cpu, ti.python):
        ti.init(arch=arch)
        window, scene = _window(12, 9), ti.ui.Scene()
        canvas = window.get_canvas()
        canvas.set_image(np.random.default_rng(0).random((12, 9, 3)).astype(np.float32))
        canvas.triangles(np.array([(0.1, 0.1), (0.6, 0.2), (0.3, 0.8)]), (1, 0, 0))
        canvas.lines(np.array([(0, 0), (1, 1)]), 0.05)
        scene.set_camera(_camera(0, 1, 4))
        scene.ambient_light((0.2, 0.2, 0.2))
        scene.point_light((3, 3, 3), (1, 1, 1))
        scene.particles(np.array([(0, 0, 0), (1, 0, 0)]), 0.5)
        scene.mesh(np.array([(-2, -0.5, -2), (2, -0.5, -2), (0, -0.5, 2)]))
        scene.lines(np.array([(0, 0, 0), (0, 2, 0)]), 2)
        canvas.scene(scene)
        pictures.append(window.get_image_buffer_as_numpy())
    assert (abs(pictures[0] - pictures[1]) > 1.5 / 255).sum() <= 3  # (a ray may just miss on one of them)
