"""Finds reductions of vectors that can be done together, and plans the shuffles for that.

    a0 a1 a2 a3 | b0 b1 b2 b3       two vectors of four lanes
    a0 a1 b0 b1 + a2 a3 b2 b3       a joint step: half of each, side by side
    s0 s1 t0 t1 + s1 s0 t1 t0       a single step: each lane and its neighbour
    s     t                         both results, in one vector

A vector alone takes such a step for each half, so four vectors of 16 lanes take 16 additions and 16 shuffles. Together
they take 5 and 8."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from weft.ir.core import Block, Op, Value
from weft.ir.ops import Reduce
from weft.ir.types import Lanes, Prim, Type

__all__ = ["Group", "Plan", "Step", "groups_of"]

_MOST = 4  # reductions in a group: their results are in different parts of a vector, or side by side
_PART = 128  # bits: shuffles within a part of a register are cheaper than those between parts


@dataclass(frozen=True)
class Group:
    """Reductions of one kind and type in a block. Their vectors can be computed before the op `at`, which is the first
    one that uses a result, or follows all of them."""

    reductions: tuple[Reduce, ...]
    at: Op


def groups_of(block: Block, bits: int) -> Iterator[Group]:
    """The groups of the block as it is, each of two to four reductions, on a CPU whose registers have so many bits. A
    vector may be computed earlier if only pure ops compute it from values that exist there."""
    order = {op: k for k, op in enumerate(block)}
    found: dict[object, list[Reduce]] = {}
    for op in order:
        if not isinstance(op, Reduce) or not op.users:
            continue
        key, most = (op.kind, op.x.type), _most(op.x.type, bits)
        group = found.setdefault(key, [])
        if group and (len(group) >= most or not _exists(op.x, _first_use(group, order), order, group)):
            yield from _closed(found.pop(key), order)
            group = found.setdefault(key, [])
        group.append(op)
    for group in found.values():
        yield from _closed(group, order)


def _most(type: Type, bits: int) -> int:
    """How many vectors of this type are reduced together. One: numbers of other sizes than 32 and 64 bits, and vectors
    whose count is no power of two, or that do not fill a part of a register."""
    if not isinstance(type, Lanes) or not isinstance(type.elem, Prim) or type.elem.bits not in (32, 64):
        return 1
    if type.count & (type.count - 1) or type.count * type.elem.bits < _PART:
        return 1
    return min(_MOST, type.count, bits // type.elem.bits)


def _closed(group: Sequence[Reduce], order: dict[Op, int]) -> Iterator[Group]:
    if len(group) > 1:
        yield Group(tuple(group), _first_use(group, order))


def _first_use(group: Sequence[Reduce], order: dict[Op, int]) -> Op:
    """The first op of the block that uses one of these, also inside of it."""
    (block,) = {one.block for one in group}
    uses = (next(one for one in (user, *user.around()) if one.block is block) for op in group for user in op.users)
    return min(uses, key=order.__getitem__)


def _exists(value: Value, at: Op, order: dict[Op, int], group: Sequence[Op]) -> bool:
    """Whether the value exists before that op, or can be computed there from values that do and from no result of the
    group."""
    pending, seen = [value], set[Value]()
    while pending:
        one = pending.pop()
        if one in group:
            return False
        if isinstance(one, Op) and one not in seen and order.get(one, -1) >= order[at]:
            if not one.pure:
                return False
            seen.add(one)
            pending += one.operands
    return True


# ---- shuffles --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """Combines lanes of the vectors number `first` and `second` to the vector with the next number: in each lane an
    element of `low` and one of `high`, which count through both vectors. `low` None: the first vector itself."""

    first: int
    second: int
    low: tuple[int, ...] | None
    high: tuple[int, ...]


@dataclass(frozen=True)
class _Vector:
    """A vector by its number. In each lane, of which of the first vectors it has elements combined, and of which lanes
    of that, as bits."""

    number: int
    owners: tuple[int, ...]
    parts: tuple[int, ...]


class Plan:
    """Reduces `count` vectors of `lanes` elements of so many bits, which have the first numbers. `steps` are the steps
    for that. `results` are the lanes of the last vector that have the results, in order."""

    def __init__(self, count: int, lanes: int, bits: int) -> None:
        self.steps = list[Step]()
        self._count, self._lanes = count, lanes
        vectors = [_Vector(k, (k,) * lanes, tuple(1 << lane for lane in range(lanes))) for k in range(count)]
        sizes = _sizes(lanes, bits)
        while len(vectors) > 1:
            region, piece = next(sizes)
            pairs = zip_longest(vectors[::2], vectors[1::2])
            vectors = [self._folded(a) if b is None else self._joined(a, b, region, piece) for a, b in pairs]
        (last,) = vectors
        while any(part != (1 << lanes) - 1 for part in last.parts):
            last = self._folded(last)
        self.results = [last.owners.index(k) for k in range(count)]

    def _joined(self, a: _Vector, b: _Vector, region: int, piece: int) -> _Vector:
        """Every second piece of each region of both, combined with the pieces between."""
        starts = [
            [base + at for base in (first, first + self._lanes) for at in range(0, region, 2 * piece)]
            for first in range(0, self._lanes, region)
        ]
        low = [start + k for some in starts for start in some for k in range(piece)]
        return self._combined(a, b, low, [lane + piece for lane in low])

    def _folded(self, one: _Vector) -> _Vector:
        """Each lane combined with another one, as far away as possible."""
        lanes, distance = range(self._lanes), self._lanes // 2
        while any(one.owners[k] != one.owners[k ^ distance] or one.parts[k] & one.parts[k ^ distance] for k in lanes):
            distance //= 2
        return self._combined(one, one, lanes, [k ^ distance for k in lanes])

    def _combined(self, a: _Vector, b: _Vector, low: Sequence[int], high: Sequence[int]) -> _Vector:
        owners, parts, pairs = a.owners + b.owners, a.parts + b.parts, list(zip(low, high, strict=True))
        assert all(owners[i] == owners[j] and not parts[i] & parts[j] for i, j in pairs)
        self.steps.append(Step(a.number, b.number, None if a is b else tuple(low), tuple(high)))
        number = self._count + len(self.steps) - 1
        return _Vector(number, tuple(owners[i] for i in low), tuple(parts[i] | parts[j] for i, j in pairs))


def _sizes(lanes: int, bits: int) -> Iterator[tuple[int, int]]:
    """The regions and pieces of joint steps: parts of the register first, and then pieces of each part."""
    part = min(lanes, _PART // bits)
    parts, piece = lanes // part, part
    while parts > 1:
        yield lanes, part
        parts //= 2
    while piece > 1:
        piece //= 2
        yield part, piece
