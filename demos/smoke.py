"""Smoke: hot air rises from a fire, curls around a ball, and throws a shadow on itself (Boussinesq buoyancy).

Velocities live on the faces of the cells (a MAC grid), where the divergence needs them. A step carries everything
backward along the flow, lifts what is hot, and subtracts the gradient of a pressure (red-black Gauss-Seidel with
over-relaxation) so that as much air enters a cell as leaves it. Source: Fedkiw, Stam, Jensen, "Visual simulation of
smoke", SIGGRAPH 2001.
"""

import weft as ti
from weft.demos.grids import sample
from weft.demos.palette import Palette
from weft.demos.runner import play

FRAMES = 200
WIDTH, HEIGHT, SCALE, SWEEPS, DT = 192, 256, 2, 20, 1.0  # all lengths in cells, times in steps
LIFT, WEIGHT, SWIRL, OVER = 0.12, 0.012, 0.14, 1.8
BALL, RADIUS = (0.5, 0.5), 0.085  # parts of the width, of the height


@ti.data_oriented
class Smoke:
    """A room of width x height cells, closed but for the top; the fire sways as much as `flicker`."""

    def __init__(self, width=WIDTH, height=HEIGHT, flicker=1.0):
        self.width, self.height, self.flicker = width, height, flicker
        self.u, self.u2 = (ti.field(ti.f32, (width + 1, height)) for _ in range(2))  # to the right, through left faces
        self.v, self.v2 = (ti.field(ti.f32, (width, height + 1)) for _ in range(2))  # upward, through low faces
        self.air, self.air2 = (ti.Vector.field(2, ti.f32, (width, height)) for _ in range(2))  # smoke, heat
        velocities = (self.u, self.u2, ti.vec2(0.0, 0.5), 1.0), (self.v, self.v2, ti.vec2(0.5, 0.0), 1.0)
        self.carried = (*velocities, (self.air, self.air2, ti.vec2(0.5), 0.9975))  # as `advect` takes it
        self.pressure, self.room = (ti.field(ti.f32, (width + 2, height + 2), offset=(-1, -1)) for _ in range(2))
        self.shadow = ti.field(ti.f32, (width, height))
        self.curl, self.push = ti.field(ti.f32, (width, height)), ti.Vector.field(2, ti.f32, (width, height))
        self.image, self.fire = ti.Vector.field(3, ti.f32, (width * SCALE, height * SCALE)), Palette("afmhot")
        self.centre, self.radius = ti.Vector([BALL[0] * width, BALL[1] * height]), RADIUS * height
        self.furnish()

    @ti.func
    def flow(self, p):
        """The velocity at p."""
        return ti.Vector([sample(self.u, p - ti.Vector([0, 0.5])), sample(self.v, p - ti.Vector([0.5, 0]))])

    @ti.kernel
    def furnish(self):
        """`room`: 1 where air can be; above the top it can."""
        for i, j in self.room:
            away = (ti.Vector([i, j]) + 0.5 - self.centre).norm()
            self.room[i, j] = 0 <= i < self.width and j >= 0 and away > self.radius

    @ti.kernel
    def advect(self, q: ti.Template, out: ti.Template, at: ti.vec2, keep: ti.f32):
        """`q` one step later, of which `keep` stays; its elements lie `at` a place of their cells."""
        for i, j in q:
            p = ti.Vector([i, j]) + at
            back = p - DT * self.flow(p - 0.5 * DT * self.flow(p))
            out[i, j] = keep * sample(q, back - at)

    @ti.kernel
    def burn(self, time: ti.f32):
        """The fire; heat lifts and smoke weighs down; little whirls are strengthened (vorticity confinement)."""
        for i, j in self.air:
            sway = self.flicker * 0.05 * self.width * ti.sin(time * 0.11) * ti.sin(time * 0.043 + 1)
            away = ti.Vector([i, j]) + 0.5 - ti.Vector([0.5 * self.width + sway, 0.09 * self.height])
            glow = ti.exp(-away.norm_sqr() / (0.035 * self.height) ** 2)
            self.air[i, j] = ti.max(self.air[i, j], ti.Vector([0.9, 1.0]) * glow)
        for i, j in ti.ndrange((1, self.width - 1), (1, self.height - 1)):
            rise = self.v[i + 1, j] + self.v[i + 1, j + 1] - self.v[i - 1, j] - self.v[i - 1, j + 1]
            drift = self.u[i, j + 1] + self.u[i + 1, j + 1] - self.u[i, j - 1] - self.u[i + 1, j - 1]
            self.curl[i, j] = 0.5 * (rise - drift)
        for i, j in ti.ndrange((2, self.width - 2), (2, self.height - 2)):
            across = abs(self.curl[i + 1, j]) - abs(self.curl[i - 1, j])
            slope = ti.Vector([across, abs(self.curl[i, j + 1]) - abs(self.curl[i, j - 1])])
            self.push[i, j] = SWIRL * self.curl[i, j] * slope / (slope.norm() + 1e-4)
        for i, j in ti.ndrange((1, self.width), self.height):
            self.u[i, j] += 0.5 * DT * (self.push[i - 1, j].y + self.push[i, j].y)
        for i, j in ti.ndrange(self.width, (1, self.height)):
            both, swirl = self.air[i, j - 1] + self.air[i, j], self.push[i, j - 1].x + self.push[i, j].x
            self.v[i, j] += 0.5 * DT * (LIFT * both.y - WEIGHT * both.x - swirl)

    @ti.kernel
    def close_walls(self):
        for i, j in self.u:
            self.u[i, j] *= self.room[i - 1, j] * self.room[i, j]
        for i, j in self.v:
            self.v[i, j] *= self.room[i, j - 1] * self.room[i, j]

    @ti.kernel
    def relax(self, color: ti.i32):
        """A Gauss-Seidel step for cells of one colour of a chessboard."""
        for i, j in self.air:
            if (i + j) % 2 == color and self.room[i, j] > 0:
                around, sides = 0.0, 0.0
                for a, b in ti.static(((1, 0), (-1, 0), (0, 1), (0, -1))):
                    sides += self.room[i + a, j + b]
                    around += self.room[i + a, j + b] * self.pressure[i + a, j + b]
                net = self.u[i + 1, j] - self.u[i, j] + self.v[i, j + 1] - self.v[i, j]
                self.pressure[i, j] += OVER * ((around - net) / sides - self.pressure[i, j])

    @ti.kernel
    def project(self):
        for i, j in self.u:
            self.u[i, j] -= self.room[i - 1, j] * self.room[i, j] * (self.pressure[i, j] - self.pressure[i - 1, j])
        for i, j in self.v:
            self.v[i, j] -= self.room[i, j - 1] * self.room[i, j] * (self.pressure[i, j] - self.pressure[i, j - 1])

    @ti.kernel
    def draw(self):
        for i, j in self.shadow:  # how much smoke the light, high on the left, has passed
            total = 0.0
            for k in range(1, 9):
                total += sample(self.air, ti.Vector([i, j]) + 4.0 * k * ti.Vector([-0.55, 0.83])).x
            self.shadow[i, j] = total
        for x, y in self.image:
            p = (ti.Vector([x, y]) + 0.5) / SCALE
            here, light = sample(self.air, p - 0.5), ti.exp(-0.32 * sample(self.shadow, p - 0.5))
            thick = 1 - ti.exp(-3.2 * here.x)
            wall = ti.Vector([0.10, 0.13, 0.19]) * (0.6 + 0.7 * p.y / self.height)
            color = ti.math.mix(wall, ti.Vector([0.93, 0.90, 0.86]) * (0.16 + 0.84 * light), thick)
            color += 1.3 * self.fire(0.85 * here.y**1.6) * here.y
            away = (p - self.centre) / self.radius
            tilt = ti.sqrt(ti.max(0.0, 1 - away.norm_sqr()))
            shine = ti.max(0.0, away.dot(ti.Vector([-0.45, 0.65])) + 0.6 * tilt) * (0.3 + 0.7 * light)
            ball = ti.Vector([0.20, 0.32, 0.55]) * (0.35 + shine) + 0.5 * ti.max(0.0, shine - 0.75) ** 2
            inside = ti.math.clamp((1 - away.norm()) * self.radius * SCALE + 0.5, 0.0, 1.0)
            self.image[x, y] = ti.math.mix(color, ball, inside)

    def step(self, time):
        self.burn(time)
        self.close_walls()
        for k in range(2 * SWEEPS):
            self.relax(k % 2)
        self.project()
        for q, out, at, keep in self.carried:
            self.advect(q, out, at, keep)
        for q, out, _, _ in self.carried:
            q.copy_from(out)

    def __call__(self, number):
        for half in range(2):
            self.step(2 * number + half)
        self.draw()
        return self.image


build = Smoke

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
