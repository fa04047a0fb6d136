"""The frame of a canvas: images become bytes at once, and something may be drawn before and after them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as ti
from tests import emulated
from weft.lang.ui.canvas import Canvas
from weft.lang.ui.colormaps import COLORMAPS
from weft.lang.ui.render.rooms import on_host

SIZES = [(33, 17), (16, 24), (7, 40)]  # (blocks of pixels that are cut off, too)
BLUE = np.array([0.0, 0.0, 1.0])


@pytest.fixture(params=["cpu", pytest.param("emulated", marks=pytest.mark.emulated)], autouse=True)
def arch(request: pytest.FixtureRequest, program: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU, or a GPU in software."""
    if request.param == "emulated":
        emulated.use(monkeypatch)
        ti.init(arch=ti.cuda)


def shown(canvas: Canvas) -> Any:
    """The bytes of the frame, (w, h, 3), and the end of the frame."""
    seen = np.array(canvas.frame.picture())
    canvas.finish()
    return seen[::-1].swapaxes(0, 1)[..., :3]


def as_shown(image: Any) -> Any:
    """The bytes of floats."""
    return (np.clip(np.nan_to_num(image), 0, 1) * 255 + 0.5).astype(np.uint8)


def images(size: tuple[int, int]) -> list[tuple[Any, Any]]:
    """Images of all types that have a kernel of their own, or not, with their bytes."""
    rng = np.random.default_rng(1)
    colors = rng.random((*size, 3)).astype(np.float32) * 1.4 - 0.2
    colors[0, 0], colors[1, 1] = np.nan, np.inf
    grey, raw = colors[..., 0].copy(), rng.integers(0, 256, (*size, 4)).astype(np.uint8)
    colors[1, 1] = grey[1, 1] = 7.0
    field = ti.Vector.field(3, ti.f32, size)
    field.from_numpy(colors)
    ones = raw[..., :1].copy()
    two = np.concatenate([raw[..., :2], np.zeros_like(ones)], 2)
    return [
        (colors, as_shown(colors)),
        (field, as_shown(colors)),
        (grey, as_shown(grey[..., None].repeat(3, 2))),
        (raw, raw[..., :3]),
        (raw[..., :3].copy(), raw[..., :3]),
        (raw[..., :3][:, ::-1], raw[..., :3][:, ::-1]),
        (ones, ones.repeat(3, 2)),
        (ones[..., 0].copy(), ones.repeat(3, 2)),
        (raw[..., :2].copy(), two),
        (colors.astype(np.float64), as_shown(colors)),
    ]


@pytest.mark.parametrize("size", SIZES)
def test_images_of_all_types(size: tuple[int, int]) -> None:
    for number, (image, wanted) in enumerate(images(size)):
        canvas = Canvas(size)
        canvas.set_image(image)
        assert (shown(canvas) == wanted).all(), number


def test_an_image_is_as_it_was_when_it_was_set() -> None:
    field = ti.Vector.field(3, ti.f32, (9, 5))
    for covered in (False, True, True, False):
        canvas = Canvas((9, 5))
        for value in (0.2, 0.8):
            field.fill(value)
            canvas.set_image(field)
            field.fill(0.5)
            if covered:
                canvas.circles(np.array([[0.0, 0.0]], np.float32), 0.1, color=BLUE)
            assert (shown(canvas)[5:, 3:] == round(value * 255)).all()


@pytest.mark.parametrize("kind", [0, 2, 3], ids=["colors", "grey", "bytes"])
def test_something_is_drawn_over_an_image(kind: int) -> None:
    """In the first frame over its bytes, later over its colours: within one step of the same."""
    image, wanted = images((33, 17))[kind]
    canvas, frames = Canvas((33, 17)), []
    for _ in range(3):
        canvas.set_image(image)
        canvas.circles(np.array([[0.5, 0.5]], np.float32), 0.25, color=BLUE)
        frames.append(shown(canvas))
    canvas.set_image(image)
    assert (shown(canvas) == wanted).all(), "nothing is drawn over this one"
    x, y = np.indices((33, 17)) + 0.5
    far = np.hypot(x - 16.5, y - 8.5) > 5.5
    for frame in frames:
        assert (frame[far] == wanted[far]).all()
        assert (frame[16, 8] == [0, 0, 255]).all()
        assert (abs(frame.astype(int) - frames[0]) <= 1).all()


def test_an_image_covers_what_was_drawn_and_keeps_its_depths() -> None:
    camera = ti.ui.Camera()
    camera.position(0, 0, 2)
    canvas, scene = Canvas((24, 24)), ti.ui.Scene()
    scene.set_camera(camera)
    center = np.zeros((1, 3), np.float32)
    for round in range(2):
        scene.particles(center, radius=0.5)
        canvas.scene(scene)
        canvas.set_image(np.full((24, 24, 3), 0.2, np.float32))
        depths = np.array(on_host(canvas.depths))
        assert depths[12, 12] > 0, round
        assert depths[0, 0] == 0
        assert (shown(canvas) == 51).all()
    canvas.set_image(np.full((24, 24, 3), 0.2, np.float32))
    assert (np.array(on_host(canvas.depths)) == 0).all(), "a frame without a scene"


def test_a_frame_after_an_image_has_the_background() -> None:
    canvas = Canvas((9, 5))
    canvas.set_image(np.ones((9, 5, 3), np.float32))
    assert (shown(canvas) == 255).all()
    assert (shown(canvas) == 0).all()
    canvas.circles(np.array([[0.5, 0.5]], np.float32), 0.1, color=BLUE)
    assert (shown(canvas)[0, 0] == 0).all()


@pytest.mark.parametrize("name", list(COLORMAPS))
def test_contours_are_the_same_by_a_kernel(name: str) -> None:
    """Fields of f32 have a kernel, other numbers do not."""
    values = np.random.default_rng(2).random((33, 17)).astype(np.float32) * 1.5 - 0.2
    values[0, 0] = 1.0
    field = ti.field(ti.f32, values.shape)
    draw: list[Callable[[Canvas], None]] = [
        lambda canvas: canvas.contour(field, name),
        lambda canvas: canvas.contour(values.astype(np.float64), name),
        lambda canvas: canvas.contour(field, name, normalize=True),
        lambda canvas: canvas.contour(values.astype(np.float64), name, normalize=True),
    ]
    field.from_numpy(values)
    canvas, frames = Canvas(values.shape), []
    for one in draw:
        one(canvas)
        frames.append(shown(canvas).astype(int))
    assert (abs(frames[0] - frames[1]) <= 1).all()
    assert (abs(frames[2] - frames[3]) <= 1).all()
    assert (frames[0] != frames[2]).any()
    values[3, 4], values[5, 6] = np.nan, np.inf
    field.from_numpy(values)
    draw[2](canvas)
    infinite = shown(canvas).astype(int)
    same = np.isfinite(values)
    assert (abs(infinite - frames[2])[same] <= 1).all(), "the finite numbers set the ends"
