"""Threads that run several neighbours, or several iterations of a loop, at once: filters, clamps, sums of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.sampling import only

SHAPES = [(37, 50), (300, 1024), (2100, 516)]


def picture(shape: tuple[int, ...], seed: int = 0) -> Any:
    return np.random.default_rng(seed).random(shape, np.float32)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("radius", only([2], [1, 2, 3]))
def test_filters_of_the_inside(ti: Any, shape: tuple[int, int], radius: int) -> None:
    n, m = shape
    x, y = ti.Vector.field(3, ti.f32, shape), ti.Vector.field(3, ti.f32, shape)

    @ti.kernel
    def run():
        for i, j in ti.ndrange((radius, n - radius), (radius, m - radius)):
            total = ti.Vector([0.0, 0.0, 0.0])
            for p, q in ti.ndrange((-radius, radius + 1), (-radius, radius + 1)):
                total += (p + 2 * q + 9) * x[i + p, j + q]
            y[i, j] = total

    v = picture((n, m, 3))
    x.from_numpy(v)
    run()
    want = np.zeros_like(v)
    inner = want[radius : n - radius, radius : m - radius]
    for p in range(-radius, radius + 1):
        for q in range(-radius, radius + 1):
            inner += (p + 2 * q + 9) * v[radius + p : n - radius + p, radius + q : m - radius + q]
    assert np.allclose(y.to_numpy(), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(37, 50), (300, 1024), (300, 1026), (2100, 516)])
@pytest.mark.parametrize("margin", [0, 2, 4])
def test_filters_of_arrays(ti: Any, shape: tuple[int, int], margin: int) -> None:
    """Whether rows of what is read begin at whole words, and whether those of what is written do."""
    n, m = shape
    vectors = ti.types.ndarray(ti.math.vec3, 2)

    @ti.kernel
    def run(x: vectors, y: vectors):
        for i, j in ti.ndrange(n, m):
            total = ti.Vector([0.0, 0.0, 0.0])
            for p, q in ti.ndrange(5, 5):
                total += (p + 2 * q + 9) * x[i + p, j + q]
            y[i, j] = total

    v = picture((n + 4, m + 4 + margin, 3))
    x, y = ti.ndarray(ti.math.vec3, v.shape[:2]), ti.ndarray(ti.math.vec3, shape)
    x.from_numpy(v)
    run(x, y)
    want = np.zeros((n, m, 3), np.float32)
    for p in range(5):
        for q in range(5):
            want += (p + 2 * q + 9) * v[p : n + p, q : m + q]
    assert np.allclose(y.to_numpy(), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("components", [1, 3])
def test_filters_with_clamped_indices(ti: Any, shape: tuple[int, int], components: int) -> None:
    n, m = shape
    kind = ti.types.vector(components, ti.f32)
    x, y = kind.field(shape), kind.field(shape)

    @ti.func
    def at(i, j):
        return x[ti.max(0, ti.min(n - 1, i)), ti.min(ti.max(j, 0), m - 1)]

    @ti.kernel
    def run():
        for i, j in y:
            total = 0.0 * x[0, 0]
            for p, q in ti.ndrange((-2, 3), (-3, 2)):
                total += (p + 2 * q + 9) * at(i + p, j + q)
            y[i, j] = total - at(i - 7, j) + at(i, j + 5)

    v = picture((n, m, components))
    x.from_numpy(v)
    run()
    i, j = np.mgrid[:n, :m]

    def there(p: int, q: int) -> Any:
        return v[np.clip(i + p, 0, n - 1), np.clip(j + q, 0, m - 1)]

    want = sum((p + 2 * q + 9) * there(p, q) for p in range(-2, 3) for q in range(-3, 2))
    assert np.allclose(y.to_numpy(), want - there(-7, 0) + there(0, 5), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("count", only([0, 7, 9, 1001], [0, 3, 7, 8, 9, 16, 100, 1001]))
@pytest.mark.parametrize(
    ("first", "size"), only([(1, 20), (3, 34_000)], [(0, 20), (1, 20), (2, 20), (1, 1101), (3, 34_000)])
)
def test_rounds_side_by_side(ti: Any, count: int, first: int, size: int) -> None:
    n = 1100
    x, y, hits = ti.Vector.field(3, ti.f32, n), ti.Vector.field(3, ti.f32, size), ti.field(ti.i32, size)

    @ti.kernel
    def run(low: ti.i32, high: ti.i32):
        for i in y:
            total, last = ti.Vector([0.0, 0.0, 0.0]), -1
            for j in range(low, high):
                d = x[j] - x[i % 20]
                if d.norm_sqr() > 0.1:
                    total += d
                    last = j
            y[i] = total
            hits[i] = last

    v = picture((n, 3))
    x.from_numpy(v)
    run(first, first + count)
    d = v[None, first : first + count] - v[:20, None]
    far = (d**2).sum(-1) > 0.1
    turn = np.arange(size) % 20
    assert np.allclose(y.to_numpy(), (d * far[..., None]).sum(1)[turn], rtol=1e-3, atol=1e-3)
    last = np.where(far.any(1), first + count - 1 - far[:, ::-1].argmax(1), -1) if count else np.full(20, -1)
    assert (hits.to_numpy() == last[turn]).all()


@pytest.mark.parametrize("count", only([0, 23], [0, 1, 8, 23, 300]))
@pytest.mark.parametrize("size", [33, 1101, 34_001])
def test_rounds_that_all_threads_share(ti: Any, count: int, size: int) -> None:
    x, y, z = ti.Vector.field(3, ti.f32, 300), ti.field(ti.f64, 300), ti.Vector.field(3, ti.f32, size)

    @ti.kernel
    def run(n: ti.i32):
        for i in z:
            total = ti.Vector([0.0, 0.0, 0.0])
            for j in range(n):
                part = x[j] * ((i + j) % 3) + ti.cast(y[j], ti.f32)
                if (i + j) % 4 == 0:
                    part += x[j]
                total += part
            z[i] = total

    v = picture((300, 3))
    x.from_numpy(v)
    y.from_numpy(np.arange(300) / 300)
    run(count)
    i, j = np.arange(size)[:, None], np.arange(count)
    weights = (i + j) % 3 + ((i + j) % 4 == 0)
    want = weights @ v[:count].astype(np.float64) + (j / 300).sum()
    assert np.allclose(z.to_numpy(), want, rtol=1e-4, atol=1e-4)


def test_rounds_that_read_what_they_write(ti: Any) -> None:
    x = ti.field(ti.i32, (3, 100))
    y = ti.field(ti.i32, 100)

    @ti.kernel
    def run():
        for i in range(3):
            for j in range(1, 100):
                x[i, j] = x[i, j - 1] + y[j]

    x.fill(1)
    y.from_numpy(np.arange(100, dtype=np.int32))
    run()
    assert (x.to_numpy() == 1 + np.cumsum(np.arange(100))).all()


@pytest.mark.parametrize("components", [2, 3, 4, 8])
def test_sums_into_vectors(ti: Any, components: int) -> None:
    n, cells = 5000, 9000  # more cells than a block copies
    x = ti.Vector.field(components, ti.f32, cells)

    @ti.kernel
    def run():
        for i in range(n):
            cell = i * 37 % 700
            x[cell] += ti.Vector([ti.cast(i % 5 + k, ti.f32) for k in ti.static(range(components))])
            x[cell + 1][0] += 1

    run()
    want = np.zeros((cells, components), np.float32)
    i = np.arange(n)
    np.add.at(want, i * 37 % 700, i[:, None] % 5 + np.arange(components))
    np.add.at(want[:, 0], i * 37 % 700 + 1, 1)
    assert (x.to_numpy() == want).all()


@pytest.mark.parametrize("bins", only([3, 300], [2, 3, 256, 300, 4000]))
@pytest.mark.parametrize("kind", ["add", "max", "xor"])
def test_many_copies_of_small_targets(ti: Any, bins: int, kind: str) -> None:
    n = 50_000
    x = ti.field(ti.i32, bins)

    @ti.kernel
    def run():
        for i in range(n):
            at = i * 7919 % bins
            if ti.static(kind == "add"):
                x[at] += 1
            elif ti.static(kind == "max"):
                ti.atomic_max(x[at], i)
            else:
                x[at] ^= i

    run()
    i, want = np.arange(n), np.zeros(bins, np.int32)
    at = i * 7919 % bins
    {"add": np.add, "max": np.maximum, "xor": np.bitwise_xor}[kind].at(want, at, 1 if kind == "add" else i)
    assert (x.to_numpy() == want).all()


FUNCTIONS: dict[str, tuple[Any, float, float, float, float]] = {
    # numpy's; from, to; relative error, and for each unit of size of the operand
    "exp": (np.exp, -80, 80, 3e-7, 1e-7),
    "log": (np.log, 1e-3, 1e6, 1e-6, 0),
    "sqrt": (np.sqrt, 1e-3, 1e6, 3e-7, 0),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1e-3, 1e6, 3e-7, 0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_fast_functions(ti: Any, name: str) -> None:
    exact, low, high, error, growth = FUNCTIONS[name]
    n = 20001
    x, y = ti.field(ti.f32, n), ti.field(ti.f32, n)
    function = getattr(ti, name)

    @ti.kernel
    def run():
        for i in x:
            y[i] = function(x[i])

    wide = np.linspace(low, high, n // 2)
    values = np.concatenate([wide, 1 + np.linspace(-0.4, 0.4, n - n // 2)]).astype(np.float32)
    x.from_numpy(values)
    run()
    v = values.astype(np.float64)
    want = exact(v)
    allowed = (error + growth * np.abs(v)) * np.abs(want)
    assert (np.abs(y.to_numpy() - want) <= allowed).all()


def test_fast_functions_of_what_is_no_number(ti: Any) -> None:
    x, y = ti.field(ti.f32, 4), ti.Vector.field(5, ti.f32, 4)

    @ti.kernel
    def run():
        for i in x:
            y[i] = [ti.exp(x[i]), ti.log(x[i]), ti.sqrt(x[i]), ti.rsqrt(x[i]), x[i] ** 0.3]

    inf, nan = np.inf, np.nan
    x.from_numpy(np.array([nan, inf, -inf, 0], np.float32))
    run()
    want = [[nan] * 5, [inf, inf, inf, 0, inf], [0, nan, nan, nan, nan], [1, -inf, 0, inf, 0]]
    assert np.array_equal(y.to_numpy(), np.array(want, np.float32), equal_nan=True)


@pytest.mark.parametrize("exponent", [0.3, 2.2, -1.7, 0.4545])
def test_fast_powers(ti: Any, exponent: float) -> None:
    n = 2001
    x, y = ti.field(ti.f32, n), ti.field(ti.f32, n)

    @ti.kernel
    def run():
        for i in x:
            y[i] = ti.pow(x[i], exponent)

    values = np.logspace(-3, 3, n).astype(np.float32)
    x.from_numpy(values)
    run()
    want = values.astype(np.float64) ** exponent
    allowed = (2e-6 + 2e-7 * np.abs(np.log2(want))) * want
    assert (np.abs(y.to_numpy() - want) <= allowed).all()


@pytest.mark.parametrize("width", [5, 64, 1001, 2048])
def test_neighbours_in_arrays(ti: Any, width: int) -> None:
    rows = 2500

    @ti.kernel
    def run(a: ti.types.ndarray(ndim=2), b: ti.types.ndarray(ndim=2), u: ti.types.ndarray(ndim=1), k: ti.i32):
        for i, j in ti.ndrange((1, a.shape[0] - 1), (1, a.shape[1] - 1)):
            b[i, j] = a[i - 1, j] + a[i + 1, j] + 2 * a[i, j - 1] + 3 * a[i, j + 1]
        for i in u:
            u[i] = u[i] + k

    x, y = picture((rows, width)), np.zeros((rows, width), np.float32)
    u = np.arange(rows * width).astype(np.uint8)
    run(x, y, u, 3)
    want = np.zeros_like(x)
    want[1:-1, 1:-1] = x[:-2, 1:-1] + x[2:, 1:-1] + 2 * x[1:-1, :-2] + 3 * x[1:-1, 2:]
    assert np.allclose(y, want, rtol=1e-5)
    assert (u == (np.arange(rows * width) + 3).astype(np.uint8)).all()


@pytest.mark.parametrize("first", [0, 1, 4])
def test_arrays_that_begin_anywhere(gpu: Any, first: int) -> None:
    torch, n = pytest.importorskip("torch"), 1 << 20

    @gpu.kernel
    def run(x: gpu.types.ndarray(), y: gpu.types.ndarray()):
        for i in x:
            y[i] = 2 * x[i] + y[i]

    x, y = torch.arange(n + 8, device="cuda", dtype=torch.float32), torch.ones(n + 8, device="cuda")
    run(x[first : first + n], y[first : first + n])
    i = torch.arange(n + 8, device="cuda")
    want = torch.where((i >= first) & (i < first + n), 2.0 * i + 1, 1.0)
    assert (y == want).all()


def test_more_elements_than_an_i32_counts(gpu: Any) -> None:
    n, wide, rows = (1 << 31) + 77, 3 << 15, 1 << 15
    x, y = gpu.field(gpu.u8, n), gpu.field(gpu.u8, (wide, rows))
    z = gpu.ndarray(gpu.u8, (wide, rows))

    @gpu.kernel
    def fill(z: gpu.types.ndarray()):
        for i in x:
            x[i] = gpu.cast(i * 7 + (i >> 31), gpu.u8)
        for i, j in y:
            y[i, j] = gpu.cast(i * 7 + j + (i >> 16), gpu.u8)
        for i, j in z:
            z[i, j] = gpu.cast(i * 7 + j + (i >> 16), gpu.u8)

    @gpu.kernel
    def sums(z: gpu.types.ndarray()) -> gpu.types.vector(3, gpu.i64):
        a, b, c = gpu.i64(0), gpu.i64(0), gpu.i64(0)
        for i in x:
            a += x[i]
        for i, j in y:
            b += y[i, j]
        for i, j in z:
            c += z[i, j]
        return [a, b, c]

    fill(z)
    for i in (0, 5, 2**31 - 1, 2**31, n - 1):
        assert x[i] == (i * 7 + (i >> 31)) % 256
    for i, j in ((0, 0), (65535, 32767), (65536, 0), (wide - 1, rows - 1)):
        assert y[i, j] == z[i, j] == (i * 7 + j + (i >> 16)) % 256
    a, b, c = sums(z)
    blocks, rest = divmod(n, 256)
    assert a == blocks * 255 * 128 + sum((i * 7 + (i >> 31)) % 256 for i in range(n - rest, n))
    assert b == c == wide * rows // 256 * 255 * 128


def test_indices_are_as_wide_as_the_launch_needs(gpu: Any) -> None:
    n = (1 << 31) + 77

    @gpu.kernel
    def fill(a: gpu.types.ndarray(gpu.u8, 1), by: gpu.i32):
        for i in a:
            a[i] = gpu.cast(i * by + (i >> 31), gpu.u8)

    @gpu.kernel
    def total(a: gpu.types.ndarray()) -> gpu.i64:
        result = gpu.i64(0)
        for i in range(a.shape[0]):
            result += a[i]
        return result

    huge, small = gpu.ndarray(gpu.u8, n), gpu.ndarray(gpu.u8, 1000)
    for by in (7, 9):
        fill(huge, by)
        fill(small, by)
        want = (np.arange(1 << 16) * by).astype(np.uint8)
        assert (small.to_numpy() == want[:1000]).all()
        for i in (0, 5, 2**31 - 1, 2**31, n - 1):
            assert huge[i] == (i * by + (i >> 31)) % 256
        tail = sum((i * by + 1) % 256 for i in range(2**31, n))
        assert total(huge) == 2**15 * int(want.sum(dtype=np.int64)) + tail
        assert total(small) == int(want[:1000].sum(dtype=np.int64))
    assert len(fill._instances) == len(total._instances) == 2


@pytest.mark.parametrize("shape", [(5, 7, 9), (66, 70, 512), (130, 20, 260)])
@pytest.mark.parametrize("clamped", [False, True])
def test_stencils_of_volumes(ti: Any, shape: tuple[int, int, int], clamped: bool) -> None:
    n, m, k = shape
    x, y = ti.field(ti.f32, shape), ti.field(ti.f32, shape)

    @ti.func
    def at(a, b, c):
        if ti.static(clamped):
            a, b = ti.max(0, ti.min(n - 1, a)), ti.max(0, ti.min(m - 1, b))
            c = ti.max(0, ti.min(k - 1, c))
        return x[a, b, c]

    @ti.kernel
    def run():
        for a, b, c in ti.ndrange((1, n - 1), (1, m - 1), (1, k - 1)):
            near = at(a - 1, b, c) + 2 * at(a + 1, b, c) + 3 * at(a, b - 1, c) + 4 * at(a, b + 1, c)
            y[a, b, c] = near + 5 * at(a, b, c - 1) + 6 * at(a, b, c + 1) - 21 * at(a, b, c)

    v = picture(shape)
    x.from_numpy(v)
    run()
    want = np.zeros_like(v)
    inner = (slice(1, -1),) * 3
    terms = [(0, -1), (0, 1), (1, -1), (1, 1), (2, -1), (2, 1)]
    want[inner] = sum(w * np.roll(v, -by, axis)[inner] for w, (axis, by) in enumerate(terms, 1)) - 21 * v[inner]
    assert np.allclose(y.to_numpy(), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("count", only([255, 257, 1000], [255, 256, 257, 300, 415, 1000]))
@pytest.mark.parametrize("first", [0, 3])
def test_rows_that_a_warp_shares(ti: Any, first: int, count: int) -> None:
    n, m = 37, first + count
    a, x = ti.field(ti.f32, (n, m)), ti.field(ti.f32, m)
    y, z, total = ti.Vector.field(3, ti.f32, n), ti.field(ti.i32, n), ti.field(ti.f32, 2)

    @ti.kernel
    def run():
        for i in y:
            s, low, k, last = 100.0, y[i][1], z[i], 0.0
            for j in range(first, m):
                s -= a[i, j] * x[j]
                low = ti.min(a[i, j], low)
                k ^= ti.cast(a[i, j] * 1000, ti.i32) + j
            last = s * 2
            y[i] = ti.Vector([s + y[i][0], low, last])
            z[i] = k
            total[i % 2] += 1.0

    v, w = picture((n, m)), picture((m,), 1)
    a.from_numpy(v)
    x.from_numpy(w)
    y.fill(0.5)
    z.fill(7)
    run()
    got, part = y.to_numpy(), v[:, first:].astype(np.float64)
    dot = part @ w[first:]
    assert np.allclose(got[:, 0], 100.5 - dot, rtol=1e-4, atol=1e-3)
    assert np.allclose(got[:, 1], np.minimum(part.min(1), 0.5))
    assert np.allclose(got[:, 2], 2 * (100 - dot), rtol=1e-4, atol=1e-3)
    digits = (v[:, first:] * np.float32(1000)).astype(np.int32) + np.arange(first, m, dtype=np.int32)
    assert (z.to_numpy() == 7 ^ np.bitwise_xor.reduce(digits, 1)).all()
    assert total.to_numpy().tolist() == [19, 18]


def test_planes_of_rows_that_a_warp_shares(ti: Any) -> None:
    x, y = ti.Vector.field(2, ti.f64, (3, 5, 300)), ti.Vector.field(2, ti.f64, (5, 7))

    @ti.kernel
    def run():
        for i, j in ti.ndrange((1, 3), (2, 5)):
            s = ti.Vector([1.0, 0.0], ti.f64)
            for k in range(300):
                s += x[i, j, k]
            y[i, j] = s

    v = np.random.default_rng(0).random((3, 5, 300, 2))
    x.from_numpy(v)
    run()
    want = np.zeros((5, 7, 2))
    want[1:3, 2:5] = v.sum(2)[1:, 2:] + np.array([1.0, 0.0])
    assert np.allclose(y.to_numpy(), want)
