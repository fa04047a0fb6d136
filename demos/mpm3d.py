"""MPM in 3-D: jelly, snow and water fall into a box and onto each other (moving least squares material points).

Particles carry mass, velocity and deformation F; a grid moves them. What differs is the stress, tau = P F^T:
jelly  neo-Hookean solid        mu (F F^T - I) + lambda log(J) I,  J = det F
water  only its volume resists  K (J - 1) J I, and F forgets the rest of its shape
snow   fixed corotated solid    2 mu (F - R) F^T + lambda (J - 1) J I, F = R S, which yields: its singular values stay
       within 1 - 0.025 and 1 + 0.0045, and what is pressed together hardens.
Sources: Hu et al., "A moving least squares material point method", ACM TOG 37(4), 2018; Stomakhin et al., "A material
point method for snow simulation", ACM TOG 32(4), 2013.
"""

import weft as ti
from weft import mat3
from weft.demos.balls import Balls
from weft.demos.runner import play

FRAMES = 180
GRID, SIDE, SUBSTEPS, DT, GRAVITY = 40, 17, 10, 4e-4, 9.8  # a cube of jelly, snow or water is SIDE^3 particles
WALL, EDGE = 3, 0.27  # cells that nothing enters; the side of a cube, in the units of the box, which is 1 wide
JELLY, SNOW, WATER = 0, 1, 2
STIFF, POISSON, BULK, HARDENING = 900.0, 0.25, 700.0, 8.0
CORNERS = ((0.14, 0.36, 0.34), (0.38, 0.56, 0.42), (0.60, 0.08, 0.36))  # of the three cubes, the lowest one
COLORS = ((0.80, 0.07, 0.11), (0.88, 0.90, 0.93), (0.02, 0.20, 0.60))


@ti.data_oriented
class MPM3D:
    """Three cubes of side^3 particles in a box of grid^3 cells."""

    def __init__(self, grid=GRID, side=SIDE, gravity=GRAVITY):
        self.grid, self.side, self.gravity = grid, side, gravity
        self.cube, self.dx = side**3, 1 / grid
        self.volume = (EDGE / side) ** 3
        self.mu, self.bulk = STIFF / (2 * (1 + POISSON)), STIFF * POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
        self.x, self.v, self.color = (ti.Vector.field(3, ti.f32, 3 * self.cube) for _ in range(3))
        self.C, self.F = (ti.Matrix.field(3, 3, ti.f32, 3 * self.cube) for _ in range(2))
        self.pressed = ti.field(ti.f32, 3 * self.cube)  # the volume that snow has lost for good
        self.momentum, self.mass = ti.Vector.field(3, ti.f32, (grid,) * 3), ti.field(ti.f32, (grid,) * 3)
        self.view = Balls(self.x, self.color, 0.55 * EDGE / side, eye=(1.6, 1.15, 2.2), target=(0.5, 0.22, 0.5))
        self.start()

    @ti.kernel
    def start(self):
        for p in self.x:
            kind, k = p // self.cube, p % self.cube
            place = ti.Vector([k % self.side, k // self.side % self.side, k // self.side**2]) + 0.25
            for m in ti.static(range(3)):
                if kind == m:
                    jitter = ti.Vector([ti.random(), ti.random(), ti.random()]) * 0.5
                    self.x[p] = ti.Vector(CORNERS[m]) + (place + jitter) * (EDGE / self.side)
                    self.color[p] = ti.Vector(COLORS[m]) * (0.92 + 0.16 * ti.random())
            self.F[p], self.pressed[p] = ti.Matrix.identity(ti.f32, 3), 1.0
            self.v[p] = [0.0, -1.0, 0.0]

    @ti.func
    def weights(self, p):
        """The lowest of the 27 nodes around p, p from there in cells, and the quadratic B-spline along each axis."""
        base = int(p / self.dx - 0.5)
        f = p / self.dx - base
        return base, f, [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]

    @ti.func
    def stress(self, p):
        """tau of particle p; snow yields here."""
        I, G, J = ti.Matrix.identity(ti.f32, 3), self.F[p], self.F[p].determinant()
        tau = mat3(0)
        if p // self.cube == JELLY:
            tau = self.mu * (G @ G.transpose() - I) + self.bulk * ti.log(ti.max(J, 0.05)) * I
        elif p // self.cube == WATER:
            self.F[p] = ti.max(J, 0.05) ** (1 / 3) * I
            tau = BULK * (J - 1) * J * I
        else:
            U, S, V = ti.svd(G)
            held = mat3(0)
            for d in ti.static(range(3)):
                held[d, d] = ti.math.clamp(S[d, d], 1 - 0.025, 1 + 0.0045)
            kept = held.determinant()
            self.pressed[p] = ti.math.clamp(self.pressed[p] * J / kept, 0.6, 20.0)
            self.F[p] = U @ held @ V.transpose()
            hard = ti.min(ti.exp(HARDENING * (1 - self.pressed[p])), 4.0)
            bent = 2 * self.mu * (self.F[p] - U @ V.transpose()) @ self.F[p].transpose()
            tau = hard * (bent + self.bulk * (kept - 1) * kept * I)
        return tau

    @ti.kernel
    def substep(self):
        for cell in ti.grouped(self.mass):
            self.momentum[cell], self.mass[cell] = [0, 0, 0], 0
        for p in self.x:
            base, f, w = self.weights(self.x[p])
            self.F[p] += DT * self.C[p] @ self.F[p]
            # The density is 1, so that mass is volume.
            affine = self.volume * (self.C[p] - DT * 4 / self.dx**2 * self.stress(p))
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                offset = ti.Vector([i, j, k])
                weight = w[i].x * w[j].y * w[k].z
                self.momentum[base + offset] += weight * (self.volume * self.v[p] + affine @ ((offset - f) * self.dx))
                self.mass[base + offset] += weight * self.volume
        for cell in ti.grouped(self.mass):
            if self.mass[cell] > 0:
                u = self.momentum[cell] / self.mass[cell] - ti.Vector([0, DT * self.gravity, 0])
                for d in ti.static(range(3)):
                    if (cell[d] < WALL and u[d] < 0) or (cell[d] > self.grid - WALL and u[d] > 0):
                        u[d] = 0
                self.momentum[cell] = u
        for p in self.x:
            base, f, w = self.weights(self.x[p])
            new_v, new_C = ti.Vector([0.0, 0.0, 0.0]), mat3(0)
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                offset = ti.Vector([i, j, k])
                u = w[i].x * w[j].y * w[k].z * self.momentum[base + offset]
                new_v += u
                new_C += 4 / self.dx * u.outer_product(offset - f)
            self.v[p], self.C[p] = new_v, new_C
            self.x[p] += DT * new_v

    def __call__(self, _number):
        for _ in range(SUBSTEPS):
            self.substep()
        return self.view.draw()


build = MPM3D

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
