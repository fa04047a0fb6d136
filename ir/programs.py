"""Lowers a kernel and all functions that it calls from trees to lowered CHI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from weft.ir.config import CompileConfig
from weft.ir.ops import Kernel
from weft.ir.passes import Observer
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, lower, run_passes
from weft.ir.races import RaceTable
from weft.ir.races_touch import touch_kernels
from weft.ir.tree import KernelTree

__all__ = ["Program", "lower_program"]


@dataclass(frozen=True)
class Program:
    """Lowered CHI: the kernel and the functions that it calls. If it is checked for races, also the meaning of the
    numbers in the shadow of that check."""

    kernel: Kernel
    functions: Sequence[Kernel]
    races: RaceTable | None = None


def lower_program(root: KernelTree, config: CompileConfig, observe: Observer | None = None) -> Program:
    """Lower a kernel and its functions. `observe` sees the kernel after each pass. A kernel that declares a shadow of
    races is checked for races."""
    shadow = next((symbol for symbol in root.fields if symbol.hidden == "races"), None)
    if shadow is None:
        functions = [lower(function, config) for function in root.functions]
        return Program(lower(root, config, observe), functions)
    table = RaceTable(shadow, frozenset(function.name for function in root.functions))
    checked = replace(config, races=table)
    kernel = lower(root, checked, observe)
    functions = [] if table.unchecked else [lower(function, checked) for function in root.functions]
    if table.unchecked:
        if functions:  # one of them cannot be checked, so that the kernel was instrumented
            kernel = lower(root, config)
        return Program(kernel, [lower(function, config) for function in root.functions], table)
    touches = [run_passes(touch, TO_TASKS + TO_LOWERED, config) for touch in touch_kernels(shadow)]
    return Program(kernel, functions + touches, table)
