"""Writes locals in lanes. A local is split if lanes may store different values into it: each lane has its own copy."""

from __future__ import annotations

from weft.ir.core import Value
from weft.ir.mapping.vectorize.state import Vectorizer, by_lane
from weft.ir.ops import Alloca, Store
from weft.ir.scalar import cast_value
from weft.ir.types import Pointer, Prim, Tensor, pointer, tensor

__all__: list[str] = []


@by_lane(Alloca)
def _alloca(v: Vectorizer, op: Alloca) -> Value:
    """A split local holds a vector for each scalar. A scalar starts at zero, because inactive lanes read it too. A
    value that lanes have in common in a loop is also kept as a scalar."""
    if op not in v.facts.split:
        return v.add(op.clone({}))
    assert isinstance(op.type, Pointer)
    held = op.type.elem
    v.locals.allocated[op] = v.point.active
    if isinstance(held, Tensor):
        return v.add(Alloca(type=pointer(tensor(held.elem, (held.count, v.lanes)))))
    assert isinstance(held, Prim)
    zero = cast_value(0, held).item()
    if op in v.facts.common and not v.current:
        v.locals.common[op] = v.local(held)
        v.add(Store(v.locals.common[op], v.const(zero, held)))
    local = v.local(v.wide(held))
    v.add(Store(local, v.literal(zero, held)))
    return local
