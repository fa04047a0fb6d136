"""Position based fluids: a wall pushes water to and fro in a tank, in 3-D; positions are moved until density is right.

Where the density of a particle is too high, C_i = rho_i / rho0 - 1 > 0, it and its neighbours are moved apart along
the gradient: dx_i = sum_j (l_i + l_j) grad W / rho0, l_i = -C_i / (sum_k |grad_k C_i|^2 + e). The velocity is what
the positions did, and XSPH viscosity smooths it. Source: Macklin, Müller, "Position based fluids", ACM TOG 32(4), 2013.
"""

import numpy as np

import weft as ti
from weft.demos.balls import Balls
from weft.demos.cells import Cells
from weft.demos.palette import Palette
from weft.demos.runner import play

FRAMES = 200
SPACING, REACH, BOX = 0.032, 0.07, (1.0, 0.9, 0.5)  # metres
DT, ITERATIONS, GRAVITY, SOFTNESS, XSPH = 1 / 60, 4, 9.8, 60.0, 0.06
POLY6, SPIKY = 315 / (64 * np.pi * REACH**9), -45 / (np.pi * REACH**6)


def rest_density():
    """Particles in a cubic metre, as the kernel counts them in a cubic lattice."""
    line = np.arange(-4, 5) * SPACING
    square = sum(axis**2 for axis in np.meshgrid(line, line, line))
    return float((POLY6 * np.maximum(0, REACH**2 - square) ** 3).sum())


@ti.func
def slope(d):
    """The gradient of the spiky kernel at the displacement d; none at no distance."""
    far = ti.max(d.norm(), 1e-6)
    return d * (SPIKY * ti.max(0.0, REACH - far) ** 2 / far)


@ti.func
def bump(d):
    """The poly6 kernel."""
    return POLY6 * ti.max(0.0, REACH**2 - d.norm_sqr()) ** 3


@ti.func
def walls(p, wall):
    """The water that the walls stand for: its share of the density at p, and the gradient of that.
    The integral of poly6 beyond a plane at the distance s = q REACH is a polynomial; it is 1/2 on the plane."""
    share, slope = 0.0, ti.Vector([0.0, 0.0, 0.0])
    for axis, sign in ti.static(((0, 1), (0, -1), (1, 1), (2, 1), (2, -1))):
        s = p[axis] - (wall if axis == 0 else 0.0) if ti.static(sign > 0) else BOX[axis] - p[axis]
        q = ti.math.clamp(s / REACH, 0.0, 1.0)
        share += 0.5 - 315 / 256 * (q - 4 / 3 * q**3 + 6 / 5 * q**5 - 4 / 7 * q**7 + q**9 / 9)
        slope[axis] -= sign * 315 / 256 * (1 - q * q) ** 4 / REACH
    return share, slope


@ti.func
def inside(p, wall):
    """p, moved into the tank, which begins at `wall`."""
    return ti.max(ti.Vector([wall, 0.0, 0.0]) + 0.3 * SPACING, ti.min(ti.Vector(BOX) - 0.3 * SPACING, p))


@ti.data_oriented
class PositionBasedFluid:
    """A block of that many particles along each axis; the wall moves by `stroke` metres."""

    def __init__(self, counts=(13, 18, 15), stroke=0.26):
        self.counts, self.stroke = counts, stroke
        number, self.rho0 = counts[0] * counts[1] * counts[2], rest_density()
        self.x, self.old, self.v, self.push, self.color = (ti.Vector.field(3, ti.f32, number) for _ in range(5))
        self.factor, self.density = ti.field(ti.f32, number), ti.field(ti.f32, number)
        self.cells, self.palette = Cells(self.x, REACH, BOX), Palette("YlGnBu_r")
        self.view = Balls(self.x, self.color, 0.66 * SPACING, eye=(1.75, 1.15, 1.9), target=(0.5, 0.2, 0.25))
        self.start()

    @ti.kernel
    def start(self):
        for i in self.x:
            m, n = self.counts[0], self.counts[1]
            at = ti.Vector([i % m, i // m % n, i // (m * n)])
            self.x[i] = (at + 0.5 + 0.1 * ti.Vector([ti.random(), ti.random(), ti.random()])) * SPACING

    @ti.kernel
    def predict(self, wall: ti.f32):
        for i in self.x:
            self.old[i] = self.x[i]
            self.v[i].y -= DT * GRAVITY
            self.x[i] = inside(self.x[i] + DT * self.v[i], wall)

    @ti.kernel
    def constrain(self, wall: ti.f32):
        """One round: how strongly each constraint pulls, where that moves the particles."""
        for i in self.x:
            home, others = self.cells.home(self.old[i]), 0.0
            rho, own = walls(self.x[i], wall)
            rho *= self.rho0
            for offset in ti.grouped(ti.ndrange((-1, 2), (-1, 2), (-1, 2))):
                c = self.cells.number(home + offset)
                for k in range(self.cells.first[c], self.cells.first[c + 1]):
                    d = self.x[i] - self.x[self.cells.member[k]]
                    rho += bump(d)
                    g = slope(d) / self.rho0
                    own += g
                    others += g.norm_sqr()
            self.density[i] = rho
            self.factor[i] = -ti.max(0.0, rho / self.rho0 - 1) / (own.norm_sqr() + others + SOFTNESS)
        for i in self.x:
            home, total = self.cells.home(self.old[i]), 2 * self.factor[i] * self.rho0 * walls(self.x[i], wall)[1]
            for offset in ti.grouped(ti.ndrange((-1, 2), (-1, 2), (-1, 2))):
                c = self.cells.number(home + offset)
                for k in range(self.cells.first[c], self.cells.first[c + 1]):
                    j = self.cells.member[k]
                    total += (self.factor[i] + self.factor[j]) * slope(self.x[i] - self.x[j])
            self.push[i] = total / self.rho0
        for i in self.x:
            self.x[i] = inside(self.x[i] + self.push[i], wall)

    @ti.kernel
    def finish(self):
        """Velocities, from where the particles were and are; neighbours drag each other along."""
        for i in self.x:
            self.v[i] = (self.x[i] - self.old[i]) / DT
        for i in self.x:
            home, total = self.cells.home(self.old[i]), ti.Vector([0.0, 0.0, 0.0])
            for offset in ti.grouped(ti.ndrange((-1, 2), (-1, 2), (-1, 2))):
                c = self.cells.number(home + offset)
                for k in range(self.cells.first[c], self.cells.first[c + 1]):
                    j = self.cells.member[k]
                    total += bump(self.x[i] - self.x[j]) / self.rho0 * (self.v[j] - self.v[i])
            self.push[i] = XSPH * total
        for i in self.x:
            self.v[i] += self.push[i]
            self.color[i] = self.palette(0.14 + 0.30 * self.v[i].norm()) ** 2.2

    def step(self, number):
        wall = self.stroke * 0.5 * (1 - np.cos(0.085 * max(0, number - 20)))
        self.cells.sort()
        self.predict(wall)
        for _ in range(ITERATIONS):
            self.constrain(wall)
        self.finish()

    def __call__(self, number):
        self.step(number)
        return self.view.draw()


build = PositionBasedFluid

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
