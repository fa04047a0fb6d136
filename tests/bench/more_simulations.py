"""More simulations that DiffTaichi made known, written anew: rigid boxes, charges, a picture of a volume; and bodies
that attract one another, for second derivatives.

They are registered as those of `simulations.py` are. The state has an axis for time, and numbers are f32.
"""

import inputs
import numpy as np
from inputs import Program, sample
from programs import PROGRAMS
from simulations import simulation


@simulation
def rigid_1024(ti):
    """1024 boxes that fall on the ground and slide, 64 steps; the gradient by their velocities."""
    n, steps, dt, friction, restitution = 1024, 64, 5e-3, 0.3, 0.4
    x, v = (ti.Vector.field(2, ti.f32, (steps, n), needs_grad=True) for _ in range(2))
    turn, spin = (ti.field(ti.f32, (steps, n), needs_grad=True) for _ in range(2))
    push, twist = (
        ti.Vector.field(2, ti.f32, (steps, n), needs_grad=True),
        ti.field(ti.f32, (steps, n), needs_grad=True),
    )
    x0, v0, half = (ti.Vector.field(2, ti.f32, n, needs_grad=True) for _ in range(3))
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def begin():
        for t, i in push:
            push[t, i] = ti.Vector([0.0, 0.0])
            twist[t, i] = 0.0
        for i in x0:
            x[0, i], v[0, i], turn[0, i], spin[0, i] = x0[i], v0[i], 0.1, 0.0

    @ti.kernel
    def collide(t: ti.i32):
        for i in x0:
            inertia = (half[i][0] ** 2 + half[i][1] ** 2) / 3
            for k in ti.static(range(4)):
                a, b = half[i][0] * (2 * (k % 2) - 1), half[i][1] * (2 * (k // 2) - 1)
                c, s = ti.cos(turn[t, i]), ti.sin(turn[t, i])
                arm = ti.Vector([c * a - s * b, s * a + c * b])
                speed = v[t, i] + spin[t, i] * ti.Vector([-arm[1], arm[0]])
                if x[t, i][1] + arm[1] < 0 and speed[1] < 0:
                    impulse = -(1 + restitution) * speed[1] / (1 + arm[0] ** 2 / inertia)
                    along = -speed[0] / (1 + arm[1] ** 2 / inertia)
                    along = ti.min(ti.max(along, -friction * impulse), friction * impulse)
                    push[t + 1, i] += ti.Vector([along, impulse])
                    twist[t + 1, i] += (arm[0] * impulse - arm[1] * along) / inertia

    @ti.kernel
    def move(t: ti.i32):
        for i in x0:
            v[t, i] = v[t - 1, i] + push[t, i] + dt * ti.Vector([0.0, -9.8])
            spin[t, i] = spin[t - 1, i] + twist[t, i]
            x[t, i] = x[t - 1, i] + dt * v[t, i]
            turn[t, i] = turn[t - 1, i] + dt * spin[t, i]

    @ti.kernel
    def compare():
        for i in x0:
            loss[None] += (x[steps - 1, i] - ti.Vector([0.5, 0.1])).norm_sqr() / n

    def run():
        begin()
        for t in range(1, steps):
            collide(t - 1)
            move(t)
        compare()

    x0.from_numpy(inputs.floats(n, 2) * np.float32([1, 0.2]))
    v0.from_numpy(inputs.floats(n, 2) * 2 - 1)
    half.from_numpy(inputs.floats(n, 2) * np.float32(0.05) + np.float32(0.02))
    return run, [v0], loss


@simulation
def charges_1024(ti):
    """1024 charged particles between 64 electrodes, 64 steps; the gradient by the charges of the electrodes."""
    n, around, steps, dt, damping = 1024, 64, 64, 0.01, 0.2
    x, v = (ti.Vector.field(2, ti.f32, (steps, n), needs_grad=True) for _ in range(2))
    charge = ti.field(ti.f32, (steps, around), needs_grad=True)
    place, x0 = ti.Vector.field(2, ti.f32, around), ti.Vector.field(2, ti.f32, n, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def begin():
        for i in x0:
            x[0, i], v[0, i] = x0[i], ti.Vector([0.0, 0.0])

    @ti.kernel
    def move(t: ti.i32):
        for i in x0:
            pull = ti.Vector([0.0, 0.0])
            for k in range(around):
                apart = x[t - 1, i] - place[k]
                distance = ti.sqrt(apart.norm_sqr() + 1e-3)
                pull += charge[t, k] * apart / (distance * distance * distance)
            v[t, i] = v[t - 1, i] * (1 - damping * dt) + dt * 0.02 * pull
            x[t, i] = x[t - 1, i] + dt * v[t, i]

    @ti.kernel
    def compare():
        for i in x0:
            loss[None] += (x[steps - 1, i] - ti.Vector([0.5, 0.5])).norm_sqr() / n

    def run():
        begin()
        for t in range(1, steps):
            move(t)
        compare()

    angle = np.arange(around) * 2 * np.pi / around
    place.from_numpy(np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32) + np.float32(0.5))
    x0.from_numpy(inputs.floats(n, 2))
    charge.from_numpy(inputs.floats(steps, around) - 0.5)
    return run, [charge], loss


@simulation
def volume_256(ti):
    """The picture of a volume of 64^3 densities, 256 x 256 rays of 96 samples; the gradient by the densities."""
    n, size, samples = 64, 256, 96
    density = ti.field(ti.f32, (n, n, n), needs_grad=True)
    picture = ti.field(ti.f32, (size, size), needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.func
    def at(p):
        base = ti.cast(ti.floor(p), ti.i32)
        f = p - ti.cast(base, ti.f32)
        value = 0.0
        for i, j, k in ti.static(ti.ndrange(2, 2, 2)):
            share = (f[0] if i else 1 - f[0]) * (f[1] if j else 1 - f[1]) * (f[2] if k else 1 - f[2])
            value += share * density[base[0] + i, base[1] + j, base[2] + k]
        return value

    @ti.kernel
    def render():
        for i, j in picture:
            origin = ti.Vector([(i + 0.5) / size, (j + 0.5) / size, 0.0]) * (n - 2)
            slope = ti.Vector([0.1 * (i / size - 0.5), 0.1 * (j / size - 0.5), 1.0]) * ((n - 2) / samples)
            through, light = 1.0, 0.0
            for k in range(samples):
                p = origin + slope * (k + 0.5)
                if 0 <= p[0] < n - 1 and 0 <= p[1] < n - 1:
                    opaque = 1 - ti.exp(-0.2 * at(p))
                    light += through * opaque * (1 - k / samples)
                    through *= 1 - opaque
            picture[i, j] = light

    @ti.kernel
    def compare():
        for i, j in picture:
            loss[None] += (picture[i, j] - 0.3) ** 2 / (size * size)

    def run():
        render()
        compare()

    density.from_numpy(inputs.floats(n, n, n))
    return run, [density], loss


@simulation
def energy_8192(ti):
    """The energy of 8192 bodies that attract one another; the gradient by their places."""
    x, energy, loss = _bodies(ti)
    return energy, [x], loss


def energy_8192_hvp(ti):
    """The product of the Hessian of that energy and a direction."""
    x, energy, loss = _bodies(ti)
    product, along, found = ti.ad.hvp(energy, x, loss), inputs.floats(len(_places()) + 1, 3)[1:].copy(), []

    def step():
        found[:] = [product(along)]

    return Program(step, lambda: sample(*found))


PROGRAMS["energy_8192_hvp"] = energy_8192_hvp


def _places():
    return inputs.floats(8192, 3)


def _bodies(ti):
    n = len(_places())
    x, loss = ti.Vector.field(3, ti.f32, n, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def energy():
        for i in x:
            total = 0.0
            for j in range(n):
                total += ti.rsqrt((x[j] - x[i]).norm_sqr() + 1e-4)
            loss[None] -= total / (2 * n)

    x.from_numpy(_places())
    return x, energy, loss
