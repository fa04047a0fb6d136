"""Contours: lines of equal height through drifting hills, found by marching squares.

In a square of four corners a level crosses the sides whose ends lie on different sides of it, and linear
interpolation says where. The four bits "corner above the level" choose the segments from a table; in the two
ambiguous cases the mean decides. Source: Lorensen, Cline, "Marching cubes", SIGGRAPH 1987, in two dimensions.
"""

import numpy as np

import weft as ti
from weft.demos.palette import Palette
from weft.demos.runner import play

FRAMES = 160
CELLS, SIZE, HILLS, LEVELS = 96, 512, 9, 13
# Corners: 0 low left, 1 low right, 2 high right, 3 high left. Side k joins corner k and the next. A segment: two sides.
TABLE = (
    (-1, -1, -1, -1), (3, 0, -1, -1), (0, 1, -1, -1), (3, 1, -1, -1), (1, 2, -1, -1), (3, 0, 1, 2), (0, 2, -1, -1),
    (3, 2, -1, -1), (2, 3, -1, -1), (2, 0, -1, -1), (0, 1, 2, 3), (2, 1, -1, -1), (1, 3, -1, -1), (1, 0, -1, -1),
    (0, 3, -1, -1), (-1, -1, -1, -1),
)  # fmt: skip
CORNERS = ((0, 0), (1, 0), (1, 1), (0, 1))


@ti.data_oriented
class Contours:
    """The heights at the corners of cells x cells squares, drawn into size x size pixels."""

    def __init__(self, cells=CELLS, size=SIZE):
        self.cells, self.size = cells, size
        self.height = ti.field(ti.f32, (cells + 1, cells + 1))
        self.segments = ti.Vector.field(4, ti.f32, 2 * cells * cells)  # x, y, x, y in squares
        self.count, self.table = ti.field(ti.i32, ()), ti.field(ti.i32, (16, 4))
        self.line = ti.field(ti.f32, (size, size))
        self.image, self.palette = ti.Vector.field(3, ti.f32, (size, size)), Palette("viridis")
        self.table.from_numpy(np.array(TABLE, np.int32))
        self.scale = size / cells

    @ti.kernel
    def rise(self, time: ti.f32):
        for i, j in self.height:
            p, total = ti.Vector([i, j]) / self.cells, 0.0
            for k in ti.static(range(HILLS)):
                way = ti.Vector([ti.sin(time * (0.5 + 0.11 * k) + 2.4 * k), ti.cos(time * (0.7 - 0.06 * k) + 1.7 * k)])
                total += (0.5 + 0.06 * k) * ti.exp(-(p - 0.5 - 0.37 * way).norm_sqr() * (30 + 5 * k))
            self.height[i, j] = total

    @ti.func
    def crossing(self, i, j, side, level):
        """Where the level crosses that side of the square."""
        a, b = ti.Vector([i, j]), ti.Vector([i, j])
        for s in ti.static(range(4)):
            if side == s:
                a += ti.Vector(CORNERS[s])
                b += ti.Vector(CORNERS[(s + 1) % 4])
        if a.x > b.x or a.y > b.y:  # both squares that share a side must find the same point, bit for bit
            a, b = b, a
        low, high = self.height[a], self.height[b]
        return a + (b - a) * ((level - low) / (high - low))

    @ti.kernel
    def march(self, level: ti.f32):
        for i, j in ti.ndrange(self.cells, self.cells):
            case, mean = 0, 0.0
            for k in ti.static(range(4)):
                corner = self.height[i + CORNERS[k][0], j + CORNERS[k][1]]
                case += (corner > level) << k
                mean += corner / 4
            if (case == 5 or case == 10) and mean > level:
                case = 15 - case  # the saddle is above: the two low corners are cut off instead
            for k in range(2):
                if self.table[case, 2 * k] >= 0:
                    a = self.crossing(i, j, self.table[case, 2 * k], level)
                    b = self.crossing(i, j, self.table[case, 2 * k + 1], level)
                    self.segments[ti.atomic_add(self.count[None], 1)] = ti.Vector([a.x, a.y, b.x, b.y])

    @ti.kernel
    def ink(self, width: ti.f32):
        for s in range(self.count[None]):
            a, b = self.segments[s].xy * self.scale, self.segments[s].zw * self.scale
            low = ti.max(ti.floor(ti.min(a, b) - width - 1, ti.i32), 0)
            high = ti.min(ti.ceil(ti.max(a, b) + width + 1, ti.i32), self.size)
            for i, j in ti.ndrange((low.x, high.x), (low.y, high.y)):
                p, along = ti.Vector([i, j]) + 0.5 - a, b - a
                t = ti.math.clamp(p.dot(along) / ti.max(along.norm_sqr(), 1e-9), 0.0, 1.0)
                ti.atomic_max(self.line[i, j], ti.math.clamp(width + 0.5 - (p - t * along).norm(), 0.0, 1.0))

    @ti.kernel
    def draw(self):
        for i, j in self.image:
            p = (ti.Vector([i, j]) + 0.5) / self.scale
            k = ti.Vector([ti.min(int(p.x), self.cells - 1), ti.min(int(p.y), self.cells - 1)])
            low = ti.math.mix(self.height[k], self.height[k.x + 1, k.y], p.x - k.x)
            high = ti.math.mix(self.height[k.x, k.y + 1], self.height[k.x + 1, k.y + 1], p.x - k.x)
            h = ti.math.mix(low, high, p.y - k.y)
            color = self.palette(0.04 + 0.82 * h)
            self.image[i, j] = ti.math.mix(color, ti.Vector([0.98, 0.97, 0.90]), 0.8 * self.line[i, j])

    def trace(self, level):
        """The segments of one level, (number, 4)."""
        self.count[None] = 0
        self.march(level)
        return self.segments.to_numpy()[: self.count[None]]

    def __call__(self, number):
        self.rise(0.06 * number)
        self.line.fill(0)
        for k in range(LEVELS):
            self.count[None] = 0
            self.march(0.09 * (k + 0.5))
            self.ink(0.95 if k % 4 == 3 else 0.4)
        self.draw()
        return self.image


build = Contours

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
