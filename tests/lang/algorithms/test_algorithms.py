"""Sorting and prefix sums, against numpy, on every arch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import weft as ti
from tests.sampling import draws
from weft.algorithms import PrefixSumExecutor, parallel_sort
from weft.lang.algorithms import sort_on_cpu

pytestmark = pytest.mark.usefixtures("kept_kernels")

ARCHS = ("cpu", "python")
TYPES = (ti.i8, ti.u16, ti.i32, ti.u32, ti.i64, ti.u64, ti.f16, ti.f32, ti.f64)


def _numbers(prim: Any, length: int) -> Any:
    generator = np.random.default_rng(length)
    if prim.is_float:
        return (generator.integers(-50, 50, length) / 4).astype(prim.np)
    low, high = (0, 100) if prim.text[0] == "u" else (-100, 100)
    return generator.integers(low, high, length).astype(prim.np)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("prim", TYPES, ids=str)
def test_sorting_every_type(arch: str, prim: Any) -> None:
    ti.init(arch=arch)
    for length in (1, 2, 3, 7, 16, 33):
        numbers = _numbers(prim, length)
        keys, values = ti.field(prim, length), ti.Vector.field(2, ti.i32, length)
        keys.from_numpy(numbers)
        values.from_numpy(np.stack([np.arange(length), -np.arange(length)], 1))
        parallel_sort(keys, values)
        assert (keys.to_numpy() == np.sort(numbers)).all()
        places = values.to_numpy()[:, 0]
        assert (numbers[places] == np.sort(numbers)).all()
        assert (values.to_numpy()[:, 1] == -places).all()
        array = ti.ndarray(prim, length)
        array.from_numpy(numbers)
        parallel_sort(array)
        assert (array.to_numpy() == np.sort(numbers)).all()
    parallel_sort(ti.ndarray(prim, 1))


@pytest.mark.parametrize("arch", ARCHS)
def test_sorting_by_other_layouts(arch: str) -> None:
    ti.init(arch=arch)
    keys, values = ti.field(ti.f32, 20, offset=-7), ti.Struct.field({"a": ti.i32, "b": ti.f32}, shape=20, offset=3)
    numbers = _numbers(ti.f32, 20)
    keys.from_numpy(numbers)
    values.a.from_numpy(np.arange(20))
    ti.algorithms.parallel_sort(keys, values)
    assert (numbers[values.a.to_numpy()] == keys.to_numpy()).all()
    plain, order = numbers.copy(), np.arange(20)
    parallel_sort(plain, order)
    assert (plain == np.sort(numbers)).all()
    assert (numbers[order] == plain).all()


@st.composite
def _any_numbers(draw: st.DrawFn) -> Any:
    """An array of any type: of any numbers, or of few, so that many are equal."""
    dtype = draw(st.sampled_from([prim.np for prim in TYPES]))
    length = draw(st.integers(0, 300))
    if draw(st.booleans()):
        return np.frombuffer(draw(st.binary(min_size=8 * length, max_size=8 * length)), dtype)[:length].copy()
    few = draw(arrays(dtype, 5, elements={"allow_nan": True} if dtype.kind == "f" else None))
    return few[draw(arrays(np.intp, length, elements=st.integers(0, 4)))]


def test_sorting_is_stable() -> None:
    """As numpy does it: equal keys keep their order, both zeros are equal, and NaN comes last. Of NaN of several kinds
    numpy's order is that in which they come, which is that of no sort by digits."""
    ti.init(arch=ti.cpu)

    @settings(max_examples=draws(150), deadline=None)
    @given(_any_numbers(), st.sampled_from([np.uint8, np.int32, np.float64]))
    def check(numbers: Any, carried: Any) -> None:
        if numbers.dtype.kind == "f":
            numbers[np.isnan(numbers)] = np.nan
        keys, places = numbers.copy(), np.arange(len(numbers)).astype(carried)
        parallel_sort(keys, places)
        order = np.argsort(numbers, kind="stable")
        assert keys.tobytes() == numbers[order].tobytes()
        assert (places == order.astype(carried)).all()

    check()


@pytest.mark.parametrize("prim", [ti.f16, ti.f32, ti.f64], ids=str)
def test_every_nan_is_last(prim: Any) -> None:
    ti.init(arch=ti.cpu)
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[prim.size]
    numbers = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], prim.np)
    nan = numbers[:1].view(bits)[0]
    sign = bits(1) << bits(8 * prim.size - 1)
    numbers = np.append(np.array([nan | sign, nan, nan + bits(1)], bits).view(prim.np), numbers)
    parallel_sort(numbers)
    assert numbers[:5].tolist() == [-np.inf, 0.0, -0.0, 1.0, np.inf]
    assert not np.signbit(numbers[1])
    assert np.signbit(numbers[2])
    assert np.isnan(numbers[5:]).all()


def test_sorting_in_parts() -> None:
    """Keys near one another and a few far away, so that parts are split again."""
    ti.init(arch=ti.cpu)

    @settings(max_examples=draws(60), deadline=None)
    @given(st.integers(0, 2**32 - 1), st.integers(1, 3000), st.sampled_from([0, 7, 12, 31]), st.booleans())
    def check(seed: int, length: int, bits: int, has_values: bool) -> None:
        generator = np.random.default_rng(seed)
        numbers = generator.integers(-(2**bits), 2**bits, length).astype(np.int32)
        numbers[generator.integers(0, length, 2)] = -(2**31), 2**31 - 1
        keys, places = numbers.copy(), np.arange(length, dtype=np.int64)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sort_on_cpu, "_WHOLE", 64)
            patch.setattr(sort_on_cpu, "_LARGE", 100)
            parallel_sort(keys, places if has_values else None)
        order = np.argsort(numbers, kind="stable")
        assert (keys == numbers[order]).all()
        assert not has_values or (places == order).all()

    check()


def test_where_keys_and_values_lie() -> None:
    """In nested blocks, beside other fields, every other element, backwards."""
    ti.init(arch=ti.cpu)
    numbers = _numbers(ti.i32, 64)
    order = np.argsort(numbers, kind="stable")
    nested, beside, other = ti.field(ti.i32), ti.field(ti.f32), ti.field(ti.f64)
    ti.root.dense(ti.i, 8).dense(ti.i, 8).place(nested)
    ti.root.dense(ti.i, 64).place(beside, other)
    fields: tuple[tuple[Any, Any], ...] = ((nested, beside), (beside, nested), (beside, other))
    for keys, values in fields:
        keys.from_numpy(numbers.astype(keys.dtype.np))
        values.from_numpy(np.arange(64).astype(values.dtype.np))
        parallel_sort(keys, values)
        assert (keys.to_numpy() == numbers[order]).all()
        assert (values.to_numpy() == order).all()
    wide = np.zeros(128, np.int32)
    wide[::2], wide[::-2] = numbers, np.arange(64)
    parallel_sort(wide[::2], wide[::-2])
    assert (wide[::2] == numbers[order]).all()
    assert (wide[::-2] == order).all()
    nested.from_numpy(numbers)
    PrefixSumExecutor(60).run(nested)
    assert (nested.to_numpy()[:60] == np.cumsum(numbers[:60])).all()
    assert (nested.to_numpy()[60:] == numbers[60:]).all()


@pytest.mark.parametrize("arch", ARCHS)
def test_values_of_any_kind(arch: str) -> None:
    ti.init(arch=arch)
    length = 40
    numbers = _numbers(ti.f32, length)
    order = np.argsort(numbers, kind="stable")
    vectors, matrices = ti.Vector.ndarray(3, ti.f32, length + 2), ti.Matrix.field(2, 2, ti.f64, length)
    structs = ti.ndarray(ti.types.struct(a=ti.i32, b=ti.types.vector(2, ti.u8)), length)
    vectors.from_numpy(np.arange(3 * length + 6).reshape(-1, 3))
    matrices.from_numpy(np.arange(4 * length).reshape(-1, 2, 2))
    structs.a.from_numpy(np.arange(length))
    keys = ti.field(ti.f32, length)
    for values in (vectors, structs):
        plain = numbers.copy()
        parallel_sort(plain, values)
        assert (plain == numbers[order]).all()
    keys.from_numpy(numbers)
    parallel_sort(keys, matrices)
    assert (vectors.to_numpy()[:length, 0] == 3 * order).all()
    assert (vectors.to_numpy()[length:, 0] == [3 * length, 3 * length + 3]).all()
    assert (structs.a.to_numpy() == order).all()
    assert (matrices.to_numpy()[:, 1, 1] == 4 * order + 3).all()


def test_sorting_nothing() -> None:
    ti.init(arch=ti.cpu)
    nothing = np.zeros(0, np.float32)
    parallel_sort(nothing)
    parallel_sort(nothing, np.zeros(3, np.int32))


def test_sorting_many() -> None:
    ti.init(arch=ti.cpu)
    n = 100_003
    keys, values = ti.field(ti.f32, n), ti.field(ti.i32, n)
    numbers = np.random.default_rng(0).random(n, np.float32)
    keys.from_numpy(numbers)
    values.from_numpy(np.arange(n))
    parallel_sort(keys=keys, values=values)
    assert (keys.to_numpy() == np.sort(numbers)).all()
    assert (numbers[values.to_numpy()] == keys.to_numpy()).all()


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("prim", [ti.i32, ti.i64, ti.u8, ti.f32, ti.f64], ids=str)
def test_prefix_sums(arch: str, prim: Any) -> None:
    ti.init(arch=arch)
    for length in (0, 1, 5, 512, 513, 1500) if arch == "cpu" else (1, 520):
        numbers = _numbers(prim, max(length, 1))
        x, y = ti.field(prim, max(length, 1), offset=4), ti.ndarray(prim, max(length, 1))
        executor = PrefixSumExecutor(length)
        for array in (x, y, x):
            array.from_numpy(numbers)
            executor.run(array)
            expected = np.cumsum(numbers, dtype=prim.np) if length else numbers
            assert (array.to_numpy() == expected).all()


def test_prefix_sums_of_anything() -> None:
    ti.init(arch=ti.cpu)

    @settings(max_examples=draws(60), deadline=None)
    @given(_any_numbers(), st.integers(0, 300), st.integers(0, 40000))
    def check(numbers: Any, length: int, more: int) -> None:
        if numbers.dtype.kind == "f":
            numbers = (np.nan_to_num(numbers) % 4).round().astype(numbers.dtype)  # which add up without an error
            more = min(more, 300)
        numbers = np.resize(numbers, len(numbers) + more) if len(numbers) else numbers
        sums, length = numbers.copy(), min(length + more, len(numbers))
        PrefixSumExecutor(length).run(sums)
        assert (sums[:length] == np.cumsum(numbers[:length], dtype=numbers.dtype)).all()
        assert (sums[length:] == numbers[length:]).all()

    check()


def test_short_numbers_are_added_up_in_longer_ones() -> None:
    ti.init(arch=ti.cpu)
    ones = np.ones(5000, np.float16)  # 2048 + 1 is 2048 in f16
    PrefixSumExecutor(5000).run(ones)
    assert (ones == np.arange(1, 5001).astype(np.float16)).all()


@pytest.mark.parametrize("length", [5, 4097, 100_000])
def test_equal_sums_have_equal_bits(length: int) -> None:
    numbers, results = np.random.default_rng(0).standard_normal(length).astype(np.float32), list[bytes]()
    for threads in (1, 2, 3):
        ti.init(arch=ti.cpu, cpu_max_num_threads=threads)
        sums = numbers.copy()
        PrefixSumExecutor(length).run(sums)
        results.append(sums.tobytes())
    assert len(set(results)) == 1


def test_long_prefix_sums() -> None:
    ti.init(arch=ti.cpu)
    n = 2_300_001
    x = ti.field(ti.i32, n)
    x.fill(3)
    executor = ti.algorithms.PrefixSumExecutor(n)
    executor.run(x)
    assert (x.to_numpy() == 3 * np.arange(1, n + 1)).all()
    ti.init(arch=ti.cpu)
    x = ti.field(ti.i32, n)
    x.fill(1)
    executor.run(x)
    assert x[n - 1] == n


def test_arguments_that_cannot_be_sorted() -> None:
    ti.init(arch=ti.cpu)
    line, box = ti.field(ti.i32, 4), ti.field(ti.i32, (2, 2))
    for keys, values, message in (
        (box, None, "one-dimensional"),
        (ti.Vector.field(2, ti.f32, 4), None, "numbers"),
        ([3, 1], None, "not \\[3, 1\\]"),
        (line, ti.field(ti.i32, 3), "at least 4 long"),
        (line, ti.ndarray(ti.i32, 4), "values must be a field too"),
    ):
        with pytest.raises(ti.TaichiTypeError, match=message):
            parallel_sort(keys, values)
    with pytest.raises(ti.TaichiTypeError, match="has fewer"):
        PrefixSumExecutor(5).run(line)
