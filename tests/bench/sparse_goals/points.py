"""Cells made anew around points, beside a sort of the numbers of the cells."""

from typing import Any

import numpy as np

from .measuring import Bench

EXTENT, CELL = 1024, 8


def measure(bench: Bench) -> None:
    """1M and 16M points in a room of 1024^3."""
    for count in ((1 << 20) // bench.scale, (1 << 24) // bench.scale):
        _points(bench, count)


def _points(bench: Bench, count: int) -> None:
    """Deactivates all cells, makes those of the points, and lists them in the order of the indices."""
    bench.start()
    ti, blocks = bench.ti, EXTENT // CELL
    x, points = ti.field(ti.f32), ti.Vector.field(3, ti.i32, count)
    node = ti.root.pointer(ti.ijk, blocks)
    node.dense(ti.ijk, CELL).place(x)
    where = np.random.default_rng(0).integers(0, EXTENT, (count, 3)).astype(np.int32)
    points.from_numpy(where)

    @ti.kernel
    def activate():
        for p in points:
            ti.activate(node, points[p] // CELL)

    @ti.kernel
    def number() -> ti.i32:
        found = 0
        for _i, _j, _k in node:
            found += 1
        return found

    def build() -> None:
        activate()
        number()

    def rebuild() -> None:
        node.deactivate_all()
        build()

    keys = (where // CELL) @ np.array([blocks * blocks, blocks, 1], np.int32)
    rebuild()
    if number() != len(np.unique(keys)):
        raise AssertionError("other cells are active than there are points in")
    name = f"cells of {count >> 20}M points"
    bench.times[f"{name}: make and list"] = bench.best(build, node.deactivate_all)
    bench.times[f"{name}: also drop the old ones"] = bench.best(rebuild)
    if bench.is_weft:
        sort = bench.times[f"{name}: sort"] = _sort(bench, keys.astype(np.int32))
        for part in ("make and list", "also drop the old ones"):
            bench.row(f"{name}: {part}: of a sort", bench.times[f"{name}: {part}"] / sort, 1.5, 1.5)


def _sort(bench: Bench, keys: Any) -> float:
    """Milliseconds of a sort of the keys: numpy's, or torch's on a GPU, or ours where that is faster."""
    ti = bench.ti
    if bench.arch == "cpu":
        return bench.best(lambda: np.sort(keys))
    import torch

    there = torch.from_numpy(keys).cuda()

    def run() -> None:
        torch.sort(there)
        torch.cuda.synchronize()

    again, ours = ti.field(ti.i32, len(keys)), ti.field(ti.i32, len(keys))
    again.from_numpy(keys)
    mine = bench.best(lambda: ti.algorithms.parallel_sort(ours), lambda: ours.copy_from(again))
    return min(mine, bench.best(run))
