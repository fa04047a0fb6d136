"""Makes the picture of `docs/windows.md`: `python docs/pictures/window.py`."""

from pathlib import Path

import numpy as np

import weft as ti

ti.init(arch=ti.cpu)
ROUND, ACROSS = 96, 48  # quads around the ring, and around its tube


def ring() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices, triangles and colors of a torus."""
    u, v = np.meshgrid(np.arange(ROUND), np.arange(ACROSS), indexing="ij")
    a, b = 2 * np.pi * u / ROUND, 2 * np.pi * v / ACROSS
    far = 1.0 + 0.38 * np.cos(b)
    places = np.stack([far * np.cos(a), 0.38 * np.sin(b), far * np.sin(a)], -1).reshape(-1, 3)
    right, up = (u + 1) % ROUND, (v + 1) % ACROSS
    p, q, r, s = (i * ACROSS + j for i, j in ((u, v), (right, v), (right, up), (u, up)))
    triangles = np.stack([p, r, q, p, s, r], -1).reshape(-1)
    shades = 0.55 + 0.4 * np.cos(a.reshape(-1, 1) + np.array([0.0, 2.1, 4.2]))
    return places.astype(np.float32), triangles.astype(np.int32), shades.astype(np.float32)


window = ti.ui.Window("Ring", (960, 640), show_window=False)
scene, camera, canvas = ti.ui.Scene(), ti.ui.Camera(), window.get_canvas()
camera.position(1.2, 1.9, 3.0)
camera.lookat(0.0, -0.1, 0.0)
scene.set_camera(camera)
scene.ambient_light((0.25, 0.25, 0.28))
scene.point_light((2.5, 4.0, 2.0), (0.9, 0.9, 0.85))
places, triangles, shades = ring()
scene.mesh(places, indices=triangles, per_vertex_color=shades, two_sided=True)
floor = np.array([[-4, -0.6, -4], [4, -0.6, -4], [4, -0.6, 4], [-4, -0.6, 4]], np.float32)
scene.mesh(floor, indices=np.array([0, 2, 1, 0, 3, 2], np.int32), color=(0.3, 0.33, 0.4), two_sided=True)
angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
balls = np.stack([1.9 * np.cos(angles), 0.25 * np.sin(5 * angles), 1.9 * np.sin(angles)], -1)
scene.particles(balls.astype(np.float32), radius=0.07, color=(0.9, 0.6, 0.2))
canvas.set_background_color((0.07, 0.09, 0.12))
canvas.scene(scene)
with window.get_gui().sub_window("Ring", 0.03, 0.04, 0.3, 0.34) as panel:
    panel.text("Drag with the right button")
    panel.slider_float("radius", 0.38, 0.1, 0.8)
    panel.slider_int("steps", 12, 1, 40)
    panel.checkbox("wireframe", False)
    panel.checkbox("lights", True)
    panel.color_edit_3("color", (0.9, 0.4, 0.2))
    panel.button("Reset")
window.save_image(str(Path(__file__).with_name("window.png")))
