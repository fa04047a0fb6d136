"""Vortex street: air streams past a cylinder and sheds a vortex to either side in turn (lattice Boltzmann, D2Q9).

Each cell holds nine populations f_k of particles, moving with the velocities c_k. A step collides, f_k -> f_k +
(f_k^eq - f_k) / tau with f_k^eq = w_k rho (1 + 3 c_k.u + 4.5 (c_k.u)^2 - 1.5 u.u), and streams each f_k to the next
cell; a wall sends it back. The viscosity is (tau - 1/2) / 3 cells^2 per step. Source: Qian, d'Humieres, Lallemand,
"Lattice BGK models for Navier-Stokes equation", Europhysics Letters 17(6), 1992.
"""

import numpy as np

import weft as ti
from weft.demos.palette import Palette
from weft.demos.runner import play

FRAMES = 220
WIDTH, HEIGHT, STEPS, SCALE = 400, 136, 40, 2
DIAMETER, SPEED, REYNOLDS = 17.0, 0.11, 160.0
WAYS = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
BACK = (0, 3, 4, 1, 2, 7, 8, 5, 6)
WEIGHTS = (4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36)
populations = ti.types.vector(9, ti.f32)


@ti.func
def equilibrium(rho, u):
    f_eq = populations(0)
    for k in ti.static(range(9)):
        cu = WAYS[k][0] * u.x + WAYS[k][1] * u.y
        f_eq[k] = WEIGHTS[k] * rho * (1 + 3 * cu + 4.5 * cu * cu - 1.5 * u.norm_sqr())
    return f_eq


@ti.data_oriented
class VortexStreet:
    """A channel, periodic across. Air enters on the left and leaves on the right, unless not `open_ends`."""

    def __init__(self, width=WIDTH, height=HEIGHT, diameter=DIAMETER, speed=SPEED, open_ends=True):
        self.width, self.height, self.diameter, self.speed, self.open_ends = width, height, diameter, speed, open_ends
        self.f, self.g = (ti.Vector.field(9, ti.f32, (width, height), layout=ti.Layout.SOA) for _ in range(2))
        self.velocity, self.density = ti.Vector.field(2, ti.f32, (width, height)), ti.field(ti.f32, (width, height))
        self.image, self.palette = ti.Vector.field(3, ti.f32, (width * SCALE, height * SCALE)), Palette("RdBu_r")
        self.tau = 0.5 + 3 * speed * max(diameter, 1.0) / REYNOLDS
        self.centre = ti.Vector([0.2 * width, height / 2])
        self.start()

    @ti.func
    def solid(self, i, j):
        return (ti.Vector([i, j]) + 0.5 - self.centre).norm_sqr() < (self.diameter / 2) ** 2

    @ti.kernel
    def start(self):
        for i, j in self.f:
            tilt = 0.0
            if ti.static(self.open_ends):  # so that it sheds sooner
                tilt = ti.sin(2 * np.pi * i / self.width) * 0.1
            self.f[i, j] = equilibrium(1.0, self.speed * ti.Vector([1.0, tilt]))

    @ti.kernel
    def step(self, a: ti.Field[ti.Vector[ti.f32]], b: ti.Field[ti.Vector[ti.f32]]):
        for i, j in a:
            here = populations(0)
            for k in ti.static(range(9)):  # what streams in, or comes back from a wall
                x, y = (i - WAYS[k][0] + self.width) % self.width, (j - WAYS[k][1] + self.height) % self.height
                here[k] = a[i, j][BACK[k]] if self.solid(x, y) else a[x, y][k]
            rho, u = here.sum(), ti.Vector([0.0, 0.0])
            for k in ti.static(range(9)):
                u += here[k] * ti.Vector(WAYS[k])
            u /= rho
            if self.solid(i, j):
                rho, u = 1.0, ti.Vector([0.0, 0.0])
            after = here + (equilibrium(rho, u) - here) / self.tau
            if ti.static(self.open_ends):
                if i == 0:
                    rho, u = 1.0, ti.Vector([self.speed, 0.0])
                    after = equilibrium(rho, u)
                if i == self.width - 1:
                    after = a[i - 1, j]
            b[i, j], self.velocity[i, j], self.density[i, j] = after, u, rho

    @ti.func
    def curl(self, i, j):
        i, j = ti.math.clamp(i, 1, self.width - 2), ti.math.clamp(j, 1, self.height - 2)
        rise = self.velocity[i + 1, j].y - self.velocity[i - 1, j].y
        return rise - self.velocity[i, j + 1].x + self.velocity[i, j - 1].x

    @ti.kernel
    def draw(self):
        for x, y in self.image:
            p = (ti.Vector([x, y]) + 0.5) / SCALE
            s = p - 0.5
            i, j = int(ti.floor(s.x)), int(ti.floor(s.y))
            low = ti.math.mix(self.curl(i, j), self.curl(i + 1, j), s.x - i)
            high = ti.math.mix(self.curl(i, j + 1), self.curl(i + 1, j + 1), s.x - i)
            swirl = ti.math.mix(low, high, s.y - j) * self.diameter / self.speed
            color = self.palette(0.5 + 0.5 * ti.tanh(0.42 * swirl))
            inside = ti.math.clamp((self.diameter / 2 - (p - self.centre).norm()) * SCALE + 0.5, 0.0, 1.0)
            self.image[x, y] = ti.math.mix(color, ti.Vector([0.16, 0.17, 0.20]), inside)

    def __call__(self, _number):
        for _ in range(0, STEPS, 2):
            self.step(self.f, self.g)
            self.step(self.g, self.f)
        self.draw()
        return self.image


build = VortexStreet

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
