"""FEM: a rubber ring falls between pegs, bends and springs back (linear triangles, neo-Hookean, symplectic Euler).

In a triangle the deformation F = Ds Dm^-1 is constant, Ds and Dm being its edges now and at rest. Its energy density is
mu/2 (|F|^2 - 2 - 2 log J) + lambda/2 (log J)^2 with J = det F, the stress P = mu (F - F^-T) + lambda log(J) F^-T, and
the forces on two of its corners are the columns of -area P Dm^-T; the third gets what balances them. Source: Sifakis,
Barbic, "FEM simulation of 3D deformable solids", SIGGRAPH courses 2012. The colour is the stress.
"""

import numpy as np

import weft as ti
from weft.demos.palette import Palette

FRAMES = 170
ACROSS, AROUND, INNER, OUTER = 6, 84, 0.10, 0.17  # squares, squares, metres, metres
SIZE, SAMPLES, SUBSTEPS, DT = 400, 2, 60, 1 / 100 / 60
DENSITY, YOUNG, POISSON, GRAVITY, VISCOSITY = 1000.0, 8e4, 0.35, 9.8, 9.0  # per square metre: the world is flat
MU, LAMBDA = YOUNG / (2 * (1 + POISSON)), YOUNG * POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
PEGS, CONTACT, RUBBING = ((0.26, 0.46, 0.09), (0.74, 0.46, 0.09), (0.46, 0.14, 0.06)), 3e5, 20.0


def ring(across, around):
    """Points (n, 2) around the origin and triangles (m, 3), counterclockwise, alternating their diagonal."""
    turn, radius = np.meshgrid(np.arange(around) * 2 * np.pi / around, np.linspace(INNER, OUTER, across + 1))
    points = np.stack([radius * np.sin(turn), radius * np.cos(turn)], -1).reshape(-1, 2)
    triangles = []
    for i in range(across):
        for j in range(around):
            a, b, c, d = (k * around + m % around for k, m in ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)))
            triangles += [(a, d, b), (b, d, c)] if j < around // 2 else [(a, c, b), (a, d, c)]  # mirrored halves
    return points.astype(np.float32), np.array(triangles, np.int32)


def build(across=ACROSS, around=AROUND, gravity=GRAVITY, place=(0.53, 0.78), viscosity=VISCOSITY):
    """A ring of across x around squares, falling from `place`."""
    points, triangles = ring(across, around)
    corners = np.argsort(triangles.ravel(), kind="stable").astype(np.int32)  # by point: who pulls at it
    first = np.searchsorted(triangles.ravel()[corners], np.arange(len(points) + 1)).astype(np.int32)
    x, v = (ti.Vector.field(2, ti.f32, len(points)) for _ in range(2))
    mass, stress = (ti.field(ti.f32, len(points)) for _ in range(2))
    rest, energy = ti.Matrix.field(2, 2, ti.f32, len(triangles)), ti.field(ti.f32, len(triangles))
    area, share = ti.field(ti.f32, len(triangles)), ti.Vector.field(3, ti.f32, 3 * len(triangles))
    corner = ti.Vector.field(3, ti.i32, len(triangles))
    member, begin = ti.field(ti.i32, corners.size), ti.field(ti.i32, first.size)
    image, canvas = (ti.Vector.field(3, ti.f32, (s, s)) for s in (SIZE, SIZE * SAMPLES))
    palette = Palette("plasma")
    x.from_numpy(points + np.array(place, np.float32))
    for field, array in ((corner, triangles), (member, corners), (begin, first)):
        field.from_numpy(array)

    @ti.func
    def edges(t, q: ti.template()):
        a, b, c = q[corner[t].x], q[corner[t].y], q[corner[t].z]
        return ti.Matrix.cols([b - a, c - a])

    @ti.kernel
    def prepare():
        for t in rest:
            Dm = edges(t, x)
            rest[t], area[t] = Dm.inverse(), Dm.determinant() / 2
        for i in x:
            for k in range(begin[i], begin[i + 1]):
                mass[i] += DENSITY * area[member[k] // 3] / 3

    @ti.kernel
    def stretch():
        for t in rest:
            F, rate = edges(t, x) @ rest[t], edges(t, v) @ rest[t]
            J = ti.max(F.determinant(), 0.1)  # a triangle that is nearly turned over resists, but not without bound
            inverse = ti.Matrix([[F[1, 1], -F[1, 0]], [-F[0, 1], F[0, 0]]]) / J
            P = MU * (F - inverse) + LAMBDA * ti.log(J) * inverse
            strain = F.transpose() @ rate  # twice the symmetric part is the rate of the Green strain
            P += viscosity * F @ (strain + strain.transpose())
            H = -area[t] * P @ rest[t].transpose()
            energy[t] = area[t] * (MU / 2 * (F.norm_sqr() - 2 - 2 * ti.log(J)) + LAMBDA / 2 * ti.log(J) ** 2)
            h1, h2, tension = ti.Vector([H[0, 0], H[1, 0]]), ti.Vector([H[0, 1], H[1, 1]]), P.norm()
            share[3 * t] = [-h1.x - h2.x, -h1.y - h2.y, tension]
            share[3 * t + 1] = [h1.x, h1.y, tension]
            share[3 * t + 2] = [h2.x, h2.y, tension]

    @ti.kernel
    def move():
        for i in x:
            total = ti.Vector([0.0, 0.0, 0.0])
            for k in range(begin[i], begin[i + 1]):
                total += share[member[k]]
            stress[i] = total.z / (begin[i + 1] - begin[i])
            speed = v[i] + DT * (total.xy / mass[i] - ti.Vector([0.0, gravity]))
            if ti.static(gravity > 0):
                speed += DT * touch(x[i], speed)
            v[i] = speed
            x[i] += DT * speed

    @ti.func
    def touch(p, speed):
        """What the pegs, the floor and the walls do to a point: push it out, and rub."""
        total = CONTACT * ti.Vector([ti.max(0.0, 0.02 - p.x) - ti.max(0.0, p.x - 0.98), ti.max(0.0, 0.02 - p.y)])
        for a, b, radius in ti.static(PEGS):
            away = p - ti.Vector([a, b])
            if away.norm() < radius:
                normal = away.normalized()
                total += CONTACT * (radius - away.norm()) * normal - RUBBING * (speed - speed.dot(normal) * normal)
        if p.y < 0.02:
            total.x -= RUBBING * speed.x
        return total

    @ti.kernel
    def draw():
        for i, j in canvas:
            p = (ti.Vector([i, j]) + 0.5) / (SIZE * SAMPLES)
            canvas[i, j] = ti.Vector([0.93, 0.94, 0.96]) * (0.90 + 0.1 * p.y)
            for a, b, radius in ti.static(PEGS):
                if (p - ti.Vector([a, b])).norm() < radius:
                    canvas[i, j] = ti.Vector([0.27, 0.30, 0.36])
            if p.y < 0.02 or p.x < 0.02 or p.x > 0.98:
                canvas[i, j] = ti.Vector([0.27, 0.30, 0.36])
        for t in corner:
            k, D = corner[t], edges(t, x)
            a, inverse = x[k.x], D.inverse()
            low = ti.max(0, ti.floor(ti.min(a, x[k.y], x[k.z]) * (SIZE * SAMPLES), ti.i32))
            high = ti.min(SIZE * SAMPLES, ti.ceil(ti.max(a, x[k.y], x[k.z]) * (SIZE * SAMPLES), ti.i32))
            opposite = ti.Vector([(x[k.z] - x[k.y]).norm(), (x[k.z] - a).norm(), (x[k.y] - a).norm()])
            heights = D.determinant() / opposite * (SIZE * SAMPLES)
            for i, j in ti.ndrange((low.x, high.x), (low.y, high.y)):
                s = inverse @ ((ti.Vector([i, j]) + 0.5) / (SIZE * SAMPLES) - a)
                w = ti.Vector([1 - s.x - s.y, s.x, s.y])
                if w.min() >= 0:
                    tension = w.dot(ti.Vector([stress[k.x], stress[k.y], stress[k.z]]))
                    line = ti.math.smoothstep(0.2, 1.6, (w * heights).min())
                    canvas[i, j] = palette(0.06 + 0.9 * ti.tanh(tension / (0.30 * YOUNG))) * (0.72 + 0.28 * line)
        for i, j in image:
            total = ti.Vector([0.0, 0.0, 0.0])
            for a, b in ti.static(ti.ndrange(SAMPLES, SAMPLES)):
                total += canvas[SAMPLES * i + a, SAMPLES * j + b]
            image[i, j] = total / SAMPLES**2

    prepare()

    def frame(_number):
        for _ in range(SUBSTEPS):
            stretch()
            move()
        draw()
        return np.clip(image.to_numpy(), 0, 1).swapaxes(0, 1)[::-1]

    frame.x, frame.v, frame.mass, frame.energy, frame.area = x, v, mass, energy, area
    return frame
