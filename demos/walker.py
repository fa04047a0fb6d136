"""Walker: a soft robot learns to walk by the gradient of how far it gets (material points, four muscles).

A muscle is half of a leg, and pulls or pushes along it by a sum of waves of time. The weights of the waves are learned;
the loss is minus the distance after 640 steps. These are the steps of a program without gradients: they overwrite all
that they use, and the tape keeps what the gradient needs. Source: Hu et al., "ChainQueen: a real-time differentiable
physical simulator for soft robotics", ICRA 2019.
"""

import numpy as np

import weft as ti
from weft.demos.blobs import Blobs
from weft.demos.learning import Adam, say
from weft.demos.runner import play

FRAMES, ROUNDS, SHOWN = 150, 50, 7  # rounds of learning, a frame each; then the film, with that many steps in a frame
STEPS, DT, CELLS, WORLD, SCALE = 640, 2.5e-3, 48, (2.25, 0.65), 320  # seconds; cells of a metre; m; pixels of a metre
DX, GRID, BOUND = 1 / CELLS, tuple(int(side * CELLS) for side in WORLD), 4  # metres; cells; cells of wall
STIFF, STRENGTH, GRAVITY, FRICTION = 20.0, 13.0, 4.0, 0.5  # Pa m for a density of 1 kg/m^2, of body and muscles; m/s^2
MUSCLES, WAVES, OMEGA, MASS = 4, 4, 20.0, (DX / 2) ** 2  # radians per second; of a point, kg, and its volume, m^2
PHASES = ti.Vector([2 * np.pi * k / WAVES for k in range(WAVES)])


@ti.data_oriented
class Walker:
    """A body of two legs; each point knows its muscle, or that it has none (-1)."""

    def __init__(self, steps=STEPS):
        self.steps = steps
        points, muscles, count = body()
        self.x, self.v = (ti.Vector.field(2, ti.f32, count, needs_grad=True) for _ in range(2))
        self.C, self.F = (ti.Matrix.field(2, 2, ti.f32, count, needs_grad=True) for _ in range(2))
        self.momentum, self.velocity = (ti.Vector.field(2, ti.f32, GRID, needs_grad=True) for _ in range(2))
        self.mass, self.pull, self.loss = (ti.field(ti.f32, shape, needs_grad=True) for shape in (GRID, MUSCLES, ()))
        self.weight = ti.Vector.field(WAVES, ti.f32, MUSCLES, needs_grad=True)  # of the waves, for each muscle
        pixels = [int(side * SCALE) for side in WORLD]
        self.color, self.image = ti.Vector.field(3, ti.f32, count), ti.Vector.field(3, ti.f32, pixels)
        self.blobs = Blobs(self.x, self.color, pixels, SCALE, 0.0085 * SCALE)
        self.rest, self.muscle = ti.Vector.field(2, ti.f32, count), ti.field(ti.i32, count)
        self.rest.from_numpy(points)
        self.muscle.from_numpy(muscles)
        self.weight.from_numpy(np.random.default_rng(3).normal(0, 0.05, (MUSCLES, WAVES)).astype(np.float32))
        self.adam = Adam([self.weight], 0.08)

    @ti.kernel
    def begin(self):
        for p in self.x:
            self.x[p], self.v[p] = self.rest[p], [0.0, 0.0]
            self.C[p], self.F[p] = ti.Matrix.zero(ti.f32, 2, 2), ti.Matrix.identity(ti.f32, 2)

    @ti.func
    def around(self, p):
        """The first of the nine nodes around a point, where the point is from there, and the nodes' weights."""
        base = int(p / DX - 0.5)
        f = p / DX - base
        return base, f, [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]

    @ti.kernel
    def substep(self, time: ti.f32):
        for m in self.pull:
            waves = ti.sin(OMEGA * time + PHASES)
            self.pull[m] = STRENGTH * ti.tanh(self.weight[m].dot(waves))
        for i, j in self.mass:
            self.momentum[i, j], self.mass[i, j] = [0.0, 0.0], 0.0
        for p in self.x:
            base, f, w = self.around(self.x[p])
            F = self.F[p] + DT * self.C[p] @ self.F[p]
            self.F[p] = F
            turn = ti.Vector([F[0, 0] + F[1, 1], F[1, 0] - F[0, 1]]).normalized()
            R, J = ti.Matrix([[turn.x, -turn.y], [turn.y, turn.x]]), F.determinant()
            stress = 2 * STIFF * (F - R) @ F.transpose() + ti.Matrix.identity(ti.f32, 2) * STIFF * J * (J - 1)
            if self.muscle[p] >= 0:
                along = ti.Vector([F[0, 1], F[1, 1]])
                stress += self.pull[self.muscle[p]] * along.outer_product(along)
            affine = MASS * self.C[p] - DT * MASS * 4 / DX**2 * stress
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset, share = ti.Vector([i, j]), w[i].x * w[j].y
                self.momentum[base + offset] += share * (MASS * self.v[p] + affine @ ((offset - f) * DX))
                self.mass[base + offset] += share * MASS
        for i, j in self.mass:
            u = self.momentum[i, j] / (self.mass[i, j] + 1e-10) - ti.Vector([0.0, DT * GRAVITY])
            if j < BOUND and u.y < 0:
                slide = ti.max(0.0, abs(u.x) + FRICTION * u.y)
                u = ti.Vector([slide if u.x > 0 else -slide, 0.0])
            if (i < BOUND and u.x < 0) or (i > GRID[0] - BOUND and u.x > 0):
                u.x = 0.0
            self.velocity[i, j] = u
        for p in self.x:
            base, f, w = self.around(self.x[p])
            u, C = ti.Vector.zero(ti.f32, 2), ti.Matrix.zero(ti.f32, 2, 2)
            for i, j in ti.static(ti.ndrange(3, 3)):
                there = w[i].x * w[j].y * self.velocity[base + ti.Vector([i, j])]
                u += there
                C += 4 / DX * there.outer_product(ti.Vector([i, j]) - f)
            self.v[p], self.C[p], self.x[p] = u, C, self.x[p] + DT * u

    @ti.kernel
    def measure(self):
        for p in self.x:
            self.loss[None] -= (self.x[p].x - self.rest[p].x) / self.x.shape[0]

    def learn(self, share=1.0):
        with ti.ad.Tape(self.loss):
            self.begin()
            for t in range(self.steps):
                self.substep(t * DT)
            self.measure()
        self.adam.step(share)
        return self.loss[None]

    @ti.kernel
    def paint(self):
        """Muscles that pull are red, those that push blue."""
        for p in self.x:
            m, pull = self.muscle[p], self.pull[ti.max(self.muscle[p], 0)] / STRENGTH
            color = ti.Vector([0.55, 0.52, 0.60]) + pull * ti.Vector([0.40, -0.30, -0.45])
            self.color[p] = color if m >= 0 else ti.Vector([0.95, 0.72, 0.35])
        for i, j in self.image:
            self.image[i, j] = ti.Vector([0.80, 0.88, 0.95]) - 0.25 * j / self.image.shape[1]
            if j < (BOUND - 0.4) * DX * SCALE:
                self.image[i, j] = ti.Vector([0.36, 0.42, 0.34]) * (0.8 if i * 8 // SCALE % 2 == 0 else 1.0)

    def __call__(self, number):
        if number < ROUNDS:
            say(number, self.learn(1 / (1 + number / 15)))
        now = (number - ROUNDS) * SHOWN
        if now == 0:
            self.begin()
        for t in range(max(0, now), min(self.steps, now + SHOWN)):
            self.substep(t * DT)
        self.paint()
        self.blobs.draw(self.image)
        return self.image


def body():
    """The points, four in a cell, the muscle of each, and how many points there are."""
    x, y = np.meshgrid(np.arange(0, 0.5, DX / 2), np.arange(0, 0.3, DX / 2), indexing="ij")
    torso, left, right = y >= 0.15, x < 0.12, x >= 0.38
    muscle = np.where(left, np.where(x < 0.06, 0, 1), np.where(x < 0.44, 2, 3))
    points, inside = np.stack([x + 0.15, y + (BOUND + 0.1) * DX], -1), torso | left | right
    return points[inside].astype(np.float32), np.where(torso, -1, muscle)[inside].astype(np.int32), int(inside.sum())


build = Walker

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
