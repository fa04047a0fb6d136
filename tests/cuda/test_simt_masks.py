"""Accesses of threads that work together, where some leave their field."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from weft.runtime.errors import OutOfBoundsWarning


def test_threads_meet_where_some_are_out_of_bounds(ti):
    """Whether accesses are masked differs from thread to thread, so the barrier must not be in one of two versions."""
    x, base, y = ti.field(ti.i32, 40), ti.field(ti.i32, 64), ti.field(ti.i32, 64)
    x.from_numpy(np.arange(40, dtype=np.int32) + 1)
    base.from_numpy(np.arange(64, dtype=np.int32) * 7 % 45)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=32)
        for i in y:
            pad = ti.simt.block.SharedArray((32,), ti.i32)
            k, lane = base[i], i % 32
            pad[lane] = x[k] + x[k + 1] + x[k + 2] + x[k + 3]
            ti.simt.block.sync()
            y[i] = pad[31 - lane]

    def told():
        run()
        ti.sync()

    with pytest.warns(OutOfBoundsWarning):
        told()
    padded = np.concatenate([np.arange(40) + 1, np.zeros(10, int)])
    sums = np.array([padded[i * 7 % 45 : i * 7 % 45 + 4].sum() for i in range(64)])
    assert (y.to_numpy() == sums.reshape(2, 32)[:, ::-1].ravel()).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        base.fill(3)
        told()
