"""How many neighbouring iterations of a task a thread of a GPU should take together, and where their accesses are whole
words. See the pass `coarsen`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

from weft.ir.addresses import element_of
from weft.ir.affine import affine, leaf_key
from weft.ir.alias import is_access
from weft.ir.core import Block, Op, Value
from weft.ir.mapping.clamps import clamps_of
from weft.ir.mapping.serial_loops import is_long, is_ordered, is_shared, is_short, size_of
from weft.ir.mapping.whole_words import WORD, cell, whole_words
from weft.ir.ops import Address, Aligned, Alloca, ArrayBase, Atomic, Const, For, Load, Store, Task, TreeBase
from weft.ir.scopes import Scope
from weft.ir.types import Pointer, element

__all__ = [
    "ALONE",
    "Group",
    "accumulators",
    "alignment_of",
    "group_of",
    "has_long_loop",
    "loops_alike",
    "split_at_shared",
]

_MOST_OPS = 640  # of all iterations together
_ROWS = (4, 2)
_STENCIL = 3  # reads of one field
_SHARERS = 2  # places that make the rounds of a long loop together
_BUSY, _BUSY_SHARING = 1024, 128  # threads for each multiprocessor; where each makes the rounds of a shared loop


@dataclass(frozen=True)
class Group:
    """So many neighbours along the innermost axis (a power of two), in so many rows; where those values, bases and
    strides of array arguments, turn out to be multiples of 16 bytes, and there are `busy` threads for each
    multiprocessor. The rows that a filter reads are whole words where those in `taps` are, too; one that is written out
    is grouped wherever they lie."""

    across: int = 1
    rows: int = 1
    aligned: tuple[Value, ...] = ()
    busy: int = _BUSY
    taps: tuple[Value, ...] = ()


ALONE = Group()


@dataclass(frozen=True)
class _Row:
    """An access along memory: what it reaches, its first byte, the bytes from one index to the next, its size, and the
    values that must be multiples of a word."""

    op: Op
    scope: Scope
    offset: int
    step: int
    size: int
    needs: tuple[Value, ...]


def group_of(task: Task) -> Group:
    """What a thread takes together. Not where iterations can end early, loop on their own, or draw numbers in order;
    and only where 16-byte accesses are known to be aligned, or that is easily seen."""
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
        across //= 2  # three words of a thread lie apart from its neighbours': half words are better written
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
        across *= 2  # only reads: twice as many under way
    if len(task.body.args) > 1 and stencil:
        for rows in _ROWS:
            if rows * across * work <= _MOST_OPS:
                return Group(across, rows, aligned, taps=tuple(taps))
    return Group(across, 1, aligned, _BUSY_SHARING if _shares_loop(task) else _BUSY, tuple(taps))


def has_long_loop(task: Task) -> bool:
    """Whether the body has a loop of many rounds: little parallelism, and much of it in each thread."""
    return any(isinstance(op, For) and is_long(op) for op in task.body)


def _shares_loop(task: Task) -> bool:
    """Whether it has such a loop in which all threads read the same."""
    return any(isinstance(op, For) and is_shared(op) for op in task.body)


def loops_alike(task: Task) -> bool:
    """Whether its loops make the same rounds in every iteration, and none is inside of a condition."""
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
    """The accesses that go along memory as the innermost index grows; `anyhow`: also in rows of fields that do not
    begin at whole words."""
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
        assert isinstance(op.ptr.type, Pointer)
        yield _Row(op, op.ptr.scope, offset + place.offset, step, element(op.ptr.type.elem).size, needs)


def _filtered(task: Task, ops: list[Op], loops: set[Value]) -> Iterator[Address]:
    """The places that these loops inside go through, `x[i + p, j + q]`: neighbours along the innermost axis read what
    lies side by side, whatever `q` is."""
    inner = leaf_key(task.body.args[-1])
    clamped: dict[Hashable, Value] = {clamp.op: clamp.moved for clamp in clamps_of(task)}
    for place in (cell(op.ptr) for op in ops if isinstance(op, Load)):
        if place is not None and isinstance(place.base, ArrayBase | TreeBase):
            sums = [_terms(index, clamped) for index in place.indices]
            if sum(terms.get(inner) == 1 and not loops.isdisjoint(terms) for terms in sums) == 1:
                yield place


def _terms(index: Value, clamped: Mapping[Hashable, Value]) -> dict[Hashable, int]:
    """The sum that an index is where it is not clamped."""
    terms = dict(affine(index).terms)
    (leaf, *others) = terms or [None]
    return _terms(clamped[leaf], clamped) if not others and leaf in clamped and terms[leaf] == 1 else terms


def _needs(place: Address, anyhow: bool) -> Iterator[Value]:
    """What must be multiples of a word there: the base and the strides, but for those of neighbours."""
    if isinstance(place.base, ArrayBase):
        yield place.base
    elif not anyhow:
        return
    yield from (s for s in place.strides if not whole_words(s) and not (isinstance(s, Const) and int(s.value) < WORD))


def _across(rows: list[_Row]) -> int:
    """As many as make whole words of the widest access; 1 if some access has gaps or stores would be misaligned."""
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
    """Whether a field is stored to in part only: one component of a vector that has three."""
    stored: dict[tuple[Scope, int], dict[int, int]] = {}
    for row in rows:
        if isinstance(row.op, Store):
            stored.setdefault((row.scope.whole, row.step), {})[row.offset % row.step] = row.size
    return any(sum(parts.values()) < step for (_, step), parts in stored.items())


def alignment_of(task: Task) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """What must be multiples of a word where threads take several iterations, and where the rows of a filter are whole
    words (see the op `aligned`)."""
    for op in task.prologue:
        if isinstance(op, Aligned):
            return tuple(op.values), tuple(op.taps)
    return (), ()


def accumulators(task: Task) -> frozenset[Value]:
    """The locals of the thread that its iterations share, and addresses in them."""
    found = set[Value]()
    for op in task.prologue:
        if isinstance(op, Alloca) or (isinstance(op, Address) and op.base in found):
            found.add(op)
    return frozenset(found)


def touches(op: Op, places: frozenset[Value]) -> bool:
    """Whether the op, or one inside it, uses one of these."""
    return any(operand in places for inner in op.walk() for operand in inner.operands)


def split_at_shared(body: Block, places: frozenset[Value]) -> tuple[list[Op], list[Op]]:
    """The ops before the first one that touches what iterations share, and the others."""
    ops = list(body)
    first = next((number for number, op in enumerate(ops) if touches(op, places)), len(ops))
    return ops[:first], ops[first:]
