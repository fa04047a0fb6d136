"""What a tape has to know about a gradient kernel (see `GradientFacts`)."""

from __future__ import annotations

from weft.ir.addresses import root_of
from weft.ir.artifact import GradientFacts, Site
from weft.ir.lowered_ops import Address
from weft.ir.ops import ArrayBase, Invoke, Kernel, RandomAt, Store
from weft.ir.symbols import places_of, scopes_of
from weft.ir.tasks import accesses

__all__ = ["facts_of"]


def facts_of(kernel: Kernel, again: bool) -> GradientFacts:
    """The facts of a lowered gradient kernel. `again`: it computes what another launch has computed."""
    scopes = {scope.space: number for number, scope in enumerate(scopes_of(kernel.fields).values())}
    reads = set[str]()
    for op in accesses(kernel):
        root = root_of(op.ptr)
        if isinstance(op, Store):
            continue
        if isinstance(root, ArrayBase):
            reads.add(f"param:{root.index}")
        elif isinstance(op.ptr, Address) and op.ptr.scope.kind == "field":
            reads.add(f"field:{scopes[op.ptr.scope.space]}")
        elif isinstance(op.ptr, Address) and op.ptr.scope.kind in ("", "tree"):
            reads.update(f"field:{number}" for number in scopes.values())
    called = {name for op in kernel.all_of(Invoke) for name in op.touched}
    reads.update(f"field:{number}" for number, symbol in enumerate(kernel.fields) if symbol.name in called)
    reads.update(f"param:{number}" for number, param in enumerate(kernel.params) if param.name in called)
    saved = tuple(place for name, place in places_of(kernel.fields, kernel.params).items() if name in kernel.saved)
    lost = tuple(Site("lost", (one.name,), (), one.span) for one in kernel.lost)
    return GradientFacts(tuple(sorted(reads)), saved, lost, again and bool(kernel.all_of(RandomAt)), kernel.records)
