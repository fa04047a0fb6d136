"""Gradients of loops of any length: leaves of iterations, checkpoints, and conditions that are known."""

import numpy as np
import pytest

from weft.ir.autodiff import leaves, reverse
from weft.ir.autodiff.exits import exits_of
from weft.ir.autodiff.slots import Slots

LENGTHS = [0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 32, 33, 47, 64, 100, 129, 250, 7, 0, 63, 65, 13]


_MORE = pytest.mark.exhaustive


@pytest.fixture(
    params=[
        pytest.param((1, 4), id="many levels"),
        pytest.param((2, 1), id="one row", marks=_MORE),
        pytest.param((4, 8), id="many checkpoints", marks=_MORE),
    ]
)
def sizes(request, monkeypatch):
    """Leaves and checkpoints that short loops need."""
    digit, rows = request.param
    monkeypatch.setattr(leaves, "_DIGIT", digit)
    monkeypatch.setattr(leaves, "_FEW", (1, rows, 1 << 10))
    monkeypatch.setattr(leaves, "_MANY", (1, rows, 1 << 10))


def rotated(x, y, count):
    """What the kernels below compute, and its gradient: s -> y * sin(s) + x / 2, from s = x."""
    s, by_x, by_y = x.copy(), np.ones_like(x), np.zeros_like(x)
    for k in range(max(count)):
        here = k < count
        slope, value = y * np.cos(s), np.sin(s)
        by_x, by_y = np.where(here, slope * by_x + 0.5, by_x), np.where(here, slope * by_y + value, by_y)
        s = np.where(here, y * value + x / 2, s)
    return s, by_x, by_y


def inputs(ti, n):
    fields = [ti.field(ti.f64, n, needs_grad=True) for _ in range(3)]
    points = np.linspace(0.2, 0.9, n), np.linspace(0.95, 0.6, n)
    for one, point in zip(fields, points, strict=False):
        one.from_numpy(point)
    return *fields, *points


def counted(ti):
    """LENGTHS in a field, and inputs for each."""
    count = ti.field(ti.i32, len(LENGTHS))
    count.from_numpy(np.array(LENGTHS, np.int32))
    return count, *inputs(ti, len(LENGTHS))


def hold(kernel, fields, expected):
    x, y, z = fields
    kernel()
    np.testing.assert_allclose(z.to_numpy(), expected[0], rtol=1e-12)
    z.grad.fill(1.0)
    kernel.grad()
    np.testing.assert_allclose(x.grad.to_numpy(), expected[1], rtol=1e-10)
    np.testing.assert_allclose(y.grad.to_numpy(), expected[2], rtol=1e-10)


def test_a_while_of_any_length(ti, sizes):
    count, x, y, z, *points = counted(ti)

    @ti.kernel
    def march():
        for i in x:
            s, k = x[i], 0
            while k < count[i]:
                s = y[i] * ti.sin(s) + x[i] / 2
                k += 1
            z[i] = s

    hold(march, (x, y, z), rotated(*points, np.array(LENGTHS)))


def test_a_while_with_two_ends(ti, sizes):
    """The second one ends an iteration in which something has been computed."""
    count, x, y, z, *points = counted(ti)

    @ti.kernel
    def march():
        for i in x:
            s, k = x[i], 0
            while k < 90:
                s = y[i] * ti.sin(s) + x[i] / 2
                k += 1
                if k >= count[i]:
                    break
            z[i] = s

    hold(march, (x, y, z), rotated(*points, np.clip(LENGTHS, 1, 90)))


def test_a_for_of_any_length_downwards_and_with_what_its_index_says(ti, sizes):
    n = 40
    x, y, z, *points = inputs(ti, n)

    @ti.kernel
    def march():
        for i in x:
            s = x[i]
            for k in range(3 * i, -1, -3):
                s = y[i] * ti.sin(s) + 0.0078125 * k * x[i]
            z[i] = s

    s, by_x, by_y = points[0].copy(), np.ones(n), np.zeros(n)
    for i in range(n):
        for k in range(3 * i, -1, -3):
            slope, value = points[1][i] * np.cos(s[i]), np.sin(s[i])
            by_x[i], by_y[i] = slope * by_x[i] + 0.0078125 * k, slope * by_y[i] + value
            s[i] = points[1][i] * value + 0.0078125 * k * points[0][i]
    hold(march, (x, y, z), (s, by_x, by_y))


@pytest.mark.parametrize("count", [40, *(pytest.param(count, marks=_MORE) for count in (0, 1, 129))])
def test_loops_in_serial_code_and_in_functions(ti, sizes, count):
    x, y, z, *points = inputs(ti, 1)

    @ti.real_func
    def marched(p: ti.f64, q: ti.f64, n: ti.i32) -> ti.f64:
        s = p
        for _ in range(n):
            s = q * ti.sin(s) + p / 2
        return s

    @ti.kernel
    def serial(n: ti.i32):
        s = x[0]
        ti.loop_config(serialize=True)
        for _ in range(n):
            s = y[0] * ti.sin(s) + x[0] / 2
        z[0] = s

    @ti.kernel
    def called(n: ti.i32):
        z[0] = marched(x[0], y[0], n)

    expected = rotated(*points, np.array([count]))
    for kernel in (serial, called):
        x.grad.fill(0)
        y.grad.fill(0)
        kernel(count)
        z.grad.fill(1.0)
        kernel.grad(count)
        np.testing.assert_allclose([z[0], x.grad[0], y.grad[0]], [part[0] for part in expected], rtol=1e-10)


def test_a_while_in_a_while(ti, sizes):
    """The inner one has a known condition, too, while the iterations of the outer one run again."""
    n = 12
    x, y, z, *points = inputs(ti, n)

    @ti.kernel
    def march():
        for i in x:
            s, k = x[i], 0
            while k < i:
                j = 0
                while True:
                    s = y[i] * ti.sin(s) + x[i] / 2
                    j += 1
                    if j > k % 3:
                        break
                k += 1
            z[i] = s

    counts = np.array([sum(k % 3 + 1 for k in range(i)) for i in range(n)])
    hold(march, (x, y, z), rotated(*points, counts))


def test_a_condition_that_something_else_uses(ti, sizes):
    """`far` is true in the last iteration only where the loop asks for it, not where the sum does."""
    n = 9
    x, y, z, *points = inputs(ti, n)

    @ti.kernel
    def march():
        for i in x:
            s, k = x[i], 0
            while True:
                far = k >= 2 * i
                if k % 2 == 1:  # noqa: SIM102 - the inner one ends the loop
                    if far:
                        break
                s = s + y[i] * ti.select(far, x[i] * s, s * 0.5)
                k += 1
            z[i] = s

    s, by_x, by_y = points[0].copy(), np.ones(n), np.zeros(n)
    for i, (a, b) in enumerate(zip(*points, strict=True)):
        for k in range(2 * i + 1):
            factor = a if k >= 2 * i else 0.5
            by_y[i] = by_y[i] * (1 + b * factor) + s[i] * factor
            by_x[i] = by_x[i] * (1 + b * factor) + (b * s[i] if k >= 2 * i else 0.0)
            s[i] = s[i] * (1 + b * factor)
    hold(march, (x, y, z), (s, by_x, by_y))


def test_iterations_run_again_from_checkpoints(ti, monkeypatch):
    """Without them, these tests fail."""
    monkeypatch.setattr(leaves, "_DIGIT", 1)
    monkeypatch.setattr(leaves, "_FEW", (1, 8, 1 << 10))
    right = Slots.restore

    def restore(self, frame, index):
        if self.mask == 7:  # the rows of a leaf
            right(self, frame, index)

    monkeypatch.setattr(Slots, "restore", restore)
    with pytest.raises(AssertionError):
        test_a_while_of_any_length(ti, None)


def test_the_other_side_of_an_exit_is_not_known(ti, monkeypatch):
    """What `exits_of` says matters: here, it says the opposite."""
    from weft.ir.autodiff import demand

    monkeypatch.setattr(demand, "exits_of", lambda loop: {op: not value for op, value in exits_of(loop).items()})
    with pytest.raises(AssertionError):
        test_a_while_of_any_length(ti, None)


def test_an_iteration_that_does_something_before_it_ends_is_swept(ti, monkeypatch):
    """Here, the last one is left out although the loop does something outside of the side that goes on."""
    monkeypatch.setattr(reverse, "outer_exit", lambda _loop, exits, _acts: next(iter(exits), None))
    with pytest.raises(AssertionError):
        test_a_while_in_a_while(ti, None)


def test_the_last_iteration_is_left_out_only_if_it_takes_that_exit(ti, monkeypatch):
    """Here, it is left out although another exit has ended the loop."""
    monkeypatch.setattr(reverse, "is_only_end", lambda _loop, _exits, _exit: True)
    with pytest.raises(AssertionError):
        test_a_while_with_two_ends(ti, None)
