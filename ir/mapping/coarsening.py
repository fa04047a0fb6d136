"""Chooses how many neighbouring iterations of a task a thread of a GPU runs, and finds the accesses that
become whole words. See the pass `coarsen`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

from weft.ir.addresses import element_of
from weft.ir.affine import affine, leaf_key
from weft.ir.alias import is_access
from weft.ir.core import Block, Op, Value, pointee
from weft.ir.mapping.clamps import clamps_of
from weft.ir.mapping.serial_loops import is_long, is_ordered, is_shared, is_short, size_of
from weft.ir.mapping.whole_words import WORD, cell, whole_words
from weft.ir.ops import Address, Aligned, Alloca, ArrayBase, Atomic, Const, For, Load, Store, Task, TreeBase
from weft.ir.scopes import Scope
from weft.ir.types import element

__all__ = [
    "ALONE",
    "Group",
    "accumulators",
    "alignment_of",
    "group_of",
    "has_long_loop",
    "loops_alike",
    "split_at_accumulators",
]

_MOST_OPS = 640  # the most ops of all iterations of a thread
_ROWS = (4, 2)
_STENCIL = 3  # a stencil has at least this many reads of one field
_SHARERS = 2  # iterations of the task that share a long loop
_BUSY, _BUSY_SHARING = 1024, 128  # threads per multiprocessor, and for tasks with a long loop that all threads share


@dataclass(frozen=True)
class Group:
    """The iterations that a coarsened thread runs: `across` neighbours along the innermost axis (a power of two), in
    `rows` rows. They are coarsened only if the values in `aligned`, which are bases and strides of array arguments, are
    multiples of 16 bytes, and if there are `busy` threads for each multiprocessor. The rows that a filter reads are
    whole words if the values in `taps` are multiples too. An unrolled filter is coarsened at any alignment of its rows.
    """

    across: int = 1
    rows: int = 1
    aligned: tuple[Value, ...] = ()
    busy: int = _BUSY
    taps: tuple[Value, ...] = ()


ALONE = Group()


@dataclass(frozen=True)
class _Row:
    """An access along memory: the memory that it accesses, its first byte, the bytes from one index to the next, its
    size, and the values that must be multiples of a word."""

    op: Op
    scope: Scope
    offset: int
    step: int
    size: int
    needs: tuple[Value, ...]


def group_of(task: Task) -> Group:
    """The iterations that a coarsened thread runs. None are grouped if iterations may end early, draw numbers in order,
    or contain loops that run differently in each of them, or if 16-byte accesses are neither known to be aligned nor
    easy to test."""
    ops = [inner for op in task.body for inner in op.walk()]
    if any(is_ordered(op) for op in ops) or not task.body.args or not loops_alike(task):
        return ALONE
    loops = [op for op in ops if isinstance(op, For)]
    filtered = list(_filtered(task, ops, {op.body.args[0] for op in loops}))
    anyhow = any(_filtered(task, ops, {op.body.args[0] for op in loops if is_short(op)}))
    accesses = list(_rows_of(task, ops, anyhow))
    work = max(1, size_of(task.body))
    across = _across(accesses)
    read = Counter((row.scope, row.offset % max(row.step, 1)) for row in accesses if isinstance(row.op, Load))
    stencil = max(read.values(), default=0) >= _STENCIL
    streams = not stencil and not any(isinstance(op, For) for op in ops)
    if streams and any(row.step & (row.step - 1) for row in accesses if isinstance(row.op, Store)):
        across //= 2  # with three words per thread, neighbours are not adjacent: write half words
    across = min(across, _SHARERS if has_long_loop(task) else WORD)
    while across > 1 and across * work > _MOST_OPS:
        across //= 2
    if across <= 1:
        return ALONE
    aligned = tuple(dict.fromkeys(value for row in accesses for value in row.needs))
    taps = dict.fromkeys(need for place in filtered for need in _needs(place, anyhow))
    if anyhow:
        aligned, taps = (), {**dict.fromkeys(aligned), **taps}
    if not any(isinstance(row.op, Store | Atomic) for row in accesses) and task.epilogue.first is not None:
        across *= 2  # only reads: twice as many in flight
    if len(task.body.args) > 1 and stencil:
        for rows in _ROWS:
            if rows * across * work <= _MOST_OPS:
                return Group(across, rows, aligned, taps=tuple(taps))
    return Group(across, 1, aligned, _BUSY_SHARING if _shares_loop(task) else _BUSY, tuple(taps))


def has_long_loop(task: Task) -> bool:
    """Whether the body has a loop of many iterations. There is then little parallelism between threads and much work in
    each."""
    return any(isinstance(op, For) and is_long(op) for op in task.body)


def _shares_loop(task: Task) -> bool:
    """Whether the task has such a loop in which all threads read the same memory."""
    return any(isinstance(op, For) and is_shared(op) for op in task.body)


def loops_alike(task: Task) -> bool:
    """Whether the loops run the same iterations in every iteration of the task, and none is inside a condition."""
    varying: set[Value] = set(task.body.args)
    for op in task.body:
        for inner in op.walk():
            if isinstance(inner, For) and (inner.parent is not task and not isinstance(inner.parent, For)):
                return False
            if isinstance(inner, For) and any(value in varying for value in inner.operands):
                return False
            if not inner.pure or any(value in varying for value in inner.operands):
                varying.add(inner)
    return True


def _rows_of(task: Task, ops: list[Op], anyhow: bool) -> Iterator[_Row]:
    """The accesses that move along memory with the innermost index. `anyhow`: include rows of fields that do not begin
    at whole words."""
    inner = task.body.args[-1]
    for op in ops:
        if not is_access(op):
            continue
        place, offset = element_of(op.ptr)
        if not isinstance(place, Address) or inner not in place.indices:
            continue
        strides = dict(zip(place.indices, place.strides, strict=True))
        own = strides.pop(inner)
        others = [stride for stride in strides.values() if not whole_words(stride)]
        of_array = isinstance(place.base, ArrayBase) and not any(isinstance(stride, Const) for stride in others)
        regular = of_array or (isinstance(place.base, TreeBase) and (anyhow or not others))
        step = int(own.value) if isinstance(own, Const) and regular else 0
        needs = (place.base, *others) if of_array else tuple(others)
        assert isinstance(op.ptr, Address)
        yield _Row(op, op.ptr.scope, offset + place.offset, step, element(pointee(op.ptr)).size, needs)


def _filtered(task: Task, ops: list[Op], loops: set[Value]) -> Iterator[Address]:
    """The addresses `x[i + p, j + q]` that these inner loops access: neighbours along the innermost axis read adjacent
    memory for every `q`."""
    inner = leaf_key(task.body.args[-1])
    clamped: dict[Hashable, Value] = {clamp.op: clamp.moved for clamp in clamps_of(task)}
    for place in (cell(op.ptr) for op in ops if isinstance(op, Load)):
        if place is not None and isinstance(place.base, ArrayBase | TreeBase):
            sums = [_terms(index, clamped) for index in place.indices]
            if sum(terms.get(inner) == 1 and not loops.isdisjoint(terms) for terms in sums) == 1:
                yield place


def _terms(index: Value, clamped: Mapping[Hashable, Value]) -> dict[Hashable, int]:
    """The sum that an index is equal to if it is not clamped."""
    terms = dict(affine(index).terms)
    (leaf, *others) = terms or [None]
    return _terms(clamped[leaf], clamped) if not others and leaf in clamped and terms[leaf] == 1 else terms


def _needs(place: Address, anyhow: bool) -> Iterator[Value]:
    """The values that must be multiples of a word: the base and the strides, except the stride between neighbours."""
    if isinstance(place.base, ArrayBase):
        yield place.base
    elif not anyhow:
        return
    yield from (s for s in place.strides if not whole_words(s) and not (isinstance(s, Const) and int(s.value) < WORD))


def _across(rows: list[_Row]) -> int:
    """The number of iterations that makes whole words of the widest access, or 1 if an access has gaps or a store would
    be misaligned."""
    steps = [row.step for row in rows]
    if not steps or min(steps) <= 0 or max(steps) >= WORD or _has_gaps(rows):
        return 1
    stores = [row.offset % WORD < row.step for row in rows if isinstance(row.op, Store)]
    if not all(stores) or not (stores or any(row.offset % WORD < row.step for row in rows)):
        return 1
    count = 1
    while count * max(steps) % WORD:
        count *= 2
    return count


def _has_gaps(rows: list[_Row]) -> bool:
    """Whether the task stores only a part of a field's elements, such as one component of a vector of three."""
    stored: dict[tuple[Scope, int], dict[int, int]] = {}
    for row in rows:
        if isinstance(row.op, Store):
            stored.setdefault((row.scope.whole, row.step), {})[row.offset % row.step] = row.size
    return any(sum(parts.values()) < step for (_, step), parts in stored.items())


def alignment_of(task: Task) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """The values that must be multiples of a word in a coarsened task, and those for which the rows of a filter are
    whole words (see the op `aligned`)."""
    for op in task.prologue:
        if isinstance(op, Aligned):
            return tuple(op.values), tuple(op.taps)
    return (), ()


def accumulators(task: Task) -> frozenset[Value]:
    """The locals of the thread that its iterations share, and the addresses in them."""
    found = set[Value]()
    for op in task.prologue:
        if isinstance(op, Alloca) or (isinstance(op, Address) and op.base in found):
            found.add(op)
    return frozenset(found)


def touches(op: Op, places: frozenset[Value]) -> bool:
    """Whether the op, or a nested op, uses one of these."""
    return any(operand in places for inner in op.walk() for operand in inner.operands)


def split_at_accumulators(body: Block, places: frozenset[Value]) -> tuple[list[Op], list[Op]]:
    """The ops before the first one that accesses what iterations share, and the rest."""
    ops = list(body)
    first = next((number for number, op in enumerate(ops) if touches(op, places)), len(ops))
    return ops[:first], ops[first:]
