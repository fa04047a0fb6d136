"""Stores of lanes whose values are truncated."""

import pytest

import weft as ti


@pytest.mark.parametrize("name", ["i32", "i16", "u8"])
def test_a_masked_store_of_truncated_values_leaves_its_neighbours(name):
    """LLVM 22 stores the element before its truncation if it finds out that a masked store writes one lane."""
    ti.init(arch=ti.cpu, default_ip=ti.i64, offline_cache=False)
    dtype = getattr(ti, name)
    q = ti.field(ti.u8, shape=(2, 4), order="ji")
    ticks = ti.field(dtype, shape=8)

    @ti.kernel
    def run():
        n = 0
        ti.loop_config(simd=4)
        for i, j in q:
            ticks[i * 4 + j] = ti.cast(ti.atomic_add(n, 1), dtype)

    run()
    assert ticks.to_numpy().tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
