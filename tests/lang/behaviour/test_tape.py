"""`kernel.grad` and `ti.ad.Tape`: gradients against formulas, what is recorded, and what is refused."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.lang.errors import ArgumentError, CompilationError, WeftError


def scalar(ti, **options):
    """A field of one number with a gradient."""
    return ti.field(ti.f64, (), needs_grad=True, **options)


def test_the_gradient_of_a_kernel(ti):
    x, loss = ti.field(ti.f64, 4, needs_grad=True), scalar(ti)

    @ti.kernel
    def energy(scale: ti.f64):
        for i in x:
            loss[None] += scale * ti.sin(x[i]) * x[(i + 1) % 4]

    at = np.array([0.3, 0.7, -1.1, 2.0])
    x.from_numpy(at)
    loss.grad[None] = 1.0
    assert energy.grad(2.0) is None
    wanted = 2 * (np.cos(at) * np.roll(at, -1) + np.sin(np.roll(at, 1)))
    close(x.grad.to_numpy(), wanted)
    assert loss[None] == 0.0  # gradients are computed from the values that are there; nothing else is written
    energy.grad(scale=2.0)
    close(x.grad.to_numpy(), 2 * wanted)  # they add up


def test_a_tape_of_several_kernels(ti):
    x, y, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, 3, needs_grad=True), scalar(ti)

    @ti.kernel
    def square():
        for i in x:
            y[i] = x[i] * x[i]

    @ti.kernel
    def total():
        for i in y:
            loss[None] += y[i] * (i + 1)

    at = np.array([1.0, -2.0, 3.0])
    x.from_numpy(at)
    for _ in range(2):  # the begin sets the gradients and the loss to 0
        with ti.ad.Tape(loss):
            square()
            total()
        assert loss[None] == 36.0
        close(x.grad.to_numpy(), 2 * at * [1, 2, 3])
    with ti.Tape(loss=loss, clear_gradients=False):
        square()
        total()
    assert loss[None] == 36.0
    close(x.grad.to_numpy(), 4 * at * [1, 2, 3])
    ti.ad.clear_all_gradients()
    assert not x.grad.to_numpy().any()
    square()  # outside of the block, nothing is recorded
    assert not x.grad.to_numpy().any()


def test_the_values_that_a_call_had(ti):
    x, loss = scalar(ti), scalar(ti)
    vector = ti.Vector([1.0, 2.0], dt=ti.f64)

    @ti.kernel
    def add(weight: ti.f64, pair: ti.types.vector(2, ti.f64)):
        loss[None] += x[None] * weight * pair[1]

    with ti.ad.Tape(loss):
        add(1.0, vector)
        vector[1] = 10.0
        add(2.0, pair=vector)
        vector[1] = -1.0
    assert x.grad[None] == 22.0


def test_names_mean_what_they_meant_at_the_call(ti):
    a, b, loss = scalar(ti), scalar(ti), scalar(ti)
    names = {}

    @ti.data_oriented
    class Model:
        def __init__(self, x):
            self.x = x

        @ti.kernel
        def add(self):
            loss[None] += self.x[None] ** 2

    a[None], b[None] = 3.0, 5.0
    model = Model(a)
    with ti.ad.Tape(loss):
        model.add()
        model.x = b
        model.add()
        model.x = names
    assert (a.grad[None], b.grad[None]) == (6.0, 10.0)


def test_arrays(ti):
    @ti.kernel
    def energy(x: ti.types.ndarray(needs_grad=True), w: ti.types.ndarray(), loss: ti.types.ndarray(ndim=1)):
        for i in range(3):
            loss[0] += w[i] * x[i].dot(x[i])

    x = ti.ndarray(ti.types.vector(2, ti.f64), 3, needs_grad=True)
    w, loss = ti.ndarray(ti.f64, 3), ti.ndarray(ti.f64, 1, needs_grad=True)
    w.from_numpy(np.array([1.0, 2.0, 3.0]))
    x.fill([1.0, -1.0])
    with ti.ad.Tape(loss):
        energy(x, w, loss)
    close(x.grad.to_numpy(), np.array([1.0, 2.0, 3.0])[:, None] * [2.0, -2.0])
    with ti.ad.Tape(loss):
        energy(x, w, loss)
    assert loss[0] == 12.0
    close(x.grad.to_numpy()[:, 0], [4.0, 8.0, 12.0])  # gradients of ndarrays are not cleared, as in Taichi


def test_methods_templates_packs_and_graphs(ti):
    @ti.data_oriented
    class Spring:
        def __init__(self):
            self.length, self.energy = scalar(ti), scalar(ti)

        @ti.kernel
        def stretch(self, target: ti.template(), options: ti.types.argpack(scale=ti.f64)):
            target[None] += options.scale * self.length[None] ** 2

    spring, pack = Spring(), ti.types.argpack(scale=ti.f64)(scale=0.5)
    spring.length[None] = 3.0
    with ti.ad.Tape(spring.energy):
        spring.stretch(spring.energy, pack)
    assert spring.length.grad[None] == 3.0
    spring.stretch.grad(spring.energy, pack)
    assert spring.length.grad[None] == 6.0

    @ti.kernel
    def add(x: ti.types.ndarray(ndim=1), scale: ti.f64):
        for i in x:
            spring.energy[None] += scale * x[i] ** 2

    builder, x = ti.graph.GraphBuilder(), ti.ndarray(ti.f64, 2, needs_grad=True)
    symbol = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f64, ndim=1)
    number = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "scale", ti.f64)
    builder.dispatch(add, symbol, number)
    x.fill(2.0)
    with ti.ad.Tape(spring.energy):
        builder.compile().run({"x": x, "scale": 3.0})
    close(x.grad.to_numpy(), [12.0, 12.0])


def test_several_loops_and_bare_statements(ti):
    x, y, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, 3, needs_grad=True), scalar(ti)

    @ti.kernel
    def all_at_once():
        scale = x[0] * 2.0
        for i in x:
            y[i] = x[i] * scale
        for i in y:
            loss[None] += y[i]
        loss[None] += x[1]

    x.from_numpy(np.array([1.0, 2.0, 3.0]))
    with ti.ad.Tape(loss):
        all_at_once()
    assert loss[None] == 14.0
    close(x.grad.to_numpy(), [12.0 + 2.0, 2.0 + 1.0, 2.0])


def test_a_gradient_that_the_user_writes(ti):
    x, loss = scalar(ti), scalar(ti)

    @ti.kernel
    def add(weight: ti.f64):
        loss[None] += weight * x[None] ** 2

    @ti.ad.grad_replaced
    def forward(weight, *, twice=False):
        add(weight)
        if twice:
            add(weight)
        return "done"

    with pytest.raises(ArgumentError, match="'forward' has no gradient"), ti.ad.Tape(loss):
        forward(1.0)

    @ti.ad.grad_for(forward)
    def backward(weight, *, twice=False):
        x.grad[None] += 100.0 * weight + twice

    x[None] = 3.0
    with ti.ad.Tape(loss):
        assert forward(2.0, twice=True) == "done"
        add(1.0)
    assert (loss[None], x.grad[None]) == (45.0, 207.0)
    forward.grad(1.0)
    assert x.grad[None] == 307.0
    with pytest.raises(ArgumentError, match="grad_for takes a function that is decorated"):
        ti.ad.grad_for(add)


def test_methods_with_gradients_of_their_own(ti):
    x, loss = scalar(ti), scalar(ti)

    @ti.kernel
    def add(weight: ti.f64):
        loss[None] += weight * x[None]

    class Layer:
        weight = 5.0

        @ti.ad.grad_replaced
        def forward(self):
            add(self.weight)

        @ti.ad.grad_for(forward)
        def backward(self):
            add.grad(self.weight)
            add.grad(self.weight)

    layer = Layer()
    with ti.ad.Tape(loss):
        layer.forward()
    assert x.grad[None] == 10.0
    layer.forward.grad()
    assert x.grad[None] == 20.0


def test_functions_without_gradients(ti):
    x, loss = scalar(ti), scalar(ti)

    @ti.kernel
    def add():
        loss[None] += x[None] ** 2

    @ti.ad.no_grad
    def quiet():
        """It has a docstring."""
        add()
        return 7

    x[None] = 3.0
    with ti.ad.Tape(loss):
        add()
        assert quiet() == 7
    assert (loss[None], x.grad[None], quiet.__doc__) == (18.0, 6.0, "It has a docstring.")


def test_tapes_inside_of_tapes(ti):
    x, one, two = scalar(ti), scalar(ti), scalar(ti)

    @ti.kernel
    def first():
        one[None] += x[None] ** 2

    @ti.kernel
    def second():
        two[None] += one[None] * x[None]

    x[None] = 3.0
    with ti.ad.Tape(two):
        with ti.ad.Tape(one, clear_gradients=False):
            first()
        assert x.grad[None] == 6.0
        x.grad[None] = 0.0
        one.grad[None] = 0.0
        second()
    assert two[None] == 27.0
    assert x.grad[None] == 27.0


def test_a_tape_without_a_loss(ti):
    x, y = ti.field(ti.f64, 2, needs_grad=True), ti.field(ti.f64, 2, needs_grad=True)

    @ti.kernel
    def double():
        for i in x:
            y[i] = 2.0 * x[i]

    with ti.ad.Tape() as tape:
        double()
    assert not x.grad.to_numpy().any()
    y.grad.from_numpy(np.array([1.0, 10.0]))
    tape.grad()
    close(x.grad.to_numpy(), [2.0, 20.0])


def test_an_exception_ends_the_block_without_gradients(ti):
    x, loss = scalar(ti), scalar(ti)

    @ti.kernel
    def add():
        loss[None] += x[None] ** 2

    x[None] = 3.0

    def fails():
        add()
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"), ti.ad.Tape(loss):
        fails()
    assert (x.grad[None], loss[None]) == (0.0, 9.0)
    add()


def test_gradients_inside_of_the_block(ti):
    x, loss = scalar(ti), scalar(ti)

    @ti.kernel
    def add():
        loss[None] += x[None] ** 2

    x[None] = 3.0
    with ti.ad.Tape(loss):
        add()
        loss.grad[None] = 1.0
        add.grad()
        assert x.grad[None] == 6.0
    assert x.grad[None] == 12.0  # as in Taichi: a gradient that the program runs is not recorded


def test_forward_mode_around_a_tape(ti):
    x, loss = scalar(ti, needs_dual=True), scalar(ti, needs_dual=True)

    @ti.kernel
    def add():
        loss[None] += x[None] ** 2

    x[None] = 3.0
    with ti.ad.FwdMode(loss, x), ti.ad.Tape(loss):
        add()
    assert (x.grad[None], loss.dual[None], loss[None]) == (6.0, 6.0, 9.0)
    with pytest.raises(WeftError, match="FwdMode cannot be used inside of a Tape"), ti.ad.Tape(loss):  # noqa: SIM117
        with ti.ad.FwdMode(loss, x):
            add()


def test_mistakes_raise_errors(ti):
    x = ti.field(ti.f64, 3, needs_grad=True, name="x")
    plain = ti.field(ti.f64, (), name="plain")
    with pytest.raises(WeftError, match="the loss 'plain' has no gradient: make it with needs_grad=True"):
        ti.ad.Tape(plain)
    with pytest.raises(ArgumentError, match="the loss 'x' must be one number, but it has 3: add them up in a kernel"):
        ti.ad.Tape(x)
    with pytest.raises(WeftError, match="the loss must be a field or an ndarray, not 3"):
        ti.ad.Tape(3)
    with pytest.raises(
        WeftError, match="only fields of floats can have gradients, not fields of i32: remove needs_grad"
    ):
        ti.field(ti.i32, 3, needs_grad=True)
    loss = scalar(ti)
    tape = ti.ad.Tape(loss)
    with tape:
        pass
    with pytest.raises(WeftError, match="already entered"), tape:
        pass

    @ti.kernel
    def reads_gradients():
        for i in x:
            loss[None] += x.grad[i] * x[i]

    with pytest.raises(CompilationError, match=r"'x\.grad', the gradient of 'x', itself"), ti.ad.Tape(loss):
        reads_gradients()
    with pytest.raises(CompilationError, match=r"has no .\.grad. itself: use ti.ad.hvp"):
        reads_gradients.grad.grad()


def test_the_end_of_the_program(ti):
    x, loss = scalar(ti), scalar(ti)

    @ti.kernel
    def add():
        loss[None] += x[None] ** 2

    with ti.ad.Tape() as tape:
        add()
    ti.init(arch=ti.cfg.arch)
    with pytest.raises(WeftError, match=r"'add\.grad' was recorded before the last `init` or `reset`"):
        tape.grad()


def test_gradients_of_arrays_can_be_read_in_kernels(ti):
    @ti.kernel
    def descend(x: ti.types.ndarray(), rate: ti.f64):
        for i in x:
            x[i] -= rate * x.grad[i]
            x.grad[i] = 0.0

    @ti.func
    def slope(x: ti.template(), i):
        return x.grad[i] + x.dual[i]

    @ti.kernel
    def both(x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in x:
            y[i] = slope(x, i) + 0 * (x.grad[i] + x.dual[i])

    x, plain = ti.ndarray(ti.f64, 3, needs_grad=True, needs_dual=True), ti.ndarray(ti.f64, 3)
    x.grad.fill(2.0)
    x.dual.fill(5.0)
    for _ in range(2):
        both(x, plain)
        assert plain.to_numpy().tolist() == [7.0] * 3
    descend(x, 0.5)
    assert x.to_numpy().tolist() == [-1.0] * 3
    assert not x.grad.to_numpy().any()
    with pytest.raises(CompilationError, match="argument 'x' has no 'grad': make the array with needs_grad=True"):
        descend(plain, 0.5)
    with pytest.raises(CompilationError, match=r"a kernel that uses 'x\.grad' itself cannot be differentiated"):
        descend.grad(x, 0.5)
