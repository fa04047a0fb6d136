"""Removes control flow that is known at compile time: dead branches, loops that never run or run once, code after a
jump.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from weft.ir.config import CompileConfig
from weft.ir.core import Block, Builder, Op
from weft.ir.ops import (
    Assert,
    Break,
    Const,
    Continue,
    For,
    If,
    Kernel,
    ParallelFor,
    StructFor,
    Task,
    While,
)
from weft.ir.passes import pass_
from weft.ir.rewrite import constant, literal

__all__ = ["unreachable"]


@pass_("unreachable")
def unreachable(root: Kernel, config: CompileConfig) -> bool:
    """Removes code that never runs, and control flow that has no effect.

        if true {A} else {B}                   A
        for %i in 0..0 {A}             ->
        while {A; break}                       A
        break; A                               break

    The pass keeps a loop that may never end. It keeps a task whose prologue or epilogue still does something.
    """
    return _visit(root.body)


def _visit(block: Block) -> bool:
    """Visit inner blocks first, because their simplification may decide the op around them."""
    changed = False
    op = block.first
    while op is not None:
        if op.pure:
            op = op.next
            continue
        for name in op.region_names:
            changed |= _visit(getattr(op, name))
        settle = _SETTLE.get(type(op))
        following, last = op.next, op
        if settle is not None and settle(op):
            changed = True
            if op.block is None:  # erased; its replacement has been visited already
                end = following.prev if following is not None else block.last
                if end is None:
                    op = following
                    continue
                last = end
        if following is not None and _ends(last):
            _cut_after(block, last)
            return True
        op = following
    return changed


def _ends(op: Op) -> bool:
    """Whether nothing after `op` in its block can run."""
    if op.terminator:
        return True
    return isinstance(op, If) and all(arm.last is not None and _ends(arm.last) for arm in op.regions)


def _cut_after(block: Block, last: Op) -> None:
    while block.last is not last:
        assert block.last is not None
        block.last.erase()


def _splice(op: Op, block: Block) -> None:
    """Replace `op` by the ops of `block`, which is a region of it."""
    assert op.block is not None
    for inner in block:
        block.unlink(inner)
        op.block.insert(inner, op)
    op.erase()


def _settle_if(op: If) -> bool:
    condition = op.operands[0]
    if isinstance(condition, Const):
        _splice(op, op.then if condition.value else op.orelse)
        return True
    if op.then.first is None and op.orelse.first is None:
        op.erase()
        return True
    return False


def _settle_for(op: For) -> bool:
    changed = _drop_last_continue(op.body)
    begin, end, step = (literal(value) for value in op.operands)
    if op.body.first is None and step is not None and step != 0:
        op.erase()
        return True
    if begin is None or end is None or step is None or step == 0:
        return changed
    trips = max(0, -(-(int(end) - int(begin)) // int(step)))
    if trips == 0:
        op.erase()
        return True
    if trips == 1 and next(_jumps(op.body), None) is None:
        index = op.body.args[0]
        first = constant(Builder.at(op), begin, index.type)
        first.name = index.name
        index.replace_uses(first)
        _splice(op, op.body)
        return True
    return changed


def _settle_while(op: While) -> bool:
    changed = _drop_last_continue(op.body)
    last = op.body.last
    if not isinstance(last, Break) or any(jump is not last for jump in _jumps(op.body)):
        return changed
    last.erase()
    _splice(op, op.body)
    return True


def _settle_parallel(op: ParallelFor | StructFor) -> bool:
    changed = _drop_last_continue(op.body)
    if op.body.first is not None and not (isinstance(op, ParallelFor) and _empty_box(op)):
        return changed
    op.erase()
    return True


def _empty_box(op: ParallelFor) -> bool:
    bounds = [(literal(begin), literal(end)) for begin, end in zip(op.begins, op.ends)]
    return any(begin is not None and end is not None and begin >= end for begin, end in bounds)


def _settle_task(op: Task) -> bool:
    changed = _drop_last_continue(op.body)
    if any(block.first is not None for block in (op.prologue, op.body, op.epilogue)):
        return changed
    op.erase()
    return True


def _settle_assert(op: Assert) -> bool:
    if not isinstance(op.condition, Const) or not op.condition.value:
        return False
    op.erase()
    return True


def _drop_last_continue(body: Block) -> bool:
    if not isinstance(body.last, Continue):
        return False
    body.last.erase()
    return True


def _jumps(block: Block) -> Iterator[Op]:
    """The Breaks and Continues in `block` that belong to the loop whose body it is."""
    for op in block:
        if isinstance(op, (Break, Continue)):
            yield op
        elif isinstance(op, If):
            yield from _jumps(op.then)
            yield from _jumps(op.orelse)


_SETTLE: dict[type[Op], Callable[[Any], bool]] = {
    If: _settle_if,
    For: _settle_for,
    While: _settle_while,
    ParallelFor: _settle_parallel,
    StructFor: _settle_parallel,
    Task: _settle_task,
    Assert: _settle_assert,
}
