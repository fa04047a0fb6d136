"""Loops over sparse fields beside the same loops over dense ones: `python -m tests.bench.sparse_cells [cpu|cuda] [n]`.

A field of n x n x n `f32` lies in cells of 8 x 8 x 8, of which all or a tenth are active. The time of an active element
is divided by that of an element of a dense field of the same shape, in the same process. If the elements of the cells
have marks (`bitmasked`), that of the whole loop is. On a CPU, one thread runs the
loops and its time is counted (not that of the clock on the wall), so that other programs do not matter much."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import weft as ti

ROUNDS, SIZE = 7, 8


class Fields:
    """The fields and the kernels, on n x n x n elements."""

    def __init__(self, n: int) -> None:
        self.n, blocks = n, n // SIZE
        self.x, self.y, self.z = (ti.field(ti.f32) for _ in range(3))
        for field in (self.x, self.y, self.z):
            ti.root.pointer(ti.ijk, blocks).dense(ti.ijk, SIZE).place(field)
        self.dense, self.other = (ti.field(ti.f32, (n, n, n)) for _ in range(2))

    def fill(self, share: float) -> int:
        """Make that share of the cells active; gives how many elements are."""
        n, blocks, x = self.n, self.n // SIZE, self.x

        @ti.kernel
        def fill(part: ti.f32):
            for i, j, k in ti.ndrange(blocks, blocks, blocks):
                if ti.random() < part:
                    for a, b, c in ti.ndrange(SIZE, SIZE, SIZE):
                        x[i * SIZE + a, j * SIZE + b, k * SIZE + c] = i + 0.5 * a * j + 0.25 * k * c

        ti.deactivate_all_snodes()
        fill(share)
        return n**3 if share == 1 else len(x.active()[1])

    def programs(self) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
        """By name: a loop over the sparse field, and the same over the dense one."""
        sparse, dense = loops(self.x, self.y, self.z, self.n), loops(self.dense, self.other, self.other, self.n)
        return {name: (sparse[name], dense[name]) for name in sparse}


def loops(a: Any, b: Any, c: Any, n: int) -> dict[str, Callable[[], Any]]:
    """The loops over field `a` of n x n x n elements, by name. They write `a`, `b`, or `c`."""
    return {
        "own elements": _scale(a),
        "a copy into another tree": _copy(a, c),
        "7 points, 0 outside": _laplace(a, b),
        "7 points, kept in range": _kept(a, b, n),
    }


def _scale(a: Any) -> Callable[[], Any]:
    @ti.kernel
    def scale():
        for i, j, k in a:
            a[i, j, k] = a[i, j, k] * 0.999 + 1

    return scale


def _copy(a: Any, b: Any) -> Callable[[], Any]:
    @ti.kernel
    def copy():
        for i, j, k in a:
            b[i, j, k] = a[i, j, k]

    return copy


def _laplace(a: Any, b: Any) -> Callable[[], Any]:
    @ti.kernel
    def laplace():
        for i, j, k in a:
            across = a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k] + a[i, j + 1, k]
            b[i, j, k] = across + a[i, j, k - 1] + a[i, j, k + 1] - 6 * a[i, j, k]

    return laplace


def _kept(a: Any, b: Any, n: int) -> Callable[[], Any]:
    @ti.kernel
    def kept():
        for i, j, k in a:
            total = a[max(i - 1, 0), j, k] + a[min(i + 1, n - 1), j, k]
            total += a[i, max(j - 1, 0), k] + a[i, min(j + 1, n - 1), k]
            b[i, j, k] = total + a[i, j, max(k - 1, 0)] + a[i, j, min(k + 1, n - 1)] - 6 * a[i, j, k]

    return kept


def masked(n: int, rounds: int, clock: Callable[[], float]) -> dict[str, float]:
    """The time of a loop over a mask in cells, over that of the same loop over a dense field, by the share of elements
    that are active."""
    x, dense, ratios = ti.field(ti.f32), ti.field(ti.f32, (n, n, n)), dict[str, float]()
    node = ti.root.pointer(ti.ijk, n // SIZE)
    node.bitmasked(ti.ijk, SIZE).place(x)

    @ti.kernel
    def fill(part: ti.f32):
        for i, j, k in ti.ndrange(n, n, n):
            if ti.random() < part:
                x[i, j, k] = 1

    alone = best(_scale(dense), clock, rounds)
    for share in (1.0, 0.5, 0.1):
        node.deactivate_all()
        fill(2 * share if share == 1 else share)
        ratio = ratios[f"a mask, {share:.0%} active"] = best(_scale(x), clock, rounds) / alone
        print(f"{'own elements of a mask':28} {share:5.0%} active, all of them: {ratio:.2f}")
    return ratios


def best(run: Callable[[], Any], clock: Callable[[], float], rounds: int) -> float:
    """The shortest time of a call, in seconds, after a first one."""
    found = list[float]()
    for _ in range(rounds + 1):
        began = clock()
        run()
        ti.sync()
        found.append(clock() - began)
    return min(found[1:])


def measure(n: int, rounds: int = ROUNDS, clock: Callable[[], float] = time.process_time) -> dict[str, float]:
    """The ratios, by the name of the loop and the share of active cells."""
    fields, ratios = Fields(n), dict[str, float]()
    for share in (1.0, 0.1):
        count = fields.fill(share)
        for name, (sparse, dense) in fields.programs().items():
            each, alone = best(sparse, clock, rounds) / count, best(dense, clock, rounds) / n**3
            ratios[f"{name}, {share:.0%} active"] = each / alone
            print(
                f"{name:28} {share:5.0%} active {each * 1e9:8.4f} ns, dense {alone * 1e9:8.4f} ns: {each / alone:.2f}"
            )
    return ratios | masked(n, rounds, clock)


if __name__ == "__main__":
    arch, *rest = sys.argv[1:] or ["cpu"]
    alone = {"cpu_max_num_threads": 1} if arch == "cpu" else {}
    ti.init(arch=arch, offline_cache=False, **alone)
    measure(int(rest[0]) if rest else 256, clock=time.process_time if arch == "cpu" else time.perf_counter)
