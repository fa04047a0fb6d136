"""`ti.ui.Canvas`: what a window shows, drawn anew for each frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import any_number, number_of, shown
from weft.lang.ui.colormaps import colored, numbers
from weft.lang.ui.render.flat import draw_circles, draw_lines, draw_triangles
from weft.lang.ui.render.frame import Frame
from weft.lang.ui.scene import Scene
from weft.lang.ui.vertices import arrows_of, color_of, colors_for, groups, longest, points, sizes_for
from weft.lang.values.matrix import Vector

__all__ = ["Canvas"]

_GREY = (0.5, 0.5, 0.5)
_TIP, _TIP_ANGLE = 0.25, np.radians(150)  # of an arrow: its length, as a part of the arrow's, and its turn


class Canvas:
    """A window's `get_canvas()`. What is drawn later covers what was drawn before.

    Positions are fields, ndarrays or arrays of vectors of two numbers in [0, 1], (0, 0) lower left, of any shape; sizes
    count in heights of the window. A colour is three numbers in [0, 1]; `per_vertex_color` gives each vertex its own
    instead, and `indices` say which vertices make up what. ValueError for what does not fit together.

    `began`: whether something of this frame is drawn."""

    def __init__(self, size: tuple[int, int]) -> None:
        self._frame, self._background, self.began = Frame(size), Vector([0.0, 0.0, 0.0]), False
        self._size = np.array(size, np.float32)

    @property
    def frame(self) -> Frame:
        """The picture: of one colour at the first call of a frame, then what was drawn on it."""
        if not self.began:
            self._frame.clear(self._background)
            self.began = True
        return self._frame

    @property
    def depths(self) -> Any:
        """The depths of the frame so far; right after it is shown, of that."""
        return (self.frame if self._frame.depths is None else self._frame).depths

    def finish(self) -> None:
        """The frame is shown: what comes next is of another."""
        self.began = False

    def set_background_color(self, color: Any) -> None:
        """The colour of an empty frame; of this one, too, if nothing is drawn on it yet."""
        self._background = Vector(color_of(color).tolist())

    def set_image(self, img: Any) -> None:
        """Fill the window with an image: a field or array of shape (w, h), or (w, h) and 1 to 4 channels, floats in
        [0, 1] or unsigned integers over their range. It is stretched to the window: a pixel takes the nearest."""
        self.frame.set_image(img)

    def contour(self, scalar_field: Any, cmap_name: str = "plasma", normalize: bool = False) -> None:
        """Fill the window with the numbers of a two-dimensional field, 0 to 1, as colours of a map: plasma, viridis,
        inferno, magma or gray; `normalize`: from the least to the greatest."""
        self.frame.set_image(colored(numbers(scalar_field, normalize), cmap_name))

    def triangles(self, vertices: Any, color: Any = _GREY, indices: Any = None, per_vertex_color: Any = None) -> None:
        """Filled triangles: of each three vertices, or of each three indices."""
        places = points(vertices, 2, "vertices")
        shades = colors_for(len(places), color, per_vertex_color)
        draw_triangles(self.frame, places * self._size, groups(indices, 3, len(places)), shades)

    def lines(
        self, vertices: Any, width: float, indices: Any = None, color: Any = _GREY, per_vertex_color: Any = None
    ) -> None:
        """Straight lines with round ends: between each two vertices, or each two indices."""
        places = points(vertices, 2, "vertices")
        shades = colors_for(len(places), color, per_vertex_color)
        self._lines(places, groups(indices, 2, len(places)), width, shades)

    def _lines(self, places: Any, pairs: Any, width: float, shades: Any) -> None:
        a, b = pairs.T
        radii = np.full(len(pairs), any_number(width, "the width of lines") * self._size[1] / 2, np.float32)
        draw_lines(self.frame, places[a] * self._size, places[b] * self._size, radii, shades[a], shades[b])

    def circles(
        self,
        centers: Any,
        radius: float,
        color: Any = _GREY,
        per_vertex_color: Any = None,
        per_vertex_radius: Any = None,
    ) -> None:
        """Filled circles, all of one radius or each of its own."""
        places = points(centers, 2, "centers")
        radii = sizes_for(len(places), radius, per_vertex_radius) * self._size[1]
        draw_circles(self.frame, places * self._size, radii, colors_for(len(places), color, per_vertex_color))

    def vector_field(
        self,
        vector_field: Any,
        arrow_spacing: int = 5,
        scale: float = 0.1,
        width: float = 0.002,
        color: Any = (0, 0, 0),
    ) -> None:
        """Arrows for a two-dimensional field of vectors that fills the window: one for each `arrow_spacing` elements
        along both axes. The longest is `scale` times as long as the window is high; NaN and infinite vectors have
        none."""
        vectors = arrows_of(vector_field, arrow_spacing)
        chosen = vectors[::arrow_spacing, ::arrow_spacing].reshape(-1, 2)
        x, y = (np.arange(0, n, arrow_spacing) + 0.5 for n in vectors.shape[:2])
        begins = np.stack(np.meshgrid(x, y, indexing="ij"), 2).reshape(-1, 2) / vectors.shape[:2]
        along = chosen * (number_of(scale, "the scale of arrows") / longest(chosen))  # in heights of the window
        tips = [along]
        for turn in (_TIP_ANGLE, -_TIP_ANGLE):
            rotation = np.array([(np.cos(turn), np.sin(turn)), (-np.sin(turn), np.cos(turn))])
            tips.append(along + _TIP * along @ rotation)
        square = self._size[1] / self._size
        ends = [begins + tip * square for tip in tips]
        strokes = [np.stack([a, b], 1) for a, b in ((begins, ends[0]), (ends[0], ends[1]), (ends[0], ends[2]))]
        places = np.concatenate(strokes).reshape(-1, 2).astype(np.float32)
        self._lines(places, groups(None, 2, len(places)), width, colors_for(len(places), color, None))

    def scene(self, scene: Any) -> None:
        """What the scene's camera sees of it, over what is there; see `Scene`."""
        if not isinstance(scene, Scene):
            raise TypeMismatch(f"Canvas.scene takes a ti.ui.Scene, not {shown(scene)}")
        scene.draw(self.frame)
