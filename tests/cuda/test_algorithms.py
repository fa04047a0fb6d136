"""Sorting and prefix sums by blocks of threads, on a GPU and on the emulated one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

TILE = 4096  # elements of a block


def _numbers(dtype: Any, length: int, is_wide: bool) -> Any:
    """Numbers of the whole range of the type, or few."""
    generator, kind = np.random.default_rng(length), np.dtype(dtype)
    if not is_wide:
        return generator.integers(0, 5, length).astype(kind)
    if kind.kind != "f":
        info = np.iinfo(kind)
        return generator.integers(info.min, info.max, length, kind, endpoint=True)
    numbers = (generator.standard_normal(length) * 10.0 ** generator.integers(-3, 3, length)).astype(kind)
    for special in (np.nan, np.inf, -np.inf, -0.0, 0.0):
        numbers[generator.integers(0, length, length // 50)] = special
    return numbers


def _check_sort(ti: Any, prim: Any, length: int, is_wide: bool, carried: Any) -> None:
    """Both keys alone and with values, against numpy."""
    numbers = _numbers(prim.np, length, is_wide)
    order = np.argsort(numbers, kind="stable")
    keys, values = ti.ndarray(prim, length), None
    if carried is not None:
        values = ti.field(carried, length + 1, offset=-3)
        values.from_numpy(np.arange(length + 1).astype(carried.np))
        keys = ti.field(prim, length, offset=9)
    keys.from_numpy(numbers)
    ti.algorithms.parallel_sort(keys, values)
    assert keys.to_numpy().tobytes() == numbers[order].tobytes()
    if values is not None:
        assert np.array_equal(values.to_numpy(), np.append(order, length).astype(carried.np))


@pytest.mark.parametrize("length", [1, 2, 1000])
def test_sorting_by_one_block(ti: Any, length: int) -> None:
    _check_sort(ti, ti.f32 if length > 2 else ti.i8, length, True, ti.i32 if length > 2 else None)


def test_sorting_by_several_blocks(ti: Any) -> None:
    _check_sort(ti, ti.i8, TILE + 9, True, ti.u8)


@pytest.mark.parametrize("prim", ["i8", "u8", "i16", "f16", "i32", "u32", "f32", "i64", "u64", "f64"])
def test_sorting_every_type(gpu: Any, prim: str) -> None:
    for length in (33, TILE, TILE + 1, 100_003, 10_000_007):
        for is_wide in (False, True):
            _check_sort(gpu, getattr(gpu, prim), length, is_wide, None)
            _check_sort(gpu, getattr(gpu, prim), length, is_wide, gpu.i32)
    _check_sort(gpu, getattr(gpu, prim), 50_000, True, gpu.f64)


def test_arrays_of_other_libraries(gpu: Any) -> None:
    """Those that lie in the CPU's memory, too."""
    numbers = _numbers(np.float32, 50_000, True)
    order = np.argsort(numbers, kind="stable")
    keys, places = numbers.copy(), np.arange(len(numbers))
    gpu.algorithms.parallel_sort(keys, places)
    assert (places == order).all()
    assert keys.tobytes() == numbers[order].tobytes()
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensor = torch.from_numpy(numbers).cuda()
    gpu.algorithms.parallel_sort(tensor)
    assert tensor.cpu().numpy().tobytes() == numbers[order].tobytes()
    sums = torch.ones(100_000, dtype=torch.int64, device="cuda")
    gpu.algorithms.PrefixSumExecutor(100_000).run(sums)
    assert (sums.cpu().numpy() == np.arange(1, 100_001)).all()


def test_values_of_any_kind(gpu: Any) -> None:
    length = 20_000
    keys, structs = gpu.field(gpu.f32, length), gpu.Struct.field({"a": gpu.i32, "b": gpu.f64}, shape=length, offset=2)
    vectors, numbers = gpu.Vector.ndarray(3, gpu.f32, length), _numbers(np.float32, length, True)
    order = np.argsort(numbers, kind="stable")
    keys.from_numpy(numbers)
    structs.a.from_numpy(np.arange(length))
    gpu.algorithms.parallel_sort(keys, structs)
    assert (structs.a.to_numpy() == order).all()
    line = gpu.ndarray(gpu.f32, length)
    line.from_numpy(numbers)
    vectors.from_numpy(np.repeat(np.arange(length), 3).reshape(length, 3))
    gpu.algorithms.parallel_sort(line, vectors)
    assert (vectors.to_numpy() == order[:, None]).all()


@pytest.mark.parametrize(("dtype", "length"), [("i32", 1), ("f64", 9), ("u8", 300), ("i32", TILE + 1)])
def test_prefix_sums(ti: Any, dtype: str, length: int) -> None:
    """In a field whose other elements stay, and in an array."""
    x = ti.field(getattr(ti, dtype), length + 2, offset=3)
    y = ti.ndarray(getattr(ti, dtype), length)
    executor = ti.algorithms.PrefixSumExecutor(length)
    numbers = np.random.default_rng(length).integers(0, 9, length + 2).astype(x.dtype.np)
    for array, values in ((x, numbers), (y, numbers[:length])):
        array.from_numpy(values)
        executor.run(array)
        want = values.copy()
        want[:length] = np.cumsum(values[:length], dtype=x.dtype.np)
        assert np.array_equal(array.to_numpy(), want)


def test_prefix_sums_of_several_blocks(ti: Any) -> None:
    x = ti.ndarray(ti.i32, 4 * TILE + 5)
    x.fill(3)
    ti.algorithms.PrefixSumExecutor(4 * TILE + 1).run(x)
    want = np.append(3 * np.arange(1, 4 * TILE + 2), [3] * 4)
    assert np.array_equal(x.to_numpy(), want)


@pytest.mark.parametrize("prim", ["i8", "u16", "i32", "f32", "i64", "f64"])
def test_long_prefix_sums(gpu: Any, prim: str) -> None:
    for length in (4 * TILE, TILE * TILE, TILE * TILE + 1, 30_000_001):
        numbers = (np.arange(length) % 7 == 0).astype(getattr(gpu, prim).np)
        x = gpu.ndarray(getattr(gpu, prim), length)
        x.from_numpy(numbers)
        gpu.algorithms.PrefixSumExecutor(length).run(x)
        assert np.array_equal(x.to_numpy(), np.cumsum(numbers, dtype=numbers.dtype))


def test_equal_sums_have_equal_bits(gpu: Any) -> None:
    numbers = np.random.default_rng(1).standard_normal(3_000_000).astype(np.float32)
    x, seen = gpu.ndarray(gpu.f32, len(numbers)), set[bytes]()
    for _ in range(5):
        x.from_numpy(numbers)
        gpu.algorithms.PrefixSumExecutor(len(numbers)).run(x)
        seen.add(x.to_numpy().tobytes())
    assert len(seen) == 1
    assert np.allclose(x.to_numpy(), np.cumsum(numbers, dtype=np.float64), atol=1e-2)
