"""`ti.ad.jacobian`: dense and by colours, forward and reverse, against formulas and complex steps."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.ir.errors import TypeMismatch, WeftError
from weft.lang.autodiff import jacobians, sparsity


def exact(function, at):
    """The Jacobian matrix of a numpy function, by complex steps."""
    at = np.asarray(at, np.float64)
    columns = []
    for k in range(at.size):
        moved = at.astype(complex).ravel()
        moved[k] += 1e-20j
        columns.append(np.ravel(function(moved.reshape(at.shape))).imag / 1e-20)
    return np.stack(columns, -1)


@pytest.fixture
def colours(monkeypatch):
    """How many colours were used. The test of the result against another direction is off."""
    counts = []
    colours_of = jacobians._Jacobian._colours

    def count(self, number):
        found = colours_of(self, number)
        counts.append(found.count)
        return found

    monkeypatch.setattr(jacobians._Jacobian, "_colours", count)
    monkeypatch.setattr(jacobians._Jacobian, "_agrees", lambda *_: True)
    return counts


def test_rows_and_columns(ti, colours):
    x, y, loss = ti.field(ti.f64, 4), ti.field(ti.f64, 3), ti.field(ti.f64, ())
    x.from_numpy(np.array([1.0, 2.0, 3.0, 4.0]))

    @ti.kernel
    def mix(k: ti.f64):
        for i in y:
            for j in range(4):
                y[i] += k * x[j] ** (i + 1)
        for i in x:
            loss[None] += x[i] ** 2 * k

    a = x.to_numpy()
    wanted = 2.0 * np.stack([(i + 1) * a**i for i in range(3)])
    close(ti.ad.jacobian(mix, x, y)(2.0), wanted)  # fewer rows than columns: by gradients
    assert y[0] == 20.0  # as after one call
    y.fill(0.0)
    loss.fill(0.0)
    by_k = ti.ad.jacobian(mix, "k", [y, loss])(2.0)
    close(by_k[0], [(a ** (i + 1)).sum() for i in range(3)])
    close(by_k[1], (a**2).sum())
    (by_x, again), (loss_by_x, _) = ti.ad.jacobian(mix, [x, "k"], [y, loss])(2.0)
    close(by_x, wanted)
    close(again, by_k[0])
    close(loss_by_x, 4.0 * a)


def test_stencils_need_a_colour_for_each_neighbour(ti, colours):
    n = 12
    x, y, z = (ti.field(ti.f64, n) for _ in range(3))
    at = np.random.default_rng(0).uniform(0.5, 1.5, n)

    @ti.kernel
    def circle():
        for i in x:
            y[i] = x[(i + 1) % n] * x[i] + x[(i - 1 + n) % n]

    @ti.kernel
    def clamped():
        for i in x:
            z[i] = y[ti.max(i - 1, 0)] * y[ti.min(i + 1, n - 1)]

    @ti.kernel
    def inner(first: ti.i32):
        for i in range(first, n - 1):
            x[i] = z[i] * z[i + 1]

    def program():
        circle()
        clamped()
        inner(1)

    def on_circle(a):
        return np.roll(a, -1) * a + np.roll(a, 1)

    def after(a):
        b = on_circle(a)
        c = b[[0, *range(n - 1)]] * b[[*range(1, n), n - 1]]
        return np.concatenate([a[:1], c[1:-1] * c[2:], a[-1:]])

    for function, out, wanted, count in ((circle, y, on_circle, 3), (program, x, after, 6)):
        x.from_numpy(at)
        close(ti.ad.jacobian(function, x, out)(), exact(wanted, at))
        x.from_numpy(at)
        rows, columns, values = ti.ad.jacobian(function, x, out, sparse=True)()
        dense = np.zeros((n, n))
        dense[rows, columns] = values
        close(dense, exact(wanted, at))
        assert len(set(zip(rows.tolist(), columns.tolist()))) == len(rows)
        assert colours[-2:] == [count, count]
    close(x.to_numpy(), after(at))


def test_vectors_on_grids(ti, colours):
    shape = (5, 4)
    u, v = ti.Vector.field(2, ti.f64, shape, offset=(1, -2)), ti.Vector.field(2, ti.f64, shape)
    at = np.random.default_rng(1).uniform(0.5, 1.5, (*shape, 2))
    u.from_numpy(at)

    @ti.kernel
    def spread():
        for i, j in v:
            v[i, j] = u[i + 1, j - 2] * u[i + 1, j - 2].yx
            if i > 0:
                v[i, j] += u[i, j - 2] * 3
            for d in range(2):
                if j + d < 4:
                    v[i, j].x += u[i + 1, j - 2 + d].y ** 2

    def on_grid(a):
        found = a * a[..., ::-1]
        found[1:] += a[:-1] * 3
        for d in range(2):
            found[:, : 4 - d, 0] += a[:, d:, 1] ** 2
        return found

    jacobian = ti.ad.jacobian(spread, u, v)()
    assert jacobian.shape == (5, 4, 2, 5, 4, 2)
    close(jacobian.reshape(40, 40), exact(on_grid, at))
    assert colours == [2 * 2 * 2]  # neighbours along each axis, and two components


def test_what_cannot_be_known_gets_a_run_for_each_column(ti, colours):
    x, y, which, total = ti.field(ti.f64, 6), ti.field(ti.f64, 6), ti.field(ti.i32, 6), ti.field(ti.f64, ())
    at, places = np.arange(1.0, 7.0), np.array([3, 0, 5, 5, 2, 1])
    which.from_numpy(places)

    @ti.kernel
    def gather():
        for i in y:
            y[i] = x[which[i]] ** 2

    @ti.kernel
    def flip():
        for i in y:
            y[i] = x[5 - i] ** 2

    @ti.kernel
    def through_a_sum():
        s = ti.f64(0.0)
        for i in x:
            s += x[i]
        for i in y:
            y[i] = s * x[i]

    @ti.kernel
    def in_order():
        ti.loop_config(serialize=True)
        for i in range(6):
            x[i] = x[i] * x[ti.max(i - 1, 0)]
        for i in range(6):
            y[i] = x[i]

    def ordered(a):
        a = a.copy()
        for i in range(6):
            a[i] = a[i] * a[max(i - 1, 0)]
        return a

    cases = {
        gather: lambda a: a[places] ** 2,
        flip: lambda a: a[::-1] ** 2,
        through_a_sum: lambda a: a.sum() * a,
        in_order: ordered,
    }
    for kernel, function in cases.items():
        x.from_numpy(at)
        close(ti.ad.jacobian(kernel, x, y)(), exact(function, at))
        assert colours[-1] == 6
    del total


def test_steps_that_reach_farther_and_farther(ti, colours):
    n = 40
    x, old = ti.field(ti.f64, n), ti.field(ti.f64, n)
    at = np.random.default_rng(2).uniform(0.5, 1.5, n)

    @ti.kernel
    def keep():
        for i in x:
            old[i] = x[i]

    @ti.kernel
    def diffuse():
        for i in range(1, n - 1):
            x[i] = old[i - 1] * 0.25 + old[i] * old[i + 1]

    def program(steps):
        for _ in range(steps):
            keep()
            diffuse()

    def after(a):
        for _ in range(4):
            b = a.copy()
            b[1:-1] = a[:-2] * 0.25 + a[1:-1] * a[2:]
            a = b
        return a

    x.from_numpy(at)
    close(ti.ad.jacobian(program, x, x)(4), exact(after, at))
    assert colours == [9]
    x.from_numpy(at)
    ti.ad.jacobian(program, x, x)(30)
    assert colours == [9, 40]


def test_rules_of_the_program_have_any_pattern(ti, colours):
    needed = {"needs_grad": True, "needs_dual": True}
    x, y = ti.field(ti.f64, 5, **needed), ti.field(ti.f64, 5, **needed)
    x.fill(1.0)

    @ti.ad.custom
    @ti.kernel
    def copy():
        for i in x:
            y[i] = x[i]

    @copy.jvp
    @ti.kernel
    def copy():
        for i in x:
            y[i] = x[i]
            y.dual[i] = x.dual[4 - i]

    close(ti.ad.jacobian(lambda: copy(), x, y)(), np.eye(5)[::-1])
    assert colours == [5]


def test_random_numbers_and_results(ti):
    x, y = ti.field(ti.f64, 3), ti.field(ti.f64, 3)
    x.fill(2.0)

    @ti.kernel
    def draw():
        for i in x:
            y[i] = 0.0
            for j in range(3):
                y[i] += ti.random(ti.f64) * x[j]

    jacobian = ti.ad.jacobian(draw, x, y)()
    close(jacobian.sum(1) * 2.0, y.to_numpy())  # one draw for all columns
    assert np.unique(jacobian).size == 9

    @ti.kernel
    def ends(k: ti.f64) -> ti.types.vector(2, ti.f64):
        return ti.Vector([k * x[0], x[2] ** 2], ti.f64)

    by_x, by_k = ti.ad.jacobian(ends, [x, "k"])(3.0)
    close(by_x, [[3.0, 0.0, 0.0], [0.0, 0.0, 4.0]])
    close(by_k, [2.0, 0.0])
    rows, columns, values = ti.ad.jacobian(ends, x, sparse=True)(3.0)
    assert (rows.tolist(), columns.tolist(), values.tolist()) == ([0, 1], [0, 2], [3.0, 4.0])


def test_a_wrong_pattern_would_show(ti, monkeypatch):
    x, y = ti.field(ti.f64, 8), ti.field(ti.f64, 8)
    x.fill(1.0)

    @ti.kernel
    def neighbours():
        for i in range(1, 7):
            y[i] = x[i - 1] + 2 * x[i + 1]

    too_small = sparsity.Band(0, 0, 1)
    monkeypatch.setattr(sparsity.Tracing, "bands", lambda *_: (too_small,))
    wanted = np.zeros((8, 8))
    for i in range(1, 7):
        wanted[i, i - 1], wanted[i, i + 1] = 1.0, 2.0
    close(ti.ad.jacobian(neighbours, x, y)(), wanted)


def test_refusals(ti):
    x = ti.field(ti.f64, 3)

    @ti.kernel
    def nothing():
        x[0] = 1.0

    with pytest.raises(TypeMismatch, match="returns nothing: name its output"):
        ti.ad.jacobian(nothing, x)()
    with pytest.raises(TypeMismatch, match="out must be a field, an ndarray"):
        ti.ad.jacobian(nothing, x, 3)
    with pytest.raises(WeftError, match=r"a function of ti.ad.jacobian is called in a block"), ti.ad.Tape():
        ti.ad.jacobian(nothing, x, x)()


@pytest.mark.parametrize("kind", ["hash", "pointer"])
def test_runs_begin_with_the_same_cells(ti, kind):
    """Whatever activates more in a run: a launch that writes another field first, or Python."""
    x, y, v, loss = ti.field(ti.f64), ti.field(ti.f64), ti.field(ti.f64, 2), ti.field(ti.f64, ())
    getattr(ti.root, kind)(ti.i, 64).place(x, y)
    x[5], x[6] = 2.0, 3.0
    v.from_numpy(np.array([0.5, 4.0]))

    @ti.kernel
    def move():
        for i in x:
            loss[None] += v[0] * v[0] * (1 + x[i]) * v[1]
        for k in v:
            y[20 + k] = v[k]

    @ti.kernel
    def store():
        for k in v:
            x[30 + k] = v[k]

    def f():
        move()
        store()
        x[10] = 1.0

    of_loss, _ = ti.ad.jacobian(f, v, [loss, v])()
    np.testing.assert_allclose(of_loss, [2 * 0.5 * 7 * 4, 0.25 * 7])
    assert x.active()[0].reshape(-1).tolist() == [5, 6, 10, 20, 21, 30, 31]
