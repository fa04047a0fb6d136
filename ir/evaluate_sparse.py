"""The meaning of ops on sparse cells, see `sparse_memory.py`, and of loops over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.ir import ops
from weft.ir.evaluate_threads import spread_out
from weft.ir.machine import Env, Flow, Machine, Run, runs
from weft.ir.memory_model import Fault
from weft.ir.sparse_memory import SparseMemory, visited
from weft.ir.types import i32, u32

__all__ = ["sparse_loop"]

CellOp = ops.Activate | ops.Deactivate | ops.IsActive | ops.Length | ops.Append


def sparse_loop(machine: Machine, op: ops.StructFor) -> Run:
    """A loop over what is active when it begins."""
    listed: list[tuple[int, ...]] = []
    spread, first = spread_out(machine, op, op.body.args, listed), op.field.space.first

    def run(env: Env) -> Flow | None:
        found = visited(machine.memory.sparse, op.field, op.cells, machine.kernel.nodes)
        listed[:] = [tuple(i + start for i, start in zip(at, first, strict=True)) for at in found]
        return spread(env, [range(len(listed))])

    return run


def _on_cells(
    machine: Machine, op: CellOp, shape: tuple[int, ...], act: Callable[[SparseMemory, tuple[int, ...]], Any]
) -> Run:
    """An op on the cell of these indices. It fails outside of the node, whose indices have that shape."""
    indices, node = machine.slot_list(op.indices), op.node

    def run(env: Env) -> Any:
        at = tuple([int(env[index]) for index in indices])
        if not all(0 <= index < extent for index, extent in zip(at, shape, strict=True)):
            shown = ", ".join(map(str, at))
            what = f"the cells of '{node.name}': their shape is {shape}"
            raise Fault("bounds", f"index [{shown}] is out of bounds for {what}")
        return act(machine.memory.sparse, at)

    return run


@runs(ops.Activate)
def _activate(machine: Machine, op: ops.Activate) -> Run:
    return _on_cells(machine, op, op.node.shape, lambda memory, at: memory.activate(op.node, at))


@runs(ops.Deactivate)
def _deactivate(machine: Machine, op: ops.Deactivate) -> Run:
    nodes, trees = machine.kernel.nodes, machine.memory.trees
    return _on_cells(machine, op, op.node.units, lambda memory, at: memory.deactivate(op.node, at, nodes, trees))


@runs(ops.IsActive)
def _is_active(machine: Machine, op: ops.IsActive) -> Run:
    if op.slot:
        return _on_cells(machine, op, op.node.asked, lambda memory, at: np.uint32(memory.number(op.node, at)))
    return _on_cells(machine, op, op.node.asked, lambda memory, at: np.bool_(memory.is_active(op.node, at)))


@runs(ops.Length)
def _length(machine: Machine, op: ops.Length) -> Run:
    return _on_cells(machine, op, op.node.units, lambda memory, at: np.int32(memory.length(op.node, at)))


@runs(ops.Append)
def _append(machine: Machine, op: ops.Append) -> Run:
    def append(memory: SparseMemory, at: tuple[int, ...]) -> Any:
        length, most = memory.length(op.node, at), op.node.limit
        if length >= most:
            raise Fault(
                "memory", f"list [{', '.join(map(str, at))}] of '{op.node.name}' is full: it has {most} elements"
            )
        memory.grow(op.node, at, length + 1)
        return np.int32(length)

    return _on_cells(machine, op, op.node.units, append)


@runs(ops.VisitedSlot)
def _visited_slot(machine: Machine, op: ops.VisitedSlot) -> Run:
    entry, slots, memory = machine.slot(op.entry), op.node.part("list"), machine.memory
    return lambda env: memory.place(slots, [int(env[entry])]).load(u32)


@runs(ops.VisitedIndex)
def _visited_index(machine: Machine, op: ops.VisitedIndex) -> Run:
    entry, where, memory = machine.slot(op.entry), op.node.part("where"), machine.memory
    return lambda env: memory.place(where, [int(env[entry]), op.axis]).load(op.type)


@runs(ops.FoundSlot)
def _found_slot(machine: Machine, op: ops.FoundSlot) -> Run:
    """It looks at all entries of the table: the hash is known to the functions of the library only."""
    indices, memory = machine.slot_list(op.indices), machine.memory
    table, owner = op.node.part("hash_table"), op.node.part("owner")

    def run(env: Env) -> Any:
        at = [int(env[index]) for index in indices]
        for entry in range(table.shape[0]):
            slot = memory.place(table, [entry]).load(u32)
            if not 0 < slot < op.node.capacity:
                continue
            if all(memory.place(owner, [int(slot), axis]).load(i32) == i for axis, i in enumerate(at)):
                return slot
        return np.uint32(0)

    return run
