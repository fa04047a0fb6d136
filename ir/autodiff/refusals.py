"""What reverse mode refuses, with the line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.certain_races import refuse_race
from weft.ir.autodiff.companions import carries
from weft.ir.autodiff.demand import EXTREMES, LOCALS, NEEDS, Demand
from weft.ir.autodiff.order import needs_order
from weft.ir.autodiff.products import loop_around
from weft.ir.autodiff.serial import blocks_only, visits_cells
from weft.ir.autodiff.splitting import SYNCHRONIZING
from weft.ir.autodiff.topology import visited_node
from weft.ir.autodiff.torn import Torn
from weft.ir.core import Op, Value
from weft.ir.errors import CompilationError
from weft.ir.registry import registers
from weft.ir.types import Array, Pointer

__all__ = ["gives_lost", "is_inexact", "refuse_reverse"]

_CELLS = (ops.Append, ops.IsActive, ops.Length)
_ROWS: dict[type[Op], Callable[[Demand, Any], None]] = {}
refusals = registers(_ROWS)


def refuse_reverse(kernel: ops.Kernel, demand: Demand) -> None:
    """Raise the error for the first op that reverse mode cannot differentiate."""
    loops: list[ops.ParallelFor | ops.StructFor] = [*kernel.all_of(ops.ParallelFor), *kernel.all_of(ops.StructFor)]
    for loop in loops:
        refuse_race(demand, loop)
    for op in demand.ops:
        row = _ROWS.get(type(op))
        if row is not None:
            row(demand, op)
        _kept(demand, op)
        if op in demand.active and type(op) not in NEEDS and not isinstance(op, (*LOCALS, ops.Arg)):
            _refuse(op, f"{op.opname} of a value that carries a derivative")


_ORDER = (
    "it depends on the order of iterations; run the loop in order with ti.loop_config(serialize=True). (A tape does "
    "that.)"
)
_KEPT = (
    "it depends on the order of iterations; run the loop in order with ti.loop_config(serialize=True). (A tape keeps "
    "such values.)"
)


def _refuse(op: Op, what: str, kind: type[CompilationError] = CompilationError) -> NoReturn:
    raise kind(f"reverse mode cannot differentiate {what}", op.span)


@refusals(ops.FieldPtr)
def _field(demand: Demand, op: ops.FieldPtr) -> None:
    owner = demand.companions.owners.get(op.field)
    if owner is not None:
        _refuse(op, f"a kernel that uses '{op.field.name}', the gradient of '{owner.name}', itself")


@refusals(ops.Atomic)
def _atomic(demand: Demand, op: ops.Atomic) -> None:
    if gives_lost(demand, op):
        _refuse(op, f"a kernel that needs the old value of an atomic {op.kind} in a parallel loop: {_KEPT}", Torn)
    _in_order(demand, op)
    if is_inexact(demand, op):
        _refuse(
            op,
            f"an atomic {op.kind} of a computed value: the gradient computes it again, and rounding may differ. Store "
            "the values in a field with a gradient first, and take the extreme of its elements. (A tape keeps them.)",
            Torn,
        )


@refusals(ops.Store)
def _in_order(demand: Demand, op: Op) -> None:
    """Refuse what depends on the order of iterations. A launch that records runs the loop in order, if it can."""
    what = needs_order(demand, op)
    loop = loop_around(op) if what else None
    if what:
        if loop is not None and visits_cells(loop):
            _refuse(op, f"{what}, here a loop over active cells: it depends on the order of iterations")
        stuck = loop is not None and blocks_only(loop) is not None
        _refuse(op, f"{what}: {_ORDER}", CompilationError if stuck or loop is None else Torn)


def gives_lost(demand: Demand, op: Op) -> bool:
    """Whether the value of an op that synchronizes iterations, or that tells about cells which the kernel changes, is
    needed, but not recorded. Atomics on locals may be needed for what they store only."""
    if op not in demand.needed or op in demand.recorded:
        return False
    if isinstance(op, _CELLS):
        return isinstance(op, ops.Append) or demand.topology.changes(op.node) is not None
    if not isinstance(op, ops.Atomic) or not isinstance(root_of(op.ptr), LOCALS):
        return isinstance(op, (ops.Atomic, *SYNCHRONIZING))
    return any(user in demand.needed or user.place or user.steps_into for user in op.users)


def is_inexact(demand: Demand, op: Op) -> bool:
    """Whether an op is a minimum or maximum whose gradient compares a value that it may compute with other bits."""
    if not isinstance(op, ops.Atomic) or op.kind not in EXTREMES or op not in demand.acts:
        return False
    return op.value not in demand.recorded and not _is_exact(op.value, demand.fast_math)


_ROUNDED = ("add", "sub", "mul", "div", "sqrt")  # rounded correctly without fast_math, in vectors too


def _is_exact(value: Value, fast_math: bool) -> bool:
    """Whether a value has the same bits in the kernel and in its gradient, however they are optimized."""
    if isinstance(value, (ops.Const, ops.Arg)) or not carries(value.type):
        return True
    if isinstance(value, ops.Load):
        return not isinstance(root_of(value.ptr), LOCALS)
    if isinstance(value, (ops.Unary, ops.Binary)):
        kinds = ("neg", "abs", *EXTREMES) if fast_math else ("neg", "abs", *EXTREMES, *_ROUNDED)
        return value.kind in kinds and all(_is_exact(operand, fast_math) for operand in value.operands)
    parts = (ops.Extract, ops.Member, ops.MakeTensor, ops.MakeStruct, ops.Splat, ops.Transpose, ops.Select, ops.Cast)
    return isinstance(value, parts) and all(_is_exact(operand, fast_math) for operand in value.operands)


@refusals(*SYNCHRONIZING)
def _synchronizing(demand: Demand, op: Any) -> None:
    _in_order(demand, op)
    if gives_lost(demand, op):
        _refuse(op, f"a kernel that needs {op.opname}: {_KEPT}", Torn)


@refusals(ops.Simt, ops.Shared)
def _blocks(demand: Demand, op: Op) -> None:
    _refuse(op, f"a kernel with {op.opname}, in which the threads of a block cooperate")


@refusals(ops.Invoke)
def _invoke(demand: Demand, op: ops.Invoke) -> None:
    if any(map(_writable, op.values)):
        _refuse(op, f"a call of the real function '{op.function}', which calls itself and may write memory of the "
                    "program: return the values, or use a loop")  # fmt: skip
    used = [name for name in op.written if name not in op.only_written or _may_overlap(demand, op, name)]
    if used:
        _refuse(
            op,
            f"a call of the real function '{op.function}', which calls itself and may write '{used[0]}' and use values "
            "of it: write to another field, return the values, or use a loop",
        )


def _may_overlap(demand: Demand, op: ops.Invoke, name: str) -> bool:
    """Whether what a function writes may be other memory that it reads, or may lie in cells that it makes active. (What
    the arrays of a function are, the kernel knows that calls it.)"""
    symbols = [symbol for symbol in demand.kernel.fields if symbol.name == name]
    if symbols:
        return symbols[0].node is not None
    arrays = [one.type for one in op.values if isinstance(one.type, Array)]
    return not demand.kernel.called and any(array.exposed for array in arrays)


def _writable(value: Value) -> bool:
    return isinstance(value.type, Pointer) and carries(value.type.elem)


# ---- cells of sparse nodes -------------------------------------------------------------------------------------------

_APART = "do it in another kernel. (A tape can do both in one kernel, in different loops.)"


def _line(op: Op | None) -> str:
    return f" in line {op.span.line}" if op is not None and op.span is not None else ""


def _kept(demand: Demand, op: Op) -> None:
    """Refuse an access to cells that the kernel may deactivate, because the gradient finds neither values nor adjoints,
    and a write that depends on whether a cell is active, which the gradient cannot find out."""
    if not isinstance(op, ops.Load | ops.Store | ops.Atomic) or op.effect != "address":
        return
    root = root_of(op.ptr)
    if not isinstance(root, ops.FieldPtr):
        return
    dropped = demand.topology.drops(root.field)
    if dropped is not None and (op in demand.acts or (op in demand.needed and op not in demand.recorded)):
        _refuse(
            op,
            f"this access to '{root.field.name}', whose cells the kernel deactivates{_line(dropped)}: {_APART}",
            Torn,
        )
    grown = None if root.field.node is None or root.activates else demand.topology.changes(root.field.node)
    if grown is not None and op in demand.acts and not isinstance(op, ops.Load):
        _refuse(
            op,
            f"this write to '{root.field.name}', which changes only what is active, while the kernel activates cells"
            f"{_line(grown)}: {_APART}",
            Torn,
        )


@refusals(ops.StructFor)
def _visits(demand: Demand, loop: ops.StructFor) -> None:
    node = visited_node(demand.kernel, loop)
    if node is None or (loop not in demand.acts and not any(op in demand.needed for op in loop.walk())):
        return
    if loop.config.serialize:
        _refuse(loop, "a loop over active cells with ti.loop_config(serialize=True)")
    changed = demand.topology.changes(node)
    if changed is not None:
        what = "deactivates" if isinstance(changed, ops.Deactivate) else "may activate"
        _refuse(
            loop,
            f"a loop over active cells of '{node.name}', of which the kernel {what} some{_line(changed)}: {_APART}",
            Torn,
        )


@refusals(*_CELLS)
def _cells(demand: Demand, op: ops.Append | ops.IsActive | ops.Length) -> None:
    if gives_lost(demand, op):
        changed = demand.topology.changes(op.node)
        where = "" if changed is op else f", of which the kernel changes some{_line(changed)}"
        _refuse(
            op,
            f"a kernel that needs the result of this {op.opname} on '{op.node.name}'{where}. (A tape keeps it.)",
            Torn,
        )
