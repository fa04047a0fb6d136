"""Lowers a kernel and all functions that it calls from trees to lowered CHI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from weft.ir.autodiff.functions import derived, mode_in, params_in
from weft.ir.calls import called
from weft.ir.config import CompileConfig
from weft.ir.errors import CompilationError
from weft.ir.ops import Kernel, Random, RandomAt
from weft.ir.passes import Observer
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, lower, run_passes
from weft.ir.races import RaceTable
from weft.ir.races_touch import touch_kernels
from weft.ir.runtime_library.sparse import functions_of as sparse_functions
from weft.ir.transforms.demote_atomics import demote_called
from weft.ir.tree import KernelTree

__all__ = ["Program", "function_tree", "functions_in", "lower_program", "refuse_draws"]


def lower_functions(root: KernelTree, kernel: Kernel, config: CompileConfig) -> list[Kernel]:
    """Lower the functions that a lowered kernel calls, also those of the run-time library."""
    made = _own_functions(root, kernel, config)
    demote_called(kernel, made)
    return made + sparse_functions([kernel, *made], config)


def _own_functions(root: KernelTree, kernel: Kernel, config: CompileConfig) -> list[Kernel]:
    if not root.mode:
        return [lower(function, config) for function in root.functions]
    made, names = list[Kernel](), functions_in(root, kernel)
    for name in names:  # grows
        made.append(lower(function_tree(root, name), config))
        names += [one for one in functions_in(root, made[-1]) if one not in names]
    refuse_draws(root, made)
    return made


def functions_in(root: KernelTree, kernel: Kernel) -> list[str]:
    """The functions of a program, and the derivatives of them, that a kernel calls. (It also calls those of checks.)"""
    own = {function.name for function in root.functions}
    return sorted(name for name in called(kernel) if derived(name)[0] in own)


def function_tree(root: KernelTree, name: str) -> KernelTree:
    """The function of that name that a kernel calls, which may be a derivative (`autodiff/functions.py`)."""
    function, derivative = derived(name)
    found = next(one for one in root.functions if one.name == function)
    if not derivative:
        return found
    params = params_in(found.params, found.results, derivative)
    return replace(found, name=name, params=params, mode=mode_in(derivative))


def refuse_draws(root: KernelTree, functions: Sequence[Kernel]) -> None:
    """Raise the error for functions of a gradient that draw random numbers: called again, they draw other ones. (Those
    that do not call themselves are inlined.)"""
    drawn = [op for function in functions for op in function.all_of(Random, RandomAt)] if "vjp" in root.mode else []
    if drawn:
        raise CompilationError(
            "reverse mode cannot differentiate a real function that draws random numbers and calls itself: pass them "
            "as arguments",
            drawn[0].span,
        )


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
        kernel = lower(root, config, observe)
        return Program(kernel, lower_functions(root, kernel, config))
    table = RaceTable(shadow, frozenset(function.name for function in root.functions))
    checked = replace(config, races=table)
    kernel = lower(root, checked, observe)
    functions = [] if table.unchecked else lower_functions(root, kernel, checked)
    if table.unchecked:
        if functions:  # one of them cannot be checked, so that the kernel was instrumented
            kernel = lower(root, config)
        return Program(kernel, lower_functions(root, kernel, config), table)
    touches = [run_passes(touch, TO_TASKS + TO_LOWERED, config) for touch in touch_kernels(shadow)]
    return Program(kernel, functions + touches, table)
