"""`ti.ui.Gui` and `ti.ui.Window` without a window: widgets, and programs from beginning to end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.lang.ui.events import LMB, MOTION, MOVE, PRESS, RELEASE, Event
from weft.lang.ui.images import imread
from weft.lang.ui.window import Window


def _window(width: int = 96, height: int = 64) -> Window:
    return ti.ui.Window("test", (width, height), show_window=False)


def _colors(window: Window) -> Any:
    return window.get_image_buffer_as_numpy()[..., :3]


def _panel(window: Window, values: dict[str, Any]) -> None:
    """A frame with one of each widget; `values` become the new ones."""
    with window.get_gui().sub_window("Panel", 0.1, 0.1, 0.8, 0.5) as gui:
        gui.text("some words", color=(0.5, 0.9, 0.6))
        values["float"] = gui.slider_float("float", values["float"], 0, 2)
        values["int"] = gui.slider_int("int", values["int"], -5, 5)
        values["tick"] = gui.checkbox("tick", values["tick"])
        values["color"] = gui.color_edit_3("color", values["color"])
        values["clicks"] += gui.button("press")


def _values() -> dict[str, Any]:
    return {"float": 0.5, "int": 2, "tick": False, "color": (0.9, 0.4, 0.2), "clicks": 0}


def test_panels_look_as_they_did(like: Any) -> None:
    window, values = _window(300, 300), _values()
    window.get_canvas().set_background_color((0.3, 0.4, 0.5))
    _panel(window, values)
    like(window, "panel", 0.03)
    assert values == _values()


def _drag(window: Window, values: dict[str, Any], row: int, begin: float, end: float) -> None:
    """Press the row of the panel at a part of its width, let go at another; a frame after each."""
    y = 1 - (0.1 + (26 + 10 + row * 27 + 11) / 300)
    for x, kind, key in ((begin, PRESS, LMB), (end, MOTION, MOVE), (end, RELEASE, LMB)):
        place = (0.1 + (10 + x * 220) / 300, y)
        window.get_gui().handle(Event(kind, [], place, key))
        _panel(window, values)
        window.show()


def test_widgets_do_what_the_pointer_says() -> None:
    window, values = _window(300, 300), _values()
    _panel(window, values)
    window.show()
    _drag(window, values, 1, 0.1, 0.45)
    assert values["float"] == pytest.approx(1.5)
    _drag(window, values, 1, 0.3, 5)
    assert values["float"] == 2
    _drag(window, values, 2, 0.3, 0.0)
    assert values["int"] == -5
    _drag(window, values, 3, 0.02, 0.02)
    assert values["tick"] is True
    _drag(window, values, 3, 0.02, 3)  # let go beside it
    assert values["tick"] is True
    _drag(window, values, 4, 0.25, 0.3)
    assert values["color"] == pytest.approx((0.9, 0.5, 0.2))
    _drag(window, values, 5, 0.5, 0.5)
    assert values["clicks"] == 1
    _drag(window, values, 7, 0.5, 0.5)  # below all of them
    assert values == {"float": 2, "int": -5, "tick": True, "color": pytest.approx((0.9, 0.5, 0.2)), "clicks": 1}


def test_panels_are_dragged_by_their_titles() -> None:
    window, values = _window(300, 300), _values()
    _panel(window, values)
    before = window.get_image_buffer_as_numpy()
    window.show()
    gui = window.get_gui()
    for place, kind, key in (((0.5, 0.86), PRESS, LMB), ((0.55, 0.76), MOTION, MOVE), ((0.55, 0.76), RELEASE, LMB)):
        gui.handle(Event(kind, [], place, key))
        _panel(window, values)
        after = window.get_image_buffer_as_numpy()
        window.show()
    assert (after[45:280, 10:200] == before[30:265, 40:230]).all()


def _send(window: Window, *events: Event) -> None:
    """Let the window have these events at its next poll."""

    class Fake:
        closed, cursor = False, (0.5, 0.5)

        def poll(self) -> list[Event]:
            return [happened.pop(0) for _ in list(happened)]

    happened = list(events)
    window._inputs.window = Fake()  # type: ignore[assignment]


def _at(row: int, x: float) -> tuple[float, float]:
    return 0.1 + (10 + x * 220) / 300, 1 - (0.1 + (26 + 10 + row * 27 + 11) / 300)


def _click(row: int, x: float) -> list[Event]:
    """A click, after which the pointer goes elsewhere."""
    place = _at(row, x)
    return [Event(PRESS, [], place, LMB), Event(RELEASE, [], place, LMB), Event(MOTION, [], (0.99, 0.01), MOVE)]


def test_no_click_is_lost_if_frames_are_slow() -> None:
    """All clicks come between two frames, and the pointer has left each widget before the next frame."""
    window, values = _window(300, 300), _values()
    _panel(window, values)
    window.show()
    _send(window, *(event for _ in range(5) for event in _click(5, 0.5)), *_click(3, 0.02), *_click(1, 0.45))
    for _ in range(9):
        _panel(window, values)
        window.show()
    assert values["clicks"] == 5
    assert values["tick"] is True
    assert values["float"] == pytest.approx(1.5)


def test_clicks_between_two_frames_are_seen_for_one_frame() -> None:
    window = _window(300, 300)
    _send(window, Event(PRESS, [], (0.9, 0.1), LMB), Event(RELEASE, [], (0.9, 0.1), LMB))
    pressed = []
    for _ in range(4):
        pressed.append(window.is_pressed(LMB))
        window.show()
    assert pressed == [False, True, False, False]


def test_a_drag_of_a_panel_never_reaches_the_program() -> None:
    """Also its first motions, which come in the same frame as the press; and not the release."""
    window, values = _window(300, 300), _values()
    for place in ((0.5, 0.86), _at(1, 0.2)):  # the title, a slider
        _panel(window, values)
        window.show()
        x, y = place
        drag = [Event(MOTION, [], (x + k / 100, y), MOVE) for k in range(5)]
        _send(window, Event(PRESS, [], place, LMB), *drag)
        _panel(window, values)
        assert not list(window.get_events())
        assert not window.is_pressed(LMB)
        window.show()
        _send(window, *drag, Event(RELEASE, [], (x + 0.3, y), LMB), Event(MOTION, [], (0.99, 0.01), MOVE))
        _panel(window, values)
        assert [event.pos for event in window.get_events()] == [(0.99, 0.01)]
        assert not window.is_pressed(LMB)
        window.show()


def test_panels_that_do_not_pair_up_say_so() -> None:
    window = _window()
    gui = window.get_gui()
    with pytest.raises(RuntimeError, match="a widget must be in a panel"):
        gui.text("lost")
    gui.begin("a", 0, 0, 1, 1)
    with pytest.raises(RuntimeError, match="panel 'b' begins before panel 'a' has ended"):
        gui.begin("b", 0, 0, 1, 1)
    with pytest.raises(RuntimeError, match="panel 'a' has not ended"):
        window.show()


def test_a_program_that_waits_for_a_window_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_GUI_FRAMES", "3")
    window = ti.ui.Window("a name/of it", (30, 20), vsync=True)
    frames, escaped = 0, False
    while window.running:
        window.get_canvas().set_background_color((1, 0, 0))
        escaped |= window.get_event(ti.ui.PRESS) and window.event.key == ti.ui.ESCAPE
        window.show()
        frames += 1
    assert frames == 3
    assert window.get_event(ti.ui.PRESS)
    assert window.event.key == ti.ui.ESCAPE
    assert window.event.action is ti.ui.PRESS
    assert not window.get_event(ti.ui.RELEASE)
    assert window.event is None
    assert imread("out/a_name_of_it.png", 3)[5, 5].tolist() == [255, 0, 0]
    assert not escaped


def test_notebooks_get_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shown:
        def __init__(self) -> None:
            self.frames: list[bytes] = []

        def display(self, window: Any, display_id: bool) -> Any:
            assert display_id
            self.update(window)
            return self

        def update(self, window: Any) -> None:
            self.frames.append(window._repr_png_())

    class Events:
        def register(self, event: str, told: Any) -> None:
            assert event == "post_run_cell"
            self.told = told

        def unregister(self, event: str, told: Any) -> None:
            assert told == self.told

    class Python:
        events = Events()

        display = Shown()

        @staticmethod
        def get_ipython() -> Any:
            return type("Shell", (), {"kernel": object(), "events": Python.events})

    monkeypatch.setitem(__import__("sys").modules, "IPython", Python)
    window = ti.ui.Window("cell", 24)
    for level in (0.0, 1.0):
        window.get_canvas().set_background_color((level, 0, 0))
        window.show()
    assert window.running
    assert len(Python.display.frames) == 1, "the second frame came too fast"
    Python.events.told()
    assert len(Python.display.frames) == 2, "the last one is shown"
    assert all(frame.startswith(b"\x89PNG") for frame in Python.display.frames)
    Path("frame.png").write_bytes(Python.display.frames[1])
    assert (imread("frame.png") == [255, 0, 0]).all()


def test_videos_are_made_of_frames() -> None:
    window, video = _window(32, 32), ti.tools.VideoManager("out", framerate=20, automatic_build=False)
    for k in range(4):
        window.get_canvas().circles(np.array([(0.2 + 0.2 * k, 0.5)]), 0.2, (1, 1, 0))
        video.write_frame(window.get_image_buffer_as_numpy())
        window.show()
    video.make_video(mp4=False, gif=True)
    assert Path(video.get_output_filename(".gif")).stat().st_size > 100


def test_a_window_outlives_its_program() -> None:
    window = _window(16, 16)
    window.get_canvas().circles(np.array([(0.5, 0.5)]), 0.5, (1, 1, 1))
    window.show()
    ti.init(arch=ti.cpu)
    window.get_canvas().circles(np.array([(0.5, 0.5)]), 0.5, (0, 1, 0))
    assert _colors(window)[8, 8].tolist() == [0, 1, 0]
