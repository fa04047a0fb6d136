"""How many neighbouring iterations one thread takes together, so that it moves 16 bytes at a time.

    y[i] = a * x[i] + y[i]                            x, y of f32: four at a time

    i = 4 * (this thread's number)                    one 16-byte load of x, one of y
    y[i], ... y[i + 3] = a * x[i] + y[i], ...         four times each op; one 16-byte store

Each op is written for all neighbours before the next op. So their loads stand side by side: LLVM joins them, and all
are under way at once. Iterations of a parallel loop may run in any order, so they may run so. In a stencil a thread
takes several rows as well: cells next to one another have neighbours in common, and they are read once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from weft.ir.core import Block, Op, Value
from weft.ir.ops import (
    Address,
    Alloca,
    Assert,
    Atomic,
    Break,
    Const,
    Continue,
    Exit,
    For,
    Invoke,
    Load,
    Print,
    Random,
    Simt,
    Store,
    Task,
    TreeBase,
    While,
)

__all__ = ["ALONE", "Group", "accumulators", "group_of", "split_at_shared"]

_WORD = 16  # bytes that one instruction moves
_MOST_OPS = 640  # of all iterations together
_ROWS = (4, 2)
_STENCIL = 3  # reads of one field
_ORDERED = (Assert, Break, Continue, Exit, For, Invoke, Print, Random, Simt, While)


@dataclass(frozen=True)
class Group:
    """So many neighbours along the innermost axis (a power of two), in so many rows."""

    across: int = 1
    rows: int = 1


ALONE = Group()


def group_of(task: Task) -> Group:
    """What a thread takes together. Not where iterations can end early, loop, or draw numbers in order; and only where
    16-byte accesses are known to be aligned."""
    ops = [inner for op in task.body for inner in op.walk()]
    if any(isinstance(op, _ORDERED) for op in ops) or not task.body.args:
        return ALONE
    accesses = list(_rows_of(task, ops))
    work = max(1, sum(not isinstance(op, Address | Const) for op in ops))
    across = _across(accesses)
    while across > 1 and across * work > _MOST_OPS:
        across //= 2
    if across == 1:
        return ALONE
    if not any(isinstance(op, Store | Atomic) for op, _, _ in accesses) and task.epilogue.first is not None:
        across *= 2  # only reads: twice as many under way
    read = Counter(place.scope for op, place, _ in accesses if isinstance(op, Load))
    if len(task.body.args) > 1 and max(read.values(), default=0) >= _STENCIL:
        for rows in _ROWS:
            if rows * across * work <= _MOST_OPS:
                return Group(across, rows)
    return Group(across)


def _rows_of(task: Task, ops: list[Op]) -> Iterator[tuple[Op, Address, int]]:
    """The accesses that go along memory as the innermost index grows, with the bytes from one to the next."""
    inner = task.body.args[-1]
    for op in ops:
        place = op.ptr if isinstance(op, Load | Store | Atomic) else None
        if not isinstance(place, Address) or inner not in place.indices:
            continue
        strides = dict(zip(place.indices, place.strides, strict=True))
        own = strides.pop(inner)
        regular = isinstance(place.base, TreeBase) and all(map(_whole_words, strides.values()))
        yield op, place, int(own.value) if isinstance(own, Const) and regular else 0


def _whole_words(stride: Value) -> bool:
    return isinstance(stride, Const) and int(stride.value) % _WORD == 0


def _across(accesses: list[tuple[Op, Address, int]]) -> int:
    """As many as make whole words of the widest access; 1 if some access has gaps or stores would be misaligned."""
    steps = [step for _, _, step in accesses]
    if not steps or min(steps) <= 0 or max(steps) >= _WORD:
        return 1
    stores = [place.offset % _WORD < step for op, place, step in accesses if isinstance(op, Store)]
    others = [place.offset % _WORD < step for op, place, step in accesses if not isinstance(op, Store)]
    if not all(stores) or not (stores or any(others)):
        return 1
    count = 1
    while count * max(steps) % _WORD:
        count *= 2
    return count


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
