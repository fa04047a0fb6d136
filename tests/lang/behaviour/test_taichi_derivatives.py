"""What Taichi's documentation says of derivatives: its examples, and the rules that Weft lifts.

Expected values are formulas, or central differences of the same program.
"""

import numpy as np

from tests.lang.behaviour.derivatives import close, slope

# ---- the rules for accesses to fields ----------------------------------------------------------------------------


def test_an_element_that_is_read_and_then_changed(ti, number):
    """Rule 1 forbids it: the gradient would use the new value of `b`."""
    loss, b, x = number(), number(), ti.field(ti.f64, 3, needs_grad=True)

    @ti.kernel
    def broken():
        loss[None] = x[1] * b[None]
        b[None] += 100

    x.from_numpy(np.array([1.0, 2.0, 3.0]))
    b[None] = 4.0
    with ti.ad.Tape(loss):
        broken()
    assert (loss[None], b[None]) == (8.0, 104.0)
    close(x.grad.to_numpy(), [0.0, 4.0, 0.0])
    close(b.grad[None], 2.0)


def test_an_element_that_is_written_twice(ti, number):
    """Rule 2 allows the second write to be an atomic sum only."""
    loss, x = number(), ti.field(ti.f64, 2, needs_grad=True)

    @ti.kernel
    def twice():
        loss[None] += x[0] ** 2
        loss[None] = loss[None] + x[0] * x[1]

    @ti.kernel
    def replaced():
        loss[None] = x[0] ** 2
        loss[None] = x[1] ** 3

    x.from_numpy(np.array([3.0, 2.0]))
    with ti.ad.Tape(loss):
        twice()
    close(x.grad.to_numpy(), [2 * 3.0 + 2.0, 3.0])
    with ti.ad.Tape(loss):
        replaced()
    close(x.grad.to_numpy(), [0.0, 12.0])


def test_a_product_in_memory(ti, number):
    loss, x = number(), ti.field(ti.f64, 2, needs_grad=True)

    @ti.kernel
    def product():
        loss[None] += x[0]
        loss[None] *= x[1]

    x.from_numpy(np.array([3.0, 2.0]))
    with ti.ad.Tape(loss):
        product()
    assert loss[None] == 6.0
    close(x.grad.to_numpy(), [2.0, 3.0])


def test_the_values_of_a_field_that_the_next_kernel_overwrites(ti, number):
    """Between kernels, too: the gradients of `square` and `add` need the values that `clear` overwrites."""
    x, y, loss = ti.field(ti.f64, 4, needs_grad=True), ti.field(ti.f64, 4, needs_grad=True), number()

    @ti.kernel
    def square():
        for i in x:
            y[i] = x[i] * x[i]

    @ti.kernel
    def add():
        for i in y:
            loss[None] += ti.sin(y[i])

    @ti.kernel
    def clear():
        for i in y:
            y[i] = 0.0
            x[i] = 0.0

    at = np.array([0.1, 0.2, 0.3, 0.4])
    x.from_numpy(at)
    with ti.ad.Tape(loss):
        square()
        add()
        clear()
    close(x.grad.to_numpy(), 2 * at * np.cos(at * at))


# ---- the shape of kernels ----------------------------------------------------------------------------------------


def test_statements_beside_loops(ti, number):
    """Taichi's rule of simple kernels forbids statements beside top-level loops, and inside of nested loops."""
    loss, x = number(), ti.field(ti.f64, 10, needs_grad=True)

    @ti.kernel
    def mixed():
        loss[None] += x[0] * x[9]
        for i in range(10):
            loss[None] += x[i] ** 2
            for j in range(3):
                loss[None] += x[i] * j
            loss[None] += ti.sin(x[i])
            for j in range(i):
                for k in range(2):
                    loss[None] += x[j] * (k + 1)
        factor = 2.0 * x[5]
        for i in range(10):
            loss[None] += factor * x[i]

    at = np.linspace(0.1, 1.0, 10)
    x.from_numpy(at)
    with ti.ad.Tape(loss):
        mixed()
    wanted = 2 * at + 3 + np.cos(at) + 3 * np.arange(9, -1, -1) + 2 * at[5]
    wanted[[0, 9]] += at[[9, 0]]
    wanted[5] += 2 * at.sum()
    close(x.grad.to_numpy(), wanted)


def test_changed_locals_in_loops(ti, number):
    """Loops whose body has loops and locals that change: Taichi refuses `break`, `continue` and `while` here."""
    loss, x = number(), number()

    @ti.kernel
    def root():
        for _ in range(1):
            r = x[None]
            for k in range(100):
                if k == 1:
                    continue
                better = 0.5 * (r + x[None] / r)
                if abs(better - r) < 1e-14:
                    break
                r = better
            n, s = 0, ti.cast(1.0, ti.f64)
            while n < 7:
                s *= r
                n += 1
            loss[None] += s

    x[None] = 2.5
    with ti.ad.Tape(loss):
        root()
    close(loss[None], 2.5**3.5)
    close(x.grad[None], 3.5 * 2.5**2.5)


def test_many_iterations_inside(ti, number):
    """taichi #8027 crashes for 31 iterations or more."""
    loss, x = number(), ti.field(ti.f64, 10, needs_grad=True)

    @ti.kernel
    def compute():
        for i in range(10):
            total = ti.cast(1.0, ti.f64)
            for _ in range(500):
                total = total * 0.984375 + ti.sin(x[i] * total) * 0.015625
            loss[None] += total

    def value(at):
        total = np.ones(10)
        for _ in range(500):
            total = total * 0.984375 + np.sin(at * total) * 0.015625
        return total

    at = np.linspace(0.5, 1.5, 10)
    x.from_numpy(at)
    with ti.ad.Tape(loss):
        compute()
    close(x.grad.to_numpy(), (value(at + 1e-6) - value(at - 1e-6)) / 2e-6, rtol=1e-7)


def test_a_local_that_is_added_up(ti, number):
    """taichi #4412: 1.0 instead of 5.0."""
    a, f = (ti.field(ti.f64, 15, needs_grad=True) for _ in range(2))

    @ti.kernel
    def add():
        for i in range(15):
            p, q = a[i], ti.cast(0.0, ti.f64)
            for _ in range(5):
                q += p
            f[i] = q

    add()
    f.grad.fill(1.0)
    add.grad()
    close(a.grad.to_numpy(), np.full(15, 5.0))


# ---- functions with gradients of their own -----------------------------------------------------------------------


def test_checkpoints(ti, number):
    """The documentation's use of `grad_replaced`: store every few steps, and compute the others again."""
    steps, every = 12, 4
    x, loss, theta = ti.field(ti.f64, every + 1, needs_grad=True), number(), number()
    kept = ti.field(ti.f64, steps // every + 1)

    @ti.kernel
    def advance(t: ti.i32):
        x[t + 1] = ti.sin(x[t] * theta[None]) + 0.5 * x[t]

    @ti.kernel
    def keep(k: ti.i32):
        kept[k] = x[0]

    @ti.kernel
    def fetch(k: ti.i32):
        x[0] = kept[k]

    @ti.kernel
    def turn():
        x[0] = x[every]

    @ti.kernel
    def finish():
        loss[None] = x[0] ** 2

    @ti.ad.grad_replaced
    def segment(k):
        keep(k)
        for t in range(every):
            advance(t)
        turn()

    @ti.ad.grad_for(segment)
    def segment_grad(k):
        fetch(k)
        for t in range(every):
            advance(t)
        turn.grad()
        for t in reversed(range(every)):
            advance.grad(t)

    def program():
        x.fill(0)
        x[0] = 0.3
        with ti.ad.Tape(loss):
            for k in range(steps // every):
                segment(k)
            finish()
        return loss[None]

    theta[None] = 1.2
    program()
    found = theta.grad[None]
    close(found, slope(program, theta, 1.2), rtol=1e-6)


def test_no_grad_stops_a_derivative(ti, number):
    loss, x = number(), ti.field(ti.f64, 4, needs_grad=True)

    @ti.kernel
    def energy():
        for i in x:
            loss[None] += x[i] ** 2

    @ti.kernel
    def more():
        for i in x:
            loss[None] += 10 * x[i]

    @ti.ad.no_grad
    def aside():
        more()

    x.fill(2.0)
    with ti.ad.Tape(loss):
        energy()
        aside()
    assert loss[None] == 16.0 + 80.0
    close(x.grad.to_numpy(), np.full(4, 4.0))


# ---- forward mode ------------------------------------------------------------------------------------------------


def test_a_jacobian_by_seeds_and_two_losses(ti):
    n = 5
    x, one, two = (ti.field(ti.f64, n, needs_dual=True) for _ in range(3))

    @ti.kernel
    def f():
        for i in x:
            one[i] = x[i] * x[(i + 1) % n]
            two[i] = ti.exp(x[i]) * i

    at = np.linspace(0.5, 1.5, n)
    x.from_numpy(at)
    jacobians = np.zeros((2, n, n))
    for column in range(n):
        with ti.ad.FwdMode(loss=[one, two], param=x, seed=[float(k == column) for k in range(n)]):
            f()
        jacobians[:, :, column] = one.dual.to_numpy(), two.dual.to_numpy()
    wanted = np.diag(np.roll(at, -1)) + np.roll(np.diag(at), 1, axis=1)
    close(jacobians[0], wanted)
    close(jacobians[1], np.diag(np.exp(at) * np.arange(n)))


def test_forward_and_reverse_agree(ti):
    """<J v, w> = <v, J^T w> of a program with a loop, a condition and a sum."""
    n = 16
    x, y = (ti.field(ti.f64, n, needs_grad=True, needs_dual=True) for _ in range(2))

    @ti.kernel
    def g():
        for i in x:
            y[i] = y[i] * x[n - 1 - i]

    random = np.random.default_rng(3)
    at, v, w = random.uniform(0.2, 1.2, n), random.normal(size=n), random.normal(size=n)

    @ti.kernel
    def chain():
        for i in x:
            u = x[i]
            for k in range(i):
                u = ti.sin(u) + x[(i + k) % n] * (0.5 if u > 0.7 else 1.5)
            y[i] = u

    x.from_numpy(at)
    with ti.ad.FwdMode(loss=y, param=x, seed=v):
        chain()
        g()
    along = y.dual.to_numpy() @ w
    x.from_numpy(at)
    y.fill(0)
    tape = ti.ad.Tape()
    with tape:
        chain()
        g()
    y.grad.from_numpy(w)
    tape.grad()
    close(x.grad.to_numpy() @ v, along, rtol=1e-12)
