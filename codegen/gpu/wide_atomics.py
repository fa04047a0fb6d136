"""Rows of floats that are added by one instruction each (see the pass `widen_atomics`).

odd = %p & 4;   add2 [%p + odd], {odd ? %b : %a, odd ? %c : %b};   add1 [%p + (8 - 2 * odd)], odd ? %a : %c
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.codegen.gpu.dialect import dialect_of
from weft.codegen.llvm.function import FunctionWriter
from weft.ir.ops import AtomicRow

__all__ = ["write_row"]

_SIZE = 4


def write_row(f: FunctionWriter, op: AtomicRow) -> None:
    """Add a row of floats by as few instructions as its units allow."""
    place, values, unit = f.use(op.ptr), list(map(f.use, op.values)), op.unit
    if len(values) == unit:
        _add(f, place, values)
        return
    size = _SIZE * unit
    bit = f.set(f"and i64 {f.set(f'ptrtoint ptr {place} to i64')}, {size}")
    odd = f.set(f"icmp ne i64 {bit}, 0")

    def either(one: Sequence[str], other: Sequence[str]) -> list[str]:
        return [f.set(f"select i1 {odd}, float {a}, float {b}") for a, b in zip(one, other, strict=True)]

    well = f.set(f"getelementptr inbounds i8, ptr {place}, i64 {bit}")
    for first in range(0, len(values) - unit, 2 * unit):
        here = f.set(f"getelementptr inbounds i8, ptr {well}, i64 {_SIZE * first}")
        _add(f, here, either(values[first + unit : first + 3 * unit], values[first : first + 2 * unit]))
    end = f.set(f"getelementptr inbounds i8, ptr {place}, i64 {_SIZE * (len(values) - unit)}")
    alone = f.set(f"select i1 {odd}, ptr {place}, ptr {end}")
    _add(f, alone, either(values[:unit], values[-unit:]))


def _add(f: FunctionWriter, place: str, values: Sequence[str]) -> None:
    """Add this many numbers with one instruction."""
    if len(values) == 1:
        f.do(f"atomicrmw fadd ptr {place}, float {values[0]} {f.target.sync_scope}monotonic, align {_SIZE}")
        return
    f.do(f"call void @{_helper(f, len(values))}(ptr {place}, {', '.join(f'float {value}' for value in values)})")


def _helper(f: FunctionWriter, width: int) -> str:
    """The function that adds this many numbers."""
    name, define = f"weft_add_v{width}", dialect_of(f).add_floats
    assert define is not None
    f.module.declarations.setdefault(name, define(name, width))
    return name
