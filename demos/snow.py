"""Snowballs: two meet in the air and break, on a grid that exists only where snow is (material points, hash grid).

Snow is a solid that yields: F = R S is kept near a rotation, its singular values within 1 - 0.025 and 1 + 0.0075, and
what is pressed together for good hardens. tau = h (2 mu (F - R) F^T + lambda (J - 1) J I), J = det F.

The grid has no walls and no size: a hash node has blocks of 4^3 cells at any index, negative ones too. Each substep
drops all blocks, and the particles make those that they touch.
Sources: Stomakhin et al., "A material point method for snow simulation", ACM TOG 32(4), 2013; Hu et al., "A moving
least squares material point method", ACM TOG 37(4), 2018.
"""

import weft as ti
from weft import mat3
from weft.demos.balls import Balls
from weft.demos.runner import play

FRAMES = 110
COUNT, RADIUS, DX, SUBSTEPS, DT, GRAVITY, FRICTION = 3500, 0.16, 1 / 32, 10, 5e-4, 9.8, 0.6  # COUNT: for each ball
STIFF, POISSON, HARDENING = 400.0, 0.2, 10.0
BLOCK, BLOCKS = 4, 24  # cells along each axis of a block; up to BLOCKS^3 blocks exist at once
BALLS = (((-0.7, 0.36, 0.03), (5.0, 1.5, 0.0)), ((0.7, 0.52, -0.06), (-5.0, 1.2, 0.1)))  # where, how fast


@ti.data_oriented
class Snow:
    """Two balls of `count` particles each."""

    def __init__(self, count=COUNT, dx=DX, gravity=GRAVITY):
        self.count, self.dx, self.gravity = count, dx, gravity
        self.volume = 4.18879 * RADIUS**3 / count
        self.mu, self.bulk = STIFF / (2 * (1 + POISSON)), STIFF * POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
        self.x, self.v, self.color = (ti.Vector.field(3, ti.f32, 2 * count) for _ in range(3))
        self.C, self.F = (ti.Matrix.field(3, 3, ti.f32, 2 * count) for _ in range(2))
        self.pressed = ti.field(ti.f32, 2 * count)  # the volume that was lost for good
        self.node = ti.Vector.field(4, ti.f32)  # momentum (later velocity), and mass
        self.blocks = ti.root.hash(ti.ijk, BLOCKS)
        self.blocks.dense(ti.ijk, BLOCK).place(self.node)
        size = 0.75 * RADIUS * (4.18879 / count) ** (1 / 3)
        self.view = Balls(self.x, self.color, size, eye=(0.4, 0.8, 2.7), target=(0, 0.3, 0), span=1.5)
        self.start()

    @ti.kernel
    def start(self):
        for p in self.x:
            for m in ti.static(range(2)):
                if p // self.count == m:
                    away = RADIUS * ti.random() ** (1 / 3)  # uniform in the ball
                    side = ti.Vector([ti.randn(), ti.randn(), ti.randn()]).normalized()
                    self.x[p], self.v[p] = ti.Vector(BALLS[m][0]) + away * side, ti.Vector(BALLS[m][1])
                    self.color[p] = ti.Vector([0.9 - 0.62 * m, 0.92 - 0.42 * m, 0.95]) * (0.9 + 0.1 * ti.random())
            self.F[p], self.pressed[p], self.C[p] = ti.Matrix.identity(ti.f32, 3), 1.0, mat3(0)

    @ti.func
    def weights(self, p):
        """The lowest of the 27 nodes around p, p from there in cells, and the quadratic B-spline along each axis."""
        base = int(ti.floor(p / self.dx - 0.5))  # also below 0
        f = p / self.dx - base
        return base, f, [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]

    @ti.func
    def stress(self, p):
        """tau of particle p, which yields here."""
        G = self.F[p]
        U, S, V = ti.svd(G)
        held = mat3(0)
        for d in ti.static(range(3)):
            held[d, d] = ti.math.clamp(S[d, d], 1 - 0.025, 1 + 0.0075)
        kept = held.determinant()
        self.pressed[p] = ti.math.clamp(self.pressed[p] * G.determinant() / kept, 0.6, 20.0)
        self.F[p] = U @ held @ V.transpose()
        hard = ti.min(ti.exp(HARDENING * (1 - self.pressed[p])), 4.0)
        bent = 2 * self.mu * (self.F[p] - U @ V.transpose()) @ self.F[p].transpose()
        return hard * (bent + self.bulk * (kept - 1) * kept * ti.Matrix.identity(ti.f32, 3))

    @ti.kernel
    def substep(self):
        for block in ti.grouped(self.blocks):
            ti.deactivate(self.blocks, block)
        for p in self.x:
            base, f, w = self.weights(self.x[p])
            self.F[p] += DT * self.C[p] @ self.F[p]
            # The density is 1, so that mass is volume.
            affine = self.volume * (self.C[p] - DT * 4 / self.dx**2 * self.stress(p))
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                offset = ti.Vector([i, j, k])
                m = self.volume * self.v[p] + affine @ ((offset - f) * self.dx)
                self.node[base + offset] += w[i].x * w[j].y * w[k].z * ti.Vector([m.x, m.y, m.z, self.volume])
        for cell in ti.grouped(self.node):  # of the blocks that exist
            mass = self.node[cell].w
            if mass > 0:
                u = self.node[cell].xyz / mass - ti.Vector([0, DT * self.gravity, 0])
                if cell.y <= 0 and u.y < 0:  # the ground, with friction
                    along = ti.Vector([u.x, 0.0, u.z])
                    u = along * ti.max(0.0, 1 + FRICTION * u.y / ti.max(along.norm(), 1e-6))
                self.node[cell] = ti.Vector([u.x, u.y, u.z, mass])
        for p in self.x:
            base, f, w = self.weights(self.x[p])
            new_v, new_C = ti.Vector([0.0, 0.0, 0.0]), mat3(0)
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                offset = ti.Vector([i, j, k])
                u = w[i].x * w[j].y * w[k].z * self.node[base + offset].xyz
                new_v += u
                new_C += 4 / self.dx * u.outer_product(offset - f)
            self.v[p], self.C[p] = new_v, new_C
            self.x[p] += DT * new_v

    def __call__(self, _number):
        for _ in range(SUBSTEPS):
            self.substep()
        return self.view.draw()


build = Snow

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
