"""Cloth: a sheet of masses and springs falls over a ball, folds and hangs (position based, small steps).

Springs to the neighbours keep the sheet's size, springs on the diagonals its shape, springs over two squares its
smoothness. A substep moves the points under gravity; then each takes the mean of what its springs want, (length -
rest) / 2 along each of them, and leaves the ball and the floor, which rub. Sources: Provot, "Deformation constraints
in a mass-spring model", GI 1995; Macklin et al., "Small steps in physics simulation", SCA 2019.
"""

import numpy as np

import weft as ti
from weft.demos.balls import Balls

FRAMES = 170
N, SIDE, SUBSTEPS, RELAX = 80, 1.1, 12, 4  # points along an edge, metres, steps in a frame, sweeps in a step
GRAVITY, DRAG, FRICTION, SKIN = 9.8, 0.6, 0.25, 0.012
BALL, RADIUS, HEIGHT, POINTS = (0.5, 0.34, 0.5), 0.27, 0.72, 7000
SPRINGS = ((1, 0, 1.0), (0, 1, 1.0), (1, 1, 0.6), (1, -1, 0.6), (2, 0, 0.25), (0, 2, 0.25))  # squares, strength


def build(n=N, shift=0.09):
    """A sheet of n x n points, `shift` metres off the middle of the ball."""
    x, old, v, moved = (ti.Vector.field(3, ti.f32, (n, n)) for _ in range(4))
    shown, normal, color = (ti.Vector.field(3, ti.f32, 4 * n * n + POINTS) for _ in range(3))
    rest, dt = SIDE / (n - 1), 1 / 60 / SUBSTEPS
    view = Balls(shown, color, 0.40 * rest, normal, eye=(1.5, 1.05, 2.2), target=(0.5, 0.34, 0.5))
    centre = ti.Vector(list(BALL))

    @ti.kernel
    def start():
        for i, j in x:
            ripple = 0.004 * ti.sin(9.0 * i / n) * ti.cos(7.0 * j / n)
            place = ti.Vector([i, j]) * rest - SIDE / 2 + 0.5
            x[i, j] = [place.x + shift, HEIGHT + ripple, place.y + 0.4 * shift]
        for k in range(POINTS):  # the ball, evenly covered by a spiral
            up, turn = 1 - (2 * k + 1) / POINTS, k * np.pi * (3 - ti.sqrt(5.0))
            out, last = ti.Vector([ti.cos(turn), 0, ti.sin(turn)]) * ti.sqrt(1 - up * up), 4 * n * n + k
            out.y = up
            shown[last], normal[last], color[last] = centre + RADIUS * out, out, [0.75, 0.72, 0.66]

    @ti.kernel
    def predict():
        for k in ti.grouped(x):
            old[k] = x[k]
            v[k] = (v[k] - ti.Vector([0.0, dt * GRAVITY, 0.0])) * (1 - DRAG * dt)
            x[k] += dt * v[k]

    @ti.func
    def leave(p, before):
        """p out of the ball and the floor, where it slides less far than it wants."""
        away, q = p - centre, p
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
    def relax():
        for i, j in x:
            total, weight = ti.Vector([0.0, 0.0, 0.0]), 0.0
            for a, b, strength in ti.static(SPRINGS):
                for sign in ti.static((1, -1)):
                    s, t = i + sign * a, j + sign * b
                    if 0 <= s < n and 0 <= t < n:
                        d = x[s, t] - x[i, j]
                        length = rest * ti.sqrt(float(a * a + b * b))
                        total += strength * 0.5 * (1 - length / d.norm()) * d
                        weight += strength
            moved[i, j] = x[i, j] + 1.6 * total / weight
        for k in ti.grouped(x):
            x[k] = leave(moved[k], old[k])

    @ti.kernel
    def finish():
        for k in ti.grouped(x):
            v[k] = (x[k] - old[k]) / dt

    @ti.func
    def at(i, j):
        return x[ti.math.clamp(i, 0, n - 1), ti.math.clamp(j, 0, n - 1)]

    @ti.kernel
    def cover():
        """Four surfels for each point, between it and the next ones, lifted off the ball by the cloth's thickness."""
        for i, j, a, b in ti.ndrange(n, n, 2, 2):
            along = at(i + 1, j) - at(i - 1, j)
            across = at(i, j + 1) - at(i, j - 1)
            k = ((i * n + j) * 2 + a) * 2 + b
            normal[k] = across.cross(along).normalized()
            shown[k] = x[i, j] + 0.25 * ((a - 0.5) * along + (b - 0.5) * across)
            stripe = (i * 8 // n + j * 8 // n) % 2 == 0
            color[k] = ti.Vector([0.72, 0.10, 0.07]) if stripe else ti.Vector([0.78, 0.50, 0.16])

    start()

    def step():
        for _ in range(SUBSTEPS):
            predict()
            for _ in range(RELAX):
                relax()
            finish()

    def frame(_number):
        step()
        cover()
        return view.draw()

    frame.step, frame.x, frame.v, frame.rest = step, x, v, rest
    return frame
