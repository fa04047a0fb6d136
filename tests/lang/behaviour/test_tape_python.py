"""What Python writes in the block of a tape or of FwdMode, and arrays that share memory."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.lang.errors import ArgumentError, WeftError

START = np.array([1.0, 2.0, 3.0])


@pytest.fixture
def parts(ti):
    """Fields x and y with a gradient, c without one, the loss, and a kernel that adds c x^2 to the loss."""
    x, y = (ti.field(ti.f64, 3, needs_grad=True, needs_dual=True) for _ in range(2))
    c, loss = ti.field(ti.f64, 3), ti.field(ti.f64, (), needs_grad=True, needs_dual=True)

    @ti.kernel
    def add():
        for i in x:
            loss[None] += c[i] * x[i] * x[i]

    x.from_numpy(START)
    y.from_numpy(2 * START)
    c.fill(1.0)
    return x, y, c, loss, add


def test_inputs_of_each_step(ti, parts):
    """Each gradient uses the inputs of its own step."""
    x, _, c, loss, add = parts
    with ti.ad.Tape(loss):
        for step in range(3):
            c.from_numpy(np.full(3, step))
            add()
    close(x.grad.to_numpy(), 2 * (0 + 1 + 2) * START)
    close(c.to_numpy(), np.full(3, 2.0))


def test_elements_with_negative_indices(ti):
    """The tape knows them by the numbers that launches were given, whoever has read these numbers."""
    x = ti.field(ti.f64, needs_grad=True)
    ti.root.dense(ti.i, 4).place(x, offset=-3)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def add(i: ti.i32):
        loss[None] += x[i] * x[i]

    @ti.kernel
    def double(i: ti.i32):
        x[i] = x[i] * 2.0

    for index in (-2, np.int32(-2), -2):
        x.fill(0.5)
        with ti.ad.Tape(loss):
            add(-2)
            double(index)
        close(x.grad[-2], 1.0)


def test_new_numbers_carry_no_derivative(ti, parts):
    x, _, _, loss, add = parts
    for write in (lambda: x.fill(4.0), lambda: x.from_numpy(np.full(3, 4.0))):
        x.from_numpy(START)
        with ti.ad.Tape(loss):
            add()
            write()
            add()
        close(x.grad.to_numpy(), 2 * START)  # the second sum does not depend on what x held
        close(x.to_numpy(), np.full(3, 4.0))


def test_copies_carry_the_derivative_of_their_source(ti, parts):
    x, y, _, loss, add = parts
    with ti.ad.Tape(loss, grad_check=[y]):
        add()
        x.copy_from(y)
        add()
    close(x.grad.to_numpy(), 2 * START)
    close(y.grad.to_numpy(), 4 * START)


def test_a_field_that_is_copied_to_itself(ti, parts):
    x, _, _, loss, add = parts
    with ti.ad.Tape(loss):
        x.copy_from(x)
        add()
    close(x.grad.to_numpy(), 2 * START)


def test_ndarrays(ti):
    a, b = (ti.ndarray(ti.f64, 3, needs_grad=True) for _ in range(2))
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def add(p: ti.types.ndarray()):
        for i in p:
            loss[None] += p[i] * p[i]

    a.from_numpy(START)
    b.from_numpy(2 * START)
    with ti.ad.Tape(loss):
        add(a)
        a.copy_from(b)
        add(a)
        a.fill(7.0)
    close(a.grad.to_numpy(), 2 * START)
    close(b.grad.to_numpy(), 4 * START)


def test_single_elements(ti, parts):
    x, _, c, loss, add = parts
    with ti.ad.Tape(loss, grad_check=[x]):
        x[2] = 5.0  # no kernel has used it: this is the number that x.grad is the derivative by
        add()
        x[0], c[1] = 4.0, 7.0
        add()
        x[0] = 6
        add()
    close(x.grad.to_numpy(), [2 * 1.0, 2 * (1 + 7 + 7) * 2.0, 2 * 3 * 5.0])
    close(x.to_numpy(), [6.0, 2.0, 5.0])


def test_an_element_of_a_field_whose_values_no_gradient_needs(ti, parts):
    x, _, _, loss, _ = parts

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    with ti.ad.Tape(loss):
        total()
        x[0] = 3.0
        total()
    close(x.grad.to_numpy(), np.array([1.0, 2.0, 2.0]))


def test_parts_of_vectors(ti):
    fields = ti.Vector.field(2, ti.f64, 3, needs_grad=True), ti.ndarray(ti.math.vec2, 3, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)
    v = fields[0]

    @ti.kernel
    def add():
        for i in v:
            loss[None] += v[i].dot(v[i])

    @ti.kernel
    def add_array(a: ti.types.ndarray()):
        for i in a:
            loss[None] += ti.cast(a[i].dot(a[i]), ti.f64)

    for one, run in zip(fields, (add, lambda: add_array(fields[1])), strict=True):
        one.fill(1.0)
        one.grad.fill(0.0)
        with ti.ad.Tape(loss):
            run()
            one[0].y = 3.0
            one[1][0] += 2.0
            run()
            one[2] = [5.0, 6.0]
            run()
        close(one.grad.to_numpy(), [[6.0, 2.0], [2.0, 6.0], [4.0, 4.0]])
        close(one.to_numpy(), [[1.0, 3.0], [3.0, 1.0], [5.0, 6.0]])


def test_functions_that_no_tape_records(ti, parts):
    x, _, c, loss, add = parts

    @ti.ad.no_grad
    def change():
        c.fill(5.0)

    with ti.ad.Tape(loss):
        add()
        change()
    close(x.grad.to_numpy(), 2 * START)


def test_without_copies_it_is_an_error(ti, parts):
    _, _, c, loss, add = parts
    message = r"Python overwrites .* and the gradient of kernel 'add' needs the values"
    with ti.ad.Tape(loss, save=False):
        add()
        with pytest.raises(WeftError, match=message):
            c.fill(2.0)


def test_forward_mode(ti, parts):
    x, y, _, loss, add = parts
    with ti.ad.FwdMode(loss, y, seed=[1.0, 0.0, 2.0]):
        x.copy_from(y)
        add()
    close(loss.dual[None], 2 * (2.0 * 1.0 + 6.0 * 2.0))
    loss.fill(0)
    with ti.ad.FwdMode(loss, x, seed=[1.0, 1.0, 1.0]):
        x.fill(3.0)
        add()
    close(loss.dual[None], 0.0)


def test_one_memory_by_two_objects(ti):
    """The tape cannot tell which numbers a launch overwrites, so it refuses."""
    loss = ti.field(ti.f64, (), needs_grad=True)
    x = ti.ndarray(ti.f64, 3, needs_grad=True)

    @ti.kernel
    def add(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in a:
            loss[None] += a[i] * b[i]

    memory = bytearray(24)
    one, other = (np.frombuffer(memory, np.float64) for _ in range(2))
    with ti.ad.Tape(loss):
        add(x, one)
        with pytest.raises(WeftError, match="same memory"):
            add(x, other)
    with ti.ad.Tape(loss):  # one object may come again and again
        add(x, one)
        add(x, one)


def test_a_gradient_that_is_an_argument_too(ti):
    x, y = (ti.ndarray(ti.f64, 3, needs_grad=True) for _ in range(2))

    @ti.kernel
    def add(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in a:
            a[i] += b[i]

    add(x, x.grad)
    with pytest.raises(ArgumentError, match="a derivative of an argument of kernel"):
        add.grad(x, x.grad)
    add.grad(x, y)
