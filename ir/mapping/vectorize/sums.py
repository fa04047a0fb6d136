"""Combines values of lanes: sums of accumulators outside of the loop, and atomics at one address."""

from __future__ import annotations

from weft.ir.core import Value
from weft.ir.mapping.vectorize.state import Vectorizer
from weft.ir.ops import Atomic, Binary, Reduce, Select, Store
from weft.ir.scalar import identity
from weft.ir.uniform import FAMILY

__all__ = ["add_to_total", "combine"]


def combine(v: Vectorizer, op: Atomic) -> None:
    """One atomic with the values of all active lanes."""
    v.add(Atomic(op.kind, v.scalar(op.ptr), _total(v, op.kind, op.value)))


def add_to_total(v: Vectorizer, op: Store) -> None:
    """An accumulator outside of the loop is a scalar, so the lanes combine first. In a loop whose iterations run in
    lanes, it may be a vector."""
    kind, value = v.facts.sums[op]
    if op.ptr not in v.locals.totals:
        total, place = _total(v, kind, value), v.scalar(op.ptr)
        v.add(Store(place, v.add(Binary(kind, v.load(place), total))))
        return
    slot = v.locals.totals[op.ptr][v.current]
    old = v.load(slot)
    new = v.add(Binary(kind, old, v.vector(value)))
    v.add(Store(slot, v.add(Select(v.mask, new, old))))


def _total(v: Vectorizer, kind: str, value: Value) -> Value:
    """The values of the active lanes, combined in any order."""
    family = FAMILY[kind]
    neutral = v.literal(identity(family, value.type), value.type)  # type: ignore[arg-type]
    mine = v.add(Select(v.mask, v.vector(value), neutral))
    return v.add(Reduce(family, mine))
