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

FRAMES = 200
SPACING, REACH, BOX = 0.032, 0.07, (1.0, 0.9, 0.5)  # metres
DT, ITERATIONS, GRAVITY, SOFTNESS, XSPH = 1 / 60, 4, 9.8, 60.0, 0.06
POLY6, SPIKY = 315 / (64 * np.pi * REACH**9), -45 / (np.pi * REACH**6)


def rest_density():
    """Particles in a cubic metre, as the kernel counts them in a cubic lattice."""
    line = np.arange(-4, 5) * SPACING
    square = sum(axis**2 for axis in np.meshgrid(line, line, line))
    return float((POLY6 * np.maximum(0, REACH**2 - square) ** 3).sum())


def build(counts=(13, 18, 15), stroke=0.26):
    """A block of that many particles along each axis; the wall moves by `stroke` metres."""
    number, rho0 = counts[0] * counts[1] * counts[2], rest_density()
    x, old, v, push, color = (ti.Vector.field(3, ti.f32, number) for _ in range(5))
    factor, density = ti.field(ti.f32, number), ti.field(ti.f32, number)
    cells, palette = Cells(x, REACH, BOX), Palette("YlGnBu_r")
    view = Balls(x, color, 0.66 * SPACING, eye=(1.75, 1.15, 1.9), target=(0.5, 0.2, 0.25))

    @ti.func
    def slope(d):
        """The gradient of the spiky kernel at the displacement d; none at no distance."""
        far = d.norm()
        g = ti.Vector([0.0, 0.0, 0.0])
        if 1e-6 < far < REACH:
            g = d * (SPIKY * (REACH - far) ** 2 / far)
        return g

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
        low = ti.Vector([wall, 0.0, 0.0]) + 0.3 * SPACING
        return ti.max(low, ti.min(ti.Vector(BOX) - 0.3 * SPACING, p))

    @ti.kernel
    def start():
        for i in x:
            at = ti.Vector([i % counts[0], i // counts[0] % counts[1], i // (counts[0] * counts[1])])
            x[i] = (at + 0.5 + 0.1 * ti.Vector([ti.random(), ti.random(), ti.random()])) * SPACING

    @ti.kernel
    def predict(wall: ti.f32):
        for i in x:
            old[i] = x[i]
            v[i].y -= DT * GRAVITY
            x[i] = inside(x[i] + DT * v[i], wall)

    @ti.kernel
    def constrain(wall: ti.f32):
        for i in x:
            home, others = cells.home(old[i]), 0.0
            rho, own = walls(x[i], wall)
            rho *= rho0
            for offset in ti.grouped(ti.ndrange((-1, 2), (-1, 2), (-1, 2))):
                c = cells.number(home + offset)
                for k in range(cells.first[c], cells.first[c + 1]):
                    d = x[i] - x[cells.member[k]]
                    rho += bump(d)
                    g = slope(d) / rho0
                    own += g
                    others += g.norm_sqr()
            density[i] = rho
            factor[i] = -ti.max(0.0, rho / rho0 - 1) / (own.norm_sqr() + others + SOFTNESS)
        for i in x:
            home, total = cells.home(old[i]), 2 * factor[i] * rho0 * walls(x[i], wall)[1]
            for offset in ti.grouped(ti.ndrange((-1, 2), (-1, 2), (-1, 2))):
                c = cells.number(home + offset)
                for k in range(cells.first[c], cells.first[c + 1]):
                    j = cells.member[k]
                    total += (factor[i] + factor[j]) * slope(x[i] - x[j])
            push[i] = total / rho0

    @ti.kernel
    def correct(wall: ti.f32):
        for i in x:
            x[i] = inside(x[i] + push[i], wall)

    @ti.kernel
    def finish():
        for i in x:
            v[i] = (x[i] - old[i]) / DT
        for i in x:
            home, total = cells.home(old[i]), ti.Vector([0.0, 0.0, 0.0])
            for offset in ti.grouped(ti.ndrange((-1, 2), (-1, 2), (-1, 2))):
                c = cells.number(home + offset)
                for k in range(cells.first[c], cells.first[c + 1]):
                    j = cells.member[k]
                    total += bump(x[i] - x[j]) / rho0 * (v[j] - v[i])
            push[i] = XSPH * total
        for i in x:
            v[i] += push[i]
            color[i] = palette(0.14 + 0.30 * v[i].norm()) ** 2.2

    start()

    def step(number):
        wall = stroke * 0.5 * (1 - np.cos(0.085 * max(0, number - 20)))
        cells.sort()
        predict(wall)
        for _ in range(ITERATIONS):
            constrain(wall)
            correct(wall)
        finish()

    def frame(number):
        step(number)
        return view.draw()

    frame.step, frame.x, frame.density, frame.rho0 = step, x, density, rho0
    return frame
