"""The gradient of MPM88 in a bounded memory, beside the gradient with all old values kept.

    python -m tests.bench.checkpoints --particles 262144 --grid 512 --steps 1000 --memory 0.1

Prints the bytes that a tape keeps for all steps, the bytes that `ti.ad.steps` may use, those that it used, and the
times of both, forward and backward, the best of some rounds that alternate. The gradients differ only by the order of
sums on the grid.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from weft.lang.autodiff.checkpoints import Budget


@dataclass
class Measured:
    """Bytes, seconds, and how far the gradients are apart, relative to the largest one."""

    all_bytes: int = 0
    allowed: int = 0
    used: int = 0
    all_time: float = float("inf")
    bounded_time: float = float("inf")
    apart: float = 0.0

    def __str__(self) -> str:
        return (
            f"all steps kept: {self.all_bytes / 1e6:.1f} MB, {self.all_time:.3f} s\n"
            f"bounded: {self.allowed / 1e6:.1f} MB ({self.allowed / self.all_bytes:.1%}), of which "
            f"{self.used / 1e6:.1f} MB were copies of steps, {self.bounded_time:.3f} s\n"
            f"time: {self.bounded_time / self.all_time:.2f} times that of keeping all; gradients {self.apart:.1e} apart"
        )


class Fluid:
    """MPM88, one kernel for each part of a step; the loss is where its particles are at the end."""

    def __init__(self, ti: Any, count: int, n: int) -> None:
        self.ti, self.count = ti, count
        vector, matrix = ti.Vector.field, ti.Matrix.field
        self.x, self.v, self.x0, self.v0 = (vector(2, ti.f32, count, needs_grad=True) for _ in range(4))
        self.C, self.J = matrix(2, 2, ti.f32, count, needs_grad=True), ti.field(ti.f32, count, needs_grad=True)
        self.momentum, self.moved = (vector(2, ti.f32, (n, n), needs_grad=True) for _ in range(2))
        self.weight = ti.field(ti.f32, (n, n), needs_grad=True)
        self.loss = ti.field(ti.f32, (), needs_grad=True)
        self.begin, self.compare = _ends(ti, self)
        self.parts = (_clear(ti, self), _to_grid(ti, self, n), _on_grid(ti, self, n), _from_grid(ti, self, n))
        draw = np.random.default_rng(1)
        self.x0.from_numpy((0.2 + 0.4 * draw.random((count, 2))).astype(np.float32))
        self.v0.from_numpy(np.full((count, 2), [1.0, -1.0], np.float32))

    def gradient(self, steps: Any) -> tuple[float, Any, Any]:
        """The seconds that it takes, the gradient by the first velocities, and the tape."""
        self.ti.sync()
        began = perf_counter()
        with self.ti.ad.Tape(self.loss) as tape:
            self.begin()
            for _ in steps:
                for part in self.parts:
                    part()
            self.compare()
        self.ti.sync()
        return perf_counter() - began, self.v0.grad.to_numpy(), tape


def _ends(ti: Any, f: Fluid) -> Any:
    x, v, C, J, x0, v0, loss, count = f.x, f.v, f.C, f.J, f.x0, f.v0, f.loss, f.count

    @ti.kernel
    def begin():
        for p in x0:
            x[p], v[p], J[p] = x0[p], v0[p], 1.0
            C[p] = ti.Matrix([[0.0, 0.0], [0.0, 0.0]])

    @ti.kernel
    def compare():
        for p in x0:
            loss[None] += (x[p] - ti.Vector([0.5, 0.5])).norm_sqr() / count

    return begin, compare


def _clear(ti: Any, f: Fluid) -> Any:
    momentum, weight = f.momentum, f.weight

    @ti.kernel
    def clear():
        for i, j in weight:
            momentum[i, j] = ti.Vector([0.0, 0.0])
            weight[i, j] = 0.0

    return clear


def _to_grid(ti: Any, f: Fluid, n: int) -> Any:
    x, v, C, J, momentum, weight = f.x, f.v, f.C, f.J, f.momentum, f.weight
    dx, dt, stiffness = 1 / n, 2e-4 * 128 / n, 400.0
    volume = mass = (dx * 0.5) ** 2

    @ti.kernel
    def to_grid():
        for p in x:
            base = ti.cast(x[p] * n - 0.5, ti.i32)
            fx = x[p] * n - ti.cast(base, ti.f32)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            stress = -dt * 4 * stiffness * volume * (J[p] - 1) * n * n
            affine = ti.Matrix([[stress, 0.0], [0.0, stress]]) + mass * C[p]
            for i, j in ti.static(ti.ndrange(3, 3)):
                off = (ti.Vector([i, j]) - fx) * dx
                share = w[i][0] * w[j][1]
                momentum[base + ti.Vector([i, j])] += share * (mass * v[p] + affine @ off)
                weight[base + ti.Vector([i, j])] += share * mass

    return to_grid


def _on_grid(ti: Any, f: Fluid, n: int) -> Any:
    momentum, moved, weight, dt = f.momentum, f.moved, f.weight, 2e-4 * 128 / n

    @ti.kernel
    def on_grid():
        for i, j in weight:
            u = momentum[i, j] / (weight[i, j] + 1e-12)
            u[1] -= dt * 9.8
            if (i < 3 and u[0] < 0) or (i > n - 3 and u[0] > 0):
                u[0] = 0.0
            if (j < 3 and u[1] < 0) or (j > n - 3 and u[1] > 0):
                u[1] = 0.0
            moved[i, j] = u

    return on_grid


def _from_grid(ti: Any, f: Fluid, n: int) -> Any:
    x, v, C, J, moved, dt = f.x, f.v, f.C, f.J, f.moved, 2e-4 * 128 / n

    @ti.kernel
    def from_grid():
        for p in x:
            base = ti.cast(x[p] * n - 0.5, ti.i32)
            fx = x[p] * n - ti.cast(base, ti.f32)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            u, c = ti.Vector([0.0, 0.0]), ti.Matrix([[0.0, 0.0], [0.0, 0.0]])
            for i, j in ti.static(ti.ndrange(3, 3)):
                there = moved[base + ti.Vector([i, j])]
                share = w[i][0] * w[j][1]
                u += share * there
                c += 4 * n * share * there.outer_product(ti.Vector([i, j]) - fx)
            v[p], C[p] = u, c
            x[p] += dt * u
            J[p] *= 1 + dt * (c[0, 0] + c[1, 1])

    return from_grid


def measure(ti: Any, particles: int, grid: int, steps: int, memory: float, rounds: int) -> Measured:
    """Measure a fluid with so many particles. `memory`: which part of the bytes of all steps."""
    fluid, found = Fluid(ti, particles, grid), Measured()
    _, wanted, tape = fluid.gradient(range(steps))
    found.all_bytes = sum(copy.size for record in tape._records for copy in (*record.before, *record.after))
    del tape
    found.allowed = int(found.all_bytes * memory)
    fluid.gradient(ti.ad.steps(min(steps, 20), memory=found.allowed))
    hold = Budget.hold

    def counted(budget: Budget, copies: Any) -> None:
        hold(budget, copies)
        found.used = max(found.used, budget.used)

    Budget.hold = counted  # type: ignore[method-assign]
    try:
        for _ in range(rounds):
            seconds, gradient, _ = fluid.gradient(ti.ad.steps(steps, memory=found.allowed))
            found.bounded_time = min(found.bounded_time, seconds)
            found.apart = float(np.abs(gradient - wanted).max() / np.abs(wanted).max())
            seconds, _, _ = fluid.gradient(range(steps))
            found.all_time = min(found.all_time, seconds)
    finally:
        Budget.hold = hold  # type: ignore[method-assign]
    return found


def main() -> None:
    import weft as ti

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="cpu")
    parser.add_argument("--particles", type=int, default=16384)
    parser.add_argument("--grid", type=int, default=128)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--memory", type=float, default=0.1, help="which part of the bytes of all steps")
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    ti.init(arch=given.arch)
    print(measure(ti, given.particles, given.grid, given.steps, given.memory, given.rounds))


if __name__ == "__main__":
    main()
