"""`ti.ad.FwdMode`: duals of fields, arrays and results against central differences, and what it refuses."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.lang.errors import ArgumentError, CompilationError, WeftError


def along(function, at, direction):
    """The derivative of a function of numpy arrays along a direction, by central differences."""
    step = 1e-5
    return (function(at + step * direction) - function(at - step * direction)) / (2 * step)


def test_fields_of_numbers(ti):
    x = ti.field(ti.f64, 4, needs_dual=True)
    y = ti.field(ti.f64, (4, 2), needs_dual=True)

    @ti.kernel
    def f():
        for i in x:
            y[i, 0] = ti.sin(x[i]) * x[(i + 1) % 4]
            y[i, 1] += x[i] ** 3

    at, direction = np.array([0.3, 0.7, -1.1, 2.0]), np.array([1.0, -2.0, 0.5, 0.0])
    x.from_numpy(at)
    with ti.ad.FwdMode(loss=y, param=x, seed=direction):
        assert f() is None

    def by_numpy(x):
        return np.stack([np.sin(x) * np.roll(x, -1), x**3], axis=1)

    close(y.to_numpy(), by_numpy(at))
    close(y.dual.to_numpy(), along(by_numpy, at, direction))
    assert not x.dual.to_numpy().any()


def test_kernels_in_a_row_and_no_parameter(ti):
    x = ti.field(ti.f64, (), needs_dual=True)
    y = ti.field(ti.f64, (), needs_dual=True)
    z = ti.field(ti.f64, (), needs_dual=True)

    @ti.kernel
    def first():
        y[None] = x[None] * x[None]

    @ti.kernel
    def second():
        z[None] += ti.exp(y[None])

    x[None] = 0.5
    with ti.ad.FwdMode(loss=[y, z], param=x):
        first()
        second()
    close([y.dual[None], z.dual[None]], [1.0, np.exp(0.25)])
    first()  # outside of the block, a kernel leaves duals alone
    close(y.dual[None], 1.0)


def test_duals_are_cleared_unless_they_shall_stay(ti):
    x = ti.field(ti.f64, (), needs_dual=True)
    y = ti.field(ti.f64, (), needs_dual=True)

    @ti.kernel
    def add():
        y[None] += x[None] * x[None]

    x[None] = 3.0
    for clear, wanted in ((True, 6.0), (True, 6.0), (False, 12.0), (True, 6.0)):
        with ti.ad.FwdMode(y, x, clear_gradients=clear):
            add()
        assert y.dual[None] == wanted
    ti.ad.clear_all_gradients("dual")
    assert y.dual[None] == 0.0


def test_vectors_matrices_and_structs(ti):
    point = ti.types.struct(at=ti.types.vector(2, ti.f64), mass=ti.f64, id=ti.i32)
    points = point.field(3, needs_dual=True)
    out = ti.Matrix.field(2, 2, ti.f64, 3, needs_dual=True)

    @ti.kernel
    def f():
        for i in points:
            p = points[i]
            out[i] = p.at.outer_product(p.at) * p.mass

    rng = np.random.default_rng(1)
    at, mass, direction = rng.random((3, 2)), rng.random(3), rng.random((3, 2))
    points.at.from_numpy(at)
    points.mass.from_numpy(mass)
    with ti.ad.FwdMode(loss=out, param=points.at, seed=direction.ravel()):
        f()

    def by_numpy(at):
        return np.einsum("ia,ib,i->iab", at, at, mass)

    close(out.dual.to_numpy(), along(by_numpy, at, direction))
    assert points.id.dual is None
    assert points.dual.keys == ["at", "mass"]
    assert points.dual.at is points.at.dual
    assert points.grad is None


def test_arrays_with_and_without_duals(ti):
    @ti.kernel
    def f(x: ti.types.ndarray(), w: ti.types.ndarray(), y: ti.types.ndarray(ndim=1)):
        for i in y:
            y[i] = x[i] * x[i] * w[i]

    x, w, y = (ti.ndarray(ti.f64, 3, needs_dual=True) for _ in range(3))
    for one, numbers in ((x, [1.0, 2.0, 3.0]), (w, [4.0, 5.0, 6.0])):
        one.from_numpy(np.array(numbers))
    w.dual.fill(1.0)
    with ti.ad.FwdMode(loss=y, param=x, seed=[1.0, 0.0, 2.0]):
        f(x, w, y)
    close(y.dual.to_numpy(), [8.0 + 1.0, 4.0, 72.0 + 9.0])
    weights = np.array([4.0, 5.0, 6.0])  # an array of numpy is a constant
    if ti.cfg.arch != "cuda":
        with ti.ad.FwdMode(loss=y, param=x, seed=[1.0, 0.0, 2.0]):
            f(x, weights, y)
        close(y.dual.to_numpy(), [8.0, 0.0, 72.0])


def test_an_array_of_vectors(ti):
    x = ti.Vector.ndarray(2, ti.f64, 3)
    with pytest.raises(WeftError, match="has no dual: make it with needs_dual=True"):
        ti.ad.FwdMode(loss=x, param=x)
    x = ti.ndarray(ti.types.vector(2, ti.f64), 3, needs_dual=True)
    y = ti.ndarray(ti.f64, 3, needs_dual=True)

    @ti.kernel
    def f(x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in range(3):
            y[i] = x[i].norm()

    x.fill([3.0, 4.0])
    with ti.ad.FwdMode(loss=y, param=x, seed=[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]):
        f(x, y)
    close(y.dual.to_numpy(), [0.6, 0.8, 1.4])


def test_results_stay_as_they_are(ti):
    x = ti.field(ti.f64, (), needs_dual=True)

    @ti.kernel
    def one() -> ti.f64:
        return x[None] * 2.0

    @ti.kernel
    def several() -> (ti.i32, ti.f64, ti.types.vector(2, ti.f64)):
        return 7, x[None], ti.Vector([x[None], 1.0], dt=ti.f64)

    x[None] = 3.0
    with ti.ad.FwdMode(loss=x, param=x):
        assert one() == 6.0
        number, same, vector = several()
    assert (number, same, list(vector)) == (7, 3.0, [3.0, 1.0])


def test_methods_templates_and_packs(ti):
    @ti.data_oriented
    class Spring:
        def __init__(self, stiffness):
            self.stiffness = stiffness
            self.length = ti.field(ti.f64, (), needs_dual=True)
            self.energy = ti.field(ti.f64, (), needs_dual=True)

        @ti.kernel
        def stretch(self, target: ti.template(), options: ti.types.argpack(scale=ti.f64)):
            target[None] = options.scale * self.stiffness * self.length[None] ** 2

    spring = Spring(2.0)
    spring.length[None] = 3.0
    pack = ti.types.argpack(scale=ti.f64)(scale=0.5)
    with ti.ad.FwdMode(loss=spring.energy, param=spring.length):
        spring.stretch(spring.energy, pack)
    assert (spring.energy[None], spring.energy.dual[None]) == (9.0, 6.0)


def test_a_graph(ti):
    x = ti.ndarray(ti.f64, 2, needs_dual=True)

    @ti.kernel
    def double(x: ti.types.ndarray(ndim=1)):
        for i in x:
            x[i] *= 2.0

    builder = ti.graph.GraphBuilder()
    symbol = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f64, ndim=1)
    builder.dispatch(double, symbol)
    builder.dispatch(double, symbol)
    y = ti.ndarray(ti.f64, 2, needs_dual=True)
    x.fill(1.0)
    x_dual = x.dual
    with ti.ad.FwdMode(loss=y, param=x, seed=[1.0, 3.0]):
        builder.compile().run({"x": x})
        close(x_dual.to_numpy(), [4.0, 12.0])


def test_a_component_of_a_vector_field(ti):
    x = ti.Vector.field(2, ti.f64, 3, needs_dual=True)
    second, y = x.get_scalar_field(1), ti.field(ti.f64, 3, needs_dual=True)

    @ti.kernel
    def f():
        for i in y:
            y[i] = second[i] * second[i]

    x.fill([1.0, 2.0])
    with ti.ad.FwdMode(loss=y, param=x, seed=[1.0, 10.0] * 3):
        f()
    close(y.dual.to_numpy(), [40.0] * 3)


def test_duals_can_be_read_in_kernels(ti):
    x = ti.field(ti.f64, 3, needs_dual=True, name="x")
    total = ti.field(ti.f64, ())

    @ti.kernel
    def sum_of_duals():
        for i in x:
            total[None] += x.dual[i]

    x.dual.fill(2.0)
    sum_of_duals()
    assert total[None] == 6.0
    with pytest.raises(CompilationError, match="the dual of 'x', itself"), ti.ad.FwdMode(x, x, seed=[1.0, 0.0, 0.0]):
        sum_of_duals()


def test_unsupported_kernels_are_refused(ti):
    x = ti.field(ti.f64, 3, needs_dual=True, name="x")
    plain = ti.field(ti.f64, (), name="plain")
    with pytest.raises(WeftError, match="the loss 'plain' has no dual: make it with needs_dual=True"):
        ti.ad.FwdMode(plain, x, seed=[0.0] * 3)
    with pytest.raises(WeftError, match="the parameter 'plain' has no dual: make it with needs_dual=True"):
        ti.ad.FwdMode(x, plain)
    with pytest.raises(ArgumentError, match="FwdMode needs a seed: 'x' has 3 numbers"):
        ti.ad.FwdMode(x, x)
    with pytest.raises(ArgumentError, match="the seed has 2 numbers, but 'x' has 3"):
        ti.ad.FwdMode(x, x, seed=[1.0, 2.0])
    with pytest.raises(WeftError, match="a seed must be a list of numbers"):
        ti.ad.FwdMode(x, x, seed="abc")
    with pytest.raises(WeftError, match="the loss must be a field or an ndarray, not 3"):
        ti.ad.FwdMode(3, x)
    with pytest.raises(WeftError, match=r"not of structs: choose one of \.a"):
        ti.ad.FwdMode(ti.types.struct(a=ti.f32).field(2, needs_dual=True), x)
    with pytest.raises(WeftError, match="only fields of floats can have duals, not fields of i32: remove needs_dual"):
        ti.field(ti.i32, 3, needs_dual=True)
    with pytest.raises(
        WeftError, match="only ndarrays of floats can have duals, not ndarrays of i32: remove needs_dual"
    ):
        ti.ndarray(ti.i32, 3, needs_dual=True)
    with pytest.raises(WeftError, match="takes 'grad' or 'dual'"):
        ti.ad.clear_all_gradients("both")


def test_an_error_in_the_block_ends_it(ti):
    x = ti.field(ti.f64, (), needs_dual=True)
    y = ti.field(ti.f64, (), needs_dual=True)

    @ti.kernel
    def f():
        y[None] = x[None]

    with pytest.raises(ValueError, match="mine"), ti.ad.FwdMode(y, x):
        raise ValueError("mine")
    assert x.dual[None] == 0.0
    x.dual[None] = 5.0
    f()
    assert y.dual[None] == 0.0


def test_placement(ti):
    x, y, z = (ti.field(ti.f32, needs_dual=True, needs_grad=True, name=name) for name in "xyz")
    ti.root.dense(ti.i, 4).place(x, x.dual)  # beside one another in each cell
    ti.root.dense(ti.ij, (2, 3)).place(y)
    ti.root.lazy_dual()
    ti.root.lazy_grad()
    ti.root.place(z)  # without a word about its gradient and its dual
    assert (x.dual.shape, y.dual.shape, y.grad.shape, z.grad.shape) == ((4,), (2, 3), (2, 3), ())
    assert x.parent() == x.dual.parent()
    assert y.parent() != y.dual.parent() != y.grad.parent()
    for one in (x, y, z):
        one.dual.fill(1.0)
        one.grad.fill(2.0)
    assert not any(one.to_numpy().any() for one in (x, y, z))
    builder = ti.FieldsBuilder()
    w = ti.field(ti.f32, needs_grad=True)
    builder.dense(ti.i, 3).place(w)
    builder.lazy_grad()
    builder.finalize()
    assert w.grad.shape == (3,)
    with pytest.raises(WeftError, match="is already placed"):
        ti.root.dense(ti.i, 3).place(w.grad)


def test_functions_with_gradients_of_their_own_are_differentiated_as_they_are(ti):
    x = ti.field(ti.f64, (), needs_dual=True)

    @ti.kernel
    def square():
        x[None] = x[None] * x[None]

    x[None] = 3.0
    with ti.ad.FwdMode(x, x):
        ti.ad.grad_replaced(square)()
        ti.ad.no_grad(square)()
        assert x.dual[None] == 4 * 27.0


def test_gradients_that_are_placed_without_being_asked_for(ti):
    x, y, z, n = (ti.field(ti.f64 if k < 3 else ti.i32, name="xyzn"[k]) for k in range(4))
    cells = ti.root.dense(ti.i, 3)
    cells.place(x, x.grad)
    cells.place(y, z, n)
    ti.root.dense(ti.i, 3).place(z.grad)
    ti.root.dense(ti.i, 3).place(y.dual)
    assert n.grad is None
    assert y.grad is not None  # it may still be placed
    x.fill(1.0)
    assert (x.grad.shape, z.grad.shape, y.dual.shape) == ((3,), (3,), (3,))
    assert (y.grad, x.dual, ti.field(ti.f64, 3).grad) == (None, None, None)

    @ti.kernel
    def f():
        for i in x:
            z[i] += x[i] * x[i] + y[i]

    z.grad.fill(1.0)
    f.grad()
    assert x.grad.to_numpy().tolist() == [2.0] * 3
    u, w = ti.field(ti.f64), ti.field(ti.i32)
    ti.root.dense(ti.i, 2).place(u, w)
    ti.root.lazy_grad()  # of all fields of floats
    assert (u.grad.shape, u.dual is None or u.dual.placed, w.grad) == ((2,), False, None)
