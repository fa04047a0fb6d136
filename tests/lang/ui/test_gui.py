"""GUI without a window: what is drawn, to the pixel, and what a program is told that waits for one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.lang.ui.events import Event, key_name
from weft.tools import imread

DARK = 0x102030


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ti.init(arch=ti.cpu)
    monkeypatch.chdir(tmp_path)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "TI_GUI_SHOW"):
        monkeypatch.delenv(name, raising=False)


def _gui(width: int = 24, height: int = 16, color: int = 0) -> ti.GUI:
    return ti.GUI("test", (width, height), background_color=color, show_gui=False)


def _shot(gui: ti.GUI) -> Any:
    """The frame as a file holds it, [x, y] with y up."""
    gui.show("frame.png")
    return imread("frame.png")


def test_circles_cover_pixels_by_their_distance() -> None:
    gui = _gui()
    gui.circle((0.5, 0.5), color=0xFF8000, radius=3)
    shot = _shot(gui)
    x, y = np.indices((24, 16))
    share = np.clip(3 - np.hypot(x - 12, y - 8), 0, 1)
    assert (shot[..., 0] == (share * 255).astype(np.uint8)).all()
    assert abs(shot[..., 1] - share * 128).max() <= 1
    assert (_shot(gui) == 0).all()  # a new frame is empty


def test_lines_have_round_ends() -> None:
    gui = _gui()
    gui.line((0.25, 0.5), (0.75, 0.5), radius=1)
    row = _shot(gui)[:, 7, 0].tolist()
    assert row == [0] * 5 + [74] + [127] * 12 + [74] + [0] * 5


def test_rectangles_are_outlines() -> None:
    gui = _gui()
    gui.rect((0.25, 0.75), (0.75, 0.25))
    shot = _shot(gui)[..., 0]
    assert shot[12, 8] == 0
    assert shot[6, 8] == shot[12, 12] == shot[17, 8] == shot[12, 3] == 127
    assert shot[6, 11] == 191  # where two lines meet


def test_triangles() -> None:
    gui = _gui(color=DARK)
    gui.triangle((0.25, 0.25), (0.75, 0.25), (0.25, 0.75), color=0x00FF00)
    shot = _shot(gui)
    assert shot[7, 5].tolist() == [0, 255, 0]
    assert shot[16, 10].tolist() == shot[2, 2].tolist() == [0x10, 0x20, 0x30]
    corners = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], float)
    gui.triangles(corners[[0, 3]], corners[[1, 1]], corners[[2, 2]], color=np.array([0xFF0000, 0xFF0000]))
    assert (_shot(gui)[..., 0] == 255).all()  # no seam between neighbours


def test_many_shapes_equal_one_at_a_time() -> None:
    generator = np.random.default_rng(0)
    pos, ends = generator.random((40, 2)), generator.random((40, 2))
    radii = generator.uniform(1, 3, 40)
    colors = generator.integers(0, 1 << 24, 40)
    together, single = _gui(80, 60), _gui(80, 60)
    together.circles(pos[:5], radii[:5], colors[:5])
    for k in range(5):
        single.circle(pos[k], int(colors[k]), radii[k])
    assert np.allclose(together.get_image(), single.get_image(), atol=1e-6)
    together.lines(pos, ends, radius=radii, color=colors)
    for k in range(40):
        single.line(pos[k], ends[k], radii[k], int(colors[k]))
    assert np.allclose(together.get_image(), single.get_image(), atol=1e-6)
    crowd = generator.random((5000, 2)) * 0.2  # goes another way: all of them offset by offset
    together.clear()
    together.circles(crowd, radius=1.5, color=0x068587)
    lit = together.get_image()[..., 2] > 0
    assert lit[:15, :11].mean() > 0.95
    assert not lit[20:].any()


def test_circles_of_fields_and_palettes() -> None:
    gui = _gui()
    pos, which = ti.Vector.field(2, ti.f32, 2), ti.field(ti.i32, 2)
    pos.from_numpy(np.array([[0.25, 0.25], [0.75, 0.75]]))
    which.from_numpy(np.array([1, 0]))
    gui.circles(pos, radius=3, palette=[0xFF0000, 0x0000FF], palette_indices=which)
    shot = _shot(gui)
    assert shot[6, 4].tolist() == [0, 0, 255]
    assert shot[18, 12].tolist() == [255, 0, 0]
    with pytest.raises(ValueError, match="palette_indices"):
        gui.circles(pos, palette=[1, 2])
    with pytest.raises(ValueError, match=r"\(n, 2\), not \(5, 3\)"):
        gui.circles(np.zeros((5, 3)))


def test_arrows_point() -> None:
    gui = _gui(60, 40)
    gui.arrow((0.2, 0.2), (0.6, 0.0))
    lit = np.argwhere(_shot(gui)[..., 0] > 60)
    assert lit.min(0).tolist() == [11, 4]
    assert lit.max(0).tolist() == [48, 11]
    gui.arrow_field(np.full((3, 2, 2), 0.1))
    assert (_shot(gui)[..., 0] > 60).any()
    gui.point_field(np.full((3, 2), 2.0))
    lit = np.argwhere(_shot(gui)[..., 0] == 255)
    assert {(x, y) for x, y in lit} >= {(10, 10), (30, 10), (50, 30)}
    vectors = np.ones((60, 40, 2))
    gui.vector_field(vectors)
    whole = _shot(gui)
    assert (whole[..., 0] > 60).any()
    vectors[30, 20] = np.nan, np.inf
    gui.vector_field(vectors)
    assert (_shot(gui) == whole).mean() > 0.95
    with pytest.raises(ValueError, match="at least 1, not 0"):
        gui.vector_field(vectors, arrow_spacing=0)


def test_text_hangs_from_its_corner() -> None:
    gui = _gui(100, 40)
    gui.text("Hg", (0.1, 0.9), font_size=20, color=0xFFFF00)
    lit = np.argwhere(_shot(gui)[..., 0] > 100)
    assert 10 <= lit[:, 0].min() <= 13
    assert 36 - 25 <= lit[:, 1].min() < lit[:, 1].max() <= 36


@pytest.mark.parametrize("shape", [(), (1,), (2,), (3,), (4,)])
@pytest.mark.parametrize(
    ("dtype", "value", "byte"),
    [(ti.u8, 128, 128), (ti.u16, 32768, 127), (ti.u32, 2**31, 127), (ti.f32, 0.5, 127), (ti.f64, 2.0, 255)],
)
def test_images_of_all_types(shape: tuple[int, ...], dtype: Any, value: float, byte: int) -> None:
    gui = _gui()
    expected = [byte, byte, 0 if shape == (2,) else byte]
    array = np.full((24, 16, *shape), value, dtype.np)
    gui.set_image(array)
    assert _shot(gui)[3, 3].tolist() == expected
    field = ti.field(dtype, array.shape)
    field.from_numpy(array)
    gui.set_image(field)
    assert _shot(gui)[3, 3].tolist() == expected
    if shape and shape != (1,):
        vectors = ti.Vector.field(shape[0], dtype, (24, 16))
        vectors.from_numpy(array)
        gui.set_image(vectors)
        assert _shot(gui)[3, 3].tolist() == expected


def test_images_are_upright() -> None:
    gui = _gui()
    image = np.zeros((24, 16, 3), np.float32)
    image[2, 1] = 1, 0, 0
    gui.set_image(image)
    assert np.argwhere(_shot(gui)[..., 0]).tolist() == [[2, 1]]
    from PIL import Image

    assert np.argwhere(np.asarray(Image.open("frame.png"))[..., 0]).tolist() == [[14, 2]]
    with pytest.raises(ValueError, match="5 x 5 pixels"):
        gui.set_image(np.zeros((5, 5)))
    with pytest.raises(TypeError, match="not int32"):
        gui.set_image(np.zeros((24, 16), np.int32))


def test_contours() -> None:
    gui = _gui()
    ramp = np.linspace(0, 1, 24)[:, None] * np.ones(16)
    gui.contour(ramp)
    assert _shot(gui)[[0, 23], 0].tolist() == [[13, 8, 135], [240, 249, 33]]
    gui.contour(ramp * 7 - 3, normalize=True)
    assert _shot(gui)[[0, 23], 0].tolist() == [[13, 8, 135], [240, 249, 33]]


def test_a_program_that_waits_for_a_window_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_GUI_FRAMES", "3")
    gui = ti.GUI("Hello World!", (24, 16), background_color=DARK)
    while gui.running:
        assert gui.frame < 3
        gui.show()
    assert imread("out/Hello_World_.png")[0, 0].tolist() == [0x10, 0x20, 0x30]
    gui, frames = ti.GUI("other", 8), 0
    while not gui.get_event(ti.GUI.ESCAPE):
        gui.show(f"{frames}.png")
        frames += 1
    assert frames == 3
    assert not Path("out/other.png").exists()
    assert gui.get_key_event().key == gui.EXIT
    with pytest.raises(ti.WeftError, match="no window"):
        gui.get_key_event()


def _happens(gui: ti.GUI, *happenings: Event) -> None:
    class Fake:
        closed, cursor = False, (0.5, 0.25)

        def poll(self) -> list[Event]:
            return [happened.pop(0) for _ in list(happened)]

        def close(self) -> None:
            self.closed = True

    happened = list(happenings)
    gui._window = gui._inputs.window = Fake()  # type: ignore[assignment]


def test_events_and_filters() -> None:
    gui = _gui()
    a, shift = Event(gui.PRESS, key="a"), Event(gui.PRESS, key=gui.SHIFT)
    _happens(gui, Event(gui.MOTION, key=gui.MOVE), shift, a, Event(gui.RELEASE, key="a"))
    assert gui.has_key_event()
    assert gui.get_event((gui.PRESS, "a"))
    assert gui.event is a
    assert a.modifier == [gui.SHIFT]
    assert gui.is_pressed("b", gui.SHIFT)
    assert gui.is_pressed("a"), "a program that asks once for each frame sees each click"
    gui._inputs.next_frame()
    assert not gui.is_pressed("a")
    assert [e.type for e in gui.get_events(gui.RELEASE)] == [gui.RELEASE]
    assert not gui.get_event()
    assert gui.get_cursor_pos() == (0.5, 0.25)
    gui.running = False
    assert not gui.running


@pytest.mark.parametrize(
    ("keysym", "name"),
    [("A", "a"), ("space", " "), ("Shift_R", "Shift"), ("Control_L", "Control"), ("minus", "-"), ("Left", "Left")],
)
def test_names_of_keys(keysym: str, name: str) -> None:
    assert key_name(keysym) == name


def test_widgets() -> None:
    gui = _gui(300, 200)
    radius, label = gui.slider("Radius", 1, 50, step=1), gui.label("X")
    okay, other = gui.button("OK"), gui.button("Go", "go")
    assert (radius.value, label.value, okay, other) == (1, 0, "WidgetButton_OK", "go")
    middle, ok = (104 / 300, 1 - 10 / 200), (20 / 300, 1 - 60 / 200)
    presses = [Event(kind, pos=pos, key=gui.LMB) for pos in (middle, ok) for kind in (gui.PRESS, gui.RELEASE)]
    _happens(gui, *presses)
    assert [e.key for e in gui.get_events(gui.PRESS)] == [okay]
    assert radius.value in (25, 26)
    label.value = 2.5
    gui._window = gui._inputs.window = None
    shot = _shot(gui)
    assert shot[50, 190].tolist() != [0, 0, 0]
    assert shot[250, 190].tolist() == [0, 0, 0]
