"""`ti.ui.View`: a running simulation in a notebook, with buttons and sliders."""

from __future__ import annotations

import functools
import io
import traceback
import types
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import flag_of, number_of, shown
from weft.lang.extras import package
from weft.lang.notebook.screen import Png
from weft.lang.notebook.tracebacks import entries_of, users_part
from weft.lang.ui.image_order import rows
from weft.lang.ui.images import as_bytes, as_floats, pillow
from weft.lang.ui.window import Window

__all__ = ["View"]


class View:
    """A picture with controls below the cell of a notebook, while other cells can run.

    `frame(**values)` computes a frame and returns its picture: a field or array as `GUI.set_image` takes it, or a
    `ti.ui.Window`. Each keyword is a control, and a parameter of `frame`: `(low, high)` or `(low, high, value)` is a
    slider, of whole numbers if all three are whole, and True or False is a box to tick. If `playing` is false, frames
    are only computed when the user presses Step or moves a slider.

    The page asks for each frame after it has shown the one before. An exception in `frame` is shown and stops the view.
    Raises MissingLibrary without the package anywidget.

    Example:
        pixels = ti.field(ti.f32, (32, 32))

        def simulate(gravity):
            pixels.fill(gravity / 20)
            return pixels

        view = ti.ui.View(simulate, playing=False, gravity=(0.0, 20.0, 9.8))
        view.step()
        view.values  # {'gravity': 9.8}
    """

    def __init__(self, frame: Callable[..., Any], playing: bool = True, **controls: Any) -> None:
        if not callable(frame):
            raise TypeMismatch(f"a view computes frames by a function, not by {shown(frame)}")
        rows_of_controls = [_control(name, value) for name, value in controls.items()]
        self._frame, self.frames = frame, 0
        self.picture: Any = None
        self.widget: Any = _widget_class()(
            sliders=[{key: value for key, value in row.items() if key != "value"} for row in rows_of_controls],
            values={row["name"]: row["value"] for row in rows_of_controls},
            playing=flag_of(playing, "playing"),
        )
        self.widget.on_msg(self._asked)

    @property
    def values(self) -> dict[str, Any]:
        """The values of the controls. Assign a dict to set some of them."""
        return dict(self.widget.values)

    @values.setter
    def values(self, values: Mapping[str, Any]) -> None:
        unknown = values.keys() - self.widget.values.keys()
        if unknown:
            raise ValueError(f"the view has no control {sorted(unknown)[0]!r}; it has {', '.join(self.values)}")
        self.widget.values = {**self.widget.values, **values}

    @property
    def playing(self) -> bool:
        """Whether the page asks for one frame after the other. Set it to start or stop the view."""
        return bool(self.widget.playing)

    @playing.setter
    def playing(self, playing: bool) -> None:
        self.widget.playing = flag_of(playing, "View.playing")

    def step(self) -> None:
        """Compute one frame and show it, also while the view is stopped."""
        self.picture = _picture(self._frame(**self.values))
        self.frames += 1
        self.widget.send({"frame": self.frames}, [_encoded(self.picture)])

    def _asked(self, _: Any, message: Any, __: Any) -> None:
        """The page wants a frame."""
        if not message.get("next"):
            return
        try:
            self.step()
        except (Exception, KeyboardInterrupt) as error:
            self.playing = False
            error.__traceback__ = users_part(error, entries_of(error)[2:])
            self.widget.send({"error": "".join(traceback.format_exception(error))})

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The controls, and, for pages that have no Python, the last picture."""
        found = self.widget._repr_mimebundle_(**options)
        data, facts = found if isinstance(found, tuple) else (found or {}, {})
        if self.picture is not None:
            data = {**data, "image/png": Png(self.picture)._repr_png_()}
        return data, facts


def _control(name: str, value: Any) -> dict[str, Any]:
    """Return a control: its name and kind, and its range. Raises TypeMismatch and ValueError for invalid ones."""
    if isinstance(value, bool):
        return {"name": name, "kind": "bool", "value": value}
    if not isinstance(value, tuple) or len(value) not in (2, 3):
        raise TypeMismatch(f"{name}: a control is (low, high), (low, high, value), True or False, not {shown(value)}")
    whole = all(isinstance(number, int) for number in value)
    low, high, *rest = (number_of(number, f"a number of {name}") for number in value)
    start = rest[0] if rest else low
    if not low <= start <= high or low == high:
        raise ValueError(f"{name}: a slider goes from a low number to a higher one, and begins between, not {value}")
    kind = int if whole else float
    return {"name": name, "kind": kind.__name__, "low": kind(low), "high": kind(high), "value": kind(start)}


def _picture(shown_by_user: Any) -> Any:
    """Return a pillow image of what a frame function returns."""
    if isinstance(shown_by_user, Window):
        return shown_by_user.picture().convert("RGB")
    pixels = as_bytes(as_floats(shown_by_user, "a view"), "a view")
    return pillow().fromarray(np.ascontiguousarray(rows(pixels)))


def _encoded(picture: Any) -> bytes:
    """Return the picture as bytes: JPEG with colours at full resolution, which takes a third of the time of a PNG."""
    file = io.BytesIO()
    picture.save(file, "jpeg", quality=92, subsampling=0)
    return file.getvalue()


def _part(name: str) -> str:
    return files("weft.lang.ui").joinpath(name).read_text(encoding="utf-8")


@functools.cache
def _widget_class() -> Any:
    """Return the class of widgets, made when the first view is: anywidget is an extra."""
    base, traits = package("anywidget").AnyWidget, package("traitlets")

    def fill(space: dict[str, Any]) -> None:
        space["_esm"], space["_css"] = _part("view.js"), _part("view.css")
        space["sliders"] = traits.List().tag(sync=True)
        space["values"] = traits.Dict().tag(sync=True)
        space["playing"] = traits.Bool(True).tag(sync=True)

    return types.new_class("_Widget", (base,), exec_body=fill)
