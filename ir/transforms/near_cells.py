"""Computes the cell that an index is in, and the place in it. Near a visited cell, both follow from the index of that
cell, so that they change in as few loops as possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.ir.cell_places import CellPlace, place_of
from weft.ir.core import Builder, Value
from weft.ir.ops import Binary, Cast, Const, Select
from weft.ir.symbols import NodeSymbol
from weft.ir.types import Prim

__all__ = ["cell_and_place", "cell_of", "number_of", "own_place", "rest_of"]

_NEAR = 4  # cells: an index further away from a visited cell is taken by itself


def number_of(build: Builder, value: int, type: object) -> Value:
    """A constant."""
    assert isinstance(type, Prim)
    return build.add(Const(float(value) if type.is_float else value, type=type))


def cell_of(build: Builder, index: Sequence[Value], node: NodeSymbol, block: Sequence[tuple[int, int]]) -> list[Value]:
    """The index of the cell that an element is in."""
    found: list[Value] = []
    for (axis, size), count in zip(block, node.shape, strict=True):
        value = index[axis]
        if count == 1:
            found.append(number_of(build, 0, value.type))
        else:
            found.append(cell_and_place(build, value, size)[0])
    return found


def cell_and_place(build: Builder, value: Value, size: int) -> tuple[Value, Value]:
    """The index of the cell of that size that an index is in, and the place in the cell."""
    return _near(build, value, size) or _far(build, value, size)


def own_place(value: Value, node: NodeSymbol, number: int, size: int) -> CellPlace | None:
    """The place of an index along axis `number` of a node with cells of that size, if it is in the visited cell."""
    place = place_of(value)
    if place is None or place.leaf is None or (place.leaf.node, place.leaf.axis, place.factor) != (node, number, size):
        return None
    return place if place.stays(size) else None


def rest_of(build: Builder, type: Any, place: CellPlace) -> Value:
    """The rest of an index, without that of the visited cell."""
    return _sum(build, type, place.terms, place.constant)


def _sum(build: Builder, type: Any, terms: Mapping[Any, int], constant: int) -> Value:
    total: Value | None = None
    for leaf, factor in sorted(terms.items(), key=lambda term: getattr(term[0], "name", "")):
        value = leaf if leaf.type is type else build.add(Cast(leaf, type=type))
        if factor != 1:
            value = build.add(Binary("mul", value, number_of(build, factor, type)))
        total = value if total is None else build.add(Binary("add", total, value))
    if total is None:
        return number_of(build, constant, type)
    return total if constant == 0 else build.add(Binary("add", total, number_of(build, constant, type)))


def _near(build: Builder, value: Value, size: int) -> tuple[Value, Value] | None:
    """The index of the cell, and the place in it, of an index near a visited cell. Where the rest is that of an outer
    loop, neither changes in the inner loops, so that the slot is loaded outside of them."""
    if isinstance(value, Select):  # an index that `mask_accesses` keeps in range
        a, b = (_near(build, one, size) for one in (value.a, value.b))
        if a is None and b is None:
            return None
        ca, ia = a or _far(build, value.a, size)
        cb, ib = b or _far(build, value.b, size)
        return build.add(Select(value.condition, ca, cb)), build.add(Select(value.condition, ia, ib))
    place = place_of(value)
    if size == 1 or place is None or place.leaf is None or place.factor <= 0:
        return None
    if place.factor < size:
        return _in_larger(build, value.type, place, size)
    if place.factor % size or place.low < -_NEAR * size or place.high >= _NEAR * size + place.factor - size:
        return None
    index, rest = _first_cell(build, value.type, place, size), rest_of(build, value.type, place)
    if place.stays(size):
        return index, rest
    bias = _NEAR if place.low < 0 and size & (size - 1) else 0  # `raw_div` rounds towards 0
    rest = rest if not bias else build.add(Binary("add", rest, number_of(build, bias * size, value.type)))
    step, inside = _far(build, rest, size)
    cell = build.add(Binary("add", index, step))
    return cell if not bias else build.add(Binary("sub", cell, number_of(build, bias, value.type))), inside


def _first_cell(build: Builder, type: Any, place: CellPlace, size: int) -> Value:
    """The first cell of that size in the visited cell."""
    assert place.leaf is not None
    index: Value = place.leaf if place.leaf.type is type else build.add(Cast(place.leaf, type=type))
    many = place.factor // size
    return index if many == 1 else build.add(Binary("mul", index, number_of(build, many, type)))


def _in_larger(build: Builder, type: Any, place: CellPlace, size: int) -> tuple[Value, Value] | None:
    """The same in cells that hold several of the visited ones."""
    if size % place.factor or not place.stays(place.factor) or (place.leaf is not None and place.leaf.node.hashed):
        return None
    cell, among = _far(build, _first_cell(build, type, place, place.factor), size // place.factor)
    first = build.add(Binary("mul", among, number_of(build, place.factor, type)))
    return cell, build.add(Binary("add", first, rest_of(build, type, place)))


def _far(build: Builder, value: Value, size: int) -> tuple[Value, Value]:
    """The quotient and the remainder by the size of a cell."""
    if size == 1:
        return value, number_of(build, 0, value.type)
    if size & (size - 1):
        by = number_of(build, size, value.type)
        return build.add(Binary("raw_div", value, by)), build.add(Binary("raw_mod", value, by))
    shift, mask = number_of(build, size.bit_length() - 1, value.type), number_of(build, size - 1, value.type)
    return build.add(Binary("shr", value, shift)), build.add(Binary("and", value, mask))
