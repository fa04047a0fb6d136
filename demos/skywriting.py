"""Skywriting: a breath of air is found that turns four puffs of smoke into four letters.

Air is carried by itself, is made free of divergence (Jacobi sweeps), and carries the smoke, in a world without a border
(stable fluids). All that can be chosen is the velocity at the begin. The loss compares the smoke at the end with the
letters. Kernels overwrite their fields, as they would without gradients: the tape keeps what the gradient needs.
Sources: Stam, "Stable fluids", SIGGRAPH 1999; the task: McNamara et al., "Fluid control using the adjoint method",
SIGGRAPH 2004.
"""

import numpy as np

import weft as ti
from weft.demos.learning import Adam, say
from weft.demos.runner import play

FRAMES, ROUNDS = 180, 100  # rounds of learning, a frame each; then the film
WIDTH, HEIGHT, STEPS, SWEEPS, SCALE = 160, 120, 60, 8, 4  # cells, cells, steps of time, sweeps for the pressure, pixels


@ti.data_oriented
class Skywriting:
    """Smoke and air on width x height cells; velocities in cells per step."""

    def __init__(self, width=WIDTH, height=HEIGHT, steps=STEPS):
        self.width, self.height, self.steps = width, height, steps
        self.breath = ti.Vector.field(2, ti.f32, (width, height), needs_grad=True)
        self.air, self.air2 = (ti.Vector.field(2, ti.f32, (width, height), needs_grad=True) for _ in range(2))
        self.smoke, self.smoke2 = (ti.field(ti.f32, (width, height), needs_grad=True) for _ in range(2))
        self.divergence, self.p, self.p2 = (ti.field(ti.f32, (width, height), needs_grad=True) for _ in range(3))
        self.loss = ti.field(ti.f32, (), needs_grad=True)
        self.wanted = ti.field(ti.f32, (width, height))
        self.image = ti.Vector.field(3, ti.f32, (width * SCALE, height * SCALE))
        self.adam = Adam([self.breath], 0.02)
        self.wanted.from_numpy(letters(width, height))

    @ti.func
    def at(self, q: ti.Template, i, j):
        """q at i, j, which may lie up to a world outside."""
        return q[(i + self.width) % self.width, (j + self.height) % self.height]

    @ti.kernel
    def begin(self):
        """Puffs of smoke in air that the breath moves."""
        for i, j in self.smoke:
            puff = ti.Vector([(i + 0.5) % (self.width / 4) - self.width / 8, j + 0.5 - self.height / 2])
            self.smoke[i, j] = 0.5 + 0.5 * ti.tanh(0.8 * (0.088 * self.width - puff.norm()))
            self.air[i, j] = self.breath[i, j]

    @ti.func
    def sample(self, q: ti.Template, p):
        k = ti.floor(p, ti.i32)
        t = p - k
        low = ti.math.mix(self.at(q, k.x, k.y), self.at(q, k.x + 1, k.y), t.x)
        high = ti.math.mix(self.at(q, k.x, k.y + 1), self.at(q, k.x + 1, k.y + 1), t.x)
        return ti.math.mix(low, high, t.y)

    @ti.kernel
    def carry(self, q: ti.Template, out: ti.Template):
        for i, j in q:
            out[i, j] = self.sample(q, ti.Vector([i, j]) - self.air[i, j])

    @ti.kernel
    def measure(self):
        for i, j in self.p:
            across = self.at(self.air2, i + 1, j).x - self.at(self.air2, i - 1, j).x
            self.divergence[i, j] = 0.5 * (across + self.at(self.air2, i, j + 1).y - self.at(self.air2, i, j - 1).y)
            self.p[i, j] = 0.0

    @ti.kernel
    def relax(self, p: ti.Template, out: ti.Template):
        for i, j in p:
            sides = self.at(p, i - 1, j) + self.at(p, i + 1, j) + self.at(p, i, j - 1) + self.at(p, i, j + 1)
            out[i, j] = 0.25 * (sides - self.divergence[i, j])

    @ti.kernel
    def project(self):
        for i, j in self.p:
            across = self.at(self.p, i + 1, j) - self.at(self.p, i - 1, j)
            up = self.at(self.p, i, j + 1) - self.at(self.p, i, j - 1)
            self.air[i, j] = self.air2[i, j] - 0.5 * ti.Vector([across, up])

    def step(self):
        self.carry(self.air, self.air2)
        self.measure()
        for _ in range(SWEEPS // 2):
            self.relax(self.p, self.p2)
            self.relax(self.p2, self.p)
        self.project()
        self.carry(self.smoke, self.smoke2)
        self.smoke, self.smoke2 = self.smoke2, self.smoke

    @ti.kernel
    def compare(self):
        for i, j in self.smoke:
            self.loss[None] += (self.smoke[i, j] - self.wanted[i, j]) ** 2 / (self.width * self.height)

    def learn(self):
        with ti.ad.Tape(self.loss):
            self.begin()
            for _ in range(self.steps):
                self.step()
            self.compare()
        self.adam.step()
        return self.loss[None]

    @ti.kernel
    def draw(self):
        """White smoke before a blue sky, lit from above."""
        for i, j in self.image:
            p = (ti.Vector([i, j]) + 0.5) / SCALE - 0.5
            thick, shade = (
                self.sample(self.smoke, p),
                self.sample(self.smoke, p + 2.0) - self.sample(self.smoke, p - 2.0),
            )
            sky = ti.math.mix(ti.Vector([0.42, 0.66, 0.90]), ti.Vector([0.10, 0.30, 0.65]), j / (self.height * SCALE))
            self.image[i, j] = ti.math.mix(sky, ti.Vector([0.93, 0.94, 0.96]) - 0.18 * shade, 0.95 * thick)

    def __call__(self, number):
        if number < ROUNDS:
            say(number, self.learn())
        elif number == ROUNDS:
            self.begin()
        elif number <= ROUNDS + self.steps:
            self.step()
        self.draw()
        return self.image


def letters(width, height):
    """The letters as width x height numbers from 0 to 1, each in the middle of a quarter of the width."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    wanted = np.zeros((width, height), np.float32)
    cells = np.stack(np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5, indexing="ij"), -1).reshape(-1, 2)
    for k, letter in enumerate("WEFT"):
        path = TextPath((0, 0), letter, size=0.24 * width, prop=FontProperties(family="DejaVu Sans", weight="bold"))
        box = path.get_extents()
        middle = [(k + 0.5) * width / 4, height / 2]
        inside = path.contains_points(cells - middle + [(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2])
        wanted += inside.reshape(width, height)
    return wanted


build = Skywriting

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
