"""`ti.autotune` over the sizes of blocks, and that trying leaves nothing behind on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.lang.program.init import program


def test_sizes_of_blocks(ti: Any) -> None:
    x, y = ti.field(ti.f32, 5000), ti.ndarray(ti.f32, 5000)

    @ti.autotune(configs=[ti.Config(block_dim=n) for n in (64, 96, 512)], warmup=1, rep=1)
    @ti.kernel
    def step(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in x:
            x[i] += 1 + ti.random() * 0
            a[i] += x[i]
            b[i] += 1
        ti.loop_config(block_dim=256)
        for i in x:
            x[i] += 1

    host = np.zeros(5000, np.float32)
    launches = getattr(program().device.gpu.driver, "launches", None)
    step(y, host)
    assert (x.to_numpy() == 2).all()
    assert (y.to_numpy() == 1).all()
    assert (host == 1).all()
    if launches is None:
        return  # a GPU does not tell how it was launched
    sizes = {launch[4] for launch in launches}
    assert {64, 96, 256, 512} <= sizes
    chosen = step.tune(y, host).settings["block_dim"]
    before = len(launches)
    step(y, host)
    assert {launch[4] for launch in launches[before:]} >= {chosen, 256}
    assert {64, 96, 512} & {launch[4] for launch in launches[before:]} == {chosen}
