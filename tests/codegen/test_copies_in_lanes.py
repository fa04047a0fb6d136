"""Iterations in SIMD lanes that add to private copies of small fields, one copy for each thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import weft as ti

BINS, COUNT = 24, 20_003


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    ti.init(arch=ti.cpu, fast_math=False, cpu_max_num_threads=3)
    yield
    ti.reset()


def add_to_one_place(total: Any, x: Any, k: Any) -> None:
    """All lanes add to the same element in each round."""
    ti.loop_config(simd=8)
    for i in x:
        v = x[i]
        for j in range(BINS):
            total[j] += v
            v *= 3


def add_where_data_says(total: Any, x: Any, k: Any) -> None:
    """Each lane adds to elements of its own."""
    ti.loop_config(simd=8)
    for i in x:
        v = x[i]
        for j in range(5):
            total[(k[i] + j) % BINS] += v
            v += j


def subtract_in_a_branch(total: Any, x: Any, k: Any) -> None:
    """Some lanes."""
    ti.loop_config(simd=8)
    for i in x:
        for j in range(BINS):
            if k[i] % (j + 1) == 0:
                total[j] -= x[i]


def expected(body: Any, x: Any, k: Any) -> Any:
    """The same by Python, iteration by iteration in numpy's vectors."""
    total = np.zeros(BINS, x.dtype)
    with np.errstate(over="ignore"):
        if body is add_to_one_place:
            for j in range(BINS):
                total[j] = np.sum(x.astype(np.int64) * (3**j % 2**32)).astype(np.int32)
        elif body is add_where_data_says:
            v = x.copy()
            for j in range(5):
                np.add.at(total, (k + j) % BINS, v)
                v = v + x.dtype.type(j)
        else:
            for j in range(BINS):
                total[j] = -np.sum(x[k % (j + 1) == 0], dtype=x.dtype)
    return total


@pytest.mark.parametrize("body", [add_to_one_place, add_where_data_says, subtract_in_a_branch])
def test_sums_of_lanes_in_copies(body: Any) -> None:
    random = np.random.default_rng(1)
    values, keys = random.integers(0, 50, COUNT).astype(np.int32), random.integers(0, 1000, COUNT).astype(np.int32)
    total, x, k = ti.field(ti.i32, BINS), ti.field(ti.i32, COUNT), ti.field(ti.i32, COUNT)
    x.from_numpy(values)
    k.from_numpy(keys)

    body.__annotations__ = {name: ti.template() for name in ("total", "x", "k")}
    kernel = ti.kernel(body)
    facts = str(kernel.stages(total, x, k).facts)
    assert "in each lane" in facts
    assert "total: one for each thread" in facts
    total.fill(7)
    kernel(total, x, k)
    wanted = expected(body, values.astype(np.int32), keys)
    np.testing.assert_array_equal(total.to_numpy(), (wanted + 7).astype(np.int32))
