"""Focus: a block learns where it should be glass and where air, so that a plane wave gathers in two points.

A wave runs through a medium of speed c, u'' = c^2 laplace(u). Each cell of the block has a number, whose tanh is a
speed between that of glass and that of air. The loss is minus the logarithm of the energy that passes the two points
at the end. Its gradient by all of the numbers costs about as much as two more waves. Source: Hughes et al., "Wave
physics as an analog recurrent neural network", Science Advances 5(12), 2019.
"""

import numpy as np

import weft as ti
from weft.demos.learning import Adam, say
from weft.demos.runner import play

FRAMES, ROUNDS = 170, 40  # rounds of learning, a frame each; then the film of the last wave
WIDTH, HEIGHT, STEPS, SCALE = 216, 144, 560, 3  # cells, cells, steps of time, pixels of a cell
COURANT, GLASS, PERIOD, SPONGE = 0.65, 0.62, 18, 18  # air: cells in a step; glass: its part of that; steps; cells
BLOCK, TARGETS, PART = (0.2, 0.4), ((0.84, 0.27), (0.84, 0.73)), 4  # of the room; the last steps are 1 / PART of all


@ti.data_oriented
class Focus:
    """`u[t]` is the wave after t steps. All of them are kept: the gradient reads them, and so does the film."""

    def __init__(self, width=WIDTH, height=HEIGHT, steps=STEPS):
        self.width, self.height, self.steps = width, height, steps
        self.first, self.last = (int(part * width) // 2 for part in BLOCK)
        self.targets = [ti.Vector([int(x * width), int(y * height)]) for x, y in TARGETS]
        self.u = ti.field(ti.f32, (steps, width, height), needs_grad=True)
        self.design = ti.field(ti.f32, (self.last - self.first, height // 2), needs_grad=True)  # each for 2 x 2 cells
        self.speed = ti.field(ti.f32, (width, height), needs_grad=True)  # as a part of the speed in air
        self.energy = ti.field(ti.f32, len(TARGETS), needs_grad=True)
        self.loss = ti.field(ti.f32, (), needs_grad=True)
        self.image = ti.Vector.field(3, ti.f32, (width * SCALE, height * SCALE))
        self.adam = Adam([self.design], 0.25)

    @ti.kernel
    def build(self):
        for i, j in self.speed:
            self.speed[i, j] = 1.0
            if self.first <= i // 2 < self.last:
                air = 0.5 + 0.5 * ti.tanh(self.design[i // 2 - self.first, j // 2])
                self.speed[i, j] = GLASS + (1 - GLASS) * air

    @ti.kernel
    def step(self, t: ti.i32):
        """The wave after t steps, from the two before. It fades at the border, and enters near the left one."""
        for i, j in ti.ndrange((1, self.width - 1), (1, self.height - 1)):
            sides = (
                self.u[t - 1, i - 1, j] + self.u[t - 1, i + 1, j] + self.u[t - 1, i, j - 1] + self.u[t - 1, i, j + 1]
            )
            bend = (COURANT * self.speed[i, j]) ** 2 * (sides - 4 * self.u[t - 1, i, j])
            wave = 2 * self.u[t - 1, i, j] - self.u[t - 2, i, j] + bend
            if i == SPONGE:
                beam = ti.exp(-((2.6 * (j - 0.5 * self.height) / self.height) ** 8))
                wave += 0.5 * beam * ti.sin(2 * np.pi * t / PERIOD) * ti.min(1.0, t / (2 * PERIOD))
            edge = ti.min(ti.min(i, self.width - 1 - i), ti.min(j, self.height - 1 - j))
            self.u[t, i, j] = wave * (1 - 0.15 * ti.max(0.0, 1 - edge / SPONGE) ** 3)

    @ti.kernel
    def measure(self):
        for t in range(self.steps - self.steps // PART, self.steps):
            for k in ti.static(range(len(TARGETS))):
                for i, j in ti.ndrange((-2, 3), (-2, 3)):
                    at = self.targets[k] + ti.Vector([i, j])
                    self.energy[k] += self.u[t, at.x, at.y] ** 2 / (25 * self.steps / PART)
        for k in range(len(TARGETS)):
            self.loss[None] -= ti.log(self.energy[k]) / len(TARGETS)

    def learn(self):
        self.energy.fill(0)
        with ti.ad.Tape(self.loss):
            self.build()
            for t in range(2, self.steps):
                self.step(t)
            self.measure()
        self.adam.step()
        return self.loss[None]

    @ti.kernel
    def draw(self, t: ti.i32):
        for i, j in self.image:
            x, y = i // SCALE, j // SCALE
            glass = (1 - self.speed[x, y]) / (1 - GLASS)
            color = ti.math.mix(ti.Vector([0.02, 0.03, 0.07]), ti.Vector([0.16, 0.20, 0.30]), glass)
            wave = 0.45 * self.u[t, x, y]
            tint = ti.Vector([1.0, 0.52, 0.20]) if wave > 0 else ti.Vector([0.20, 0.55, 1.0])
            color += tint * abs(wave) + ti.max(0.0, abs(wave) - 0.8)
            for k in ti.static(range(len(TARGETS))):
                away = (ti.Vector([i, j]) / SCALE - self.targets[k]).norm()
                color += 0.7 * ti.math.smoothstep(0.7, 0.2, abs(away - 7))
            self.image[i, j] = color

    def __call__(self, number):
        t = self.steps - 1
        if number < ROUNDS:
            say(number, self.learn())
        else:
            t = min(t, 2 + self.steps * (number - ROUNDS) // (FRAMES - ROUNDS))
        self.draw(t)
        return self.image


build = Focus

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
