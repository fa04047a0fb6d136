"""Scatters into fields small enough that each thread, or block of threads, may get a copy of them."""

import ctypes

import numpy as np
import pytest

KINDS = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum,
         "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}  # fmt: skip
THREADS = (1, 2, 7)


def _size(ti):
    return 200 if ti.cfg.arch == "python" else 60_000


def _again(ti, threads):
    ti.init(arch=ti.cfg.arch, cpu_max_num_threads=threads, enable_fallback=False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["i32", "u32", "i64", "u64", "f32", "f64", "i16", "u8"])
def test_kinds_and_types(ti, kind, name):
    """What each thread collects is put together, on top of what was there."""
    if name[0] == "f" and kind in ("and", "or", "xor"):
        pytest.skip("no bits of floats")
    _again(ti, 2)
    dt, atomic, n = getattr(ti, name), getattr(ti, f"atomic_{kind}"), _size(ti)
    x, bins = ti.field(dt, n), ti.field(dt, 37)
    rng = np.random.default_rng(1)
    values, before = rng.integers(0, 100, n), rng.integers(0, 100, 37)
    type = x.to_numpy().dtype
    x.from_numpy(values.astype(type))
    bins.from_numpy(before.astype(type))

    @ti.kernel
    def run():
        for i in x:
            atomic(bins[i % 37], x[i])

    run()
    expected = before.astype(type)
    KINDS[kind].at(expected, np.arange(n) % 37, values.astype(type))
    assert (bins.to_numpy() == expected).all()


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("interleaved", [False, True])
def test_several_fields_and_a_sum(ti, threads, interleaved):
    """Vectors and scalars, in one tree or in several; the epilogue's own sum still takes every thread's part."""
    _again(ti, threads)
    n, m = _size(ti), 24
    v, w, total = ti.Vector.field(2, ti.f32), ti.field(ti.i32), ti.field(ti.i64, ())
    if interleaved:
        ti.root.dense(ti.ij, (m, m)).place(v, w)
    else:
        ti.root.dense(ti.ij, (m, m)).place(v)
        ti.root.dense(ti.ij, (m, m)).place(w)

    @ti.kernel
    def run():
        for i in range(n):
            a, b = i * 7 % m, i * 13 // 5 % m
            v[a, b] += ti.Vector([1.0, i % 3])
            w[a, b] -= 2
            total[None] += i

    run()
    i = np.arange(n)
    a, b = i * 7 % m, i * 13 // 5 % m
    count, thirds = np.zeros((m, m)), np.zeros((m, m))
    np.add.at(count, (a, b), 1)
    np.add.at(thirds, (a, b), i % 3)
    assert (v.to_numpy() == np.stack([count, thirds], -1)).all()
    assert (w.to_numpy() == -2 * count).all()
    assert total[None] == n * (n - 1) // 2


@pytest.mark.parametrize("threads", THREADS)
def test_over_rows_again_and_again(ti, threads):
    """Boxes of several axes; the copies of the last launch leave no trace in the next."""
    _again(ti, threads)
    rows = 16 if ti.cfg.arch == "python" else 500
    bins, offset = ti.field(ti.i32, (8, 8), offset=(-4, -4)), ti.field(ti.f32, 300)

    @ti.kernel
    def run(k: ti.i32):
        for i, j in ti.ndrange((3, rows), (-7, 60)):
            bins[(i + k) % 8 - 4, (j + 7) % 8 - 4] += 1
            offset[(i * j + 7 * rows) % 300] += 0.5

    expected, halves = np.zeros((8, 8), int), np.zeros(300)
    i, j = (axis.ravel() for axis in np.meshgrid(np.arange(3, rows), np.arange(-7, 60), indexing="ij"))
    for k in range(4):
        run(k)
        np.add.at(expected, ((i + k) % 8, (j + 7) % 8), 1)
        np.add.at(halves, (i * j + 7 * rows) % 300, 0.5)
        assert (bins.to_numpy() == expected).all()
        assert (offset.to_numpy() == halves).all()


def test_old_values_and_reads_forbid_copies(ti):
    """A counter whose old value is used gives each iteration its own place; a field that is read must be whole."""
    _again(ti, 2)
    n = _size(ti)
    count, places, seen = ti.field(ti.i32, 4), ti.field(ti.i32, n), ti.field(ti.i32, n)

    @ti.kernel
    def run():
        for i in range(n):
            places[ti.atomic_add(count[0], 1)] = i
            count[1] += 1
            seen[i] = count[2]

    count[2] = 9
    run()
    assert (np.sort(places.to_numpy()) == np.arange(n)).all()
    assert count[0] == n
    assert count[1] == n
    assert (seen.to_numpy() == 9).all()


def test_without_memory_for_copies(ti):
    """The loop then runs on one thread."""
    if ti.cfg.arch != "cpu":
        pytest.skip("only the CPU asks for memory while a kernel runs")
    _again(ti, 2)
    refusals = list[int]()

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    def refuse(_pool, size):
        refusals.append(size)

    from weft.lang.program.init import program

    program().device.pool.scratch = ctypes.cast(refuse, ctypes.c_void_p).value
    n, bins = 100_000, ti.field(ti.i32, 10)

    @ti.kernel
    def run():
        for i in range(n):
            bins[i % 10] += 1

    run()
    assert refusals
    assert (bins.to_numpy() == n // 10).all()
