"""What a running kernel says: printed text, failed assertions, accesses out of bounds."""

import numpy as np
import pytest

from weft.ir.errors import WeftError


def test_printing(ti, capsys):
    kind = ti.types.struct(a=ti.i32, b=ti.f32)

    @ti.kernel
    def run(n: ti.i32, x: ti.f32):
        print("n =", n, "x =", x, x > 0)
        print(ti.Vector([n, n + 1]), ti.Matrix([[x, 1.0], [2.0, 3.0]]))
        print(f"{n} and {x:.3f}, {ti.Vector([n, 2])}")
        print(n, n, sep=", ", end="!\n")
        print()
        print("no values", "at all")
        print(ti.cast(-1, ti.u8), ti.i64(2**40), ti.cast(0.25, ti.f64))
        s = kind(a=n, b=x)
        print(s.a, s.b)

    run(-3, 0.5)
    ti.sync()
    assert capsys.readouterr().out.splitlines() == [
        "n = -3 x = 0.5 True",
        "[-3, -2] [[0.5, 1.0], [2.0, 3.0]]",
        "-3 and 0.500, [-3, 2]",
        "-3, -3!",
        "",
        "no values at all",
        "255 1099511627776 0.25",
        "-3 0.5",
    ]


def test_printing_from_loops(ti, capsys):
    @ti.kernel
    def run():
        for i in range(20):
            if i % 5 == 0:
                print("line", i, i * 0.5)

    run()
    ti.sync()
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == sorted(f"line {i} {i * 0.5}" for i in (0, 5, 10, 15))


def test_static_printing(ti, capsys):
    x = ti.field(ti.i32, (2, 3))

    @ti.kernel
    def run():
        ti.static_print(x.shape, ti.static(1 + 2))

    run()
    assert "(2, 3) 3" in capsys.readouterr().out


def test_assertions(ti):
    ti.init(arch=ti.cfg.arch, debug=True)
    x = ti.field(ti.i32, 8)

    @ti.kernel
    def run(limit: ti.i32):
        for i in x:
            assert i < limit, f"index {i} is not below {limit}"
            x[i] = 1

    run(8)
    assert x.to_numpy().tolist() == [1] * 8
    with pytest.raises(AssertionError, match=r"index \d is not below 3"):
        run(3)
    run(8)


def test_assertions_without_debug(ti):
    @ti.kernel
    def run(a: ti.i32) -> ti.i32:
        assert a > 0
        return a

    assert run(-1) == -1


@pytest.mark.parametrize("debug", [False, True])
def test_what_an_assertion_changes(ti, debug):
    """The condition is evaluated with and without debug, the message where it fails."""
    ti.init(arch=ti.cfg.arch, debug=debug)
    x = ti.field(ti.i32, 8)

    @ti.func
    def counted(i):
        x[i] += 1
        return x[i]

    @ti.func
    def two(i):
        x[i] += 1
        return x[i], i

    @ti.kernel
    def run():
        assert counted(0) > 0
        assert counted(1) > 0, f"{counted(2)} {two(2)}"
        assert counted(3) > 100 or counted(4) > 0
        for _ in range(10):
            assert counted(5) > 0 and two(6)[0] > 0, f"{counted(2)}"  # noqa: PT018

    run()
    assert x.to_numpy().tolist() == [1, 1, 0, 1, 1, 10, 10, 0]


def test_a_message_fails_after_its_assertion(ti):
    ti.init(arch=ti.cfg.arch, debug=True)
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def run(i: ti.i32):
        assert i < 4, f"i is {i}, and {x[i % 4]} {12 // (i - 3)}"

    run(3)
    with pytest.raises(AssertionError, match=r"i is 5, and 0 6$"):
        run(5)


def test_static_assertions(ti):
    @ti.kernel
    def run(n: ti.template()) -> ti.i32:
        ti.static_assert(n < 5, "n is too large")
        return n

    assert run(3) == 3
    with pytest.raises((WeftError, AssertionError), match="n is too large"):
        run(7)


@pytest.mark.parametrize("index", [-1, 4, 1_000_000, -(2**31)])
def test_bounds_of_fields(ti, index):
    ti.init(arch=ti.cfg.arch, debug=True)
    heat = ti.field(ti.f32, (3, 4), name="heat")

    @ti.kernel
    def read(i: ti.i32) -> ti.f32:
        return heat[1, i]

    @ti.kernel
    def write(i: ti.i32):
        heat[1, i] = 1

    @ti.kernel
    def add(i: ti.i32):
        heat[1, i] += 1

    assert read(3) == 0
    for kernel in (read, write, add):
        with pytest.raises((IndexError, AssertionError), match=str(index)):
            kernel(index)
    assert not heat.to_numpy().any()


def test_bounds_of_arrays(ti):
    ti.init(arch=ti.cfg.arch, debug=True)

    @ti.kernel
    def run(a: ti.types.ndarray(), i: ti.i32) -> ti.f32:
        a[i] += 1
        return a[i]

    a = np.zeros(3, np.float32)
    assert run(a, 2) == 1
    for bad in (-1, 3):
        with pytest.raises((IndexError, AssertionError), match=str(bad)):
            run(a, bad)
    assert a.tolist() == [0, 0, 1]


def test_bounds_in_parallel_loops(ti):
    ti.init(arch=ti.cfg.arch, debug=True)
    x = ti.field(ti.i32, 100)

    @ti.kernel
    def run(shift: ti.i32):
        for i in x:
            x[i + shift] = i

    run(0)
    with pytest.raises((IndexError, AssertionError)):
        run(1)
    run(0)
    assert x.to_numpy().tolist() == list(range(100))


def test_bounds_with_offsets(ti):
    ti.init(arch=ti.cfg.arch, debug=True)
    x = ti.field(ti.i32, 4, offset=-2)

    @ti.kernel
    def run(i: ti.i32):
        x[i] = 1

    run(-2)
    run(1)
    for bad in (-3, 2):
        with pytest.raises((IndexError, AssertionError)):
            run(bad)


def test_bounds_of_vectors(ti):
    ti.init(arch=ti.cfg.arch, debug=True)

    @ti.kernel
    def run(i: ti.i32) -> ti.i32:
        v = ti.Vector([1, 2, 3])
        return v[i]

    assert run(2) == 3
    for bad in (-1, 3):
        with pytest.raises((IndexError, AssertionError)):
            run(bad)


def test_an_error_ends_only_its_launch(ti):
    ti.init(arch=ti.cfg.arch, debug=True)
    x, y = ti.field(ti.i32, 4), ti.field(ti.i32, ())

    @ti.kernel
    def broken():
        x[7] = 1

    @ti.kernel
    def fine() -> ti.i32:
        y[None] += 1
        return y[None]

    for k in range(3):
        with pytest.raises((IndexError, AssertionError)):
            broken()
        assert fine() == k + 1


def test_messages_about_bounds_name_the_array_as_the_source_does(ti):
    ti.init(arch=ti.cfg.arch, debug=True)
    pair = ti.types.struct(p=ti.types.vector(2, ti.f32), m=ti.f32)
    s = pair.field(shape=4)
    v, m = ti.Vector.field(3, ti.f32, 8), ti.Matrix.field(2, 2, ti.f32, ())
    several = [ti.field(ti.f32, 3), ti.field(ti.f32, 4)]

    @ti.func
    def put(where: ti.template(), i):
        where[i] = 2

    @ti.kernel
    def run(what: ti.template(), n: ti.i32):
        if ti.static(what == 0):
            s[n].p.x = 1
        elif ti.static(what == 1):
            s[0].p[n] = 1
        elif ti.static(what == 2):
            v[0][n] = 1
        elif ti.static(what == 3):
            m[None][n, 0] = 1
        elif ti.static(what == 4):
            several[1][n] = 1
        else:
            put(s.m, n)

    for what, message in enumerate(
        ("s[7] is", "s[0].p[7] is", "v[0][7] is", "m[None][7, 0] is", "several[1][7] is", "where[7] is")
    ):
        with pytest.raises(IndexError) as fault:
            run(what, 7)
        assert str(fault.value).splitlines()[-1].startswith(f"{message} out of bounds"), message


def test_faults_say_in_which_iteration(ti):
    ti.init(arch=ti.cfg.arch, debug=True)
    x = ti.field(ti.i32, (4, 4), offset=(-1, 0))

    @ti.func
    def inner(limit):
        for k in range(4):
            assert k < limit, ("the limit is {}", limit)

    @ti.kernel
    def run(what: ti.template(), n: ti.i32):
        if ti.static(what == 0):
            for i, j in ti.ndrange((1, 2), (2, n)):
                x[i, j] = 1
        elif ti.static(what == 1):
            for i in range(3, 7, 3):
                for _ in range(n - 8):
                    inner(n - i)
        elif ti.static(what == 2):
            for where in ti.grouped(x):
                assert where.sum() < n
        elif ti.static(what == 3):
            for i in range(0, 7, n):
                assert i < 5, "by two"
        elif ti.static(what == 4):
            for i in range(n, -1, -1):
                assert i > 2, "down"
        elif ti.static(what == 5):
            for i in range(ti.i64(n)):
                assert i < 3, "of 64 bits"
        else:
            assert n < 0, "no loop"

    for what, n, message in (
        (0, 5, ["x[1, 4] is out of bounds: its shape is (4, 4), from index (-1, 0)", "where i = 1, j = 4"]),
        (1, 9, ["the limit is 3", "where i = 6, _ = 0, k = 3"]),
        (2, 5, ["assert where.sum() < n", "where where0 = 2, where1 = 3"]),
        (3, 2, ["by two", "where i = 6"]),
        (4, 3, ["down", "where i = 2"]),
        (5, 4, ["of 64 bits", "where i = 3"]),
        (6, 5, ["no loop"]),
    ):
        with pytest.raises(AssertionError) as fault:
            run(what, n)
        assert str(fault.value).splitlines()[-len(message) :] == message


@pytest.mark.parametrize("k", [8, 2**32 + 1, 2**63 + 1, 2**64 - 1])
def test_an_unsigned_index_beyond_all_is_out_of_bounds(ti, k):
    ti.init(arch=ti.cfg.arch, debug=True)
    x = ti.field(ti.i32, 8)

    @ti.kernel
    def read(k: ti.u64) -> ti.i32:
        return x[k]

    with pytest.raises(IndexError, match="out of bounds"):
        read(k)
