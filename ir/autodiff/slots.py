"""Slots: local arrays that keep the states and values of iterations, and loops over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.ir import ops
from weft.ir.autodiff.adjoints import Frame, leaves
from weft.ir.autodiff.keeping import Kept
from weft.ir.core import Block, BlockArg, Op, Value
from weft.ir.types import Pointer, Prim, Tensor, Type, flatten, i32, pointer, shape_of, tensor

__all__ = ["Slots", "Step", "binary", "const", "downwards", "local_of", "loop_of"]

_SMALL = 1024  # so many scalars may be on a stack
_UNROLLED = 32  # the most scalars of a tensor that are copied without a loop

Step = Callable[[Frame, Value], None]  # emits iteration number `Value` of a loop


class Slots:
    """Local arrays for states and kept values, with a row for each slot: one for each of them, or for each scalar of a
    struct. `shared`: if they are large, they are locals of the kernel, which are not on a stack. A loop copies the
    tensors of `large`, which are the slots of other loops where a gradient is differentiated."""

    def __init__(self, frame: Frame, kept: Kept, count: int, shared: bool = False) -> None:
        self.large = [local for local in kept.state if _is_large(_held(local))]
        self.state, self.values = [local for local in kept.state if local not in self.large], kept.values
        self.mask = count - 1 if count & (count - 1) == 0 else 0
        shared = shared and count * kept.scalars > _SMALL
        build = frame.outermost if shared else frame.build
        kind = ops.SharedLocal if shared else ops.Alloca
        self.arrays: list[Value] = []  # of each of `large`
        self.columns: list[tuple[Value, int | None]] = []  # of each other scalar: the array, the place in its rows
        for item in (*self.large, *self.state, *self.values):
            held, name = _held(item), f"{item.name}.slots"
            if isinstance(held, Tensor):
                whole = build.add(kind(type=pointer(tensor(held.elem, (count, held.count))), name=name))
                if item in self.large:
                    self.arrays.append(whole)
                else:
                    self.columns += [(whole, column) for column in range(held.count)]
            else:
                made = [build.add(kind(type=pointer(tensor(prim, (count,))), name=name)) for prim in flatten(held)]
                self.columns += [(array, None) for array in made]

    def save(self, frame: Frame, index: Value) -> None:
        """Copy the state to a slot."""
        for leaf, slot in zip(self._leaves(frame), self._at(frame, index), strict=False):
            _copy(frame, leaf, slot)
        self._each(frame, index, _copy)

    def keep(self, frame: Frame, index: Value, op: Op) -> None:
        """Copy one of the values of an iteration, which is computed here, to its slot."""
        add, before = frame.build.add, self.values[: self.values.index(op)]
        first = sum(len(flatten(_held(item))) for item in (*self.state, *before))
        value, count = frame.value(op), len(flatten(_held(op)))
        parts = [value] if isinstance(value.type, Prim) else [add(ops.Extract(value, part)) for part in range(count)]
        for part, slot in zip(parts, self._at(frame, index, first, first + count), strict=True):
            add(ops.Store(slot, part))

    def restore(self, frame: Frame, index: Value) -> None:
        """Copy a slot to the state, and load the values in it."""
        add = frame.build.add
        slots = iter(self._at(frame, index))
        for leaf in self._leaves(frame):
            _copy(frame, next(slots), leaf)
        for op in self.values:
            parts: list[Value] = [add(ops.Load(next(slots))) for _ in flatten(op.type)]
            frame.values[op] = parts[0] if isinstance(op.type, Prim) else add(ops.MakeTensor(parts, type=op.type))
        self._each(frame, index, lambda inner, number, slot: _copy(inner, slot, number))

    def _each(self, frame: Frame, index: Value, copy: Callable[[Frame, Value, Value], None]) -> None:
        """Copy the numbers of large tensors, or from a slot to them, as `copy` does."""
        for local, array in zip(self.large, self.arrays, strict=True):
            target = frame.value(local)

            def one(
                inner: Frame, places: list[Value], column: Value, target: Value = target, array: Value = array
            ) -> None:
                number = inner.build.add(ops.ElementPtr(target, places))
                copy(inner, number, inner.build.add(ops.ElementPtr(array, [self._row(inner, index), column])))

            _elements(frame, shape_of(_held(local)), one)

    def _row(self, frame: Frame, index: Value) -> Value:
        """The row of a slot."""
        return binary(frame, "and", index, self.mask) if self.mask else index  # so that no test is needed

    def _at(self, frame: Frame, index: Value, first: int = 0, end: int | None = None) -> list[Value]:
        """The addresses of the scalars of a slot, or of some of them."""
        add, columns, row = frame.build.add, self.columns[first:end], self._row(frame, index)
        places = [[row] if column is None else [row, const(frame, column)] for _, column in columns]
        return [add(ops.ElementPtr(array, place)) for (array, _), place in zip(columns, places, strict=True)]

    def _leaves(self, frame: Frame) -> list[Value]:
        return [leaf for local in self.state for leaf in leaves(frame.build, frame.value(local))]


def _copy(frame: Frame, source: Value, target: Value) -> None:
    """Copy a number from one address to another."""
    frame.build.add(ops.Store(target, frame.build.add(ops.Load(source))))


def _is_large(type: Type) -> bool:
    return isinstance(type, Tensor) and type.count > _UNROLLED


def _elements(frame: Frame, shape: Sequence[int], body: Callable[[Frame, list[Value], Value], None]) -> None:
    """Emit loops over the elements of a tensor. `body` takes the indices of an element, and its number in row-major
    order."""

    def one(inner: Frame, index: Value) -> None:
        if len(shape) == 1:
            body(inner, [index], index)
            return
        first = binary(inner, "mul", index, shape[1])
        loop_of(inner, const(inner, shape[1]), lambda last, j: body(last, [index, j], binary(last, "add", first, j)))

    loop_of(frame, const(frame, shape[0]), one)


def _held(item: Value) -> Type:
    return item.type.elem if isinstance(item.type, Pointer) else item.type


def const(frame: Frame, number: int, type: Prim = i32) -> Value:
    """An integer."""
    return frame.build.add(ops.Const(number, type=type))


def binary(frame: Frame, kind: str, a: Value, b: Value | int) -> Value:
    """An operator on integers of one type."""
    if isinstance(b, int):
        b = frame.build.add(ops.Const(b, type=a.type))
    return frame.build.add(ops.Binary(kind, a, b))


def local_of(frame: Frame, name: str, value: Value | int) -> Value:
    """A new local with a number."""
    local = frame.build.add(ops.Alloca(type=pointer(i32), name=name))
    frame.build.add(ops.Store(local, const(frame, value) if isinstance(value, int) else value))
    return local


def loop_of(frame: Frame, count: Value, body: Step) -> None:
    """A loop over 0 .. count - 1."""
    assert isinstance(count.type, Prim)
    _loop(frame, (const(frame, 0, count.type), count, const(frame, 1, count.type)), body)


def downwards(frame: Frame, count: Value, body: Step) -> None:
    """A loop over count - 1 .. 0. (Lanes whose counts differ are in the same iteration: see `Uniformity.joins`.)"""
    assert isinstance(count.type, Prim)
    end = const(frame, -1, count.type)
    _loop(frame, (binary(frame, "sub", count, 1), end, end), body)


def _loop(frame: Frame, bounds: tuple[Value, Value, Value], body: Step) -> None:
    arg = BlockArg(bounds[0].type)
    loop = frame.build.add(ops.For(*bounds, body=Block([arg])))
    body(frame.inner(loop.body, frame.build.span), arg)
