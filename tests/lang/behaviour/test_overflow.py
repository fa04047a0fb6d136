"""Integers that leave their type: told of once a place in debug mode, or with `check_overflow`; they wrap as ever."""

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.sampling import only
from weft.runtime.errors import OverflowWarning


@pytest.fixture(autouse=True)
def checked(ti: Any) -> None:
    ti.init(arch=ti.cfg.arch, debug=True)


def told(ti: Any, *calls: Any) -> list[str]:
    """What the calls warn of by the next synchronisation, below the place."""
    return [text.split("^\n")[-1] for text in texts(ti, *calls)]


def texts(ti: Any, *calls: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for call in calls:
            call()
        ti.sync()
    return [str(one.message) for one in caught if issubclass(one.category, OverflowWarning)]


TYPES = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")


@pytest.mark.parametrize("name", only(["i8", "u32", "i64"], TYPES))
def test_what_does_not_fit(ti, name):
    dtype = getattr(ti, name)
    info = np.iinfo(name.replace("i", "int").replace("u", "u") if name[0] == "i" else "uint" + name[1:])
    high, low, bits = info.max, info.min, info.bits

    @ti.kernel
    def run(which: ti.i32, a: dtype, b: dtype) -> dtype:
        r = a
        if which == 0:
            r = a + b
        elif which == 1:
            r = a - b
        elif which == 2:
            r = a * b
        elif which == 3:
            r = a << b
        elif which == 4:
            r = a**b
        elif which == 5:
            r = a // b
        elif which == 6:
            r = -a
        else:
            r = abs(a)
        return r

    half = 1 << (bits // 2)
    cases: list[tuple[int, tuple[int, int], tuple[int, int], str]] = [
        (0, (high - 5, 5), (high, 1), f"{high} + 1"),
        (1, (low + 5, 5), (low, 1), f"{low} - 1"),
        (2, (half, half // 4), (half, half), f"{half} * {half}"),
        (3, (1, bits - 2), (3, bits - 1), f"3 << {bits - 1}"),
        (4, (2, bits - 2), (3, bits - 1), f"3 ** {bits - 1}"),
    ]
    if low:
        cases += [
            (5, (low + 1, -1), (low, -1), f"{low} // -1"),
            (6, (high, 0), (low, 0), f"-({low})"),
            (7, (-high, 0), (low, 0), f"abs({low})"),
        ]
    else:
        cases += [(6, (0, 0), (1, 0), "-(1)")]
    for which, fits, _, _ in cases:
        assert not told(ti, lambda which=which, fits=fits: run(which, *fits)), which
    for which, _, (a, b), words in cases:
        result = None

        def over(which=which, a=a, b=b):
            nonlocal result
            result = run(which, a, b)

        (text,) = told(ti, over)
        assert text == f"{words} does not fit into {name}: it became {result}"
        assert not told(ti, over)  # once


@pytest.mark.parametrize("name", ["i64", "u64"])
def test_products_of_64_bits_divide_by_nothing_wrong(ti, name):
    """The check divides the product by a factor. A factor of 0, or of -1 beside the least number, is no divisor."""
    dtype, info = getattr(ti, name), np.iinfo(name.replace("i", "int") if name[0] == "i" else "uint64")
    vec = ti.types.vector(2, dtype)

    @ti.kernel
    def run(a: dtype, b: dtype) -> dtype:
        return a * b

    @ti.kernel
    def both(a: dtype, b: dtype) -> vec:
        return vec([a, b]) * vec([b, a])

    factors = sorted({0, 1, 2, 3, info.max, info.max - 1, info.max // 2, info.min, info.min // 3, -(name[0] == "i")})
    for a in factors:
        for b in factors:
            fits = info.min <= a * b <= info.max
            assert bool(told(ti, partial(run, a, b))) <= (not fits)  # (told once a place)
            assert (int(run(a, b)) - a * b) % 2**64 == 0
            assert [(int(x) - a * b) % 2**64 for x in both(a, b)] == [0, 0]
    assert told(ti, lambda: both(3, 2)) == []


def test_the_place_and_the_iteration(ti):
    x = ti.field(ti.i32, 5)

    @ti.func
    def square(v):
        return v * v

    @ti.kernel
    def squares():
        for i in x:
            if i == 3:
                x[i] = square(i * 20000)

    (text,) = texts(ti, squares)
    lines = text.splitlines()
    assert lines[0] == "in kernel 'squares':"
    assert lines[2:4] == ["    x[i] = square(i * 20000)", "           ^^^^^^^^^^^^^^^^^"]
    assert lines[4].startswith(f'  File "{__file__}", line ')
    assert lines[5:7] == ["    return v * v", "           ^^^^^"]
    assert lines[7:] == ["60000 * 60000 does not fit into i32: it became -694967296", "where i = 3"]
    assert x[3] == -694967296


def test_updates_of_memory_and_of_locals(ti):
    x, v = ti.field(ti.i32, ()), ti.Vector.field(2, ti.u8, ())

    @ti.kernel
    def update(what: ti.template()):
        s = 2147483647
        for i in range(1):  # noqa: B007
            if ti.static(what == "field"):
                x[None] += 2147483647
                x[None] += 1
            elif ti.static(what == "atomic"):
                ti.atomic_sub(x[None], 2147483647)
                ti.atomic_sub(x[None], 2)
            elif ti.static(what == "vector"):
                v[None] += ti.Vector([255, 1], ti.u8)
                v[None] += ti.Vector([0, 255], ti.u8)
            else:
                s += 1
        x[None] = s

    assert told(ti, lambda: update("field")) == [
        "2147483647 + 1 does not fit into i32: it became -2147483648\nwhere i = 0"
    ]
    x[None] = 0
    (text,) = told(ti, lambda: update("atomic"))
    assert text == "-2147483647 - 2 does not fit into i32: it became 2147483647\nwhere i = 0"
    (text,) = told(ti, lambda: update("vector"))
    assert "does not fit into u8: it became" in text
    (text,) = told(ti, lambda: update("local"))
    assert text == "2147483647 + 1 does not fit into i32: it became -2147483648\nwhere i = 0"
    assert x[None] == -2147483648


def test_vectors_and_matrices(ti):
    @ti.kernel
    def run(a: ti.i32) -> ti.i32:
        v = ti.Vector([a, 1])
        m = ti.Matrix([[a, 1], [1, a]])
        return v.dot(v) + (m @ m)[0, 0] + v.sum()

    assert not told(ti, lambda: run(2))
    found = told(ti, lambda: run(46341))
    assert len(found) == 3  # the last one: their sum
    assert all("does not fit into i32" in text for text in found)
    assert sum("[46341, 1] * [46341, 1]" in text for text in found) == 1
    assert not told(ti, lambda: run(46341))


def test_what_is_unrolled_is_one_place(ti):
    @ti.kernel
    def mix(seed: ti.u32) -> ti.u32:
        h = seed
        for _ in ti.static(range(20)):
            h = h * 1664525 + 1013904223
        return h

    expected = 1
    for _ in range(20):
        expected = (expected * 1664525 + 1013904223) % 2**32
    result = 0

    def run():
        nonlocal result
        result = mix(1)

    found = told(ti, run)
    assert len(found) == 2  # the product, the sum
    assert result == expected


def test_operations_that_do_not_run_do_not_warn(ti):
    @ti.kernel
    def run(a: ti.i32) -> ti.i32:
        n = 0
        if a < 100 and a * 65536 > 3:
            n = 1
        return n + (a * 65536 if a < 100 else 0)

    assert not told(ti, lambda: run(2**20))
    assert not told(ti, lambda: run(1))


def test_what_the_program_does_not_compute(ti):
    x = ti.field(ti.i32, 4, offset=-2)
    y = ti.field(ti.i32, 40)
    high = 2147483647

    @ti.kernel
    def run() -> ti.i32:
        n = 0
        for i in range(high - 2, high):
            n ^= i
        for i in range(-high, high, high):
            n ^= i
        for i, j in ti.ndrange((high - 2, high), (-high - 1, -high + 1)):
            n ^= i ^ j
        for i in x:
            x[i] = ti.random(ti.i32)
            n ^= ti.cast(ti.random(ti.u32), ti.i32) ^ ti.cast(ti.random(ti.i64), ti.i32)
        n ^= ti.cast(ti.i64(1) << 40, ti.i32)
        n ^= ti.cast(1e20, ti.i32)
        return n ^ ti.cast(ti.round(ti.math.fract(1e9)), ti.i32)

    y.from_numpy(np.random.default_rng(3).integers(-(2**31), 2**31, 40).astype(np.int32))
    assert not told(ti, run, lambda: ti.algorithms.parallel_sort(y))
    assert np.array_equal(y.to_numpy(), np.sort(y.to_numpy()))


def test_the_option(ti):
    x = ti.field(ti.i32, 3)

    @ti.kernel
    def double():
        for i in x:
            x[i] = (x[i] + 2147483647) * 2

    arch = ti.cfg.arch
    for options, found in (({"debug": True, "check_overflow": False}, 0), ({}, 0), ({"check_overflow": True}, 2)):
        ti.init(arch=arch, **options)
        x = ti.field(ti.i32, 3)
        x.fill(1)
        assert len(told(ti, double)) == found, options
        assert x[0] == 0


def test_a_filter_makes_it_an_error(ti):
    @ti.kernel
    def square(a: ti.i32) -> ti.i32:
        return a * a

    with warnings.catch_warnings():
        warnings.simplefilter("error", OverflowWarning)
        with pytest.raises(OverflowWarning, match="does not fit into i32"):  # noqa: PT012
            square(65536)
            ti.sync()
    assert square(3) == 9


def test_filters_leave_it_out_for_a_file(ti):
    @ti.kernel
    def square(a: ti.i32) -> ti.i32:
        return a * a

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=ti.OverflowWarning, module=".*test_overflow")
        square(65536)
        ti.sync()
    assert not caught


def test_values_are_those_without_the_check(ti):
    n = 100
    a, b, c = (ti.field(ti.i32, n) for _ in range(3))
    rng = np.random.default_rng(5)
    numbers = [rng.integers(-(2**31), 2**31, n).astype(np.int32) for _ in range(2)]
    a.from_numpy(numbers[0])
    b.from_numpy(numbers[1])

    @ti.kernel
    def run():
        for i in c:
            h = a[i] * 31 + b[i]
            for _ in range(4):
                h = (h << 5) - h + (h >> 3) * b[i]
            c[i] = -h

    assert len(told(ti, run)) >= 5
    with np.errstate(all="ignore"):
        h = numbers[0] * np.int32(31) + numbers[1]
        for _ in range(4):
            h = (h << np.int32(5)) - h + (h >> np.int32(3)) * numbers[1]
    assert np.array_equal(c.to_numpy(), -h)
