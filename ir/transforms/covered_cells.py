"""Of elements near one another that an iteration writes, those whose cells hold all of them.

    x[i], x[i + 1], x[i + 2] in cells of 4 elements      the cells of x[i] and x[i + 2]

`i + 1` is between `i` and `i + 2`, which are at most a cell apart, so all three are in at most two cells, the first and
the last. Along several axes, this holds for each axis: the cell of an element is that of a corner of the box around it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise, product

from weft.ir.core import Block, Op
from weft.ir.linear import Form, index_form
from weft.ir.ops import Break, Continue, FieldPtr
from weft.ir.symbols import NodeSymbol

__all__ = ["covered"]

Point = tuple[int, ...]


def covered(writes: Sequence[tuple[Op, FieldPtr, NodeSymbol]]) -> set[Op]:
    """The ops whose cells of these nodes are those of other ops that run whenever they do. `writes`: ops that write an
    element, the element, and a node above it.

    Ops of one block, of which nothing leaves the middle, run together. The indices of elements that are written are in
    range, so differences of their forms are those of the indices."""
    groups: dict[Hashable, dict[Op, tuple[Point, Point]]] = {}
    for op, element, node in writes:
        assert op.block is not None
        sizes = [(axis, size) for axis, size in _block(element, node) if element.field.shape[axis] > 1]
        forms = [_form(element, axis) for axis, _ in sizes]
        key = id(op.block), node.name, tuple(sizes), tuple(form.moving() for form in forms)
        point = tuple(form.constant for form in forms)
        groups.setdefault(key, {})[op] = point, tuple(size for _, size in sizes)
    found, whole = set[Op](), dict[int, bool]()
    for group in groups.values():
        block = next(iter(group)).block
        if len(group) > 1 and block is not None and whole.setdefault(id(block), _is_whole(block)):
            _, extents = next(iter(group.values()))
            found |= _inner({op: point for op, (point, _) in group.items()}, extents)
    return found


def _inner(points: Mapping[Op, Point], sizes: Point) -> set[Op]:
    """The ops at points whose cells are those of corners around them, and of ops at one point all but the first."""
    axes = [_steps(sorted({point[k] for point in points.values()}), size) for k, size in enumerate(sizes)]
    there, found = set(points.values()), set[Op]()
    met = set[Point]()
    for op, point in points.items():
        around = [(max(k for k in axis if k <= at), min(k for k in axis if k >= at)) for axis, at in zip(axes, point)]
        corners = set(product(*around))
        if point in met or (point not in corners and corners <= there):
            found.add(op)
        met.add(point)
    return found


def _steps(places: Sequence[int], size: int) -> list[int]:
    """Some of these places, the first and the last included. Each other one is between two that are at most `size`
    apart."""
    kept = [places[0]]
    for place, behind in pairwise(places[1:]):
        if behind - kept[-1] > size:
            kept.append(place)
    return kept if places[-1] == kept[-1] else [*kept, places[-1]]


def _form(element: FieldPtr, axis: int) -> Form:
    first = element.field.space.first[axis]
    return index_form(element.indices[axis], first).shifted(-first)


def _block(element: FieldPtr, node: NodeSymbol) -> Sequence[tuple[int, int]]:
    return next(block for above, block in element.field.above() if above is node)


def _is_whole(block: Block) -> bool:
    """Whether all ops of the block run if the first one does."""
    return not any(isinstance(inner, Break | Continue) or inner.exits for op in block for inner in op.walk())
