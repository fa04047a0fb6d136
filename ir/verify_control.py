"""The verifier's rules for control flow, prints and assertions: one row per op. See `verify.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from weft.ir import ops
from weft.ir.core import Op, Value
from weft.ir.ops import Kernel
from weft.ir.tasks import left_of
from weft.ir.types import Type, flatten, u1
from weft.ir.verify_types import checks, indices_of, require

__all__: list[str] = []


@checks(ops.If)
def _if(op: ops.If, _: Kernel) -> None:
    require(op.condition.type is u1, op, f"has a condition of type {op.condition.type}; expected u1")


@checks(ops.For)
def _for(op: ops.For, _: Kernel) -> None:
    _box(op, op.body.args[: 1 if left_of(op) else None], [op.begin], [op.end])
    require(op.step.type is op.begin.type, op, f"has a step of type {op.step.type}; expected {op.begin.type}")


@checks(ops.ParallelFor)
def _parallel_for(op: ops.ParallelFor, _: Kernel) -> None:
    _box(op, op.body.args, op.begins, op.ends)


@checks(ops.StructFor)
def _struct_for(op: ops.StructFor, kernel: Kernel) -> None:
    listed = any(op.field is node.table for node in kernel.nodes) if op.cells else op.field in kernel.fields
    require(listed, op, f"runs over the field '{op.field.name}', which the kernel does not list")
    lists = op.cells and any(op.field is node.table and node.length is not None for node in kernel.nodes)
    require(not lists, op, "runs over the chunks of lists; expected a field in them")
    indices_of(op, op.body.args, len(op.field.shape))


def _box(op: Op, args: Sequence[Value], begins: Sequence[Value], ends: Sequence[Value]) -> None:
    """As many bounds as arguments, of their integer types."""
    indices_of(op, args, len(begins))
    types = [arg.type for arg in args]
    require(
        [value.type for value in begins] == types,
        op,
        f"begins at values of types {_types(begins)}; expected {_types(args)}",
    )
    require(
        [value.type for value in ends] == types,
        op,
        f"ends at values of types {_types(ends)}; expected {_types(args)}",
    )


@checks(ops.Task)
def _task(op: ops.Task, _: Kernel) -> None:
    require(op.kind in ("serial", "range_for"), op, f"has the unknown kind {op.kind!r}")
    bounds = op.bounds.last
    if op.kind == "serial":
        require(bounds is None and not op.body.args, op, "is serial, but has bounds")
        return
    require(isinstance(bounds, ops.Yield), op, "has bounds that do not end with a yield")
    box = cast(ops.Yield, bounds)
    _box(op, op.body.args[: len(box.begins) if left_of(op) else None], box.begins, box.ends)


@checks(ops.Yield)
def _yield(op: ops.Yield, _: Kernel) -> None:
    task = op.parent
    require(isinstance(task, ops.Task) and op.block is task.bounds, op, "is not in the bounds of a task")


@checks(ops.Return)
def _return(op: ops.Return, kernel: Kernel) -> None:
    require(
        tuple(value.type for value in op.values) == kernel.results,
        op,
        f"returns values of types {_types(op.values)}; expected {', '.join(map(str, kernel.results)) or 'none'}",
    )


@checks(ops.Print)
def _print(op: ops.Print, _: Kernel) -> None:
    places = sum(part.startswith("\0") for part in op.parts)
    given = len(op.types) or len(op.values)
    require(places == given, op, f"has {given} values, but the text has {places} slots")
    _cut_up(op, op.types, op.values)


def _cut_up(op: Op, types: Sequence[Type], values: Sequence[Value]) -> None:
    """Where `scalarize` has recorded the operands' types, the operands are their scalars."""
    scalars = [scalar for type in types for scalar in flatten(type)]
    require(
        not types or [value.type for value in values] == scalars, op, f"has operands other than the scalars of {types}"
    )


@checks(ops.Assert)
def _assert(op: ops.Assert, _: Kernel) -> None:
    require(op.condition.type is u1, op, f"has a condition of type {op.condition.type}; expected u1")
    require(
        op.kind in ("assert", "bounds", "arithmetic", "recursion", "race", "uninitialised", "memory"),
        op,
        f"has the unknown kind {op.kind!r}",
    )
    _cut_up(op, op.types, op.values)


@checks(ops.Warn)
def _warn(op: ops.Warn, _: Kernel) -> None:
    require(op.kind in ("outside", "overflow"), op, f"has the unknown kind {op.kind!r}")
    _cut_up(op, op.types, op.values)


@checks(ops.RunRoutine)
def _run_routine(op: ops.RunRoutine, kernel: Kernel) -> None:
    task = op.parent
    serial = isinstance(task, ops.Task) and task.kind == "serial" and task.routine != ""
    require(serial and op.prev is None and op.next is None, op, "is not the only op of a serial task of a routine")
    require(op.node in kernel.nodes, op, f"is for the node '{op.node.name}', which the kernel does not list")


@checks(ops.HoldInterrupts)
def _hold_interrupts(op: ops.HoldInterrupts, kernel: Kernel) -> None:
    within = op.parent
    serial = within is kernel or (isinstance(within, ops.Task) and within.kind == "serial")
    require(serial and not kernel.called, op, "is not in serial code of a kernel")


def _types(values: Sequence[Value]) -> str:
    return ", ".join(str(value.type) for value in values) or "none"
