"""The verifier's rules for sparse nodes, for the fields below them, and for ops on their cells."""

from __future__ import annotations

from weft.ir import ops
from weft.ir.core import Op
from weft.ir.ops import Kernel
from weft.ir.storage.dense import Dense
from weft.ir.storage.snode import SPARSE
from weft.ir.storage.sparse import Sparse
from weft.ir.symbols import FieldSymbol, NodeSymbol
from weft.ir.types import i32, i64, u8, u32
from weft.ir.verify_types import checks, indices_of, require

__all__ = ["verify_nodes"]

CellOp = ops.Activate | ops.Deactivate | ops.IsActive | ops.Length | ops.Append


def verify_nodes(kernel: Kernel) -> None:
    """Check the nodes of a kernel, and that the fields below them fit them."""
    for number, node in enumerate(kernel.nodes):
        _node(node, kernel)
        require(
            node.parent is None or node.parent in kernel.nodes[:number],
            kernel,
            f"lists the node '{node.name}' without its parent before it",
        )
    for symbol in kernel.fields:
        _below(symbol, kernel)


def _node(node: NodeSymbol, kernel: Kernel) -> None:
    name = f"node '{node.name}'"
    require(node.kind in SPARSE, kernel, f"{name} has the unknown kind {node.kind!r}")
    pool = node.kind != "bitmasked"
    require(node.table.dtype is (u32 if pool else u8), kernel, f"{name} has a table of {node.table.dtype}")
    require(pool == (node.pool >= 0 and node.book >= 0 and node.capacity >= 2), kernel, f"{name} lacks its memory")
    require(pool == (node.body is None), kernel, f"{name} needs a body if it has no pool, and only then")
    listed = node.length is not None and node.limit > 0 and 0 <= node.axis < len(node.shape)
    require((node.kind == "dynamic") == listed, kernel, f"{name} has a length, or lacks it")
    watched = node.table if node.body is not None else node.length
    alike = node.seen is not None and watched is not None and node.seen.space == watched.space
    require(alike or (node.seen is None and watched is None), kernel, f"{name} has other marks to be seen than marks")
    for part in (node.table, node.length, node.seen, node.body):
        if part is not None:
            _below(part, kernel)


def _below(symbol: FieldSymbol, kernel: Kernel) -> None:
    """A field below a node has a path that begins in a cell of the node, and no other field has such a path."""
    levels, name = symbol.path.levels, f"field '{symbol.name}'"
    sparse = [level for level in levels if isinstance(level, Sparse)]
    require(len(sparse) == (symbol.node is not None), kernel, f"{name} needs a sparse level for its node")
    if symbol.node is None:
        return
    require(symbol.node in kernel.nodes, kernel, f"{name} is below a node that the kernel does not list")
    require(isinstance(levels[0], Sparse), kernel, f"{name} has a path that does not begin in a cell")
    require(all(isinstance(level, Dense) for level in levels[1:]), kernel, f"{name} has several sparse levels")
    holder, block, shape = symbol.node.holder, symbol.block, symbol.node.shape
    require(len(block) == len(shape), kernel, f"{name} has {len(block)} blocks; expected {len(shape)}")
    require(holder is None or symbol.tree == holder.pool, kernel, f"{name} is not in the pool of its node")
    for (axis, size), count in zip(block, shape, strict=True):
        fits = 0 <= axis < len(symbol.shape) and size > 0 and symbol.shape[axis] <= size * count
        require(fits, kernel, f"{name} has a block that does not fit its shape")


@checks(ops.Activate, ops.Deactivate, ops.IsActive, ops.Length, ops.Append)
def _cells(op: Op, kernel: Kernel) -> None:
    assert isinstance(op, CellOp)
    _listed(op, op.node, kernel)
    of_list = op.node.length is not None and not isinstance(op, (ops.IsActive, ops.Activate))
    if isinstance(op, (ops.Length, ops.Append)):
        require(of_list, op, f"needs a list; '{op.node.name}' is {op.node.kind}")
    if isinstance(op, ops.IsActive) and op.slot:
        require(op.node.has_pool, op, f"needs a node with a pool; '{op.node.name}' is {op.node.kind}")
    indices_of(op, op.indices, len(op.node.shape) - of_list)
    require(all(index.type in (i32, i64) for index in op.indices), op, "has an index that is neither i32 nor i64")


@checks(ops.VisitedSlot, ops.VisitedIndex)
def _visited(op: Op, kernel: Kernel) -> None:
    assert isinstance(op, ops.VisitedSlot | ops.VisitedIndex)
    _listed(op, op.node, kernel)
    require(op.node.has_pool, op, f"needs a node with a pool; '{op.node.name}' is {op.node.kind}")
    require(op.entry.type in (i32, i64), op, f"has an entry of type {op.entry.type}; expected i32 or i64")
    if isinstance(op, ops.VisitedIndex):
        require(0 <= op.axis < len(op.node.shape), op, f"has the axis {op.axis}, which the node does not have")


@checks(ops.FoundSlot)
def _found_slot(op: ops.FoundSlot, kernel: Kernel) -> None:
    _listed(op, op.node, kernel)
    require(op.node.hashed, op, f"needs a hash node; '{op.node.name}' is {op.node.kind}")
    indices_of(op, op.indices, len(op.node.shape))
    require(all(index.type in (i32, i64) for index in op.indices), op, "has an index that is neither i32 nor i64")


def _listed(op: Op, node: NodeSymbol, kernel: Kernel) -> None:
    require(node in kernel.nodes, op, f"refers to the node '{node.name}', which the kernel does not list")
