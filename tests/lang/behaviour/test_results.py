"""What `@func`s and kernels return: several values, every type, on every path."""

import math

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore::weft.PrecisionWarning")  # values are cut short on purpose


def test_several_results(ti):
    @ti.func
    def split(x):
        return x // 10, x % 10

    @ti.kernel
    def run(x: ti.i32) -> (ti.i32, ti.f32, ti.types.vector(2, ti.i32)):
        a, b = split(x)
        return a, b * 0.5, ti.Vector([b, a])

    a, b, v = run(47)
    assert (a, b, v.to_list()) == (4, 3.5, [7, 4])


@pytest.mark.parametrize("name", ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"])
def test_results_of_every_type(ti, name):
    dt = getattr(ti, name)

    @ti.kernel
    def same(x: dt) -> dt:
        return x

    @ti.kernel
    def vector(x: dt) -> ti.types.vector(3, dt):
        return ti.Vector([x, x + 1, x * 0])

    is_float = name[0] == "f"
    values = [0, 1, 100] + ([0.5, -2.25, math.inf] if is_float else [-1, -128] if name[0] == "i" else [200])
    if name in ("u32", "u64", "i64"):
        values.append(2 ** (int(name[1:]) - (name[0] == "i")) - 1)
    for value in values:
        found = same(value)
        assert found == value
        assert type(found) is (float if is_float else int)
    assert vector(5).to_list() == [5, 6, 0]


def test_bool_arguments_and_results(ti):
    @ti.kernel
    def run(a: bool, b: ti.u1) -> bool:
        return a and not b

    assert [run(a, b) for a in (False, True) for b in (False, True)] == [False, False, True, False]


def test_numbers_returned_as_a_vector(ti):
    @ti.func
    def pair(x) -> ti.math.vec2:
        return x, 2 * x

    @ti.kernel
    def run(x: ti.i32) -> ti.types.matrix(2, 2, ti.f32):
        return [pair(x), [7, pair(0.25).y]]

    assert run(3).to_list() == [[3, 6], [7, 0.5]]


def test_every_path_returns(ti):
    @ti.func
    def sign(a: ti.i32):
        if a > 0:
            return 1
        elif a < 0:
            return -1
        else:
            return 0

    @ti.func
    def first_square_above(a: ti.i32):
        n = 0
        while True:
            n += 1
            if n * n > a:
                return n

    @ti.kernel
    def run(a: ti.i32) -> ti.i32:
        return 10 * first_square_above(a) + sign(a)

    assert [run(a) for a in (-5, 0, 17)] == [9, 10, 51]


def test_returns_of_different_types_give_their_common_type(ti):
    """Also where only one of them runs: an i32 that is returned beside a u32 is compared and divided as one."""
    whole, natural = ti.field(ti.i32, shape=()), ti.field(ti.u32, shape=())
    whole[None], natural[None] = -5, 7

    @ti.func
    def chosen(first):
        if first:
            return natural[None]
        return whole[None] + 8

    @ti.func
    def both(first):
        if first:
            return natural[None], ti.Vector([1, 2])
        return whole[None], ti.Vector([0.5, 0.25])

    @ti.kernel
    def compare(first: ti.i32) -> ti.i32:
        return whole[None] <= chosen(first)

    @ti.kernel
    def divide(first: ti.i32) -> ti.math.vec3:
        a, b = both(first)
        return ti.Vector([a / 2, b[0] / 2, b[1] / 2])

    assert compare(0) == compare(1) == 0  # -5 is 4294967291 there
    np.testing.assert_array_equal(divide(1).to_numpy(), [3.5, 0.5, 1.0])
    np.testing.assert_array_equal(divide(0).to_numpy(), np.float32([4294967291 / 2, 0.25, 0.125]))


def test_a_scalar_type_of_a_vector_that_is_returned_is_that_of_its_elements(ti):
    x = ti.Vector.field(2, ti.f32, 3)

    @ti.func
    def clamped(field: ti.template(), i: ti.i32) -> ti.i32:
        if i < 0:
            return field[0]
        return field[i]

    @ti.kernel
    def run(i: ti.i32) -> ti.types.vector(2, ti.f32):
        return clamped(x, i)

    x[0], x[2] = [1.5, 2.5], [3.5, -4.5]
    assert run(-1).to_list() == [1, 2]
    assert run(2).to_list() == [3, -4]
