"""Inner loops in lanes beside versions of them that are seldom needed, and that sum up one round after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as ti
from tests.codegen.folding import folding, has_lanes
from weft.ir.mapping import lane_choice
from weft.ir.ops import If

N = 53


def test_a_version_that_is_seldom_needed_sums_up_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Loops in the masked version are not folded, as where that would not pay. The vectors of the others live on in the
    loop around where the masked ones only add to the same locals; not where it does more with them."""
    prices = lane_choice.fold_prices

    def fast(*given: Any) -> Any:
        return {
            loop: price
            for loop, price in prices(*given).items()
            if not (isinstance(loop.parent, If) and loop.block is loop.parent.orelse)
        }

    monkeypatch.setattr(lane_choice, "fold_prices", fast)
    ti.init(arch=ti.cpu)
    x, cuts, out = ti.field(ti.i32, 300), ti.field(ti.i32, (N, 4)), ti.Vector.field(8, ti.i32, N)
    x.from_numpy(np.arange(300, dtype=np.int32) * 7 % 50)
    cuts.from_numpy(np.tile([0, 10, 290, 310], (N, 1)).astype(np.int32) + np.arange(N, dtype=np.int32)[:, None] % 9)

    @ti.kernel
    def run(rounds: ti.i32):
        for i in out:
            a, b, c, d, e, f, g, h = 1, 2, 3, 4, 5, 6, 7, 8
            for j in range(rounds):
                for k in range(j, cuts[i, j]):
                    a += x[k]
                    b -= x[k]
                    c = ti.max(c, x[k])
                    d += x[k]
                    e += x[k]
                    f += x[k]
                    g += x[k] + 1
                    h -= x[k]
                d = d * 2
                e += 1 + f
                g = 1 - g
                h = ti.min(h, 9)
            out[i] = [a, b, c, d, e, f, g, h]

    with folding() as every_loop:
        run(4)
    assert bool(every_loop) == has_lanes()
    if every_loop:
        assert any(len(loop.totals) >= 3 for loop in every_loop[0].values() if loop.facts is None)
    numbers, wanted = x.to_numpy().tolist() + [0] * 20, []
    for ends in cuts.to_numpy().tolist():
        a, b, c, d, e, f, g, h = 1, 2, 3, 4, 5, 6, 7, 8
        for j in range(4):
            piece = numbers[j : ends[j]]
            a, b, c, h = a + sum(piece), b - sum(piece), max([c, *piece]), min(h - sum(piece), 9)
            d, f, g = 2 * (d + sum(piece)), f + sum(piece), 1 - (g + sum(piece) + len(piece))
            e += sum(piece) + 1 + f
        wanted.append([a, b, c, d, e, f, g, h])
    np.testing.assert_array_equal(out.to_numpy(), np.array(wanted, np.int64).astype(np.int32))
