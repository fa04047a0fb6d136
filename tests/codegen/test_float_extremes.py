"""Least and greatest floats that loops keep, with fast_math: beside NaN, and in loops that mix types."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import weft as ti
from weft.codegen.llvm.instruction_sets import levels_here

# LLVM's two estimates of costs differed for each of these, and an assertion ended the process: hence a process each.
MIXED = """
import numpy as np
import weft as ti

ti.init(arch=ti.cpu, cpu_features="{level}", offline_cache=False)


@ti.kernel
def of_indices(n: ti.i32) -> ti.f32:
    most = ti.f32(3)
    for i in range(n):
        ti.atomic_max(most, ti.cast(ti.f64(0.1) + i, ti.f32))
    return most


@ti.kernel
def of_roots(n: ti.i32) -> ti.f32:
    most = ti.f32(0)
    for i in range(n):
        ti.atomic_max(most, ti.cast(ti.sqrt(ti.f64(i) + i), ti.f32))
    return most


@ti.kernel
def of_elements(x: ti.types.ndarray(ti.f32, 1)) -> ti.f32:
    least = ti.f32(0)
    for i in x:
        wide = ti.cast(x[i], ti.f64)
        twice = wide + wide
        ti.atomic_min(least, ti.cast((twice - (twice + wide)) / twice, ti.f32))
    return least


print(of_indices(20000), of_roots(5001), of_elements(np.arange(1, 1000, dtype=np.float32)))
"""


@pytest.mark.parametrize("level", levels_here())
def test_extremes_in_mixed_types(level: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / ".links")}
    command = [sys.executable, "-c", MIXED.format(level=level)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert [float(one) for one in done.stdout.split()] == [np.float32(19999.1), 100.0, -0.5]


@pytest.mark.parametrize("level", levels_here())
@pytest.mark.parametrize("name", ["f16", "f32", "f64"])
def test_reductions_pass_by_nan(level: str, name: str) -> None:
    ti.init(arch=ti.cpu, cpu_features=level)
    prim = getattr(ti, name)

    @ti.kernel
    def extremes(x: ti.types.ndarray(prim, 2), out: ti.types.ndarray(prim, 2), start: prim):
        for i in range(x.shape[0]):
            least, most = start, start
            for j in range(x.shape[1]):
                least = ti.min(least, x[i, j])
                most = ti.max(x[i, j], most)
            out[i, 0], out[i, 1] = least, most

    draw = np.random.default_rng(0)
    for columns in (1, 7, 64, 203):
        x = draw.normal(size=(12, columns)).astype(prim.np)
        for row, part in enumerate((0, 0.02, 0.5, 1)):
            x[row::4][draw.random((3, columns)) < part] = np.nan
        for start in (np.nan, 0.0, np.inf):
            out = np.zeros((12, 2), prim.np)
            extremes(x, out, start)
            all_of = np.concatenate([np.full((12, 1), start, prim.np), x], axis=1)
            wanted = np.stack([np.fmin.reduce(all_of, axis=1), np.fmax.reduce(all_of, axis=1)], axis=1)
            np.testing.assert_array_equal(out, wanted)
