"""Activates the cells that a loop over cells writes in another tree before the loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from weft.ir.addresses import root_of
from weft.ir.alias import is_access
from weft.ir.cell_places import place_of
from weft.ir.config import CompileConfig
from weft.ir.core import Block, BlockArg, Builder, Value
from weft.ir.intervals import interval
from weft.ir.ops import (
    Activate,
    Append,
    AtomicLoad,
    Binary,
    Cast,
    Const,
    Deactivate,
    FieldPtr,
    If,
    Invoke,
    IsActive,
    Kernel,
    Length,
    Task,
    Unary,
    VisitedIndex,
)
from weft.ir.passes import pass_
from weft.ir.symbols import NodeSymbol
from weft.ir.tasks import box_of, parallel_tasks
from weft.ir.types import i64, u1

__all__ = ["activate_ahead"]


@pass_("activate_ahead")
def activate_ahead(root: Kernel, config: CompileConfig) -> bool:
    """In a loop over the cells of a node P, where y lies in cells of another node Q with the same size:

                                                 range_for [0], [%n] (%cell) {
        range_for [0, 0], [%n, 8] (%cell, %a) {      %c = visited_index @P, %cell, axis=0
            %c = visited_index @P, %cell, axis=0     activate @Q [%c], if it is not active
            %i = %c * 8 + %a              ->     }
            store field_ptr @y[%i], %v           range_for [0, 0], [%n, 8] (%cell, %a) {
        }                                            ...
                                                     store field_ptr @y[%i] active=true, %v
                                                 }

    The cell of Q depends on the visited cell only, so it is activated once, and not tested for each element. The
    second loop activates nothing, so that the loads of tables in it are invariant.

    A write qualifies if each iteration of the loop executes it, its index is known to be in range, and the cell is the
    same for all elements of the box of a visited cell. The cells of Q may be as large as those of P, or larger or
    smaller by a factor. The task must not ask which cells are active, deactivate cells, append, call functions, or end
    the kernel. A mask or a list is not activated ahead."""
    changed = False
    for task in parallel_tasks(root) if root.nodes else ():
        cells = {} if _observes(task) else dict.fromkeys(_written(task))
        for cell in cells:
            _activate(root, task, cell)
        for ptr in task.all_of(FieldPtr) if cells else ():
            if _cell(task, ptr) in cells:
                ptr.active = changed = True
    return changed


@dataclass(frozen=True)
class _Index:
    """The index of a cell along one axis: (index of the visited cell + before) x times // by + after."""

    leaf: VisitedIndex | None
    before: int
    times: int
    by: int
    after: int


@dataclass(frozen=True)
class _Cell:
    node: NodeSymbol
    indices: tuple[_Index, ...]


def _observes(task: Task) -> bool:
    """Whether a cell that is activated early would make a difference in the task, or the task might not write it."""
    cells = Activate, Append, Deactivate, Invoke, IsActive, Length
    return any(isinstance(op, cells) or op.exits or op.fails for op in task.walk())


def _written(task: Task) -> Iterator[_Cell]:
    """The cells that every iteration writes in."""
    for op in task.body:
        if is_access(op) and op.writes and not isinstance(op, AtomicLoad):
            ptr = root_of(op.ptr)
            cell = _cell(task, ptr) if isinstance(ptr, FieldPtr) and ptr.activates else None
            if cell is not None:
                yield cell


def _cell(task: Task, ptr: FieldPtr) -> _Cell | None:
    """The cell of an element, if it depends on the first index of the task only, and is another one than that which the
    loop visits."""
    symbol, node = ptr.field, ptr.field.node
    if node is None or not node.has_pool or node.hashed or node.length is not None or not _empty_never(task):
        return None
    for index, extent, first in zip(ptr.indices, symbol.shape, symbol.space.first, strict=True):
        low, high = interval(index)
        if low < first or high >= first + extent:
            return None
    found = [_index(task, ptr.indices[axis], symbol.space.first[axis], size) for axis, size in symbol.block]
    indices = tuple(index for index in found if index is not None)
    if len(indices) < len(found) or all(index.leaf is None for index in indices):
        return None
    own = all(
        index.leaf is not None
        and (index.leaf.node, index.leaf.axis) == (node, axis)
        and index == _Index(index.leaf, 0, 1, 1, 0)
        for axis, index in enumerate(indices)
    )
    return None if own else _Cell(node, indices)


def _empty_never(task: Task) -> bool:
    """Whether the task has iterations for each first index."""
    box = box_of(task)
    extents = [interval(end)[0] - interval(begin)[1] for begin, end in zip(box.begins[1:], box.ends[1:], strict=True)]
    return all(extent > 0 for extent in extents)


def _index(task: Task, value: Value, first: int, size: int) -> _Index | None:
    """The index of the cells of that size, if it is the same for all elements of a visited cell."""
    place = place_of(value)
    if place is None:
        return None
    low, high = place.low - first, place.high - first
    if place.leaf is None:
        return _Index(None, 0, 0, 1, low // size) if low // size == high // size else None
    if place.leaf.entry is not task.body.args[0] or place.leaf.node.hashed or place.factor <= 0:
        return None
    if place.factor % size == 0:
        return _Index(place.leaf, 0, place.factor // size, 1, low // size) if low // size == high // size else None
    step = low // place.factor
    if size % place.factor or step != high // place.factor:
        return None
    return _Index(place.leaf, step, 1, size // place.factor, 0)


def _activate(kernel: Kernel, task: Task, cell: _Cell) -> None:
    """Activate that cell for each first index of the task, in a task before it."""
    first = task.body.args[0]
    entry = BlockArg(first.type, first.name, task.span)
    made = Task("range_for", bounds=task.bounds.clone({}), body=Block([entry]), span=task.span)
    limits = box_of(made)
    limits.set_operands([limits.begins[0], limits.ends[0]], (1, 1))
    build = Builder(made.body, None, task.span)
    indices = [_value(build, index, entry) for index in cell.indices]
    missing = build.add(Unary("not", build.add(IsActive(cell.node, indices)), type=u1))
    inside = Builder(build.add(If(missing)).then, None, task.span)
    inside.add(Activate(cell.node, list(indices)))
    kernel.body.insert(made, task)


def _value(build: Builder, index: _Index, entry: Value) -> Value:
    def number(kind: str, value: Value, by: int, nothing: int) -> Value:
        return value if by == nothing else build.add(Binary(kind, value, build.add(Const(by, type=i64))))

    if index.leaf is None:
        return build.add(Const(index.after, type=i64))
    value: Value = build.add(Cast(build.add(VisitedIndex(index.leaf.node, entry, index.leaf.axis)), type=i64))
    value = number("mul", number("add", value, index.before, 0), index.times, 1)
    return number("add", number("raw_div", value, index.by, 1), index.after, 0)
