"""A tape keeps the values that gradients need: kernels that overwrite what they or earlier kernels read."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.lang.errors import WeftError


def test_a_kernel_that_overwrites_what_it_reads(ti):
    x, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def square():
        for i in x:
            x[i] = x[i] * x[i]

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    at = np.array([1.1, -0.9, 1.2])
    x.from_numpy(at)
    with ti.ad.Tape(loss):
        for _ in range(3):
            square()
        total()
    close(x.grad.to_numpy(), 8 * at**7)
    close(x.to_numpy(), at**8)  # memory has its latest values


def test_a_kernel_that_overwrites_what_another_read(ti):
    x, y, loss = (ti.field(ti.f64, (), needs_grad=True) for _ in range(3))

    @ti.kernel
    def add():
        loss[None] += x[None] * x[None] * y[None]

    @ti.kernel
    def move(step: ti.f64):
        x[None] = y[None] + step

    x[None], y[None] = 2.0, 3.0
    with ti.ad.Tape(loss):
        add()  # x0^2 y
        move(1.0)
        add()  # (y + 1)^2 y
        move(2.0)
        add()  # (y + 2)^2 y
    close(x.grad[None], 2 * 2.0 * 3.0)
    close(y.grad[None], 4 + (16 + 2 * 4 * 3) + (25 + 2 * 5 * 3))
    assert x[None] == 5.0


def test_two_fields_of_one_name(ti):
    """One of them must hold its old values when the gradient runs, and the other one its new values."""
    one, other = (ti.field(ti.f64, 3, needs_grad=True, name="x") for _ in range(2))
    y, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def step():
        for i in y:
            other[i] = y[i] * 3.0
        for i in one:
            one[i] = one[i] * one[i]
        for i in y:
            loss[None] += other[i] * other[i]

    @ti.kernel
    def total():
        for i in one:
            loss[None] += one[i]

    a, b = np.array([1.1, -0.9, 1.2]), np.array([0.3, 0.7, -1.1])
    one.from_numpy(a)
    y.from_numpy(b)
    other.fill(7.0)
    with ti.ad.Tape(loss):
        step()
        total()
    close(one.grad.to_numpy(), 2 * a)
    close(y.grad.to_numpy(), 18 * b)


def test_steps_of_a_simulation_copy_nothing(ti, monkeypatch):
    from weft.lang.autodiff import memory

    copied = []
    copy = memory.Memory.copy
    monkeypatch.setattr(memory.Memory, "copy", lambda self, box: copied.append(box) or copy(self, box))
    steps = 5
    x, v = ti.field(ti.f64, (steps + 1, 3), needs_grad=True), ti.field(ti.f64, (3, steps + 1), needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.func
    def force(x):
        return -ti.sin(x)

    @ti.kernel
    def step(t: ti.i32):
        after = t + 1
        for i in range(3):
            v[i, after] = v[i, t] + 0.1 * force(x[t, i])
        for i in range(3):
            x[after, i] = x[t, i] + 0.1 * v[i, t + 1]

    @ti.kernel
    def total():
        for i in range(3):
            loss[None] += x[steps, i]

    def run(start):
        x.fill(0)
        v.fill(0)
        for i in range(3):
            x[0, i] = start[i]
        with ti.ad.Tape(loss):
            for t in range(steps):
                step(t)
            total()
        return loss[None]

    start, gradient = np.array([0.3, -0.8, 1.5]), np.empty(3)
    run(start)
    assert copied == []
    found = x.grad.to_numpy()[0]
    for i in range(3):
        ahead, behind = (run(start + sign * 1e-6 * np.eye(3)[i]) for sign in (1, -1))
        gradient[i] = (ahead - behind) / 2e-6
    np.testing.assert_allclose(found, gradient, rtol=1e-6)


def test_only_the_elements_that_are_overwritten_are_copied(ti):
    x, loss = ti.field(ti.f64, (4, 2), needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def add(row: ti.i32):
        for i in range(2):
            loss[None] += x[row, i] ** 2

    @ti.kernel
    def put(row: ti.i32, value: ti.f64):
        for i in range(2):
            x[row, i] = value

    x.fill(3.0)
    with ti.ad.Tape(loss) as tape:
        add(0)
        put(1, 7.0)  # nobody needs it
        add(1)
        put(0, 5.0)  # the first call needs it
        add(0)
    assert [copy.size for record in tape._records for copy in record.after] == [16]
    close(x.grad.to_numpy(), [[6.0, 6.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    close(x.to_numpy()[:2], [[5.0, 5.0], [7.0, 7.0]])


def test_arrays_and_views_of_them(ti):
    @ti.kernel
    def add(x: ti.types.ndarray(), loss: ti.types.ndarray()):
        for i in x:
            loss[0] += x[i] ** 2

    @ti.kernel
    def put(x: ti.types.ndarray(), value: ti.f64):
        for i in x:
            x[i] = value

    x, w, loss = ti.ndarray(ti.f64, 2, needs_grad=True), ti.ndarray(ti.f64, 2), ti.ndarray(ti.f64, 1, needs_grad=True)

    @ti.kernel
    def weigh(x: ti.types.ndarray(), w: ti.types.ndarray(), loss: ti.types.ndarray()):
        for i in x:
            loss[0] += w[i] * x[i]

    x.fill(3.0)
    w.fill(2.0)
    with ti.ad.Tape(loss):
        add(x, loss)
        weigh(x, w, loss)
        put(w, 100.0)  # a constant of an earlier call
        put(x, 1.0)
    close(x.grad.to_numpy(), [8.0, 8.0])
    assert x.to_numpy().tolist() == [1.0, 1.0]
    if ti.cfg.arch == "cuda":
        return
    x.grad.fill(0)
    weights = np.full(4, 2.0)
    with ti.ad.Tape(loss):
        weigh(x, weights[::2], loss)
        put(weights, 100.0)
        weigh(x, weights[1:3], loss)
        put(weights[2:], 0.0)
    close(x.grad.to_numpy(), [102.0, 102.0])
    assert weights.tolist() == [100.0, 100.0, 0.0, 0.0]


def test_components_of_vectors_and_nested_blocks(ti):
    x = ti.Vector.field(2, ti.f64, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)
    ti.root.dense(ti.ij, (2, 2)).dense(ti.ij, (2, 3)).place(x, offset=(1, -1))
    second = x.get_scalar_field(1)

    @ti.kernel
    def add(row: ti.i32):
        for j in range(-1, 5):
            loss[None] += x[row, j].dot(x[row, j])

    @ti.kernel
    def put(row: ti.i32):
        for j in range(-1, 5):
            second[row, j] = 0.0

    x.fill([1.0, 2.0])
    with ti.ad.Tape(loss) as tape:
        add(2)
        put(3)
        put(2)
    assert [copy.size for record in tape._records for copy in record.after] == [48]
    wanted = np.zeros((4, 6, 2))
    wanted[1] = [2.0, 4.0]
    close(x.grad.to_numpy(), wanted)
    assert second[2, 0] == 0.0


def test_functions_that_are_not_recorded_overwrite_too(ti):
    x, loss = ti.field(ti.f64, (), needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def add():
        loss[None] += x[None] ** 2

    @ti.kernel
    def put(value: ti.f64):
        x[None] = value

    @ti.ad.grad_replaced
    def jump():
        put(50.0)

    @ti.ad.grad_for(jump)
    def back():
        x.grad[None] = 0.0

    x[None] = 3.0
    with ti.ad.Tape(loss):
        add()
        ti.ad.no_grad(put)(20.0)
        ti.ad.no_grad(put)(30.0)
        add()
    close(x.grad[None], 6.0 + 60.0)
    x[None] = 3.0
    with ti.ad.Tape(loss):
        add()
        jump()
        add()
    close(x.grad[None], 6.0)


def test_saving_can_be_refused(ti):
    x, loss = ti.field(ti.f64, (), needs_grad=True, name="x"), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def add():
        loss[None] += x[None] ** 2

    @ti.kernel
    def put():
        x[None] = 1.0

    @ti.kernel
    def square():
        x[None] = x[None] * x[None]

    said = (
        r"line \d+, in put\n +x\[None\] = 1.0\n +\^+\n"
        r"kernel 'put' overwrites field 'x', and the gradient of kernel 'add' needs the values that it reads at .*:\d+"
    )

    def both():
        add()
        put()

    with pytest.raises(WeftError, match=said), ti.ad.Tape(loss, save=False):
        both()
    with pytest.raises(WeftError, match="the gradient of kernel 'square' needs"), ti.ad.Tape(loss, save=False):
        square()


def test_names_that_change_and_loops_over_them(ti):
    now, then, loss = (ti.field(ti.f64, (3,) if k < 2 else (), needs_grad=True) for k in range(3))

    @ti.kernel
    def step(now: ti.template(), then: ti.template()):
        for i in now:
            then[i] = now[i] * now[(i + 1) % 3]

    @ti.kernel
    def total(x: ti.template()):
        for i in x:
            loss[None] += x[i]

    def numpy(x):
        for _ in range(4):
            x = x * np.roll(x, -1)
        return x.sum()

    at = np.array([1.1, 0.9, -1.2])
    now.from_numpy(at)
    with ti.ad.Tape(loss):
        a, b = now, then
        for _ in range(4):
            step(a, b)
            a, b = b, a
        total(a)
    wanted = [(numpy(at + 1e-6 * e) - numpy(at - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    np.testing.assert_allclose(now.grad.to_numpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize("option", ["check_uninitialised", "check_races", "debug"])
def test_with_checks(ti, option):
    ti.init(arch=ti.cfg.arch, **{option: True})
    x = ti.field(ti.f64, (4, 3), needs_grad=True, needs_dual=True)
    loss = ti.field(ti.f64, (), needs_grad=True, needs_dual=True)
    a = ti.ndarray(ti.f64, 3, needs_grad=True, needs_dual=True)

    @ti.kernel
    def step(a: ti.types.ndarray(), t: ti.i32):
        for i in range(3):
            x[t + 1, i] = x[t, i] * x[t, i] * a[i]
        for i in range(3):
            loss[None] += x[t + 1, i]
            x[t, i] = 7.0

    a.fill(2.0)
    for _ in range(2):
        x.fill(1.5)
        with ti.ad.Tape(loss):
            step(a, 0)
            step(a, 1)
        close(x.grad.to_numpy()[0], [114.0] * 3)
    x.fill(1.5)
    with ti.ad.FwdMode(loss, a, seed=[1.0, 0.0, 0.0]):
        step(a, 0)
    assert loss.dual[None] == 2.25
