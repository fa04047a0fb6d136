"""Parallel loops over everything there is to loop over."""

import itertools

import numpy as np
import pytest

from weft.ir.errors import CompilationError

BOXES = [(5,), (3, 4), (2, 3, 4), (2, 1, 3, 2)]


@pytest.mark.parametrize("shape", BOXES)
def test_ndrange(ti, shape):
    count = ti.field(ti.i32, shape)
    bounds = [(0, n) for n in shape]

    @ti.kernel
    def grouped():
        for I in ti.grouped(ti.ndrange(*bounds)):
            total = 0
            for k in ti.static(range(len(shape))):
                total = total * 10 + I[k]
            count[I] += total

    grouped()
    expected = np.array([int("".join(map(str, point))) for point in itertools.product(*map(range, shape))])
    assert count.to_numpy().ravel().tolist() == expected.tolist()


def test_ndrange_with_names_and_tuples(ti):
    x = ti.field(ti.i32, (4, 5, 6))

    @ti.kernel
    def run(n: ti.i32):
        for i, j, k in ti.ndrange((1, 3), n, (2, n + 2)):
            x[i, j, k] += i * 100 + j * 10 + k
        for i, j in ti.ndrange((-2, 1), 2):
            x[i + 2, j, 0] += 1000
        for _, j, k, l in ti.ndrange(1, (1, 2), 2, (3, 5)):
            x[k, j, l] += 5000

    run(3)
    expected = np.zeros((4, 5, 6), np.int32)
    for i, j, k in itertools.product(range(1, 3), range(3), range(2, 5)):
        expected[i, j, k] += i * 100 + j * 10 + k
    expected[0:3, 0:2, 0] += 1000
    expected[0:2, 1, 3:5] += 5000
    assert x.to_numpy().tolist() == expected.tolist()


@pytest.mark.parametrize("shape", [(), *BOXES])
def test_loops_over_fields(ti, shape):
    x = ti.field(ti.i32, shape)
    seen = ti.field(ti.i32, ())

    @ti.kernel
    def run():
        for I in ti.grouped(x):
            x[I] += 1
            seen[None] += 1

    run()
    run()
    assert x.to_numpy().tolist() == np.full(shape, 2).tolist()
    assert seen[None] == 2 * int(np.prod(shape))


def test_loops_over_fields_with_named_indices(ti):
    a, b, c, d = (ti.field(ti.i32, shape) for shape in BOXES)

    @ti.kernel
    def run():
        for i in a:
            a[i] = i
        for i, j in b:
            b[i, j] = i * 10 + j
        for i, j, k in c:
            c[i, j, k] = (i * 10 + j) * 10 + k
        for i, j, k, l in d:
            d[i, j, k, l] = ((i * 10 + j) * 10 + k) * 10 + l

    run()
    for x, shape in zip((a, b, c, d), BOXES):
        expected = [int("".join(map(str, point))) for point in itertools.product(*map(range, shape))]
        assert x.to_numpy().ravel().tolist() == expected


def test_loops_of_a_zero_dimensional_field(ti):
    x = ti.field(ti.f32, ())

    @ti.kernel
    def run():
        for I in ti.grouped(x):
            x[I] += 3
        x[None] *= 2

    run()
    assert x[None] == 6


def test_loops_over_vector_and_struct_fields(ti):
    v = ti.Vector.field(2, ti.f32, (2, 3))
    s = ti.Struct.field({"a": ti.i32, "b": ti.types.vector(2, ti.f32)}, shape=4)

    @ti.kernel
    def run():
        for i, j in v:
            v[i, j] = [i, j]
        for i in s:
            s[i].a = i
            s[i].b = ti.Vector([i, -i])

    run()
    assert v.to_numpy().tolist() == [[[i, j] for j in range(3)] for i in range(2)]
    assert s.a.to_numpy().tolist() == [0, 1, 2, 3]
    assert s.b.to_numpy().tolist() == [[i, -i] for i in range(4)]


def test_empty_loops(ti):
    x = ti.field(ti.i32, 3)

    @ti.kernel
    def run(n: ti.i32, a: ti.types.ndarray()):
        for i in range(n):
            x[i] = 1
        for i in range(5, n):
            x[i] = 1
        for i, _ in ti.ndrange(3, n):
            x[i] = 1
        for i, _ in ti.ndrange((2, 1), 2):
            x[i] = 1
        for i in a:
            x[i] = 1

    run(0, np.zeros(0, np.float32))
    run(-4, np.zeros(0, np.float32))
    assert x.to_numpy().tolist() == [0] * 3


def test_serialized_loops_run_in_order(ti):
    x = ti.field(ti.i32, 100)

    @ti.kernel
    def run() -> ti.i32:
        total = 1
        ti.loop_config(serialize=True)
        for i in range(100):
            total = (total * 7 + i) % 1009
            x[i] = total
        return total

    total = 1
    for i in range(100):
        total = (total * 7 + i) % 1009
    assert run() == total == x[99]


def test_loops_in_ifs_are_serial(ti):
    @ti.kernel
    def run(flag: ti.i32) -> ti.i32:
        total = 0
        if flag:
            for i in range(10):
                total = total * 2 + i
        return total

    total = 0
    for i in range(10):
        total = total * 2 + i
    assert run(1) == total
    assert run(0) == 0


def test_one_loop_sees_what_the_one_before_it_wrote(ti):
    x, y = ti.field(ti.f32, 64), ti.field(ti.f32, 64)

    @ti.kernel
    def run(steps: ti.i32):
        for i in x:
            x[i] = i
        for i in x:
            y[i] = x[(i + 1) % 64] - x[i]
        x[0] = 100
        for i in x:
            y[i] += x[0]

    run(3)
    assert y.to_numpy().tolist() == [101.0] * 63 + [100 - 63.0]


def test_reductions(ti):
    n = 1000 if ti.cfg.arch == "python" else 100_000
    x = ti.field(ti.i32, n)
    total, least, most = ti.field(ti.i64, ()), ti.field(ti.i32, ()), ti.field(ti.i32, ())

    @ti.kernel
    def run() -> ti.i32:
        count = 0
        for i in x:
            x[i] = (i * 7919) % 10007 - 5000
        for i in x:
            total[None] += x[i]
            ti.atomic_min(least[None], x[i])
            ti.atomic_max(most[None], x[i])
            if x[i] % 3 == 0:
                count += 1
        return count

    values = np.arange(n, dtype=np.int64) * 7919
    values = (values.astype(np.int32) % 10007 - 5000).astype(np.int64)
    assert run() == int((values % 3 == 0).sum())
    assert (total[None], least[None], most[None]) == (values.sum(), min(values.min(), 0), max(values.max(), 0))


def test_reductions_of_vectors(ti):
    v = ti.Vector.field(3, ti.f64, 500)
    total = ti.Vector.field(3, ti.f64, ())

    @ti.kernel
    def run() -> ti.types.vector(3, ti.f64):
        for i in v:
            v[i] = ti.Vector([i, 2 * i, 1], ti.f64)
        local = ti.Vector([0.0, 0.0, 0.0], ti.f64)
        for i in v:
            total[None] += v[i]
            local += v[i]
        return local

    expected = [500 * 499 / 2, 500 * 499, 500]
    assert run().to_list() == pytest.approx(expected)
    assert total.to_numpy().tolist() == pytest.approx(expected)


def test_indices_of_loops_are_values(ti):
    x = ti.field(ti.i32, 6)

    @ti.kernel
    def run():
        for i in range(6):
            j = i
            j += 10
            x[i] = j

    run()
    assert x.to_numpy().tolist() == [10, 11, 12, 13, 14, 15]


def test_many_iterations(ti):
    if ti.cfg.arch == "python":
        pytest.skip("a million iterations of plain Python take long")
    n = 3_000_017
    x = ti.field(ti.i8, n)

    @ti.kernel
    def run() -> ti.i32:
        total = 0
        for i in range(n):
            x[i] += i % 3
            total += 1
        return total

    assert run() == n
    assert (x.to_numpy() == np.arange(n) % 3).all()


@pytest.mark.filterwarnings("ignore::weft.PrecisionWarning")
def test_bounds_that_are_floats(ti):
    """They are cut to integers, as in Taichi, where Python takes none."""
    x = ti.field(ti.i32, 10)

    @ti.kernel
    def run(end: ti.f32):
        for i in range(end):
            x[i] += 1
        for i in range(10 / 2, 2.5 + end):
            x[i] += 10
        for _ in range(1):
            for i in range(1.5, end):
                x[i] += 100

    run(3.75)
    assert x.to_numpy().tolist() == [1, 101, 101, 0, 0, 10, 0, 0, 0, 0]


def test_a_box_without_axes_has_one_index(ti):
    x, y = ti.field(ti.i32, ()), ti.field(ti.i32, (2, 3))

    @ti.kernel
    def run(f: ti.template()) -> ti.i32:
        total = 0
        for I in ti.grouped(ti.ndrange(*f.shape)):
            f[I] += 1
            total += 1
        for _ in range(1):
            for I in ti.grouped(ti.ndrange()):
                x[I] += 0
                total += 10
        for _ in ti.static(ti.grouped(ti.ndrange())):
            total += 100
        return total

    assert (run(x), run(y)) == (111, 116)
    assert x[None] == 1
    assert (y.to_numpy() == 1).all()

    @ti.kernel
    def without_vector():
        for i in ti.ndrange():
            x[None] = i

    with pytest.raises(CompilationError, match="without axes has no index"):
        without_vector()


def test_accesses_of_one_iteration_to_one_place_stay_in_order(ti):
    """Sums may be made in any order, but not where the rounds of a loop inside see what came of them."""
    seen, kept, mixed = ti.field(ti.i32, (4, 1000)), ti.field(ti.i32, (4, 1000)), ti.field(ti.i32, ())
    s, t = ti.field(ti.i32, ()), ti.field(ti.i32, ())

    @ti.kernel
    def run(rounds: ti.i32):
        for i in range(4):
            for j in range(rounds):
                if i == 1:
                    s[None] += 1
                    seen[i, j] = s[None]
        for i in range(4):
            for j in range(rounds):
                if i == 2:
                    t[None] += j
                    if j % 10 == 9:
                        t[None] = 0
                    kept[i, j] = t[None]
        for i in range(4):
            for _ in range(rounds):
                if i == 3:
                    mixed[None] += 1
                    ti.atomic_min(mixed[None], 50)

    run(1000)
    numbers = np.arange(1000)
    expected = np.zeros((4, 1000), np.int32)
    expected[1] = numbers + 1
    np.testing.assert_array_equal(seen.to_numpy(), expected)
    first = numbers - numbers % 10
    expected = np.zeros((4, 1000), np.int32)
    expected[2] = np.where(numbers % 10 == 9, 0, (first + numbers) * (numbers - first + 1) // 2)
    np.testing.assert_array_equal(kept.to_numpy(), expected)
    assert mixed[None] == 50
