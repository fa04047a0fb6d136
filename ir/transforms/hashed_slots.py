"""The slots of cells of hash nodes. A search is expensive, so `lower_sparse` makes as few as it can.

In a task that neither activates nor deactivates cells of a node, a search is a pure op (`found_slot`): equal ones are
merged, and leave loops. In a loop over whole cells, the cells around the visited one are found once for each visited
cell (`cells_around.py`). Elsewhere, an access along the innermost loop remembers the last cell. These are the accesses
that a program for OpenVDB caches by hand.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir.addresses import root_of
from weft.ir.affine import affine
from weft.ir.alias import is_access
from weft.ir.core import Builder, Op, Value
from weft.ir.ops import (
    Activate,
    Alloca,
    Append,
    AtomicLoad,
    Binary,
    Cast,
    Const,
    Deactivate,
    FieldPtr,
    For,
    FoundSlot,
    If,
    Invoke,
    Kernel,
    Load,
    Store,
    Task,
)
from weft.ir.symbols import NodeSymbol
from weft.ir.transforms.near_cells import number_of
from weft.ir.types import i64, pointer, u1, u32

__all__ = ["changed_nodes", "remembered", "repeats", "search", "wide"]

_LEAST = 4  # elements along a row, for which the last cell is remembered
_NOWHERE = -(1 << 62)  # the index of no cell


def wide(build: Builder, indices: Sequence[Value]) -> list[Value]:
    """The indices as the library takes them."""
    return [index if index.type is i64 else build.add(Cast(index, type=i64)) for index in indices]


def search(build: Builder, node: NodeSymbol, at: Sequence[Value]) -> Invoke:
    """The call that searches for a cell of a hash node."""
    read = tuple(node.part(role).name for role in ("hash_table", "owner"))
    return Invoke(f"{node.name}_find", wide(build, at), read, read, type=u32)


# ---- the last cell ---------------------------------------------------------------------------------------------------


def repeats(op: FoundSlot, task: Task) -> bool:
    """Whether a search is mostly for the same cell as in the iteration before of the innermost loop."""
    if task.kind == "serial":
        return False
    index, dividing = _innermost(op, task), 0
    for value in op.indices:
        if _depends(value, index):
            if not _counts(value, index):
                return False
            dividing += 1
    return dividing > 0


def _innermost(op: Op, task: Task) -> Value:
    """The index of the innermost loop around an op."""
    around = op.parent
    while around is not None and around is not task:
        if isinstance(around, For):
            return around.body.args[0]
        around = around.parent
    return task.body.args[-1]


def _depends(value: Value, index: Value) -> bool:
    if value is index:
        return True
    return isinstance(value, Op) and any(_depends(operand, index) for operand in value.operands)


def _counts(value: Value, index: Value) -> bool:
    """Whether a value is (the index plus something) divided by the size of a cell."""
    if not isinstance(value, Binary) or value.kind not in ("shr", "raw_div") or not isinstance(value.rhs, Const):
        return False
    size = 1 << int(value.rhs.value) if value.kind == "shr" else int(value.rhs.value)
    return size >= _LEAST and dict(affine(value.lhs).terms).get(index) in (1, -1)


def remembered(op: FoundSlot, task: Task) -> Load:
    """The slot that a search gives, which is done only if the cell is not that of the last search of the thread there.
    The task changes no cells of the node, so the slot is still that of the cell."""
    start, build = Builder(task.prologue, None, op.span), Builder.at(op)
    at = wide(build, op.indices)
    keys = [start.add(Alloca(type=pointer(i64))) for _ in at]
    slot = start.add(Alloca(type=pointer(u32)))
    other: Value | None = None
    for key, index in zip(keys, at, strict=True):
        start.add(Store(key, number_of(start, _NOWHERE, i64)))
        differs = build.add(Binary("ne", build.add(Load(key)), index, type=u1))
        other = differs if other is None else build.add(Binary("or", other, differs, type=u1))
    start.add(Store(slot, number_of(start, 0, u32)))
    assert other is not None
    inside = Builder(build.add(If(other)).then, None, op.span)
    inside.add(Store(slot, inside.add(search(inside, op.node, at))))
    for key, index in zip(keys, at, strict=True):
        inside.add(Store(key, index))
    return build.add(Load(slot))


# ---- what a task changes ---------------------------------------------------------------------------------------------


def changed_nodes(kernel: Kernel, ops: Sequence[Op]) -> set[NodeSymbol]:
    """The nodes of which these ops of a task may activate or deactivate cells. In a function, other iterations may do
    so between any two ops."""
    if kernel.called or any(isinstance(op, (Deactivate, Invoke)) for op in ops):
        return set(kernel.nodes)
    found = set[NodeSymbol]()
    for op in ops:
        if isinstance(op, (Activate, Append)):
            found.update((op.node, *(node for node, _ in op.node.table.above())))
        elif is_access(op) and op.writes and not isinstance(op, AtomicLoad):
            root = root_of(op.ptr)
            if isinstance(root, FieldPtr) and root.activates and not root.active:
                found.update(node for node, _ in root.field.above())
    return found
