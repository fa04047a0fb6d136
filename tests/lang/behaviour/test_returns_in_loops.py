"""Functions that return inside of loops, inlined and real."""

import numpy as np
import pytest


def returning_in_loops(ti, mark, x, pair):
    """Functions that return inside of loops of every kind."""

    @mark
    def nested(n: ti.i32, least: ti.i32) -> ti.i32:
        steps = 0
        for i in range(n):
            for j in range(n):
                if i * j > least:
                    return 100 * steps + 10 * i + j
                if j > i:
                    break
                steps += 1
        return -1

    @mark
    def forever(n: ti.i32) -> ti.i32:
        i = 0
        while True:
            i += 1
            if i % 2 == 0:
                continue
            if i > n:
                return i

    @mark
    def of_field(least: ti.i32) -> ti.math.vec2:
        for I in ti.grouped(x):
            if x[I] > least:
                return ti.math.vec2(I[0], x[I])
        return ti.math.vec2(-1, -1)

    @mark
    def of_box(least: ti.i32) -> pair:
        found = pair(a=-1)
        for i, j in ti.ndrange(4, (1, 4)):
            if i * j > least:
                found.a, found.v = i, ti.math.vec2(j)
                return found
        return found

    @mark
    def by_reference(total: ti.template(), n: ti.i32) -> ti.i32:
        for i in range(n):
            total += i
            if total > 5:
                return i
        total = -1
        return n

    return nested, forever, of_field, of_box, by_reference


def returned_in_loops(i):
    """What they return for `i`."""

    def first(points, least, key):
        return next((point for point in points if key(point) > least), None)

    steps, place = 0, -1
    visited = [(p, q) for p in range(4) for q in range(min(4, p + 2))]
    for p, q in visited:
        if p * q > i:
            place = 100 * steps + 10 * p + q
            break
        steps += q <= p
    cell = first(range(8), i, lambda k: 2 * k)
    box = first([(p, q) for p in range(4) for q in range(1, 4)], i, lambda at: at[0] * at[1])
    wanted = [place, i + 1 if i % 2 == 0 else i + 2, *((cell, 2 * cell) if cell is not None else (-1, -1))]
    return [*wanted, *(box if box is not None else (-1, 0)), 6, -1, 3, i % 3]


@pytest.mark.parametrize("kind", ["func", "real_func"])
def test_returns_in_loops(ti, kind):
    x = ti.field(ti.i32, 8)
    pair = ti.types.struct(a=ti.i32, v=ti.math.vec2)
    nested, forever, of_field, of_box, by_reference = returning_in_loops(ti, getattr(ti, kind), x, pair)

    @ti.kernel
    def run(out: ti.types.ndarray(ti.f32, 2)):
        for i in range(out.shape[0]):
            a, b = of_field(i), of_box(i)
            early, late = 0, 0
            k, m = by_reference(early, 9), by_reference(late, i % 3)
            values = ti.Vector([nested(4, i), forever(i), a[0], a[1], b.a, b.v[1], early, late, k, m])
            for j in ti.static(range(10)):
                out[i, j] = values[j]

    for i in range(8):
        x[i] = 2 * i
    out = np.zeros((16, 10), np.float32)
    run(out)
    for i in range(16):
        assert out[i].tolist() == returned_in_loops(i), i
