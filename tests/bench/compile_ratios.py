"""How long sparse kernels and gradients take to compile, beside dense kernels and what they are the gradients of:
`python -m tests.bench.compile_ratios` and `... --gradients [PROGRAM ...]`.

The loops of `sparse_cells.py` on fields of 64 x 64 x 64. Each runs in a process of its own, after other dense loops.
"First": the first kernel of the process that uses a sparse field, with the routines of its nodes. "Next": the same loop
over other fields, when these routines are compiled. The programs with gradients are those of `python -m tests.bench`;
all kernels of a program count, and all gradients of its kernels.

The tables give the best of three (of one, for gradients) in milliseconds of the processor's time. One thread compiles.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import weft as ti
from tests.bench.sparse_cells import Fields, loops
from weft.lang.calls import compile as calls

ROUNDS, SIZE = 3, 64
LOOPS = ("own elements", "a copy into another tree", "7 points, 0 outside", "7 points, kept in range")


def begin() -> None:
    """Begin a program, in which one thread compiles, and compile a small kernel."""
    ti.reset()
    ti.init(arch=ti.cpu, offline_cache=False, cpu_max_num_threads=1, compile_threads=1)

    @ti.kernel
    def small(x: ti.f32) -> ti.f32:
        return x * 2

    small(1.0)


def first_call(kernel: Callable[[], Any]) -> float:
    """Milliseconds of the processor's time for what the first call of a kernel takes besides the launch."""
    began = time.process_time()
    kernel()
    compiled = time.process_time()
    kernel()
    return (2 * compiled - began - time.process_time()) * 1e3


def sparse(name: str, size: int = SIZE) -> tuple[float, float, float]:
    """The first call of the dense loop, of the sparse one, and of a sparse one over other fields."""
    begin()
    fields = Fields(size)
    x, y, z = fields.x, fields.y, fields.z
    on_dense = loops(fields.dense, fields.other, fields.other, size)
    for other in LOOPS:  # imports what they need of the compiler
        if other != name:
            on_dense[other]()
    kernels = on_dense, loops(x, y, z, size), loops(y, z, x, size)
    dense, first, following = (first_call(one[name]) for one in kernels)
    return dense, first, following


def import_passes() -> None:
    """Compile a kernel with a loop that runs in lanes, and its gradient: this imports most of the compiler."""
    x, y = (ti.field(ti.f32, 1024, needs_grad=True) for _ in range(2))

    @ti.kernel
    def roots():
        for i in x:
            guess, change = 1.0, 1.0
            while ti.abs(change) > 1e-5:
                change = 0.5 * (x[i] / guess - guess)
                guess += change
            y[i] = guess

    x.fill(2.0)
    roots()
    roots.grad()


def gradient(name: str) -> tuple[float, float]:
    """The time for the kernels of a program, and for their gradients."""
    begin()
    import_passes()
    programs = importlib.import_module("programs").PROGRAMS
    spent, compile_instance = {"": 0.0}, calls.compile_instance
    inside = [0.0]  # a gradient may need another kernel

    def timed(
        program: Any,
        function: Any,
        arguments: Any,
        parameters: Any,
        results: Any,
        mode: str = "",
        *rest: Any,
        **options: Any,
    ) -> Any:
        began, around = time.thread_time(), inside[0]
        inside[0] = 0.0
        made = compile_instance(program, function, arguments, parameters, results, mode, *rest, **options)
        took = time.thread_time() - began
        spent[mode] = spent.get(mode, 0.0) + took - inside[0]
        inside[0] = around + took
        return made

    users = [one for one in list(sys.modules.values()) if vars(one).get("compile_instance") is compile_instance]
    for one in users:
        one.compile_instance = timed  # type: ignore[attr-defined]
    try:
        programs[f"{name}_gradient"](ti).step()
    finally:
        for one in users:
            one.compile_instance = compile_instance  # type: ignore[attr-defined]
    return spent[""] * 1e3, sum(took for mode, took in spent.items() if mode) * 1e3


def programs_with_gradients() -> list[str]:
    """The names of the programs of which there is a gradient."""
    folder = str(Path(__file__).parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    for module in ("gradbench", "more_simulations", "physics", "pixels", "simulations", "smoke"):
        importlib.import_module(module)
    found: list[str] = list(importlib.import_module("programs").PROGRAMS)
    return [name.removesuffix("_gradient") for name in found if name.endswith("_gradient")]


def main(arguments: list[str]) -> None:
    """The command line."""
    if arguments[:1] == ["--gradients"]:
        print(f"{'':20}{'kernels':>8}{'gradients':>10}   ratio")
        for name in arguments[1:] or programs_with_gradients():
            programs_with_gradients()
            primal, derived = gradient(name)
            print(f"{name:20}{primal:8.0f}{derived:10.0f}{derived / primal:8.2f}", flush=True)
        return
    if arguments:
        print(*sparse(arguments[0]))
        return
    print(f"{'':26}{'dense':>8}{'first':>8}{'next':>8}   first / dense, next / dense")
    for name in LOOPS:
        command = [sys.executable, "-W", "ignore", "-m", "tests.bench.compile_ratios", name]
        runs = [subprocess.check_output(command, text=True).split() for _ in range(ROUNDS)]
        dense, first, following = (min(map(float, column)) for column in zip(*runs, strict=True))
        ratios = f"{first / dense:6.2f}{following / dense:8.2f}"
        print(f"{name:26}{dense:8.1f}{first:8.1f}{following:8.1f}   {ratios}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
