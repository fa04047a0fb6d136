"""Indices that are computed from numbers that wrap around."""

import numpy as np
import pytest


@pytest.mark.parametrize("masks", [True, False])
def test_an_index_may_be_what_is_left_of_a_number_that_wrapped(ti, masks):
    if ti.cfg.arch == "python":
        masks = True  # it always looks
    else:
        ti.init(arch=ti.cfg.arch, mask_out_of_bounds=masks)
    n = 100
    x, left = ti.field(ti.i32, n), ti.field(ti.i32, (3, n))
    x.from_numpy(np.arange(n, dtype=np.int32))

    @ti.kernel
    def run():
        for i in x:
            number = i * 1103515245 + 12345
            left[0, i] = x[number % n]
            left[1, i] = x[(number // 65536) % n]
            left[2, i] = x[(number >> 8) & 63]

    run()
    numbers = (np.arange(n, dtype=np.int64) * 1103515245 + 12345).astype(np.int32)
    assert left.to_numpy().tolist() == [
        (numbers % n).tolist(),
        (numbers // 65536 % n).tolist(),
        (numbers >> 8 & 63).tolist(),
    ]
