"""What `ti.static` makes of what is known only at run time: scalars are values, read where `static` stands; vectors,
matrices and structs get another name."""

import numpy as np
import pytest


def _numbers(ti):
    k = ti.field(ti.i32, 4)
    k.from_numpy(np.array([1, 2, 3, 4], np.int32))
    return k


def test_scalars_are_read_where_static_stands(ti):
    k, out = _numbers(ti), ti.field(ti.i32, 8)

    @ti.kernel
    def run():
        one, local = ti.static(k[3]), 1
        several = ti.static([k[0], k[1] + 1, local, local + 1])
        first, second = ti.static(k[0], k[1])
        named = ti.static({"a": k[2]})
        for i in range(4):
            k[i] = 50
        local += 10
        out[0] = one
        for i in ti.static(range(4)):
            out[1 + i] = several[i]
        out[5], out[6], out[7] = first, second, named["a"]

    run()
    assert out.to_numpy().tolist() == [4, 1, 3, 1, 2, 1, 2, 3]


def test_loops_over_what_changes_in_them(ti):
    k, out = _numbers(ti), ti.field(ti.i32, 3)

    @ti.kernel
    def run():
        total = 0
        for x in ti.static([k[0], k[1], total + 7]):
            k[1] = 90
            total += x
        out[0] = total
        for i, x in ti.static(enumerate([k[0], k[2]])):
            k[2] = 9
            out[1] += x * (1 + i)
        for i, x in ti.static(zip((2, 3), [k[2], k[3]])):
            k[3] = 70
            out[2] += i * x

    run()
    assert out.to_numpy().tolist() == [1 + 2 + 7, 1 + 2 * 3, 2 * 9 + 3 * 4]


def test_effects_happen_once(ti):
    k, out = _numbers(ti), ti.field(ti.i32, 2)

    @ti.func
    def next_one():
        return ti.atomic_add(k[0], 1)

    @ti.kernel
    def run():
        drawn = ti.static([next_one(), next_one()])
        out[0] = 100 * drawn[0] + 10 * drawn[1] + drawn[0]
        for x in ti.static([next_one(), next_one()]):
            out[1] += x * x

    run()
    assert k[0] == 5
    assert out.to_numpy().tolist() == [121, 9 + 16]


def test_values_keep_their_types(ti):
    k, out = ti.field(ti.u8, 2), ti.field(ti.i32, 2)
    k.fill(250)

    @ti.kernel
    def run():
        x, several = ti.static(k[0]), ti.static([k[1]])
        y, z = x, several[0]
        y += 10
        z += 11
        out[0], out[1] = y, z

    run()
    assert out.to_numpy().tolist() == [4, 5]


def test_in_parallel_loops_and_around_them(ti):
    k, out = _numbers(ti), ti.field(ti.i32, 2)

    @ti.kernel
    def run():
        for i in range(4):
            for x in ti.static([k[i], i + 1]):
                out[0] += x
        for x in ti.static([k[0], k[3]]):
            for _ in range(4):
                out[1] += x

    run()
    assert out.to_numpy().tolist() == [20, 20]


def test_vectors_and_structs_get_another_name(ti):
    inner = ti.types.struct(a=ti.i32, b=ti.f32)
    outer = ti.types.struct(s=inner, v=ti.types.vector(2, ti.i32))
    vectors, structs = ti.Vector.field(2, ti.i32, 4), outer.field(shape=3)

    @ti.kernel
    def run() -> ti.i32:
        i = 1
        v, s = ti.static(vectors[i], structs[i])
        i = 2  # (the place is that of before)
        v[0] = 7
        s.s.a = 5
        v = ti.Vector([v[0] + 1, 3])
        for one in ti.static([vectors[0], vectors[3]]):
            one[1] += 9
        w = ti.Vector([1, 2])
        other = ti.static(w)
        w = ti.Vector([30, 40])
        other[1] = 6
        w += 1
        before = ti.atomic_add(w, ti.Vector([2, 2]))
        q = inner(a=1, b=2)
        same = ti.static(q)
        q = inner(a=2, b=3)
        same.a += 100
        return w[0] + w[1] + other[0] + q.a + 1000 * before[1]

    assert run() == 33 + 9 + 33 + 102 + 1000 * 7
    assert vectors.to_numpy().tolist() == [[0, 9], [8, 3], [0, 0], [0, 9]]
    assert [structs[i].s.a for i in range(3)] == [0, 5, 0]

    @ti.kernel
    def whole():
        s = ti.static(structs[2])
        s = outer(s=inner(a=4, b=0.5), v=ti.Vector([1, 2]))  # noqa: F841

    whole()
    assert (structs[2].s.a, structs[2].s.b, structs[2].v[1]) == (4, 0.5, 2)


def test_values_cannot_be_assigned(ti):
    k = _numbers(ti)

    @ti.kernel
    def a_name():
        x = ti.static(k[3])
        x = 5  # noqa: F841

    @ti.kernel
    def an_item():
        several = ti.static([k[0], k[1]])
        several[0] = 5

    @ti.kernel
    def updated():
        x = ti.static(k[3])
        x += 5

    @ti.kernel
    def atomic():
        for x in ti.static([k[0], k[1]]):
            ti.atomic_add(x, 5)

    @ti.func
    def change(x: ti.template()):
        x = 5  # noqa: F841

    @ti.kernel
    def passed():
        for x in ti.static([k[0], k[1]]):
            change(x)

    wanted = r"the result of ti.static\(...\) is a value, which cannot be assigned"
    for kernel in (a_name, an_item, updated, passed):
        with pytest.raises(ti.TaichiCompilationError, match=wanted):
            kernel()
    with pytest.raises(ti.TaichiCompilationError, match="must be given an element of a field or array"):
        atomic()
    assert k.to_numpy().tolist() == [1, 2, 3, 4]


def test_a_comprehension_over_what_calls_give(ti):
    """Calls that are passed variables: such a call may change them."""

    @ti.data_oriented
    class Tool:
        @ti.func
        def mixed(self, a, b: ti.template()):
            b += 1
            return a * 10 + b

    tool = Tool()

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        total, k = 0, n
        for one in ti.static([q for q in (tool.mixed(k, k), 3, tool.mixed(2, k)) if True]):
            total = total * 100 + one
        return total * 10 + k

    assert run(1) == ((1 * 10 + 2) * 10000 + 300 + 23) * 10 + 3
