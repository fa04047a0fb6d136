"""MPM88 (Yuanming Hu's 88 lines): particles of a weakly compressible fluid over a grid. Measured on CPUs and GPUs."""

from types import SimpleNamespace


def mpm88(ti, count, grid):
    """Its fields and kernel, written for the module `ti`. All are zero yet; `J` should be one."""
    dx, dt, gravity, bound, stiffness = 1 / grid, 2e-4 * 128 / grid, 9.8, 3, 400
    volume = (dx * 0.5) ** 2
    mass = volume
    x, v = ti.Vector.field(2, ti.f32, count), ti.Vector.field(2, ti.f32, count)
    C, J = ti.Matrix.field(2, 2, ti.f32, count), ti.field(ti.f32, count)
    grid_v, grid_m = ti.Vector.field(2, ti.f32, (grid, grid)), ti.field(ti.f32, (grid, grid))

    @ti.kernel
    def substep():
        for i, j in grid_m:
            grid_v[i, j] = [0, 0]
            grid_m[i, j] = 0
        for p in x:
            Xp = x[p] / dx
            base = int(Xp - 0.5)
            fx = Xp - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            stress = -dt * 4 * stiffness * volume * (J[p] - 1) / dx**2
            affine = ti.Matrix([[stress, 0], [0, stress]]) + mass * C[p]
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                dpos = (offset - fx) * dx
                weight = w[i].x * w[j].y
                grid_v[base + offset] += weight * (mass * v[p] + affine @ dpos)
                grid_m[base + offset] += weight * mass
        for i, j in grid_m:
            if grid_m[i, j] > 0:
                grid_v[i, j] /= grid_m[i, j]
            grid_v[i, j].y -= dt * gravity
            if i < bound and grid_v[i, j].x < 0:
                grid_v[i, j].x = 0
            if i > grid - bound and grid_v[i, j].x > 0:
                grid_v[i, j].x = 0
            if j < bound and grid_v[i, j].y < 0:
                grid_v[i, j].y = 0
            if j > grid - bound and grid_v[i, j].y > 0:
                grid_v[i, j].y = 0
        for p in x:
            Xp = x[p] / dx
            base = int(Xp - 0.5)
            fx = Xp - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            new_v = ti.Vector.zero(float, 2)
            new_C = ti.Matrix.zero(float, 2, 2)
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                dpos = (offset - fx) * dx
                weight = w[i].x * w[j].y
                g_v = grid_v[base + offset]
                new_v += weight * g_v
                new_C += 4 * weight * g_v.outer_product(dpos) / dx**2
            v[p] = new_v
            x[p] += dt * v[p]
            J[p] *= 1 + dt * new_C.trace()
            C[p] = new_C

    return SimpleNamespace(x=x, v=v, C=C, J=J, grid_m=grid_m, mass=mass, fall=dt * gravity, substep=substep)
