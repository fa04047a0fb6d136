"""What calls of array functions cost, and when they pay: `python -m tests.bench.array_calls [cuda]`.

First the microseconds of a call with 16 elements, beside those of the libraries' own; on a GPU these are those of the
host, which does not wait. Then, on the CPU, how many times as fast as numpy calls are, by the number of elements. All
in turns in one process; the best of many rounds counts, so the ratios hold also on a machine that does other things."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

import weft as ti

ROUNDS, CALLS, SIZES = 15, 300, (100, 10_000, 1_000_000, 10_000_000)

Calls = dict[str, Callable[[], Any]]


@ti.elementwise
def mix(x, y):
    return x * 0.25 + y


@ti.elementwise
def distance(x, y):
    return ti.sqrt(x * x + y * y) * 0.5 + x


@ti.elementwise
def bell(x, y):
    return ti.exp(-(x * x + y * y)) * x


def add(a, b):
    return a + b


def squared(a, b):
    return (a - b) ** 2


total = ti.reduce(add, 0)
apart = ti.reduce(add, 0, map=squared)


def arrays(arch: str) -> Iterator[tuple[str, Any]]:
    """A vector of each library that there is."""
    if arch == "cpu":
        yield "numpy", np.ones(16, np.float32)
    yield "ndarray", ti.ndarray(ti.f32, 16)
    if importlib.util.find_spec("torch"):
        yield "torch", import_module("torch").ones(16, device=arch)
    if arch == "cuda" and importlib.util.find_spec("cupy"):
        yield "cupy", import_module("cupy").ones(16, np.float32)


def small_calls(arch: str) -> Calls:
    """Calls, by what they are, with hardly any elements."""
    made: Calls = {}
    for name, x in arrays(arch):
        out = x + 1 if name != "ndarray" else ti.ndarray(ti.f32, 16)
        made[f"{name}: ti.elementwise"] = lambda x=x: mix(x, x)
        made[f"{name}: ti.elementwise, out="] = lambda x=x, out=out: mix(x, x, out=out)
        made[f"{name}: ti.reduce"] = lambda x=x: total(x, axis=0, keepdims=True)
        if name != "ndarray":
            made[f"{name}: x + x"] = lambda x=x: x + x
            made[f"{name}: x.sum()"] = lambda x=x: x.sum()
    return made


def pairs(x: Any, y: Any) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Ours and numpy's."""
    return {
        "sqrt(x*x + y*y) * 0.5 + x": (lambda: distance(x, y), lambda: np.sqrt(x * x + y * y) * 0.5 + x),
        "exp(-(x*x + y*y)) * x": (lambda: bell(x, y), lambda: np.exp(-(x * x + y * y)) * x),
        "total(x)": (lambda: total(x), lambda: x.sum()),
        "distance(x, y)": (lambda: apart(x, y), lambda: ((x - y) ** 2).sum()),
    }


def best(calls: Calls, count: int = CALLS) -> dict[str, float]:
    """Microseconds of each."""
    found = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            call()
            began = time.perf_counter()
            for _ in range(count):
                call()
            found[name] = min(found[name], 1e6 * (time.perf_counter() - began) / count)
            ti.sync()
    return found


def main() -> None:
    """Print both tables."""
    arch = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    ti.init(arch=arch, enable_fallback=False)
    for name, spent in best(small_calls(arch)).items():
        print(f"{name:32} {spent:6.1f} us")
    if arch != "cpu":
        return
    for size in SIZES:
        x, y = np.random.default_rng(1).random((2, size), np.float32)
        for name, (ours, numpys) in pairs(x, y).items():
            spent = best({"ours": ours, "numpy": numpys}, max(1, CALLS * 1000 // (size + 1000)))
            print(f"{size:10} elements: {name:26} {spent['numpy'] / spent['ours']:5.1f} times as fast as numpy")


if __name__ == "__main__":
    main()
