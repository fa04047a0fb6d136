"""Numbers as arguments of kernels: what fits arrives whole, at every call; the rest is refused."""

import math

import numpy as np
import pytest

from weft.lang.errors import ArgumentError

INTS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")


def extremes(name):
    """The least and the greatest number of an integer type."""
    bits = int(name[1:])
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if name[0] == "i" else (0, 2**bits - 1)


@pytest.fixture(params=INTS)
def echo(ti, request):
    """A kernel that gives its integer back, and the extremes of that type. It has run before: launches are direct."""
    kind = getattr(ti, request.param)

    @ti.kernel
    def run(a: kind, b: ti.f32) -> kind:
        return a

    for _ in range(3):
        run(1, 0.5)
    return run, extremes(request.param)


def test_integers_that_fit(echo):
    run, (low, high) = echo
    for number in (low, low + 1, -1, 0, 1, high - 1, high):
        if low <= number <= high:
            assert run(number, 1.0) == number


def test_integers_that_do_not_fit(ti, echo):
    run, (low, high) = echo
    for number in (low - 1, high + 1, 2**40, -(2**40), 2**63, -(2**63) - 1, 2**64, 2**70, -(2**70)):
        if not low <= number <= high:
            with pytest.raises(ti.lang.errors.ArgumentError, match=f"'a' must be an integer from {low} to {high} "):
                run(number, 1.0)
    assert run(1, 1.0) == 1


def test_numpys_integers(ti, echo):
    run, (low, high) = echo
    assert run(np.int8(5), 1.0) == run(np.uint64(5), 1.0) == run(np.array(5), 1.0) == run(True, 1.0) + 4 == 5
    if high < 2**40:
        with pytest.raises(ti.lang.errors.ArgumentError, match="got int64 1099511627776"):
            run(np.int64(2**40), 1.0)


@pytest.mark.parametrize("value", [1.5, 2.0, math.nan, math.inf, np.float32(1), "1", None, 1j, [1]])
def test_arguments_that_are_not_integers(ti, echo, value):
    with pytest.raises(ti.lang.errors.ArgumentError, match="'a' must be an integer"):
        echo[0](value, 1.0)


@pytest.mark.parametrize("name", ["f16", "f32", "f64"])
def test_floats_take_every_number(ti, name):
    kind = getattr(ti, name)

    @ti.kernel
    def run(a: kind) -> kind:
        return a

    for value in (1.5, 2, True, -0.0, math.inf, -math.inf, 1e300, 2**70, np.float64(0.1), np.int64(3), np.array(7)):
        with np.errstate(over="ignore"):
            assert run(value) == float(np.array(value, "f8").astype(f"f{int(name[1:]) // 8}"))
    assert math.isnan(run(math.nan))
    for value in (10**400, "1", None, 1j):
        with pytest.raises(ti.lang.errors.ArgumentError, match="'a' must be a number"):
            run(value)


def test_any_integer_is_true_or_false(ti):
    @ti.kernel
    def run(a: ti.u1) -> ti.i32:
        return a

    for _ in range(2):
        assert [run(a) for a in (0, 1, -1, 300, 2**70, True, False)] == [0, 1, 1, 1, 1, 1, 0]


def test_vectors_of_integers(ti):
    @ti.kernel
    def run(a: ti.types.vector(2, ti.u8)) -> ti.i32:
        return a[0] * 1000 + a[1]

    for _ in range(2):
        assert run(ti.Vector([255, 0])) == 255000
        for wrong in ([256, 0], [0, -1], [1.0, 2.0], [1, 2**40]):
            with pytest.raises(ti.lang.errors.ArgumentError, match=r"of integers from 0 to 255"):
                run(ti.Vector(wrong))


def test_members_of_structs_fit_as_numbers_do(ti):
    Inner = ti.types.struct(b=ti.u8, v=ti.types.vector(2, ti.i32))
    Outer = ti.types.struct(a=ti.i32, f=ti.f32, inner=Inner)

    @ti.kernel
    def k(s: Outer) -> ti.f32:
        return s.a + s.f + s.inner.b + s.inner.v[1]

    assert k({"a": 1, "f": 2, "inner": {"b": 255, "v": [0, 3]}}) == 261
    assert k(ti.Struct(a=1, f=0.5)) == 1.5
    assert k({"inner": (4, 5)}) == 9
    for given, message in (
        ({"a": 1.5}, r"argument 's.a' must be an integer \(i32\), got float 1.5"),
        ({"a": 2**31}, r"argument 's.a' must be an integer from -2147483648 to 2147483647 \(i32\)"),
        ({"inner": {"b": 256}}, r"argument 's.inner.b' must be an integer from 0 to 255 \(u8\), got int 256"),
        ({"inner": (256, 0)}, r"argument 's.inner.b'"),
        (ti.Struct(a=1.5), r"argument 's.a'"),
        ({"inner": {"v": ti.Vector([0.5, 1])}}, r"argument 's.inner.v'"),
        ({"f": "x"}, r"argument 's.f' must be a number"),
    ):
        with pytest.raises(ArgumentError, match=message):
            k(given)


def test_parameters_that_are_given_by_keyword_only(ti):
    @ti.kernel
    def plain(a: ti.i32, b: ti.i32 = 2, *, c: ti.i32, d: ti.i32 = 4) -> ti.i32:
        return 1000 * a + 100 * b + 10 * c + d

    @ti.data_oriented
    class Scaled:
        by = 2

        @ti.kernel
        def run(self, *, a: ti.i32, b: ti.i32 = 3) -> ti.i32:
            return self.by * (10 * a + b)

    assert (plain(1, c=3), plain(1, d=5, c=6, b=7), plain(c=1, a=9)) == (1234, 1765, 9214)
    assert (Scaled().run(a=1), Scaled().run(b=4, a=1)) == (26, 28)
