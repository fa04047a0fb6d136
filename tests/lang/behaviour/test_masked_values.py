"""`mask_out_of_bounds`: what is read before a loop, whole structs, and places of two axes."""

import numpy as np
import pytest

from tests.lang.behaviour.masked import masked, told

__all__ = ["masked"]  # for all tests here


@pytest.mark.parametrize("n", [-3, 0, 2, 3, 4, 2**31 - 1])
def test_what_a_loop_takes_from_before_it(ti, n):
    """It is read in front of the loop, by each part of the loop."""
    x, y, count = ti.field(ti.i32, 4), ti.field(ti.i32, 8), ti.field(ti.i32, ())
    a = np.arange(11, 15, dtype=np.int32)
    x.from_numpy(a)
    array = ti.types.ndarray(ti.i32, 1)

    @ti.kernel
    def of_an_array(a: array, n: ti.i32):
        one = a[n]
        for i in y:
            y[i] = one

    @ti.kernel
    def of_a_field(n: ti.i32):
        one = x[n]
        for i in y:
            y[i] = one

    @ti.kernel
    def neighbours(a: array, n: ti.i32):
        one, two, three = a[n], a[n + 1], a[n - 1]
        for i in y:
            y[i] = one + two + three

    @ti.kernel
    def shifted(n: ti.i32):
        count[None] = n
        first = count[None]
        for i in y:
            y[i] = x[i + first]

    def at(k):
        return int(a[k]) if 0 <= k < 4 else 0

    def left(kernel, *given):
        kernel(*given)
        return y.to_numpy().tolist()

    assert left(of_an_array, a, n) == [at(n)] * 8
    assert left(of_a_field, n) == [at(n)] * 8
    near = n if n < 2**31 - 1 else 1  # (n + 1 is no i32)
    assert left(neighbours, a, near) == [at(near) + at(near + 1) + at(near - 1)] * 8
    assert left(shifted, n) == [at(i + n) if i + n < 2**31 else 0 for i in range(8)]


def test_whole_structs_in_arrays(ti):
    cell = ti.types.struct(a=ti.f32, v=ti.math.vec3, inner=ti.types.struct(n=ti.i32, m=ti.types.matrix(2, 2, ti.f64)))
    cells, index, out = ti.ndarray(cell, 4), ti.field(ti.i32, 5), ti.field(ti.f64, 5)
    index.from_numpy(np.array([0, -1, 3, 4, 2**31 - 1], np.int32))

    @ti.kernel
    def fill(cells: ti.types.ndarray(cell, 1)):
        for i in cells:
            cells[i] = cell(a=i + 1, v=[1, 2, 3], inner=ti.Struct(n=i, m=ti.Matrix([[4.0, 5.0], [6.0, 7.0]])))

    @ti.kernel
    def gather(cells: ti.types.ndarray(cell, 1)):
        for i in index:
            one = cells[index[i]]
            out[i] = one.a + one.v[2] * one.inner.n + one.inner.m[1, 1]

    fill(cells)
    gather(cells)
    assert out.to_numpy().tolist() == [8.0, 0.0, 20.0, 0.0, 0.0]


def test_an_axis_that_is_out_of_bounds_is_told(ti):
    x, index, out = ti.field(ti.i32, (8, 8)), ti.field(ti.i32, 8), ti.field(ti.i32, 8)
    x.fill(5)
    index.from_numpy(np.array([0, 1, 9, 3, 4, 5, 6, 7], np.int32))

    @ti.kernel
    def gather():
        for i in out:
            out[i] = x[i, index[i]]

    (text,) = told(ti, gather)
    assert "9] is out of bounds: its shape is (8, 8)" in text
    assert out.to_numpy().tolist() == [5, 5, 0, 5, 5, 5, 5, 5]


def test_sums_into_one_place_of_two_axes(ti):
    total = ti.field(ti.i32, (4, 5))

    @ti.kernel
    def add(i: ti.i32, j: ti.i32):
        for _ in range(100):
            total[i, j] += 1

    for place in ((1, 2), (-1, 2), (4, 2), (1, -1), (1, 5), (0, 7), (3, 4)):
        add(*place)
    assert np.argwhere(total.to_numpy() == 100).tolist() == [[1, 2], [3, 4]]
    assert total.to_numpy().sum() == 200
