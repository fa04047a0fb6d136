"""`ti.ui.Canvas`: the contents of a window, drawn again for each frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import any_number, flag_of, number_of, shown
from weft.lang.ui.colormaps import colored, extent, numbers, table
from weft.lang.ui.render.flat import draw_circles, draw_lines, draw_triangles
from weft.lang.ui.render.frame import Frame
from weft.lang.ui.scene import Scene
from weft.lang.ui.vertices import arrows_of, color_of, colors_for, groups, longest, points, sizes_for
from weft.lang.values.matrix import Vector

__all__ = ["Canvas"]

_GREY = (0.5, 0.5, 0.5)
_TIP, _TIP_ANGLE = 0.25, np.radians(150)  # of the head of an arrow: its length as a part of the arrow's, and its angle


class Canvas:
    """The result of a window's `get_canvas()`. Later drawings cover earlier ones.

    Positions are fields, ndarrays or arrays, of any shape, of vectors of two numbers in [0, 1]; (0, 0) is the lower
    left corner. Sizes are in units of the window's height. A colour is three numbers in [0, 1]. `per_vertex_color`
    gives a colour per vertex instead. `indices` select the vertices of lines and triangles. Raises ValueError for
    arguments that do not match.

    `began` is true if something of this frame is drawn.

    Example:
        window = ti.ui.Window("lines", (64, 64), show_window=False)
        canvas = window.get_canvas()
        canvas.lines(np.array([[0.0, 0.5], [1.0, 0.5]], np.float32), width=0.1, color=(0.0, 1.0, 0.0))
        canvas.triangles(np.array([[0.0, 0.0], [0.3, 0.0], [0.0, 0.3]], np.float32), color=(0.0, 0.0, 1.0))
        picture = window.get_image_buffer_as_numpy()
        picture[32, 32, :3].tolist(), picture[3, 3, :3].tolist()  # ([0.0, 1.0, 0.0], [0.0, 0.0, 1.0])
    """

    def __init__(self, size: tuple[int, int]) -> None:
        self._frame, self._background, self.began = Frame(size), Vector([0.0, 0.0, 0.0]), False
        self._size = np.array(size, np.float32)

    @property
    def frame(self) -> Frame:
        """The picture. The first access in a frame fills it with the background colour."""
        if not self.began:
            self._frame.clear(self._background)
            self.began = True
        return self._frame

    @property
    def depths(self) -> Any:
        """The depths of the frame so far. Right after a frame is shown, the depths of that frame."""
        return (self.frame if self._frame.empty else self._frame).depths

    def finish(self) -> None:
        """End the frame. The next drawing starts another one."""
        self.began = False

    def set_background_color(self, color: Any) -> None:
        """Set the colour of an empty frame. It applies to this frame too if nothing is drawn on it yet."""
        self._background = Vector(color_of(color).tolist())

    def set_image(self, img: Any) -> None:
        """Fill the window with an image: a field or array of shape (w, h), or (w, h) and 1 to 4 channels, with floats
        in [0, 1] or unsigned integers over their range. The image is stretched to the window. Each pixel takes the
        nearest element."""
        self.frame.set_image(img)

    def contour(self, scalar_field: Any, cmap_name: str = "plasma", normalize: bool = False) -> None:
        """Fill the window with the numbers of a two-dimensional field, from 0 to 1, as colours of a map: plasma,
        viridis, inferno, magma or gray. `normalize` maps the minimum to 0 and the maximum to 1."""
        colors = table(cmap_name)
        low, scale = extent(numbers(scalar_field)) if flag_of(normalize, "normalize") else (0.0, 1.0)
        if not self.frame.set_mapped(scalar_field, low, scale, colors):
            self.frame.set_image(colored((numbers(scalar_field) - low) * scale, colors))

    def triangles(self, vertices: Any, color: Any = _GREY, indices: Any = None, per_vertex_color: Any = None) -> None:
        """Draw filled triangles: one for every three vertices, or every three indices."""
        places = points(vertices, 2, "vertices")
        shades = colors_for(len(places), color, per_vertex_color)
        draw_triangles(self.frame, places * self._size, groups(indices, 3, len(places)), shades)

    def lines(
        self, vertices: Any, width: float, indices: Any = None, color: Any = _GREY, per_vertex_color: Any = None
    ) -> None:
        """Draw straight lines with round ends: one for every two vertices, or every two indices."""
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
        """Draw filled circles with one radius for all, or a radius for each."""
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
        """Draw arrows for a two-dimensional field of vectors that fills the window, one for every `arrow_spacing`
        elements along both axes. The longest arrow has `scale` times the height of the window. NaN and infinite vectors
        have no arrow."""
        vectors = arrows_of(vector_field, arrow_spacing)
        chosen = vectors[::arrow_spacing, ::arrow_spacing].reshape(-1, 2)
        x, y = (np.arange(0, n, arrow_spacing) + 0.5 for n in vectors.shape[:2])
        begins = np.stack(np.meshgrid(x, y, indexing="ij"), 2).reshape(-1, 2) / vectors.shape[:2]
        along = chosen * (number_of(scale, "the scale of arrows") / longest(chosen))  # in units of the window's height
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
        """Draw the scene over the contents, as its camera sees it; see `Scene`."""
        if not isinstance(scene, Scene):
            raise TypeMismatch(f"Canvas.scene takes a ti.ui.Scene, not {shown(scene)}")
        scene.draw(self.frame)
