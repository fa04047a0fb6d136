"""What only a GPU does its own way: grids, reductions, atomics, state, copies, prints and faults."""

from __future__ import annotations

import gc
import threading
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from weft.lang.program.init import program

N = 100_003


@pytest.mark.parametrize("shape", [(7,), (1000,), (33, 65), (5, 3), (9, 10, 11), (3, 4, 5, 6), (2, 3, 2, 3, 2)])
def test_every_element_of_a_box_is_visited_once(ti: Any, shape: tuple[int, ...]) -> None:
    x = ti.field(ti.i32, shape)

    @ti.kernel
    def visit():
        for I in ti.grouped(x):
            x[I] += I.sum() + 1

    visit()
    expected = sum(np.indices(shape)) + 1
    assert (x.to_numpy() == expected).all()


@pytest.mark.parametrize("dtype", ["i32", "i64", "u32", "u64", "f32", "f64", "i16", "u8"])
def test_reductions(ti: Any, dtype: str) -> None:
    prim = getattr(ti, dtype)
    a = (np.arange(N) * 7919 % 251).astype(dtype.replace("f", "float").replace("i", "int").replace("u", "uint"))
    if dtype[0] in "if":
        a = (a.astype(np.int64) - 120).astype(a.dtype)
    total, low, high = (ti.field(prim, ()) for _ in range(3))
    low[None], high[None] = 100, 0

    @ti.kernel
    def reduce(a: ti.types.ndarray()):
        for i in a:
            total[None] += a[i]
            ti.atomic_min(low[None], a[i])
            ti.atomic_max(high[None], a[i])

    reduce(a)
    expected = a.sum(dtype=a.dtype)
    assert total[None] == pytest.approx(expected, rel=1e-5, abs=20 if dtype == "f32" else 0)
    assert (low[None], high[None]) == (min(100, a.min()), max(0, a.max()))


def test_reductions_of_vectors_and_of_bits(ti: Any) -> None:
    v, bits = ti.Vector.field(3, ti.f64, ()), ti.field(ti.i32, 3)
    bits[0], bits[2] = -1, 5

    @ti.kernel
    def reduce():
        for i in range(N):
            v[None] += ti.Vector([1.0, i, 0.5])
            bits[0] &= i | 16
            bits[1] |= i
            bits[2] ^= i

    reduce()
    assert v[None].to_list() == [N, N * (N - 1) / 2, N / 2]
    assert bits[0] == 16
    assert bits[1] == 2**17 - 1
    assert bits[2] == np.bitwise_xor.reduce(np.arange(N)) ^ 5


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"])
def test_scattered_atomics(ti: Any, dtype: str) -> None:
    n, bins = 2000, 5
    x = ti.field(getattr(ti, dtype), (4, bins))

    @ti.kernel
    def scatter():
        for i in range(bins):
            x[2, i] = 100
            x[3, i] = 1
        for i in range(n):
            k = i % bins
            x[0, k] += 1 if i < 100 else 0
            ti.atomic_max(x[1, k], i % 120)
            ti.atomic_min(x[2, k], i % 120)
            ti.atomic_mul(x[3, k], 2 if i < 25 else 1)

    scatter()
    index, value = np.arange(n) % bins, np.arange(n) % 120
    for k in range(bins):
        assert [x[row, k] for row in range(4)] == [20, value[index == k].max(), value[index == k].min(), 32]


def test_extremes_of_floats_of_either_sign(ti: Any) -> None:
    x, old = ti.field(ti.f32, 8), ti.field(ti.f32, 1)
    x.from_numpy(np.array([-5, -5, 5, 5, -0.0, 0, -1, np.inf], np.float32))

    @ti.kernel
    def run(a: ti.f32, b: ti.f32):
        for i in range(64):
            ti.atomic_max(x[0 + i * 0], a)
            ti.atomic_min(x[1 + i * 0], a)
            ti.atomic_max(x[2 + i * 0], b)
            ti.atomic_min(x[3 + i * 0], b)
            ti.atomic_max(x[4 + i * 0], 0.0)
            ti.atomic_min(x[7 + i * 0], float(i))
        for i in range(1):
            old[i] = ti.atomic_max(x[6 + i], -0.5)

    run(-3, 4)
    assert x.to_numpy().tolist() == [-3, -5, 5, 4, 0, 0, -0.5, 0]
    assert old[0] == -1


def test_bounds_from_memory_that_the_loop_changes(ti: Any) -> None:
    n, x = ti.field(ti.i32, ()), ti.field(ti.i32, 100)

    @ti.kernel
    def grow() -> ti.i32:
        n[None] = n[None] + 10
        for i in range(n[None]):
            x[i] += 1
            n[None] += 1
        for i in range(n[None] // 2, n[None]):
            x[i] += 100
        return n[None]

    assert grow() == 20
    assert x.to_numpy().tolist() == [1] * 10 + [100] * 10 + [0] * 80


def test_a_return_ends_the_kernel(ti: Any) -> None:
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def run(stop: ti.i32) -> ti.i32:
        if stop:
            return -1
        for i in x:
            x[i] += 1
        total = 0
        for i in x:
            total += x[i]
        return total

    assert [run(1), run(0), run(1), run(0)] == [-1, 4, -1, 8]


def test_empty_loops(ti: Any) -> None:
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def run(n: ti.i32, m: ti.i32) -> ti.i32:
        total = 3
        for i, j in ti.ndrange(n, m):
            total += 1
            x[i] += j
        return total

    assert [run(0, 5), run(5, 0), run(-1, 2), run(2, 2)] == [3, 3, 3, 7]


def test_faults_leave_the_device_usable(ti: Any) -> None:
    ti.init(arch=ti.cuda, debug=True, enable_fallback=False)
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def reach(n: ti.i32) -> ti.i32:
        total = 0
        for i in range(n):
            total += x[i] + 1
        return total

    @ti.kernel
    def check(n: ti.i32):
        for i in range(1000):
            assert i < n, "too far"

    for _ in range(2):
        assert reach(4) == 4
        with pytest.raises(IndexError, match="x"):
            reach(400)
        with pytest.raises(AssertionError, match="too far"):
            check(999)
        check(1000)


def test_prints_come_in_whole_lines(ti: Any, capsys: Any) -> None:
    @ti.kernel
    def show(n: ti.i32):
        for i in range(n):
            print("line", i, float(i) / 2, ti.Vector([i, 2]))
        print("end")

    show(300)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "end"
    assert sorted(lines[:-1]) == sorted(f"line {i} {i / 2} [{i}, 2]" for i in range(300))


def test_random_numbers_are_those_of_the_cpu(ti: Any) -> None:
    def numbers() -> Any:
        x = ti.field(ti.f32, (50, 20, 2))

        @ti.kernel
        def draw() -> ti.f32:
            first = ti.random()
            for i, j in ti.ndrange(50, 20):
                x[i, j, 0] = ti.random()
                x[i, j, 1] = ti.random()
            return first + ti.random()

        return draw(), x.to_numpy()

    here = numbers()
    ti.init(arch=ti.cpu)
    there = numbers()
    assert here[0] == there[0]
    assert (here[1] == there[1]).all()


_FUNCTIONS = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "exp2", "log", "log2", "sqrt"),
    *("rsqrt", "floor", "ceil", "round", "abs", "sign"),
)


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_math(ti: Any, dtype: str, fast: bool) -> None:
    ti.init(arch=ti.cuda, fast_math=fast, enable_fallback=False)
    tolerance = {"f32": 4e-6 if fast else 1e-6, "f64": 1e-14}[dtype]
    for name in _FUNCTIONS:
        inside = name in ("asin", "acos")
        a = np.linspace(-1 if inside else -20.0, 1 if inside else 20.0, 999).astype(dtype.replace("f", "float"))
        a = np.abs(a) + 0.01 if name in ("log", "log2", "sqrt", "rsqrt") else a
        out = _applied(ti, getattr(ti, name), a)
        numpy_name = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "round": "rint"}.get(name, name)
        wide = a.astype(np.float64)
        expected = 1 / np.sqrt(wide) if name == "rsqrt" else getattr(np, numpy_name)(wide)
        assert np.allclose(out, expected, rtol=tolerance, atol=tolerance), name


def _applied(ti: Any, function: Any, a: Any) -> Any:
    out = np.zeros_like(a)

    @ti.kernel
    def run(a: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in a:
            out[i] = function(a[i])

    run(a, out)
    return out


def test_division(ti: Any) -> None:
    a, b = np.meshgrid(np.arange(1, 300, dtype=np.float32), np.arange(1, 300, dtype=np.float32))
    out = np.zeros((4, *a.shape), np.float32)

    @ti.kernel
    def run(a: ti.types.ndarray(), b: ti.types.ndarray(), out: ti.types.ndarray()):
        for i, j in a:
            out[0, i, j] = a[i, j] / b[i, j]
            out[1, i, j] = a[i, j] // b[i, j]
            out[2, i, j] = a[i, j] % b[i, j]
            out[3, i, j] = a[i, j] ** 1.5

    run(a, b, out)
    assert np.allclose(out[0], a / b, rtol=3e-7)
    assert (out[1] == a // b).all()
    assert (out[2] == a % b).all()
    assert np.allclose(out[3], a**1.5, rtol=1e-6)


# ---- memory ----------------------------------------------------------------------------------------------------------


def test_fields_from_python(ti: Any) -> None:
    Pair = ti.types.struct(a=ti.f32, b=ti.types.vector(2, ti.i32))
    p = Pair.field(shape=5)
    x, y = ti.field(ti.f32), ti.field(ti.u8)
    ti.root.dense(ti.i, 6).place(x, y)
    m = ti.Matrix.field(2, 2, ti.f16, (3, 3), layout=ti.Layout.SOA)
    blocked = ti.field(ti.i32)
    ti.root.dense(ti.ij, (2, 2)).dense(ti.ij, (3, 3)).place(blocked)
    x.fill(2.5)
    y.fill(7)
    m.fill(1)
    x[3], y[4] = 9, 200
    m[1, 2] = [[1, 2], [3, 4]]
    m[0, 0][1, 1] = 8
    p[2].a = 4
    p[2].b[1] = 6
    p[3] = Pair(a=1, b=[2, 3])
    table = np.arange(36).reshape(6, 6)
    blocked.from_numpy(table)
    assert x.to_numpy().tolist() == [2.5, 2.5, 2.5, 9, 2.5, 2.5]
    assert y.to_numpy().tolist() == [7, 7, 7, 7, 200, 7]
    assert m[1, 2].to_list() == [[1, 2], [3, 4]]
    assert m[0, 0].to_list() == [[1, 1], [1, 8]]
    assert (p[2].a, p[2].b[1], p[3].b[0]) == (4, 6, 2)
    assert (blocked.to_numpy() == table).all()
    assert blocked[4, 1] == table[4, 1]
    Odd = ti.types.struct(a=ti.u8, b=ti.types.vector(2, ti.u1), c=ti.types.vector(4, ti.i8))
    odd = Odd.field(shape=3)
    odd[1].b[1], odd[2].c = 1, [1, 2, 3, 4]  # vectors of 2 and 4 bytes at odd places
    assert (odd[1].b.to_list(), odd[2].c.to_list()) == ([0, 1], [1, 2, 3, 4])


def test_numpy_arguments_are_copied_in_and_out(ti: Any) -> None:
    @ti.kernel
    def shift(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in range(a.shape[0]):
            a[i] += 1
        for i in range(b.shape[0]):
            b[i] *= 2

    base = np.arange(12, dtype=np.float32)
    shift(base[::2], base[1::2])
    assert base.tolist() == [x + 1 if x % 2 == 0 else 2 * x for x in range(12)]
    one = np.ones(5, np.int32)
    shift(one[::-1], one)
    assert one.tolist() == [4] * 5


def test_ndarrays_live_on_the_device(ti: Any) -> None:
    a = ti.ndarray(ti.types.vector(3, ti.f32), (4, 5))

    @ti.kernel
    def fill(a: ti.types.ndarray()):
        for i, j in a:
            a[i, j] = [i, j, i * j]

    fill(a)
    assert a[3, 4].to_list() == [3, 4, 12]
    a[0, 0] = [7, 8, 9]
    assert a.to_numpy()[0, 0].tolist() == [7, 8, 9]
    b = ti.ndarray(ti.types.vector(3, ti.f32), (4, 5))
    b.copy_from(a)
    assert (b.to_numpy() == a.to_numpy()).all()


def test_memory_is_given_back(ti: Any) -> None:
    from weft.lang.program.init import program

    memory = program().device.memory
    before = memory.total
    for k in range(1000):
        x = ti.ndarray(ti.f32, 1000 + k)
        x[0] = k
    del x
    gc.collect()
    assert memory.total == before


def test_two_threads_launch(ti: Any) -> None:
    x = ti.field(ti.i32, 256)

    @ti.kernel
    def add(n: ti.i32) -> ti.i32:
        for i in x:
            ti.atomic_add(x[i], n)
        return n

    results: list[int] = []
    threads = [threading.Thread(target=lambda k=k: results.extend(add(k) for _ in range(50))) for k in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [1] * 50 + [2] * 50
    assert (x.to_numpy() == 150).all()


# ---- a real GPU only -------------------------------------------------------------------------------------------------


def test_cycles_leave_no_memory_behind(gpu: Any) -> None:
    """The pool of this process counts: others may use the same GPU. (`leaks.py` looks at the whole of it.)"""

    def held() -> int:
        cuda, device = import_module("cuda.bindings.driver"), program().device.gpu
        device.trim()
        reserved = cuda.CUmemPool_attribute.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT
        status, size = cuda.cuMemPoolGetAttribute(device.pool, reserved)
        assert status == 0
        return int(size)

    def cycle() -> None:
        gpu.init(arch=gpu.cuda)
        x = gpu.field(gpu.f32, 1 << 20)

        @gpu.kernel
        def run():
            for i in x:
                x[i] = i

        run()
        gpu.sync()

    for _ in range(3):
        cycle()
    before = held()
    for _ in range(100):
        cycle()
    assert held() <= before


def test_too_much_memory_is_refused(gpu: Any) -> None:
    with pytest.raises(MemoryError, match="GPU memory"):
        gpu.ndarray(gpu.f32, (1 << 20, 1 << 20))
    x = gpu.field(gpu.f32, 4)
    x[1] = 2
    assert x[1] == 2


def test_more_than_two_gigabytes(gpu: Any) -> None:
    n = (1 << 30) + 5
    x = gpu.field(gpu.f32, n)

    @gpu.kernel
    def mark() -> gpu.f32:
        for i in x:
            x[i] = i % 8
        total = 0.0
        for i in range(n - 16, n):
            total += x[i]
        return total

    assert mark() == sum(i % 8 for i in range(n - 16, n))
    assert x[n - 1] == (n - 1) % 8


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_arrays_of_other_libraries_are_not_copied(gpu: Any, library: str) -> None:
    module = pytest.importorskip(library)
    make = (lambda: module.ones((4, 6), device="cuda")) if library == "torch" else (lambda: module.ones((4, 6), "f"))

    @gpu.kernel
    def add(a: gpu.types.ndarray(), n: gpu.f32):
        for i, j in a:
            a[i, j] += n * i

    a = make()
    for _ in range(10):
        a *= 2
        add(a, 1)
        a -= 1
    b = np.ones((4, 6))
    for _ in range(10):
        b = b * 2 + np.arange(4)[:, None] - 1
    assert np.allclose(np.asarray(a.tolist()), b)
    add(a.T, 1)
    assert a.tolist()[1][5] == b[1][5] + 5
