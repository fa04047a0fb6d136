"""Derivatives in sparse fields: a gradient or a dual is in the same cell as its field.

The derivative by an element that is not active is 0, and so is the derivative of one: it reads 0, and nothing can be
added to it. So the kernel of a gradient activates nothing. It deactivates nothing either. Forward mode activates where
its kernel does, and a cell that is deactivated loses its duals with its values.

A gradient kernel runs after its kernel, and finds the cells that are active then. It computes the adjoint of what the
kernel did only if these conditions hold. Otherwise the kernel is refused:

    (1) a loop visits the same cells again: the kernel activates and deactivates no cell of the node that it visits
    (2) whether a cell is active, and how long a list is, is as it was when the kernel asked. (A launch can record it.)
        The index of an appended element is always recorded
    (3) elements that have an adjoint, or whose values are needed, are in cells that the kernel does not deactivate
    (4) what a write changes only if it is active (`ti.no_activate`) is in cells that the kernel does not activate:
        otherwise the gradient finds an adjoint where nothing was written

A write in the cell that an iteration visits activates no other cell of that node. Any other write to a sparse field may
activate cells of the node, and of the nodes above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from weft.ir import ops
from weft.ir.addresses import element_steps, root_of
from weft.ir.affine import Affine, affine
from weft.ir.alias import is_access
from weft.ir.core import Builder, Op, Value
from weft.ir.intervals import interval
from weft.ir.symbols import FieldSymbol, NodeSymbol

__all__ = ["Topology", "keep_cells", "share_cells", "split_addresses", "visited_node"]


@dataclass
class Topology:
    """The nodes of which a kernel may activate cells, and those of which it may deactivate some, each with the first op
    that does so."""

    grown: dict[NodeSymbol, Op] = field(default_factory=dict[NodeSymbol, Op])
    shrunk: dict[NodeSymbol, Op] = field(default_factory=dict[NodeSymbol, Op])

    @classmethod
    def of(cls, kernel: ops.Kernel) -> Topology:
        """That of a kernel before `enumerate_cells`."""
        found = cls()
        for op in kernel.walk() if kernel.nodes else ():
            if isinstance(op, ops.Activate | ops.Append):
                found.grow(op.node, op)
            elif isinstance(op, ops.Deactivate):
                for node in kernel.nodes:
                    if op.node in _above(node):
                        found.shrunk.setdefault(node, op)
            elif isinstance(op, ops.Invoke):
                for symbol in kernel.fields:
                    if symbol.name in op.written:
                        found.grow(symbol.node, op)
            elif is_access(op) and op.writes and not isinstance(op, ops.AtomicLoad):
                root = root_of(op.ptr)
                if isinstance(root, ops.FieldPtr) and root.activates:
                    found.grow(root.field.node, op, _own_node(kernel, root, op))
        return found

    def grow(self, node: NodeSymbol | None, op: Op, active: NodeSymbol | None = None) -> None:
        """Note that an op may activate a cell of a node, and the cells above it up to that of `active`."""
        for one in takewhile(lambda one: one is not active, _above(node)):
            self.grown.setdefault(one, op)

    def changes(self, node: NodeSymbol) -> Op | None:
        """What may activate or deactivate cells of a node. None: nothing."""
        return self.grown.get(node) or self.shrunk.get(node)

    def drops(self, symbol: FieldSymbol) -> Op | None:
        """What may deactivate cells in which a field lies. None: nothing."""
        return next((self.shrunk[node] for node in _above(symbol.node) if node in self.shrunk), None)


def _above(node: NodeSymbol | None) -> Iterator[NodeSymbol]:
    """A node, and the sparse nodes above it."""
    while node is not None:
        yield node
        node = node.parent


def _own_node(kernel: ops.Kernel, root: ops.FieldPtr, op: Op) -> NodeSymbol | None:
    """The nearest node above an element whose cell around it is one that the iteration visits, so that it is active."""
    loop = next((outer for outer in op.around() if isinstance(outer, ops.StructFor)), None)
    if loop is None:
        return None
    visited, firsts = visited_node(kernel, loop), loop.field.space.first
    if visited is None:
        return None
    cell = tuple((axis, 1) for axis in range(len(visited.shape)))
    blocks = {visited: cell} if loop.cells else dict(loop.field.above())
    index = [affine(value) for value in root.indices]
    for node, block in root.field.above():
        if node in blocks:
            pairs = zip(block, blocks[node], strict=True)
            own = (
                _within(index[a], root.field.space.first[a], size, loop.body.args[b], firsts[b], step, loop.cells)
                for (a, size), (b, step) in pairs
            )
            if all(own):
                return node
    return None


def _within(index: Affine, first: int, size: int, arg: Value, start: int, step: int, cells: bool) -> bool:
    """Whether an index is in the cell of a visited one along an axis. `size`: how many elements a cell spans there."""
    terms, constant = dict(index.terms), index.constant - first
    if not cells:
        return size == step and terms == {arg: 1} and constant == -start
    if terms.pop(arg, 0) != size:
        return False
    low = high = constant
    for leaf, factor in terms.items():
        if not isinstance(leaf, Value):
            return False
        ends = sorted(factor * end for end in interval(leaf))
        low, high = low + ends[0], high + ends[1]
    return low >= 0 and high < size


def visited_node(kernel: ops.Kernel, loop: ops.StructFor) -> NodeSymbol | None:
    """The sparse node whose active cells a loop visits. None for a loop over a dense field."""
    if loop.cells:
        return next(node for node in kernel.nodes if node.table is loop.field)
    return loop.field.node


def share_cells(symbol: FieldSymbol, made: FieldSymbol) -> bool:
    """Whether the gradient or dual of a field is active where the field is."""
    return symbol.node is made.node and symbol.block == made.block


def keep_cells(kernel: ops.Kernel) -> None:
    """Let no write of a kernel activate a cell."""
    for op in list(kernel.walk()) if kernel.nodes else ():
        if is_access(op) and op.writes and not isinstance(op, ops.AtomicLoad):
            _readdress(op, activates=False)


def split_addresses(kernel: ops.Kernel) -> None:
    """Let loads have addresses of their own where writes through an address activate nothing."""
    for load in kernel.all_of(ops.Load) if kernel.nodes else ():
        _readdress(load, activates=True)


def _readdress(op: Op, activates: bool) -> None:
    """Give an access to a sparse field an address that activates cells or does not."""
    ptr = op.operands[0]
    root, steps = element_steps(ptr)
    if not isinstance(root, ops.FieldPtr) or root.field.node is None or root.activates == activates:
        return
    build = Builder.at(op)
    copies: dict[Value, Value] = {root: build.add(ops.FieldPtr(root.field, list(root.indices), activates))}
    for step in steps:
        copies[step] = build.add(step.clone(copies))
    op.set_operand(0, copies[ptr])
