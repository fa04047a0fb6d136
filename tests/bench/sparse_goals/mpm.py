"""Water of material points (moving least squares) on a sparse grid made anew in each step, beside a dense grid."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .measuring import Bench

BLOCK, STEP = 4, 5e-3  # cells along each axis of a block; seconds of a step, times the cells of the room
ROOMS = ((1 << 17, 64), (1 << 20, 128))  # particles, and cells along each axis of the room


def measure(bench: Bench) -> None:
    """128k and 1M particles, 8 in a cell."""
    for count, grid in ROOMS:
        bench.start()
        count = count // bench.scale
        name = f"MPM, {count >> 10}k particles"
        sparse = water(bench.ti, count, grid, True)
        bench.times[name] = bench.best(sparse, count=5)
        if bench.is_weft:
            dense = bench.times[f"{name}: dense"] = bench.best(water(bench.ti, count, grid, False), count=5)
            bench.row(f"{name}: of a dense grid", bench.times[name] / dense, 1.3, 1.3)


def water(ti: Any, count: int, grid: int, sparse: bool) -> Callable[[], None]:
    """A step of a cube of water that falls."""
    x, v, C, J = (
        ti.Vector.field(3, ti.f32, count),
        ti.Vector.field(3, ti.f32, count),
        ti.Matrix.field(3, 3, ti.f32, count),
        ti.field(ti.f32, count),
    )
    node = ti.Vector.field(4, ti.f32)  # momentum (later velocity), and mass
    blocks = ti.root.pointer(ti.ijk, grid // BLOCK) if sparse else ti.root.dense(ti.ijk, grid // BLOCK)
    if sparse:
        blocks.dense(ti.ijk, BLOCK).place(node)
    else:
        node = ti.Vector.field(4, ti.f32, (grid, grid, grid))
    side = round(count ** (1 / 3) / 2) + 1  # cells along an edge of the cube
    place = np.random.default_rng(0).random((count, 3)) * side + (grid - side) / 2
    place = place[np.lexsort(place.astype(int).T[::-1])]  # in the order of cells
    x.from_numpy((place / grid).astype(np.float32))
    J.fill(1)
    scatter, gather = _particles(ti, x, v, C, J, node, grid)
    move = _cells(ti, node, grid)

    def step() -> None:
        if sparse:
            blocks.deactivate_all()
        else:
            node.fill(0)
        scatter()
        move()
        gather()

    return step


def _particles(ti: Any, x: Any, v: Any, C: Any, J: Any, node: Any, grid: int) -> tuple[Any, Any]:
    """What goes from particles to the grid, and back."""
    dx, dt, volume = 1 / grid, STEP / grid, (0.5 / grid) ** 3

    @ti.kernel
    def scatter():
        for p in x:
            base = ti.cast(x[p] / dx - 0.5, ti.i32)
            f = x[p] / dx - base
            w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
            stress = -dt * 4 * 50.0 * volume * (J[p] - 1) / dx**2
            affine = stress * ti.Matrix.identity(ti.f32, 3) + volume * C[p]
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                offset = ti.Vector([i, j, k])
                m = volume * v[p] + affine @ ((offset - f) * dx)
                node[base + offset] += w[i][0] * w[j][1] * w[k][2] * ti.Vector([m[0], m[1], m[2], volume])

    @ti.kernel
    def gather():
        for p in x:
            base = ti.cast(x[p] / dx - 0.5, ti.i32)
            f = x[p] / dx - base
            w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
            new_v, new_C = ti.Vector.zero(ti.f32, 3), ti.Matrix.zero(ti.f32, 3, 3)
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                offset = ti.Vector([i, j, k])
                g = node[base + offset]
                u = w[i][0] * w[j][1] * w[k][2] * ti.Vector([g[0], g[1], g[2]])
                new_v += u
                new_C += 4 * u.outer_product(offset - f) / dx
            v[p], C[p] = new_v, new_C
            J[p] *= 1 + dt * new_C.trace()
            x[p] += dt * new_v

    return scatter, gather


def _cells(ti: Any, node: Any, grid: int) -> Any:
    """Momentum becomes velocity, with gravity and walls."""
    dt = STEP / grid

    @ti.kernel
    def move():
        for I in ti.grouped(node):
            if node[I][3] > 0:
                u = ti.Vector([node[I][0], node[I][1], node[I][2]]) / node[I][3]
                u[1] -= dt * 9.8
                for d in ti.static(range(3)):
                    if (I[d] < 3 and u[d] < 0) or (I[d] > grid - 3 and u[d] > 0):
                        u[d] = 0
                node[I] = ti.Vector([u[0], u[1], u[2], node[I][3]])

    return move
