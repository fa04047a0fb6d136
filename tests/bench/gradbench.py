"""GradBench's problems, each as a function and as its gradient: `lse` and `lse_gradient`, and so on.

The limit is a gradient that is written by hand, in `gradients.cpp`. Numbers are f64. A gradient step sets the gradient
of the result to 1, and launches `kernel.grad.assign()`, which sets those of the inputs. Taichi clears them, and
launches `kernel.grad()`. The constants of `gmm` are left out.
"""

import inputs
from inputs import Program, sample
from programs import PROGRAMS

GAMMA, WISHART = 1.0, 0.0  # of gmm's prior


def differentiated(make):
    """Register what `make(ti)` gives, a kernel, its inputs and its output, as two programs."""

    def primal(ti):
        kernel, _, output = make(ti)
        return Program(kernel, lambda: sample(output.to_numpy()))

    def gradient(ti):
        kernel, given, output = make(ti)
        run = setter(kernel, given)

        def step():
            output.grad.fill(1)
            run()

        kernel()
        return Program(step, lambda: sample(*(one.grad.to_numpy() for one in given)))

    primal.__doc__, gradient.__doc__ = make.__doc__, f"The gradient of {make.__name__}."
    PROGRAMS[make.__name__], PROGRAMS[f"{make.__name__}_gradient"] = primal, gradient
    return make


def setter(kernel, given):
    """What sets the gradients of these inputs of a kernel."""

    def clear_and_add():
        for one in given:
            one.grad.fill(0)
        kernel.grad()

    return getattr(kernel.grad, "assign", clear_and_add)


def held(ti, array, grad=True):
    """A field of f64 that holds the numbers of an array."""
    field = ti.field(ti.f64, array.shape, needs_grad=grad)
    field.from_numpy(array)
    return field


def result(ti):
    return ti.field(ti.f64, (), needs_grad=True)


@differentiated
def lse(ti):
    """log(sum of exp(x)) of a million numbers."""
    x, loss = held(ti, inputs.reals(1_000_000)), result(ti)

    @ti.kernel
    def f():
        largest = ti.cast(-1e300, ti.f64)
        for i in x:
            ti.atomic_max(largest, x[i])
        total = ti.cast(0.0, ti.f64)
        for i in x:
            total += ti.exp(x[i] - largest)
        loss[None] = ti.log(total) + largest

    return f, [x], loss


@differentiated
def llsq(ti):
    """Least squares of a sign function by a polynomial: 100 000 points, 32 coefficients."""
    n, m = 100_000, 32
    x, loss = held(ti, inputs.reals(m)), result(ti)

    @ti.kernel
    def f():
        loss[None] = 0.0
        for i in range(n):
            t = -1.0 + ti.cast(i, ti.f64) * 2.0 / (n - 1)
            rest = ti.cast(0.0, ti.f64)
            if t > 0:
                rest = 1.0
            elif t < 0:
                rest = -1.0
            power = ti.cast(1.0, ti.f64)
            for j in range(m):
                rest -= x[j] * power
                power *= t
            loss[None] += 0.5 * rest * rest

    return f, [x], loss


@differentiated
def kmeans(ti):
    """The squared distances of 100 000 points in 8 dimensions to the nearest of 25 centroids."""
    n, k, d = 100_000, 25, 8
    points, centroids = inputs.clouds(n, k, d)
    p, c, loss = held(ti, points, False), held(ti, centroids), result(ti)

    @ti.kernel
    def f():
        loss[None] = 0.0
        for i in range(n):
            least = ti.cast(1e300, ti.f64)
            for a in range(k):
                apart = ti.cast(0.0, ti.f64)
                for b in range(d):
                    apart += (p[i, b] - c[a, b]) ** 2
                least = ti.min(least, apart)
            loss[None] += least

    return f, [c], loss


@differentiated
def gmm(ti):
    """A mixture of 25 Gaussians in 8 dimensions, 1000 points."""
    n, k, d = 1000, 25, 8
    points, alphas, means, qs, ls = inputs.mixture(n, k, d)
    x, alpha, mu, q = held(ti, points, False), held(ti, alphas), held(ti, means), held(ti, qs)
    below, loss = held(ti, ls), result(ti)
    beta, diagonal, logs = (ti.field(ti.f64, shape, needs_grad=True) for shape in ((n, k), (k, d), k))

    @ti.kernel
    def f():
        loss[None] = 0.0
        for a in range(k):
            total = ti.cast(0.0, ti.f64)
            for r in range(d):
                diagonal[a, r] = ti.exp(q[a, r])
                total += q[a, r]
            logs[a] = total
        for i, a in ti.ndrange(n, k):
            square = ti.cast(0.0, ti.f64)
            for r in range(d):
                y = diagonal[a, r] * (x[i, r] - mu[a, r])
                for c in range(r):
                    y += below[a, c * d - c * (c + 1) // 2 + r - c - 1] * (x[i, c] - mu[a, c])
                square += y * y
            beta[i, a] = alpha[a] - 0.5 * square + logs[a]
        for i in range(n):
            largest = beta[i, 0]
            for a in range(k):
                largest = ti.max(largest, beta[i, a])
            total = ti.cast(0.0, ti.f64)
            for a in range(k):
                total += ti.exp(beta[i, a] - largest)
            loss[None] += ti.log(total) + largest
        weight = ti.cast(0.0, ti.f64)
        for a in range(k):
            weight += ti.exp(alpha[a])
        loss[None] -= n * ti.log(weight)
        for a, r in ti.ndrange(k, d):
            loss[None] -= 0.5 * GAMMA * GAMMA * ti.exp(2 * q[a, r]) - WISHART * q[a, r]
        for a, r in below:
            loss[None] -= 0.5 * GAMMA * GAMMA * below[a, r] ** 2

    return f, [alpha, mu, q, below], loss


@differentiated
def ode(ti):
    """A system of 10 equations, 1000 steps of Runge and Kutta's method of order 4, in one thread."""
    n, steps = 10, 1000
    x, loss = held(ti, inputs.reals(n)), result(ti)
    vec = ti.types.vector(n, ti.f64)

    @ti.func
    def slope(given, y):
        z = given
        for i in ti.static(range(1, n)):
            z[i] = given[i] * y[i - 1]
        return z

    @ti.kernel
    def f():
        given, y = vec(0.0), vec(0.0)
        for i in ti.static(range(n)):
            given[i] = x[i]
        h = 2.0 / steps
        ti.loop_config(serialize=True)
        for _ in range(steps):
            k1 = slope(given, y)
            k2 = slope(given, y + h / 2 * k1)
            k3 = slope(given, y + h / 2 * k2)
            k4 = slope(given, y + h * k3)
            y += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        loss[None] = y[n - 1]

    return f, [x], loss


@differentiated
def lstm(ti):
    """A network of two layers of 14 numbers with a memory, 1024 characters, in one thread."""
    layers, b, count = 2, 14, 1024
    weights, extra, letters = inputs.network(layers, b, count)
    w, e, text, loss = held(ti, weights), held(ti, extra), held(ti, letters, False), result(ti)
    vec = ti.types.vector(b, ti.f64)

    @ti.func
    def row(m: ti.template(), k):
        made = vec(0.0)
        for i in ti.static(range(b)):
            made[i] = m[k, i]
        return made

    @ti.func
    def sigmoid(a):
        return 1.0 / (1.0 + ti.exp(-a))

    @ti.kernel
    def f():
        h0, c0, h1, c1 = vec(0.0), vec(0.0), vec(0.0), vec(0.0)
        total = ti.cast(0.0, ti.f64)
        ti.loop_config(serialize=True)
        for t in range(count - 1):
            a = row(text, t) * row(e, 0)
            forget, into = sigmoid(a * row(w, 0) + row(w, 1)), sigmoid(h0 * row(w, 2) + row(w, 3))
            out, change = sigmoid(a * row(w, 4) + row(w, 5)), ti.tanh(h0 * row(w, 6) + row(w, 7))
            c0 = c0 * forget + into * change
            h0 = out * ti.tanh(c0)
            forget, into = sigmoid(h0 * row(w, 8) + row(w, 9)), sigmoid(h1 * row(w, 10) + row(w, 11))
            out, change = sigmoid(h0 * row(w, 12) + row(w, 13)), ti.tanh(h1 * row(w, 14) + row(w, 15))
            c1 = c1 * forget + into * change
            h1 = out * ti.tanh(c1)
            y = h1 * row(e, 1) + row(e, 2)
            norm = ti.log(2.0 + ti.exp(y).sum())
            total -= (row(text, t + 1) * (y - norm)).sum()
        loss[None] = total / (b * (count - 1))

    return f, [w, e], loss


@differentiated
def ba(ti):
    """The residuals of 36 455 observations by cameras, with 15 inputs each; the gradient is the sparse Jacobian."""
    n = 36_455
    p, features = inputs.observations(n)
    given, out = held(ti, p), ti.field(ti.f64, (n, 2), needs_grad=True)
    feature = held(ti, features, False)

    @ti.kernel
    def f():
        for i in range(n):
            r = ti.Vector([given[i, 0], given[i, 1], given[i, 2]])
            v = ti.Vector([given[i, 11] - given[i, 3], given[i, 12] - given[i, 4], given[i, 13] - given[i, 5]])
            angle = ti.sqrt(r.dot(r))
            axis = r / angle
            c, s = ti.cos(angle), ti.sin(angle)
            v = v * c + axis.cross(v) * s + axis * (axis.dot(v) * (1.0 - c))
            u = ti.Vector([v[0] / v[2], v[1] / v[2]])
            square = u.dot(u)
            u *= 1.0 + given[i, 9] * square + given[i, 10] * square * square
            out[i, 0] = given[i, 14] * (given[i, 6] * u[0] + given[i, 7] - feature[i, 0])
            out[i, 1] = given[i, 14] * (given[i, 6] * u[1] + given[i, 8] - feature[i, 1])

    return f, [given], out


@differentiated
def det(ti):
    """The determinant of a matrix with 9 rows, by minors: a function that calls itself a million times."""
    n = 9
    a, loss = held(ti, inputs.reals(n, n)), result(ti)

    @ti.real_func
    def minors(row: ti.i32, used: ti.i32) -> ti.f64:
        total = ti.cast(0.0, ti.f64)
        if row == n:
            total = 1.0
        else:
            sign = ti.cast(1.0, ti.f64)
            for column in range(n):
                if used >> column & 1 == 0:
                    total += sign * a[row, column] * minors(row + 1, used | 1 << column)
                    sign = -sign
        return total

    @ti.kernel
    def f():
        loss[None] = minors(0, 0)

    return f, [a], loss


@differentiated
def particle(ti):
    """A particle that the gradient of a potential pushes until it crosses an axis, for 1024 places w of a charge: each
    is the least in the square of where it crosses. Forward mode inside of reverse mode."""
    n, dt = 1024, 0.1
    w, loss = held(ti, 0.1 * inputs.reals(n)), result(ti)
    vec = ti.types.vector(2, ti.f64)

    @ti.func
    def potential(x, y):
        below = x - vec(10.0, 0.0)
        above = x - vec(10.0, 10.0 - y)
        return 1.0 / ti.sqrt(above.dot(above)) + 1.0 / ti.sqrt(below.dot(below))

    @ti.kernel
    def f():
        loss[None] = 0.0
        for i in range(n):
            x, v, y = vec(0.0, 8.0), vec(0.75, 0.0), w[i]
            while x[1] > 0.0:
                push = ti.ad.derivative(potential, x, y)
                x += dt * v
                v -= dt * push
            back = x[1] / v[1]
            loss[None] += (x[0] - back * v[0]) ** 2

    return f, [w], loss


@differentiated
def saddle(ti):
    """The largest over y of |x|^2 - |y|^2 + x y / 2, by 40 steps along its derivative, for 4096 places x. Forward mode
    inside of reverse mode."""
    n = 4096
    x, loss = held(ti, inputs.reals(n, 2)), result(ti)
    vec = ti.types.vector(2, ti.f64)

    @ti.func
    def value(y, at):
        return at.dot(at) - y.dot(y) + 0.5 * at.dot(y)

    @ti.kernel
    def f():
        loss[None] = 0.0
        for i in range(n):
            at, y = vec(x[i, 0], x[i, 1]), vec(1.0, 1.0)
            for _ in range(40):
                y += 0.1 * ti.ad.derivative(value, y, at)
            loss[None] += value(y, at)

    return f, [x], loss


def _rows_of_ba(ti):
    """Two reverse launches, one for each residual."""
    kernel, (given,), out = ba(ti)
    n = out.shape[0]
    rows, run = [ti.field(ti.f64, given.shape) for _ in range(2)], setter(kernel, [given])

    @ti.kernel
    def seed(which: ti.i32):
        for i in range(n):
            out.grad[i, which] = 1.0
            out.grad[i, 1 - which] = 0.0

    def step():
        for which in range(2):
            seed(which)
            run()
            rows[which].copy_from(given.grad)

    return Program(step, lambda: sample(*(row.to_numpy() for row in rows)))


PROGRAMS["ba_gradient"] = _rows_of_ba
