"""Derivatives of programs with sparse fields, on every arch: they are those of the same program with dense fields, or
those of differences."""

import warnings

import numpy as np
import pytest

from weft.ir.errors import CompilationError
from weft.lang.autodiff.versions import Overwritten
from weft.lang.errors import GradientWarning

BOTH = {"needs_grad": True, "needs_dual": True}


def scalar(ti):
    return ti.field(ti.f64, (), **BOTH)


TREES = {
    "pointer": lambda ti, fields: ti.root.pointer(ti.ij, 4).dense(ti.ij, 2).place(*fields),
    "bitmasked": lambda ti, fields: ti.root.bitmasked(ti.ij, 8).place(*fields),
    "nested": lambda ti, fields: ti.root.pointer(ti.ij, 2).pointer(ti.i, 2).bitmasked(ti.ij, (2, 4)).place(*fields),
    "list": lambda ti, fields: ti.root.dense(ti.i, 8).dynamic(ti.j, 8, chunk_size=3).place(*fields),
}


@pytest.mark.parametrize("kind", TREES)
def test_gradients_and_duals_are_those_of_dense_fields(ti, kind):
    results = {}
    for sparse in (True, False):
        x, y = (ti.field(ti.f64, **BOTH) for _ in range(2))
        v = ti.Vector.field(2, ti.f64, **BOTH)
        loss = scalar(ti)
        if sparse:
            TREES[kind](ti, (x, y, v))
        else:
            ti.root.dense(ti.ij, 8).place(x, y, v)

        @ti.kernel
        def move(x: ti.template(), y: ti.template(), v: ti.template()):
            for i, j in x:
                if x[i, j] != 0:
                    y[i, j] = x[i, j] ** 2 + ti.sin(x[i, (j + 7) % 8]) * v[i, j][1]
                    v[i, j] *= x[i, j]

        @ti.kernel
        def total(y: ti.template(), v: ti.template(), loss: ti.template()):
            for i, j in y:
                loss[None] += y[i, j] * (i + 1) + v[i, j].norm_sqr()

        def start(x=x, v=v):
            for i, j in ((1, 0), (1, 1), (5, 0), (6, 3)):
                x[i, j] = 0.3 * i + 0.1 * j
                v[i, j] = [1.0, 2.0]

        start()
        with ti.ad.Tape(loss):
            move(x, y, v)
            total(y, v, loss)
        results[sparse] = [loss[None], x.grad.to_numpy(), v.grad.to_numpy()]
        start()
        seed = np.zeros((8, 8))
        seed[1, 1], seed[6, 3] = 1.0, 0.5
        with ti.ad.FwdMode(loss, x, seed=seed.reshape(-1)):
            loss[None] = 0
            move(x, y, v)
            total(y, v, loss)
        results[sparse].append(loss.dual[None])
    places = ((1, 0), (1, 1), (5, 0), (6, 3))
    for found, wanted in zip(*results.values(), strict=True):
        if np.ndim(found):
            found, wanted = ([one[place] for place in places] for one in (found, wanted))
        assert np.allclose(found, wanted, rtol=1e-12)


def particles(ti, count):
    """Their positions and velocities, the loss, and a program that moves them by a grid that is made anew."""
    x, v = (ti.field(ti.f64, count, needs_grad=True) for _ in range(2))
    m, p = (ti.field(ti.f64, needs_grad=True) for _ in range(2))
    loss = scalar(ti)
    blocks = ti.root.pointer(ti.i, 16)
    blocks.dense(ti.i, 4).place(m, p)

    @ti.kernel
    def scatter():
        for k in x:
            base = ti.floor(x[k], ti.i32)
            for side in ti.static(range(2)):
                weight = 1 - ti.abs(x[k] - (base + side))
                m[base + side] += weight
                p[base + side] += weight * v[k]

    @ti.kernel
    def push():
        for i in m:
            if m[i] > 0:
                p[i] = ti.sin(p[i] / m[i])

    @ti.kernel
    def gather():
        for k in x:
            base, new = ti.floor(x[k], ti.i32), ti.f64(0)
            for side in ti.static(range(2)):
                new += (1 - ti.abs(x[k] - (base + side))) * p[base + side]
            v[k] = new
            x[k] += 3 * new

    @ti.kernel
    def total():
        for k in x:
            loss[None] += x[k] ** 2 / 8

    def run(steps):
        for _ in steps:
            blocks.deactivate_all()
            scatter()
            push()
            gather()
        total()

    return x, v, loss, run


def test_a_grid_that_is_made_anew_in_each_step(ti):
    """Cells are activated and deactivated within the tape, also in a loop with checkpoints."""
    count = 6
    x, v, loss, run = particles(ti, count)
    xs, vs = np.linspace(9.3, 30.1, count), np.linspace(-1.0, 0.9, count)

    def value(xs):
        x.from_numpy(xs)
        v.from_numpy(vs)
        loss[None] = 0
        run(range(3))
        return loss[None]

    found = []
    for loop in (range(3), ti.ad.steps(3, memory="6 kB")):
        x.from_numpy(xs)
        v.from_numpy(vs)
        with ti.ad.Tape(loss):
            run(loop)
        found.append(x.grad.to_numpy())
    assert (found[0] == found[1]).all()
    for k in (0, 3, 5):
        far = np.zeros(count)
        far[k] = 1e-5
        assert abs((value(xs + far) - value(xs - far)) / 2e-5 - found[0][k]) < 1e-6 * (1 + abs(found[0][k]))


def test_lists(ti):
    """The launch records where it has appended. The gradient of a list that becomes longer stays in its old part."""
    a, lists = ti.field(ti.f64, 8, needs_grad=True), ti.field(ti.f64, needs_grad=True)
    loss = scalar(ti)
    ti.root.dense(ti.i, 3).dynamic(ti.j, 16, chunk_size=2).place(lists)

    @ti.kernel
    def collect():
        for i in a:
            if a[i] > 0.2:
                lists[i % 3].append(a[i] ** 3)

    @ti.kernel
    def total():
        for i, j in lists:
            loss[None] += lists[i, j] * lists[i].length()

    values = np.linspace(0.0, 1.0, 8)
    a.from_numpy(values)
    lists[1, 0] = 2.0
    with ti.ad.Tape(loss):
        total()
        collect()
        total()
    lengths = np.array([2.0, 3.0, 2.0])  # of the lists at the end
    picked = values > 0.2
    assert [lists.to_numpy()[k].astype(bool).sum() for k in range(3)] == [2, 3, 2]
    assert np.allclose(a.grad.to_numpy(), 3 * values**2 * picked * lengths[np.arange(8) % 3])
    assert lists.grad[1, 0] == 4.0
    assert not lists.grad.to_numpy()[0].any()  # what the block has made has no derivative


def test_what_was_deactivated_is_back_for_gradients(ti):
    x, y = (ti.field(ti.f64, needs_grad=True) for _ in range(2))
    loss = scalar(ti)
    blocks = ti.root.pointer(ti.i, 4)
    blocks.bitmasked(ti.i, 2).place(x)
    ti.root.pointer(ti.i, 8).place(y)

    @ti.kernel
    def move():
        for i in x:
            y[i] = x[i] ** 3
        for i in range(8):
            if i < 4:
                ti.deactivate(blocks, i // 2)

    @ti.kernel
    def refill():
        for i in y:
            x[i] = 2 * y[i]

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2

    x[1], x[2], x[6] = 0.5, 1.5, 2.0
    with ti.ad.Tape(loss):
        move()
        refill()
        total()
    assert np.allclose([x.grad[i] for i in (1, 2, 6)], [24 * v**5 for v in (0.5, 1.5, 2.0)])
    assert x.to_numpy()[[1, 2, 6]].tolist() == [2 * v**3 for v in (0.5, 1.5, 2.0)]

    def lose():
        with ti.ad.Tape(loss):
            total()
            blocks.deactivate_all()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(GradientWarning, match="lost where the block has deactivated cells"):
            lose()
    assert len(x.active()[0]) == 0


def test_what_python_writes(ti):
    x = ti.field(ti.f64, needs_grad=True)
    loss = scalar(ti)
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(x)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2 + 1

    x[1] = 2.0
    with ti.ad.Tape(loss):
        total()
        x[7] = 3.0
        x[1] = 5.0
        total()
    assert loss[None] == 4 + 2 + 9 + 25 + 4
    assert x.grad.to_numpy().tolist() == [0, 4, 0, 0, 0, 0, 0, 0]
    assert x.active()[0].reshape(-1).tolist() == [0, 1, 6, 7]

    def overwrite():
        with ti.ad.Tape(loss, save=False):
            total()
            x[3] = 1.0

    with pytest.raises(Overwritten, match="overwrites a field"):
        overwrite()


def test_writes_to_what_is_active(ti):
    """Elements that become active later in the same kernel got nothing before."""
    x, y = ti.field(ti.f64, 4, needs_grad=True), ti.field(ti.f64, needs_grad=True)
    loss = scalar(ti)
    blocks = ti.root.pointer(ti.i, 4)
    blocks.dense(ti.i, 2).place(y)

    @ti.kernel
    def scatter():
        ti.no_activate(blocks)
        for i in range(4):
            y[2 * i] += x[i] ** 2
        for i in range(4):
            y[2 * i] += x[i]

    @ti.kernel
    def total():
        for i in y:
            loss[None] += y[i]

    x.from_numpy(np.array([1.0, 2, 3, 4]))
    y[4] = 1.0
    with ti.ad.Tape(loss):
        scatter()
        total()
    assert loss[None] == 1 + 10 + 9
    assert x.grad.to_numpy().tolist() == [1, 1, 7, 1]
    with pytest.raises(CompilationError, match="which changes only what is active"):
        scatter.grad()


@pytest.mark.parametrize("kind", ["pointer", "hash"])
def test_what_python_sets_has_no_derivative(ti, kind):
    x, y = (ti.field(ti.f64, needs_grad=True) for _ in range(2))
    v, w = ti.Vector.field(2, ti.f64, needs_grad=True), ti.field(ti.f64, 4, needs_grad=True)
    loss = scalar(ti)
    for one in ((x, v), (y,)):
        getattr(ti.root, kind)(ti.i, 8).dense(ti.i, 2).place(*one)

    @ti.kernel
    def spread():
        for i in w:
            x[i] += w[i] ** 2
            v[i] += ti.Vector([w[i], 0.0])

    @ti.kernel
    def total(x: ti.template()):
        for i in x:
            loss[None] += x[i] ** 2

    @ti.kernel
    def lengths():
        for i in v:
            loss[None] += v[i].norm_sqr()

    w.from_numpy(np.array([1.0, 2, 3, 4]))
    at = np.array([[1], [7]])
    with ti.ad.Tape(loss):
        spread()
        total(x)
        x.from_active(at, np.array([5.0, 6.0]))
        v.from_active(at, np.array([[1.0, 1.0], [2.0, 2.0]]))
        at[...] = 0
        total(x)
        lengths()
        y.copy_from(x)
        x.fill(2.0)
        total(y)
        total(x)
    w3 = 4 * np.array([1.0, 2, 3, 4]) ** 3
    assert w.grad.to_numpy().tolist() == [3 * w3[0] + 2, w3[1], 3 * w3[2] + 6, 3 * w3[3] + 8]
    with ti.ad.Tape(loss, save=False):
        total(x)
        with pytest.raises(Overwritten):
            x.from_active(at[:1], 1.0)


def test_a_field_that_is_gone(ti):
    """A launch that deactivates cells sets the fields in them to 0: those that the program still has."""
    w, loss = ti.field(ti.f64, 2, needs_grad=True), scalar(ti)
    x, y = ti.Vector.field(2, ti.f64), ti.field(ti.f64)
    blocks = ti.root.pointer(ti.i, 4)
    blocks.dense(ti.i, 2).place(x, y)

    @ti.kernel
    def total():
        for i in w:
            loss[None] += w[i] ** 2

    def gradient():
        y[3] = 1.0
        with ti.ad.Tape(loss):
            total()
            blocks.deactivate_all()
        return w.grad.to_numpy().tolist()

    w.fill(1.0)
    assert gradient() == [2, 2]
    del x
    assert gradient() == [2, 2]


def test_where_gradients_lie(ti):
    x, y, z = (ti.field(ti.f64, **BOTH) for _ in range(3))
    pointer = ti.root.pointer(ti.i, 4)
    pointer.dense(ti.i, 2).place(x, x.grad)
    pointer.bitmasked(ti.i, 2).place(y)
    late = ti.field(ti.f64)
    pointer.dense(ti.i, 2).place(late)
    ti.root.lazy_grad()
    ti.root.lazy_dual()
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(z, z.dual)
    nodes = [one.snode.parent(2) for one in (x.grad, x.dual, late.grad)]
    assert nodes == [pointer] * 3
    assert y.grad.snode.parent() == y.snode.parent()
    y[3] = 1.0
    assert x.grad.active()[0].tolist() == [[2], [3]]
    assert y.dual.active()[0].tolist() == [[3]]
    assert z.grad.snode.parent(2) == z.snode.parent(2)


def test_hash_nodes(ti):
    x, y = (ti.field(ti.f64, needs_grad=True) for _ in range(2))
    loss = scalar(ti)
    ti.root.hash(ti.i, 16).dense(ti.i, 4).place(x)
    ti.root.hash(ti.i, 16).bitmasked(ti.i, 4).place(y)

    @ti.kernel
    def move():
        for i in x:
            y[2 * i - 1] += x[i] ** 2

    @ti.kernel
    def total():
        for i in y:
            loss[None] += y[i]

    x[-1000], x[77] = 2.0, 3.0
    with ti.ad.Tape(loss):
        move()
        total()
    assert loss[None] == 4 + 9
    assert [x.grad[i] for i in (-1000, 77, 5)] == [4, 6, 0]
    assert [y[i] for i in (-2001, 153)] == [4, 9]


def test_a_gradient_in_another_tree_is_refused(ti):
    x, loss = ti.field(ti.f64, needs_grad=True), scalar(ti)
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(x)
    ti.root.dense(ti.i, 8).place(x.grad)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    with pytest.raises(CompilationError, match="are not in the same cells"):
        total.grad()


def test_functions_of_ad(ti):
    x, y = (ti.field(ti.f64, name=name, **BOTH) for name in "xy")
    plain, loss = ti.field(ti.f64, name="plain"), scalar(ti)
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(x, y, plain)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 3 * y[i]

    @ti.kernel
    def cubes():
        for i in plain:
            loss[None] += plain[i] ** 3

    x[2], y[2], y[3] = 2.0, 3.0, 4.0
    assert ti.ad.grad(total, x, loss)().tolist() == [0, 0, 36, 0, 0, 0, 0, 0]
    direction = np.array([1.0, 0, 1, 0, 0, 0, 0, 5])
    assert ti.ad.jvp(total, x, loss)(direction)[1] == 36
    assert len(x.active()[0]) == 2  # the direction is 0 where nothing is active
    assert ti.ad.check(total)
    assert plain.grad is None
    assert ti.ad.grad(cubes, plain, loss)().tolist() == [0] * 8
    plain[3] = 2.0
    assert ti.ad.grad(cubes, plain, loss)().tolist() == [0, 0, 0, 12, 0, 0, 0, 0]


def test_what_cannot_be_differentiated_says_so(ti):
    x, loss = ti.field(ti.f64, needs_grad=True), scalar(ti)
    blocks = ti.root.pointer(ti.i, 4)
    blocks.dense(ti.i, 2).place(x)

    @ti.kernel
    def spread():
        for i in x:
            loss[None] += x[i]
            x[(i + 2) % 8] += 1.0

    @ti.kernel
    def drop():
        for i in x:
            loss[None] += x[i] ** 2
        for i in blocks:
            ti.deactivate(blocks, i)

    x[3] = 2
    with pytest.raises(CompilationError, match=r"(?s)for i in x.*may activate some in line"):
        spread.grad()
    with pytest.raises(CompilationError, match=r"(?s)deactivates.*in line"):
        drop.grad()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ti.ad.Tape(loss):  # which runs the two loops one after the other
            drop()
    assert len(x.active()[0]) == 0
    with pytest.raises(CompilationError, match="may activate"), ti.ad.Tape(loss):
        spread()
