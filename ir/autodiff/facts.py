"""What a tape has to know about a gradient kernel (see `GradientFacts`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.ir.addresses import root_of
from weft.ir.artifact import GradientFacts, Site
from weft.ir.lowered_ops import Address
from weft.ir.ops import ArrayBase, Invoke, Kernel, RandomAt, Store
from weft.ir.symbols import FieldSymbol, places_of, scopes_of
from weft.ir.tasks import accesses

__all__ = ["facts_of"]


def facts_of(kernel: Kernel, fields: Sequence[FieldSymbol], again: bool) -> GradientFacts:
    """The facts of a lowered gradient kernel. `fields`: those of the program, which the facts number. The lowered
    kernel accesses sparse ones as the dense fields in which they are stored. `again`: it computes what another launch
    has computed."""
    known = scopes_of(kernel.fields)
    stored = {number: symbol.stored for number, symbol in enumerate(fields)}
    scopes = {known[symbol].space: number for number, symbol in stored.items() if symbol in known}
    reads = set[str]()
    for op in accesses(kernel):
        root = root_of(op.ptr)
        if isinstance(op, Store):
            continue
        if isinstance(root, ArrayBase):
            reads.add(f"param:{root.index}")
        elif isinstance(op.ptr, Address) and op.ptr.scope.kind == "field":
            number = scopes.get(op.ptr.scope.space)
            reads.update(() if number is None else (f"field:{number}",))  # (tables of sparse nodes are no fields)
        elif isinstance(op.ptr, Address) and op.ptr.scope.kind in ("", "tree"):
            reads.update(f"field:{number}" for number in scopes.values())
    called = {name for op in kernel.all_of(Invoke) for name in op.touched}
    reads.update(
        f"field:{k}" for k, symbol in enumerate(fields) if not called.isdisjoint((symbol.name, stored[k].name))
    )
    reads.update(f"param:{number}" for number, param in enumerate(kernel.params) if param.name in called)
    places = places_of(fields, kernel.params)
    saved = tuple(place for name, place in places.items() if name in kernel.saved)
    lost = tuple(Site("lost", (one.name,), (), one.span) for one in kernel.lost)
    writes = tuple(_with_place(row, places) for row in kernel.grad_accesses)
    draws = again and bool(kernel.all_of(RandomAt))
    return GradientFacts(tuple(sorted(reads)), saved, lost, draws, kernel.records, writes)


def _with_place(row: str, places: Mapping[str, str]) -> str:
    """A row of `grad_accesses.py`, with the place of the field for its name."""
    kind, *rest = row.split(" ", 2)
    return f"{kind} {rest[0]} {places[rest[1]]}" if rest else row
