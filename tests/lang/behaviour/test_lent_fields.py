"""Views of a field's own memory as arguments of kernels that use the field."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

N = 24


@pytest.fixture
def compiled(ti: Any) -> Any:
    """`ti` where kernels are compiled, and numpy sees a field's memory."""
    if ti.cfg.arch != "cpu":
        pytest.skip("numpy sees no memory of a GPU; Python has no variants")
    return ti


def variants(kernel: Any) -> list[bool]:
    """Of each instance, whether it has a careful variant."""
    return [one.careful is not None for one in kernel._instances.values()]


def test_a_view_of_a_field_that_the_kernel_uses(compiled: Any) -> None:
    ti = compiled
    x, y = ti.field(ti.i32, N), ti.field(ti.i32, N)

    @ti.kernel
    def through(a: ti.types.ndarray(ti.i32, 1)) -> ti.i32:
        x[0] = 1
        before = x[0]
        a[0] = 2
        return before * 10 + x[0]

    @ti.kernel
    def shift(a: ti.types.ndarray(ti.i32, 1)):
        for _ in range(1):
            for i in range(1, N):
                x[i] = a[i - 1] + 1

    @ti.kernel
    def sums(a: ti.types.ndarray(ti.i32, 1)):
        for _ in range(1):
            for _i in range(N):
                a[0] += x[0]

    mine, others = np.asarray(x), np.asarray(y)
    for _ in range(3):
        assert through(others) == 11
        assert through(mine) == 12
        x.fill(0)
        shift(others)
        assert x.to_numpy().tolist()[1:] == [others[i] + 1 for i in range(N - 1)]
        x.fill(0)
        shift(mine)
        assert x.to_numpy().tolist() == list(range(N))
        x.fill(1)
        y.fill(0)
        sums(others)
        assert y[0] == N
        sums(mine)
        assert x[0] == 2**N
    assert variants(through) == variants(shift) == variants(sums) == [True]


def test_views_of_two_fields_and_both_fields(compiled: Any) -> None:
    """Fields are still apart from one another."""
    ti = compiled
    x, v = ti.field(ti.f32, N), ti.Vector.field(2, ti.f32, N)

    @ti.kernel
    def step(a: ti.types.ndarray(ti.f32, 1), b: ti.types.ndarray(ti.f32, 2)):
        for i in range(N):
            x[i] = a[i] + 1
            v[i] = ti.Vector([x[i], a[i]])
            a[i] = v[i][0] * 2
            b[i, 1] = b[i, 0] + v[i][0]

    x.fill(1)
    step(np.asarray(x), np.asarray(v))
    assert x.to_numpy().tolist() == [4.0] * N
    assert v.to_numpy().tolist() == [[2.0, 4.0]] * N
    assert variants(step) == [True]


def test_a_field_that_is_only_read_may_be_read_by_two_names(compiled: Any) -> None:
    ti = compiled
    x = ti.field(ti.f32, N)

    @ti.kernel
    def total(a: ti.types.ndarray(ti.f32, 1)) -> ti.f32:
        s = 0.0
        for i in range(N):
            s += x[i] * a[i]
        return s

    x.fill(2)
    assert total(np.asarray(x)) == 4 * N
    assert variants(total) == [False]


def test_a_tensor_that_is_the_field(ti: Any) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed (pip install weft[arrays])")
    import torch

    x, y = ti.field(ti.i32, N), ti.field(ti.i32, N)

    @ti.kernel
    def shift(a: ti.types.ndarray(ti.i32, 1)):
        for _ in range(1):
            for i in range(1, N):
                x[i] = a[i - 1] + 1

    mine, others = torch.from_dlpack(x), torch.from_dlpack(y)
    for _ in range(3):
        x.fill(0)
        shift(others)
        assert x.to_numpy().tolist() == [0] + [1] * (N - 1)
        x.fill(0)
        shift(mine)
        assert x.to_numpy().tolist() == list(range(N))
