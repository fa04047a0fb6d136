"""Reaction and diffusion: two chemicals make spots that split and stripes that grow (Gray-Scott).

u_t = Du lap u - u v^2 + F (1 - u) and v_t = Dv lap v + u v^2 - (F + k) v: v eats u, u is fed at the rate F, v decays.
Source: Pearson, "Complex patterns in a simple system", Science 261, 1993.
"""

import weft as ti
from weft.demos.palette import Palette
from weft.demos.runner import play

FRAMES = 180
N, STEPS, SEEDS = 400, 24, 14
DU, DV, FEED, KILL = 0.16, 0.08, 0.037, 0.0605


@ti.data_oriented
class GrayScott:
    """An n x n torus of cells with `seeds` patches of v at random places (one in the middle if it is 1)."""

    def __init__(self, n=N, feed=FEED, kill=KILL, seeds=SEEDS):
        self.n, self.feed, self.kill, self.seeds = n, feed, kill, seeds
        self.now, self.after = ti.Vector.field(2, ti.f32, (n, n)), ti.Vector.field(2, ti.f32, (n, n))
        self.image, self.palette = ti.Vector.field(3, ti.f32, (n, n)), Palette("inferno")
        self.patches = ti.Vector.field(2, ti.f32, seeds)
        self.start()

    @ti.kernel
    def start(self):
        for k in self.patches:
            self.patches[k] = [self.n / 2, self.n / 2]
            if ti.static(self.seeds > 1):
                self.patches[k] = ti.Vector([ti.random(), ti.random()]) * self.n
        for i, j in self.now:
            self.now[i, j] = [1, 0]
            for k in range(self.seeds):
                gap = abs(ti.Vector([i, j]) + 0.5 - self.patches[k])
                if ti.max(ti.min(gap.x, self.n - gap.x), ti.min(gap.y, self.n - gap.y)) < 5:
                    self.now[i, j] = [0.5, 0.25]

    @ti.kernel
    def step(self, a: ti.Field[ti.vec2], b: ti.Field[ti.vec2]):
        for i, j in a:
            left, right = (i + self.n - 1) % self.n, (i + 1) % self.n
            low, high = (j + self.n - 1) % self.n, (j + 1) % self.n
            sides = a[left, j] + a[right, j] + a[i, low] + a[i, high]
            corners = a[left, low] + a[left, high] + a[right, low] + a[right, high]
            laplacian = (4 * sides + corners - 20 * a[i, j]) / 6
            u, v = a[i, j].x, a[i, j].y
            gain = ti.Vector([self.feed * (1 - u) - u * v * v, u * v * v - (self.feed + self.kill) * v])
            b[i, j] = a[i, j] + ti.Vector([DU, DV]) * laplacian + gain

    @ti.kernel
    def draw(self, a: ti.Field[ti.vec2]):
        for i, j in self.image:
            v = a[i, j].y
            across = a[(i + 1) % self.n, j].y - a[(i + self.n - 1) % self.n, j].y
            up = a[i, (j + 1) % self.n].y - a[i, (j + self.n - 1) % self.n].y
            normal = ti.Vector([-4 * across, -4 * up, 0.5]).normalized()
            light = ti.max(0.0, normal.dot(ti.Vector([-0.45, 0.55, 0.70])))
            gloss = ti.max(0.0, normal.dot(ti.Vector([-0.24, 0.30, 0.92]))) ** 40
            self.image[i, j] = self.palette(0.06 + 2.3 * v) * (0.35 + 0.9 * light) + 0.22 * gloss * ti.min(1.0, 5 * v)

    def __call__(self, _number):
        for _ in range(0, STEPS, 2):
            self.step(self.now, self.after)
            self.step(self.after, self.now)
        self.draw(self.now)
        return self.image


build = GrayScott

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
