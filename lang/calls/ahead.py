"""Compiles an instance of a kernel for other instruction sets, and stores the code for later runs (`weft build`)."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from weft.ir.errors import WeftError
from weft.lang.cache.kernels import entry_of
from weft.lang.calls.compile import as_lowered, make_artifact
from weft.lang.logs.compilations import trace_of

if TYPE_CHECKING:
    from weft.lang.calls.recipe import Recipe

__all__ = ["Made", "level_named", "make_for"]


@dataclass(frozen=True)
class Made:
    """The code of a kernel for one instruction set. `was_stored`: an earlier run has compiled it."""

    kernel: str
    level: str
    was_stored: bool
    seconds: float


def level_named(name: str) -> str:
    """The instruction set with this name, as in `cpu_features` of `ti.init`. This machine need not have it. Raises
    WeftError if there is none."""
    from weft.codegen.llvm.instruction_sets import LEVELS

    for level in LEVELS:
        if name in (level, level[-2:]):
            return level
    raise WeftError(f"an instruction set must be one of {', '.join(LEVELS)}, not {name!r}")


def make_for(program: Any, recipe: Recipe, level: str, name: str) -> Made:
    """Compile the kernel called `name` for an instruction set, and store it where a program with `cpu_features=level`
    looks for it. Nothing is loaded, so this machine need not have the instructions. The program must have a store."""
    began = perf_counter()
    changed = recipe.with_config(cpu_features=level)
    tree = changed.translate().tree
    entry = entry_of(program, tree, changed.config)
    if entry is None:
        raise WeftError("the program has no cache on disk")
    stored = entry.holds()
    if not stored:
        config = as_lowered(program, changed.config)
        with program.seats:
            entry.keep(make_artifact(tree, config, program.device, trace_of(program, name)))
    return Made(name, level, stored, perf_counter() - began)
