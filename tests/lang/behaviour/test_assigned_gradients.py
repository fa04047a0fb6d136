"""`kernel.grad.assign`: sets gradients, where `kernel.grad` adds to them."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.ir.errors import WeftError
from weft.lang.errors import CompilationError

VALUES = np.linspace(-1, 1, 12).reshape(3, 4)


def fields(ti, *shapes):
    made = [ti.field(ti.f64, shape, needs_grad=True) for shape in shapes]
    for number, one in enumerate(made):
        one.from_numpy(np.linspace(-1, 1 + number, max(1, int(np.prod(one.shape)))).reshape(one.shape))
    return made


def compared(kernel, read, others, *args):
    """The gradient kernel sets the gradients of `read`, from whatever they are, and does with `others` what
    `kernel.grad` does."""
    found = []
    for assigns in (False, True):
        for one in read:
            one.grad.fill(100 if assigns else 0)
        for number, one in enumerate(others):
            one.grad.fill(0.5 + number)
        (kernel.grad.assign if assigns else kernel.grad)(*args)
        found.append([one.grad.to_numpy() for one in (*read, *others)])
    for wanted, got in zip(*found, strict=True):
        close(got, wanted)
    return found[1]


def test_own_elements(ti):
    x, y = fields(ti, (3, 4), (3, 4))

    @ti.kernel
    def square(k: ti.f64):
        for i, j in x:
            y[i, j] = k * x[i, j] ** 2

    (found, _) = compared(square, [x], [y], 3.0)
    close(found, 3.0 * x.to_numpy())


def test_a_stencil(ti):
    x, y = fields(ti, 9, 9)

    @ti.kernel
    def smooth():
        for i in range(1, 8):
            y[i] = x[i - 1] * x[i + 1] + ti.sin(x[i])

    compared(smooth, [x], [y])


def test_loops_that_do_not_reach_all_elements(ti):
    x, y, few = fields(ti, 9, 9, 2)

    @ti.kernel
    def some():
        for i in range(2, 5):
            y[i] = x[i] * few[i % 2]
        for i in y:
            if i > 6:
                y[i] = x[8 - i]

    compared(some, [x, few], [y])


def test_what_a_kernel_also_writes_is_not_set(ti):
    x, y, loss = fields(ti, 5, 5, ())

    @ti.kernel
    def advance():
        for i in x:
            x[i] += 2 * y[i]
            loss[None] += y[i] ** 2

    compared(advance, [y], [x, loss])


def test_a_field_whose_values_are_not_read(ti):
    """Only its indices are. Its gradient stays. A value without a derivative is read: its gradient becomes 0."""
    domain, x, constant, loss = fields(ti, 5, 5, 5, ())

    @ti.kernel
    def add():
        for i in domain:
            loss[None] += x[i] ** 2 * ti.stop_grad(constant[i])

    compared(add, [x, constant], [domain, loss])


def test_vectors_structs_and_single_numbers(ti):
    v = ti.Vector.field(2, ti.f64, 4, needs_grad=True)
    s = ti.Struct.field({"a": ti.f64, "b": ti.types.vector(2, ti.f64)}, shape=4, needs_grad=True)
    scale, loss = fields(ti, (), ())
    v.fill(2.0)
    s.a.fill(0.5)
    s.b.fill(1.5)

    @ti.kernel
    def add():
        for i in v:
            loss[None] += scale[None] * v[i].dot(s[i].b) * s[i].a

    compared(add, [v, s.a, s.b, scale], [loss])


def test_components_share_the_gradient_of_their_vector(ti):
    v, (loss,) = ti.Vector.field(2, ti.f64, 4, needs_grad=True), fields(ti, ())
    v.fill(2.0)
    first, second = (v.get_scalar_field(k) for k in range(2))

    @ti.kernel
    def one():
        for i in first:
            loss[None] += first[i] * second[i]

    @ti.kernel
    def other():
        for i in first:
            second[i] = v[i].norm_sqr()

    compared(one, [first, second], [loss])
    compared(other, [], [v])


def test_functions(ti):
    x, loss = fields(ti, 6, ())

    @ti.real_func
    def total(k: ti.i32) -> ti.f64:
        found = x[k] ** 2
        if k > 0:
            found += x[k] * total(k - 1)
        return found

    @ti.kernel
    def add():
        loss[None] += total(5)

    compared(add, [x], [loss])


def test_sparse_fields(ti):
    x, loss = ti.field(ti.f64, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    ti.root.pointer(ti.i, 4).dense(ti.i, 4).place(x, x.grad)
    x[1], x[9] = 2.0, 3.0

    @ti.kernel
    def add():
        for i in x:
            loss[None] += x[i] ** 2

    found = []
    for run in (add.grad, add.grad.assign, add.grad.assign):
        loss.grad.fill(1)
        run()
        found.append([x.grad[i] for i in (1, 9, 13)])
    assert found == [[4.0, 6.0, 0.0]] * 3


def test_a_method(ti):
    @ti.data_oriented
    class Body:
        def __init__(self):
            self.x, self.loss = fields(ti, 3, ())

        @ti.kernel
        def add(self, k: ti.f64):
            for i in self.x:
                self.loss[None] += k * self.x[i] ** 2

    one = Body()
    compared(one.add, [one.x], [one.loss], 2.0)


def test_it_is_a_kernel(ti):
    x, y = fields(ti, 1000, 1000)

    @ti.kernel
    def square():
        for i in x:
            y[i] = x[i] ** 2

    text = str(square.grad.assign.stages().tasks)
    assert text.count("task range_for") == 1
    assert "read_set=(x, y.grad)" in text
    assert square.grad.assign is square.grad.assign is square.grad.assign.assign
    assert square.grad.assign is not square.grad


def test_what_is_refused(ti):
    x, loss = fields(ti, 3, ())
    array = ti.ndarray(ti.f64, 3, needs_grad=True)

    @ti.kernel
    def add(a: ti.types.ndarray(ti.f64, 1)):
        for i in a:
            loss[None] += a[i] * x[i]

    with pytest.raises(CompilationError, match=r"'a.grad' is that of an array: write a.grad.fill\(0\)"):
        add.grad.assign(array)
    add.grad.assign(ti.ndarray(ti.f64, 3))  # has no gradient
    with pytest.raises(AttributeError, match="'add' is no gradient of a kernel"):
        _ = add.assign

    def program():
        add.grad.assign(ti.ndarray(ti.f64, 3))
        return x.grad

    for function in (ti.ad.grad, ti.ad.jacobian):
        with pytest.raises(WeftError):
            function(program, x, loss)()
