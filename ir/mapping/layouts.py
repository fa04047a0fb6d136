"""What lanes want to know of how fields and arrays lie in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from weft.ir.ops import Kernel
from weft.ir.scopes import Scope, array_scope
from weft.ir.symbols import FieldSymbol, scopes_of
from weft.ir.types import Array, Tensor, element

__all__ = ["Cell", "Layouts", "layouts_of"]

# Bytes of a field: an index times its stride, without its constants, fits 32 bits (see `FARTHEST`).
_NEAR = 1 << 30


@dataclass(frozen=True)
class Cell:
    """An element of a field or array of vectors, stored as one: the distance from one to the next, where the first lies
    in its tree, and how long it is, in bytes."""

    size: int
    low: int
    span: int


@dataclass(frozen=True)
class Layouts:
    """`near`: scopes in which an index of 32 bits times its stride fits 32 bits; `cells` by scope."""

    near: frozenset[Scope] = frozenset()
    cells: Mapping[Scope, Cell] = field(default_factory=dict[Scope, Cell])


def layouts_of(kernel: Kernel) -> Layouts:
    """Those of all that the kernel may touch."""
    scopes = scopes_of(kernel.fields)
    near = frozenset(scope for symbol, scope in scopes.items() if _extent_bytes(symbol) < _NEAR)
    cells = {scope: _cell_of(symbol) for symbol, scope in scopes.items()}
    for number, param in enumerate(kernel.params):
        if isinstance(param.type, Array) and isinstance(param.type.elem, Tensor):
            size = param.type.elem.count * param.type.elem.elem.size
            cells[array_scope(number, param.type.exposed)] = Cell(size, 0, size)
    return Layouts(near, {scope: cell for scope, cell in cells.items() if cell is not None})


def _extent_bytes(symbol: FieldSymbol) -> int:
    """How far apart the first and the last byte of a field can lie."""
    return max(symbol.components) + 8 + sum((term.modulus - 1) * term.stride for term in symbol.terms)


def _cell_of(symbol: FieldSymbol) -> Cell | None:
    strides = [term.stride for term in symbol.terms if term.modulus > 1]
    low, size = min(symbol.components), min(strides, default=0)
    span = max(symbol.components) + element(symbol.dtype).size - low
    whole = len(symbol.components) > 1 and span <= size and not any(stride % size for stride in strides)
    return Cell(size, low, span) if whole else None
