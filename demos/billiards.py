"""Billiards: gradients find golden breaks, shots that scatter nine balls so that the ninth falls into a pocket.

A shot is a place of the cue ball, a direction and a speed; many are played side by side. The loss of a shot is how far
from a pocket the ninth ball passes. Its gradient goes back through all collisions. In a step, balls meet at the root of
a quadratic equation, not at the end of the step: else the time at which they meet would change nothing. Source: Hu et
al., "DiffTaichi: differentiable programming for physical simulation", ICLR 2020.
"""

import numpy as np

import weft as ti
from weft.demos.learning import Polyak, say
from weft.demos.pool import BALLS, LENGTH, POCKET, RADIUS, WIDTH, Table, diamond, to_hole
from weft.demos.runner import play

FRAMES, ROUNDS, SHOWN = 190, 40, 6  # rounds of learning, a frame each; then the best shot, so many steps in a frame
SHOTS, STEPS, DT, FAR = 24, 840, 1 / 480, 0.02  # DT in seconds; the longest change of a shot
BOUNCE, CUSHION, DRAG = 0.94, 0.75, 0.35  # what is left of a speed; 1/s


@ti.data_oriented
class Billiards:
    """`x[t, s, i]` is where ball i is after t steps of shot s."""

    def __init__(self, shots=SHOTS, steps=STEPS):
        self.shots, self.steps = shots, steps
        self.x, self.v = (ti.Vector.field(2, ti.f32, (steps + 1, shots, BALLS), needs_grad=True) for _ in range(2))
        self.shot = ti.Vector.field(3, ti.f32, shots, needs_grad=True)  # place across the table, angle, tenth of speed
        self.near = ti.field(ti.f32, shots, needs_grad=True)  # how near to a pocket the ninth ball comes, m
        self.loss = ti.field(ti.f32, (), needs_grad=True)
        self.rack, self.table = ti.Vector.field(2, ti.f32, BALLS), Table(self.x)
        random = np.random.default_rng(5)
        self.rack.from_numpy(diamond(random))
        self.shot.from_numpy(random.uniform([0.3, -0.14, 0.6], [0.97, 0.14, 0.95], (shots, 3)).astype(np.float32))
        self.polyak = Polyak(self.shot, self.near, POCKET, FAR)

    @ti.kernel
    def begin(self):
        for s, i in ti.ndrange(self.shots, BALLS):
            self.x[0, s, i], self.v[0, s, i] = self.rack[i], [0.0, 0.0]
            if i == 0:
                y, angle, speed = self.shot[s]
                aim = ti.atan2(WIDTH / 2 - y, self.rack[1].x - self.rack[0].x) + angle
                self.x[0, s, i] = [self.rack[0].x, y]
                self.v[0, s, i] = 10 * speed * ti.Vector([ti.cos(aim), ti.sin(aim)])

    @ti.func
    def meet(self, t, s, i, j):
        """How long after step t balls i and j touch; not before the next step if they do not in this one."""
        d, w, when = self.x[t, s, i] - self.x[t, s, j], self.v[t, s, i] - self.v[t, s, j], DT
        closing, speed = d.dot(w), w.norm_sqr()
        root = closing**2 - speed * (d.norm_sqr() - 4 * RADIUS**2)
        played = to_hole(self.x[t, s, i]) > POCKET and to_hole(self.x[t, s, j]) > POCKET
        if i != j and closing < 0 and root > 1e-7 and played:
            when = ti.max(0.0, (-closing - ti.sqrt(root)) / speed)
        return when

    @ti.func
    def touched(self, t, s, i):
        """How many balls ball i touches in the step after t."""
        count = 0
        for j in range(BALLS):
            count += self.meet(t, s, i, j) < DT
        return count

    @ti.kernel
    def step(self, t: ti.i32):
        """The balls after step t + 1. Who meets several balls shares the push, so that no energy is made."""
        for s, i in ti.ndrange(self.shots, BALLS):
            p, u = self.x[t, s, i], self.v[t, s, i]
            go, jump = u * (to_hole(p) > POCKET), ti.Vector([0.0, 0.0])
            for j in range(BALLS):
                when = self.meet(t, s, i, j)
                if when < DT:
                    w = u - self.v[t, s, j]
                    normal = (p - self.x[t, s, j] + when * w).normalized()
                    share = 0.5 * (1 + BOUNCE) / ti.max(self.touched(t, s, i), self.touched(t, s, j))
                    go -= share * w.dot(normal) * normal
                    jump += when * share * w.dot(normal) * normal
            p += jump + DT * go
            for c in ti.static(range(2)):
                low, high = RADIUS, ti.static((LENGTH, WIDTH)[c]) - RADIUS
                if (p[c] < low and go[c] < 0) or (p[c] > high and go[c] > 0):
                    p[c] -= (1 + CUSHION) * (p[c] - ti.math.clamp(p[c], low, high))
                    go[c] *= -CUSHION
            self.x[t + 1, s, i], self.v[t + 1, s, i] = p, go * (1 - DRAG * DT)

    @ti.kernel
    def measure(self):
        for s in self.near:
            near = 9.0
            for t in range(self.steps + 1):
                near = ti.min(near, to_hole(self.x[t, s, BALLS - 1]))
            self.near[s] = near
            self.loss[None] += near

    def learn(self):
        with ti.ad.Tape(self.loss):
            self.begin()
            for t in range(self.steps):
                self.step(t)
            self.measure()
        self.polyak.step()
        return self.loss[None] / self.shots

    def __call__(self, number):
        if number < ROUNDS:
            loss = self.learn()
            say(number, loss, f"{(self.near.to_numpy() < POCKET).sum()} of {self.shots} shots pot the ninth ball")
        now = self.steps if number < ROUNDS else min(self.steps, SHOWN * (number - ROUNDS))
        self.table.draw(int(self.near.to_numpy().argmin()), now)
        return self.table.image


build = Billiards

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
