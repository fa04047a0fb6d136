"""Values that a launch records for its gradient.

A gradient kernel computes values of its kernel again. It cannot compute what was in memory between two stores, the old
value of an atomic, or the exact bits of a computed number. The *recording kernel* is the kernel that also stores these
values to an array, its *records*. The gradient kernel loads them from there.

    parallel_for (%i) {                        parallel_for (%i) {
      %x = load @x[%i]                           %x = load @x[%i]
      store @x[%i], (f %x)               =>      store @records[%base + (%i - %begin)], (bits of %x)
    }                                            store @x[%i], (f %x)
                                               }

Each value has a place for each iteration of the loops around it, if the bounds of all these loops are known before the
launch: they are computed from constants, parameters, shapes, and memory that the kernel does not write. Before a *late*
parallel loop, of which this does not hold, the recording kernel takes places from the rest of the array. One place,
known before the launch, says where these begin.

A value in another serial loop is *loose*. Loose values have numbers: each iteration of the parallel loop counts those
that it records, in a local. Their words are in chunks, which the recording kernel takes from the rest of the array as
it needs them. Chunk `e` has the words `4 ** e - 4` and following, three times as many as all before it. An iteration
has a place for the begin of each of its chunks. The number of a loose value is a value of the kernel, which gradients
keep or compute again as they do with others.

If the gradient shall have duals (the mode "vjp.jvp"), each number has two words. Forward mode of the recording kernel
stores the dual to the second one, and forward mode of the gradient kernel loads it (`forward.py`).

Both kernels are made from the same CHI by the same passes, so they choose the same values in the same order, and give
them the same places. `text` describes that choice; the two are compared. A third kernel, the *counting kernel*, only
stores the number of places, unless it is a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.alias import space_of, spaces_meet
from weft.ir.autodiff.demand import Demand
from weft.ir.autodiff.serial import elements_of
from weft.ir.core import Block, BlockArg, Builder, Op, Value
from weft.ir.intervals import in_bounds
from weft.ir.rewrite import literal
from weft.ir.symbols import RECORDS, role_of
from weft.ir.types import Prim, Struct, Tensor, Type, element, flat_size, i16, i32, i64, pointer, u1

__all__ = ["RecordParam", "Records", "is_recordable", "number_loose", "record_param"]

_PARALLEL = (ops.ParallelFor, ops.StructFor)
_LOOPS = (*_PARALLEL, ops.For, ops.While)
_MOST = 1 << 31  # the indices of a loop, active or not, which have a place each
_BITS = {2: i16, 4: i32, 8: i64}
_CHUNKS = 15  # of an iteration: with 4 ** 16 - 4 words
_FULL = "the records of a gradient need more memory than there is: let an iteration compute less, or split the kernel"


RecordParam = tuple[int, str, bool, bool]


def record_param(kernel: ops.Kernel) -> RecordParam | None:
    """The parameter for records, and what `role_of` says of it. None: the kernel has no records."""
    found = ((k, *role_of(param.hidden)) for k, param in enumerate(kernel.params) if param.hidden in RECORDS)
    return next(found, None)


def is_recordable(value: Value) -> bool:
    """Whether a launch can record a value."""
    if not isinstance(value, Op) or not isinstance(value.type, (Prim, Tensor, Struct)):
        return False
    loop = _parallel_around(value)
    return not isinstance(loop, ops.StructFor) or prod(loop.field.shape) < _MOST


def number_loose(kernel: ops.Kernel, values: Iterable[Op], words: int) -> dict[Op, ops.Load]:
    """Give the loose ones of these values their numbers, which are loaded just before the value. `words`: of a
    scalar."""
    counts: dict[Block, Value] = {}
    numbers: dict[Op, ops.Load] = {}
    for value in values:
        loops = [outer for outer in value.around() if isinstance(outer, (ops.For, ops.While))]
        if all(_is_counted(kernel, loop) for loop in loops):
            continue
        loop = _parallel_around(value)
        body = kernel.body if loop is None else loop.regions[0]
        if body not in counts:
            first = Builder(body, body.first, value.span)
            counts[body] = first.add(ops.Alloca(type=pointer(i32), name="recorded"))
            first.add(ops.Store(counts[body], first.add(ops.Const(0, type=i32))))
        build = Builder.at(value)
        number = numbers[value] = build.add(ops.Load(counts[body]))
        width = build.add(ops.Const(words * flat_size(value.type), type=i32))
        build.add(ops.Store(counts[body], build.add(ops.Binary("add", number, width))))
    return numbers


def _parallel_around(value: Op) -> ops.ParallelFor | ops.StructFor | None:
    return next((outer for outer in value.around() if isinstance(outer, _PARALLEL)), None)


def _is_counted(kernel: ops.Kernel, loop: Op) -> bool:
    """Whether the number of iterations is known before the launch."""
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
    """The iterations of a loop along an axis: `index` in `begin`, `begin + step`, ..., of which there are `count`. A
    late loop has no count: `begin` and `end` are values of the kernel."""

    index: BlockArg
    begin: Value
    step: int
    count: Value | None
    end: Value | None = None


class Records:
    """The records of a kernel, in its parameter `param`: those values of it that are needed and recorded. The first
    word says where the rest of the array begins, if places are taken from it."""

    def __init__(self, demand: Demand, param: RecordParam) -> None:
        self.kernel, self.param = demand.kernel, param[0]
        self._words = 2 if param[3] else 1  # of a scalar: forward mode stores its dual after it
        self.values = [op for op in demand.ops if op in demand.recorded and op in demand.needed]
        self.numbers = {op: number for op in self.values if (number := demand.recorded[op]) is not None}
        self.axes: dict[Op | None, list[_Axis]] = {}  # of a value, and of a parallel loop with loose values
        self.bases: dict[Op | None, Value] = {}
        self.widths: dict[Op | None, int] = {}
        self.late: dict[
            Op | None, ops.ParallelFor | ops.StructFor
        ] = {}  # of what is in a late loop: the loop. Its base is in memory
        self.total: Value | None = None
        self._known: dict[Value, Value] = {}  # what was computed before all else
        loops = {loop for value in self.values if (loop := _parallel_around(value)) is not None}
        self._lates = {loop for loop in loops if not _is_counted(self.kernel, loop)}
        self.grows = bool(self.numbers or self._lates)  # whether the launch finds out how many records there are

    @property
    def text(self) -> str:
        """The number of places, "?" if it is no constant, "+" if the launch takes more, and the types of all."""
        assert self.total is not None
        number = literal(self.total)
        words = ["?" if number is None else str(number), *(["+"] if self.grows else [])]
        return " ".join([*words, *(value.type.text for value in self.values)])

    def begin(self, build: Builder, stores: bool = False) -> None:
        """Compute where the places of each value begin. `stores`: the kernel stores to them."""
        self._loops: dict[Op, list[_Axis]] = {}
        self.total = build.add(ops.Const(int(self.grows), type=i64))
        for value in self.values:
            if value not in self.numbers:
                self._reserve(build, value, value, self._words * flat_size(value.type))
        for loop in dict.fromkeys(_parallel_around(value) for value in self.numbers):
            self._reserve(
                build, loop, next(value for value in self.numbers if _parallel_around(value) is loop), _CHUNKS
            )
        if stores and self.grows:
            self._put(build, build.add(ops.Const(0, type=i64)), self.total)
        for key, late in self.late.items() if stores else ():
            self._make_room(key, late)

    def _reserve(self, build: Builder, key: Op | None, value: Op, width: int) -> None:
        """Reserve places for a value, or for the chunks of the iterations of the loop around it."""
        assert self.total is not None
        around = [outer for outer in value.around() if isinstance(outer, _LOOPS if key is value else _PARALLEL)]
        axes = self.axes[key] = []
        size: Value = build.add(ops.Const(width, type=i64))
        for loop in reversed(around):
            if loop not in self._loops:
                self._loops[loop] = self._axes(build, loop)
            axes += self._loops[loop]
        outermost = _parallel_around(value)
        if outermost is not None and outermost in self._lates:
            self.late[key] = outermost
            size = _const(build, 1)
        else:
            for axis in axes:
                assert axis.count is not None
                size = _binary(build, "mul", size, axis.count)
        self.bases[key], self.widths[key] = self.total, width
        self.total = _binary(build, "add", self.total, size)

    def _axes(self, build: Builder, loop: Op) -> list[_Axis]:
        if isinstance(loop, ops.StructFor):
            pairs = zip(loop.body.args, elements_of(loop.field), strict=False)
            return [_Axis(arg, _const(build, first), 1, _const(build, end - first)) for arg, (first, end) in pairs]
        if isinstance(loop, ops.ParallelFor):
            ranges = [(begin, end, 1) for begin, end in zip(loop.begins, loop.ends, strict=True)]
        else:
            assert isinstance(loop, ops.For)
            ranges = [(loop.begin, loop.end, int(literal(loop.step) or 1))]
        args = loop.regions[0].args
        if loop in self._lates:
            return [_Axis(arg, begin, step, None, end) for arg, (begin, end, step) in zip(args, ranges, strict=True)]
        made = list[_Axis]()
        for arg, (begin, end, step) in zip(args, ranges, strict=True):
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
        for number, word in enumerate(_words(build, value)):
            part = self._words * number
            if value in self.numbers:
                place = self._chunk_place(build, value, part, lambda own: own, grows=True)
            else:
                place = self._place(build, value, part, lambda own: own)
            if self._words == 2:  # forward mode stores the dual later
                self._put(build, _binary(build, "add", place, _const(build, 1)), _const(build, 0))
            self._put(build, place, word)

    def load(self, build: Builder, value: Op, given: Callable[[Value], Value]) -> Value:
        """The recorded value. `given` gives what stands for a value, or for the index of a loop."""
        words = list[Value]()
        for part in range(0, self._words * flat_size(value.type), self._words):
            if value in self.numbers:
                place = self._chunk_place(build, value, part, given)
            else:
                place = self._place(build, value, part, given)
            words.append(self._get(build, place))
        return _from_words(build, iter(words), value.type)

    def count(self, build: Builder) -> None:
        """Store the number of places to the first one."""
        assert self.total is not None
        self._put(build, build.add(ops.Const(0, type=i64)), self.total)

    def _place(self, build: Builder, key: Op | None, part: Value | int, given: Callable[[Value], Value]) -> Value:
        """The place of a part of what was reserved, in the iteration that is built."""
        number: Value | None = None
        for axis in self.axes[key]:
            begin, count = self._bounds(build, axis, given)
            moved = _binary(build, "sub", self._wide(build, given(axis.index)), begin)
            moved = _binary(build, "floordiv", moved, _const(build, axis.step)) if axis.step != 1 else moved
            scaled = None if number is None else _binary(build, "mul", number, count)
            number = moved if scaled is None else _binary(build, "add", scaled, moved)
        first = self._get(build, self.bases[key]) if key in self.late else self.bases[key]
        if number is not None:
            width = _const(build, self.widths[key])
            first = _binary(build, "add", first, _binary(build, "mul", number, width))
        return _binary(build, "add", first, _const(build, part) if isinstance(part, int) else part)

    def _chunk_place(
        self, build: Builder, value: Op, part: int, given: Callable[[Value], Value], grows: bool = False
    ) -> Value:
        """The place of a word of a loose value. `grows`: if it is the first one of a chunk, take the chunk."""
        moved = _binary(build, "add", self._wide(build, given(self.numbers[value])), _const(build, part + 4))
        bits = _binary(build, "sub", _const(build, 63), build.add(ops.Unary("clz", moved)))
        exponent = _binary(build, "shr", bits, _const(build, 1))
        first = _binary(build, "shl", _const(build, 1), _binary(build, "mul", exponent, _const(build, 2)))
        offset = _binary(build, "sub", moved, first)
        chunk = _binary(build, "sub", exponent, _const(build, 1))
        begin = self._place(build, _parallel_around(value), chunk, given)
        if grows:
            branch = build.add(ops.If(build.add(ops.Binary("eq", offset, _const(build, 0)))))
            inner = Builder(branch.then, None, build.span)
            self._take(inner, begin, _binary(inner, "mul", first, _const(inner, 3)))
        return _binary(build, "add", self._get(build, begin), offset)

    def _bounds(self, build: Builder, axis: _Axis, given: Callable[[Value], Value]) -> tuple[Value, Value]:
        """The first index of an axis, and the number of its iterations."""
        if axis.count is not None:
            return axis.begin, axis.count
        assert axis.end is not None
        begin, end = (self._wide(build, given(bound)) for bound in (axis.begin, axis.end))
        return begin, _count(build, begin, end, axis.step)

    def _make_room(self, key: Op | None, loop: Op) -> None:
        """Before a late loop: take places for its iterations, and note where they begin."""
        build = Builder.at(loop)
        size = _const(build, self.widths[key])
        for axis in self.axes[key]:
            size = _binary(build, "mul", size, self._bounds(build, axis, lambda own: own)[1])
        self._take(build, self.bases[key], size)

    def _take(self, build: Builder, begin: Value, size: Value) -> None:
        """Take places from the rest of the array, and note where they begin."""
        taken = build.add(ops.Atomic("add", self._at(build, _const(build, 0)), size))
        room = self._wide(build, build.add(ops.ArrayShape(self._array(build), 0)))
        fits = build.add(ops.Binary("le", _binary(build, "add", taken, size), room))
        build.add(ops.Assert(fits, [], _FULL))
        self._put(build, begin, taken)

    def _array(self, build: Builder) -> Value:
        return build.add(ops.Arg(self.param, type=self.kernel.params[self.param].type))

    def _at(self, build: Builder, place: Value) -> Value:
        return build.add(ops.ArrayPtr(self._array(build), [build.add(ops.Cast(place, type=i32))]))

    def _put(self, build: Builder, place: Value, word: Value) -> None:
        build.add(ops.Store(self._at(build, place), word))

    def _get(self, build: Builder, place: Value) -> Value:
        return build.add(ops.Load(self._at(build, place)))


def _const(build: Builder, number: int) -> Value:
    return build.add(ops.Const(number, type=i64))


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
