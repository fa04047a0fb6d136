"""Atomics: every kind, their old values, on every type, and under contention."""

import functools
import operator

import numpy as np
import pytest

from tests.sampling import only

pytestmark = pytest.mark.filterwarnings("ignore::weft.PrecisionWarning")  # values are cut short on purpose

KINDS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "min": min, "max": max,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", only(["i32", "f32", "f64", "u8"], ["i32", "u32", "i64", "f32", "f64", "i8", "u8", "i16"])
)
def test_kinds_and_old_values(ti, kind, name):
    if name[0] == "f" and kind in ("and", "or", "xor"):
        pytest.skip("no bits of floats")
    dt, atomic = getattr(ti, name), getattr(ti, f"atomic_{kind}")
    x = ti.field(dt, 3)

    @ti.kernel
    def run(n: dt) -> dt:
        return atomic(x[1], n)

    values = [6, 3, 5, 2]
    x[1] = 7
    expected = 7
    for value in values:
        assert run(value) == expected
        expected = np.array(KINDS[kind](expected, value)).astype(x.to_numpy().dtype).item()
    assert x[1] == expected
    assert [x[0], x[2]] == [0, 0]


@pytest.mark.parametrize("name", ["i32", "u64", "f64", "i8", "f32", "u16", "f16"])
def test_contention(ti, name):
    n = 300 if ti.cfg.arch == "python" else 20_000
    dt = getattr(ti, name)
    x, smallest, largest = ti.field(dt, 4), ti.field(dt, ()), ti.field(dt, ())
    small = name in ("i8", "u16", "f16")

    @ti.kernel
    def run():
        for i in range(n):
            if ti.static(small):
                ti.atomic_add(x[i % 4], 1 if i % 1000 < 100 else 0)
            else:
                ti.atomic_add(x[i % 4], i % 5)
            ti.atomic_max(largest[None], (i * 37) % 101)
            ti.atomic_min(smallest[None], (i * 37) % 101 + 1)

    smallest[None] = 100
    run()
    i = np.arange(n)
    amounts = np.where(i % 1000 < 100, 1, 0) if small else i % 5
    expected = np.array([amounts[k::4].sum() for k in range(4)])
    if name == "i8":
        expected = expected.astype(np.int8)
    assert x.to_numpy().tolist() == expected.tolist()
    assert (smallest[None], largest[None]) == (1, 100)


def test_old_values_are_tickets(ti):
    n = 200 if ti.cfg.arch == "python" else 10_000
    ticket, taken = ti.field(ti.i32, ()), ti.field(ti.i32, n)

    @ti.kernel
    def run():
        for i in range(n):
            taken[ti.atomic_add(ticket[None], 1)] += i + 1

    run()
    assert ticket[None] == n
    assert sorted(taken.to_numpy().tolist()) == list(range(1, n + 1))


def test_augmented_assignments_are_atomic(ti):
    n = 200 if ti.cfg.arch == "python" else 10_000
    x = ti.field(ti.i32, 8)

    @ti.kernel
    def run():
        for i in range(n):
            x[0] += 1
            x[1] -= 2
            x[2] |= 1 << (i % 20)
            x[3] ^= i
            x[4] &= ~(1 << (i % 20))
            v = i
            v += 5
            x[5] += v - i

    x[4] = -1
    run()
    assert x[0] == n
    assert x[1] == -2 * n
    assert x[2] == 2**20 - 1
    assert x[3] == functools.reduce(operator.xor, range(n))
    assert x[4] == -(2**20)
    assert x[5] == 5 * n


def test_augmented_assignments_of_every_operator(ti):
    x = ti.field(ti.f32, 8)
    k = ti.field(ti.i32, 8)

    @ti.kernel
    def run(i: ti.i32):
        x[0] *= 3
        x[1] /= 4
        x[2] //= 2
        x[3] %= 3
        x[4] **= 2
        k[0] <<= 3
        k[1] >>= 1
        k[2] //= -3
        k[3] %= 5
        k[4] *= i

    x.fill(7)
    k.fill(7)
    run(6)
    assert x.to_numpy()[:5].tolist() == [21, 1.75, 3, 1, 49]
    assert k.to_numpy()[:5].tolist() == [56, 3, -3, 2, 42]


def test_atomics_on_vectors(ti):
    v = ti.Vector.field(3, ti.i32, 2)

    @ti.kernel
    def run():
        for i in range(100):
            v[i % 2] += ti.Vector([1, i, 2])
            ti.atomic_max(v[0][1], 5000)
            v[1].z -= 1

    run()
    evens, odds = sum(range(0, 100, 2)), sum(range(1, 100, 2))
    assert v[1].to_list() == [50, odds, 0]
    assert v[0].to_list()[::2] == [50, 100]
    assert v[0][1] >= max(5000, evens)


def test_atomics_cast_to_the_target(ti):
    x = ti.field(ti.i32, ())

    @ti.kernel
    def run() -> ti.i32:
        x[None] += 1.9
        return ti.atomic_add(x[None], 2.9)

    assert run() == 1
    assert x[None] == 3


def test_minus_zero_and_infinity(ti):
    ti.init(arch=ti.cfg.arch, fast_math=False)
    x = ti.field(ti.f32, 2)

    @ti.kernel
    def run(a: ti.f32):
        ti.atomic_min(x[0], a)
        ti.atomic_max(x[1], a)

    for value in (3.0, -np.inf, np.inf):
        run(value)
    assert x.to_numpy().tolist() == [-np.inf, np.inf]


@pytest.mark.filterwarnings("ignore::weft.lang.errors.PrecisionWarning")
def test_sums_in_a_local_of_a_narrower_type(ti):
    """The local is shared by all iterations, also where adding goes by a cast there and back."""
    n = 100 if ti.cfg.arch == ti.python else 1 << 20
    x, k = ti.field(ti.f64, n), ti.field(ti.i64, n)
    x.from_numpy(np.ones(n))
    k.from_numpy(np.arange(n))

    @ti.kernel
    def sums() -> ti.types.vector(6, ti.f64):
        total, less, count, first = ti.f32(0), ti.f32(0), ti.i32(0), ti.i32(0)
        most, both = ti.i32(0), ti.f32(0)
        for i in x:
            total += x[i]
            less = less - x[i]
            count += x[i]
            first |= k[i]
            most = ti.max(most, k[i])
            both = both + x[i] + 2 * x[i]
        return ti.Vector([total, less, count, first, most, both])

    want = [n, -n, n, np.bitwise_or.reduce(np.arange(n)), n - 1, 3 * n]
    for _ in range(3):
        np.testing.assert_array_equal(sums().to_numpy(), np.float64(want))


@pytest.mark.filterwarnings("ignore::weft.lang.errors.PrecisionWarning")
def test_what_such_a_sum_is_then_is_used(ti):
    """Each iteration sees its own new value, in the local's type and in the wider one, several times."""
    n = 1000
    x, seen = ti.field(ti.f64, n), ti.field(ti.i32, n + 1)
    x.fill(1.0)

    @ti.kernel
    def count() -> ti.f32:
        total = ti.f32(0)
        for i in x:
            total += x[i]
            seen[int(total)] += int(total + total) - int(total)
        return total

    assert count() == n
    assert seen.to_numpy()[0] == 0
    assert seen.to_numpy().sum() >= n
