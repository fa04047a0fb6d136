"""Heat equation: glowing embers circle on a plate and their heat spreads (explicit five-point stencil)."""

import numpy as np

import weft as ti
from weft.demos.runner import play

FRAMES = 160
N, STEPS, EMBERS = 512, 24, 5
REACH = N // 24  # cells from an ember to where it warms nothing any more: 1e-6
KAPPA = 0.24  # conductivity * dt / dx^2; above 1/4 the steps would overshoot


@ti.data_oriented
class Heat:
    """A plate of N x N cells; its border stays cold."""

    def __init__(self):
        self.now, self.after = ti.field(ti.f32, (N, N)), ti.field(ti.f32, (N, N))
        self.image = ti.Vector.field(3, ti.f32, (N, N))

    @ti.kernel
    def diffuse(self, a: ti.Field[ti.f32], b: ti.Field[ti.f32]):
        """One step of a to b; a little warmth is lost to the air."""
        for i, j in ti.ndrange((1, N - 1), (1, N - 1)):
            around = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
            b[i, j] = (a[i, j] + KAPPA * (around - 4 * a[i, j])) * 0.9997

    @ti.kernel
    def feed(self, a: ti.Field[ti.f32], time: ti.f32):
        """Embers, on circles, each at its speed; each warms the cells of a square around it."""
        for k, i, j in ti.ndrange(EMBERS, 2 * REACH, 2 * REACH):
            turn = time * (0.9 + 0.23 * k) * (1 - 2 * (k % 2)) + 2 * np.pi * k / EMBERS
            where = (0.1 + 0.065 * k) * ti.Vector([ti.cos(turn), ti.sin(turn)]) + 0.5
            cell = int(where * N) + ti.Vector([i, j]) - REACH
            warmth = 1.25 * ti.exp(-(cell / N - where).norm_sqr() * 9000)
            ti.atomic_max(a[cell], warmth)

    @ti.kernel
    def draw(self, a: ti.Field[ti.f32]):
        for i, j in self.image:
            t = ti.min(ti.sqrt(a[i, j]), 1.0)
            red = ti.min(1.0, 2.4 * t)
            green = ti.max(0.0, ti.min(1.0, 2.2 * t - 0.75)) ** 1.3
            blue = 0.45 * ti.sin(np.pi * ti.min(1.0, 1.6 * t)) + ti.max(0.0, 4 * t - 3)
            self.image[i, j] = ti.Vector([red, green, blue]) * (0.15 + 0.85 * t) + ti.Vector([0.02, 0.02, 0.05])

    def __call__(self, number):
        for k in range(0, STEPS, 2):
            self.feed(self.now, (number + k / STEPS) * 0.06)
            self.diffuse(self.now, self.after)
            self.diffuse(self.after, self.now)
        self.draw(self.now)
        return self.image


build = Heat

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
