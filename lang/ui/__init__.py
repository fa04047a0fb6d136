"""Images and videos in files, and windows to draw in. `weft.tools` and `weft.ui` consist of these modules.

Everywhere, `x` points right and `y` points up: an image is an array of shape (width, height) or (width, height,
channels), and [0, 0] is the lower left corner. Pillow reads and writes files. It is imported when it is first needed.

The names of this package are imported at their first access, because drawing imports kernels, and files do not need
them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = [
    "ALT",  # pyright: ignore[reportUnsupportedDunderAll]
    "BACKSPACE",  # pyright: ignore[reportUnsupportedDunderAll]
    "CAPSLOCK",  # pyright: ignore[reportUnsupportedDunderAll]
    "CTRL",  # pyright: ignore[reportUnsupportedDunderAll]
    "DOWN",  # pyright: ignore[reportUnsupportedDunderAll]
    "ESCAPE",  # pyright: ignore[reportUnsupportedDunderAll]
    "EXIT",  # pyright: ignore[reportUnsupportedDunderAll]
    "GUI",  # pyright: ignore[reportUnsupportedDunderAll]
    "LEFT",  # pyright: ignore[reportUnsupportedDunderAll]
    "LMB",  # pyright: ignore[reportUnsupportedDunderAll]
    "MMB",  # pyright: ignore[reportUnsupportedDunderAll]
    "MOTION",  # pyright: ignore[reportUnsupportedDunderAll]
    "MOVE",  # pyright: ignore[reportUnsupportedDunderAll]
    "PRESS",  # pyright: ignore[reportUnsupportedDunderAll]
    "RELEASE",  # pyright: ignore[reportUnsupportedDunderAll]
    "RETURN",  # pyright: ignore[reportUnsupportedDunderAll]
    "RIGHT",  # pyright: ignore[reportUnsupportedDunderAll]
    "RMB",  # pyright: ignore[reportUnsupportedDunderAll]
    "SHIFT",  # pyright: ignore[reportUnsupportedDunderAll]
    "SPACE",  # pyright: ignore[reportUnsupportedDunderAll]
    "TAB",  # pyright: ignore[reportUnsupportedDunderAll]
    "UP",  # pyright: ignore[reportUnsupportedDunderAll]
    "WHEEL",  # pyright: ignore[reportUnsupportedDunderAll]
    "Camera",  # pyright: ignore[reportUnsupportedDunderAll]
    "Canvas",  # pyright: ignore[reportUnsupportedDunderAll]
    "Gui",  # pyright: ignore[reportUnsupportedDunderAll]
    "ProjectionMode",  # pyright: ignore[reportUnsupportedDunderAll]
    "Scene",  # pyright: ignore[reportUnsupportedDunderAll]
    "View",  # pyright: ignore[reportUnsupportedDunderAll]
    "Window",  # pyright: ignore[reportUnsupportedDunderAll]
    "check_ggui_availability",  # pyright: ignore[reportUnsupportedDunderAll]
    "make_camera",  # pyright: ignore[reportUnsupportedDunderAll]
    "rgb_to_hex",  # pyright: ignore[reportUnsupportedDunderAll]
]

# The module of each name.
_HOMES: dict[str, str] = {
    **dict.fromkeys(("Camera", "ProjectionMode", "make_camera"), "camera"),
    **dict.fromkeys(("GUI", "rgb_to_hex"), "gui"),
    **dict.fromkeys(("Window", "check_ggui_availability"), "window"),
    "Canvas": "canvas",
    "Gui": "panels",
    "Scene": "scene",
    "View": "view",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"weft.ui has no '{name}'")
    found = getattr(import_module(f"weft.lang.ui.{_HOMES.get(name, 'events')}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
