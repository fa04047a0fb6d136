"""Large fields and ndarrays, which all threads set to 0 and copy."""

from collections.abc import Iterator

import numpy as np
import pytest

import weft as ti

COUNT = 300_001  # more than a megabyte of f64


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    ti.init(arch=ti.cpu, cpu_max_num_threads=3)
    yield
    ti.reset()


@pytest.mark.parametrize("value", [0, 0.0, -0.0, 1.5, float("nan")])
@pytest.mark.parametrize("make", [ti.field, ti.ndarray])
def test_fill(make, value):
    x = make(ti.f64, COUNT)
    x.from_numpy(np.arange(1.0, COUNT + 1))
    x.fill(value)
    np.testing.assert_array_equal(x.to_numpy().view(np.int64), np.full(COUNT, value, np.float64).view(np.int64))


@pytest.mark.parametrize("make", [ti.field, ti.ndarray])
def test_copies(make):
    x, y = make(ti.f64, COUNT), make(ti.f64, COUNT)
    values = np.random.default_rng(1).uniform(size=COUNT)
    y.from_numpy(values)
    x.copy_from(y)
    np.testing.assert_array_equal(x.to_numpy(), values)
    x.copy_from(x)
    np.testing.assert_array_equal(x.to_numpy(), values)


def test_memory_beside_a_field_stays():
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    ti.root.dense(ti.i, 2 * COUNT).place(x, y)  # element by element
    y.fill(7)
    x.fill(3)
    x.fill(0)
    assert not x.to_numpy().any()
    assert (y.to_numpy() == 7).all()


def test_bytes_and_truth_values():
    x, y = ti.field(ti.u8, 2_000_003), ti.field(ti.u1, 2_000_003)
    x.fill(255)
    y.fill(True)
    x.fill(0)
    y.fill(False)
    assert not x.to_numpy().any()
    assert not y.to_numpy().any()
