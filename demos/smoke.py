"""Smoke: hot air rises from a fire, curls around a ball, and throws a shadow on itself (Boussinesq buoyancy).

Velocities live on the faces of the cells (a MAC grid), where the divergence needs them. A step carries everything
backward along the flow, lifts what is hot, and subtracts the gradient of a pressure (red-black Gauss-Seidel with
over-relaxation) so that as much air enters a cell as leaves it. Source: Fedkiw, Stam, Jensen, "Visual simulation of
smoke", SIGGRAPH 2001.
"""

import numpy as np

import weft as ti
from weft.demos.palette import Palette

FRAMES = 200
WIDTH, HEIGHT, SCALE, SWEEPS, DT = 192, 256, 2, 20, 1.0
LIFT, WEIGHT, SWIRL, OVER = 0.12, 0.012, 0.14, 1.8
BALL, RADIUS = (0.5, 0.5), 0.085  # parts of the width, of the height


def build(width=WIDTH, height=HEIGHT, flicker=1.0):
    """A room of width x height cells, closed but for the top; the fire sways as much as `flicker`."""
    u, u2 = (ti.field(ti.f32, (width + 1, height)) for _ in range(2))  # to the right, through left faces
    v, v2 = (ti.field(ti.f32, (width, height + 1)) for _ in range(2))  # upward, through low faces
    air, air2 = (ti.Vector.field(2, ti.f32, (width, height)) for _ in range(2))  # smoke, heat
    pressure, curl = ti.field(ti.f32, (width + 2, height + 2), offset=(-1, -1)), ti.field(ti.f32, (width, height))
    image, fire = ti.Vector.field(3, ti.f32, (width * SCALE, height * SCALE)), Palette("afmhot")
    centre, radius = ti.Vector([BALL[0] * width, BALL[1] * height]), RADIUS * height

    room = ti.field(ti.f32, (width + 2, height + 2), offset=(-1, -1))  # 1 where air can be; above the top it can

    @ti.kernel
    def furnish():
        for i, j in room:
            away = (ti.Vector([i, j]) + 0.5 - centre).norm()
            room[i, j] = 0 <= i < width and j >= 0 and away > radius

    @ti.func
    def sample(q: ti.template(), p):
        """q at p, in units of q's own grid, clamped at its border."""
        low = ti.math.clamp(p, 0.0, ti.Vector(q.shape) - 1.001)
        k = ti.floor(low, ti.i32)
        t = low - k
        a = ti.math.mix(q[k], q[k.x + 1, k.y], t.x)
        b = ti.math.mix(q[k.x, k.y + 1], q[k.x + 1, k.y + 1], t.x)
        return ti.math.mix(a, b, t.y)

    @ti.func
    def flow(u: ti.template(), v: ti.template(), p):
        return ti.Vector([sample(u, p - ti.Vector([0, 0.5])), sample(v, p - ti.Vector([0.5, 0]))])

    @ti.kernel
    def advect(
        u: ti.template(), v: ti.template(), q: ti.template(), out: ti.template(), at: ti.math.vec2, keep: ti.f32
    ):
        for i, j in q:
            p = ti.Vector([i, j]) + at
            back = p - DT * flow(u, v, p - 0.5 * DT * flow(u, v, p))
            out[i, j] = keep * sample(q, back - at)

    @ti.kernel
    def burn(u: ti.template(), v: ti.template(), air: ti.template(), time: ti.f32):
        for i, j in air:
            sway = flicker * 0.05 * width * ti.sin(time * 0.11) * ti.sin(time * 0.043 + 1)
            away = ((ti.Vector([i, j]) + 0.5) - ti.Vector([0.5 * width + sway, 0.09 * height])) / (0.035 * height)
            glow = ti.exp(-away.norm_sqr())
            air[i, j] = ti.max(air[i, j], ti.Vector([0.9, 1.0]) * glow)
        for i, j in ti.ndrange((1, width - 1), (1, height - 1)):
            rise = v[i + 1, j] + v[i + 1, j + 1] - v[i - 1, j] - v[i - 1, j + 1]
            drift = u[i, j + 1] + u[i + 1, j + 1] - u[i, j - 1] - u[i + 1, j - 1]
            curl[i, j] = 0.5 * (rise - drift)
        for i, j in ti.ndrange(width, (1, height)):
            low, high = air[i, j - 1], air[i, j]
            v[i, j] += DT * 0.5 * (LIFT * (low.y + high.y) - WEIGHT * (low.x + high.x))
        for i, j in ti.ndrange((2, width - 2), (2, height - 2)):
            slope = ti.Vector([abs(curl[i + 1, j]) - abs(curl[i - 1, j]), abs(curl[i, j + 1]) - abs(curl[i, j - 1])])
            push = SWIRL * curl[i, j] * slope / (slope.norm() + 1e-4)
            u[i, j] += 0.5 * DT * push.y
            u[i + 1, j] += 0.5 * DT * push.y
            v[i, j] -= 0.5 * DT * push.x
            v[i, j + 1] -= 0.5 * DT * push.x

    @ti.kernel
    def close_walls(u: ti.template(), v: ti.template()):
        for i, j in u:
            u[i, j] *= room[i - 1, j] * room[i, j]
        for i, j in v:
            v[i, j] *= room[i, j - 1] * room[i, j]

    @ti.kernel
    def relax(u: ti.template(), v: ti.template(), air: ti.template(), color: ti.i32):
        for i, j in air:
            if (i + j) % 2 == color and room[i, j] > 0:
                around, sides = 0.0, 0.0
                for a, b in ti.static(((1, 0), (-1, 0), (0, 1), (0, -1))):
                    sides += room[i + a, j + b]
                    around += room[i + a, j + b] * pressure[i + a, j + b]
                net = u[i + 1, j] - u[i, j] + v[i, j + 1] - v[i, j]
                pressure[i, j] += OVER * ((around - net) / sides - pressure[i, j])

    @ti.kernel
    def project(u: ti.template(), v: ti.template()):
        for i, j in u:
            u[i, j] -= room[i - 1, j] * room[i, j] * (pressure[i, j] - pressure[i - 1, j])
        for i, j in v:
            v[i, j] -= room[i, j - 1] * room[i, j] * (pressure[i, j] - pressure[i, j - 1])

    @ti.kernel
    def draw(air: ti.template()):
        for x, y in image:
            p = (ti.Vector([x, y]) + 0.5) / SCALE
            here, shadow = sample(air, p - 0.5), 0.0
            for k in range(1, 9):  # how much smoke the light, high on the left, has passed
                shadow += sample(air, p - 0.5 + 4.0 * k * ti.Vector([-0.55, 0.83])).x
            light = ti.exp(-0.32 * shadow)
            thick = 1 - ti.exp(-3.2 * here.x)
            wall = ti.Vector([0.10, 0.13, 0.19]) * (0.6 + 0.7 * p.y / height)
            color = ti.math.mix(wall, ti.Vector([0.93, 0.90, 0.86]) * (0.16 + 0.84 * light), thick)
            color += 1.3 * fire(0.85 * here.y**1.6) * here.y
            away = (p - centre) / radius
            tilt = ti.sqrt(ti.max(0.0, 1 - away.norm_sqr()))
            shine = ti.max(0.0, away.dot(ti.Vector([-0.45, 0.65])) + 0.6 * tilt) * (0.3 + 0.7 * light)
            ball = ti.Vector([0.20, 0.32, 0.55]) * (0.35 + shine) + 0.5 * ti.max(0.0, shine - 0.75) ** 2
            image[x, y] = ti.math.mix(color, ball, ti.math.clamp((1 - away.norm()) * radius * SCALE + 0.5, 0.0, 1.0))

    furnish()

    def step(time):
        nonlocal u, u2, v, v2, air, air2
        burn(u, v, air, time)
        close_walls(u, v)
        for k in range(2 * SWEEPS):
            relax(u, v, air, k % 2)
        project(u, v)
        advect(u, v, u, u2, [0.0, 0.5], 1.0)
        advect(u, v, v, v2, [0.5, 0.0], 1.0)
        advect(u, v, air, air2, [0.5, 0.5], 0.9975)
        u, u2, v, v2, air, air2 = u2, u, v2, v, air2, air

    def frame(number):
        for half in range(2):
            step(2 * number + half)
        draw(air)
        return np.clip(image.to_numpy(), 0, 1).swapaxes(0, 1)[::-1]

    frame.state, frame.room, frame.step = lambda: (u, v, air), room, step
    return frame
