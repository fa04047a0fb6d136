"""MPM88: a block of elastic jelly falls, splashes and sloshes (moving least squares material point method).

The classic in 88 lines: 8192 particles carry mass and velocity, a 128 x 128 grid resolves their collisions. Each
substep scatters particles to the grid (atomic adds), applies gravity and walls there, and gathers velocities back.
Source: Hu et al., "A moving least squares material point method", ACM TOG 37(4), 2018.
"""

import numpy as np

import weft as ti

FRAMES = 150
PARTICLES, GRID, SUBSTEPS, SIZE = 8192, 128, 50, 512
DX, DT = 1 / GRID, 2e-4
DENSITY, VOLUME = 1.0, (DX * 0.5) ** 2
MASS, GRAVITY, BOUND, STIFFNESS = VOLUME * DENSITY, 9.8, 3, 400


def build():
    x = ti.Vector.field(2, ti.f32, PARTICLES)
    v = ti.Vector.field(2, ti.f32, PARTICLES)
    C = ti.Matrix.field(2, 2, ti.f32, PARTICLES)
    J = ti.field(ti.f32, PARTICLES)
    grid_v = ti.Vector.field(2, ti.f32, (GRID, GRID))
    grid_m = ti.field(ti.f32, (GRID, GRID))
    image = ti.Vector.field(3, ti.f32, (SIZE, SIZE))

    @ti.kernel
    def substep():
        for i, j in grid_m:
            grid_v[i, j] = [0, 0]
            grid_m[i, j] = 0
        for p in x:
            Xp = x[p] / DX
            base = int(Xp - 0.5)
            fx = Xp - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            stress = -DT * 4 * STIFFNESS * VOLUME * (J[p] - 1) / DX**2
            affine = ti.Matrix([[stress, 0], [0, stress]]) + MASS * C[p]
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                dpos = (offset - fx) * DX
                weight = w[i].x * w[j].y
                grid_v[base + offset] += weight * (MASS * v[p] + affine @ dpos)
                grid_m[base + offset] += weight * MASS
        for i, j in grid_m:
            if grid_m[i, j] > 0:
                grid_v[i, j] /= grid_m[i, j]
            grid_v[i, j].y -= DT * GRAVITY
            if i < BOUND and grid_v[i, j].x < 0:
                grid_v[i, j].x = 0
            if i > GRID - BOUND and grid_v[i, j].x > 0:
                grid_v[i, j].x = 0
            if j < BOUND and grid_v[i, j].y < 0:
                grid_v[i, j].y = 0
            if j > GRID - BOUND and grid_v[i, j].y > 0:
                grid_v[i, j].y = 0
        for p in x:
            Xp = x[p] / DX
            base = int(Xp - 0.5)
            fx = Xp - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            new_v = ti.Vector.zero(float, 2)
            new_C = ti.Matrix.zero(float, 2, 2)
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                dpos = (offset - fx) * DX
                weight = w[i].x * w[j].y
                g_v = grid_v[base + offset]
                new_v += weight * g_v
                new_C += 4 * weight * g_v.outer_product(dpos) / DX**2
            v[p] = new_v
            x[p] += DT * v[p]
            J[p] *= 1 + DT * new_C.trace()
            C[p] = new_C

    @ti.kernel
    def start():
        for i in x:
            x[i] = [ti.random() * 0.4 + 0.2, ti.random() * 0.4 + 0.2]
            v[i] = [0, -1]
            J[i] = 1

    @ti.kernel
    def draw():
        for i, j in image:
            image[i, j] = ti.Vector([0.04, 0.07, 0.11]) * (1 + 0.5 * j / SIZE)
        for p in x:
            speed = ti.min(v[p].norm() * 0.28, 1.0)
            color = (1 - speed) * ti.Vector([0.05, 0.33, 0.62]) + speed * ti.Vector([0.75, 0.95, 1.0])
            at = x[p] * SIZE
            for i, j in ti.ndrange((-2, 3), (-2, 3)):
                pixel = int(at) + ti.Vector([i, j])
                near = ti.exp(-((pixel + 0.5 - at).norm_sqr()) * 0.55)
                if 0 <= pixel.x < SIZE and 0 <= pixel.y < SIZE:
                    image[pixel] += 0.55 * near * color

    start()

    def frame(_number):
        for _ in range(SUBSTEPS):
            substep()
        draw()
        return np.clip(image.to_numpy(), 0, 1).swapaxes(0, 1)[::-1]

    return frame
