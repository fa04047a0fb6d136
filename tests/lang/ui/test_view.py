"""`ti.ui.View` without a page: what it computes for the messages of one. `tests/lang/notebook` has a real page."""

from __future__ import annotations

import io
import re
import sys
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.lang.extras import MissingLibrary

WHY = "needs anywidget: pip install 'weft[notebook]'"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The messages to the page."""
    anywidget = pytest.importorskip("anywidget", reason=WHY)
    found: list[Any] = []
    monkeypatch.setattr(anywidget.AnyWidget, "send", lambda _, message, buffers=(): found.append((message, buffers)))
    return found


def _view(**more: Any) -> Any:
    def frame(level: float, count: int, on: bool) -> Any:
        assert isinstance(count, int)
        return np.full((8, 4, 3), level if on else 0.0)

    return ti.ui.View(frame, level=(0.0, 1.0, 0.5), count=(1, 9), on=True, **more)


def test_frames_follow_the_controls(sent: list[Any]) -> None:
    image = pytest.importorskip("PIL.Image")
    view = _view()
    assert view.values == {"level": 0.5, "count": 1, "on": True}
    assert view.widget.sliders == [
        {"name": "level", "kind": "float", "low": 0.0, "high": 1.0},
        {"name": "count", "kind": "int", "low": 1, "high": 9},
        {"name": "on", "kind": "bool"},
    ]
    for values, grey in (({}, 127), ({"level": 1.0}, 255), ({"on": False}, 0)):
        view.values = values
        view.widget._handle_custom_msg({"next": True}, [])
        message, (data,) = sent.pop()
        assert message == {"frame": view.frames}
        with image.open(io.BytesIO(data)) as picture:
            assert picture.size == (8, 4)
            assert abs(picture.getpixel((0, 0))[0] - grey) < 3
    assert view.frames == 3
    assert not sent


def test_windows_are_pictures_too(sent: list[Any]) -> None:
    window = ti.ui.Window("w", (6, 5), show_window=False)

    def frame() -> Any:
        window.get_canvas().set_background_color((1, 0, 0))
        window.show()
        return window

    view = ti.ui.View(frame)
    view.step()
    assert view.picture.getpixel((0, 0)) == (255, 0, 0)
    assert view._repr_mimebundle_()[0]["image/png"].startswith(b"\x89PNG")


def test_an_error_is_shown_and_stops_the_view(sent: list[Any]) -> None:
    x = ti.field(ti.f32, 3)

    def frame() -> Any:
        return x[5]

    view = ti.ui.View(frame)
    view.widget._handle_custom_msg({"next": True}, [])
    ((message, _),) = sent
    assert re.search(r"line \d+, in frame\n    return x\[5\]\n.*\n?.*FieldIndexError", message["error"])
    assert "/lang/data/" not in message["error"]
    assert not view.playing


def test_wrong_views(sent: list[Any]) -> None:
    for controls, kind, message in (
        ({"a": 3}, ti.WeftError, r"a: a control is \(low, high\)"),
        ({"a": (3, 1)}, ValueError, "a low number to a higher one"),
        ({"a": (0, 1, 2)}, ValueError, "begins between"),
    ):
        with pytest.raises(kind, match=message):
            ti.ui.View(print, **controls)
    with pytest.raises(ti.WeftError, match="by a function"):
        ti.ui.View(3)
    with pytest.raises(ValueError, match="has no control 'b'; it has level, count, on"):
        _view().values = {"b": 1}


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from weft.lang.ui import view

    view._widget_class.cache_clear()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(MissingLibrary, match=r"pip install 'weft\[notebook\]'"):
        ti.ui.View(print)
    view._widget_class.cache_clear()
