"""FEM: a rubber ring falls between pegs, bends and springs back (linear triangles, neo-Hookean, symplectic Euler).

In a triangle the deformation F = Ds Dm^-1 is constant, Ds and Dm being its edges now and at rest. Its energy density is
mu/2 (|F|^2 - 2 - 2 log J) + lambda/2 (log J)^2 with J = det F, the stress P = mu (F - F^-T) + lambda log(J) F^-T, and
the forces on two of its corners are the columns of -area P Dm^-T; the third gets what balances them. Source: Sifakis,
Barbic, "FEM simulation of 3D deformable solids", SIGGRAPH courses 2012. The colour is the stress.
"""

import numpy as np

import weft as ti
from weft.demos.meshes import ring
from weft.demos.palette import Palette
from weft.demos.runner import play

FRAMES = 170
ACROSS, AROUND, INNER, OUTER = 6, 84, 0.10, 0.17  # squares, squares, metres, metres
SIZE, SAMPLES, SUBSTEPS, DT = 400, 2, 60, 1 / 100 / 60  # pixels, samples along a pixel, steps in a frame, seconds
FINE = SIZE * SAMPLES
DENSITY, YOUNG, POISSON, GRAVITY, VISCOSITY = 1000.0, 8e4, 0.35, 9.8, 9.0  # per square metre: the world is flat
MU, LAMBDA = YOUNG / (2 * (1 + POISSON)), YOUNG * POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
PEGS, CONTACT, RUBBING = ((0.26, 0.46, 0.09), (0.74, 0.46, 0.09), (0.46, 0.14, 0.06)), 3e5, 20.0


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


@ti.data_oriented
class Ring:
    """A ring of across x around squares, falling from `place`."""

    def __init__(self, across=ACROSS, around=AROUND, gravity=GRAVITY, place=(0.53, 0.78), viscosity=VISCOSITY):
        self.gravity, self.viscosity = gravity, viscosity
        points, triangles = ring(across, around, INNER, OUTER)
        corners = np.argsort(triangles.ravel(), kind="stable").astype(np.int32)  # by point: who pulls at it
        first = np.searchsorted(triangles.ravel()[corners], np.arange(len(points) + 1)).astype(np.int32)
        self.x, self.v = (ti.Vector.field(2, ti.f32, len(points)) for _ in range(2))
        self.mass, self.stress = (ti.field(ti.f32, len(points)) for _ in range(2))
        self.rest, self.energy = ti.Matrix.field(2, 2, ti.f32, len(triangles)), ti.field(ti.f32, len(triangles))
        self.area, self.share = ti.field(ti.f32, len(triangles)), ti.Vector.field(3, ti.f32, 3 * len(triangles))
        self.corner = ti.Vector.field(3, ti.i32, len(triangles))
        self.member, self.begin = ti.field(ti.i32, corners.size), ti.field(ti.i32, first.size)
        self.image, self.canvas = (ti.Vector.field(3, ti.f32, (s, s)) for s in (SIZE, FINE))
        self.palette = Palette("plasma")
        self.x.from_numpy(points + np.array(place, np.float32))
        for field, array in ((self.corner, triangles), (self.member, corners), (self.begin, first)):
            field.from_numpy(array)
        self.prepare()

    @ti.func
    def edges(self, t, q: ti.Field[ti.vec2]):
        a, b, c = q[self.corner[t].x], q[self.corner[t].y], q[self.corner[t].z]
        return ti.Matrix.cols([b - a, c - a])

    @ti.kernel
    def prepare(self):
        """Edges and areas at rest; a third of each triangle weighs on each corner."""
        for t in self.rest:
            Dm = self.edges(t, self.x)
            self.rest[t], self.area[t] = Dm.inverse(), Dm.determinant() / 2
        for i in self.x:
            for k in range(self.begin[i], self.begin[i + 1]):
                self.mass[i] += DENSITY * self.area[self.member[k] // 3] / 3

    @ti.kernel
    def stretch(self):
        """Each triangle's forces on its corners, and its energy."""
        for t in self.rest:
            F, rate = self.edges(t, self.x) @ self.rest[t], self.edges(t, self.v) @ self.rest[t]
            J = ti.max(F.determinant(), 0.1)  # a triangle that is nearly turned over resists, but not without bound
            inverse = ti.Matrix([[F[1, 1], -F[1, 0]], [-F[0, 1], F[0, 0]]]) / J
            P = MU * (F - inverse) + LAMBDA * ti.log(J) * inverse
            strain = F.transpose() @ rate  # twice the symmetric part is the rate of the Green strain
            P += self.viscosity * F @ (strain + strain.transpose())
            H = -self.area[t] * P @ self.rest[t].transpose()
            self.energy[t] = self.area[t] * (MU / 2 * (F.norm_sqr() - 2 - 2 * ti.log(J)) + LAMBDA / 2 * ti.log(J) ** 2)
            h1, h2, tension = ti.Vector([H[0, 0], H[1, 0]]), ti.Vector([H[0, 1], H[1, 1]]), P.norm()
            self.share[3 * t] = [-h1.x - h2.x, -h1.y - h2.y, tension]
            self.share[3 * t + 1] = [h1.x, h1.y, tension]
            self.share[3 * t + 2] = [h2.x, h2.y, tension]

    @ti.kernel
    def move(self):
        """Gather the forces of a point, and step."""
        for i in self.x:
            total = ti.Vector([0.0, 0.0, 0.0])
            for k in range(self.begin[i], self.begin[i + 1]):
                total += self.share[self.member[k]]
            self.stress[i] = total.z / (self.begin[i + 1] - self.begin[i])
            speed = self.v[i] + DT * (total.xy / self.mass[i] - ti.Vector([0.0, self.gravity]))
            if ti.static(self.gravity > 0):
                speed += DT * touch(self.x[i], speed)
            self.v[i] = speed
            self.x[i] += DT * speed

    @ti.kernel
    def draw(self):
        for i, j in self.canvas:
            p = (ti.Vector([i, j]) + 0.5) / FINE
            self.canvas[i, j] = ti.Vector([0.93, 0.94, 0.96]) * (0.90 + 0.1 * p.y)
            for x, y, radius in ti.static(PEGS):
                if (p - ti.Vector([x, y])).norm() < radius:
                    self.canvas[i, j] = ti.Vector([0.27, 0.30, 0.36])
            if p.y < 0.02 or p.x < 0.02 or p.x > 0.98:
                self.canvas[i, j] = ti.Vector([0.27, 0.30, 0.36])
        for t in self.corner:
            k, D = self.corner[t], self.edges(t, self.x)
            a, b, c, inverse = self.x[k.x], self.x[k.y], self.x[k.z], D.inverse()
            low = ti.max(0, ti.floor(ti.min(a, b, c) * FINE, ti.i32))
            high = ti.min(FINE, ti.ceil(ti.max(a, b, c) * FINE, ti.i32))
            heights = D.determinant() / ti.Vector([(c - b).norm(), (c - a).norm(), (b - a).norm()]) * FINE
            for i, j in ti.ndrange((low.x, high.x), (low.y, high.y)):
                s = inverse @ ((ti.Vector([i, j]) + 0.5) / FINE - a)
                w = ti.Vector([1 - s.x - s.y, s.x, s.y])
                if w.min() >= 0:
                    tension = w.dot(ti.Vector([self.stress[k.x], self.stress[k.y], self.stress[k.z]]))
                    line = ti.math.smoothstep(0.2, 1.6, (w * heights).min())
                    color = self.palette(0.06 + 0.9 * ti.tanh(tension / (0.30 * YOUNG)))
                    self.canvas[i, j] = color * (0.72 + 0.28 * line)
        for i, j in self.image:
            total = ti.Vector([0.0, 0.0, 0.0])
            for a, b in ti.static(ti.ndrange(SAMPLES, SAMPLES)):
                total += self.canvas[SAMPLES * i + a, SAMPLES * j + b]
            self.image[i, j] = total / SAMPLES**2

    def __call__(self, _number):
        for _ in range(SUBSTEPS):
            self.stretch()
            self.move()
        self.draw()
        return self.image


build = Ring

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
