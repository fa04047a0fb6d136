"""Programs of particles for `measure.py`: gravity, MPM88, and smoothed particle hydrodynamics with a grid of cells."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from workloads import Workload, apart, workload

import weft as ti

sys.path.append(str(Path(__file__).parent.parent / "bench"))  # its programs are for any module `ti`, found so
from inputs import lattice
from mpm88 import mpm88
from sph import WEIGHT, listed_fluid


@workload("n-body 65536", 2.2)
def n_body() -> Workload:
    n = 65536
    x, f = ti.Vector.field(3, ti.f32, n), ti.Vector.field(3, ti.f32, n)

    @ti.kernel
    def step():
        for i in range(n):
            a = ti.Vector([0.0, 0.0, 0.0])
            for j in range(n):
                d = x[j] - x[i]
                inverse = 1.0 / ti.sqrt(d.dot(d) + 1e-3)
                a += d * (inverse * inverse * inverse)
            f[i] = a

    def error() -> float:
        step()
        v, at = x.to_numpy().astype(np.float64), np.arange(0, n, n // 64)
        d = v[None] - v[at][:, None]
        want = (d / ((d**2).sum(-1) + 1e-3)[..., None] ** 1.5).sum(1)
        return apart(f.to_numpy()[at], want, 1e-4)

    x.from_numpy(np.random.default_rng(0).random((n, 3), np.float32))
    return Workload(step, 0, error)


def mpm88_substeps(count: int, grid: int, steps: int) -> Workload:
    """So many substeps of MPM88."""
    fluid = mpm88(ti, count, grid)
    x, v, J = fluid.x, fluid.v, fluid.J

    @ti.kernel
    def start():
        for i in x:
            x[i] = [ti.random() * 0.4 + 0.2, ti.random() * 0.4 + 0.2]
            v[i] = [0, -1]
            J[i] = 1

    def run() -> None:
        for _ in range(steps):
            fluid.substep()

    def error() -> float:
        """Nothing is lost on the way to the grid, and all fall as they must."""
        start()
        run()
        total = fluid.grid_m.to_numpy().sum(dtype=np.float64)
        fallen = v.to_numpy()[:, 1].mean(dtype=np.float64)
        return max(apart(total, count * fluid.mass, 1e-4), apart(fallen, -1 - steps * fluid.fall, 1e-3))

    start()
    return Workload(run, 0, error)


@workload("MPM88 8192, 50 substeps")
def mpm88_small() -> Workload:
    return mpm88_substeps(8192, 128, 50)


@workload("MPM88 1M, 50 substeps", 15.0)
def mpm88_large() -> Workload:
    return mpm88_substeps(1 << 20, 1024, 50)


SIDE = 128  # of the block of particles
CELLS = 80  # along each axis of the box [0, 1)^3
MOST = 24  # particles of one cell


@workload("SPH 2M", 5.0)
def sph() -> Workload:
    """One step: particles into cells, densities, forces, and the move."""
    n, fluid, places = SIDE**3, listed_fluid(ti, SIDE, CELLS, MOST), lattice(SIDE)

    def start() -> None:
        fluid.x.from_numpy(places)
        fluid.v.fill(0)

    def error() -> float:
        start()
        fluid.step()
        at = np.random.default_rng(3).integers(0, n, 40)
        exact = places.astype(np.float64)
        q = [np.maximum(0, 1 - ((exact - exact[i]) ** 2).sum(-1) * CELLS**2) for i in at]
        want = np.array([(each**3).sum() for each in q]) / n * CELLS**3 * WEIGHT
        full: Any = fluid.held.to_numpy()
        return max(
            apart(fluid.density.to_numpy()[at], want, 1e-3), float(full.max() > MOST) * 9, apart(full.sum(), n, 1e-12)
        )

    start()
    return Workload(fluid.step, 0, error)
