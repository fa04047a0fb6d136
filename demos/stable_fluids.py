"""Stable fluids: three jets of coloured ink in an incompressible flow (semi-Lagrangian advection, pressure projection).

Each step carries velocity and ink backward along the flow, then subtracts the gradient of a pressure (red-black
Gauss-Seidel with over-relaxation), so that as much flows into a cell as out of it. Source: Stam, "Stable fluids",
SIGGRAPH 1999.
"""

import numpy as np

import weft as ti
from weft.demos.runner import play

FRAMES = 180
N, DT, SWEEPS, OVER, JETS = 512, 0.03, 30, 1.9, 3


@ti.func
def at(q: ti.Template, i, j):
    return q[ti.max(0, ti.min(N - 1, i)), ti.max(0, ti.min(N - 1, j))]


@ti.func
def sample(q: ti.Template, p):
    s = p - 0.5
    i, j = int(ti.floor(s.x)), int(ti.floor(s.y))
    fx, fy = s.x - i, s.y - j
    low = at(q, i, j) * (1 - fx) + at(q, i + 1, j) * fx
    high = at(q, i, j + 1) * (1 - fx) + at(q, i + 1, j + 1) * fx
    return low * (1 - fy) + high * fy


@ti.data_oriented
class StableFluids:
    """Velocity, ink and pressure on N x N cells. The world is one wide; `velocity` is in widths a second."""

    def __init__(self):
        self.velocity, self.next_velocity = (ti.Vector.field(2, ti.f32, (N, N)) for _ in range(2))
        self.ink, self.next_ink = (ti.Vector.field(3, ti.f32, (N, N)) for _ in range(2))
        self.image = ti.Vector.field(3, ti.f32, (N, N))
        self.pressure, self.divergence, self.curl = (ti.field(ti.f32, (N, N)) for _ in range(3))

    @ti.kernel
    def advect(self, v: ti.Field[ti.vec2], q: ti.Template, out: ti.Template, decay: ti.f32):
        """`q` one step later: each place takes what the flow brings there."""
        for i, j in q:
            p = ti.Vector([i, j]) + 0.5
            middle = p - 0.5 * DT * N * sample(v, p)
            out[i, j] = sample(q, p - DT * N * sample(v, middle)) * decay

    @ti.kernel
    def inject(self, v: ti.Field[ti.vec2], dye: ti.Field[ti.vec3], time: ti.f32):
        """Jets of ink around the middle, which aim at it and sway."""
        for i, j in v:
            p = (ti.Vector([i, j]) + 0.5) / N
            for jet in ti.static(range(JETS)):
                angle = 2 * np.pi * jet / JETS + 0.35 * time
                where = 0.5 + 0.34 * ti.Vector([ti.cos(angle), ti.sin(angle)])
                aim = angle + np.pi + 0.7 * ti.sin(1.3 * time + jet)
                strength = ti.exp(-(p - where).norm_sqr() * 2500)
                v[i, j] += 0.9 * strength * ti.Vector([ti.cos(aim), ti.sin(aim)])
                hue = ti.Vector([0.0, 2.1, 4.2]) + 2.1 * jet + 0.25 * time
                dye[i, j] += 0.5 * strength * (0.55 + 0.45 * ti.cos(hue))

    @ti.kernel
    def measure(self, v: ti.Field[ti.vec2]):
        """Divergence and curl."""
        for i, j in v:
            left, right, low, high = at(v, i - 1, j), at(v, i + 1, j), at(v, i, j - 1), at(v, i, j + 1)
            self.divergence[i, j] = 0.5 * (right.x - left.x + high.y - low.y)
            self.curl[i, j] = 0.5 * (right.y - left.y - high.x + low.x)

    @ti.kernel
    def swirl(self, v: ti.Field[ti.vec2]):
        """Vorticity confinement: strengthens the little whirls that advection smears."""
        for i, j in v:
            slope = ti.Vector([abs(at(self.curl, i + 1, j)) - abs(at(self.curl, i - 1, j)),
                               abs(at(self.curl, i, j + 1)) - abs(at(self.curl, i, j - 1))])  # fmt: skip
            slope /= slope.norm() + 1e-5
            v[i, j] += DT * 6.0 * self.curl[i, j] * ti.Vector([slope.y, -slope.x])

    @ti.kernel
    def relax(self, p: ti.Field[ti.f32], color: ti.i32):
        """A Gauss-Seidel step of laplacian p = divergence, over-relaxed, for one colour of a chessboard."""
        for i, j in p:
            if (i + j) % 2 == color:
                around = at(p, i - 1, j) + at(p, i + 1, j) + at(p, i, j - 1) + at(p, i, j + 1)
                p[i, j] += OVER * (0.25 * (around - self.divergence[i, j]) - p[i, j])

    @ti.kernel
    def project(self, v: ti.Field[ti.vec2], p: ti.Field[ti.f32]):
        """Subtract the gradient of the pressure: as much flows in as out."""
        for i, j in v:
            slope = ti.Vector([at(p, i + 1, j) - at(p, i - 1, j), at(p, i, j + 1) - at(p, i, j - 1)])
            v[i, j] -= 0.5 * slope

    @ti.kernel
    def draw(self, dye: ti.Field[ti.vec3]):
        for i, j in dye:
            self.image[i, j] = (1 - ti.exp(-1.6 * ti.max(dye[i, j], 0.0))) ** 0.8

    def __call__(self, number):
        for half in range(2):
            self.advect(self.velocity, self.velocity, self.next_velocity, 0.9995)
            self.advect(self.velocity, self.ink, self.next_ink, 0.996)
            self.velocity, self.next_velocity = self.next_velocity, self.velocity
            self.ink, self.next_ink = self.next_ink, self.ink
            self.inject(self.velocity, self.ink, (number + 0.5 * half) * DT * 2)
            self.measure(self.velocity)
            self.swirl(self.velocity)
            self.measure(self.velocity)
            for half_sweep in range(2 * SWEEPS):
                self.relax(self.pressure, half_sweep % 2)
            self.project(self.velocity, self.pressure)
        self.draw(self.ink)
        return self.image


build = StableFluids

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
