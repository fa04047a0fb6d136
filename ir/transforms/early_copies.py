"""Copies of tasks that run before them, and keep only what some of their ops depend on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from weft.ir.addresses import root_of
from weft.ir.alias import is_access, space_of, spaces_meet
from weft.ir.config import CompileConfig
from weft.ir.core import Op, Value, ops_of
from weft.ir.ops import (
    Alloca,
    Arg,
    Assert,
    Binary,
    Break,
    Cast,
    Const,
    Continue,
    FieldPtr,
    For,
    If,
    Kernel,
    Load,
    Reduce,
    Select,
    Splat,
    Task,
    TempPtr,
    Unary,
    While,
    Yield,
)
from weft.ir.pipeline import run_passes
from weft.ir.runtime_library.sparse_cells import written_on
from weft.ir.scalar import BINARY
from weft.ir.symbols import FieldSymbol
from weft.ir.tensor_ops import Extract, MakeTensor, MatMul
from weft.ir.transforms.die import drop_dead
from weft.ir.types import Prim, Tensor, Type, element

__all__ = ["REST", "insert_tasks", "is_harmless", "is_unsteady", "reduce_task", "roots_written", "tainted"]

REST = ("offload", "collapse", "full_simplify")  # what the tasks of the kernel have behind them
_ROUND_ONCE = ("add", "sub", "mul")
_KEEP_ROUNDING = ("neg", "abs", "min", "max")  # exact, but LLVM may join what is around them
_EXACT = ("floor", "ceil", "trunc", "round", "sign", "not")


def roots_written(task: Task) -> list[Value]:
    """The roots of all addresses that a task writes."""
    return [root_of(op.ptr) for op in ops_of(*task.regions) if is_access(op) and op.writes]


def reduce_task(task: Task, kept: Collection[Op]) -> None:
    """Leave only those ops of a task, and what they depend on."""
    before = 0
    while before != (before := len(ops_of(*task.regions))):
        for op in reversed(ops_of(task.body, task.epilogue)):
            if op not in kept and not op.users and not op.region_names and not isinstance(op, (Break, Continue)):
                local = is_access(op) and isinstance(root_of(op.ptr), Alloca)
                if not local:
                    op.erase()
        drop_dead(ops_of(*task.regions))  # conditions lose their last users


def is_unsteady(op: Op) -> bool:
    """Whether `fast_math` may give a float result of this op other last bits in a copy of the task. LLVM contracts,
    reassociates and approximates a chain of float ops as the code around it suggests, and a copy has less code. One
    sum, difference or product of values that were not rounded in the chain is the same everywhere."""
    if isinstance(op, (Reduce, MatMul)):
        return _is_float(op.type)
    if isinstance(op, Cast):
        return _is_float(op.type) and _is_rounded(op.x)
    if isinstance(op, Unary):
        return _is_float(op.type) and op.kind not in (*_EXACT, *_KEEP_ROUNDING)
    if not isinstance(op, Binary) or not _is_float(op.lhs.type) or BINARY[op.kind].typing == "compare":
        return False
    if op.kind in _ROUND_ONCE:
        return _is_rounded(op.lhs) or _is_rounded(op.rhs)
    return op.kind not in _KEEP_ROUNDING


def _is_rounded(value: Value) -> bool:
    """Whether a float may be the result of float arithmetic in the task. A local may hold such a result."""
    if not isinstance(value, Op) or not _is_float(value.type):
        return False
    if isinstance(value, Load):
        return isinstance(root_of(value.ptr), Alloca)
    if isinstance(value, Cast):
        narrows = _is_float(value.x.type) and element(value.type).bits < element(value.x.type).bits
        return narrows or _is_rounded(value.x)
    if isinstance(value, (Unary, Binary)) and value.kind in _EXACT:
        return False
    passes = isinstance(value, (Unary, Binary)) and value.kind in _KEEP_ROUNDING
    if passes or isinstance(value, (Select, Splat, Extract, MakeTensor)):
        return any(_is_rounded(operand) for operand in value.operands)
    return not isinstance(value, (Const, Arg))


def _is_float(type: Type) -> bool:
    return isinstance(type, (Prim, Tensor)) and element(type).is_float


def is_harmless(op: Op, written: Sequence[Value]) -> bool:
    """Whether an op of a copy depends on nothing that the task changes, and changes nothing. `written`: the roots of
    the addresses that the task writes."""
    if op.pure or isinstance(op, (Alloca, If, For, While, Break, Continue, Yield)):
        return True
    if not is_access(op) or op.orders():
        return False
    root = root_of(op.ptr)
    if isinstance(root, Alloca):
        return True
    return isinstance(op, Load) and not any(_meet(root, other) for other in written)


def tainted(task: Task, made: Collection[Op], harmful: Callable[[Op], bool]) -> set[Op]:
    """The ops of a copy that depend on something harmful: by their operands, by a local, or by a condition or a loop
    around them. `made`: ops that the original does not have."""
    found, before = set[Op](), -1
    while before != (before := len(found)):
        for op in ops_of(*task.regions):
            if op not in made and not isinstance(op, Assert) and harmful(op):
                found.add(op)
            around = op.parent
            if around in found or any(value in found for value in op.operands):
                found.add(op)
                root = root_of(op.ptr) if is_access(op) and op.writes else None
                if isinstance(root, Alloca):
                    found.add(root)
    return found


def _meet(a: Value, b: Value) -> bool:
    """Whether these roots of addresses may be in the same memory, in any two iterations."""
    if isinstance(a, TempPtr) and isinstance(b, TempPtr):
        return a.offset == b.offset
    shared = isinstance(a, FieldPtr) and isinstance(b, FieldPtr) and a.field.shares_with(b.field)
    return shared or spaces_meet(space_of(a), space_of(b))


def insert_tasks(
    kernel: Kernel,
    text: str,
    before: Op | None,
    config: CompileConfig,
    span: object,
    fields: Sequence[FieldSymbol] = (),
    routine: str = "",
) -> None:
    """Insert the tasks of a text on the nodes of a kernel. It may name these fields, too. The temporaries of these
    tasks are their own. A backend may compile the tasks of one `routine` apart from the kernel, once for all kernels
    that have them."""
    made = written_on(kernel.nodes, "@made() -> ()", text, fields)
    run_passes(made, REST, config)
    for place in made.all_of(TempPtr):
        place.offset += kernel.temp_bytes
    for task in list(made.body):
        assert isinstance(task, Task)
        task.routine = routine
        for op in task.walk():
            op.span = span  # type: ignore[assignment]
        task.unlink()
        kernel.body.insert(task, before)
    kernel.temp_bytes += made.temp_bytes
