"""Drape: from a photograph of a cloth, gradients find how the wind blew, how strongly, and how stiff the cloth is.

The cloth hangs at two corners, falls, and is blown about (masses and springs). A picture is drawn by soft splats, so
that it changes smoothly with the cloth. The loss compares it with the photograph, of a cloth whose numbers are hidden.
Its gradient goes through the picture and through 400 steps of time to four numbers. Source: Jatavallabhula et al.,
"gradSim: differentiable simulation for system identification and visuomotor control", ICLR 2021.
"""

import numpy as np

import weft as ti
from weft.demos.grids import sample
from weft.demos.learning import Adam, say
from weft.demos.runner import play

FRAMES, ROUNDS = 185, 80  # rounds of learning, a frame each; then the film
N, STEPS, DT, SIZE, SCALE = 28, 400, 2.5e-3, 120, 4  # points along an edge, steps, seconds, pixels of a picture, of one
STIFFNESS, GRAVITY, DAMPING, FINE = 3e4, 9.8, 1.5, 4  # 1/s^2, m/s^2, 1/s, splats along a square
HIDDEN, GUESS = (1.0, 0.9, 0.3, 0.4), (-0.7, 0.1, 0.0, 0.0)  # wind to the right, to us, m/s; logs of air, of stiffness
SPRINGS = ((1, 0, 1.0), (0, 1, 1.0), (1, 1, 0.5), (1, -1, 0.5), (2, 0, 0.15), (0, 2, 0.15))  # squares, strength
DYES = [ti.Vector(c) for c in ([0.95, 0.75, 0.25], [0.10, 0.55, 0.55], [0.85, 0.15, 0.20], [0.30, 0.20, 0.65])]
LIGHT, TURN, SKY = ti.Vector([-0.4, 0.5, 0.77]), 0.5, ti.Vector([0.10, 0.11, 0.14])  # of the camera, in radians


@ti.data_oriented
class Drape:
    """`x[t]` are the points of the cloth after t steps."""

    def __init__(self, n=N, steps=STEPS, size=SIZE):
        self.n, self.steps, self.size = n, steps, size
        self.x, self.v = (ti.Vector.field(3, ti.f32, (steps + 1, n, n), needs_grad=True) for _ in range(2))
        self.numbers = ti.field(ti.f32, 4, needs_grad=True)
        self.ink = ti.Vector.field(4, ti.f32, (size, size), needs_grad=True)
        self.loss = ti.field(ti.f32, (), needs_grad=True)
        self.photo = ti.Vector.field(4, ti.f32, (size, size))
        self.image = ti.Vector.field(3, ti.f32, (2 * size * SCALE, size * SCALE))
        self.adam = Adam([self.numbers], 0.06)
        self.numbers.from_numpy(np.array(HIDDEN, np.float32))
        self.simulate()
        self.photo.copy_from(self.ink)
        self.numbers.from_numpy(np.array(GUESS, np.float32))

    @ti.kernel
    def begin(self):
        for i, j in ti.ndrange(self.n, self.n):
            self.x[0, i, j] = [i / (self.n - 1) - 0.5, j / (self.n - 1) - 0.5, 0.0]
            self.v[0, i, j] = [0.0, 0.0, 0.0]

    @ti.func
    def normal(self, t, i, j):
        left, right, low, high = (
            ti.max(i - 1, 0),
            ti.min(i + 1, self.n - 1),
            ti.max(j - 1, 0),
            ti.min(j + 1, self.n - 1),
        )
        return (self.x[t, right, j] - self.x[t, left, j]).cross(self.x[t, i, high] - self.x[t, i, low]).normalized()

    @ti.kernel
    def step(self, t: ti.i32):
        """The cloth after t steps."""
        for i, j in ti.ndrange(self.n, self.n):
            p, u, normal = self.x[t - 1, i, j], self.v[t - 1, i, j], self.normal(t - 1, i, j)
            wind = ti.Vector([self.numbers[0], 0.0, self.numbers[1]])
            force = 6 * ti.exp(self.numbers[2]) * (wind - u).dot(normal) * normal - ti.Vector([0.0, GRAVITY, 0.0])
            for a, b, strength in ti.static(SPRINGS):
                for sign in ti.static((1, -1)):
                    s, r = i + sign * a, j + sign * b
                    if 0 <= s < self.n and 0 <= r < self.n:
                        d, rest = self.x[t - 1, s, r] - p, ti.sqrt(a * a + b * b) / (self.n - 1)
                        force += STIFFNESS * ti.exp(self.numbers[3]) * strength * (1 - rest / d.norm()) * d
            if j == self.n - 1 and (i == 0 or i == self.n - 1):
                force = ti.Vector([0.0, 0.0, 0.0])
            self.v[t, i, j] = (u + DT * force) * (1 - DAMPING * DT)
            self.x[t, i, j] = p + DT * self.v[t, i, j]

    @ti.kernel
    def splat(self, t: ti.i32):
        """The picture: sums of the colours near a pixel, nearer ones counting more, and of their weights."""
        for i, j in self.ink:
            self.ink[i, j] = [0.0, 0.0, 0.0, 0.0]
        for i, j, a, b in ti.ndrange(self.n - 1, self.n - 1, FINE, FINE):
            s, r = (a + 0.5) / FINE, (b + 0.5) / FINE
            low = ti.math.mix(self.x[t, i, j], self.x[t, i + 1, j], s)
            p = ti.math.mix(low, ti.math.mix(self.x[t, i, j + 1], self.x[t, i + 1, j + 1], s), r)
            toward = p.z * ti.cos(TURN) - p.x * ti.sin(TURN)
            right, zoom = p.x * ti.cos(TURN) + p.z * ti.sin(TURN), self.size / (1.6 - 0.35 * toward)
            at = ti.Vector([right, p.y]) * zoom + self.size / 2
            u, v = (i + s) / (self.n - 1), (j + r) / (self.n - 1)
            dye = ti.math.mix(ti.math.mix(DYES[0], DYES[1], u), ti.math.mix(DYES[2], DYES[3], u), v)
            weave = 1.0 if (int(8 * u) + int(8 * v)) % 2 == 0 else 0.8
            color = weave * dye * (0.2 + 0.8 * abs(self.normal(t, i, j).dot(LIGHT)))
            for c, d in ti.ndrange((-2, 3), (-2, 3)):
                k = ti.floor(at, ti.i32) + ti.Vector([c, d])
                if 0 <= k.x < self.size and 0 <= k.y < self.size:
                    weight = ti.exp(8 * toward - (k + 0.5 - at).norm_sqr())
                    self.ink[k] += weight * ti.Vector([color.x, color.y, color.z, 1.0])

    @ti.func
    def shown(self, ink):
        return (ink.xyz + 0.05 * SKY) / (ink.w + 0.05)

    @ti.kernel
    def compare(self):
        for i, j in self.ink:
            self.loss[None] += (self.shown(self.ink[i, j]) - self.shown(self.photo[i, j])).norm_sqr() / self.size**2

    def simulate(self):
        self.begin()
        for t in range(1, self.steps + 1):
            self.step(t)
        self.splat(self.steps)

    def learn(self):
        with ti.ad.Tape(self.loss):
            self.simulate()
            self.compare()
        self.adam.step()
        return self.loss[None]

    @ti.kernel
    def draw(self):
        """The photograph and the cloth."""
        for i, j in self.image:
            p = (ti.Vector([i % (self.size * SCALE), j]) + 0.5) / SCALE - 0.5
            ink = sample(self.photo, p) if i < self.size * SCALE else sample(self.ink, p)
            self.image[i, j] = self.shown(ink)

    def __call__(self, number):
        if number < ROUNDS:
            wind, toward, air, stiffness = self.numbers.to_numpy()
            say(
                number, self.learn(), f"wind {wind:.2f}, {toward:.2f}; logs of air {air:.2f}, stiffness {stiffness:.2f}"
            )
        else:
            self.splat(min(self.steps, 4 * (number - ROUNDS)))
        self.draw()
        return self.image


build = Drape

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
