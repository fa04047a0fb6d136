"""Locals of a kernel that iterations of a parallel loop update, read and assign."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore::weft.PrecisionWarning")


def size(ti) -> int:
    return 300 if ti.cfg.arch == ti.python else 4096


@pytest.mark.parametrize("name", ["i32", "u8", "i16", "u64", "f32", "f64", "f16"])
def test_two_updates_in_one_iteration(ti, name):
    dt = getattr(ti, name)
    n = 40 if name in ("u8", "f16") else size(ti)
    x = ti.field(ti.i32, n)
    x.from_numpy(np.where(np.arange(n) % 2, -1, 1).astype(np.int32))

    @ti.kernel
    def count() -> dt:
        s = ti.cast(0, dt)
        for i in x:
            s += 1
            if x[i] > 0:
                s += 2
            elif x[i] < -5:
                s -= 1
            else:
                for _ in range(2):
                    s += 1
        return s

    assert count() == n // 2 * 3 + n // 2 * 3


def test_slots_of_an_append(ti):
    n = size(ti)
    x, out = ti.field(ti.f32, n), ti.field(ti.i32, n)
    values = np.random.default_rng(1).random(n).astype(np.float32)
    x.from_numpy(values)

    @ti.kernel
    def append() -> ti.i32:
        k = 0
        for i in x:
            if x[i] > 0.5:
                slot = ti.atomic_add(k, 1)
                out[slot] = i + 1
        return k

    k = append()
    assert k == (values > 0.5).sum()
    kept = out.to_numpy()
    np.testing.assert_array_equal(np.sort(kept[:k]), np.flatnonzero(values > 0.5) + 1)
    assert not kept[k:].any()


def test_every_kind_of_update(ti):
    n = size(ti)
    x = ti.field(ti.i32, n)
    values = np.random.default_rng(2).integers(-1000, 1000, n).astype(np.int32)
    x.from_numpy(values)

    @ti.kernel
    def run() -> ti.types.vector(8, ti.i32):
        less, both, bits, flipped, most, least, common, product = 0, 0, 0, 0, -5000, 5000, -1, 1
        for i in x:
            less -= x[i]
            both = both + x[i] - 1
            bits |= x[i]
            flipped ^= x[i]
            flipped ^= i
            ti.atomic_max(most, x[i])
            ti.atomic_max(most, -x[i])
            least = ti.min(x[i], least)
            if x[i] % 2 == 0:
                common &= x[i]
                common &= -4
            product *= 1 - 2 * (i % 2)
        return ti.Vector([less, both, bits, flipped, most, least, common, product])

    even = values[values % 2 == 0]
    want = [
        -values.sum(),
        (values - 1).sum(),
        np.bitwise_or.reduce(values),
        np.bitwise_xor.reduce(values) ^ np.bitwise_xor.reduce(np.arange(n)),
        np.abs(values).max(),
        values.min(),
        np.bitwise_and.reduce(even) & -4,
        (-1) ** (n // 2),
    ]
    assert run().to_numpy().tolist() == want


def test_old_values_of_other_kinds(ti):
    n = size(ti)
    seen = ti.field(ti.i32, 2)

    @ti.kernel
    def run() -> ti.i32:
        bits, most = 0, -1
        for i in range(n):
            if ti.atomic_or(bits, 1 << (i % 8)) & (1 << (i % 8)) == 0:
                seen[0] += 1  # the first iteration with this bit
            if ti.atomic_max(most, i) < 0:
                seen[1] += 1  # the first of all
        return bits

    assert run() == 255
    assert seen.to_numpy().tolist() == [8, 1]


def test_vectors_and_structs(ti):
    n = 256
    pair = ti.types.struct(total=ti.i32, count=ti.types.vector(2, ti.i32))

    @ti.kernel
    def run() -> ti.types.vector(5, ti.i32):
        v = ti.Vector([0, 0])
        p = pair(0, ti.Vector([0, 0]))
        for i in range(n):
            v += ti.Vector([1, i])
            v[i % 2] += 10
            p.total += i
            p.count[1] += 1
            if i % 4 == 0:
                p.total -= 1
                p.count += 1
        return ti.Vector([v[0], v[1], p.total, p.count[0], p.count[1]])

    triangle = n * (n - 1) // 2
    assert run().to_numpy().tolist() == [n + 5 * n, triangle + 5 * n, triangle - n // 4, n // 4, n + n // 4]


def test_two_loops_and_serial_code_between(ti):
    x = ti.field(ti.i32, size(ti))
    x.fill(2)

    @ti.kernel
    def run() -> ti.i32:
        s = 1
        for i in x:
            s += x[i]
            if i % 2 == 0:
                s += 1
        s = s * 2
        for i in x:
            s -= 1
            s -= x[i]
        return s

    n = size(ti)
    assert run() == (1 + 2 * n + n // 2) * 2 - 3 * n


def test_a_local_that_each_iteration_assigns_first(ti):
    """As in a solver that declares its gradient before the loop."""
    n = size(ti)
    x = ti.field(ti.f32, n)

    @ti.kernel
    def run():
        gradient = ti.Vector([0.0, 0.0])
        weight = 0.0
        for i in x:
            gradient = ti.Vector([1.0 * i, 2.0])
            weight = 0.5
            for _ in range(3):
                gradient += 1.0
                weight *= 2.0
            x[i] = gradient.sum() * weight

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run()
    np.testing.assert_array_equal(x.to_numpy(), (np.arange(n, dtype=np.float32) + 8) * 4)


def test_a_local_that_each_iteration_assigns_element_by_element(ti):
    n = size(ti)
    x, y = ti.field(ti.f32, n), ti.field(ti.f32, n)

    @ti.kernel
    def run():
        gradient = ti.Vector([0.0, 0.0, 0.0])
        pair = ti.Matrix([[0.0, 0.0], [0.0, 0.0]])
        for i in x:
            for j in ti.static(range(3)):
                gradient[j] = 1.0 * (i + j)
            pair[0, 1] = gradient[2]
            pair[1, 1], pair[0, 0] = pair[0, 1] - 1, 0.0
            if i % 2 == 0:
                pair[1, 0] = gradient.sum()
            else:
                pair[1, 0] = -gradient[1]
            x[i] = pair.sum()
            for _ in range(i % 3):
                gradient[1] += 1
            y[i] = gradient.sum()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run()
    i = np.arange(n, dtype=np.float32)
    np.testing.assert_array_equal(x.to_numpy(), np.where(i % 2 == 0, 5 * i + 6, i + 2))
    np.testing.assert_array_equal(y.to_numpy(), 3 * i + 3 + i % 3)


@pytest.mark.parametrize("written", ["v[0] = i; v[1] = v[2]", "v[0] = i; v[i % 3] = 1", "v[0] = i; v[0 - 1] = 2"])
def test_elements_that_an_iteration_may_not_assign_first(ti, written):
    source = f"""
def run() -> ti.i32:
    v = ti.Vector([7, 8, 9])
    for i in range(50):
        {written}
        v[2] = v[0] + v[1]
    return v[2] * 0
"""
    space = {"ti": ti}
    exec(source, space)
    with pytest.warns(ti.RaceWarning, match="assign 'v', which is defined outside"):
        ti.kernel(space["run"])()


@pytest.mark.parametrize(
    ("narrow", "wide"), [("u8", "i32"), ("i16", "i64"), ("i32", "f32"), ("f32", "f64"), ("u8", "f16")]
)
def test_extremes_by_comparison_of_values_of_a_narrower_type(ti, narrow, wide):
    dt, n = getattr(ti, narrow), size(ti)
    x = ti.field(dt, n)
    values = np.random.default_rng(3).integers(0, 125, n)
    x.from_numpy(values.astype(x.to_numpy().dtype))

    @ti.kernel
    def run() -> ti.types.vector(2, getattr(ti, wide)):
        most, least = ti.cast(-1, getattr(ti, wide)), ti.cast(1000, getattr(ti, wide))
        for i in x:
            if x[i] > most:
                most = x[i]
            if least >= x[i]:
                least = x[i]
        return ti.Vector([most, least])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run().to_numpy().tolist() == [values.max(), values.min()]


@pytest.mark.filterwarnings("ignore::weft.PrecisionWarning")
@pytest.mark.parametrize(("wide", "narrow"), [("f32", "i32"), ("i64", "i32"), ("u32", "i32"), ("i32", "i8")])
def test_an_extreme_of_a_wider_type_is_a_race(ti, wide, narrow):
    x = ti.field(getattr(ti, wide), 10)

    @ti.kernel
    def run() -> ti.i32:
        most = ti.cast(-1, getattr(ti, narrow))
        for i in x:
            if x[i] > most:
                most = x[i]
        return most

    with pytest.warns(ti.RaceWarning, match="assign 'most', which is defined outside"):
        run()


@pytest.mark.parametrize("name", ["i32", "u16", "f32", "f64"])
def test_extremes_by_comparison(ti, name):
    dt, n = getattr(ti, name), size(ti)
    x = ti.field(dt, n)
    values = np.random.default_rng(3).integers(1, 5000, n)
    x.from_numpy(values.astype(x.to_numpy().dtype))

    @ti.kernel
    def run() -> ti.types.vector(2, dt):
        most, least = ti.cast(0, dt), ti.cast(60000, dt)
        for i in x:
            if x[i] > most:
                most = x[i]
            if least >= x[i]:
                least = x[i]
        return ti.Vector([most, least])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run().to_numpy().tolist() == [values.max(), values.min()]


def test_an_extreme_keeps_a_nan_and_passes_by_others(ti):
    ti.init(arch=ti.cfg.arch, fast_math=False)
    x = ti.field(ti.f32, 64)
    values = np.arange(64, dtype=np.float32)
    values[::3] = np.nan
    x.from_numpy(values)

    @ti.kernel
    def run(first: ti.f32) -> ti.f32:
        m = first
        for i in x:
            if x[i] > m:
                m = x[i]
        return m

    assert run(-1.0) == 62.0
    assert np.isnan(run(np.nan))


@pytest.mark.filterwarnings("ignore::weft.RaceWarning")
def test_an_index_with_an_effect_is_computed_as_often_as_it_stands_there(ti):
    tries = ti.field(ti.i32, ())

    @ti.kernel
    def run() -> ti.i32:
        most = ti.Vector([-1, -1])
        for i in range(50):
            if 0 * i > most[0 * ti.atomic_add(tries[None], 1)]:
                most[0 * ti.atomic_add(tries[None], 1)] = 0 * i
        return most[0]

    assert run() == 0
    assert tries[None] > 50


def test_a_flag(ti):
    x = ti.field(ti.i32, size(ti))

    @ti.kernel
    def any_above(limit: ti.i32) -> ti.i32:
        found = 0
        for i in x:
            if x[i] > limit:
                found = 1
        return found

    x[200] = 7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [any_above(limit) for limit in (6, 7)] == [1, 0]


def test_elements_of_the_iterations_own(ti):
    @ti.kernel
    def run() -> ti.types.vector(4, ti.i32):
        v = ti.Vector([0, 0, 0, 0])
        for i in range(4):
            v[i] = i * i
        return v

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run().to_numpy().tolist() == [0, 1, 4, 9]


@pytest.mark.parametrize("simd", [0, 4])
def test_truth_values_of_inner_loops(ti, simd):
    """In lanes, too, where memory holds a truth value as a byte."""
    n = 100
    x, length, own = ti.field(ti.i32, n), ti.field(ti.i32, n), ti.field(ti.i32, n)
    length.from_numpy(np.arange(n, dtype=np.int32) % 7)
    x[5] = 9

    @ti.kernel
    def run() -> ti.i32:
        one, all_of = ti.cast(0, ti.u1), ti.cast(1, ti.u1)
        ti.loop_config(simd=simd)
        for i in range(n):
            mine = ti.cast(0, ti.u1)
            for j in range(length[i]):
                one |= x[j] > 3
                all_of &= x[j] < 3
                mine |= x[j] > 3
            own[i] = mine
        return ti.cast(one, ti.i32) * 2 + ti.cast(all_of, ti.i32)

    assert run() == 2
    assert own.to_numpy().tolist() == [int(k % 7 == 6) for k in range(n)]


def racing(ti):
    """A kernel with a race on a local variable, and where its lines are."""
    x = ti.field(ti.i32, 64)

    @ti.kernel
    def run() -> ti.i32:
        last = -1
        for i in x:
            last = i
        return last

    return run


def test_a_race_is_warned_of_once(ti):
    run = racing(ti)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert 0 <= run() < 64
        run()
    (one,) = seen
    assert one.category is ti.RaceWarning
    text = str(one.message)
    assert "last = i" in text
    assert "^^^^^^^^" in text
    assert "all iterations of the parallel loop in line" in text
    assert "assign 'last', which is defined outside of the loop" in text


def test_a_race_is_an_error_in_debug(ti):
    ti.init(arch=ti.cfg.arch, debug=True)
    with pytest.raises(ti.CompilationError, match="assign 'last', which is defined outside of the loop"):
        racing(ti)()


def test_no_warning_for_a_loop_in_order(ti):
    @ti.kernel
    def run() -> ti.i32:
        last = -1
        ti.loop_config(serialize=True)
        for i in range(64):
            last = i
        return last

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run() == 63
