"""`ti.ui.Camera`: from where, and how, a scene is seen."""

from __future__ import annotations

import enum
import math
import time
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import any_number, number_of, shown, text_of
from weft.lang.ui.render.eye import Eye
from weft.lang.values.matrix import Vector

__all__ = ["Camera", "ProjectionMode", "make_camera"]

_FARTHEST = 1e18  # whose square is a number of 32 bits
_STEEPEST = 0.495 * math.pi  # how far up or down a walker can look


class ProjectionMode(enum.IntEnum):
    """How depth changes sizes: `Perspective`: what is far is small; `Orthogonal`: not at all."""

    Perspective = 0
    Orthogonal = 1


class Camera:
    """At first at the origin, looking along z, with y up; perspective, 45 degrees high, from 0.1 to 1000 away."""

    def __init__(self) -> None:
        self._position, self._lookat, self._up = np.zeros(3), np.array([0.0, 0, 1]), np.array([0.0, 1, 0])
        self._mode, self._fov, self._near, self._far = ProjectionMode.Perspective, 45.0, 0.1, 1000.0
        self._box = {"left": -1.0, "right": 1.0, "top": 1.0, "bottom": -1.0}
        self._cursor: tuple[float, float] | None = None
        self._moved_at: float | None = None

    @property
    def curr_position(self) -> Any:
        """Where it is."""
        return Vector(self._position.tolist())

    @property
    def curr_lookat(self) -> Any:
        """What it looks at."""
        return Vector(self._lookat.tolist())

    @property
    def curr_up(self) -> Any:
        """Which way is up."""
        return Vector(self._up.tolist())

    def position(self, x: float, y: float, z: float) -> None:
        """Where it is."""
        self._position = _place((x, y, z), "the place of a camera")

    def lookat(self, x: float, y: float, z: float) -> None:
        """The place that is in the middle of the picture."""
        self._lookat = _place((x, y, z), "what a camera looks at")

    def up(self, x: float, y: float, z: float) -> None:
        """The direction that is up in the picture."""
        self._up = _place((x, y, z), "what is up")

    def projection_mode(self, mode: Any) -> None:
        """With perspective, or without. ValueError for what is no ProjectionMode."""
        if not isinstance(mode, int) or mode not in list(ProjectionMode):
            raise ValueError(f"a camera has ProjectionMode.Perspective or .Orthogonal, not {shown(mode)}")
        self._mode = ProjectionMode(mode)

    def fov(self, fov: float) -> None:
        """The height of what is seen in perspective, as an angle in degrees. ValueError outside of (0, 180)."""
        angle = any_number(fov, "a field of view")
        if not 0 < angle < 180:
            raise ValueError(f"a field of view is an angle above 0 and below 180 degrees, not {fov}")
        self._fov = angle

    def left(self, left: float) -> None:
        """Where an orthogonal picture ends, seen from the middle of it; likewise the next three."""
        self._box["left"] = number_of(left, "an end of the picture")

    def right(self, right: float) -> None:
        """See `left`."""
        self._box["right"] = number_of(right, "an end of the picture")

    def top(self, top: float) -> None:
        """See `left`."""
        self._box["top"] = number_of(top, "an end of the picture")

    def bottom(self, bottom: float) -> None:
        """See `left`."""
        self._box["bottom"] = number_of(bottom, "an end of the picture")

    def z_near(self, z_near: float) -> None:
        """What is nearer is not seen. Above 0 in perspective."""
        self._near = number_of(z_near, "z_near")

    def z_far(self, z_far: float) -> None:
        """What is farther is not seen."""
        self._far = number_of(z_far, "z_far")

    def get_view_matrix(self) -> Any:
        """f32 (4, 4): from the world's positions, as rows (x, y, z, 1), to those of the eye, which looks along -z.
        ValueError if it looks at where it is, or straight along `up`."""
        back = self._position - self._lookat
        right = np.cross(self._up, back)
        if not (np.linalg.norm(back) > 0 and np.linalg.norm(right) > 0):
            raise ValueError(
                f"a camera at {self._position.tolist()} that looks at {self._lookat.tolist()} with {self._up.tolist()} "
                "up: it must look at another place, and not straight along what is up"
            )
        back, right = back / np.linalg.norm(back), right / np.linalg.norm(right)
        axes = np.stack([right, np.cross(back, right), back], 1)
        matrix = np.eye(4)
        matrix[:3, :3], matrix[3, :3] = axes, -self._position @ axes
        return matrix.astype(np.float32)

    def get_projection_matrix(self, aspect: float) -> Any:
        """f32 (4, 4): from rows of the eye's positions to the cube of the picture; depth is 1 near, 0 far. `aspect`:
        the width of the picture over its height."""
        aspect = number_of(aspect, "the width of a picture over its height", 0, above=True)
        near, far, matrix = self._near, self._far, np.zeros((4, 4))
        if not (far > near and (near > 0 or self._mode is ProjectionMode.Orthogonal)):
            raise ValueError(f"z_far = {far} must be above z_near = {near}, which is above 0 in perspective")
        if self._mode is ProjectionMode.Perspective:
            scale = 1 / math.tan(math.radians(self._fov) / 2)
            matrix[0, 0], matrix[1, 1] = scale / aspect, scale
            matrix[2, 2], matrix[2, 3], matrix[3, 2] = near / (far - near), -1, far * near / (far - near)
            return matrix.astype(np.float32)
        for axis, (low, high) in enumerate((("left", "right"), ("bottom", "top"))):
            a, b = self._box[low], self._box[high]
            if a == b:
                raise ValueError(f"the picture of an orthogonal camera is empty: {low} and {high} are both {a}")
            matrix[axis, axis], matrix[3, axis] = 2 / (b - a), -(a + b) / (b - a)
        matrix[2, 2], matrix[3, 2], matrix[3, 3] = 1 / (far - near), far / (far - near), 1
        return matrix.astype(np.float32)

    def eye(self, size: tuple[int, int]) -> Eye:
        """What it sees in a picture of that many pixels."""
        view = self.get_view_matrix().astype(np.float64) * np.array([1, 1, -1, 1])
        projection = self.get_projection_matrix(size[0] / size[1])
        half = np.array(size) / 2
        scale, shift = projection[[0, 1], [0, 1]] * half, (projection[3, :2] + 1) * half
        lens = np.concatenate([scale, shift])
        flat = int(self._mode is ProjectionMode.Orthogonal)
        return Eye(view[:3, :3], view[3, :3], lens, self._near, self._far, flat)

    def track_user_inputs(
        self,
        window: Any,
        movement_speed: float = 1.0,
        yaw_speed: float = 2.0,
        pitch_speed: float = 2.0,
        hold_key: str | None = None,
    ) -> None:
        """Walk and look around as keys and pointer say, once a frame: W, S, A, D forward, back, left and right, E and Q
        up and down, `movement_speed` a second; the pointer turns it by that many radians for the width of the window,
        while `hold_key` is down, or always. TypeMismatch for what is no window, and for speeds that are no numbers."""
        if not (hasattr(window, "is_pressed") and hasattr(window, "get_cursor_pos")):
            raise TypeMismatch(f"a camera follows the keys and the pointer of a ti.ui.Window, not of {shown(window)}")
        if hold_key is not None:
            text_of(hold_key, "hold_key")
        walk, yaw_by, pitch_by = (number_of(v, "a speed") for v in (movement_speed, yaw_speed, pitch_speed))
        self.get_view_matrix()  # which says if it looks nowhere
        now = time.perf_counter()
        elapsed = now - (now if self._moved_at is None else self._moved_at)
        self._moved_at = now
        ahead = (self._lookat - self._position) / np.linalg.norm(self._lookat - self._position)
        self._walk(window, ahead, walk * elapsed)
        if hold_key is not None and not window.is_pressed(hold_key):
            self._cursor = None
            return
        x, y = window.get_cursor_pos()
        before = self._cursor or (x, y)
        self._cursor = x, y
        if before != (x, y):
            yaw = math.atan2(ahead[0], ahead[2]) - (x - before[0]) * yaw_by
            pitch = math.asin(max(-1.0, min(1.0, ahead[1]))) + (y - before[1]) * pitch_by
            pitch = max(-_STEEPEST, min(_STEEPEST, pitch))
            ahead = np.array([math.cos(pitch) * math.sin(yaw), math.sin(pitch), math.cos(pitch) * math.cos(yaw)])
            self._lookat = self._position + ahead

    def _walk(self, window: Any, ahead: Any, step: float) -> None:
        aside = np.cross(ahead, self._up)
        aside /= max(float(np.linalg.norm(aside)), 1e-12)
        ways = {"w": ahead, "s": -ahead, "d": aside, "a": -aside, "e": self._up, "q": -self._up}
        for key, way in ways.items():
            if window.is_pressed(key):
                self._position, self._lookat = self._position + step * way, self._lookat + step * way


def _place(values: tuple[Any, Any, Any], what: str) -> Any:
    """A place. ValueError for one that is too far away to be seen from anywhere."""
    place = np.array([number_of(value, what) for value in values])
    if not (abs(place) < _FARTHEST).all():
        raise ValueError(f"{what} is within {_FARTHEST:g} along each axis, not {values}")
    return place


def make_camera() -> Camera:
    """A new camera."""
    return Camera()
