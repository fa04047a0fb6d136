"""Physarum: a hundred thousand blind agents follow the scent that they leave, and together grow a network.

Each agent smells ahead, ahead to the left and ahead to the right, turns to where the scent is strongest, makes a step
and leaves scent of its own; the scent spreads and fades. Source: Jones, "Characteristics of pattern formation and
evolution in approximations of Physarum transport networks", Artificial Life 16(2), 2010.
"""

import numpy as np

import weft as ti
from weft.demos.palette import Palette

FRAMES = 180
N, AGENTS = 512, 100_000
REACH, SPREAD, TURN, STRIDE, FADE, SHARE = 9.0, 0.4, 0.5, 1.0, 0.88, 0.06


def build(n=N, agents=AGENTS):
    """That many agents on an n x n torus."""
    x, heading = ti.Vector.field(2, ti.f32, agents), ti.field(ti.f32, agents)
    arrived = ti.field(ti.i32, (n, n))  # how many agents stepped here: whole numbers, so no order matters
    scent, spread = ti.field(ti.f32, (n, n)), ti.field(ti.f32, (n, n))
    image, palette = ti.Vector.field(3, ti.f32, (n, n)), Palette("magma")

    @ti.func
    def unit(angle):
        return ti.Vector([ti.cos(angle), ti.sin(angle)])

    @ti.func
    def cell(p):
        return ti.Vector([int(ti.floor(p.x)) % n, int(ti.floor(p.y)) % n])

    @ti.kernel
    def start():
        for a in x:
            x[a] = n * ti.Vector([ti.random(), ti.random()])
            heading[a] = 2 * np.pi * ti.random()

    @ti.kernel
    def walk():
        for a in x:
            angle = heading[a]
            ahead, left, right = [scent[cell(x[a] + REACH * unit(angle + s))] for s in (0, SPREAD, -SPREAD)]
            if ahead < left and ahead < right:
                angle += TURN if ti.random() < 0.5 else -TURN
            elif left > right and left > ahead:
                angle += TURN
            elif right > left and right > ahead:
                angle -= TURN
            p = x[a] + STRIDE * unit(angle)
            x[a] = p - n * ti.floor(p / n)
            heading[a] = angle
            arrived[cell(x[a])] += 1

    @ti.kernel
    def diffuse():
        for i, j in scent:
            total = 0.0
            for a, b in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                total += scent[(i + a) % n, (j + b) % n]
            spread[i, j] = FADE * total / 9
        for i, j in scent:
            scent[i, j] = spread[i, j] + SHARE * arrived[i, j]
            arrived[i, j] = 0

    @ti.kernel
    def draw():
        for i, j in image:
            image[i, j] = palette(1 - ti.exp(-0.9 * scent[i, j])) + ti.Vector([0.02, 0.02, 0.04])

    start()

    def frame(_number):
        walk()
        diffuse()
        draw()
        return np.clip(image.to_numpy(), 0, 1).swapaxes(0, 1)[::-1]

    frame.x, frame.scent, frame.walk, frame.arrived = x, scent, walk, arrived
    return frame
