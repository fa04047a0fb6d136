"""Derivatives that end: in memory without a gradient, by `stop_grad`, and values that a gradient does not find."""

import warnings

import pytest

from tests.lang.behaviour.derivatives import close
from weft.ir.errors import CompilationError
from weft.lang.errors import WeftError


def scalar(ti, **options):
    """A field of one number with a gradient."""
    return ti.field(ti.f64, (), needs_grad=True, **options)


def test_a_derivative_that_ends_in_memory_without_a_gradient(ti):
    x, z, loss = scalar(ti, name="x"), ti.field(ti.f64, (), name="z"), scalar(ti)
    w, picture = ti.field(ti.f64, ()), ti.field(ti.f64, ())

    @ti.kernel
    def store():
        z[None] = x[None] ** 2

    @ti.kernel
    def copy():
        w[None] = z[None]

    @ti.kernel
    def draw():
        picture[None] = x[None] + z[None]

    @ti.kernel
    def read():
        loss[None] += w[None] + x[None]

    def run(**options):
        with ti.ad.Tape(loss, **options):
            store()
            copy()
            draw()
            read()

    said = (
        r"z\[None\] = x\[None\] \*\* 2\n.*\n.*kernel 'read' reads 'z', which has no gradient: make 'z' with needs_grad"
    )
    with pytest.warns(ti.GradientWarning, match=said) as given:
        run()
    assert len(given) == 1
    assert x.grad[None] == 1.0
    with pytest.raises(WeftError, match=said):
        run(validation=True)


def test_a_derivative_that_ends_on_purpose(ti, recwarn):
    x, z, loss = scalar(ti), ti.field(ti.f64, (), name="z"), scalar(ti)

    @ti.kernel
    def store():
        z[None] = x[None] ** 2

    @ti.kernel
    def read():
        ti.stop_grad(z)
        loss[None] += z[None] * x[None]

    x[None] = 3.0
    with ti.ad.Tape(loss, validation=True):
        store()
        read()
    assert x.grad[None] == 9.0
    with ti.ad.Tape(loss, validation=True):
        ti.ad.no_grad(store)()
        read()
    assert not [one for one in recwarn if issubclass(one.category, ti.GradientWarning)]


def test_stop_grad(ti):
    x, v, y = ti.field(ti.f64, 3, needs_grad=True), ti.Vector.field(2, ti.f32, 3, needs_grad=True), scalar(ti)

    @ti.kernel
    def f():
        for i in x:
            if i > 0:
                ti.stop_grad(x)  # in this block
                y[None] += x[i] * x[i]
            else:
                y[None] += x[i] * x[i]
            y[None] += ti.stop_grad(x[i]) * x[i] * 10  # a value
        for i in range(2):
            ti.stop_grad(v)
            y[None] += v[i].x * x[i] * 100 + v[i].dot(v[i])
        y[None] += v[2].norm_sqr() + ti.stop_grad(3)

    x.fill(3)
    v.fill(1)
    with ti.ad.Tape(y):
        f()
    assert y[None] == 27.0 + 270.0 + 604.0 + 2.0 + 3.0
    close(x.grad.to_numpy(), [136.0, 130.0, 30.0])
    close(v.grad.to_numpy(), [[0, 0], [0, 0], [2, 2]])
    assert ti.stop_grad(2.5) == 2.5
    with pytest.raises(CompilationError, match="stop_grad of a field works only in a kernel"):
        ti.stop_grad(x)


def test_stop_grad_of_small_integers_and_structs(ti):
    x, n = scalar(ti), ti.field(ti.i8, ())
    s = ti.types.struct(a=ti.f64, k=ti.i8).field((), needs_grad=True)

    @ti.kernel
    def f():
        ti.stop_grad(n)
        ti.stop_grad(s)
        whole = s[None]
        x[None] += n[None] * s[None].a + s[None].k + whole.a

    s[None].a, n[None] = 3.0, 2
    with ti.ad.Tape(x):
        f()
    assert (x[None], s.grad[None].a) == (9.0, 0.0)


def test_a_gradient_by_itself_that_needs_overwritten_values(ti):
    x = ti.field(ti.f64, 3, needs_grad=True, name="x")

    @ti.kernel
    def square():
        for i in x:
            x[i] = x[i] * x[i]

    x.fill(3.0)
    square()
    x.grad.fill(1.0)
    x.fill(3.0)  # put back by hand
    with pytest.warns(ti.GradientWarning, match="needs the values of 'x' from before kernel 'square' overwrote them"):
        square.grad()
    close(x.grad.to_numpy(), [6.0] * 3)


def test_a_derivative_that_ends_in_a_result(ti):
    x, loss = scalar(ti), scalar(ti)

    @ti.kernel
    def total() -> ti.f64:
        loss[None] += x[None]
        return 2.0 * x[None]

    with pytest.warns(ti.GradientWarning, match="the result of kernel 'total' carries a derivative"), ti.ad.Tape(loss):
        total()
    assert x.grad[None] == 1.0


def test_a_lost_derivative_is_told_each_time(ti):
    """No tape expects a launch that loses a derivative, so that a later one can refuse it."""
    x, z, loss = scalar(ti), ti.field(ti.f64, (), name="z"), scalar(ti)

    @ti.kernel
    def store():
        z[None] = x[None] ** 2

    @ti.kernel
    def read():
        loss[None] += z[None] * x[None]

    def run(**options):
        with ti.ad.Tape(loss, **options):
            store()
            read()

    for _ in range(3):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            run()
        assert [one.category for one in given] == [ti.GradientWarning]
    with pytest.raises(WeftError, match="the derivative of the value that is stored here is lost"):
        run(validation=True)
