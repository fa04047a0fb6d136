"""Contours: lines of equal height through drifting hills, found by marching squares.

In a square of four corners a level crosses the sides whose ends lie on different sides of it, and linear
interpolation says where. The four bits "corner above the level" choose the segments from a table; in the two
ambiguous cases the mean decides. Source: Lorensen, Cline, "Marching cubes", SIGGRAPH 1987, in two dimensions.
"""

import numpy as np

import weft as ti
from weft.demos.palette import Palette

FRAMES = 160
CELLS, SIZE, HILLS, LEVELS = 96, 512, 9, 13
# Corners: 0 low left, 1 low right, 2 high right, 3 high left. Side k joins corner k and the next. A segment: two sides.
TABLE = (
    (-1, -1, -1, -1), (3, 0, -1, -1), (0, 1, -1, -1), (3, 1, -1, -1), (1, 2, -1, -1), (3, 0, 1, 2), (0, 2, -1, -1),
    (3, 2, -1, -1), (2, 3, -1, -1), (2, 0, -1, -1), (0, 1, 2, 3), (2, 1, -1, -1), (1, 3, -1, -1), (1, 0, -1, -1),
    (0, 3, -1, -1), (-1, -1, -1, -1),
)  # fmt: skip
CORNERS = ((0, 0), (1, 0), (1, 1), (0, 1))


def build(cells=CELLS, size=SIZE):
    """The heights at the corners of cells x cells squares, drawn into size x size pixels."""
    height = ti.field(ti.f32, (cells + 1, cells + 1))
    segments = ti.Vector.field(4, ti.f32, 2 * cells * cells)  # x, y, x, y in squares
    count, table = ti.field(ti.i32, ()), ti.field(ti.i32, (16, 4))
    line = ti.field(ti.f32, (size, size))
    image, palette = ti.Vector.field(3, ti.f32, (size, size)), Palette("viridis")
    table.from_numpy(np.array(TABLE, np.int32))
    scale = size / cells

    @ti.kernel
    def rise(time: ti.f32):
        for i, j in height:
            p, total = ti.Vector([i, j]) / cells, 0.0
            for k in ti.static(range(HILLS)):
                way = ti.Vector([ti.sin(time * (0.5 + 0.11 * k) + 2.4 * k), ti.cos(time * (0.7 - 0.06 * k) + 1.7 * k)])
                total += (0.5 + 0.06 * k) * ti.exp(-(p - 0.5 - 0.37 * way).norm_sqr() * (30 + 5 * k))
            height[i, j] = total

    @ti.func
    def crossing(i, j, side, level):
        """Where the level crosses that side of the square."""
        a, b = ti.Vector([i, j]), ti.Vector([i, j])
        for s in ti.static(range(4)):
            if side == s:
                a += ti.Vector(CORNERS[s])
                b += ti.Vector(CORNERS[(s + 1) % 4])
        if a.x > b.x or a.y > b.y:  # both squares that share a side must find the same point, bit for bit
            a, b = b, a
        low, high = height[a], height[b]
        return a + (b - a) * ((level - low) / (high - low))

    @ti.kernel
    def march(level: ti.f32):
        for i, j in ti.ndrange(cells, cells):
            case, mean = 0, 0.0
            for k in ti.static(range(4)):
                corner = height[i + CORNERS[k][0], j + CORNERS[k][1]]
                case += (corner > level) << k
                mean += corner / 4
            if (case == 5 or case == 10) and mean > level:
                case = 15 - case  # the saddle is above: the two low corners are cut off instead
            for k in range(2):
                if table[case, 2 * k] >= 0:
                    a, b = crossing(i, j, table[case, 2 * k], level), crossing(i, j, table[case, 2 * k + 1], level)
                    segments[ti.atomic_add(count[None], 1)] = ti.Vector([a.x, a.y, b.x, b.y])

    @ti.kernel
    def ink(width: ti.f32):
        for s in range(count[None]):
            a, b = segments[s].xy * scale, segments[s].zw * scale
            low, high = ti.floor(ti.min(a, b) - width - 1, ti.i32), ti.ceil(ti.max(a, b) + width + 1, ti.i32)
            for i, j in ti.ndrange((ti.max(low.x, 0), ti.min(high.x, size)), (ti.max(low.y, 0), ti.min(high.y, size))):
                p, along = ti.Vector([i, j]) + 0.5 - a, b - a
                t = ti.math.clamp(p.dot(along) / ti.max(along.norm_sqr(), 1e-9), 0.0, 1.0)
                ti.atomic_max(line[i, j], ti.math.clamp(width + 0.5 - (p - t * along).norm(), 0.0, 1.0))

    @ti.kernel
    def draw():
        for i, j in image:
            p = (ti.Vector([i, j]) + 0.5) / scale
            k = ti.Vector([ti.min(int(p.x), cells - 1), ti.min(int(p.y), cells - 1)])
            low = ti.math.mix(height[k], height[k.x + 1, k.y], p.x - k.x)
            high = ti.math.mix(height[k.x, k.y + 1], height[k.x + 1, k.y + 1], p.x - k.x)
            h = ti.math.mix(low, high, p.y - k.y)
            image[i, j] = ti.math.mix(palette(0.04 + 0.82 * h), ti.Vector([0.98, 0.97, 0.90]), 0.8 * line[i, j])

    def trace(level):
        """The segments of one level, (number, 4)."""
        count[None] = 0
        march(level)
        return segments.to_numpy()[: count[None]]

    def frame(number):
        rise(0.06 * number)
        line.fill(0)
        for k in range(LEVELS):
            count[None] = 0
            march(0.09 * (k + 0.5))
            ink(0.95 if k % 4 == 3 else 0.4)
        draw()
        return np.clip(image.to_numpy(), 0, 1).swapaxes(0, 1)[::-1]

    frame.height, frame.trace = height, trace
    return frame
