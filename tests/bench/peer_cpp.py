"""C++: `peers.cpp` and `gradients.cpp`, built on the fly and called through ctypes on numpy's arrays."""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import inputs
import numpy as np
from inputs import CALLS, Program, sample

LEVEL = os.environ.get("WEFT_CPU_FEATURES", "")  # the instruction set that Weft is measured with, such as "v3"
MARCH = f"-march=x86-64-{LEVEL}" if LEVEL else "-march=native"
FLAGS = ("-O3", MARCH, "-ffast-math", "-fopenmp", "-shared", "-fPIC")


@functools.cache
def library() -> ctypes.CDLL:
    """The compiled file. OSError without a compiler."""
    compiler = next((c for c in (os.environ.get("CXX"), "g++", "clang++") if c and shutil.which(c)), None)
    if compiler is None:
        raise OSError("no C++ compiler (g++, clang++ or $CXX) is installed")
    built = Path(tempfile.mkdtemp(prefix="weft-bench-")) / "peers.so"
    sources = [str(Path(__file__).with_name(name)) for name in ("peers.cpp", "gradients.cpp")]
    command = [compiler, *FLAGS, *sources, "-o", str(built)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        raise OSError(f"{' '.join(command)} failed: {errors[0] if errors else done.stderr[-300:]}")
    return ctypes.CDLL(str(built))


def calling(function: str, results: list[Any], *arguments: Any) -> Program:
    """The program that calls a function with arrays, ints and floats, and looks at `results`."""
    kinds = {int: ctypes.c_int, float: ctypes.c_float, type(None): ctypes.c_void_p}
    given = [a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray) else kinds[type(a)](a) for a in arguments]
    called = getattr(library(), function)
    return Program(lambda _kept=arguments: called(*given), lambda: sample(*results))


def zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


def stencil(function: str, x: Any) -> Program:
    """From one array to another of its shape."""
    y = np.zeros_like(x)
    return calling(function, [y], x, y, x.shape[0])


def sums() -> Program:
    x, total = inputs.floats(64 << 20), zeros(1)
    return calling("sum", [total], x, total, x.size)


def saxpy() -> Program:
    x, y = inputs.floats(64 << 20), zeros(64 << 20)
    return calling("saxpy", [y], x, y, 1.5, x.size)


def spmv() -> Program:
    n = 1 << 20
    y = zeros(n)
    return calling("spmv", [y], *inputs.sparse(n), inputs.floats(n), y, n)


def histogram() -> Program:
    x, bins = inputs.bytes_of(64 << 20), np.zeros(256, np.int32)
    return calling("histogram", [bins], x, bins, x.size)


def matmul() -> Program:
    n = 1024
    c = zeros(n, n)
    return calling("matmul", [c], inputs.floats(n, n), inputs.floats(n, n), c, n)


def filtered(function: str, n: int, radius: int) -> Program:
    y = zeros(n, n, 3)
    return calling(function, [y], inputs.picture(n), y, n, radius)


def drawn(function: str, image: Any) -> Program:
    return calling(function, [image], image, image.shape[0])


def mpm88(count: int, grid: int, steps: int) -> Program:
    x, v, C, J = inputs.block(count, 2), zeros(count, 2), zeros(count, 4), np.ones(count, np.float32)
    return calling("mpm88", [x, v], x, v, C, J, zeros(grid, grid, 3), count, grid, 2e-4 * 128 / grid, steps)


def nbody() -> Program:
    f = zeros(8192, 3)
    return calling("nbody", [f], inputs.floats(8192, 3), f, 8192)


def sph() -> Program:
    x, grid = inputs.lattice(64), 40
    n, v, a, density = len(x), np.zeros_like(x), np.zeros_like(x), zeros(len(x))
    held, members = np.zeros((grid,) * 3, np.int32), np.zeros((grid,) * 3 + (32,), np.int32)
    return calling("sph", [density, x], x, v, a, density, held, members, n, grid)


def sph_sorted() -> Program:
    x, grid = inputs.lattice(64), 40
    n, v, density = len(x), np.zeros_like(x), zeros(len(x))
    start, (cell, rank, came_from) = np.zeros(grid**3 + 1, np.int32), np.zeros((3, n), np.int32)
    return calling("sph_sorted", [density, x], x, v, density, zeros(7, n), start, cell, rank, came_from, n, grid)


def fluids() -> Program:
    n = 1024
    v, p = inputs.swirl(n), zeros(n, n)
    return calling("fluids", [v, p], v, np.zeros_like(v), p, zeros(n, n), zeros(n, n), n, 20)


def loops() -> Program:
    x = zeros(1024)
    return calling("loops", [x], x, x.size, CALLS)


def differentiated(
    function: str, arrays: list[Any], numbers: list[int], outputs: int, size: int, parts: int = 1
) -> None:
    """Register a function and its gradient, of so many numbers in equal parts, which `gradients.cpp` computes
    together."""

    def made(with_gradient: bool) -> Program:
        value, gradient = np.zeros(outputs), np.zeros(size) if with_gradient else None
        looked_at = [value] if gradient is None else np.split(gradient, parts)
        return calling(function, looked_at, *arrays, value, gradient, *numbers)

    PROGRAMS[function], PROGRAMS[f"{function}_gradient"] = (lambda: made(False)), (lambda: made(True))


library()  # so that importing this says whether there is a compiler
PROGRAMS = {
    "heat_4096": lambda: stencil("heat", inputs.floats(4096, 4096)),
    "heat_4096_ndrange": lambda: stencil("heat", inputs.floats(4096, 4096)),
    "heat_4096_ndarray": lambda: stencil("heat", inputs.floats(4096, 4096)),
    "seven_point_256": lambda: stencil("seven_point", inputs.floats(256, 256, 256)),
    "life_4096_i32": lambda: stencil("life_i32", inputs.cells(4096, "i4")),
    "life_4096_u8": lambda: stencil("life_u8", inputs.cells(4096, "u1")),
    "sum_64m": sums,
    "saxpy_64m": saxpy,
    "spmv_1m": spmv,
    "histogram_64m": histogram,
    "transcendental_16m": lambda: stencil("transcendental", inputs.floats(16 << 20)),
    "matmul_1024": matmul,
    "blur_5": lambda: filtered("blur", 2048, 2),
    "blur_11": lambda: filtered("blur", 2048, 5),
    "bilateral_1024": lambda: filtered("bilateral", 1024, 5),
    "mandelbrot_2048": lambda: drawn("mandelbrot", np.zeros((2048, 2048), np.int32)),
    "raymarch_1024": lambda: drawn("raymarch", zeros(1024, 1024)),
    "nbody_8192": nbody,
    "mpm88_50": lambda: mpm88(8192, 128, 50),
    "mpm88_256k": lambda: mpm88(262144, 512, 10),
    "sph_256k": sph,
    "sph_sorted_256k": sph_sorted,
    "stable_fluids_1024": fluids,
    "loop_1024": loops,
}


def _gradbench() -> None:
    """The problems of `gradbench.py`."""
    differentiated("det", [inputs.reals(9, 9)], [9], 1, 81)
    differentiated("particle", [0.1 * inputs.reals(1024)], [1024], 1, 1024)
    differentiated("saddle", [inputs.reals(4096, 2)], [4096], 1, 8192)
    differentiated("lse", [inputs.reals(1_000_000)], [1_000_000], 1, 1_000_000)
    differentiated("llsq", [inputs.reals(32)], [100_000, 32], 1, 32)
    differentiated("kmeans", [*inputs.clouds(100_000, 25, 8)], [100_000, 25, 8], 1, 200)
    differentiated("gmm", [*inputs.mixture(1000, 25, 8)], [1000, 25, 8], 1, 25 * (1 + 8 + 8 + 28))
    differentiated("ode", [inputs.reals(10)], [1000], 1, 10)
    differentiated("lstm", [*inputs.network(2, 14, 1024)], [14, 1024], 1, 19 * 14)
    differentiated("ba", [*inputs.observations(36_455)], [36_455], 2 * 36_455, 30 * 36_455, parts=2)


_gradbench()
