"""Peels the rows of cells, so that most reads beside the own element are in a cell that the whole row shares."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from math import prod
from typing import TypeGuard

from weft.ir.addresses import root_of
from weft.ir.alias import is_access, space_of, spaces_meet
from weft.ir.cell_places import place_of
from weft.ir.config import CompileConfig
from weft.ir.core import Block, BlockArg, Builder, Op, Value, ops_of
from weft.ir.intervals import interval
from weft.ir.ops import (
    Alloca,
    ArrayPtr,
    Atomic,
    Binary,
    Const,
    Continue,
    FieldPtr,
    For,
    If,
    Kernel,
    Load,
    Select,
    Store,
    Task,
    While,
)
from weft.ir.passes import pass_
from weft.ir.tasks import box_of, parallel_tasks, shows_order
from weft.ir.types import Prim, u1

__all__ = ["peel_cells"]

_MOST = 800  # ops of a body, which becomes three
_LARGEST = 4096  # elements of a cell that one iteration runs
_COLUMN, _WARP = 8, 32  # elements of a column at most; elements of a cell beside each other at least
_APART = 4  # rows, of which every second one comes first if each changes what the others read
_ONE_BY_ONE = 2  # so many elements at an end of a row are written one after another, without a loop
_LIMITS = {"min": "le", "max": "ge"}  # the comparison that says whether the first operand is the result
_COMPARED: dict[str, Callable[[int, int, int, int], bool | None]] = {
    "lt": lambda a, b, c, d: True if b < c else False if a >= d else None,
    "le": lambda a, b, c, d: True if b <= c else False if a > d else None,
    "gt": lambda a, b, c, d: True if a > d else False if b <= c else None,
    "ge": lambda a, b, c, d: True if a >= d else False if b < c else None,
}


@pass_("peel_cells")
def peel_cells(root: Kernel, config: CompileConfig) -> bool:
    """In a loop over cells of 8 x 8 elements:

        range_for [0, 0, 0], [%n, 8, 8] (%cell, %a, %b) {      range_for [0, 0], [%n, 8] (%cell, %a) {
            %j = %cj * 8 + %b                                      A with %b = 0
            A: load field_ptr @x[%i, %j - 1]              ->       for 1, 7 (%b) { A }
               load field_ptr @x[%i, %j + 1]                       A with %b = 7
        }                                                      }

    If the body reads memory that it writes, and has no branches, the row has no loop: first come the loads of all its
    elements, and then their stores. Otherwise each element would wait for the store before it.

    In the middle part, both elements are in the cell of the row. In the other two parts, it is known in which cell they
    are. So `lower_sparse` computes the cells and their slots outside of the loop, and the loop reads memory along rows.

    The iterations of a task may run in any order, so a row may run in one iteration. The pass skips tasks whose
    iterations draw random numbers, call functions, print, stop the task, or know the other iterations. It skips long
    bodies, and tasks whose number of lanes the program sets.

    On a GPU, neighbouring threads compute neighbouring elements of a row. There, an iteration runs the column of
    elements along the first axis of a cell instead, one after another. The slots of the cells beside the column are
    loaded once, and an element that is a neighbour of several is read once. Bodies with atomics stay: a warp adds up
    what its threads add.

    If a task reads cells around the visited one, whole cells of up to 4096 elements become iterations: the other axes
    of a cell become loops, too, so that `lower_sparse` looks up these cells once for each visited cell.

    What the row shares is computed once before it, also the largest index that is out of range (`mask_accesses`), which
    is the same as often as it is computed. Comparisons that are decided in a part of the row are decided there."""
    if not root.nodes:
        return False
    changed = False
    for task in parallel_tasks(root):
        if config.traits.lanes == 1:
            changed |= _columns(task)
            continue
        middle, encloses = _middle(task), _has_small_cells(task) and _looks_around(task)
        whole = _whole(task)
        if whole is None or (middle is None and not encloses) or _is_bound(task):
            continue
        at_once = _peel(task, *(middle or whole))
        if encloses:
            _enclose(task, at_once)
        changed = True
    return changed


def _is_bound(task: Task) -> bool:
    """Whether the iterations must stay what they are."""
    ops = ops_of(task.body)
    return len(ops) > _MOST or task.config.simd > 1 or any(map(shows_order, ops))


def _columns(task: Task) -> bool:
    """Run the elements along the first axis of a cell in one iteration, if a warp has enough others. Gives whether the
    task has become such."""
    box, args = box_of(task), task.body.args
    limits = list(zip(box.begins, box.ends, strict=True))[1:]
    if len(limits) < 2 or not all(isinstance(end, Const) for pair in limits for end in pair) or _is_bound(task):
        return False
    sizes = [
        int(end.value) - int(begin.value)
        for begin, end in limits
        if isinstance(begin, Const) and isinstance(end, Const)
    ]
    ops = ops_of(task.body)
    if prod(sizes[1:]) < _WARP or not 1 < sizes[0] <= _COLUMN or sizes[0] * len(ops) > _MOST:
        return False
    if any(_ends_iteration(op) or isinstance(op, Atomic) for op in ops) or not _looks_around(task, searches=False):
        return False
    column, first = args[1], box.begins[1]
    assert isinstance(first, Const)
    kept = [axis for axis in range(len(box.begins)) if axis != 1]
    ends = [[side[axis] for axis in kept] for side in (box.begins, box.ends)]
    box.set_operands([*ends[0], *ends[1]], (len(kept), len(kept)))
    _repeat(task, column, range(int(first.value), int(first.value) + sizes[0]))
    return True


def _looks_around(task: Task, searches: bool = True) -> bool:
    """Whether the task reads elements of pools that may be in another cell than the visited one, of the same size.
    Without `searches`, cells of hash nodes do not count."""
    for op in ops_of(task.body):
        ptr = root_of(op.ptr) if isinstance(op, Load) else None
        if isinstance(ptr, FieldPtr):
            for node, block in ptr.field.above():
                if (
                    node.has_pool
                    and (searches or not node.hashed)
                    and any(_leaves(ptr, axis, size) for axis, size in block)
                ):
                    return True
    return False


def _repeat(task: Task, arg: BlockArg, numbers: range) -> None:
    """Run the body once for each of these values of an index, one after another."""
    template = _take(task, arg)
    build = Builder(task.body, None, task.span)
    for number in numbers:
        _copy(build, template, {arg: build.add(Const(number, type=arg.type))})
    for op in reversed(list(template)):
        op.erase()


def _take(task: Task, arg: BlockArg) -> Block:
    """Take an index from the body, and what depends on it; the rest of the body is the same for all its values."""
    shared, template = _shared(task.body, arg), Block()
    for op in list(task.body):
        if op not in shared:
            op.unlink()
            template.insert(op)
    task.body.args.remove(arg)
    return template


# ---- where to peel ---------------------------------------------------------------------------------------------------


def _middle(task: Task) -> tuple[int, int] | None:
    """The part of the innermost axis in which elements of sparse fields near the own one are in the cell of the row, if
    it is not the whole of it."""
    known = _whole(task)
    if known is None:
        return None
    (begin, end), row = known, task.body.args[-1]
    first, behind = begin, end
    for index, size, offset in _indices(task):
        inside = _inside(index, size, offset, row)
        if inside is not None:
            first, behind = max(first, inside[0]), min(behind, inside[1])
    whole = (first, behind) == (begin, end)
    return None if whole or behind - first < 2 else (first, behind)


def _whole(task: Task) -> tuple[int, int] | None:
    """The limits of the innermost axis, if they are known and there are other axes."""
    box = box_of(task)
    begin, end = box.begins[-1], box.ends[-1]
    if len(box.begins) < 2 or not isinstance(begin, Const) or not isinstance(end, Const):
        return None
    return int(begin.value), int(end.value)


def _has_small_cells(task: Task) -> bool:
    """Whether all axes but that of the cells have known lengths, and threads can share out the work by cells."""
    box, total = box_of(task), 1
    for begin, end in zip(box.begins[1:], box.ends[1:], strict=True):
        if not isinstance(begin, Const) or not isinstance(end, Const):
            return False
        total *= max(int(end.value) - int(begin.value), 0)
    return total <= _LARGEST


def _leaves(ptr: FieldPtr, axis: int, size: int) -> bool:
    """Whether an index may be in another cell than the visited one, of the same size."""
    offset = ptr.field.offset[axis] if ptr.field.offset else 0
    for value in _choices(ptr.indices[axis]):
        place = place_of(value)
        if place is not None and place.leaf is not None and place.factor == size:
            return place.low < offset or place.high >= offset + size
    return False


def _indices(task: Task) -> Iterator[tuple[Value, int, int]]:
    """The indices of accesses along the axes of cells, the sizes of these cells, and the index of the first element."""
    for op in ops_of(task.body):
        ptr = root_of(op.ptr) if is_access(op) else None
        if isinstance(ptr, FieldPtr):
            for node, block in ptr.field.above():
                if node.has_pool:
                    for axis, size in block:
                        offset = ptr.field.offset[axis] if ptr.field.offset else 0
                        yield from ((value, size, offset) for value in _choices(ptr.indices[axis]))


def _choices(value: Value) -> list[Value]:
    """The index, or those of which an index that is kept in range is one."""
    if isinstance(value, Select):
        return [*_choices(value.a), *_choices(value.b)]
    if isinstance(value, Binary) and value.kind in _LIMITS:
        return [*_choices(value.lhs), *_choices(value.rhs)]
    return [value]


def _inside(value: Value, size: int, offset: int, row: Value) -> tuple[int, int] | None:
    """The part of the row in which that index is in one cell, if the index is that of the row plus something. The first
    cell begins at the index `offset`."""
    place = place_of(value)
    if place is None or place.leaf is None or place.factor % size or place.terms.get(row) != 1:
        return None
    low, high = interval(row)
    least, most = place.low - low - offset, place.high - high - offset  # of what is added
    return -least, size - most


# ---- peeling ---------------------------------------------------------------------------------------------------------


def _peel(task: Task, first: int, behind: int) -> bool:
    """Cut the row, or let its loads come before its stores. Gives whether the latter is done."""
    box, row = box_of(task), task.body.args[-1]
    begin, end = (int(limit.value) for limit in (box.begins[-1], box.ends[-1]) if isinstance(limit, Const))
    axes = len(box.begins) - 1
    box.set_operands([*box.begins[:-1], *box.ends[:-1]], (axes, axes))
    template = _take(task, row)
    build = Builder(task.body, None, task.span)
    at_once = _is_in_place(template) and (end - begin) * len(ops_of(template)) <= _MOST
    if at_once:
        _at_once(build, template, row, range(begin, end))
    else:
        for low, high in ((begin, first), (first, behind), (behind, end)):
            _part(build, template, row, low, high)
    for op in reversed(list(template)):
        op.erase()
    return at_once


def _enclose(task: Task, in_place: bool) -> None:
    """Run a whole cell in an iteration: its axes become loops, the innermost axis first. If rows change what the rows
    beside them read (`in_place`), every second row comes first: a row does not wait for the one before it."""
    box = box_of(task)
    limits = list(zip(box.begins, box.ends, strict=True))
    box.set_operands([limits[0][0], limits[0][1]], (1, 1))
    for begin, end in reversed(limits[1:]):
        assert isinstance(begin, Const)
        assert isinstance(end, Const)
        count = int(end.value) - int(begin.value)
        apart = in_place and count >= _APART and count % 2 == 0
        _loop(task, int(begin.value), count, 2 if apart else 1)
        in_place = False


def _loop(task: Task, begin: int, count: int, apart: int) -> None:
    """Make the last index of the task that of a loop. Those of rows that follow one another are that far apart."""
    arg = task.body.args[-1]
    assert isinstance(arg.type, Prim)
    body = _take(task, arg)
    outer = _for(Builder(task.body, None, task.span), arg, 0, apart) if apart > 1 else task.body
    inner = _for(Builder(outer, None, task.span), arg, begin if apart == 1 else 0, count // apart)
    index: Value = inner.args[0]
    if apart > 1:
        build = Builder(inner, None, task.span)
        index = build.add(Binary("mul", index, build.add(Const(apart, type=arg.type))))
        index = build.add(Binary("add", index, outer.args[0]))
        index = build.add(Binary("add", index, build.add(Const(begin, type=arg.type)))) if begin else index
    inner.take(body)
    arg.replace_uses(index)


def _for(build: Builder, like: BlockArg, begin: int, count: int) -> Block:
    """The body of a new loop."""
    assert isinstance(like.type, Prim)
    low, high, step = (build.add(Const(number, type=like.type)) for number in (begin, begin + count, 1))
    return build.add(For(low, high, step, rows=True, body=Block([BlockArg(like.type, like.name, like.span)]))).body


def _is_in_place(body: Block) -> bool:
    """Whether the body reads elements of memory that it writes, and can be cut in two: it has no branches, and no load
    behind a store to such memory may read what that stored."""
    stored, loaded = set[Hashable](), set[Hashable]()
    for op in body:
        if isinstance(op, Load):
            space = space_of(op.ptr)
            if any(spaces_meet(space, other) for other in stored):
                return False
            loaded.add(space)
        elif _goes_out(op):
            stored.add(space_of(op.ptr))
        elif op.region_names or not (op.pure or isinstance(op, Store)):
            return False
    return any(spaces_meet(a, b) for a in stored for b in loaded)


def _goes_out(op: Op) -> TypeGuard[Store]:
    """Whether the op stores to memory that iterations share. Locals of the thread keep something from one to the next:
    `mask_accesses` has such."""
    return isinstance(op, Store) and isinstance(root_of(op.ptr), FieldPtr | ArrayPtr)


def _at_once(build: Builder, body: Block, row: BlockArg, numbers: range) -> None:
    """All elements of the row: first what each of them computes, and then what they store."""
    assert isinstance(row.type, Prim)
    stores = list[Op]()
    for number in numbers:
        made = _copy(build, body, {row: build.add(Const(number, type=row.type))})
        stores += filter(_goes_out, made)
    for op in stores:
        op.unlink()
        build.add(op)


def _part(build: Builder, body: Block, row: BlockArg, low: int, high: int) -> None:
    """The iterations low .. high of the row."""
    assert isinstance(row.type, Prim)
    if high - low <= _ONE_BY_ONE and not any(_ends_iteration(op) for op in ops_of(body)):
        for number in range(low, high):
            _copy(build, body, {row: build.add(Const(number, type=row.type))})
        return
    if low == high:
        return
    begin, end, step = (build.add(Const(number, type=row.type)) for number in (low, high, 1))
    index = BlockArg(row.type, row.name, row.span)
    loop = build.add(For(begin, end, step, row=True, body=Block([index])))
    _copy(Builder(loop.body, None, build.span), body, {row: index})


def _ends_iteration(op: Op) -> bool:
    """Whether the op goes on with the next iteration of the task."""
    parent = op.parent
    while isinstance(parent, If):
        parent = parent.parent
    return isinstance(op, Continue) and not isinstance(parent, For | While)


def _copy(build: Builder, body: Block, values: dict[Value, Value]) -> list[Op]:
    """Add a copy of the body, without the selections that are decided in it. Gives the ops that were added."""
    made = [build.add(op.clone(values)) for op in body]
    for op in [inner for top in made for inner in top.walk()]:
        known = _decided(op) if isinstance(op, Binary) else None
        if isinstance(op, Binary) and op.kind in _LIMITS and known is not None:
            op.replace_uses(op.lhs if known else op.rhs)
            op.erase()
        elif known is not None:
            op.replace(Builder.at(op).add(Const(known, type=u1)))
        elif isinstance(op, Select) and isinstance(op.condition, Const):
            op.replace_uses(op.a if op.condition.value else op.b)
            op.erase()
    return made


def _decided(op: Binary) -> bool | None:
    """The result of a comparison of integers, if it is known. Of a minimum or maximum: whether it is the first one."""
    kind, type = _LIMITS.get(op.kind, op.kind), op.lhs.type
    if kind not in _COMPARED or not isinstance(type, Prim) or not type.is_int:
        return None
    (low, high), (least, most) = interval(op.lhs), interval(op.rhs)
    return _COMPARED[kind](low, high, least, most)


def _shared(body: Block, row: Value) -> set[Op]:
    """The ops that do the same for all elements of a row. They may run once."""
    varying, found = {row}, set[Op]()
    for op in body:
        if op.pure and varying.isdisjoint(op.operands):
            found.add(op)
        else:
            varying.add(op)
            found.update(_largest(op, body, varying) if isinstance(op, Store) else ())
    return found


def _largest(op: Store, body: Block, varying: set[Value]) -> list[Op]:
    """The ops that update a local of the thread to the largest value so far, which is the same for a row."""
    largest, inside = op.value, set(ops_of(body))
    if not isinstance(largest, Binary) or largest.kind != "max" or not isinstance(op.ptr, Alloca) or op.ptr in inside:
        return []
    known, value = largest.lhs, largest.rhs
    if not isinstance(known, Load) or known.ptr is not op.ptr or value in varying:
        return []
    alone = inside.intersection(op.ptr.users) == {known, op}
    return [known, largest, op] if alone and list(known.users) == [largest] and list(largest.users) == [op] else []
