"""Tapes copy old values where one memory has two names, also if the program dropped one, and where indices wrap
around."""

import gc

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close


def test_one_array_passed_twice(ti):
    a, loss = ti.ndarray(ti.f64, 4, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    numbers = ti.types.ndarray(dtype=ti.f64, ndim=1)

    @ti.kernel
    def square(x: numbers, y: numbers):
        for i in x:
            y[i] = x[i] * x[i]

    @ti.kernel
    def total(x: numbers):
        for i in x:
            loss[None] += x[i]

    start = np.array([0.5, -1.5, 2.0, 3.0])
    a.from_numpy(start)
    a.grad.fill(0.0)
    with ti.ad.Tape(loss):
        square(a, a)
        square(a, a)
        total(a)
    close(a.grad.to_numpy(), 4 * start**3)


def test_a_component_overwrites_what_its_vector_reads(ti):
    v, loss = ti.Vector.field(2, ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    first = v.get_scalar_field(0)

    @ti.kernel
    def square():
        for i in range(3):
            first[i] = v[i][0] * v[i][0]

    @ti.kernel
    def total():
        for i in range(3):
            loss[None] += v[i][0]

    start = np.array([[0.5, 1.0], [-1.5, 2.0], [3.0, 4.0]])
    v.from_numpy(start)
    with ti.ad.Tape(loss):
        square()
        total()
    close(v.grad.to_numpy()[:, 0], 2 * start[:, 0])


def test_indices_that_wrap_around(ti):
    x, loss = ti.field(ti.f64, 8, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def unsigned(t: ti.u32):
        x[(t - ti.u32(3)) % ti.u32(5)] = 7.0

    @ti.kernel
    def long(t: ti.i64):
        x[ti.cast(t, ti.i32)] = 7.0

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] * x[i]

    for put, t, index in ((unsigned, 0, 3), (unsigned, 1, 4), (long, 2**32 + 1, 1)):
        x.fill(2.0)
        with ti.ad.Tape(loss):
            total()
            put(t)
        assert x[index] == 7.0
        close(x.grad.to_numpy(), np.full(8, 4.0))


@pytest.mark.parametrize("part", ["component", "member"])
def test_a_part_of_a_sparse_field_that_the_program_dropped(ti, part):
    """The tape saves the cells of the whole field, which the part keeps alive."""
    x, loss = ti.field(ti.f64, 8, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    if part == "component":
        whole = ti.Vector.field(2, ti.f64, needs_grad=True)
    else:
        whole = ti.types.struct(p=ti.f64, q=ti.f64).field(needs_grad=True)
    node = ti.root.pointer(ti.i, 2)
    node.dense(ti.i, 4).place(whole, whole.grad)
    y = whole.get_scalar_field(0) if part == "component" else whole.get_member_field("p")
    del whole
    gc.collect()

    @ti.kernel
    def put():
        for i in x:
            y[i] = x[i] ** 2

    @ti.kernel
    def use():
        for i in x:
            loss[None] += y[i] ** 2

    @ti.kernel
    def drop():
        for i in range(2):
            ti.deactivate(node, i)

    x.from_numpy(np.arange(8.0))
    with ti.ad.Tape(loss):
        put()
        use()
        drop()
    np.testing.assert_allclose(x.grad.to_numpy(), 4 * np.arange(8.0) ** 3)
