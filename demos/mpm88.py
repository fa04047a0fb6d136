"""MPM88: a block of elastic jelly falls, splashes and sloshes (moving least squares material point method).

The classic in 88 lines: 8192 particles carry mass and velocity, a 128 x 128 grid resolves their collisions. Each
substep scatters particles to the grid (atomic adds), applies gravity and walls there, and gathers velocities back.
Source: Hu et al., "A moving least squares material point method", ACM TOG 37(4), 2018.
"""

import weft as ti
from weft.demos.runner import play

FRAMES, SIZE = 150, 512  # pixels along each side
PARTICLES, GRID, SUBSTEPS = 8192, 128, 50
DX, DT = 1 / GRID, 2e-4  # metres, seconds: the box is one metre wide
DENSITY, VOLUME = 1.0, (DX * 0.5) ** 2  # kilograms per square metre, square metres of a particle
MASS, GRAVITY, BOUND, STIFFNESS = VOLUME * DENSITY, 9.8, 3, 400  # kg, m/s^2, cells of wall, Young's modulus in Pa m


@ti.data_oriented
class MPM88:
    """Particles that remember how much they are squeezed, and a grid that is cleared in each substep."""

    def __init__(self):
        self.x = ti.Vector.field(2, ti.f32, PARTICLES)  # places, metres
        self.v = ti.Vector.field(2, ti.f32, PARTICLES)  # velocities, metres per second
        self.C = ti.Matrix.field(2, 2, ti.f32, PARTICLES)  # how the velocity changes around a particle, 1/s
        self.J = ti.field(ti.f32, PARTICLES)  # volume, as a part of that at rest
        self.grid_v = ti.Vector.field(2, ti.f32, (GRID, GRID))  # momentum, then velocity
        self.grid_m = ti.field(ti.f32, (GRID, GRID))  # mass
        self.image = ti.Vector.field(3, ti.f32, (SIZE, SIZE))
        self.start()

    @ti.kernel
    def start(self):
        for i in self.x:
            self.x[i] = [ti.random() * 0.4 + 0.2, ti.random() * 0.4 + 0.2]
            self.v[i] = [0, -1]
            self.J[i] = 1

    @ti.kernel
    def substep(self):
        for i, j in self.grid_m:
            self.grid_v[i, j] = [0, 0]
            self.grid_m[i, j] = 0
        for p in self.x:  # particles to the grid: mass and momentum, to the nine nodes around each
            Xp = self.x[p] / DX
            base = int(Xp - 0.5)
            fx = Xp - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            stress = -DT * 4 * STIFFNESS * VOLUME * (self.J[p] - 1) / DX**2
            affine = ti.Matrix([[stress, 0], [0, stress]]) + MASS * self.C[p]
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                dpos = (offset - fx) * DX
                weight = w[i].x * w[j].y
                self.grid_v[base + offset] += weight * (MASS * self.v[p] + affine @ dpos)
                self.grid_m[base + offset] += weight * MASS
        for i, j in self.grid_m:  # on the grid: gravity, and walls that let nothing through
            if self.grid_m[i, j] > 0:
                self.grid_v[i, j] /= self.grid_m[i, j]
            self.grid_v[i, j].y -= DT * GRAVITY
            if i < BOUND and self.grid_v[i, j].x < 0:
                self.grid_v[i, j].x = 0
            if i > GRID - BOUND and self.grid_v[i, j].x > 0:
                self.grid_v[i, j].x = 0
            if j < BOUND and self.grid_v[i, j].y < 0:
                self.grid_v[i, j].y = 0
            if j > GRID - BOUND and self.grid_v[i, j].y > 0:
                self.grid_v[i, j].y = 0
        for p in self.x:  # back to the particles: the mean of the nodes' velocities, and how these differ
            Xp = self.x[p] / DX
            base = int(Xp - 0.5)
            fx = Xp - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            new_v = ti.Vector.zero(float, 2)
            new_C = ti.Matrix.zero(float, 2, 2)
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                dpos = (offset - fx) * DX
                weight = w[i].x * w[j].y
                g_v = self.grid_v[base + offset]
                new_v += weight * g_v
                new_C += 4 * weight * g_v.outer_product(dpos) / DX**2
            self.v[p] = new_v
            self.x[p] += DT * self.v[p]
            self.J[p] *= 1 + DT * new_C.trace()
            self.C[p] = new_C

    @ti.kernel
    def draw(self):
        for i, j in self.image:
            self.image[i, j] = ti.Vector([0.04, 0.07, 0.11]) * (1 + 0.5 * j / SIZE)
        for p in self.x:
            speed = ti.min(self.v[p].norm() * 0.28, 1.0)
            color = (1 - speed) * ti.Vector([0.05, 0.33, 0.62]) + speed * ti.Vector([0.75, 0.95, 1.0])
            at = self.x[p] * SIZE
            for i, j in ti.ndrange((-2, 3), (-2, 3)):
                pixel = int(at) + ti.Vector([i, j])
                near = ti.exp(-((pixel + 0.5 - at).norm_sqr()) * 0.55)
                if 0 <= pixel.x < SIZE and 0 <= pixel.y < SIZE:
                    self.image[pixel] += 0.55 * near * color

    def __call__(self, _number):
        for _ in range(SUBSTEPS):
            self.substep()
        self.draw()
        return self.image


build = MPM88

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
