"""`ti.ui.Camera`: the position, direction and projection with which a scene is seen."""

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

_FARTHEST = 1e18  # whose square fits an f32
_STEEPEST = 0.495 * math.pi  # the steepest view upwards or downwards while walking


class ProjectionMode(enum.IntEnum):
    """How depth changes sizes: with `Perspective`, distant objects are smaller; with `Orthogonal`, they are not.
    `Camera.projection_mode` takes one of them.

    Example:
        camera = ti.ui.Camera()
        camera.projection_mode(ti.ui.ProjectionMode.Orthogonal)
        camera.left(-2.0)
        [mode.name for mode in ti.ui.ProjectionMode]  # ['Perspective', 'Orthogonal']
    """

    Perspective = 0
    Orthogonal = 1


class Camera:
    """A camera. It starts at the origin and looks along z, with y up, in perspective, with a field of view of 45
    degrees, and sees distances from 0.1 to 1000.

    Example:
        camera = ti.ui.Camera()
        camera.position(0.0, 1.0, 5.0)
        camera.lookat(0.0, 0.0, 0.0)
        camera.fov(60)
        camera.curr_position, camera.curr_up  # ([0. 1. 5.], [0. 1. 0.])
        camera.get_view_matrix().shape, camera.get_projection_matrix(1.5).shape  # ((4, 4), (4, 4))
    """

    def __init__(self) -> None:
        self._position, self._lookat, self._up = np.zeros(3), np.array([0.0, 0, 1]), np.array([0.0, 1, 0])
        self._mode, self._fov, self._near, self._far = ProjectionMode.Perspective, 45.0, 0.1, 1000.0
        self._box = {"left": -1.0, "right": 1.0, "top": 1.0, "bottom": -1.0}
        self._cursor: tuple[float, float] | None = None
        self._moved_at: float | None = None

    @property
    def curr_position(self) -> Any:
        """The position of the camera, a vector of three numbers."""
        return Vector(self._position.tolist())

    @property
    def curr_lookat(self) -> Any:
        """The point in the middle of the picture, a vector of three numbers."""
        return Vector(self._lookat.tolist())

    @property
    def curr_up(self) -> Any:
        """The direction that is up in the picture, a vector of three numbers."""
        return Vector(self._up.tolist())

    def position(self, x: float, y: float, z: float) -> None:
        """Set the position of the camera: three numbers, in world coordinates."""
        self._position = _place((x, y, z), "the position of a camera")

    def lookat(self, x: float, y: float, z: float) -> None:
        """Set the point in the middle of the picture."""
        self._lookat = _place((x, y, z), "the point that a camera looks at")

    def up(self, x: float, y: float, z: float) -> None:
        """Set the direction that is up in the picture."""
        self._up = _place((x, y, z), "the up vector of a camera")

    def projection_mode(self, mode: Any) -> None:
        """Set the projection: with perspective or without. Raises ValueError for an object that is not a
        ProjectionMode."""
        if not isinstance(mode, int) or mode not in list(ProjectionMode):
            raise ValueError(
                f"the mode of a camera must be ProjectionMode.Perspective or .Orthogonal, not {shown(mode)}"
            )
        self._mode = ProjectionMode(mode)

    def fov(self, fov: float) -> None:
        """Set the vertical field of view in perspective, in degrees. Raises ValueError outside of (0, 180)."""
        angle = any_number(fov, "a field of view")
        if not 0 < angle < 180:
            raise ValueError(f"a field of view must be an angle above 0 and below 180 degrees, not {fov}")
        self._fov = angle

    def left(self, left: float) -> None:
        """Set the left edge of an orthogonal picture, measured from its middle. The next three methods set the other
        edges."""
        self._box["left"] = number_of(left, "an end of the picture")

    def right(self, right: float) -> None:
        """Set the right edge of an orthogonal picture, measured from its middle. See `left`."""
        self._box["right"] = number_of(right, "an end of the picture")

    def top(self, top: float) -> None:
        """Set the upper edge of an orthogonal picture, measured from its middle. See `left`."""
        self._box["top"] = number_of(top, "an end of the picture")

    def bottom(self, bottom: float) -> None:
        """Set the lower edge of an orthogonal picture, measured from its middle. See `left`."""
        self._box["bottom"] = number_of(bottom, "an end of the picture")

    def z_near(self, z_near: float) -> None:
        """Set the near plane. Closer objects are not seen. It must be above 0 in perspective."""
        self._near = number_of(z_near, "z_near")

    def z_far(self, z_far: float) -> None:
        """Set the far plane. Farther objects are not seen."""
        self._far = number_of(z_far, "z_far")

    def get_view_matrix(self) -> Any:
        """Return the view matrix: f32 (4, 4), from world positions, as rows (x, y, z, 1), to positions of the eye,
        which looks along -z. Raises ValueError if the camera looks at its own position, or exactly along `up`."""
        back = self._position - self._lookat
        right = np.cross(self._up, back)
        if not (np.linalg.norm(back) > 0 and np.linalg.norm(right) > 0):
            raise ValueError(
                f"a camera at {self._position.tolist()} cannot look at {self._lookat.tolist()} with the up "
                f"vector {self._up.tolist()}: the two points must differ, and the direction must not be "
                "parallel to the up vector"
            )
        back, right = back / np.linalg.norm(back), right / np.linalg.norm(right)
        axes = np.stack([right, np.cross(back, right), back], 1)
        matrix = np.eye(4)
        matrix[:3, :3], matrix[3, :3] = axes, -self._position @ axes
        return matrix.astype(np.float32)

    def get_projection_matrix(self, aspect: float) -> Any:
        """Return the projection matrix: f32 (4, 4), from eye positions, as rows, to the cube of the picture. Depth is 1
        at the near plane and 0 at the far plane. `aspect` is the width of the picture divided by its height."""
        aspect = number_of(aspect, "the width of a picture over its height", 0, above=True)
        near, far, matrix = self._near, self._far, np.zeros((4, 4))
        if not (far > near and (near > 0 or self._mode is ProjectionMode.Orthogonal)):
            raise ValueError(f"z_far = {far} must be above z_near = {near}, and z_near must be above 0 in perspective")
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
        """Return the `Eye` for a picture of that many pixels."""
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
        """Move and turn the camera by keys and pointer. Call it once per frame. W, S, A and D move forward, back, left
        and right, E and Q up and down, by `movement_speed` per second. The pointer turns the camera, by that many
        radians for the width of the window, while `hold_key` is down, or always without a `hold_key`. Raises
        TypeMismatch for an object that is not a window, and for speeds that are not numbers."""
        if not (hasattr(window, "is_pressed") and hasattr(window, "get_cursor_pos")):
            raise TypeMismatch(f"track_user_inputs takes a ti.ui.Window, not {shown(window)}")
        if hold_key is not None:
            text_of(hold_key, "hold_key")
        walk, yaw_by, pitch_by = (number_of(v, "a speed") for v in (movement_speed, yaw_speed, pitch_speed))
        self.get_view_matrix()  # raises ValueError for a camera without a direction
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
    """Return a position. Raises ValueError for one that is too far away to be visible from anywhere."""
    place = np.array([number_of(value, what) for value in values])
    if not (abs(place) < _FARTHEST).all():
        raise ValueError(f"{what} must be within {_FARTHEST:g} along each axis, not {values}")
    return place


def make_camera() -> Camera:
    """Return a new camera, as `ti.ui.Camera()` does. Taichi's programs use this name.

    Example:
        camera = ti.ui.make_camera()
        camera.up(0.0, 0.0, 1.0)
        camera.curr_up  # [0. 0. 1.]
    """
    return Camera()
