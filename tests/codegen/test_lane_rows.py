"""Loops over lanes that add to adjacent memory: each lane finds its numbers side by side, and adds the right ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as ti
from tests.sampling import only

N = 45  # not a multiple of any vector
WHERE = (np.arange(N) * 17 % 29).astype(np.int32)

# Of a lane: the places behind its own to which it adds, and the numbers of adjacent ones that share a slot.
ROWS = {
    "two": ((0, 1), 2),
    "four": ((0, 1, 2, 3), 4),
    "six": ((0, 1, 2, 3, 4, 5), 4),
    "in any order": ((3, 1, 0, 2), 4),
    "far apart": ((0, 1, 70, 71), 2),
    "three": ((0, 1, 2), 0),
    "two and one": ((0, 1, 9), 0),
    "one place twice": ((0, 1, 0, 1), 0),
}


def scatter(offsets: tuple[int, ...], type: Any, lanes: int, threads: int = 1) -> tuple[Any, str]:
    ti.init(arch=ti.cpu, fast_math=False, cpu_max_num_threads=threads)
    where, out, given = ti.field(ti.i32, N), ti.field(type, 128), ti.field(type, (N, 8))
    where.from_numpy(WHERE)
    given.from_numpy(np.random.default_rng(3).integers(-99, 99, (N, 8)))

    @ti.kernel
    def run():
        ti.loop_config(simd=lanes)
        for p in where:
            if p % 3 != 1:
                for k in ti.static(range(len(offsets))):
                    out[where[p] + offsets[k]] += given[p, k] * given[p, (k + 1) % 8]

    run()
    return out.to_numpy(), run.stages().llvm


CASES = [(name, type) for type in ("f32", "f64") for name in ROWS]


@pytest.mark.parametrize(("name", "type"), only([("six", "f32"), ("two", "f64"), ("three", "f32")], CASES))
def test_each_number_goes_to_its_place(name: str, type: str) -> None:
    offsets, shared = ROWS[name]
    wanted, _ = scatter(offsets, getattr(ti, type), 1)
    found, text = scatter(offsets, getattr(ti, type), 16)
    np.testing.assert_array_equal(found, wanted)
    assert np.count_nonzero(wanted) > 20
    width = min(shared, 4 if type == "f32" else 2)
    slots = [f"[{count} x {'float' if type == 'f32' else 'double'}], ptr" for count in (2, 4)]
    assert [slot in text for slot in slots] == [width == 2 or (width == 4 and len(offsets) == 6), width == 4]


def test_by_several_threads() -> None:
    wanted, _ = scatter((0, 1, 2, 3), ti.f32, 1)
    found, _ = scatter((0, 1, 2, 3), ti.f32, 16, threads=3)
    np.testing.assert_array_equal(found, wanted)  # of whole numbers
