"""`ti.ui.Canvas`: what is drawn, to the pixel or to a tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.lang.ui.images import imread
from weft.lang.ui.window import Window


def _window(width: int = 96, height: int = 64) -> Window:
    return ti.ui.Window("test", (width, height), show_window=False)


def _colors(window: Window) -> Any:
    return window.get_image_buffer_as_numpy()[..., :3]


def test_an_empty_frame_has_the_background() -> None:
    window = _window(10, 6)
    window.get_canvas().set_background_color((0.2, 0.4, 0.6))
    seen = window.get_image_buffer_as_numpy()
    assert seen.shape == (10, 6, 4)
    assert seen.dtype == np.float32
    assert np.allclose(seen, np.array([51, 102, 153, 255], np.float32) / 255)


@pytest.mark.parametrize("size", [(10, 6), (33, 17), (16, 16), (7, 40)])
def test_an_image_fills_the_window_to_the_bit(size: tuple[int, int]) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (*size, 3)).astype(np.uint8)
    field = ti.Vector.field(3, ti.f32, size)
    field.from_numpy(pixels / np.float32(255))
    array = ti.Vector.ndarray(3, ti.f32, size)
    array.from_numpy(field.to_numpy())
    for image in (pixels, field, array, field.to_numpy()):
        window = _window(*size)
        window.get_canvas().set_image(image)
        window.save_image("image.png")
        assert (imread("image.png", 3) == pixels).all()


def test_images_are_grey_or_colours_and_stretched() -> None:
    window = _window(8, 4)
    grey = ti.field(ti.f32, (2, 2))
    grey.from_numpy(np.array([[0, 0.2], [0.6, 1.0]], np.float32))
    window.get_canvas().set_image(grey)
    seen = _colors(window)
    assert np.allclose(seen[:, :, 0], np.kron(grey.to_numpy(), np.ones((4, 2))), atol=0.003)
    with pytest.raises(ValueError, match="an image must have the shape"):
        window.get_canvas().set_image(np.zeros((2, 2, 7), np.float32))
    with pytest.raises(TypeError, match="not int64"):
        window.get_canvas().set_image(np.zeros((2, 2), np.int64))


def test_circles_count_in_heights_and_cover_in_order() -> None:
    window = _window(64, 32)
    centers = np.array([(0.5, 0.5), (0.25, 0.5)], np.float32)
    window.get_canvas().circles(centers, 0.25, per_vertex_color=np.array([(1.0, 0, 0), (0, 1, 0)]))
    seen = _colors(window)
    x, y = np.indices((64, 32)) + 0.5
    for center, channel in ((32, 0), (16, 1)):
        share = np.clip(8.5 - np.hypot(x - center, y - 16), 0, 1)
        here = np.hypot(x - center, y - 16) < 7
        assert np.allclose(seen[..., channel][here], share[here], atol=0.01)
    assert abs(seen[..., 0].sum() - np.pi * 64) < 2  # the area of the circle: edges are as light as they should be


def test_triangles_show_no_seam_and_cover_in_order() -> None:
    window = _window(50, 50)
    corners = np.array([(0.1, 0.1), (0.9, 0.2), (0.8, 0.9), (0.2, 0.8), (0.5, 0.5)], np.float32)
    fan = np.array([4, 0, 1, 4, 1, 2, 4, 2, 3, 4, 3, 0], np.int32)
    canvas = window.get_canvas()
    canvas.triangles(corners, (1, 1, 1), fan)
    seen = _colors(window)
    assert (seen[15:35, 15:35] == 1).all()
    area = 0.5 * abs(sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(corners[:4], np.roll(corners[:4], -1, 0))))
    assert abs(seen[..., 0].sum() / 2500 - area) < 0.003
    both = np.array([(0, 0), (1, 0), (0, 1), (0, 0), (1, 0), (0, 1)], np.float32)
    canvas.triangles(both, per_vertex_color=np.repeat(np.array([(1.0, 0, 0), (0, 0, 1.0)]), 3, 0))
    assert np.allclose(_colors(window)[5, 5], (0, 0, 1))


def test_the_canvas_looks_as_it_did(like: Any) -> None:
    window = _window(160, 120)
    canvas = window.get_canvas()
    canvas.set_background_color((0.07, 0.1, 0.14))
    turn = np.linspace(0, 2 * np.pi, 25, dtype=np.float32)[:-1]
    ring = np.stack([0.5 + 0.3 * np.cos(turn), 0.5 + 0.4 * np.sin(turn)], 1)
    rainbow = 0.5 + 0.5 * np.cos(turn[:, None] + np.array([0, 2, 4]))
    corners = np.concatenate([ring, [(0.5, 0.5)]])
    indices = np.stack([np.arange(24), (np.arange(24) + 1) % 24, np.full(24, 24)], 1)
    canvas.triangles(corners, indices=indices, per_vertex_color=np.concatenate([rainbow, np.ones((1, 3))]))
    canvas.lines(np.array([(0.05, 0.1), (0.95, 0.85), (0.05, 0.85), (0.95, 0.1)]), 0.02, color=(1, 0.9, 0.6))
    canvas.circles(ring, 0.04, per_vertex_color=1 - rainbow, per_vertex_radius=np.linspace(0.005, 0.05, 24))
    like(window, "canvas")


def test_contours_and_arrows(like: Any) -> None:
    window = _window(120, 80)
    x, y = np.meshgrid(np.linspace(-2, 2, 60), np.linspace(-2, 2, 40), indexing="ij")
    height = np.exp(-(x**2) - y**2)
    window.get_canvas().contour(height, "viridis", normalize=True)
    window.get_canvas().vector_field(np.stack([-y, x], 2), arrow_spacing=6, scale=0.12, width=0.012, color=(1, 1, 1))
    like(window, "contour")
    with pytest.raises(ValueError, match="no color map 'jet'; the color maps are plasma, viridis"):
        window.get_canvas().contour(height, "jet")


def test_frames_start_empty_and_can_be_read_after_show() -> None:
    window = _window(20, 20)
    window.get_canvas().circles(np.array([(0.5, 0.5)]), 0.3, (1, 1, 1))
    window.show()
    assert _colors(window)[10, 10, 0] == 1
    window.get_canvas().circles(np.array([(0.0, 0.0)]), 0.1, (1, 1, 1))
    assert _colors(window)[10, 10, 0] == 0
    window.show()
    window.show()
    assert not _colors(window).any()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30, -1e30])
def test_shapes_at_no_place_are_left_out(bad: float) -> None:
    window = _window()
    canvas, scene = window.get_canvas(), ti.ui.Scene()
    places = np.array([(bad, 0.5), (0.5, bad), (bad, bad)], np.float32)
    canvas.circles(places, 0.01, (1, 1, 1))
    canvas.lines(np.array([(bad, bad), (bad, 0)]), 0.01, color=(1, 1, 1))
    canvas.triangles(np.array([(bad, 0), (bad, 1), (bad, bad)]), (1, 1, 1))
    scene.ambient_light((1, 1, 1))
    scene.particles(np.full((2, 3), bad), 0.1)
    scene.mesh(np.full((3, 3), bad), np.arange(3))
    canvas.scene(scene)
    assert np.isfinite(_colors(window)).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_one_number_that_is_none_does_not_spoil_a_plot(bad: float) -> None:
    x, y = np.meshgrid(np.linspace(-2, 2, 32), np.linspace(-2, 2, 32), indexing="ij")
    for draw, values in (
        (lambda canvas, v: canvas.contour(v, normalize=True), x * y),
        (lambda canvas, v: canvas.vector_field(v, color=(1, 1, 1), width=0.01), np.stack([-y, x], 2)),
    ):
        whole, holed = _window(64, 64), _window(64, 64)
        draw(whole.get_canvas(), values)
        values[10, 15] = bad
        draw(holed.get_canvas(), values)
        same = (_colors(whole) == _colors(holed)).all(axis=2)
        assert _colors(whole).any()
        assert same.mean() > 0.98


MISTAKES: list[tuple[Any, str]] = [
    (lambda c: c.circles(np.zeros((3, 3)), 1), "vectors of 2 numbers, not vectors of 3"),
    (lambda c: c.circles(ti.field(ti.f32, 4), 1), "not numbers"),
    (lambda c: c.circles(np.zeros((3, 2)), 1, per_vertex_color=np.zeros((2, 3))), "3 vertices, but .* 2 colors"),
    (lambda c: c.circles(np.zeros((3, 2)), 1, per_vertex_radius=np.zeros(1)), "has 1 radii"),
    (lambda c: c.lines(np.zeros((3, 2)), 1, np.array([0, 3])), "an index is 3, but there are 3 vertices"),
    (lambda c: c.triangles(np.zeros((3, 2)), indices=np.array([0, -1, 2])), "an index is -1"),
    (lambda c: c.set_background_color((1, 2)), "a color must be three numbers"),
    (lambda c: c.vector_field(np.zeros((3, 2))), r"shape \(w, h, 2\)"),
    (lambda c: c.vector_field(np.zeros((3, 2, 2)), arrow_spacing=0), "at least 1, not 0"),
    (lambda c: c.set_image(np.zeros((0, 4), np.float32)), "at least one pixel"),
]


@pytest.mark.parametrize(("draw", "message"), MISTAKES)
def test_mistakes_raise_errors(draw: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw(_window().get_canvas())
