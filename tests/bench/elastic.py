"""The elastic body of `simulations.py`: a material point method whose state has an axis for time."""

from types import SimpleNamespace

MU = LAM = 500.0
DT = 1e-4


def elastic_body(ti, count, n, steps):
    """The fields, and `run`, which runs all steps forward."""
    vector, matrix = ti.Vector.field, ti.Matrix.field
    body = SimpleNamespace(count=count, n=n, steps=steps)
    body.x, body.v = (vector(2, ti.f32, (steps, count), needs_grad=True) for _ in range(2))
    body.C, body.F = (matrix(2, 2, ti.f32, (steps, count), needs_grad=True) for _ in range(2))
    body.momentum, body.moved = (vector(2, ti.f32, (steps, n, n), needs_grad=True) for _ in range(2))
    body.weight = ti.field(ti.f32, (steps, n, n), needs_grad=True)
    body.x0, body.v0 = (vector(2, ti.f32, count, needs_grad=True) for _ in range(2))
    body.loss = ti.field(ti.f32, (), needs_grad=True)
    begin, compare = ends(ti, body)
    to_grid, on_grid, from_grid = to_grid_of(ti, body), on_grid_of(ti, body), from_grid_of(ti, body)

    def run():
        begin()
        for t in range(steps - 1):
            to_grid(t)
            on_grid(t)
            from_grid(t)
        compare()

    body.run = run
    return body


def ends(ti, body):
    """The kernels before the first step and after the last one."""
    x, v, C, F, momentum, weight = body.x, body.v, body.C, body.F, body.momentum, body.weight
    x0, v0, loss, steps, count = body.x0, body.v0, body.loss, body.steps, body.count

    @ti.kernel
    def begin():
        for t, i, j in weight:
            momentum[t, i, j] = ti.Vector([0.0, 0.0])
            weight[t, i, j] = 0.0
        for p in x0:
            x[0, p], v[0, p] = x0[p], v0[p]
            C[0, p] = ti.Matrix([[0.0, 0.0], [0.0, 0.0]])
            F[0, p] = ti.Matrix([[1.0, 0.0], [0.0, 1.0]])

    @ti.kernel
    def compare():
        for p in x0:
            loss[None] += (x[steps - 1, p] - ti.Vector([0.5, 0.5])).norm_sqr() / count

    return begin, compare


def to_grid_of(ti, body):
    """The kernel that moves the particles' momenta to the grid."""
    x, v, C, F, momentum, weight, x0, n = (
        body.x, body.v, body.C, body.F, body.momentum, body.weight, body.x0, body.n
    )  # fmt: skip
    dx = 1 / n
    volume = mass = (dx * 0.5) ** 2

    @ti.kernel
    def to_grid(t: ti.i32):
        for p in x0:
            base = ti.cast(x[t, p] * n - 0.5, ti.i32)
            fx = x[t, p] * n - ti.cast(base, ti.f32)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            deformed = (ti.Matrix([[1.0, 0.0], [0.0, 1.0]]) + DT * C[t, p]) @ F[t, p]
            F[t + 1, p] = deformed
            size = deformed.determinant()
            a, b = deformed[0, 0] + deformed[1, 1], deformed[1, 0] - deformed[0, 1]
            scale = 1.0 / ti.sqrt(a * a + b * b)
            r = ti.Matrix([[a * scale, -b * scale], [b * scale, a * scale]])
            stress = 2 * MU * (deformed - r) @ deformed.transpose()
            stress += ti.Matrix([[1.0, 0.0], [0.0, 1.0]]) * LAM * size * (size - 1)
            affine = -(DT * volume * 4 * n * n) * stress + mass * C[t, p]
            for i, j in ti.static(ti.ndrange(3, 3)):
                off = (ti.Vector([i, j]) - fx) * dx
                share = w[i][0] * w[j][1]
                momentum[t, base + ti.Vector([i, j])] += share * (mass * v[t, p] + affine @ off)
                weight[t, base + ti.Vector([i, j])] += share * mass

    return to_grid


def on_grid_of(ti, body):
    """The kernel of the grid: gravity and walls."""
    momentum, moved, weight, n = body.momentum, body.moved, body.weight, body.n

    @ti.kernel
    def on_grid(t: ti.i32):
        for i, j in ti.ndrange(n, n):
            u = momentum[t, i, j] / (weight[t, i, j] + 1e-10)
            u[1] -= DT * 9.8
            if (i < 3 and u[0] < 0) or (i > n - 3 and u[0] > 0):
                u[0] = 0.0
            if (j < 3 and u[1] < 0) or (j > n - 3 and u[1] > 0):
                u[1] = 0.0
            moved[t, i, j] = u

    return on_grid


def from_grid_of(ti, body):
    """The kernel that moves the particles with the grid."""
    x, v, C, moved, x0, n = body.x, body.v, body.C, body.moved, body.x0, body.n

    @ti.kernel
    def from_grid(t: ti.i32):
        for p in x0:
            base = ti.cast(x[t, p] * n - 0.5, ti.i32)
            fx = x[t, p] * n - ti.cast(base, ti.f32)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            u, c = ti.Vector([0.0, 0.0]), ti.Matrix([[0.0, 0.0], [0.0, 0.0]])
            for i, j in ti.static(ti.ndrange(3, 3)):
                there = moved[t, base + ti.Vector([i, j])]
                share = w[i][0] * w[j][1]
                u += share * there
                c += 4 * n * share * there.outer_product(ti.Vector([i, j]) - fx)
            v[t + 1, p], x[t + 1, p], C[t + 1, p] = u, x[t, p] + DT * u, c

    return from_grid
