"""What loops run over: axes in any order, steps, offsets, boxes that the device measures, blocks of any size."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest


@pytest.mark.parametrize("shape", [(5, 7), (33, 65), (1, 100), (100, 1), (257, 31)])
def test_transposes(ti: Any, shape: tuple[int, int]) -> None:
    x, y, c = ti.field(ti.f32, shape), ti.field(ti.f32, shape[::-1]), ti.field(ti.i32, shape[::-1])

    @ti.kernel
    def run(n: ti.i32):
        for i, j in x:
            y[j, i] = x[i, j] * 2
        for i, j in ti.ndrange((1, shape[0]), shape[1]):
            c[j, i - 1] += i * 1000 + j
        for i, j in ti.ndrange(n, shape[1]):
            c[j, i] -= 1

    values = np.random.default_rng(1).random(shape).astype(np.float32)
    x.from_numpy(values)
    run(shape[0] // 2)
    i, j = np.indices(shape)
    counts = np.zeros(shape, np.int32)
    counts[:-1] += (i * 1000 + j)[1:]
    counts[: shape[0] // 2] -= 1
    assert (y.to_numpy() == values.T * 2).all()
    assert (c.to_numpy() == counts.T).all()


@pytest.mark.parametrize("shape", [(5, 6, 7), (3, 40, 33), (2, 70, 1), (3, 4, 2, 5)])
def test_permutations_of_axes(ti: Any, shape: tuple[int, ...]) -> None:
    n = len(shape)

    def along(y: Any, order: tuple[int, ...]) -> None:
        @ti.kernel
        def run():
            for I in ti.grouped(ti.ndrange(*shape)):
                J = I
                for k in ti.static(range(n)):
                    J[k] = I[order[k]]
                y[J][1] += I.dot(I) + I[0]

        run()

    for order in list(itertools.permutations(range(n)))[:: n * n // 6]:
        y = ti.Vector.field(2, ti.i32, tuple(shape[k] for k in order))
        along(y, order)
        i = np.indices(shape)
        found = y.to_numpy()
        assert (found[..., 1] == ((i * i).sum(0) + i[0]).transpose(order)).all()
        assert not found[..., 0].any()


@pytest.mark.parametrize(
    ("begin", "end", "step"),
    [(0, 1000, 1), (0, 1000, 7), (999, -1, -3), (5, 5, 1), (5, 900, 1000), (900, 5, 1), (5, 900, -1), (17, 18, 1)],
)
def test_steps(ti: Any, begin: int, end: int, step: int) -> None:
    y = ti.field(ti.i32, 1000)

    @ti.kernel
    def known():
        for i in range(begin, end, step):
            y[i] += 1

    @ti.kernel
    def given(begin: ti.i32, end: ti.i32, step: ti.i32):
        for i in range(begin, end, step):
            y[i] += 10

    known()
    given(begin, end, step)
    expected = np.zeros(1000)
    expected[list(range(begin, end, step))] = 11
    assert (y.to_numpy() == expected).all()


def test_offsets(ti: Any) -> None:
    x = ti.field(ti.i32, (30, 20), offset=(5, -10))
    y = ti.field(ti.i32, (20, 30), offset=(-10, 5))
    z = ti.field(ti.i32, (30, 20), offset=(-3, -7))

    @ti.kernel
    def run():
        for i, j in y:
            x[j, i] = i * 100 + j
        for i, j in ti.ndrange((-10, 10), (5, 35)):
            y[i, j] += x[j, i] * 2
        for i, j in x:
            z[i - 8, j + 3] = x[i, j]

    run()
    i, j = np.meshgrid(np.arange(-10, 10), np.arange(5, 35), indexing="ij")
    assert (x.to_numpy() == (i * 100 + j).T).all()
    assert (y.to_numpy() == 2 * (i * 100 + j)).all()
    assert (z.to_numpy() == (i * 100 + j).T).all()


@pytest.mark.parametrize(("first", "last", "p", "q"), [(0, 40, 4, 8), (5, 5, 0, 0), (7, 3, 1, 1), (2, 30, -3, -3)])
def test_boxes_measured_on_the_device(ti: Any, first: int, last: int, p: int, q: int) -> None:
    n, line, plane = ti.field(ti.i32, 4), ti.field(ti.i32, 40), ti.field(ti.i32, (9, 8))
    volume, bins, total = ti.field(ti.i32, (9, 8, 7)), ti.field(ti.i32, 8), ti.field(ti.i64, ())

    @ti.kernel
    def run():
        for i in range(n[0], n[1]):
            line[i] += 1
            n[1] = 3
        for i, j in ti.ndrange(n[2], n[3]):
            plane[j, i] += 1
        for i, j, k in ti.ndrange(n[2], n[3], (1, n[2])):
            volume[i, j, k] += 1
        for i in range(n[3]):
            bins[i % 8] += 1
            total[None] += i
        count = 0
        for _ in range(n[3]):
            count += 1
        for _ in range(count):
            bins[0] += 1

    n.from_numpy(np.array([first, last, p, q], np.int32))
    run()
    p, q = max(p, 0), max(q, 0)
    along, across, inside = np.zeros(40), np.zeros((9, 8)), np.zeros((9, 8, 7))
    along[first : max(last, first)] = 1
    across[:q, :p] = 1
    inside[:p, :q, 1 : max(p, 1)] = 1
    counts = np.bincount(np.arange(q) % 8, minlength=8)
    counts[0] += q
    assert (line.to_numpy() == along).all()
    assert (plane.to_numpy() == across).all()
    assert (volume.to_numpy() == inside).all()
    assert (bins.to_numpy() == counts).all()
    assert total[None] == q * (q - 1) // 2


@pytest.mark.parametrize("threads", [1, 32, 33, 96, 100, 224, 250, 288, 352, 1000, 1024, 5000])
def test_blocks_of_any_size(ti: Any, threads: int) -> None:
    """Whose threads add up, along one axis, two, three, of which the last one may be short."""
    x, bins, line = ti.field(ti.i32, 1000), ti.field(ti.i32, 10), ti.field(ti.i32, ())
    y, plane = ti.field(ti.i32, (7, 33)), ti.field(ti.f64, ())
    z, volume = ti.field(ti.i32, (5, 70, 6)), ti.field(ti.i32, ())

    @ti.kernel
    def run():
        ti.loop_config(block_dim=threads)
        for i in x:
            bins[i % 10] += 1
            line[None] += i
            x[i] += 1
        ti.loop_config(block_dim=threads)
        for i, j in y:
            y[i, j] += 1
            plane[None] += i * j
        ti.loop_config(block_dim=threads)
        for i, j, k in z:
            z[i, j, k] += 1
            volume[None] += i * j * k

    run()
    assert all((field.to_numpy() == 1).all() for field in (x, y, z))
    assert bins.to_numpy().tolist() == [100] * 10
    assert (line[None], plane[None], volume[None]) == (499_500, 21 * 528, 10 * 2415 * 15)


@pytest.mark.parametrize("threads", [0, 1024])
@pytest.mark.parametrize("n", [2**31 - 1, 2**31 + 7, 2**32 + 100])
def test_more_iterations_than_32_bits_count(gpu: Any, n: int, threads: int) -> None:
    """The largest grid of blocks of 1024 has 2**32 threads: that is how far each of them steps."""
    ti = gpu
    found, odd = ti.field(ti.i64, 2), ti.field(ti.i64, ())

    @ti.kernel
    def run(n: ti.i64):
        ti.loop_config(block_dim=threads)
        for i in range(n):
            if i % (1 << 28) == 5:
                found[0] += 1
                found[1] += i
        ti.loop_config(block_dim=threads)
        for i in range(n):
            odd[None] += i & 1

    run(n)
    those = range(5, n, 1 << 28)
    assert found.to_numpy().tolist() == [len(those), sum(those)]
    assert odd[None] == n // 2


@pytest.mark.parametrize(("height", "width"), [(70_001, 70_001), (1, 2**31 - 1), (2**31 - 1, 1)])
def test_large_planes(gpu: Any, height: int, width: int) -> None:
    ti = gpu
    found = ti.field(ti.i64, ())

    @ti.kernel
    def run(height: ti.i32, width: ti.i32):
        for i, j in ti.ndrange(height, width):
            if i % 9973 == 0 and j % 9973 == 0:
                found[None] += 1

    run(height, width)
    assert found[None] == len(range(0, height, 9973)) * len(range(0, width, 9973))
