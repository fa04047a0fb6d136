"""Bodies and a liquid by the material point method, in two and three dimensions. The state has an axis for time."""

from types import SimpleNamespace

import inputs

MU = LAM = 500.0
BULK = 400.0
DT = 1e-4


def body(ti, dim, count, n, steps, react):
    """What `simulation` takes: `run`, which runs all steps forward, the inputs with gradients, and the loss. `react`
    gives, for a deformation, that of the next step and the stress."""
    vector, matrix = ti.Vector.field, ti.Matrix.field
    it = SimpleNamespace(dim=dim, count=count, n=n, steps=steps, react=react)
    it.x, it.v = (vector(dim, ti.f32, (steps, count), needs_grad=True) for _ in range(2))
    it.C, it.F = (matrix(dim, dim, ti.f32, (steps, count), needs_grad=True) for _ in range(2))
    it.momentum, it.moved = (vector(dim, ti.f32, (steps, *(n,) * dim), needs_grad=True) for _ in range(2))
    it.weight = ti.field(ti.f32, (steps, *(n,) * dim), needs_grad=True)
    it.x0, it.v0 = (vector(dim, ti.f32, count, needs_grad=True) for _ in range(2))
    it.loss = ti.field(ti.f32, (), needs_grad=True)
    begin, compare = ends(ti, it)
    to_grid, on_grid, from_grid = to_grid_of(ti, it), on_grid_of(ti, it), from_grid_of(ti, it)

    def run():
        begin()
        for t in range(steps - 1):
            to_grid(t)
            on_grid(t)
            from_grid(t)
        compare()

    it.x0.from_numpy(inputs.block(count, dim))
    it.v0.from_numpy(inputs.floats(count, dim) * 4 - 2)
    return run, [it.v0], it.loss


def ends(ti, it):
    """The kernels before the first step and after the last one."""
    x, v, C, F, momentum, weight = it.x, it.v, it.C, it.F, it.momentum, it.weight
    x0, v0, loss, dim, steps, count = it.x0, it.v0, it.loss, it.dim, it.steps, it.count

    @ti.kernel
    def begin():
        for I in ti.grouped(weight):
            momentum[I] = ti.Vector.zero(ti.f32, dim)
            weight[I] = 0.0
        for p in x0:
            x[0, p], v[0, p] = x0[p], v0[p]
            C[0, p], F[0, p] = ti.Matrix.zero(ti.f32, dim, dim), ti.Matrix.identity(ti.f32, dim)

    @ti.kernel
    def compare():
        for p in x0:
            loss[None] += (x[steps - 1, p] - 0.5).norm_sqr() / count

    return begin, compare


def corotated(ti):
    """The stress of an elastic body in two dimensions, by its rotation."""

    @ti.func
    def react(deformed):
        a, b = deformed[0, 0] + deformed[1, 1], deformed[1, 0] - deformed[0, 1]
        scale = 1.0 / ti.sqrt(a * a + b * b)
        r = ti.Matrix([[a * scale, -b * scale], [b * scale, a * scale]])
        size = deformed.determinant()
        stress = 2 * MU * (deformed - r) @ deformed.transpose()
        return deformed, stress + ti.Matrix.identity(ti.f32, 2) * LAM * size * (size - 1)

    return react


def neo_hookean(ti):
    """The stress of an elastic body in three dimensions."""

    @ti.func
    def react(deformed):
        stress = MU * deformed @ deformed.transpose()
        stress += ti.Matrix.identity(ti.f32, 3) * (LAM * ti.log(deformed.determinant()) - MU)
        return deformed, stress

    return react


def weakly_compressible(ti):
    """The stress of a liquid in two dimensions, which forgets all of its deformation but the volume."""

    @ti.func
    def react(deformed):
        size = deformed.determinant()
        return ti.sqrt(size) * ti.Matrix.identity(ti.f32, 2), ti.Matrix.identity(ti.f32, 2) * BULK * size * (size - 1)

    return react


def to_grid_of(ti, it):
    """The kernel that moves the particles' momenta to the grid."""
    x, v, C, F, momentum, weight, react = it.x, it.v, it.C, it.F, it.momentum, it.weight, it.react
    x0, n, dim = it.x0, it.n, it.dim
    volume = mass = (0.5 / n) ** dim

    @ti.kernel
    def to_grid(t: ti.i32):
        for p in x0:
            base = ti.cast(x[t, p] * n - 0.5, ti.i32)
            fx = x[t, p] * n - ti.cast(base, ti.f32)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            kept, stress = react((ti.Matrix.identity(ti.f32, dim) + DT * C[t, p]) @ F[t, p])
            F[t + 1, p] = kept
            affine = -(DT * volume * 4 * n * n) * stress + mass * C[t, p]
            for K in ti.static(ti.grouped(ti.ndrange(*(3,) * dim))):
                share = 1.0
                for axis in ti.static(range(dim)):
                    share *= w[K[axis]][axis]
                momentum[t, base + K] += share * (mass * v[t, p] + affine @ ((K - fx) / n))
                weight[t, base + K] += share * mass

    return to_grid


def on_grid_of(ti, it):
    """The kernel of the grid: gravity and walls."""
    momentum, moved, weight, n, dim = it.momentum, it.moved, it.weight, it.n, it.dim

    @ti.kernel
    def on_grid(t: ti.i32):
        for I in ti.grouped(ti.ndrange(*(n,) * dim)):
            u = momentum[t, I] / (weight[t, I] + 1e-10)
            u[1] -= DT * 9.8
            for axis in ti.static(range(dim)):
                if (I[axis] < 3 and u[axis] < 0) or (I[axis] > n - 3 and u[axis] > 0):
                    u[axis] = 0.0
            moved[t, I] = u

    return on_grid


def from_grid_of(ti, it):
    """The kernel that moves the particles with the grid."""
    x, v, C, moved, x0, n, dim = it.x, it.v, it.C, it.moved, it.x0, it.n, it.dim

    @ti.kernel
    def from_grid(t: ti.i32):
        for p in x0:
            base = ti.cast(x[t, p] * n - 0.5, ti.i32)
            fx = x[t, p] * n - ti.cast(base, ti.f32)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            u, c = ti.Vector.zero(ti.f32, dim), ti.Matrix.zero(ti.f32, dim, dim)
            for K in ti.static(ti.grouped(ti.ndrange(*(3,) * dim))):
                share = 1.0
                for axis in ti.static(range(dim)):
                    share *= w[K[axis]][axis]
                there = moved[t, base + K]
                u += share * there
                c += 4 * n * share * there.outer_product(K - fx)
            v[t + 1, p], x[t + 1, p], C[t + 1, p] = u, x[t, p] + DT * u, c

    return from_grid
