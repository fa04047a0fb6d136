"""Lens: a sheet of glass learns its hills, so that sunlight that falls through it draws a portrait on the wall.

Each ray leaves the glass where the surface has some slope, is refracted (Snell's law), and adds its light to the wall.
The loss compares the wall with the photograph at full size, half of it, a quarter and so on, so that light knows from
afar where it is missed. The surface is a sum of smooth hills of several sizes, which learn at the same time.
Source of the idea: Papas et al., "Goal-based caustics", Computer Graphics Forum 30(2), 2011.
"""

import numpy as np

import weft as ti
from weft.demos.filters import photograph
from weft.demos.learning import Adam, say
from weft.demos.runner import play

FRAMES, AT_ONCE = 100, 3  # rounds of learning in a frame
N, LEVELS, RAYS, SCALE = 192, 6, 3, 2  # cells along the glass, sizes of hills and pictures, rays along a cell; pixels
INDEX, DISTANCE = 1.5, 1.0  # of refraction; from the glass to the wall, in widths of the glass


@ti.data_oriented
class Lens:
    """Glass of n x n cells before a wall of n x n pixels; n must be a multiple of 2 ** (LEVELS - 1)."""

    def __init__(self, n=N):
        self.n = n
        sizes = [n >> k for k in range(LEVELS)]
        self.hills = [ti.field(ti.f32, (size + 3, size + 3), needs_grad=True) for size in sizes]
        self.height = ti.field(ti.f32, (n + 1, n + 1), needs_grad=True)  # of the glass, in cells
        self.landing = ti.Vector.field(2, ti.f32, (n + 1, n + 1), needs_grad=True)  # where light of a node goes, cells
        self.wall = [ti.field(ti.f32, (size, size), needs_grad=True) for size in sizes]
        self.wanted = [ti.field(ti.f32, (size, size)) for size in sizes]
        self.loss = ti.field(ti.f32, (), needs_grad=True)
        self.fine = ti.field(ti.f32, (n * SCALE, n * SCALE))
        self.image = ti.Vector.field(3, ti.f32, (2 * n * SCALE, n * SCALE))
        self.adams = [Adam([hills], 0.002 * 3.0**k) for k, hills in enumerate(self.hills)]
        self.wanted[0].from_numpy(portrait(n))
        for k in range(1, LEVELS):
            self.shrink(self.wanted[k - 1], self.wanted[k])

    @ti.kernel
    def add_hills(self, hills: ti.Template, size: ti.Template):
        """Add hills that are `size` cells wide (quadratic B-splines)."""
        for i, j in self.height:
            p = ti.Vector([i, j]) / size + 0.5
            k = ti.floor(p, ti.i32)
            t = p - k
            w = [0.5 * (1 - t) ** 2, 0.75 - (t - 0.5) ** 2, 0.5 * t**2]
            for a, b in ti.static(ti.ndrange(3, 3)):
                self.height[i, j] += w[a].x * w[b].y * hills[k.x + a, k.y + b]

    @ti.kernel
    def bend(self):
        """Where the light that leaves the glass at a node meets the wall."""
        for i, j in self.landing:
            left, right = self.height[ti.max(i - 1, 0), j], self.height[ti.min(i + 1, self.n), j]
            low, high = self.height[i, ti.max(j - 1, 0)], self.height[i, ti.min(j + 1, self.n)]
            normal = ti.Vector([left - right, low - high, 2.0]).normalized()
            sine = INDEX**2 * (1 - normal.z**2)  # squared, of the angle outside
            way = (ti.sqrt(ti.max(1 - sine, 0.01)) - INDEX * normal.z) * normal + ti.Vector([0, 0, INDEX])
            self.landing[i, j] = ti.Vector([i, j]) + DISTANCE * self.n * way.xy / way.z

    @ti.kernel
    def trace(self, wall: ti.Template, rays: ti.Template, scale: ti.Template):
        """Send rays x rays rays through each cell; each adds its light to the four pixels next to it."""
        for i, j in ti.ndrange(self.n, self.n):
            for a, b in ti.ndrange(rays, rays):
                s, t = (a + 0.5) / rays, (b + 0.5) / rays
                low = (1 - s) * self.landing[i, j] + s * self.landing[i + 1, j]
                high = (1 - s) * self.landing[i, j + 1] + s * self.landing[i + 1, j + 1]
                p = ((1 - t) * low + t * high) * scale - 0.5
                k = ti.floor(p, ti.i32)
                f = p - k
                for c, d in ti.static(ti.ndrange(2, 2)):
                    if 0 <= k.x + c < wall.shape[0] and 0 <= k.y + d < wall.shape[1]:
                        share = (f.x if c else 1 - f.x) * (f.y if d else 1 - f.y)
                        wall[k.x + c, k.y + d] += share * (scale / rays) ** 2

    @ti.kernel
    def shrink(self, large: ti.Template, small: ti.Template):
        for i, j in small:
            low, high = (
                large[2 * i, 2 * j] + large[2 * i + 1, 2 * j],
                large[2 * i, 2 * j + 1] + large[2 * i + 1, 2 * j + 1],
            )
            small[i, j] = (low + high) / 4

    @ti.kernel
    def compare(self, wall: ti.Template, wanted: ti.Template):
        for i, j in wall:
            self.loss[None] += (wall[i, j] - wanted[i, j]) ** 2 / (wall.shape[0] * wall.shape[1])

    def learn(self, share=1.0):
        self.height.fill(0)
        self.wall[0].fill(0)
        with ti.ad.Tape(self.loss):
            for k in range(LEVELS):
                self.add_hills(self.hills[k], 2**k)
            self.bend()
            self.trace(self.wall[0], RAYS, 1)
            for k in range(1, LEVELS):
                self.shrink(self.wall[k - 1], self.wall[k])
            for k in range(LEVELS):
                self.compare(self.wall[k], self.wanted[k])
        for adam in self.adams:
            adam.step(share)
        return self.loss[None]

    @ti.kernel
    def draw(self):
        """The glass, lit from the side, and the wall."""
        for i, j in self.image:
            color = ti.Vector([0.0, 0.0, 0.0])
            if i < self.n * SCALE:
                k = ti.Vector([i, j]) // SCALE
                away = (self.landing[k] - k) / self.n
                shine = 0.5 + 0.5 * ti.tanh(12 * (away.y - away.x))
                color = ti.math.mix(ti.Vector([0.05, 0.10, 0.16]), ti.Vector([0.75, 0.90, 0.95]), shine)
            else:
                light = self.fine[i - self.n * SCALE, j] * 0.36
                color = ti.Vector([1.0, 0.86, 0.62]) * light + 0.35 * ti.max(0.0, light - 0.7)
            self.image[i, j] = ti.math.clamp(color, 0.0, 1.0) ** 0.75

    def __call__(self, number):
        loss = 0.0
        for _ in range(AT_ONCE):
            loss = self.learn(0.7 / (1 + number / 15))
        say(number * AT_ONCE, loss)
        self.fine.fill(0)
        self.trace(self.fine, 2 * RAYS, SCALE)
        self.draw()
        return self.image


def portrait(n):
    """The face of a photograph as n x n brightnesses, their mean 1, column by column."""
    gray = photograph()[10:430, 60:480].mean(2)
    k = np.linspace(0, gray.shape[0] - 1, n).astype(int)
    light = 0.15 + gray[np.ix_(k[::-1], k)].T
    return np.ascontiguousarray(light / light.mean(), np.float32)


build = Lens

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
