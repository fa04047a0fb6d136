"""Vortex street: air streams past a cylinder and sheds a vortex to either side in turn (lattice Boltzmann, D2Q9).

Each cell holds nine populations f_k of particles, moving with the velocities c_k. A step collides, f_k -> f_k +
(f_k^eq - f_k) / tau with f_k^eq = w_k rho (1 + 3 c_k.u + 4.5 (c_k.u)^2 - 1.5 u.u), and streams each f_k to the next
cell; a wall sends it back. The viscosity is (tau - 1/2) / 3 cells^2 per step. Source: Qian, d'Humieres, Lallemand,
"Lattice BGK models for Navier-Stokes equation", Europhysics Letters 17(6), 1992.
"""

import numpy as np

import weft as ti
from weft.demos.palette import Palette

FRAMES = 220
WIDTH, HEIGHT, STEPS, SCALE = 400, 136, 40, 2
DIAMETER, SPEED, REYNOLDS = 17.0, 0.11, 160.0
WAYS = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
BACK = (0, 3, 4, 1, 2, 7, 8, 5, 6)
WEIGHTS = (4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36)
populations = ti.types.vector(9, ti.f32)


def build(width=WIDTH, height=HEIGHT, diameter=DIAMETER, speed=SPEED, open_ends=True):
    """A channel, periodic across. Air enters on the left and leaves on the right, unless not `open_ends`."""
    f, g = (ti.Vector.field(9, ti.f32, (width, height), layout=ti.Layout.SOA) for _ in range(2))
    velocity, density = ti.Vector.field(2, ti.f32, (width, height)), ti.field(ti.f32, (width, height))
    image, palette = ti.Vector.field(3, ti.f32, (width * SCALE, height * SCALE)), Palette("RdBu_r")
    tau = 0.5 + 3 * speed * max(diameter, 1.0) / REYNOLDS
    centre = ti.Vector([0.2 * width, height / 2])

    @ti.func
    def solid(i, j):
        return (ti.Vector([i, j]) + 0.5 - centre).norm_sqr() < (diameter / 2) ** 2

    @ti.func
    def equilibrium(rho, u):
        f_eq = populations(0)
        for k in ti.static(range(9)):
            cu = WAYS[k][0] * u.x + WAYS[k][1] * u.y
            f_eq[k] = WEIGHTS[k] * rho * (1 + 3 * cu + 4.5 * cu * cu - 1.5 * u.norm_sqr())
        return f_eq

    @ti.kernel
    def start():
        for i, j in f:
            tilt = ti.sin(2 * np.pi * i / width) * 0.1 if ti.static(open_ends) else 0.0  # so that it sheds sooner
            f[i, j] = equilibrium(1.0, speed * ti.Vector([1.0, tilt]))

    @ti.kernel
    def step(a: ti.template(), b: ti.template()):
        for i, j in a:
            here = populations(0)
            for k in ti.static(range(9)):  # what streams in, or comes back from a wall
                x, y = (i - WAYS[k][0] + width) % width, (j - WAYS[k][1] + height) % height
                here[k] = a[i, j][BACK[k]] if solid(x, y) else a[x, y][k]
            rho, u = here.sum(), ti.Vector([0.0, 0.0])
            for k in ti.static(range(9)):
                u += here[k] * ti.Vector(WAYS[k])
            u /= rho
            if solid(i, j):
                rho, u = 1.0, ti.Vector([0.0, 0.0])
            after = here + (equilibrium(rho, u) - here) / tau
            if ti.static(open_ends):
                if i == 0:
                    rho, u = 1.0, ti.Vector([speed, 0.0])
                    after = equilibrium(rho, u)
                if i == width - 1:
                    after = a[i - 1, j]
            b[i, j], velocity[i, j], density[i, j] = after, u, rho

    @ti.func
    def curl(i, j):
        i, j = ti.math.clamp(i, 1, width - 2), ti.math.clamp(j, 1, height - 2)
        return velocity[i + 1, j].y - velocity[i - 1, j].y - velocity[i, j + 1].x + velocity[i, j - 1].x

    @ti.kernel
    def draw():
        for x, y in image:
            p = (ti.Vector([x, y]) + 0.5) / SCALE
            s = p - 0.5
            i, j = int(ti.floor(s.x)), int(ti.floor(s.y))
            low = ti.math.mix(curl(i, j), curl(i + 1, j), s.x - i)
            high = ti.math.mix(curl(i, j + 1), curl(i + 1, j + 1), s.x - i)
            swirl = ti.math.mix(low, high, s.y - j) * diameter / speed
            color = palette(0.5 + 0.5 * ti.tanh(0.42 * swirl))
            inside = ti.math.clamp((diameter / 2 - (p - centre).norm()) * SCALE + 0.5, 0.0, 1.0)
            image[x, y] = ti.math.mix(color, ti.Vector([0.16, 0.17, 0.20]), inside)

    start()

    def frame(_number):
        for _ in range(0, STEPS, 2):
            step(f, g)
            step(g, f)
        draw()
        return np.clip(image.to_numpy(), 0, 1).swapaxes(0, 1)[::-1]

    frame.f, frame.velocity, frame.density, frame.tau = f, velocity, density, tau
    return frame
