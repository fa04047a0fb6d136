"""Cloth: a sheet of masses and springs falls over a ball, folds and hangs (position based, small steps).

Springs to the neighbours keep the sheet's size, springs on the diagonals its shape, springs over two squares its
smoothness. A substep moves the points under gravity; then each takes the mean of what its springs want, (length -
rest) / 2 along each of them, and leaves the ball and the floor, which rub. Sources: Provot, "Deformation constraints
in a mass-spring model", GI 1995; Macklin et al., "Small steps in physics simulation", SCA 2019.
"""

import numpy as np

import weft as ti
from weft.demos.balls import Balls
from weft.demos.runner import play

FRAMES = 170
N, SIDE, SUBSTEPS, RELAX = 80, 1.1, 12, 4  # points along an edge, metres, steps in a frame, sweeps in a step
GRAVITY, DRAG, FRICTION, SKIN = 9.8, 0.6, 0.25, 0.012
BALL, RADIUS, HEIGHT, POINTS = (0.5, 0.34, 0.5), 0.27, 0.72, 7000
SPRINGS = ((1, 0, 1.0), (0, 1, 1.0), (1, 1, 0.6), (1, -1, 0.6), (2, 0, 0.25), (0, 2, 0.25))  # squares, strength


@ti.data_oriented
class Cloth:
    """A sheet of n x n points, `shift` metres off the middle of the ball."""

    def __init__(self, n=N, shift=0.09):
        self.n, self.shift = n, shift
        self.x, self.old, self.v, self.moved = (ti.Vector.field(3, ti.f32, (n, n)) for _ in range(4))
        self.shown, self.normal, self.color = (ti.Vector.field(3, ti.f32, 4 * n * n + POINTS) for _ in range(3))
        self.rest, self.dt = SIDE / (n - 1), 1 / 60 / SUBSTEPS
        self.view = Balls(self.shown, self.color, 0.40 * self.rest, self.normal, (1.5, 1.05, 2.2), (0.5, 0.34, 0.5))
        self.centre = ti.Vector(list(BALL))
        self.start()

    @ti.kernel
    def start(self):
        for i, j in self.x:
            ripple = 0.004 * ti.sin(9.0 * i / self.n) * ti.cos(7.0 * j / self.n)
            place = ti.Vector([i, j]) * self.rest - SIDE / 2 + 0.5
            self.x[i, j] = [place.x + self.shift, HEIGHT + ripple, place.y + 0.4 * self.shift]
        for k in range(POINTS):  # the ball, evenly covered by a spiral
            up, turn = 1 - (2 * k + 1) / POINTS, k * np.pi * (3 - ti.sqrt(5.0))
            out, last = ti.Vector([ti.cos(turn), 0, ti.sin(turn)]) * ti.sqrt(1 - up * up), 4 * self.n * self.n + k
            out.y = up
            self.shown[last], self.normal[last], self.color[last] = self.centre + RADIUS * out, out, [0.75, 0.72, 0.66]

    @ti.kernel
    def predict(self):
        for k in ti.grouped(self.x):
            self.old[k] = self.x[k]
            self.v[k] = (self.v[k] - ti.Vector([0.0, self.dt * GRAVITY, 0.0])) * (1 - DRAG * self.dt)
            self.x[k] += self.dt * self.v[k]

    @ti.func
    def leave(self, p, before):
        """p out of the ball and the floor, where it slides less far than it wants."""
        away, q = p - self.centre, p
        depth, out = RADIUS + SKIN - away.norm(), away.normalized()
        if p.y < SKIN:
            depth, out = SKIN - p.y, ti.Vector([0.0, 1.0, 0.0])
        if depth > 0:
            q += depth * out
            slide = q - before
            slide -= slide.dot(out) * out
            q -= slide * ti.min(1.0, FRICTION * depth / (slide.norm() + 1e-9))
        return q

    @ti.kernel
    def relax(self):
        for i, j in self.x:
            total, weight = ti.Vector([0.0, 0.0, 0.0]), 0.0
            for a, b, strength in ti.static(SPRINGS):
                for sign in ti.static((1, -1)):
                    s, t = i + sign * a, j + sign * b
                    if 0 <= s < self.n and 0 <= t < self.n:
                        d = self.x[s, t] - self.x[i, j]
                        length = self.rest * ti.sqrt(float(a * a + b * b))
                        total += strength * 0.5 * (1 - length / d.norm()) * d
                        weight += strength
            self.moved[i, j] = self.x[i, j] + 1.6 * total / weight
        for k in ti.grouped(self.x):
            self.x[k] = self.leave(self.moved[k], self.old[k])

    @ti.kernel
    def finish(self):
        for k in ti.grouped(self.x):
            self.v[k] = (self.x[k] - self.old[k]) / self.dt

    @ti.func
    def at(self, i, j):
        return self.x[ti.math.clamp(i, 0, self.n - 1), ti.math.clamp(j, 0, self.n - 1)]

    @ti.kernel
    def cover(self):
        """Four surfels for each point, between it and the next ones, lifted off the ball by the cloth's thickness."""
        for i, j, a, b in ti.ndrange(self.n, self.n, 2, 2):
            along = self.at(i + 1, j) - self.at(i - 1, j)
            across = self.at(i, j + 1) - self.at(i, j - 1)
            k = ((i * self.n + j) * 2 + a) * 2 + b
            self.normal[k] = across.cross(along).normalized()
            self.shown[k] = self.x[i, j] + 0.25 * ((a - 0.5) * along + (b - 0.5) * across)
            stripe = (i * 8 // self.n + j * 8 // self.n) % 2 == 0
            self.color[k] = ti.Vector([0.72, 0.10, 0.07]) if stripe else ti.Vector([0.78, 0.50, 0.16])

    def step(self):
        for _ in range(SUBSTEPS):
            self.predict()
            for _ in range(RELAX):
                self.relax()
            self.finish()

    def __call__(self, _number):
        self.step()
        self.cover()
        return self.view.draw()


build = Cloth

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
