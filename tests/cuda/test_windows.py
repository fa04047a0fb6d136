"""Windows on a GPU: the pictures of `ti.ui` are those of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np


def _picture(ti: Any) -> Any:
    """A frame with an image, shapes and a scene, and its depths."""
    window, scene, camera = ti.ui.Window("test", (48, 36), show_window=False), ti.ui.Scene(), ti.ui.Camera()
    canvas = window.get_canvas()
    image = ti.Vector.field(3, ti.f32, (48, 36))
    image.from_numpy(np.random.default_rng(0).random((48, 36, 3)).astype(np.float32))
    canvas.set_image(image)
    canvas.triangles(np.array([(0.1, 0.1), (0.6, 0.2), (0.3, 0.8)]), (1, 0, 0))
    canvas.circles(np.random.default_rng(1).random((40, 2)), 0.05)
    canvas.lines(np.array([(0, 0), (1, 1)]), 0.05)
    camera.position(0, 1, 4)
    camera.lookat(0, 0, 0)
    scene.set_camera(camera)
    scene.ambient_light((0.2, 0.2, 0.2))
    scene.point_light((3, 3, 3), (1, 1, 1))
    places = ti.Vector.field(3, ti.f32, 2)
    places.from_numpy(np.array([(0, 0, 0), (1, 0, 0)], np.float32))
    scene.particles(places, 0.5)
    scene.mesh(np.array([(-2, -0.5, -2), (2, -0.5, -2), (0, -0.5, 2)]))
    scene.lines(np.array([(0, 0, 0), (0, 2, 0)]), 2)
    canvas.scene(scene)
    return window.get_image_buffer_as_numpy(), window.get_depth_buffer_as_numpy()


def test_pictures_are_those_of_the_cpu(ti: Any) -> None:
    pictures = []
    for arch in (ti.cpu, ti.cuda):
        ti.init(arch=arch, enable_fallback=False)
        pictures.append(_picture(ti))
    (seen, depths), (seen_there, depths_there) = pictures
    assert (abs(seen - seen_there) > 2.5 / 255).sum() <= 12  # (a ray may just miss on one of them)
    assert (abs(depths - depths_there) > 1e-3).sum() <= 3
