"""Control flow: conditions, short circuits, loops and how they end, static loops and ifs."""

import numpy as np
import pytest


def test_and_or_not_stop_early(ti):
    calls = ti.field(ti.i32, ())

    @ti.func
    def touched(x):
        calls[None] += 1
        return x

    @ti.kernel
    def run(a: ti.i32, b: ti.i32, c: ti.i32) -> ti.i32:
        result = 0
        if touched(a) and touched(b):
            result += 1
        if touched(b) or touched(c):
            result += 10
        if not touched(a) or (touched(b) and not touched(c)):
            result += 100
        return result

    for a in (0, 1):
        for b in (0, 2):
            for c in (0, 4):
                calls[None] = 0
                count = 0

                def seen(x):
                    nonlocal count
                    count += 1
                    return x

                expected = bool(seen(a) and seen(b)) + 10 * bool(seen(b) or seen(c))
                expected += 100 * bool(not seen(a) or (seen(b) and not seen(c)))
                assert (run(a, b, c), calls[None]) == (expected, count)


def test_values_of_and_or_are_truths(ti):
    @ti.kernel
    def run(a: ti.i32, b: ti.i32) -> ti.types.vector(3, ti.i32):
        return ti.Vector([int(a > 0 and b > 0), int(a > 0 or b > 0), int(not a)])

    assert run(5, 0).to_list() == [0, 1, 0]
    assert run(0, 0).to_list() == [0, 0, 1]


def test_guards_protect_what_follows(ti):
    ti.init(arch=ti.cfg.arch, debug=True)
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def run(i: ti.i32) -> ti.i32:
        return 7 if i >= 0 and i < 4 and x[i] == 0 else 3

    assert [run(i) for i in (-1, 0, 3, 4)] == [3, 7, 7, 3]


def test_chained_comparisons(ti):
    calls = ti.field(ti.i32, ())

    @ti.func
    def middle(x):
        calls[None] += 1
        return x

    @ti.kernel
    def run(a: ti.i32, b: ti.i32, c: ti.i32) -> ti.i32:
        return int(a < middle(b) <= c) + 2 * int(a == b != c) + 4 * int(a > b < c)

    for a in range(3):
        for b in range(3):
            for c in range(3):
                calls[None] = 0
                assert run(a, b, c) == (a < b <= c) + 2 * (a == b != c) + 4 * (a > b < c)
                assert calls[None] == 1


def test_conditional_expressions(ti):
    @ti.kernel
    def run(a: ti.f32) -> ti.types.vector(4, ti.f32):
        nested = 1 if a < 0 else (2 if a == 0 else 3)
        mixed = 1 if a < 0 else 2.5
        vector = ti.Vector([1.0, 2.0]) if a < 0 else ti.Vector([3.0, a])
        return ti.Vector([nested, mixed, vector[0], vector[1]], ti.f32)

    assert run(-1).to_list() == [1, 1, 1, 2]
    assert run(0).to_list() == [2, 2.5, 3, 0]
    assert run(8).to_list() == [3, 2.5, 3, 8]


def test_only_one_side_of_a_conditional_expression_runs(ti):
    ti.init(arch=ti.cfg.arch, debug=True)
    x = ti.field(ti.i32, 2)

    @ti.kernel
    def run(i: ti.i32) -> ti.i32:
        return x[i] + 5 if i < 2 else -1

    assert [run(1), run(2), run(1000)] == [5, -1, -1]


def test_select_takes_vectors_and_evaluates_both(ti):
    @ti.kernel
    def run(a: ti.i32) -> ti.types.vector(3, ti.f32):
        v = ti.Vector([1.0, 2.0, 3.0])
        return ti.select(ti.Vector([a > 0, a > 1, a > 2]), v, -v)

    assert run(2).to_list() == [1, 2, -3]


@pytest.mark.parametrize(
    "bounds", [(0, 5, 1), (2, 9, 3), (9, 0, -2), (5, 5, 1), (5, 2, 1), (0, 5, -1), (-3, 4, 2), (7, -8, -5)]
)
def test_ranges(ti, bounds):
    begin, end, step = bounds
    x = ti.field(ti.i32, 32)

    @ti.kernel
    def parallel(a: ti.i32, b: ti.i32):
        for i in range(a, b, step):
            x[i + 10] += i

    @ti.kernel
    def serial(a: ti.i32, b: ti.i32) -> ti.i32:
        total = 0
        for _ in range(1):
            for i in range(a, b, step):
                total = total * 3 + i
        return total

    parallel(begin, end)
    expected, total = np.zeros(32, np.int32), 0
    for i in range(begin, end, step):
        expected[i + 10] += i
        total = total * 3 + i
    assert x.to_numpy().tolist() == expected.tolist()
    assert serial(begin, end) == total


def test_ranges_with_a_step_known_at_run_time(ti):
    @ti.kernel
    def run(a: ti.i32, b: ti.i32, c: ti.i32) -> ti.i32:
        total = 0
        for _ in range(1):
            for i in range(a, b, c):
                total = total * 3 + i
        return total

    for a, b, c in [(0, 7, 2), (7, 0, -2), (0, 7, -1), (3, 3, 5)]:
        total = 0
        for i in range(a, b, c):
            total = total * 3 + i
        assert run(a, b, c) == total


LAST = 2**31 - 1


@pytest.mark.parametrize(
    ("begin", "end"), [(LAST - 9, LAST), (LAST, 9 - LAST), (LAST, LAST), (-LAST - 1, 8 - LAST), (9 - LAST, -LAST - 1)]
)
def test_ranges_at_the_ends_of_their_type(ti, begin, end):
    @ti.kernel
    def run(a: ti.i32, b: ti.i32) -> ti.i64:
        total = ti.i64(0)
        for _ in range(1):
            for i in range(a, b):
                total = total * 3 + i
        return total

    total = 0
    for i in range(begin, end):
        total = total * 3 + i
    assert run(begin, end) == total


def test_ranges_between_numbers_without_sign(ti):
    @ti.kernel
    def run(a: ti.u32, b: ti.u32) -> ti.i64:
        total = ti.i64(0)
        for _ in range(1):
            for i in range(a, b):
                total = total * 3 + i
        return total

    for a, b in [(2, 9), (2**32 - 9, 2**32 - 2), (2**31 - 5, 2**31 + 5), (2**32 - 1, 0)]:
        total = 0
        for i in range(a, b):
            total = total * 3 + i
        assert run(a, b) == total


def test_break_and_continue(ti):
    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        total = 0
        for _ in range(1):
            for i in range(n):
                if i % 3 == 1:
                    continue
                if i > 10:
                    break
                for j in range(i):
                    if j == 4:
                        break
                    if j % 2:
                        continue
                    total += 100
                total += i
        return total

    def expected(n):
        total = 0
        for i in range(n):
            if i % 3 == 1:
                continue
            if i > 10:
                break
            total += sum(100 for j in range(min(i, 4)) if j % 2 == 0) + i
        return total

    assert [run(n) for n in (0, 1, 5, 30)] == [expected(n) for n in (0, 1, 5, 30)]


def test_continue_in_a_parallel_loop(ti):
    x = ti.field(ti.i32, 20)

    @ti.kernel
    def run():
        for i in x:
            if i % 2 == 0:
                continue
            if i > 15:
                x[i] = -1
                continue
            x[i] = i

    run()
    assert x.to_numpy().tolist() == [0 if i % 2 == 0 else -1 if i > 15 else i for i in range(20)]


def test_while_loops(ti):
    @ti.kernel
    def collatz(start: ti.i32) -> ti.i32:
        n, steps = start, 0
        while n > 1:
            steps += 1
            if n % 2 == 0:
                n //= 2
                continue
            n = 3 * n + 1
        return steps

    @ti.kernel
    def endless(limit: ti.i32) -> ti.i32:
        i = 0
        while True:
            i += 1
            j = 0
            while j < i:
                j += 2
                if j == 7:
                    break
            if i * j > limit:
                break
        return i

    def expected(limit):
        i = 0
        while True:
            i += 1
            j = 0
            while j < i:
                j += 2
                if j == 7:
                    break
            if i * j > limit:
                return i

    assert [collatz(n) for n in (1, 7, 27)] == [0, 16, 111]
    assert [endless(n) for n in (0, 100, 999)] == [expected(n) for n in (0, 100, 999)]


def test_ifs_in_every_shape(ti):
    @ti.kernel
    def run(a: ti.i32) -> ti.i32:
        r = 0
        if a > 10:
            r = 1
        elif a > 5:
            r = 2
            if a == 7:
                r = 3
        elif a:
            pass
        else:
            r = 4
        return r

    assert [run(a) for a in (11, 6, 7, 3, 0)] == [1, 2, 3, 0, 4]


def test_static_loops_and_ifs(ti):
    table = [3, 1, 4]

    @ti.kernel
    def run() -> ti.i32:
        total = 0
        for i in ti.static(range(3)):
            for j in ti.static(range(i)):
                total += table[i] * 10**j
            if ti.static(i == 1):
                total += 1000
            elif ti.static(i == 2):
                total += 2000
            else:
                total += 4000
        for k, v in ti.static(enumerate(table)):
            total += k * v * 10000
        for a, b in ti.static(zip((1, 2), (3, 4))):
            total += a * b * 1_000_000
        for i, j in ti.static(ti.ndrange(2, 2)):
            total += (i + j) * 100_000_000
        return total

    assert run() == 1 + 44 + 7000 + 9 * 10000 + 11 * 1_000_000 + 4 * 100_000_000


def test_static_lists_of_what_is_computed(ti):
    """Their items mean what they mean elsewhere: integers wrap around, and shifts take the amount modulo the width."""

    @ti.kernel
    def run(a: ti.types.ndarray(ti.i32, 1), n: ti.u8) -> ti.types.vector(4, ti.i64):
        r = ti.Vector([0, 0, 0, 0], ti.i64)
        for k, v in ti.static(enumerate([a[1], a[0] << (n + 22), (lambda q: q * 2 - a[1])(a[0]), n // 0])):
            r[k] += v
        for v in ti.static([v * k for k in range(2) for v in (a[0], n)]):
            r[3] = r[3] * 1000 + v
        kept = ti.static((a[1], n - 11))
        return r + ti.Vector([kept[0], kept[1], 0, 0], ti.i64)

    a = np.array([5, 2**31 - 1], np.int32)
    assert [*run(a, 10)] == [2 * (2**31 - 1), 5 - 1, 10 - (2**31 - 1), 5010]


def test_static_loops_with_break_and_continue(ti):
    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        total = 0
        for i in ti.static(range(6)):
            if ti.static(i == 1):
                continue
            if ti.static(i == 4):
                break
            total += i
        return total + n

    assert run(0) == 0 + 2 + 3


def test_static_sides_may_be_nonsense(ti):
    @ti.kernel
    def run(flag: ti.template()) -> ti.i32:
        result = 0
        if ti.static(flag):
            result = 5
        else:
            result = flag.nothing_like_that
        return result

    assert run(True) == 5


def test_swaps_and_tuples(ti):
    @ti.kernel
    def run(x: ti.i32, y: ti.i32) -> ti.types.vector(4, ti.i32):
        a, b = x, y
        a, b = b, a
        c = d = a + b
        (e, f), g = (a, b), c
        e, f, g = f, g, e
        d += 1
        return ti.Vector([e, f, g, d])

    assert run(1, 2).to_list() == [1, 3, 2, 4]


def test_fibonacci_by_swapping(ti):
    @ti.kernel
    def run(n: ti.i32) -> ti.i64:
        a, b = ti.i64(0), ti.i64(1)
        for _ in range(1):
            for _ in range(n):
                a, b = b, a + b
        return a

    assert run(90) == 2880067194370816120


def test_named_expressions_assign_to_the_variable_that_is_there(ti):
    """It stays the same variable in conditions, loops and blocks, and what stands before it reads the old value."""
    x = ti.field(ti.i32, 10)
    x.fill(1)
    pair = ti.types.struct(a=ti.i32, b=ti.f32)

    @ti.func
    def twice(a):
        return a * 2

    @ti.kernel
    def run(n: ti.i32) -> ti.types.vector(9, ti.i32):
        s, t, u = 0, 0, 0
        ti.loop_config(serialize=True)
        for _ in range(n):
            if (s := s + n) % 2 == 0:
                t += s
            while (u := u + 1) % 4 != 0:
                t += 1000
        a = 1
        b = a + (a := 5) * 10 + a * 100
        c = twice(a := a + 1) + twice(a)
        d = (a := 70) if n > 100 else a
        e = int(n > 3 and (a := 8) > 7)
        p = pair(1, 2.0)
        f = p.a + (p := pair(5, 6.0)).a * 10 + p.a * 100
        g = (made := n) + made
        return ti.Vector([s, t, u, b, c, d, e, f, g + a])

    @ti.kernel
    def shared() -> ti.i32:
        s = 0
        for i in x:
            if (s := s + x[i]) < 0:
                x[i] = 3
        return s

    def wanted(n):
        s = t = u = 0
        for _ in range(n):
            if (s := s + n) % 2 == 0:
                t += s
            while (u := u + 1) % 4 != 0:
                t += 1000
        return [s, t, u, 551, 24, 6, int(n > 3), 551, 2 * n + (8 if n > 3 else 6)]

    assert run(3).to_list() == wanted(3)
    assert run(5).to_list() == wanted(5)
    assert shared() == 10


def test_chains_of_comparisons_end_at_the_first_that_is_false(ti):
    calls = ti.field(ti.i32, ())

    @ti.func
    def bump(t: ti.template()):
        t += 1
        calls[None] += 1
        return t

    @ti.kernel
    def run(n: ti.i32) -> ti.types.vector(4, ti.i32):
        s = n
        a = int(s < bump(s) < s + 1)
        b = int(s > bump(s) > bump(s)) + int(s * 2 > bump(s) > s - 1)
        return ti.Vector([a, b, s, int(0 <= n < 4 == 4)])

    assert run(1).to_list() == [1, 1, 4, 1]
    assert calls[None] == 3
