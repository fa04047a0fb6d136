"""Casts of vectors of floats to integers on x86, whose conversion gives the same number for all values that do not fit.

    %y = 0 if %x is NaN else %x
    %z = the nearest float in the integers' range, exactly; %n = the integer in %z
    %n, or the greatest integer where %y is above

LLVM's own expansion splits vectors into scalars. For scalars it branches, which is faster if branches are predicted.
"""

from __future__ import annotations

import numpy as np

from weft.codegen.llvm.function import FunctionWriter
from weft.ir.types import Prim, u1

__all__ = ["saturated"]


def saturated(f: FunctionWriter, x: str, source: Prim, target: Prim) -> str:
    """`x` of float type `source` as an integer: the nearest one that there is; NaN gives 0."""
    low, high = _range(source, target)
    old, new, truth = f.spell(source), f.spell(target), f.spell(u1)
    least, most = f.literal(low, source), f.literal(high, source)
    sound = f.set(f"fcmp ord {old} {x}, {x}")
    y = f.set(f"select {truth} {sound}, {old} {x}, {old} {f.literal(0.0, source)}")
    z = f.set(f"select {truth} {f.set(f'fcmp ogt {old} {y}, {least}')}, {old} {y}, {old} {least}")
    z = f.set(f"select {truth} {f.set(f'fcmp olt {old} {z}, {most}')}, {old} {z}, {old} {most}")
    n = f.set(f"{'fptosi' if target.is_signed else 'fptoui'} {old} {z} to {new}")
    last = _last(target)
    if int(high) == last:
        return n
    above = f.set(f"fcmp ogt {old} {y}, {most}")
    return f.set(f"select {truth} {above}, {new} {f.literal(last, target)}, {new} {n}")


def _last(target: Prim) -> int:
    return (1 << (target.bits - target.is_signed)) - 1


def _range(source: Prim, target: Prim) -> tuple[float, float]:
    """The least and the greatest float that the integers have."""
    low, last = (-(1 << (target.bits - 1)) if target.is_signed else 0), _last(target)
    high = source.np.type(last)
    if int(high) > last:
        high = np.nextafter(high, source.np.type(0))
    return float(low), float(high)
