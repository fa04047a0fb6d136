"""Builds the functions of the library from text, calls them, and lowers them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from weft.ir.config import CompileConfig
from weft.ir.core import Builder, Value
from weft.ir.ops import FieldPtr, Invoke, Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.symbols import FieldSymbol
from weft.ir.types import VOID

__all__ = ["call", "copies", "define", "lowered", "unchecked"]


def define(signature: str, body: str, fields: Mapping[str, FieldSymbol]) -> Kernel:
    """The function `signature`, `@name(x: type, ...) -> (types)`, with that body. `fields` maps the fields that the
    body names to those of the calling kernel."""
    stubs = "\n".join(f"field @{name}: {_stub(symbol)}" for name, symbol in fields.items())
    made = parse(f"kernel {signature} called=true {{\n{stubs}\n{body}\n}}\n")
    for op in made.walk():
        if isinstance(op, FieldPtr):
            op.field = fields[op.field.name]
    made.fields = tuple(fields.values())
    return made


def _stub(symbol: FieldSymbol) -> str:
    """A field of that type and number of axes, which represents it in a text."""
    components = ", ".join("0" for _ in symbol.components)
    extents = ", ".join(map(str, symbol.shape))
    return f"{symbol.dtype}{f'[{extents}]' if extents else ''} tree=0 components=({components})"


def call(build: Builder, function: Kernel, values: Sequence[Value]) -> Value:
    """Call a function of the library there; gives its result, if it has one."""
    type = function.results[0] if function.results else VOID
    touched = tuple(symbol.name for symbol in function.fields)
    return build.add(Invoke(function.symbol, list(values), touched, type=type))


def copies(functions: Iterable[Kernel]) -> list[Kernel]:
    """Copies of those functions, for passes to work on."""
    made: list[Kernel] = []
    for function in functions:
        copy = function.clone({})
        assert isinstance(copy, Kernel)
        made.append(copy)
    return made


def unchecked(config: CompileConfig) -> CompileConfig:
    """The options for functions of the library. They are not part of the program: their indices are correct if their
    arguments are, so the checks of programs are not applied to them."""
    return replace(
        config,
        debug=False,
        boundary_check=False,
        mask_out_of_bounds=False,
        check_races=False,
        check_nan=False,
        check_overflow=False,
        check_uninitialised=False,
        races=None,
    )


def lowered(functions: Iterable[Kernel], config: CompileConfig) -> list[Kernel]:
    """These functions as lowered CHI for a target."""
    own = unchecked(config)
    return [run_passes(function, TO_TASKS + TO_LOWERED, own) for function in copies(functions)]
