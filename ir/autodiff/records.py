"""Values that a launch records for its gradient.

A gradient kernel computes values of its kernel again. It cannot compute what was in memory between two stores, the old
value of an atomic, or the exact bits of a computed number. The *recording kernel* is the kernel that also stores these
values to an array, its *records*. The gradient kernel loads them from there.

    parallel_for (%i) {                        parallel_for (%i) {
      %x = load @x[%i]                           %x = load @x[%i]
      store @x[%i], (f %x)               =>      store @records[%base + (%i - %begin)], (bits of %x)
    }                                            store @x[%i], (f %x)
                                               }

Each value has a place for each iteration of the loops around it. It has one if

    (1) all loops around it are parallel loops and Fors: the iterations have numbers
    (2) their bounds are computed from constants, parameters, shapes, and memory that the kernel does not write: the
        number of places is known before the launch

Both kernels are made from the same CHI by the same passes, so they choose the same values in the same order, and give
them the same places. `text` describes that choice; the two are compared. A third kernel, the *counting kernel*, only
stores the number of places, unless it is a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.alias import space_of, spaces_meet
from weft.ir.autodiff.demand import Demand
from weft.ir.core import BlockArg, Builder, Op, Value
from weft.ir.intervals import in_bounds
from weft.ir.rewrite import literal
from weft.ir.symbols import RECORDS
from weft.ir.types import Prim, Struct, Tensor, Type, element, flat_size, i16, i32, i64, u1

__all__ = ["Records", "is_recordable", "record_param"]

_LOOPS = (ops.ParallelFor, ops.StructFor, ops.For, ops.While)
_BITS = {2: i16, 4: i32, 8: i64}


def record_param(kernel: ops.Kernel) -> tuple[int, str] | None:
    """The parameter for records, and what the kernel does with them: a row of RECORDS. None: it has no records."""
    found = ((k, param.hidden) for k, param in enumerate(kernel.params) if param.hidden in RECORDS)
    return next(found, None)


def is_recordable(kernel: ops.Kernel, value: Value) -> bool:
    """Whether a value has a place for each iteration of the loops around it."""
    if not isinstance(value, Op) or not isinstance(value.type, (Prim, Tensor, Struct)):
        return False
    loops = [outer for outer in value.around() if isinstance(outer, _LOOPS)]
    return all(_is_counted(kernel, loop) for loop in loops)


def _is_counted(kernel: ops.Kernel, loop: Op) -> bool:
    if isinstance(loop, ops.StructFor):
        return not any(any(pair) for pair in loop.field.path.cell.halo)
    if isinstance(loop, ops.For) and not literal(loop.step):
        return False
    return not isinstance(loop, ops.While) and all(_is_known(kernel, bound) for bound in loop.operands)


def _is_known(kernel: ops.Kernel, value: Value) -> bool:
    """Whether the kernel may compute a value before all else."""
    if isinstance(value, (ops.Const, ops.Arg)):
        return True
    if isinstance(value, ops.Load):
        root = root_of(value.ptr)
        if not isinstance(root, (ops.FieldPtr, ops.ArrayPtr)) or not in_bounds(value.ptr):
            return False
        space = space_of(value.ptr)
        for op in kernel.walk():
            if op.effect == "anywhere" or (op.effect == "address" and op.writes and spaces_meet(space, _space(op))):
                return False
        return _is_known(kernel, value.ptr)
    return isinstance(value, Op) and value.pure and all(_is_known(kernel, operand) for operand in value.operands)


def _space(op: Op) -> Any:
    return space_of(op.operands[0])


@dataclass(frozen=True)
class _Axis:
    """The iterations of a loop along an axis: `index` in `begin`, `begin + step`, ..., of which there are `count`."""

    index: BlockArg
    begin: Value
    step: int
    count: Value


class Records:
    """The records of a kernel, in its parameter `param`: those values of it that are needed and recorded."""

    def __init__(self, demand: Demand, param: int) -> None:
        self.kernel, self.param = demand.kernel, param
        self.values = [op for op in demand.ops if op in demand.recorded and op in demand.needed]
        self.axes: dict[Op, list[_Axis]] = {}
        self.bases: dict[Op, Value] = {}
        self.total: Value | None = None
        self._known: dict[Value, Value] = {}  # what was computed before all else

    @property
    def text(self) -> str:
        """The number of records, "?" if it is no constant, and the types of the values."""
        assert self.total is not None
        number = literal(self.total)
        return " ".join(["?" if number is None else str(number), *(value.type.text for value in self.values)])

    def begin(self, build: Builder) -> None:
        """Compute where the places of each value begin."""
        loops: dict[Op, list[_Axis]] = {}
        total: Value = build.add(ops.Const(0, type=i64))
        for value in self.values:
            around = [outer for outer in value.around() if isinstance(outer, _LOOPS)]
            axes = self.axes[value] = []
            size: Value = build.add(ops.Const(flat_size(value.type), type=i64))
            for loop in reversed(around):
                if loop not in loops:
                    loops[loop] = self._axes(build, loop)
                axes += loops[loop]
            for axis in axes:
                size = _binary(build, "mul", size, axis.count)
            self.bases[value] = total
            total = _binary(build, "add", total, size)
        self.total = total

    def _axes(self, build: Builder, loop: Op) -> list[_Axis]:
        if isinstance(loop, ops.StructFor):
            space = loop.field.space
            bounds = [
                [build.add(ops.Const(number, type=i64)) for number in pair]
                for pair in zip(space.first, space.shape, strict=True)
            ]
            pairs = zip(loop.body.args, bounds, strict=True)
            return [_Axis(arg, first, 1, extent) for arg, (first, extent) in pairs]
        if isinstance(loop, ops.ParallelFor):
            ranges = [(begin, end, 1) for begin, end in zip(loop.begins, loop.ends, strict=True)]
        else:
            assert isinstance(loop, ops.For)
            ranges = [(loop.begin, loop.end, int(literal(loop.step) or 1))]
        made = list[_Axis]()
        for arg, (begin, end, step) in zip(loop.regions[0].args, ranges, strict=True):
            first, last = (self._wide(build, self._before(build, value)) for value in (begin, end))
            made.append(_Axis(arg, first, step, _count(build, first, last, step)))
        return made

    def _before(self, build: Builder, value: Value) -> Value:
        """A value that is computed before all else."""
        if value not in self._known:
            assert isinstance(value, Op)
            made = value.clone({operand: self._before(build, operand) for operand in value.operands})
            self._known[value] = build.add(made)
        return self._known[value]

    def _wide(self, build: Builder, value: Value) -> Value:
        number = literal(value)
        return build.add(ops.Const(int(number), type=i64) if number is not None else ops.Cast(value, type=i64))

    # ---- in an iteration ---------------------------------------------------------------------------------------------

    def store(self, value: Op) -> None:
        """Let the kernel store a value as soon as it has it."""
        assert value.block is not None
        build = Builder(value.block, value.next, value.span)
        for place, word in zip(self._places(build, value, lambda arg: arg), _words(build, value), strict=True):
            build.add(ops.Store(place, word))

    def load(self, build: Builder, value: Op, given: Callable[[Value], Value]) -> Value:
        """The recorded value. `given` gives what stands for the index of a loop."""
        words: list[Value] = [build.add(ops.Load(place)) for place in self._places(build, value, given)]
        return _from_words(build, iter(words), value.type)

    def count(self, build: Builder) -> None:
        """Store the number of records to the first one."""
        assert self.total is not None
        build.add(ops.Store(self._place(build, build.add(ops.Const(0, type=i32))), self.total))

    def _places(self, build: Builder, value: Op, given: Callable[[Value], Value]) -> list[Value]:
        number: Value | None = None
        for axis in self.axes[value]:
            moved = _binary(build, "sub", self._wide(build, given(axis.index)), axis.begin)
            if axis.step != 1:
                moved = _binary(build, "floordiv", moved, build.add(ops.Const(axis.step, type=i64)))
            number = (
                moved if number is None else _binary(build, "add", _binary(build, "mul", number, axis.count), moved)
            )
        width, first = flat_size(value.type), self.bases[value]
        if number is not None:
            times = build.add(ops.Const(width, type=i64))
            first = _binary(build, "add", first, _binary(build, "mul", number, times))
        places = [_binary(build, "add", first, build.add(ops.Const(part, type=i64))) for part in range(width)]
        return [self._place(build, build.add(ops.Cast(place, type=i32))) for place in places]

    def _place(self, build: Builder, index: Value) -> Value:
        array = build.add(ops.Arg(self.param, type=self.kernel.params[self.param].type))
        return build.add(ops.ArrayPtr(array, [index]))


def _binary(build: Builder, kind: str, a: Value, b: Value) -> Value:
    """An operator on i64. Constants are folded, so that a constant number of records is one."""
    x, y = literal(a), literal(b)
    if x is not None and y is not None and kind in _FOLDED:
        return build.add(ops.Const(_FOLDED[kind](int(x), int(y)), type=i64))
    return build.add(ops.Binary(kind, a, b))


_FOLDED: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "max": max,
    "floordiv": lambda x, y: x // y,
}


def _count(build: Builder, begin: Value, end: Value, step: int) -> Value:
    """The number of iterations: the distance by the step, rounded up, as -(-distance // step)."""
    negated = _binary(build, "sub", begin, end)
    rounded = negated if step == 1 else _binary(build, "floordiv", negated, build.add(ops.Const(step, type=i64)))
    zero = build.add(ops.Const(0, type=i64))
    return _binary(build, "max", _binary(build, "sub", zero, rounded), zero)


# ---- values as words -------------------------------------------------------------------------------------------------


def _parts(build: Builder, value: Value) -> list[Value]:
    """The scalars of a value."""
    if isinstance(value.type, Struct):
        members = [build.add(ops.Member(value, k)) for k in range(len(value.type.members))]
        return [part for member in members for part in _parts(build, member)]
    if isinstance(value.type, Tensor):
        return [build.add(ops.Extract(value, k)) for k in range(flat_size(value.type))]
    return [value]


def _words(build: Builder, value: Value) -> list[Value]:
    """The bits of each scalar of a value, as an i64."""
    found = list[Value]()
    for part in _parts(build, value):
        assert isinstance(part.type, Prim)
        bits = build.add(ops.BitCast(part, type=_BITS[part.type.size])) if part.type.is_float else part
        found.append(bits if bits.type is i64 else build.add(ops.Cast(bits, type=i64)))
    return found


def _from_words(build: Builder, words: Any, type: Type) -> Value:
    """The value of that type whose scalars have these bits."""
    if isinstance(type, Struct):
        return build.add(ops.MakeStruct([_from_words(build, words, kind) for _, kind in type.members], type=type))
    if isinstance(type, Tensor):
        parts = [_from_words(build, words, element(type)) for _ in range(flat_size(type))]
        return build.add(ops.MakeTensor(parts, type=type))
    assert isinstance(type, Prim)
    word: Value = next(words)
    if type is u1:
        return build.add(ops.Binary("ne", word, build.add(ops.Const(0, type=i64))))
    bits = _BITS[type.size] if type.is_float else type
    narrow = word if bits is i64 else build.add(ops.Cast(word, type=bits))
    return build.add(ops.BitCast(narrow, type=type)) if type.is_float else narrow
