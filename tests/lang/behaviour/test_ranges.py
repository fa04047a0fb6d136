"""Ranges as long as they get, and at the ends of their types."""

import numpy as np
import pytest

from weft.runtime.errors import KernelFault

LAST = 2**31 - 1
WIDEST = 2**63 - 1


def hashed(numbers):
    total = 0
    for number in numbers:
        total = (total * 3 + number + 2**63) % 2**64 - 2**63
    return total


LONG = [
    *((LAST - 9, LAST, 5), (-LAST, LAST, LAST), (LAST, -LAST - 1, -LAST - 1), (LAST, -LAST - 1, -LAST)),
    *((-LAST - 1, LAST, LAST // 2), (LAST, 9 - LAST, 1 - LAST // 2), (LAST - 1, LAST, LAST), (9 - LAST, -LAST - 1, -4)),
    *((0, -LAST - 1, LAST), (LAST, LAST - 1, 2)),
]


@pytest.mark.parametrize(("begin", "end", "step"), LONG)
def test_steps_near_the_ends_of_the_type(ti, begin, end, step):
    @ti.kernel
    def known(a: ti.i32, b: ti.i32) -> ti.i64:
        total = ti.i64(0)
        for _ in range(1):
            for i in range(a, b, step):
                total = total * 3 + i
        return total

    @ti.kernel
    def computed(a: ti.i32, b: ti.i32, c: ti.i32) -> ti.i64:
        total = ti.i64(0)
        for _ in range(1):
            for i in range(a, b, c):
                total = total * 3 + i
        return total

    @ti.kernel
    def parallel(a: ti.i32, b: ti.i32, c: ti.i32, sums: ti.types.ndarray()):
        for i in range(a, b, step):
            sums[0] += ti.i64(i) * i
        for i in range(a, b, c):
            sums[1] += ti.i64(i) * i

    numbers, sums = range(begin, end, step), np.zeros(2, np.int64)
    parallel(begin, end, step, sums)
    assert known(begin, end) == computed(begin, end, step) == hashed(numbers)
    assert sums.tolist() == [(sum(i * i for i in numbers) + 2**63) % 2**64 - 2**63] * 2


def test_long_ranges_that_are_left_early(ti):
    @ti.kernel
    def run(a: ti.i32, b: ti.i32, c: ti.i32) -> ti.types.vector(4, ti.i64):
        found = ti.Vector([0, 0, 0, 0], ti.i64)
        for _ in range(1):
            for i in range(a, b, 1):
                found[0] = i
                if i > a + 3:
                    break
            for i in range(b, a, -1):
                found[1] = i
                if i < b - 3:
                    break
            for i in range(a, b, c):
                found[2] = i
                if i > a + 3 * c:
                    break
            for _, j in ti.ndrange((a, b), (a, b)):
                found[3] = j
                if j > a + 3:
                    break
        return found

    begin = -LAST - 1
    assert run(begin, LAST, 1).to_list() == [begin + 4, LAST - 4, begin + 4, begin + 4]
    assert run(begin, LAST, 2).to_list() == [begin + 4, LAST - 4, begin + 8, begin + 4]


FAR = [
    *((WIDEST - 5, WIDEST), (WIDEST, -WIDEST), (-WIDEST - 1, 4 - WIDEST)),
    *((2**40, 2**40 + 9), (WIDEST - 70, WIDEST - 1)),
]


@pytest.mark.parametrize(("begin", "end"), FAR)
def test_wide_ranges(ti, begin, end):
    @ti.kernel
    def run(a: ti.i64, b: ti.i64, c: ti.i64, sums: ti.types.ndarray()) -> ti.i64:
        for i in range(a, b):
            sums[0] += i ^ 1
        for i in range(b, a, -c):
            sums[1] += i ^ 1
        for i, j in ti.ndrange((a, b), (0, 2)):
            sums[2] += (i ^ 1) + j
        for index in ti.grouped(ti.ndrange(2, (a, b))):
            sums[3] += (index[1] ^ 1) + index[0]
        total = ti.i64(0)
        ti.loop_config(serialize=True)
        for i in range(a, b, c):
            total = total * 3 + i
        return total

    def wrapped(x):
        return (x + 2**63) % 2**64 - 2**63

    sums, numbers = np.zeros(4, np.int64), range(begin, end)
    assert run(begin, end, 2, sums) == hashed(numbers[::2])
    once = sum(i ^ 1 for i in numbers)
    back = sum(i ^ 1 for i in range(end, begin, -2))
    assert sums.tolist() == [wrapped(x) for x in (once, back, 2 * once + len(numbers), 2 * once + len(numbers))]


def test_types_of_indices(ti):
    """An index is as wide as the types of the bounds ask for; what it is multiplied with shows it."""
    n = np.int64(5)

    @ti.kernel
    def run(a: ti.u32, b: ti.u8, c: ti.i64) -> ti.types.vector(6, ti.i64):
        top = ti.Vector([0, 0, 0, 0, 0, 0], ti.i64)
        for _ in range(1):
            for i in range(n):
                top[0] = i * 2**30
            for i in range(ti.i64(5)):
                top[1] = i * 2**30
            for i in range(a):
                top[2] = i * 2**30
            for i in range(b):
                top[3] = i * 2**30
            for _, j in ti.ndrange(2, c):
                top[4] = j * 2**30
            for index in ti.grouped(ti.ndrange(c, b)):
                top[5] = index[1] * 2**30
        return top

    assert run(5, 5, 5).to_list() == [0, 2**32, 2**32, 0, 2**32, 2**32]


def test_a_step_of_zero(ti):
    x = ti.field(ti.i32, ())

    @ti.kernel
    def run(step: ti.i32):
        for _ in range(0, 5, step):
            x[None] += 1
        for _ in range(1):
            for _ in range(5, 0, step):
                x[None] += 1

    run(0)
    assert x[None] == 0

    @ti.kernel
    def known():
        for _ in range(0, 5, ti.i64(0)):
            x[None] += 1

    with pytest.raises(ti.CompilationError, match="the step of a range must not be 0"):
        known()


def test_a_step_of_zero_in_debug(ti):
    ti.init(arch=ti.cfg.arch, debug=True)

    @ti.kernel
    def run(step: ti.i32) -> ti.i32:
        total = 0
        for _ in range(1):
            for i in range(0, 5, step):
                total += i
        return total

    assert run(2) == 6
    with pytest.raises(KernelFault, match="the step of a range is 0"):
        run(0)


def test_bounds_are_computed_once(ti):
    @ti.kernel
    def run(n: ti.i32, step: ti.i32) -> ti.i32:
        total, m, by = 0, n, step
        for _ in range(1):
            for i in range(m - n, m, by):
                m = 2
                by = 5
                total = total * 3 + i
        return total

    assert run(9, 2) == hashed(range(0, 9, 2))


def test_a_static_loop_over_a_box_beyond_all_numbers(ti):
    @ti.kernel
    def run() -> ti.i32:
        total = 0
        for _ in ti.static(ti.ndrange(2**32, 2**32)):
            total += 1
        return total

    with pytest.raises(ti.CompilationError, match="18446744073709551616 times"):
        run()
