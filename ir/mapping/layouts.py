"""Facts about the memory layout of fields and arrays that lanes need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from weft.ir.ops import Kernel
from weft.ir.scopes import Scope, array_scope
from weft.ir.storage.path import Cells
from weft.ir.symbols import scopes_of
from weft.ir.types import Array, Tensor

__all__ = ["Layouts", "layouts_of"]

# The largest field, in bytes, in which an index times its stride, without constants, fits 32 bits (see `FARTHEST`).
_NEAR = 1 << 30


@dataclass(frozen=True)
class Layouts:
    """`near` holds the scopes in which a 32-bit index times its stride fits 32 bits. `cells` holds the
    cells by scope."""

    near: frozenset[Scope] = frozenset()
    cells: Mapping[Scope, Cells] = field(default_factory=dict[Scope, Cells])


def layouts_of(kernel: Kernel) -> Layouts:
    """The layouts of all memory that the kernel may access."""
    scopes = scopes_of(kernel.fields)
    near = frozenset(scope for symbol, scope in scopes.items() if symbol.path.is_within(_NEAR))
    cells = {scope: symbol.path.cells for symbol, scope in scopes.items()}
    for number, param in enumerate(kernel.params):
        if isinstance(param.type, Array) and isinstance(param.type.elem, Tensor):
            size = param.type.elem.count * param.type.elem.elem.size
            cells[array_scope(number, param.type.exposed)] = Cells(size, 0, size)
    return Layouts(near, {scope: cell for scope, cell in cells.items() if cell is not None})
