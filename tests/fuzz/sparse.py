"""`python -m tests.fuzz.sparse --count 1000 --arch cpu`: derivatives of random kernels on random sparse trees.

Each is compared in the evaluator (in order, or under a schedule), lowered with and without optimizations, and, in every
third case, as machine code of `--arch`. A case is drawn by its number (`tests/sparse_derivatives.py`). With `--second`,
each case runs in one of the modes of second derivatives (`tests/sparse_second_derivatives.py`)."""

from __future__ import annotations

import argparse
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from tests.codegen.chi_runs import EMULATED_TARGETS
from tests.codegen.test_sparse_code import Run, on_cpu, on_emulated_gpu
from tests.mapping import mapped
from tests.sparse_derivatives import Case, Way, drawn_case, evaluated
from tests.sparse_second_derivatives import NESTED, REVERSED, SECOND, check_second, drawn_second_case
from tests.sparse_trees import lower
from weft.codegen.nvptx import kernel as nvptx
from weft.codegen.nvptx.target import gpu_target
from weft.ir.config import CompileConfig
from weft.ir.errors import CompilationError
from weft.ir.interleaving import Schedule
from weft.ir.ops import Kernel
from weft.ir.target import CUDA
from weft.runtime.cuda import CudaDevice

__all__ = ["judged"]


@cache
def _gpu() -> CudaDevice:
    """The GPU of this process."""
    return CudaDevice()


def on_cuda(given: CompileConfig) -> Run:
    """The GPU runs kernels on copies of the trees."""
    config, device = replace(given, arch="cuda", traits=CUDA), _gpu()

    def run(kernel: Kernel, trees: list[Any]) -> None:
        kernel, functions = lower(kernel, config)
        code = mapped(kernel, config, gpu_target(device.target), functions)
        loaded = device.load(nvptx.compile_kernel(code, config, device=device.target, functions=functions))
        lent = [device.memory.allocate(tree.nbytes, "fuzz", 0) for tree in trees]  # (with their slack)
        for buffer, tree in zip(lent, trees, strict=True):
            buffer.write(0, tree)
        loaded([buffer.address for buffer in lent], [])
        device.synchronize()
        for buffer, tree in zip(lent, trees, strict=True):
            tree[:] = buffer.read(0, tree.nbytes)

    return run


_MACHINES: dict[str, Callable[[CompileConfig], Way]] = {
    "": evaluated,
    "cpu": lambda config: Way(config, on_cpu(2, config)),
    "emulated": lambda config: Way(config, on_emulated_gpu(EMULATED_TARGETS[0], config)),
    "cuda": lambda config: Way(config, on_cuda(config)),
}
_COMPILED = 3  # of every so many cases, one is compiled to machine code, which takes most of the time


def mode_of(number: int) -> str:
    """The mode of second derivatives in which that case runs. (Every third number has machine code.)"""
    return (SECOND, REVERSED, NESTED)[number // _COMPILED % 3]


def drawn(number: int, mode: str = "") -> Case:
    """The case of that number: in a mode of second derivatives, or for first ones."""
    return drawn_second_case(number, mode) if mode else drawn_case(number)


def judged(number: int, arch: str = "", mode: str = "") -> str:
    """How the derivatives of that case end: "same", "same, all 0", or what refuses them. Raises AssertionError where
    they differ."""
    case = drawn(number, mode)
    plain = replace(case.config, verify=False, opt_level=0)
    case.config = replace(plain, verify=number % 10 == 1)
    configs = [replace(plain, advanced_optimization=advanced) for advanced in (True, False)]
    machine = _MACHINES[arch if number % _COMPILED == 0 else ""]
    ways = [evaluated(config, schedule=Schedule(number) if number % 4 == 2 else None) for config in configs]
    ways += [machine(config) for config in configs] if machine is not evaluated else []
    try:
        schedule = Schedule(number) if number % 2 else None
        found = (
            check_second(case, number, mode, ways, schedule=schedule)
            if mode
            else case.check(number, ways, schedule=schedule)
        )
    except CompilationError as error:
        first, _, _ = str(error).partition("\n")
        return re.sub("'[^']*'", "'...'", f"refuses: {first}")
    return "same" if found else "same, all 0"


def main() -> int:
    """Run them, tell what was found; 1 if anything was."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.sparse", description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--arch", default="", choices=tuple(_MACHINES))
    parser.add_argument("--second", action="store_true", help="second derivatives, each case in one mode")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so long")
    given = parser.parse_args()
    if given.arch == "cuda":
        _gpu()  # its error is none of a case
    ended, began = Counter[str](), time.monotonic()
    for number in range(given.first, given.first + given.count):
        if time.monotonic() - began > 60 * given.minutes:
            break
        mode = mode_of(number) if given.second else ""
        try:
            status = judged(number, given.arch, mode)
        except Exception:
            status = "differs"
            print(f"{number} {mode}:\n{traceback.format_exc()[-2000:]}\n{drawn(number, mode).body}", flush=True)
        ended[f"{mode} {status}".strip()] += 1
        if ended.total() % 20 == 0:
            print(f"{ended.total()} cases in {time.monotonic() - began:.0f} s: {dict(ended)}", flush=True)
    print(f"{ended.total()} cases in {time.monotonic() - began:.0f} s")
    for status, count in ended.most_common():
        print(f"  {count:5d} {status}")
    return int(any(status.endswith("differs") for status in ended))


if __name__ == "__main__":
    sys.exit(main())
