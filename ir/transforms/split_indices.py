"""Computes indices that are elements of vectors as scalars, so that later analyses see how they are computed."""

from __future__ import annotations

from weft.ir.core import Block, Builder, Op, Value
from weft.ir.ops import (
    Binary,
    Cast,
    Extract,
    MakeTensor,
    Reduce,
    Select,
    Splat,
    Task,
    Unary,
)
from weft.ir.types import Tensor, Type, element

__all__ = ["split_indices"]

_MOST = 4  # the largest vector whose reduction is split, in elements
_ORDERED = frozenset(("min", "max", "and", "or"))


def split_indices(task: Task) -> bool:
    """Split the elements of integer vectors that the task extracts, and reductions over all elements:

        %c = binary add %base, %offset                 %c_0 = binary add (extract %base 0), (extract %offset 0)
        %p = field_ptr @x[extract %c 0]         ->     %p = field_ptr @x[%c_0]
        %m = reduce min %c                             %m = binary min %c_0, %c_1

    `scalarize` would do the same later. Gives whether anything changed.
    """
    return _Splitter().run(task)


class _Splitter:
    def __init__(self) -> None:
        self.parts: dict[tuple[Value, int], Value] = {}

    def run(self, task: Task) -> bool:
        changed = False
        for op in task.all_of(Reduce):
            type = op.x.type
            if op.kind in _ORDERED and isinstance(type, Tensor) and type.elem.is_int and type.count <= _MOST:
                op.replace(self.combined(op, type))
                changed = True
        for extract in task.all_of(Extract):
            if element(extract.type).is_int and (number := self.part(extract.x, extract.index)) is not extract:
                extract.replace(number)
                changed = True
        return changed

    def combined(self, op: Reduce, type: Tensor) -> Value:
        """All elements, combined one after the other."""
        build = Builder.at(op)
        total = self.part(op.x, 0)
        for index in range(1, type.count):
            total = build.add(Binary(op.kind, total, self.part(op.x, index), type=op.type))
        return total

    def part(self, x: Value, index: int) -> Value:
        """An element of a tensor, computed from scalars."""
        if not isinstance(x.type, Tensor):  # a scalar, which is combined with every element
            return x
        found = self.parts.get((x, index))
        if found is None:
            self.parts[x, index] = found = self.made(x, index, x.type.elem)
        return found

    def made(self, x: Value, index: int, type: Type) -> Value:
        assert isinstance(x, Op)
        assert x.block is not None
        if isinstance(x, MakeTensor):
            return x.values[index]
        if isinstance(x, Splat):
            return x.x
        build = _behind(x)
        whole = element(type).is_int
        if isinstance(x, Binary) and whole and element(x.lhs.type).is_int:
            return build.add(Binary(x.kind, self.part(x.lhs, index), self.part(x.rhs, index), type=type))
        if isinstance(x, Unary) and whole and element(x.x.type).is_int:
            return build.add(Unary(x.kind, self.part(x.x, index), type=type))
        if isinstance(x, Cast) and whole and element(x.x.type).is_int:
            return build.add(Cast(self.part(x.x, index), type=type))
        if isinstance(x, Select) and whole:
            sides = self.part(x.a, index), self.part(x.b, index)
            return build.add(Select(self.part(x.condition, index), *sides, type=type))
        return build.add(Extract(x, index, type=type))


def _behind(op: Op) -> Builder:
    """A builder right after an op, before all its users."""
    block = op.block
    assert isinstance(block, Block)
    return Builder(block, op.next, op.span)
