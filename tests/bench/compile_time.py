"""How long compiling takes: `python -m tests.bench.compile_time [NAME ...]`, `... --curve` or `... --warm`.

Without an option: the first call of each program, beside what the project wants to stay below. `--curve`: kernels of up
to 20 000 statements, and microseconds for each. `--warm`: a demo's process from its first import to its first frame,
compiled and from the disk cache. Each runs in a process of its own, so that nothing is warm but the files; the tables
give the best of three, in milliseconds of the processor's time, which others on the machine disturb least. Beside that
of the first calls is the time on the clock, which is less where several threads compile.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import weft as ti

ROUNDS = 3
LIMITS = {
    "trivial": 25,
    "statements_200": 80,
    "matrices_4x4": 300,
    "mpm88_frame": 200,
    "mpm3d_substep": 500,
    "product_12x12": 200,
    "product_32x32": 300,
}
SIZES = (200, 1000, 5000, 20000)


def _executed(lines: list[str]) -> Callable[[], Any]:
    text = "\n".join(["@ti.kernel", "def k():", "    for i in x:", *lines])
    scope: dict[str, Any] = {"ti": ti, "x": ti.field(ti.f32, 1000)}
    exec(text, scope)
    return scope["k"]  # type: ignore[no-any-return]


def trivial() -> Callable[[], Any]:
    """One statement in a parallel loop."""
    return _executed(["        x[i] = i * 2.0"])


def locals_of(count: int) -> Callable[[], Any]:
    """`count` straight-line statements, each reading the local before."""
    lines = [f"        a{k} = a{k - 1} * {1 + k % 97 / 7:.3f} + x[i]" for k in range(1, count - 1)]
    return _executed(["        a0 = 1.0", *lines, f"        x[i] = a{count - 2}"])


def branches_of(count: int) -> Callable[[], Any]:
    """`count` statements in branches that write to a field."""
    lines: list[str] = []
    for k in range(count // 4):
        lines += [
            f"        if x[i] > {k}:",
            f"            x[i] += {k}.5",
            "        else:",
            f"            x[i] *= {k}.25",
        ]
    return _executed(lines)


def statements_200() -> Callable[[], Any]:
    """200 straight-line statements in a parallel loop."""
    return locals_of(200)


def mpm88_frame() -> Callable[[], Any]:
    """The kernels of a frame of the demo: six loops, two of them unrolled nine times."""
    from weft.demos import mpm88

    mpm88.SUBSTEPS = 1
    frame = mpm88.build()
    return lambda: frame(0)


def mpm3d_substep() -> Callable[[], Any]:
    """A substep of the demo in space: scatters and gathers, unrolled 27 times each."""
    from weft.demos import mpm3d

    substep: Callable[[], Any] = mpm3d.build().substep
    return substep


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


def first_call(make: Callable[[], Callable[[], Any]]) -> tuple[float, float]:
    """Milliseconds of the first call of the kernel that `make` gives, once the compiler itself is imported: of the
    processor's time, and on the clock."""
    trivial()()
    kernel = make()
    start, began = time.process_time(), time.perf_counter()
    kernel()
    return (time.process_time() - start) * 1e3, (time.perf_counter() - began) * 1e3


DEMO = """
import time
import weft as ti
ti.init(arch=ti.cpu)
from weft.demos import mpm88
mpm88.SUBSTEPS = 1
mpm88.build()(0)
print(time.process_time() * 1e3)
"""


def measured(*arguments: str, **environment: str) -> list[float]:
    """Each of the numbers that some processes print, at its best."""
    command = [sys.executable, *arguments]
    given = {**os.environ, "WEFT_OFFLINE_CACHE": "0", **environment}
    printed = [subprocess.check_output(command, text=True, env=given).split() for _ in range(ROUNDS)]
    return [min(map(float, column)) for column in zip(*printed, strict=True)]


def curve() -> None:
    """Print how the time of compiling grows."""
    for name in ("locals_of", "branches_of"):
        for size in SIZES:
            best, _ = measured("-m", "tests.bench.compile_time", "--one", name, str(size))
            print(f"{name:18} {size:6} {best:8.0f} ms {best * 1e3 / size:8.0f} us a statement", flush=True)


def warm() -> None:
    """Print what a demo's process takes until its first frame."""
    with tempfile.TemporaryDirectory() as folder:
        cached = {"WEFT_OFFLINE_CACHE": "1", "WEFT_OFFLINE_CACHE_FILE_PATH": folder}
        rows = {
            "import weft": measured("-c", "import weft, time; print(time.process_time() * 1e3)"),
            "compiled": measured("-c", DEMO),
            "from the cache": measured("-c", DEMO, **cached),
        }
    for name, (best,) in rows.items():
        print(f"{name:18} {best:8.1f} ms")


def main(arguments: list[str]) -> None:
    """The command line."""
    if arguments[:1] == ["--one"]:
        ti.init(arch=ti.cpu)
        name, *size = arguments[1:]
        make = globals()[name]
        print(*first_call((lambda: make(int(size[0]))) if size else make))
    elif arguments in (["--curve"], ["--warm"]):
        {"--curve": curve, "--warm": warm}[arguments[0]]()
    else:
        for wanted in arguments or LIMITS:
            best, clock = measured("-m", "tests.bench.compile_time", "--one", wanted)
            print(f"{wanted:18} {best:8.1f} ms {clock:8.1f} on the clock   limit {LIMITS[wanted]} ms", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
