"""Gradients that a gradient kernel sets, instead of adding to them.

    kernel.grad()               x.grad[i] += ...        x.grad is what it was, and the derivative
    kernel.grad.assign()        x.grad[i] = ...         x.grad is the derivative

These are the gradients of the fields that the kernel reads and does not write: `FieldSymbol.fresh` says so. The
gradient of what a kernel writes is an input of its gradient. The gradient kernel begins with loops that set fresh
gradients to 0. `transforms/store_first.py` removes such a loop where a later loop stores all elements.
"""

from __future__ import annotations

from weft.ir import ops, tree
from weft.ir.autodiff.adjoints import filled
from weft.ir.core import Block, BlockArg, Builder
from weft.ir.symbols import FieldSymbol
from weft.ir.transforms.lower_tree_facts import walk, writes_of
from weft.ir.types import i32

__all__ = ["begin_with_zeros", "only_read"]


def only_read(root: tree.KernelTree) -> list[FieldSymbol]:
    """The fields with a gradient that a kernel, or a function that it calls, reads, and that nothing in it writes. A
    field shares its gradient with a field of one of its components."""
    trees = {"": root} | {function.name: function for function in root.functions}
    written = [one for one in writes_of(trees)[""] if isinstance(one, FieldSymbol)]
    read = dict[FieldSymbol, None]()
    for node in walk(root):
        if isinstance(node, tree.FieldElement):
            read[node.field] = None
        elif isinstance(node, tree.Invoke):
            read.update(dict.fromkeys(node.touched))
    return [one for one in read if one.grad is not None and not any(one.shares_with(other) for other in written)]


def begin_with_zeros(kernel: ops.Kernel) -> None:
    """Let a gradient kernel set the gradients of its fields that are fresh to 0 first."""
    build = Builder(kernel.body, next(iter(kernel.body), None), kernel.span)
    for symbol in kernel.fields:
        if symbol.fresh:
            _clear(build, symbol)


def _clear(build: Builder, symbol: FieldSymbol) -> None:
    """Set all elements to 0, of a sparse field those that are active."""
    if not symbol.shape:
        build.add(ops.Store(build.add(ops.FieldPtr(symbol, [])), filled(build, symbol.dtype)))
        return
    args = [BlockArg(i32) for _ in symbol.shape]
    loop = build.add(ops.StructFor(symbol, body=Block(args)))
    inside = Builder(loop.body, None, build.span)
    inside.add(ops.Store(inside.add(ops.FieldPtr(symbol, list(args))), filled(inside, symbol.dtype)))
