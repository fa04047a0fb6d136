"""Programs with a value for each element, each with its gradient: a stencil, and loops that end when they like."""

import inputs
from gradbench import differentiated


@differentiated
def heat_step_4096(ti):
    """One step of heat on 4096 x 4096 cells."""
    n = 4096
    x, y = (ti.field(ti.f32, (n, n), needs_grad=True) for _ in range(2))
    x.from_numpy(inputs.floats(n, n))

    @ti.kernel
    def f():
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            around = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]
            y[i, j] = x[i, j] + 0.1 * (around - 4 * x[i, j])

    return f, [x], y


@differentiated
def newton_1024(ti):
    """The square root of each of 1024 x 1024 numbers by Newton's method, until it changes no more."""
    n = 1024
    x, root = (ti.field(ti.f32, (n, n), needs_grad=True) for _ in range(2))
    x.from_numpy(inputs.floats(n, n) + 0.1)

    @ti.kernel
    def f():
        for i, j in x:
            guess = 1.0
            change = 1.0
            while ti.abs(change) > 1e-5:
                change = 0.5 * (x[i, j] / guess - guess)
                guess += change
            root[i, j] = guess

    return f, [x], root


@differentiated
def rays_1024(ti):
    """1024 x 1024 rays march to a sphere with waves; the gradient by the height of each pixel."""
    n = 1024
    height, depth = (ti.field(ti.f32, (n, n), needs_grad=True) for _ in range(2))
    height.from_numpy(inputs.floats(n, n) * 0.05)

    @ti.func
    def distance(p, wave):
        return p.norm() - 1.0 + wave * ti.sin(8.0 * p[0]) * ti.sin(8.0 * p[1])

    @ti.kernel
    def f():
        for i, j in height:
            u, v = 2.4 * i / n - 1.2, 2.4 * j / n - 1.2
            way = ti.Vector([u, v, 2.5]).normalized()
            t = 0.0
            left = 40
            while left > 0 and t < 6.0:
                step = distance(ti.Vector([0.0, 0.0, -3.0]) + t * way, height[i, j])
                t += 0.8 * step
                left -= 1
                if step < 1e-3:
                    break
            depth[i, j] = t

    return f, [height], depth
