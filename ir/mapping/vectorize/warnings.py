"""Warnings in lanes."""

from __future__ import annotations

from weft.ir.mapping.vectorize.state import Vectorizer, by_lane
from weft.ir.ops import FirstActive, If, Warn

__all__: list[str] = []


@by_lane(Warn)
def _warn(v: Vectorizer, op: Warn) -> None:
    """Report for the first active lane only: a kernel reports no more than one. One of several vectors may have no
    active lane."""
    if v.vectors == 1:
        _report(v, op)
        return
    with v.into(v.add(If(v.any((v.mask,)))).then):
        _report(v, op)


def _report(v: Vectorizer, op: Warn) -> None:
    number = v.add(FirstActive(v.mask))
    v.add(Warn([v.of_lane(value, number) for value in op.values], op.message, op.kind, op.types))
