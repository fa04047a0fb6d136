"""What lanes want to know of how fields and arrays lie in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from weft.ir.ops import Kernel
from weft.ir.scopes import Scope, array_scope
from weft.ir.storage.path import Cells
from weft.ir.symbols import scopes_of
from weft.ir.types import Array, Tensor

__all__ = ["Layouts", "layouts_of"]

# Bytes of a field: an index times its stride, without its constants, fits 32 bits (see `FARTHEST`).
_NEAR = 1 << 30


@dataclass(frozen=True)
class Layouts:
    """`near`: scopes in which an index of 32 bits times its stride fits 32 bits; `cells` by scope."""

    near: frozenset[Scope] = frozenset()
    cells: Mapping[Scope, Cells] = field(default_factory=dict[Scope, Cells])


def layouts_of(kernel: Kernel) -> Layouts:
    """Those of all that the kernel may touch."""
    scopes = scopes_of(kernel.fields)
    near = frozenset(scope for symbol, scope in scopes.items() if symbol.path.is_within(_NEAR))
    cells = {scope: symbol.path.cells for symbol, scope in scopes.items()}
    for number, param in enumerate(kernel.params):
        if isinstance(param.type, Array) and isinstance(param.type.elem, Tensor):
            size = param.type.elem.count * param.type.elem.elem.size
            cells[array_scope(number, param.type.exposed)] = Cells(size, 0, size)
    return Layouts(near, {scope: cell for scope, cell in cells.items() if cell is not None})
