"""How long the first call of a kernel takes: `python -m tests.bench.compile_time [NAME ...]`.

Each program runs in a process of its own, so that nothing is warm but the files; the table gives the best of three
first calls, in milliseconds, beside what the project wants to stay below.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import weft as ti

ROUNDS = 3
LIMITS = {"statements_200": 150, "matrices_4x4": 500, "product_12x12": 300, "product_32x32": 600}


def statements_200() -> Callable[[], Any]:
    """200 straight-line statements in a parallel loop."""
    lines = [f"        a{k} = a{k - 1} * {1 + k / 7:.3f} + x[i]" for k in range(1, 199)]
    text = "\n".join(["@ti.kernel", "def k():", "    for i in x:", "        a0 = 1.0", *lines, "        x[i] = a198"])
    scope: dict[str, Any] = {"ti": ti, "x": ti.field(ti.f32, 1000)}
    exec(text, scope)
    return scope["k"]  # type: ignore[no-any-return]


def matrices_4x4() -> Callable[[], Any]:
    """Products, inverses and transposes of 4 x 4 matrices."""
    x, y = (ti.Matrix.field(4, 4, ti.f32, 1000) for _ in range(2))

    @ti.kernel
    def k() -> None:
        for i in x:
            a, b = x[i], y[i]
            c = a @ b + ti.Matrix.identity(ti.f32, 4)
            d = c.inverse() @ a.transpose() - b * c.determinant()
            for _ in range(4):
                d = d @ c * 0.5 + a
            y[i] = d / (1.0 + d.norm()) + c.trace() * b

    return k


def _product(n: int) -> Callable[[], Any]:
    x, y = (ti.Matrix.field(n, n, ti.f32, 100) for _ in range(2))

    @ti.kernel
    def k() -> None:
        for i in x:
            x[i] = x[i] @ y[i] * 2.0 + y[i].transpose()

    return k


def product_12x12() -> Callable[[], Any]:
    """A product of 12 x 12 matrices: loops, not 1728 statements."""
    return _product(12)


def product_32x32() -> Callable[[], Any]:
    """A product of 32 x 32 matrices."""
    return _product(32)


def first_call(name: str) -> float:
    """Milliseconds of the first call of that program, in this process."""
    ti.init(arch=ti.cpu)
    kernel: Callable[[], Any] = globals()[name]()
    start = time.perf_counter()
    kernel()
    return (time.perf_counter() - start) * 1e3


def measured(name: str) -> float:
    """The best of some processes."""
    command = [sys.executable, "-m", "tests.bench.compile_time", "--one", name]
    return min(float(subprocess.check_output(command, text=True)) for _ in range(ROUNDS))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(first_call(sys.argv[2]))
    else:
        for wanted in sys.argv[1:] or LIMITS:
            print(f"{wanted:18} {measured(wanted):8.1f} ms   limit {LIMITS[wanted]} ms")
