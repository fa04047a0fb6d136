"""Which inner loops keep their order, and where a sum of rounds in lanes is added up."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import weft as ti
from tests.codegen.folding import Folded, folding, has_lanes
from tests.codegen.test_folds import N, rows


@pytest.fixture
def every_loop() -> Iterator[list[Folded]]:
    """`folding` for a whole test."""
    with folding() as plans:
        yield plans


def test_loops_that_are_not_folded(every_loop: list[Folded]) -> None:
    """Rounds that end early, store, change memory at once, draw or hold loops."""
    ti.init(arch=ti.cpu)
    x, start, pieces = rows(np.int32)
    out, marks, hits = ti.Vector.field(8, ti.i32, N), ti.field(ti.i32, x.shape), ti.field(ti.i32, x.shape)

    @ti.kernel
    def run(step: ti.i32):
        for i in out:
            s = ti.Vector([0] * 8)
            begin, end = start[i], start[i + 1]
            for k in range(begin, end):
                s[0] += x[k]
                if x[k] > 30:
                    break
            for k in range(begin, end):
                marks[k] = x[k]
                s[1] += marks[ti.max(begin, k - 1)]
            for k in range(begin, end):
                s[2] += ti.atomic_add(hits[begin], 1) * x[k]
            for k in range(begin, end):
                s[3] += x[k] + ti.i32(ti.random() * 0.5)
            for k in range(begin, end):
                j = 0
                while j < 3:
                    j += 1
                s[4] += x[k] * j
            for k in range(begin, end):
                for j in range(3):
                    s[5] += x[k] * j
            for k in range(begin, end, step):
                s[6] += x[k]
            for k in range(ti.u32(begin), ti.u32(end)):
                s[7] += x[k]
            out[i] = s

    run(3)
    sums = {local.name for plan in every_loop for about in plan.values() for local in about.totals}
    assert sums == ({"s_6", "s_7"} if has_lanes() else set())  # those count by one once they are lowered
    for found, p in zip(out.to_numpy().tolist(), pieces):
        last = next((k + 1 for k, value in enumerate(p) if value > 30), len(p))
        want = [p[:last].sum(), p[:1].sum() + p[:-1].sum(), (p * np.arange(len(p))).sum(), p.sum()]
        assert found == [*want, 3 * p.sum(), 3 * p.sum(), p[::3].sum(), p.sum()]


def test_what_else_is_done_with_a_sum_comes_after_it(every_loop: list[Folded]) -> None:
    """In the loop around, the local is read, stored elsewhere, set from others, or subtracted from something."""
    ti.init(arch=ti.cpu)
    x, start, pieces = rows(np.int32)
    out, seen = ti.Vector.field(8, ti.i32, N), ti.Vector.field(8, ti.i32, (N, 2))

    @ti.kernel
    def run():
        for i in out:
            a, b, c, d, e, f, g, h = 0, 0, 0, 0, 0, 0, 0, 0
            for row in range(2):
                for k in range(start[i], start[i + 1]):
                    a, b, c, d = a + x[k], b + x[k], c + x[k], d + x[k]
                    e, f, g, h = e + x[k], f + x[k], g + x[k], h + x[k]
                seen[i, row][0] = a  # read
                b += 3  # added to: stays a sum
                t = c + 1  # read for something else
                seen[i, row][2] = t * t
                d = 7 - d  # subtracted
                e = t + 5  # set
                f = f + 2  # the total is used twice
                seen[i, row][5] = f
                g = g * 2  # another operator
                if row == 0:
                    h -= 4  # subtracted from: stays a sum
            out[i] = [a, b, c, d, e, f, g, h]

    run()
    assert bool(every_loop) == has_lanes()
    for i, piece in enumerate(pieces):
        p = int(piece.sum())
        t = [p + 1, 2 * p + 1]
        assert out.to_numpy()[i].tolist() == [2 * p, 2 * p + 6, 2 * p, 0, t[1] + 5, 2 * p + 4, 6 * p, 2 * p - 4]
        assert seen.to_numpy()[i, :, 0].tolist() == [p, 2 * p]
        assert seen.to_numpy()[i, :, 2].tolist() == [value * value for value in t]
        assert seen.to_numpy()[i, :, 5].tolist() == [p + 2, 2 * p + 4]
