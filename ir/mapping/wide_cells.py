"""Finds loops over cells so wide that LLVM's vectorizer would gather. They are left scalar.

    for i in x: x[i] = x[i] + v[i]     vectors of 12: a load reads every 12th float, for which LLVM gathers one element
                                       at a time. Without the vectorizer, the parts of one cell become vectors instead.

If the elements of a cell are at most eight apart, LLVM loads the cells whole and shuffles, which is fast. If a body
computes a sine or the like, vectors are worth the gathers.
"""

from __future__ import annotations

from weft.ir.core import ops_of
from weft.ir.mapping.cost import TRANSCENDENTAL
from weft.ir.ops import Binary, Load, Store, Task, Unary
from weft.ir.types import Prim
from weft.ir.uniform import Uniformity, uniformity

__all__ = ["in_wide_cells"]

_SHUFFLED = 8  # the most elements of a cell that LLVM separates by shuffles


def in_wide_cells(task: Task) -> bool:
    """Whether most loads and stores of the loop's body access wider cells, and nothing makes vectors worthwhile."""
    accesses: list[Load | Store] = []
    for op in ops_of(task.body):
        if isinstance(op, (Unary, Binary)) and (op.kind in TRANSCENDENTAL or op.kind in ("pow", "atan2")):
            return False
        if isinstance(op, (Load, Store)):
            accesses.append(op)
    if not accesses:
        return False
    facts = uniformity(task)
    wide = sum(1 for op in accesses if _is_wide(facts, op))
    return not facts.reason and 2 * wide > len(accesses)


def _is_wide(facts: Uniformity, op: Load | Store) -> bool:
    type, step = op.type if isinstance(op, Load) else op.value.type, facts.step(op.ptr)
    return isinstance(type, Prim) and step is not None and abs(step) > _SHUFFLED * type.size
