"""Physarum: a hundred thousand blind agents follow the scent that they leave, and together grow a network.

Each agent smells ahead, ahead to the left and ahead to the right, turns to where the scent is strongest, makes a step
and leaves scent of its own; the scent spreads and fades. Source: Jones, "Characteristics of pattern formation and
evolution in approximations of Physarum transport networks", Artificial Life 16(2), 2010.
"""

import numpy as np

import weft as ti
from weft.demos.palette import Palette
from weft.demos.runner import play

FRAMES = 180
N, AGENTS = 512, 100_000
REACH, SPREAD, TURN, STRIDE, FADE, SHARE = 9.0, 0.4, 0.5, 1.0, 0.88, 0.06


@ti.func
def unit(angle):
    return ti.Vector([ti.cos(angle), ti.sin(angle)])


@ti.data_oriented
class Physarum:
    """That many agents on an n x n torus."""

    def __init__(self, n=N, agents=AGENTS):
        self.n = n
        self.x, self.heading = ti.Vector.field(2, ti.f32, agents), ti.field(ti.f32, agents)
        self.arrived = ti.field(ti.i32, (n, n))  # how many agents stepped here: whole numbers, so no order matters
        self.scent, self.spread = ti.field(ti.f32, (n, n)), ti.field(ti.f32, (n, n))
        self.image, self.palette = ti.Vector.field(3, ti.f32, (n, n)), Palette("magma")
        self.start()

    @ti.func
    def cell(self, p):
        return ti.Vector([int(ti.floor(p.x)) % self.n, int(ti.floor(p.y)) % self.n])

    @ti.kernel
    def start(self):
        for a in self.x:
            self.x[a] = self.n * ti.Vector([ti.random(), ti.random()])
            self.heading[a] = 2 * np.pi * ti.random()

    @ti.kernel
    def walk(self):
        for a in self.x:
            angle = self.heading[a]
            ahead, left, right = [
                self.scent[self.cell(self.x[a] + REACH * unit(angle + s))] for s in (0, SPREAD, -SPREAD)
            ]
            if ahead < left and ahead < right:
                angle += TURN if ti.random() < 0.5 else -TURN
            elif left > right and left > ahead:
                angle += TURN
            elif right > left and right > ahead:
                angle -= TURN
            p = self.x[a] + STRIDE * unit(angle)
            self.x[a] = p - self.n * ti.floor(p / self.n)
            self.heading[a] = angle
            self.arrived[self.cell(self.x[a])] += 1

    @ti.kernel
    def diffuse(self):
        for i, j in self.scent:
            total = 0.0
            for a, b in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                total += self.scent[(i + a) % self.n, (j + b) % self.n]
            self.spread[i, j] = FADE * total / 9
        for i, j in self.scent:
            self.scent[i, j] = self.spread[i, j] + SHARE * self.arrived[i, j]
            self.arrived[i, j] = 0

    @ti.kernel
    def draw(self):
        for i, j in self.image:
            self.image[i, j] = self.palette(1 - ti.exp(-0.9 * self.scent[i, j])) + ti.Vector([0.02, 0.02, 0.04])

    def __call__(self, _number):
        self.walk()
        self.diffuse()
        self.draw()
        return self.image


build = Physarum

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
