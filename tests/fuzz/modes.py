"""Kernels in a mode, with the companions of their fields and parameters: gradients, duals, and duals of gradients."""

from __future__ import annotations

from dataclasses import replace

from weft.ir.autodiff.companions import carries
from weft.ir.core import ops_of
from weft.ir.ops import FieldPtr, Kernel, StructFor
from weft.ir.parse import parse
from weft.ir.symbols import COMPANIONS, FieldSymbol, Param
from weft.ir.text import print_ir
from weft.ir.types import Array, Type

__all__ = ["NESTED", "REVERSED", "SECOND", "has_floats", "named", "takes_part", "with_companions", "with_second"]

# The modes of second derivatives: forward mode of reverse mode, reverse mode of forward mode, and of reverse mode.
SECOND, REVERSED, NESTED = "vjp.jvp", "jvp.vjp", "vjp.vjp2"


def named(kernel: Kernel) -> Kernel:
    """A copy in which each field and parameter has a name that no other one has."""
    return parse(print_ir(kernel))


def with_companions(kernel: Kernel, mode: str, trees: int) -> Kernel:
    """The kernel in that mode. Each field and parameter of floats has a dual, or each field and array a gradient. Those
    of fields are in trees of their own, numbered from `trees` on."""
    kind = COMPANIONS[mode]
    made: dict[FieldSymbol, FieldSymbol] = {}
    fields: list[FieldSymbol] = []
    for symbol in kernel.fields:
        made[symbol] = symbol
        if carries(symbol.dtype) and not symbol.hidden:
            other = replace(symbol, name=f"{symbol.name}.{kind}", tree=trees + symbol.tree)
            made[symbol] = replace(symbol, **{kind: other})
            fields.append(other)
        fields.append(made[symbol])
    for op in ops_of(kernel.body):
        if isinstance(op, (FieldPtr, StructFor)):
            op.field = made[op.field]
    hidden = [Param(f"{one.name}.{kind}", one.type, kind) for one in kernel.params if takes_part(one, mode)]
    kernel.fields, kernel.params, kernel.mode = tuple(fields), (*kernel.params, *hidden), mode
    return kernel


def takes_part(param: Param, mode: str) -> bool:
    """Reverse mode takes parameters that are no arrays for constants."""
    return has_floats(param.type) and (mode == "jvp" or isinstance(param.type, Array))


def has_floats(type: Type) -> bool:
    return carries(type.elem) if isinstance(type, Array) else carries(type)


def with_second(kernel: Kernel, trees: int, mode: str = SECOND) -> Kernel:
    """The kernel in a mode of second derivatives. Fields and arrays have the companions of both parts of the mode, and
    those of the first part have those of the second. Those of fields are in trees of their own, numbered from `trees`
    on."""
    first, second = (COMPANIONS[one] for one in mode.split("."))
    made: dict[FieldSymbol, FieldSymbol] = {}
    fields: list[FieldSymbol] = []
    for symbol in kernel.fields:
        made[symbol] = symbol
        if carries(symbol.dtype) and not symbol.hidden:
            both, inner, outer = (
                replace(symbol, name=f"{symbol.name}.{kind}", tree=number * trees + symbol.tree)
                for number, kind in ((3, f"{first}.{second}"), (1, first), (2, second))
            )
            inner = replace(inner, **{second: both})
            made[symbol] = replace(symbol, **{first: inner, second: outer})
            fields += [both, inner, outer]
        fields.append(made[symbol])
    for op in ops_of(kernel.body):
        if isinstance(op, (FieldPtr, StructFor)):
            op.field = made[op.field]
    arrays = [one for one in kernel.params if isinstance(one.type, Array) and carries(one.type.elem)]
    hidden = [
        Param(f"{one.name}.{kind}", one.type, kind.rpartition(".")[2])
        for kind in (first, second, f"{first}.{second}")
        for one in arrays
    ]
    kernel.fields, kernel.params, kernel.mode = tuple(fields), (*kernel.params, *hidden), mode
    return kernel
