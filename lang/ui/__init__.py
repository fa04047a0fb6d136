"""Pictures: images and videos in files, and a window to draw in. `weft.tools` and `weft.ui` are made of this.

Everywhere `x` goes right and `y` goes up: an image is an array of shape (width, height) or (width, height, channels)
whose [0, 0] is the lower left corner. Pillow does the files; it is imported when first needed.
"""

from __future__ import annotations

from typing import Any

from weft.lang.ui.events import (
    ALT,
    BACKSPACE,
    CAPSLOCK,
    CTRL,
    DOWN,
    ESCAPE,
    EXIT,
    LEFT,
    LMB,
    MMB,
    MOTION,
    MOVE,
    PRESS,
    RELEASE,
    RETURN,
    RIGHT,
    RMB,
    SHIFT,
    SPACE,
    TAB,
    UP,
    WHEEL,
)
from weft.lang.ui.gui import GUI, rgb_to_hex

__all__ = [
    "ALT",
    "BACKSPACE",
    "CAPSLOCK",
    "CTRL",
    "DOWN",
    "ESCAPE",
    "EXIT",
    "GUI",
    "LEFT",
    "LMB",
    "MMB",
    "MOTION",
    "MOVE",
    "PRESS",
    "RELEASE",
    "RETURN",
    "RIGHT",
    "RMB",
    "SHIFT",
    "SPACE",
    "TAB",
    "UP",
    "WHEEL",
    "rgb_to_hex",
]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"weft.ui has no '{name}' yet: of windows there is GUI, which draws in two dimensions")
