"""What statements do in kernels: loops, assignments, atomics, calls of functions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import weft as ti


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    ti.init(arch=ti.cpu)
    yield
    ti.reset()


def test_parallel_loops_over_everything() -> None:
    x, y, v = ti.field(ti.f32, 8), ti.field(ti.i32, (4, 5)), ti.Vector.field(2, ti.f32, 8)
    shifted = ti.field(ti.i32, 4, offset=-2)

    @ti.kernel
    def k():
        for i in range(8):
            v[i] = [i, x[i]]
        for i, j in ti.ndrange(4, (1, 4)):
            y[i, j] = i * 10 + j
        for I in ti.grouped(x):
            x[I] = I[0] * 0.5
        for i in shifted:
            shifted[i] = i * i
        for I in ti.grouped(ti.ndrange(2, 2)):
            y[I + 2] += 100

    k()
    wanted = np.zeros((4, 5), np.int32)
    for i in range(4):
        for j in range(1, 4):
            wanted[i, j] = i * 10 + j
    wanted[2:4, 2:4] += 100
    assert y.to_numpy().tolist() == wanted.tolist()
    assert x.to_numpy().tolist() == [i * 0.5 for i in range(8)]
    assert v.to_numpy()[:, 0].tolist() == list(range(8))
    assert shifted.to_numpy().tolist() == [4, 1, 0, 1]


def test_range_with_begin_and_step() -> None:
    x = ti.field(ti.i32, 10)

    @ti.kernel
    def k() -> ti.i32:
        for i in range(2, 10, 3):
            x[i] = 1
        total = 0
        for _ in range(1):
            for j in range(10, 0, -3):
                total = total * 100 + j
        return total

    assert k() == 10070401
    assert x.to_numpy().tolist() == [0, 0, 1, 0, 0, 1, 0, 0, 1, 0]


def test_serial_loops_break_and_continue() -> None:
    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for i in range(10):
            if i % 2 == 0:
                continue
            j = 0
            while True:
                j += 1
                if j > i:
                    break
                if j == 3:
                    continue
                s += j
        return s

    assert k() == sum(j for i in range(1, 10, 2) for j in range(1, i + 1) if j != 3)


def test_loop_config_serializes_the_next_loop_only() -> None:
    x = ti.field(ti.i32, ())

    @ti.kernel
    def k():
        ti.loop_config(serialize=True)
        for i in range(100):
            if i == 5:
                break
            x[None] = x[None] * 2 + i

    k()
    assert x[None] == 26

    @ti.kernel
    def second():
        ti.loop_config(serialize=True)
        for i in range(2):
            x[None] = i
        for i in range(2):
            if i == 1:
                break

    with pytest.raises(ti.CompilationError, match="parallel"):
        second()


def test_a_loop_under_a_static_if_is_parallel_under_a_plain_one_serial() -> None:
    flag = True
    x = ti.field(ti.i32, ())

    @ti.kernel
    def plain():
        if flag:
            for i in range(9):
                if i == 3:
                    break
                x[None] += 1

    @ti.kernel
    def static():
        if ti.static(flag):
            for i in range(9):
                if i == 3:
                    break

    plain()
    assert x[None] == 3
    with pytest.raises(ti.CompilationError, match="parallel"):
        static()


def test_static_loops_and_their_jumps() -> None:
    @ti.kernel
    def k(n: ti.template()) -> ti.i32:
        s = 0
        for i in ti.static(range(n)):
            if ti.static(i == 1):
                continue
            if ti.static(i == 4):
                break
            s = s * 10 + i
        for i, j in ti.static(ti.ndrange(2, (1, 3))):
            s += i * j
        for D in ti.static(ti.grouped(ti.ndrange((-1, 2), 2))):
            s += D[0] * D.y
        return s

    assert k(10) == 23 + 3
    assert k(2) == 0 + 3


def test_local_variables_of_the_kernel_are_reduced_in_parallel_loops() -> None:
    @ti.kernel
    def k(n: ti.i32) -> ti.types.vector(3, ti.f64):
        total, most, count = ti.f64(0.0), ti.f64(-1.0), 0
        for i in range(n):
            total += i
            ti.atomic_max(most, i * 0.5)
            if i % 3 == 0:
                count += 1
        return ti.Vector([total, most, count])

    assert k(10000).to_list() == [49995000, 4999.5, 3334]


def test_augmented_assignments() -> None:
    x = ti.field(ti.i32, ())

    @ti.kernel
    def k() -> ti.i32:
        a = 7
        a //= 2
        a <<= 3
        a |= 1
        a ^= 3
        a **= 2
        a %= 50
        a &= 0xFF
        a >>= 1
        x[None] += a
        x[None] *= 3
        x[None] -= 1
        x[None] //= 2
        return a

    a = ((((7 // 2) << 3) | 1) ^ 3) ** 2 % 50 >> 1
    assert k() == a
    assert x[None] == (a * 3 - 1) // 2


def test_atomics_give_the_old_value() -> None:
    c = ti.field(ti.i32, ())

    @ti.kernel
    def k() -> ti.types.vector(8, ti.i32):
        c[None] = 10
        a = ti.atomic_add(c[None], 5)
        b = ti.atomic_sub(c[None], 3)
        d = ti.atomic_max(c[None], 50)
        e = ti.atomic_min(c[None], 7)
        f = ti.atomic_and(c[None], 6)
        g = ti.atomic_or(c[None], 9)
        h = ti.atomic_xor(c[None], 5)
        return ti.Vector([a, b, d, e, f, g, h, ti.atomic_mul(c[None], 3)])

    assert k().to_list() == [10, 15, 12, 50, 7, 6, 15, 10]
    assert c[None] == 30


def test_struct_fields_and_nested_layouts() -> None:
    s = ti.Struct.field({"p": ti.types.vector(2, ti.f32), "q": ti.i32}, shape=(3, 3))
    a, b = ti.field(ti.f32), ti.Vector.field(2, ti.f32)
    ti.root.dense(ti.ij, (4, 4)).dense(ti.ij, (2, 2)).place(a, b)

    @ti.kernel
    def k() -> ti.f32:
        for i, j in s:
            s[i, j].p = ti.Vector([i, j])
            s[i, j].q += i * j
            s.q[i, j] += 1
        for I in ti.grouped(s):
            s[I].p += s[I].q
        for i, j in a:
            a[i, j] = i * 8 + j
            b[i, j] = [i, j]
        one = s[1, 2]
        one.p.x = 50
        return one.p.x + s[2, 2].p.y + one.q

    assert k() == 50 + 7 + 3
    assert (a.to_numpy() == np.arange(64).reshape(8, 8)).all()
    assert b.to_numpy()[3, 5].tolist() == [3, 5]


# ---- functions -------------------------------------------------------------------------------------------------------


def test_functions_by_value_and_by_reference() -> None:
    x = ti.field(ti.f32, 4)

    @ti.func
    def changed(a):
        a += 100
        return a

    @ti.func
    def increase(a: ti.template(), by):
        a += by

    @ti.func
    def swap(a: ti.template(), b: ti.template()):
        t = a
        a = b
        b = t

    @ti.func
    def of(f: ti.template(), i):
        return f[i] * 2

    @ti.kernel
    def k() -> ti.f32:
        a, b = 1, 2
        changed(a)
        swap(a, b)
        increase(x[2], 5)
        v = ti.Vector([1.0, 2.0])
        increase(v, 1)
        increase(v.x, 10)
        return a * 10 + b + of(x, 2) + v.x + v.y + changed(1)

    assert k() == 21 + 10 + 12 + 3 + 101


def test_early_returns_and_several_values() -> None:
    @ti.func
    def find(n, wanted):
        for i in range(n):
            if i * i == wanted:
                return i
        return -1

    @ti.func
    def sides(a):
        if a > 2:
            return a, a * 0.5
        return 0, 1.5

    @ti.func
    def pair(a, b):
        return a + b, a - b

    @ti.kernel
    def k(n: ti.i32) -> (ti.i32, ti.i32, ti.f32, ti.i32):
        low, high = sides(n)
        p = pair(n, 1)
        if n > 50:
            return 0, 0, 0, 0
        return find(10, n), low, high, p[0] * p[1]

    assert k(16) == (4, 16, 8.0, 255)
    assert k(2) == (-1, 0, 1.5, 3)
    assert k(60) == (0, 0, 0, 0)


def test_arguments_of_functions() -> None:
    @ti.func
    def f(a: ti.f32, b=2, *, scale=3):
        return a / 2 + b * scale

    @ti.func
    def total(*values):
        s = 0
        for v in ti.static(values):
            s += v
        return s

    @ti.kernel
    def k() -> ti.f32:
        return f(1) + f(1, scale=2) + f(b=5, a=3) + total(1, 2, 3)

    assert k() == 6.5 + 4.5 + 16.5 + 6


def test_template_recursion_ends() -> None:
    @ti.func
    def triangle(n: ti.template()):
        r = 0
        if ti.static(n > 0):
            r = triangle(n - 1) + n
        return r

    @ti.kernel
    def k() -> ti.i32:
        return triangle(4)

    assert k() == 10


def test_plain_functions_are_inlined() -> None:
    def twice(a):
        return a * 2

    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        return twice(a) + ti.static(twice(3))

    assert k(4) == 14


def test_return_inside_nested_serial_loops_of_a_kernel() -> None:
    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        i = 0
        while i < 100:
            for j in range(10):
                if i * j == n:
                    return i * 100 + j
            i += 1
        return -1

    assert k(42) == 607
    assert k(1000003) == -1
