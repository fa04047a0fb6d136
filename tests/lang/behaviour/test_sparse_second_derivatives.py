"""Derivatives of sparse fields that were made without gradients and duals, and second derivatives, on every arch."""

import gc
import weakref

import numpy as np
import pytest

from tests.sampling import every
from weft.ir.errors import WeftError
from weft.lang.data.field_tree import FieldError
from weft.lang.data.sparse_access import SPARSE
from weft.lang.errors import ArgumentError
from weft.runtime.errors import OutOfMemory

N = 16
PLACES = (3, 9)


TREES = {
    "pointer": lambda ti: ti.root.pointer(ti.i, 4).dense(ti.i, 4),
    "bitmasked": lambda ti: ti.root.bitmasked(ti.i, N),
    "nested": lambda ti: ti.root.pointer(ti.i, 2).pointer(ti.i, 2).bitmasked(ti.i, 4),
    "blocks": lambda ti: ti.root.pointer(ti.i, 2).dense(ti.i, 2).dense(ti.i, 4),
    "list": lambda ti: ti.root.dynamic(ti.i, N, chunk_size=3),
    "hash": lambda ti: ti.root.hash(ti.i, 8).dense(ti.i, 4),
}


class Program:
    """Fields in two trees of a kind, and a loss that `f` computes: the sum of w y^2 with y = x^3 v0 + sin(v1 x)."""

    def __init__(self, ti, kind):
        x, v, y, loss = ti.field(ti.f64), ti.Vector.field(2, ti.f64), ti.field(ti.f64), ti.field(ti.f64, ())
        TREES[kind](ti).place(x, v)
        TREES[kind](ti).place(y)
        self.x, self.v, self.loss = x, v, loss
        for k, place in enumerate(PLACES):
            x[place], v[place] = 0.5 + k, [1.0 - 2 * k, 0.75]

        @ti.kernel
        def move():
            for i in x:
                if x[i] != 0:
                    y[(5 * i + 1) % N] = x[i] ** 3 * v[i][0] + ti.sin(v[i][1] * x[i])

        @ti.kernel
        def total():
            for i in y:
                loss[None] += y[i] ** 2 * (i + 1)

        def f():
            move()
            total()

        self.f = f
        self.places = x.active()[0].ravel().tolist() if x.snode.node.is_unbounded else list(range(N))

    def given(self, numbers):
        """Numbers for PLACES, as an array for a field."""
        found = np.zeros((len(self.places), *np.shape(numbers)[1:]))
        found[[self.places.index(place) for place in PLACES]] = numbers
        return found

    def chosen(self, array):
        """The numbers at PLACES of an array for a field."""
        return array[[self.places.index(place) for place in PLACES]]


DX, DV = np.array([1.0, -2.0]), np.array([[1.0, 2.0], [0.0, 1.0]])


def by_hand():
    """The derivatives by x, the second ones along DX, and those by v along DX and DV."""
    x, v, w = np.array([0.5, 1.5]), np.array([[1.0, 0.75], [-1.0, 0.75]]), np.array([1, 15])
    sine, cosine = np.sin(v[:, 1] * x), np.cos(v[:, 1] * x)
    y = x**3 * v[:, 0] + sine
    by_x, by_v = 3 * x**2 * v[:, 0] + v[:, 1] * cosine, np.stack([x**3, x * cosine], 1)
    by_xx = 6 * x * v[:, 0] - v[:, 1] ** 2 * sine
    by_xv = np.stack([3 * x**2, cosine - x * v[:, 1] * sine], 1)
    by_vv = np.stack([0 * x, -(x**2) * sine], 1)  # the other elements are 0
    second = 2 * w * (by_x**2 + y * by_xx) * DX
    along = by_x * DX + (by_v * DV).sum(1)
    mixed = 2 * w[:, None] * (by_v * along[:, None] + y[:, None] * (by_xv * DX[:, None] + by_vv * DV))
    return 2 * w * y * by_x, second, mixed


WAYS = {
    "hvp": lambda ti, p, f, x: (p.chosen(ti.ad.hvp(f, x, p.loss)(p.given(DX))), 1),
    "hvp of two": lambda ti, p, f, x: (p.chosen(ti.ad.hvp(f, [x, p.v], p.loss)([p.given(DX), p.given(DV)])[1]), 2),
    "jvp of grad": lambda ti, p, f, x: (p.chosen(ti.ad.jvp(ti.ad.grad(f, x, p.loss), x)(p.given(DX))[1]), 1),
    "vjp of grad": lambda ti, p, f, x: (p.chosen(ti.ad.vjp(ti.ad.grad(f, x, p.loss), x)()[1](p.given(DX))), 1),
    "grad of jvp": lambda ti, p, f, x: (
        p.chosen(ti.ad.vjp(lambda: ti.ad.jvp(f, x, p.loss)(p.given(DX))[1], x)()[1](1.0)),
        1,
    ),
    "jvp of jvp": lambda ti, p, f, x: (
        ti.ad.jvp(lambda: ti.ad.jvp(f, x, p.loss)(p.given(DX))[1], x)(p.given(DX))[1],
        3,
    ),
}


@pytest.mark.parametrize(("kind", "way"), every(8, [(kind, way) for kind in TREES for way in WAYS]))
def test_second_derivatives(ti, kind, way):
    """Fields without gradients and duals get these where they are needed."""
    made = Program(ti, kind)
    found, which = WAYS[way](ti, made, made.f, made.x)
    first, second, mixed = by_hand()
    wanted = [first, second, mixed, second @ DX][which]
    assert np.all(wanted != 0)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_tree_that_grows_keeps_its_contents(ti):
    x, m, d, plain = ti.field(ti.f64), ti.Vector.field(2, ti.f64), ti.field(ti.f64), ti.field(ti.i32)
    own, loss = ti.field(ti.f64, needs_grad=True), ti.field(ti.f64, ())
    blocks = ti.root.pointer(ti.i, 4)
    blocks.dense(ti.i, 4).place(x, plain, offset=-8)
    blocks.bitmasked(ti.i, 4).place(own)
    ti.root.dense(ti.i, 3).place(d)
    ti.root.bitmasked(ti.i, 8).place(m)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2 * d[1] * own[i + 8] ** 3

    @ti.kernel
    def count() -> ti.i32:
        n = 0
        for i in plain:
            n += plain[i]
        return n

    x[-7], plain[-7], own[1], m[5] = 3.0, 7, 2.0, [1.0, 4.0]
    own.grad[1] = 0.5
    d.from_numpy(np.array([1.0, 2.0, 3.0]))
    component, step = m.get_scalar_field(1), total.bind((), {})
    assert count() == 7

    def contents():
        return [one.to_numpy() for one in (x, m, d, plain, own, own.grad, component)] + [blocks_of(x), blocks_of(m)]

    def blocks_of(one):
        return one.active()[0]

    before, shown = contents(), str(x.snode.tree)
    assert ti.ad.jvp(total, x, loss)(np.eye(16)[1])[1] == 2 * 3 * 2 * 8  # x has a dual now
    for now, then in zip(contents(), before, strict=True):
        np.testing.assert_array_equal(now, then)
    assert str(x.snode.tree) != shown
    assert count() == 7
    loss.fill(0)
    step()  # a launch that was found before
    assert loss[None] == 9 * 2 * 8
    x[-8], component[5] = 1.0, 8.0
    assert m[5][1] == 8.0
    assert blocks_of(x).ravel().tolist() == [-8, -7, -6, -5]
    grown = x.snode.tree.grown
    ti.ad.jvp(total, x, loss)(np.eye(16)[1])
    assert x.snode.tree.grown == grown  # nothing was lacking
    assert ti.ad.hvp(total, x, loss)(np.eye(16)[1])[1] == 2 * 2 * 8


def test_a_tape_after_a_tree_has_grown(ti):
    """A tape expects the launches of the last one, which were compiled for the old layout."""
    x, loss = ti.field(ti.f64, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    ti.root.pointer(ti.i, 4).dense(ti.i, 4).place(x)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 3

    x[5] = 2.0
    for _ in range(4):
        with ti.ad.Tape(loss):
            total()
        assert x.grad[5] == 12
    assert ti.ad.hvp(total, x, loss)(np.ones(16))[5] == 12
    for value in (2.0, 3.0):
        x[5] = value
        with ti.ad.Tape(loss):
            total()
        assert (loss[None], x.grad[5]) == (value**3, 3 * value**2)


def test_cells_that_come_and_go(ti):
    """Duals of gradients go with their cells, and a slot that is used again begins with 0."""
    x, y, w = (ti.field(ti.f64) for _ in range(3))
    loss = ti.field(ti.f64, ())
    blocks = ti.root.pointer(ti.i, 8)
    blocks.place(x, y)
    ti.root.dense(ti.i, 2).place(w)

    @ti.kernel
    def fill(first: ti.i32):
        for k in range(4):
            x[2 * k + first] = w[0] ** 2 * (k + 1)

    @ti.kernel
    def use():
        for i in x:
            y[i] = x[i] * ti.sin(w[1])
            loss[None] += y[i] * y[i]

    @ti.kernel
    def drop():
        for c in blocks:
            ti.deactivate(blocks, c)

    def f():
        for first in (0, 1, 0):
            fill(first)
            use()
            drop()

    w.from_numpy(np.array([1.5, 0.5]))
    squares, (a, b), (da, db) = 3 * 30, (1.5, 0.5), (1.0, 2.0)  # loss = squares a^4 sin(b)^2
    wanted = [
        squares * (12 * a**2 * np.sin(b) ** 2 * da + 4 * a**3 * np.sin(2 * b) * db),
        squares * (4 * a**3 * np.sin(2 * b) * da + 2 * a**4 * np.cos(2 * b) * db),
    ]
    for _ in range(2):
        np.testing.assert_allclose(ti.ad.hvp(f, w, loss)([da, db]), wanted, rtol=1e-12)
    np.testing.assert_allclose(ti.ad.jvp(ti.ad.grad(use, w, loss), w)([da, db])[1], [0, 0])
    assert len(x.active()[0]) == 0


def test_second_derivatives_in_steps(ti):
    """Steps are made again from a checkpoint at which the cells are not active in which gradients lie already."""
    x, w, loss = ti.field(ti.f64), ti.field(ti.f64, ()), ti.field(ti.f64, ())
    ti.root.pointer(ti.i, 64).dense(ti.i, 2).place(x)

    @ti.kernel
    def step(k: ti.i32):
        x[k + 1] += x[k] * w[None] + 1

    @ti.kernel
    def end(k: ti.i32):
        loss[None] = x[k] ** 2

    def f(count):
        for k in ti.ad.steps(count, memory="3 kB"):
            step(k)
        end(count)

    w[None], value, slope, bend = 0.9, 0.0, 0.0, 0.0
    for _ in range(20):
        value, slope, bend = value * 0.9 + 1, slope * 0.9 + value, bend * 0.9 + 2 * slope
    assert ti.ad.hvp(f, w, loss)(1.0, 20) == pytest.approx(2 * slope**2 + 2 * value * bend)


def test_numbers_below_a_hash_node_are_those_of_active_elements(ti):
    x, y, loss = (ti.field(ti.f64, needs_grad=True, needs_dual=True, name=name) for name in ("x", "y", "loss"))
    ti.root.hash(ti.i, 8).dense(ti.i, 2).place(x)
    ti.root.hash(ti.i, 8).bitmasked(ti.i, 2).place(y)
    ti.root.place(loss)

    @ti.kernel
    def move():
        for i in x:
            y[3 * i] += ti.sin(x[i]) * (i + 2)

    @ti.kernel
    def total():
        for i in y:
            loss[None] += y[i] ** 2

    def f():
        move()
        total()

    def start():
        y.fill(0)
        loss.fill(0)

    x[-4], x[-3], x[100] = 0.5, 1.0, 0.25  # and x[101] is active
    at, numbers = np.array([-4, -3, 100, 101]), np.array([0.5, 1.0, 0.25, 0.0])
    slope = (np.sin(2 * numbers)) * (at + 2) ** 2
    np.testing.assert_allclose(ti.ad.grad(f, x, loss)(), slope)
    start()
    np.testing.assert_allclose(
        ti.ad.hvp(f, x, loss)([1, 2, 3, 4]), 2 * np.cos(2 * numbers) * (at + 2) ** 2 * [1, 2, 3, 4]
    )
    start()
    value, pull = ti.ad.vjp(move, x, y)()
    np.testing.assert_allclose(value, np.sin(numbers) * (at + 2))
    np.testing.assert_allclose(pull([1, 0, 2, 0]), np.cos(numbers) * (at + 2) * [1, 0, 2, 0])
    start()
    np.testing.assert_allclose(ti.ad.jvp(move, x, y)([1, 0, 2, 0])[1], np.cos(numbers) * (at + 2) * [1, 0, 2, 0])
    start()
    y[7] = 1.0
    assert ti.ad.check(move)
    assert sorted(y.active()[0].ravel().tolist()) == [-12, -9, 7, 300, 303]
    with ti.ad.Tape(loss, grad_check=[x]):
        f()
    with ti.ad.FwdMode(loss, x, seed=[1, 0, 0, 0]):
        total()
    with pytest.raises(ArgumentError, match=r"the direction has shape \(3,\), but 'x' has \(4,\)"):
        ti.ad.jvp(move, x, y)([1, 2, 3])


def test_jacobians_below_hash_nodes(ti):
    """Rows and columns are active elements: of the variable before the call, and of the output after it."""
    x, y, v, loss = ti.field(ti.f64), ti.field(ti.f64), ti.field(ti.f64, 3), ti.field(ti.f64, ())
    nodes = [ti.root.hash(ti.i, 64) for _ in range(2)]
    nodes[0].place(x)
    nodes[1].dense(ti.i, 2).place(y)

    @ti.kernel
    def move():
        for i in x:
            y[2 * i] += x[i] ** 2 * v[i % 3]
        for k in v:
            x[10 + k] = v[k]

    @ti.kernel
    def total():
        for i in y:
            loss[None] += y[i] ** 2

    def start():
        for node in nodes:
            node.deactivate_all()
        x[-4], x[5] = 2.0, 3.0
        v.from_numpy(np.array([0.5, 1.0, 4.0]))
        loss.fill(0)

    start()
    rows = np.zeros((4, 2))  # y[-8], y[-7], y[10] and y[11] by x[-4] and x[5]
    rows[0, 0], rows[2, 1] = 2 * 2.0 * 4.0, 2 * 3.0 * 4.0
    np.testing.assert_allclose(ti.ad.jacobian(move, x, y)(), rows)
    assert [int(i) for i in x.active()[0].ravel()] == [-4, 5, 10, 11, 12]
    start()
    of_x, of_v = ti.ad.jacobian(move, [x, v], y)()
    np.testing.assert_allclose(of_x, rows)
    np.testing.assert_allclose(of_v, [[0, 0, 4], [0, 0, 0], [0, 0, 9], [0, 0, 0]])
    start()
    triplets = ti.ad.jacobian(move, x, [x, y], sparse=True)()
    assert [[part.tolist() for part in one] for one in triplets] == [
        [[0, 1], [0, 1], [1.0, 1.0]], [[0, 2], [0, 1], [16.0, 24.0]]]  # fmt: skip
    start()

    def f():
        move()
        total()

    np.testing.assert_allclose(ti.ad.jacobian(f, x, loss)(), [2 * 16 * 16.0, 2 * 36 * 24.0])  # in reverse mode


@pytest.mark.filterwarnings("ignore:.*the derivative of the value")
def test_a_gradient_that_is_lost_fails_the_check(ti):
    x, plain, loss = ti.field(ti.f64, needs_grad=True), ti.field(ti.f64), ti.field(ti.f64, (), needs_grad=True)
    ti.root.hash(ti.i, 8).dense(ti.i, 2).place(x, plain)

    @ti.kernel
    def hide():
        for i in x:
            plain[i] = x[i]

    @ti.kernel
    def total():
        for i in x:
            loss[None] += ti.stop_grad(plain[i]) * x[i]

    def differentiate():
        with ti.ad.Tape(loss, grad_check=[x]):
            hide()
            total()

    x[-4] = 2.0
    with pytest.raises(WeftError, match="the gradient is 2, differences give 4"):
        differentiate()


def test_a_dropped_field_grows_too(ti):
    """A component keeps what the tree knows of its field."""
    v, loss = ti.Vector.field(2, ti.f64), ti.field(ti.f64, ())
    ti.root.pointer(ti.i, 4).place(v)
    v[2] = [2.0, 3.0]
    first = v.get_scalar_field(0)
    del v
    gc.collect()

    @ti.kernel
    def total():
        for i in first:
            loss[None] += first[i] ** 3

    assert ti.ad.hvp(total, first, loss)(np.ones(4)).tolist() == [0, 0, 12, 0]
    assert first[2] == 2.0


def test_kernels_that_read_gradients_and_duals(ti):
    """A gradient has a dual like other fields, and a dual a gradient, also when the field that has it is gone."""
    x = ti.Vector.field(2, ti.f64, needs_grad=True, needs_dual=True)
    w, loss = ti.field(ti.f64, ()), ti.field(ti.f64, ())
    ti.root.pointer(ti.i, 4).place(x)
    x[1], x.dual[1], w[None] = [2.0, 1.0], [5.0, 1.0], 2.0
    grad, second = x.grad, x.dual.get_scalar_field(1)

    @ti.kernel
    def product():
        for i in x:
            loss[None] += x[i][0] ** 2 * second[i]

    @ti.kernel
    def square():
        for i in grad:
            loss[None] += grad[i][0] ** 2 * w[None] ** 3

    ones = np.ones((4, 2))
    assert ti.ad.grad(product, x, loss)()[1].tolist() == [4, 0]
    x = product = None
    gc.collect()
    grad[1] = [3.0, 1.0]
    loss.fill(0)
    assert ti.ad.jvp(square, [w, grad], loss)([1.0, ones]) == (72, 108 + 48)
    loss.fill(0)
    assert ti.ad.hvp(square, w, loss)(1.0) == 108


def test_arrays_that_shared_memory_with_a_tree_that_grew(ti):
    """They keep the old memory, also after the field has lent the new one. A warning tells of them."""
    x, dense, loss = ti.field(ti.f64), ti.field(ti.f64, name="dense"), ti.field(ti.f64, ())
    ti.root.pointer(ti.i, 4).place(x)
    ti.root.dense(ti.i, 8).place(dense)
    if not isinstance(dense._window(), np.ndarray):
        pytest.skip("numpy does not share this memory")
    x[1] = 2.0
    shared, part = np.asarray(dense), dense[1:3]
    shared[:] = 3.0
    before = weakref.ref(shared.base._lent[0])

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2 * dense[i]

    with pytest.warns(UserWarning, match="field 'dense' lies in other memory now"):
        assert ti.ad.grad(total, x, loss)()[1] == 12
    again = np.asarray(dense)
    gc.collect()
    assert before() is not None  # the memory of `shared`
    again[:] = 5.0
    assert (shared[1], dense[1]) == (3, 5)
    with pytest.raises(FieldError, match="has grown for a derivative"):
        part[0] = 1.0


def test_a_tree_that_cannot_grow_is_destroyed(ti, monkeypatch):
    """Its elements are lost, which later uses tell."""
    x, loss = ti.field(ti.f64), ti.field(ti.f64, ())
    ti.root.pointer(ti.i, 4).place(x)
    x[1] = 2.0

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2

    def fail(*_):
        raise OutOfMemory("too little")

    monkeypatch.setattr(SPARSE, "put_contents", fail)
    with pytest.raises(OutOfMemory, match="too little"):
        ti.ad.grad(total, x, loss)()
    with pytest.raises(FieldError, match="its elements were lost when its SNode tree grew"):
        x[1]
