"""What the demos and the benchmarks compile to, for several targets: did a change of the compiler change any code?

    python -m tests.machine_code before              # one file for each kernel and target, in the folder `before`
    python -m tests.machine_code after --against before
    diff -r before after

The first command runs on the tree as it was, the second one after the change. It lists the files that differ, and its
exit status is 1 if there are any. The files hold the LLVM IR as it is given to LLVM: where that is the same, so is the
machine code. `--only REGEX` chooses programs by name; `--targets v3,sm_90` chooses targets.

Each program runs for a step on the CPU, as small as it can be made. Whatever kernel it compiles is compiled once more
for each target, from the tree on.
"""

from __future__ import annotations

import argparse
import filecmp
import importlib
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import weft as ti
from weft.codegen.cpu.kernel import emit_kernel as emit_for_cpu
from weft.codegen.llvm.instruction_sets import LEVELS
from weft.codegen.nvptx.kernel import emit_kernel as emit_for_gpu
from weft.codegen.nvptx.target import gpu_target, header
from weft.demos.runner import NAMES
from weft.ir.artifact import CudaTarget
from weft.ir.config import CompileConfig
from weft.ir.ops import Kernel
from weft.ir.pipeline import map_to_target
from weft.ir.programs import lower_program
from weft.ir.target import CPU, CUDA, Target
from weft.lang.calls import compile as compiler

DEMOS = {
    "mpm3d": {"grid": 16, "side": 32},
    "sph": {"across": 6, "up": 6},
    "pbf": {"counts": (4, 4, 4)},
    "smoke": {"width": 16, "height": 32},
    "vortex_street": {"width": 64, "height": 32},
    "fem": {"across": 2, "around": 16},
    "cloth": {"n": 8},
    "waves": {"width": 64, "height": 40},
    "reaction": {"n": 32},
    "physarum": {"n": 32, "agents": 64},
    "cornell": {"size": 16, "paths": 1},
    "sculptor": {"size": (32, 24)},
    "mandelbrot": {"width": 16, "height": 16},
    "contours": {"cells": 6, "size": 16},
    "sorting": {"n": 16, "rows": 4},
}
LEARNING = {  # demos that run their kernels many times in a frame, and the gradients of these
    "walker": {"steps": 4},
    "billiards": {"shots": 4, "steps": 8},
    "lens": {"n": 32},
    "focus": {"width": 64, "height": 48, "steps": 150},
    "skywriting": {"width": 32, "height": 16, "steps": 4},
    "drape": {"n": 8, "steps": 8, "size": 32},
}
DEMOS |= LEARNING
_THREADS = 2  # as many as the code is made for, on any machine
_GPU = CudaTarget(90, 81)  # the first whose instructions add several floats


def _for_cpu(level: str) -> Callable[[Any, CompileConfig], str]:
    def emit(root: Any, config: CompileConfig) -> str:
        target = Target("cpu", features=LEVELS[level], threads=_THREADS)
        config = replace(config, arch="cpu", traits=CPU, threads=_THREADS, target=target)
        kernel, functions = _mapped(root, config)
        return str(emit_for_cpu(kernel, config, LEVELS[level], functions).text(""))

    return emit


def _for_gpu(root: Any, config: CompileConfig) -> str:
    config = replace(config, arch="cuda", traits=CUDA, target=gpu_target(_GPU))
    kernel, functions = _mapped(root, config)
    emitted, _ = emit_for_gpu(kernel, config, _GPU, functions)
    return str(emitted.module.text(header(_GPU, config.opt_level)))


def _mapped(root: Any, config: CompileConfig) -> tuple[Kernel, list[Kernel]]:
    """The kernel and its functions, as code is made of them."""
    lowered = lower_program(root, config)
    map_to_target(lowered.kernel, lowered.functions, config)
    return lowered.kernel, [*lowered.functions]


TARGETS: dict[str, Callable[[Any, CompileConfig], str]] = {
    "v2": _for_cpu("x86-64-v2"),
    "v3": _for_cpu("x86-64-v3"),
    "v4": _for_cpu("x86-64-v4"),
    "sm_90": _for_gpu,
}


def programs() -> Iterator[tuple[str, Callable[[], object]]]:
    """The programs, by name; called, each runs for a step."""
    for name in NAMES:
        yield name, lambda name=name: _demo(name)
    sys.path.insert(0, str(Path(__file__).parent / "bench"))
    for module in ("launches", "physics"):
        importlib.import_module(module)
    for name, make in importlib.import_module("programs").PROGRAMS.items():
        yield f"bench_{name}", lambda make=make: make(ti).step()


def _demo(name: str) -> None:
    module = importlib.import_module(f"weft.demos.{name}")
    if hasattr(module, "STEPS"):
        module.STEPS = 2
    module.build(**DEMOS.get(name, {}))(0)


def write(folder: Path, only: str, targets: list[str]) -> None:
    """Write the code of those programs into the folder."""
    compile_once, seen, program = compiler.make_artifact, Counter[str](), ""

    def make_artifact(root: Any, config: CompileConfig, *rest: Any) -> Any:
        name = f"{program}.{re.sub(r'[^A-Za-z0-9_]', '_', root.name)}"
        seen[name] += 1
        for target in targets:
            path = folder / f"{name}.{seen[name]}.{target}.ll"
            path.write_text(TARGETS[target](root, config))
        return compile_once(root, config, *rest)

    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("MPLBACKEND", "Agg")
    compiler.make_artifact = make_artifact
    try:
        for program, run in programs():
            if re.search(only, program):
                ti.init(arch=ti.cpu, opt_level=1, offline_cache=False, random_seed=1, log_level=ti.WARN)
                run()
    finally:
        compiler.make_artifact = compile_once
    print(f"{sum(seen.values())} kernels of {len({name.split('.')[0] for name in seen})} programs, in {folder}")


def differences(before: Path, after: Path) -> list[str]:
    """The files of `after` that differ from those of `before`, or are not there."""
    names = sorted(path.name for path in after.glob("*.ll"))
    _, differ, absent = filecmp.cmpfiles(before, after, names, shallow=False)
    return differ + absent


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--targets", default=",".join(TARGETS))
    chosen = parser.parse_args()
    write(chosen.folder, chosen.only, chosen.targets.split(","))
    if chosen.against is not None:
        found = differences(chosen.against, chosen.folder)
        print("\n".join([*found, f"{len(found)} files differ"]))
        sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
