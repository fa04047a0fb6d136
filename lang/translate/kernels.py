"""Translates a whole kernel: binds its parameters, translates its body and checks its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from weft.ir import tree
from weft.ir.config import CompileConfig
from weft.ir.errors import CompilationError
from weft.ir.symbols import LoopConfig, Param
from weft.ir.types import Array
from weft.lang.data.derived import ASSIGNS, suffix_of
from weft.lang.data.shadows import race_shadow
from weft.lang.functions.source import source_of
from weft.lang.program.init import program
from weft.lang.translate import (
    attributes,
    calls,
    control,
    derivatives,
    expressions,
    indexing,
    loops,
    named_expressions,
    operators,
    statements,
)
from weft.lang.translate.contract import Argument, Translation, loops_of
from weft.lang.translate.endings import refuse_open_end
from weft.lang.translate.names import Binding, Names
from weft.lang.translate.races import warn_of_races
from weft.lang.translate.real_calls import finish_functions
from weft.lang.translate.translator import Translator, Unit
from weft.lang.translate.values import wrap
from weft.lang.values.argpack import Members
from weft.lang.values.types import StructType

__all__ = ["translate"]

# Imported because they register handlers.
_HANDLERS = (
    attributes,
    calls,
    control,
    derivatives,
    expressions,
    indexing,
    loops,
    named_expressions,
    operators,
    statements,
)


def translate(
    function: Callable[..., Any],
    arguments: Sequence[Argument],
    results: tuple[Any, ...],
    config: CompileConfig,
    mode: str = "",
) -> Translation:
    """Translate one instance of a kernel to its tree, in a mode of MODES. Raises CompilationError, with its place, for
    a mistake of the user."""
    source = source_of(function)
    name = f"{source.name}_{suffix_of(mode).replace('.', '_')}" if mode else source.name
    unit = Unit(name, config, results=results, loops=LoopConfig(**loops_of(function)), mode=mode)
    unit.exposed = any(isinstance(one.type, Array) and one.type.exposed for one in arguments)
    t = Translator(unit, source, Names(function))
    t.top = t.is_kernel = True
    for argument in arguments:
        if argument.type is None:
            t.bind(argument.name, argument.value, "template parameter")
            continue
        value = tree.ParamRef(len(unit.params), type=argument.type)
        unit.params.append(Param(argument.name, argument.type, argument.hidden))
        if argument.hidden:
            continue
        if getattr(argument.annotation, "boundary", "") == "clamp":
            unit.clamped.add(value.index)
        element = getattr(argument.annotation, "dtype", None)
        if isinstance(element, StructType):
            unit.of_structs[value.index] = element
        name, *path = argument.name.split(".")
        if not path:
            t.bind(name, wrap(argument.annotation, value), "kernel parameter")
            continue
        pack = t.names.find(name) or Binding(Members(), "kernel parameter")
        pack.value.set(path, wrap(argument.annotation, value))
        t.names.bind(name, pack)
    t.body(source.node.body)
    if results and not unit.returned:
        raise CompilationError(
            f"kernel '{source.name}' is annotated to return a value ('-> ...'), but has no 'return'", source.header()
        )
    if results:
        refuse_open_end(t)
    if unit.config.check_races:
        from weft.ir.races import shadow_symbol  # imports the ops, which kernels from the disk cache do not need

        unit.hidden.append(shadow_symbol(unit.number(race_shadow(program()))))
    made = t.finish(source.header())
    warn_of_races(t, made)
    made.functions = finish_functions(unit)
    if mode == ASSIGNS:
        _let_gradients_be_set(made)
    return Translation(made, tuple(unit.trees), tuple(unit.kept), tuple(unit.captures.values()), unit.choices)


def _let_gradients_be_set(made: tree.KernelTree) -> None:
    """Mark the gradients that `kernel.grad.assign` sets. Raises CompilationError for those of arrays: two arguments may
    be one array."""
    from weft.ir.autodiff.fresh import only_read  # imports the ops, which kernels from the disk cache do not need

    array = next((param.name for param in made.params if param.hidden == "grad"), None)
    if array is not None:
        raise CompilationError(
            f"kernel.grad.assign sets gradients of fields, and '{array}' is that of an array: write {array}.fill(0), "
            "and call kernel.grad",
            made.span,
        )
    for symbol in only_read(made):
        assert symbol.grad is not None
        object.__setattr__(symbol.grad, "fresh", True)
