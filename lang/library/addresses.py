"""Where an element of a field lies in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.ir.errors import CompilationError, TypeMismatch
from weft.ir.types import u64
from weft.lang.data.field import Field
from weft.lang.data.snode_api import SNode
from weft.lang.values.builtins import cast, pyfunc, static

if TYPE_CHECKING:
    Template = Any  # to type checkers, a template argument is what it is bound to
else:
    from weft.lang.values.types import Template

__all__ = ["get_addr"]

_Terms = tuple[tuple[int, int, int, int], ...]


def _layout(f: Any) -> tuple[int, _Terms, tuple[int, ...]]:
    """The first byte of a dense field, its digits (axis, divisor, modulus, stride), and the index of its first
    element."""
    made = f if isinstance(f, Field) else f.tree.fields.get(f.node) if isinstance(f, SNode) else None
    if made is None:
        raise TypeMismatch(f"get_addr takes a field, or its node x.snode, not {f!r}")
    parts = made.describe()
    dense = parts.path.dense
    if parts.node is not None or dense is None:
        raise CompilationError("get_addr takes a field all of whose elements have a place, not a sparse field")
    place = parts.tree.layout.places[f.node] if isinstance(f, SNode) else None
    start = parts.components[0] if place is None else place.path.collapsed().cell.components[0]
    terms = tuple((term.axis, term.divisor, term.modulus, term.stride) for term in dense.terms)
    return start + dense.offset, terms, made.offset


@pyfunc
def get_addr(f: Template, indices: Any) -> Any:
    """Return the place in memory of an element of the field or component f (u64): the number of its first byte, from
    the beginning of the memory of its SNode tree. For two fields of a tree, differences are those of addresses. No
    kernel knows where the tree itself lies, so compiled kernels can be kept on disk and run again.

    `indices`: one index for each axis, as a list or a vector. Raises TypeMismatch unless f is a field or its node
    `x.snode`, and CompilationError for a sparse field."""
    layout = static(_layout(f))
    place = cast(layout[0], u64)
    for axis, divisor, modulus, stride in static(layout[1]):
        place += cast((indices[axis] - layout[2][axis]) // divisor % modulus, u64) * cast(stride, u64)
    return place
