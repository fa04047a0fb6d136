"""The product of 1024 x 1024 matrices of f32: Weft's three loops beside C++, BLAS and Numba.

    python -m tests.bench.matrix_product [--peer-python PYTHON] [--alone]

Each way runs in a process of its own, with AVX2 and with AVX-512 where the machine has it, on one core and on all. In
turns, the best run of each counts: on one core by the processor's time, on all by the clock. Ways that are not there
leave a dash. BLAS is that of numpy (`a @ b`). The tiled C++ is `matrix_product.cpp`.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

N, HERE = 1024, Path(__file__)
WAYS = {"weft": "Weft, three loops", "three_loops": "C++, three loops", "tiled": "C++, tiled by hand",
        "numba": "Numba, three loops", "blas": "BLAS: numpy's `a @ b`"}  # fmt: skip
LEVELS = {"v3": "AVX2", "v4": "AVX-512"}
_BLAS = {"v3": "Haswell", "v4": "SkylakeX"}  # what OpenBLAS calls processors with these instructions
Product = Callable[[Any, Any, Any], None]


def weft(level: str, threads: int) -> Product:
    """Three loops in Weft."""
    ti = importlib.import_module("weft")
    ti.init(arch=ti.cpu, cpu_features=level, cpu_max_num_threads=threads, verbose=False)

    @ti.kernel
    def product(a: ti.types.ndarray(ti.f32, 2), b: ti.types.ndarray(ti.f32, 2), c: ti.types.ndarray(ti.f32, 2)):
        for i, j in c:
            total = 0.0
            for k in range(N):
                total += a[i, k] * b[k, j]
            c[i, j] = total

    return product


def cpp(function: str, level: str, _threads: int) -> Product:
    """A function of `matrix_product.cpp`, compiled for that level."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise ImportError("no C++ compiler")
    made = Path(tempfile.mkdtemp()) / "product.so"
    flags = ["-O3", f"-march=x86-64-{level}", "-ffast-math", "-fopenmp", "-shared", "-fPIC", "-o", str(made)]
    subprocess.run([compiler, *flags, str(HERE.with_suffix(".cpp"))], check=True)
    called = getattr(ctypes.CDLL(str(made)), function)
    return lambda a, b, c: called(*(ctypes.c_void_p(x.ctypes.data) for x in (a, b, c)), N)


def numba(_level: str, _threads: int) -> Product:
    """Three loops in Numba."""
    numba = importlib.import_module("numba")

    def product(a, b, c):  # type: ignore[no-untyped-def]
        for i in numba.prange(N):
            for j in range(N):
                total = np.float32(0)
                for k in range(N):
                    total += a[i, k] * b[k, j]
                c[i, j] = total

    return numba.njit(parallel=True, fastmath=True)(product)  # type: ignore[no-any-return]


def blas(_level: str, _threads: int) -> Product:
    """What numpy calls."""
    return lambda a, b, c: np.matmul(a, b, out=c)


MAKERS: dict[str, Callable[[str, int], Product]] = {
    "weft": weft,
    "three_loops": partial(cpp, "three_loops"),
    "tiled": partial(cpp, "tiled"),
    "numba": numba,
    "blas": blas,
}


def work(way: str, level: str, threads: int, seconds: float) -> dict[str, Any]:
    """The best time of a run in milliseconds, and the largest error of the result."""
    try:
        product = MAKERS[way](level, threads)
    except (ImportError, OSError) as error:
        return {"absent": str(error)}
    numbers = np.random.default_rng(1)
    a, b = (numbers.random((N, N), np.float32) - np.float32(0.5) for _ in range(2))
    c = np.zeros((N, N), np.float32)
    product(a, b, c)
    clock = time.process_time if threads == 1 else time.perf_counter
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end or best == float("inf"):
        start = clock()
        product(a, b, c)
        best = min(best, clock() - start)
    return {"best": 1e3 * best, "apart": float(np.abs(c - a.astype(np.float64) @ b.astype(np.float64)).max())}


def ask(python: str, way: str, level: str, threads: int, seconds: float) -> dict[str, Any]:
    """`work` in a process of its own."""
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    wanted = dict.fromkeys(variables, str(threads)) | {"OPENBLAS_CORETYPE": _BLAS[level]}
    if level == "v3":
        wanted |= {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+fma"}
    command = [python, str(HERE), "--work", way, level, str(threads), str(seconds)]
    ran = subprocess.run(command, env={**os.environ, **wanted}, capture_output=True, text=True, check=False)
    lines = ran.stdout.strip().splitlines()
    return json.loads(lines[-1]) if ran.returncode == 0 and lines else {"absent": ran.stderr.strip()[-300:]}


def table(found: dict[tuple[str, str, int], dict[str, Any]], columns: list[tuple[str, int]]) -> str:
    """Milliseconds, and in brackets billions of operations a second."""
    titles = [f"{LEVELS[level]}, {'one core' if threads == 1 else f'{threads} cores'}" for level, threads in columns]
    lines = [f"| | {' | '.join(titles)} |", "|---|" + "---:|" * len(columns)]
    for way, title in WAYS.items():
        cells = []
        for column in columns:
            told = found.get((way, *column), {"absent": "not asked"})
            rate = 0.0 if "best" not in told else 2e-6 * N**3 / told["best"]
            cells.append("-" if "best" not in told else f"{told['best']:.0f} ({rate:.{0 if rate > 10 else 1}f})")
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", default=sys.executable, help="an interpreter that has numba")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each round of each way")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--alone", action="store_true", help="one core only: for a busy machine")
    parser.add_argument("--work", nargs=4, metavar=("WAY", "LEVEL", "THREADS", "SECONDS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        way, level, threads, seconds = given.work
        print(json.dumps(work(way, level, int(threads), float(seconds))))
        return
    levels = importlib.import_module("weft.codegen.llvm.instruction_sets").levels_here()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    counts = [1] if given.alone else [1, cores]
    columns = [(level, threads) for level in LEVELS if f"x86-64-{level}" in levels for threads in counts]
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    for _ in range(given.rounds):
        for column in columns:
            for way in WAYS:
                python = given.peer_python if way == "numba" else sys.executable
                told = ask(python, way, *column, given.seconds)
                place = (way, *column)
                before = found.get(place, {})
                if told.get("best", 0.0) <= before.get("best", float("inf")):
                    found[place] = told
    print(table(found, columns))
    for (way, level, threads), told in found.items():
        if "absent" in told or told["apart"] > 1e-3:
            print(f"{way}, {level}, {threads}: {told}")


if __name__ == "__main__":
    main()
