"""Common subexpression elimination: computes equal expressions only once."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from weft.ir.config import CompileConfig
from weft.ir.core import Block, Op
from weft.ir.ops import Binary, Const, Kernel, ParallelFor, StructFor, Task
from weft.ir.passes import pass_
from weft.ir.scalar import BINARY

__all__ = ["cse", "merge_equal"]

Key = tuple[Any, ...]


@pass_("cse")
def cse(root: Kernel, config: CompileConfig) -> bool:
    """Replaces a pure op by an equal op that dominates it.

        %a = binary add %x, %y
        if %p {                                if %p {
            %b = binary add %y, %x     ->
            store %q, %b                           store %q, %a

    The pass does not merge loads, which `forward` handles, nor other ops with side effects. It does not merge an op in
    one branch of an If with one in the other branch. It does not replace an op in a parallel loop by one outside: the
    loop becomes a task of its own, and the value would have to be passed to it.
    """
    return merge_equal(root.body)


def merge_equal(block: Block) -> bool:
    """Replace the pure ops in a block by equal ones that dominate them."""
    return _visit(block, {})


def _visit(block: Block, known: dict[Key, Op]) -> bool:
    added: list[Key] = []
    changed = _scan(block, known, added)
    for key in added:
        del known[key]
    return changed


def _scan(block: Block, known: dict[Key, Op], added: list[Key]) -> bool:
    changed = False
    for op in block:
        if op.pure:
            key = _KEYS[type(op)](op)
            first = known.setdefault(key, op)
            if first is op:
                added.append(key)
            else:
                first.name = first.name or op.name
                op.replace(first)
                changed = True
        elif isinstance(op, Task):
            changed |= _task(op)
        elif op.region_names:
            inner = {} if isinstance(op, (ParallelFor, StructFor)) else known
            for region in op.regions:
                changed |= _visit(region, inner)
    return changed


def _task(task: Task) -> bool:
    """The values of the prologue are visible in the body and the epilogue. The values of the bounds are visible nowhere
    else."""
    changed = _visit(task.bounds, {})
    known: dict[Key, Op] = {}
    changed |= _scan(task.prologue, known, [])
    changed |= _visit(task.body, known)
    return changed | _visit(task.epilogue, known)


def _key_function(cls: type[Op]) -> Callable[[Op], Key]:
    """Two ops of a class are equal if their types, attributes and operands are equal."""
    if not cls.attribute_names:
        return lambda op: (cls, op.type, op.groups, *op.operands)
    attributes = attrgetter(*cls.attribute_names)
    return lambda op: (cls, op.type, attributes(op), op.groups, *op.operands)


def _binary_key(op: Op) -> Key:
    assert isinstance(op, Binary)
    a, b = op.operands
    if BINARY[op.kind].commutative and id(a) > id(b):
        a, b = b, a
    return Binary, op.type, op.kind, a, b


class _Keys(dict[type[Op], Callable[[Op], Key]]):
    """Key functions by op class, created on first use."""

    def __missing__(self, cls: type[Op]) -> Callable[[Op], Key]:
        self[cls] = made = _key_function(cls)
        return made


_KEYS = _Keys()
_KEYS[Binary] = _binary_key
_KEYS[Const] = lambda op: (Const, op.type, repr(op.value))  # type: ignore[attr-defined]  # repr tells 0.0 from -0.0
