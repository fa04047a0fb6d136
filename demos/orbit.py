"""A camera that looks at a point and turns around it, by keys of a window."""

import numpy as np

import weft as ti
from weft import mat3, vec3

LOWEST, HIGHEST, SPEED = 0.02, 1.4, 0.04  # how far it may rise, and how far it goes in a frame, in radians


@ti.data_oriented
class Orbit:
    """It is `far` from the `focus`; `zoom` is the focal length over the height of the picture, `size` its pixels.
    `moved` says whether the last `steer` moved it."""

    keys = (("A, D", "turn left, turn right"), ("W, X", "rise, sink"))

    def __init__(self, focus, far, size, zoom=1.5, turn=0.0, rise=0.3):
        self.focus, self.far, self.size, self.zoom = np.array(focus, float), far, size, zoom
        self.turn, self.rise, self.moved = turn, rise, False

    def lens(self):
        """The eye, and a matrix whose columns are what is right, up and ahead."""
        ahead = -np.array([np.cos(self.turn), np.tan(self.rise), np.sin(self.turn)]) * np.cos(self.rise)
        right = np.array([-ahead[2], 0, ahead[0]]) / np.cos(self.rise)
        return vec3(self.focus - self.far * ahead), mat3(np.stack([right, np.cross(right, ahead), ahead], 1))

    def steer(self, window):
        """Move if keys are held."""
        left, right, up, down = (window.is_pressed(key) for key in "adwx")
        before = self.turn, self.rise
        self.turn += SPEED * (right - left)
        self.rise = min(max(self.rise + SPEED * (up - down), LOWEST), HIGHEST)
        self.moved = (self.turn, self.rise) != before

    @ti.func
    def ray(self, lens, x, y):
        """The direction of what is seen at pixel x, y."""
        width, height = ti.static(self.size)
        return (lens @ vec3((x - 0.5 * width) / height, y / height - 0.5, self.zoom)).normalized()
