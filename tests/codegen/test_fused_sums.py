"""Sums of the elements of vectors that are products: a product and a sum are one instruction (AVX2 and AVX-512)."""

import numpy as np
import pytest

import weft as ti
from weft.codegen.llvm.machine import host_cpu
from weft.ir.mapping.lane_choice import vector_bits
from weft.lang.program.init import program


@pytest.fixture(params=[True, False], ids=["fast", "exact"])
def fast(request, kept_kernels):
    ti.init(arch=ti.cpu, fast_math=request.param, cpu_max_num_threads=1)
    yield request.param
    ti.reset()


def pairs(n, m, dtype):
    """Adds a product of each pair up for both of its partners."""
    x, y = ti.Vector.field(3, dtype, n), ti.Vector.field(3, dtype, m)
    left, right = ti.Vector.field(3, dtype, n), ti.Vector.field(3, dtype, m)

    @ti.kernel
    def add():
        for i in x:
            total = ti.Vector.zero(dtype, 3)
            for j in range(m):
                apart = x[i] - y[j]
                push = apart * (1.0 / apart.norm_sqr())
                total += push
                right[j] -= push
            left[i] += total

    return x, y, left, right, add


@pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
@pytest.mark.parametrize(("n", "m"), [(256, 5), (257, 4), (3, 2), (100, 1), (1, 3)])
def test_both_partners_of_a_pair(fast, n, m, dtype):
    x, y, left, right, add = pairs(n, m, dtype)
    rng = np.random.default_rng(n)
    a, b = rng.random((n, 3)) + 0.5, -rng.random((m, 3))  # a lane without an iteration divides 0 by 0 if y[j] is 0
    b[0] = 0
    x.from_numpy(a.astype(dtype.np)), y.from_numpy(b.astype(dtype.np))
    add()
    apart = a[:, None] - b[None]
    push = apart / (apart**2).sum(axis=2, keepdims=True)
    tolerance = 1e-4 if dtype is ti.f32 else 1e-12
    np.testing.assert_allclose(left.to_numpy(), push.sum(axis=1), rtol=tolerance)
    np.testing.assert_allclose(right.to_numpy(), -push.sum(axis=0), rtol=tolerance)


def test_nan_stays_nan(fast):
    x, y, left, right, add = pairs(256, 3, ti.f32)
    x.from_numpy(np.full((256, 3), 1, np.float32)), y.from_numpy(np.full((3, 3), 2, np.float32))
    x[77] = [np.nan, 1, 1]
    add()
    assert np.isnan(right.to_numpy()).all()
    assert list(np.flatnonzero(np.isnan(left.to_numpy()).all(axis=1))) == [77]


def test_sums_of_products_are_fused(fast):
    *_, add = pairs(256, 64, ti.f32)
    text = add.stages().llvm
    if vector_bits(host_cpu(3, program().config.cpu_features).features) == 512:
        assert ("llvm.fmuladd" in text) == fast
