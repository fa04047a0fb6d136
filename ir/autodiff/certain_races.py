"""Parallel loops that certainly race on memory with a gradient.

    for i in x:
        x[i] = x[i + 1]        # iteration i reads what iteration i + 1 writes
        s[None] = x[i] ** 2    # all iterations write one element

Reverse mode relies on the order of accesses within an iteration only. A loop without a race has a gradient without one:
the adjoint of a read is an atomic sum, and the adjoint of a store touches an element that no other iteration accesses.
A loop with a race has neither a defined result nor a defined gradient. Races that depend on data or on conditions are
found by `check_races=True`.
"""

from __future__ import annotations

from math import prod

from weft.ir import ops
from weft.ir.addresses import element_steps, root_of, split
from weft.ir.autodiff.demand import Demand
from weft.ir.autodiff.serial import visits_cells
from weft.ir.core import Value
from weft.ir.errors import CompilationError
from weft.ir.rewrite import literal

__all__ = ["refuse_race"]

_Loop = ops.ParallelFor | ops.StructFor


def refuse_race(demand: Demand, loop: _Loop) -> None:
    """Raise the error for two accesses of one element by different iterations, of which one is a store."""
    touching = [op for op in loop.body if isinstance(op, (ops.Load, ops.Store, ops.Atomic)) and demand.takes(op.ptr)]
    for store in touching:
        if not isinstance(store, ops.Store) or store.relaxed:
            continue
        for other in touching:
            shared = store.value in demand.active and _is_one(store.ptr, other.ptr, loop)
            if shared or _meet(store.ptr, other.ptr, loop):
                what = "writes" if isinstance(other, ops.Store) else "reads"
                where = "" if store.span is None else f" in line {store.span.line}"
                raise CompilationError(
                    f"reverse mode cannot differentiate a parallel loop with a race: this {what} an element of "
                    f"'{_name(store.ptr, demand)}' that another iteration stores{where}. Write to another field, or "
                    "run the loop in order with ti.loop_config(serialize=True)",
                    other.span or store.span,
                )


def _meet(p: Value, q: Value, loop: _Loop) -> bool:
    """Whether `p` in one iteration is certainly `q` in another one."""
    (a, p_steps), (b, q_steps) = element_steps(p), element_steps(q)
    if p_steps or q_steps or not isinstance(a, (ops.FieldPtr, ops.ArrayPtr)) or not _same_memory(a, b):
        return False
    assert isinstance(b, (ops.FieldPtr, ops.ArrayPtr))
    distances: dict[int, int] = {}  # by the axis of the loop: how far the other iteration is
    for i, j in zip(a.indices, b.indices, strict=True):
        (x, c), (y, d) = split(i), split(j)
        axis = next((axis for axis, arg in enumerate(loop.body.args) if arg is x), None)
        if x is not y or (axis is None and c != d):
            return False
        if axis is not None and distances.setdefault(axis, c - d) != c - d:
            return False
    return any(distances.values()) and all(abs(far) < _extent(loop, axis) for axis, far in distances.items())


def _is_one(p: Value, q: Value, loop: _Loop) -> bool:
    """Whether `p` and `q` are certainly one element in all iterations, of which there are several."""
    (a, p_steps), (b, q_steps) = element_steps(p), element_steps(q)
    if p_steps or q_steps or not isinstance(a, (ops.FieldPtr, ops.ArrayPtr)) or not _same_memory(a, b):
        return False
    assert isinstance(b, (ops.FieldPtr, ops.ArrayPtr))
    pairs = [(split(i), split(j)) for i, j in zip(a.indices, b.indices, strict=True)]
    if any(i != j or i[0] is not None for i, j in pairs):
        return False
    if isinstance(loop, ops.StructFor):
        return not visits_cells(loop) and prod(loop.field.shape) > 1
    extents = [(literal(begin), literal(end)) for begin, end in zip(loop.begins, loop.ends, strict=True)]
    return prod(0 if low is None or high is None else max(0, int(high - low)) for low, high in extents) > 1


def _same_memory(a: Value, b: Value) -> bool:
    if isinstance(a, ops.FieldPtr) and isinstance(b, ops.FieldPtr):
        return a.field is b.field
    return isinstance(a, ops.ArrayPtr) and isinstance(b, ops.ArrayPtr) and a.array is b.array


def _extent(loop: _Loop, axis: int) -> float:
    """The number of iterations along an axis. If it is not known, there are at least two."""
    if isinstance(loop, ops.StructFor):
        return loop.field.shape[axis]
    begin, end = literal(loop.begins[axis]), literal(loop.ends[axis])
    return 2.0 if begin is None or end is None else end - begin


def _name(ptr: Value, demand: Demand) -> str:
    root = root_of(ptr)
    if isinstance(root, ops.FieldPtr):
        return root.field.name
    assert isinstance(root, ops.ArrayPtr)
    assert isinstance(root.array, ops.Arg)
    return demand.kernel.params[root.array.index].name
