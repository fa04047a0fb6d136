"""The adjoint of each op: what its operands get from the adjoint of its value. `reverse.py` calls these functions in
reverse order.

A pullback reads values of the kernel with `frame.value`. `NEEDS` in `demand.py` names those that it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.adjoints import Frame, accumulate, clear, filled, part_of
from weft.ir.autodiff.companions import carries, partials_of
from weft.ir.autodiff.demand import EXTREMES, LOCALS, Demand, values_in
from weft.ir.autodiff.functions import arrays_in, called_again, name_in, parts_of, together, writes_companions
from weft.ir.autodiff.powers import power_of
from weft.ir.autodiff.products import pull_factor
from weft.ir.autodiff.rules import apply_partial
from weft.ir.core import Builder, Op, Value
from weft.ir.registry import registers
from weft.ir.rewrite import constant
from weft.ir.types import VOID, element, flat_size, pointer, shape_of

__all__ = ["PULLBACKS", "call_jointly"]

Pullback = Callable[[Demand, Frame, Any], None]
PULLBACKS: dict[type[Op], Pullback] = {}
pullbacks = registers(PULLBACKS)


class _Operands(Mapping[str, Value]):
    """What stands for the operands `x` and `y` and the result `r` of an operator. Only those that its partial
    derivatives use are computed. Of the others, only the type is read."""

    def __init__(self, frame: Frame, op: ops.Unary | ops.Binary) -> None:
        self.frame, self.of = frame, dict(zip("xy", op.operands, strict=False)) | {"r": op}

    def __getitem__(self, name: str) -> Value:
        return self.frame.known(self.of[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.of)

    def __len__(self) -> int:
        return len(self.of)


def _adjoint(frame: Frame, op: Op) -> Value | None:
    """The adjoint of a value, which is complete: all uses come before it in a backward sweep. None: it is 0."""
    place, total = frame.places.get(op), frame.sums.pop(op, None)
    if place is not None:
        return frame.build.add(ops.Load(place))
    return None if total is None else total.get(frame.build)


def _give(demand: Demand, frame: Frame, value: Value, adjoint: Value, path: tuple[int, ...] = ()) -> None:
    if value in demand.active:
        if not path and adjoint.type is not value.type:  # a scalar that was combined with each element of a tensor
            adjoint = frame.build.add(ops.Reduce("add", adjoint))
        frame.contribute(value, adjoint, path)


# ---- values ----------------------------------------------------------------------------------------------------------


@pullbacks(ops.Unary, ops.Binary)
def _operator(demand: Demand, frame: Frame, op: ops.Unary | ops.Binary) -> None:
    adjoint = _adjoint(frame, op)
    if adjoint is None:
        return
    parts, (base, power) = partials_of(op), power_of(op)
    if power == 2:  # 2 v a for each v: parts of a norm share 2 a
        parts, adjoint = parts[:1], _times(frame, adjoint, 2.0)
    elif power > 2:  # n v^(n - 1) a, and no adjoint of the other factor
        parts = [(value, part) for value, part in parts if value is base]

    def pull(value: Value, part: object) -> None:
        term = apply_partial(part, adjoint, _Operands(frame, op), frame.build)  # type: ignore[arg-type]
        if term is not None:
            _give(demand, frame, value, term if power <= 2 else _times(frame, term, float(power)))

    for value, part in parts:
        if value in demand.active:
            if frame.unknown.isdisjoint(values_in(op, part)):
                pull(value, part)
            else:
                frame.waiting.append(partial(pull, value, part))


def _times(frame: Frame, value: Value, factor: float) -> Value:
    return frame.build.add(ops.Binary("mul", value, constant(frame.build, factor, value.type)))


@pullbacks(ops.Select)
def _select(demand: Demand, frame: Frame, op: ops.Select) -> None:
    adjoint = _adjoint(frame, op)
    if adjoint is None:
        return
    condition, add = frame.value(op.condition), frame.build.add
    zero = filled(frame.build, adjoint.type)
    if op.a in demand.active:
        _give(demand, frame, op.a, add(ops.Select(condition, adjoint, zero)))
    if op.b in demand.active:
        _give(demand, frame, op.b, add(ops.Select(condition, zero, adjoint)))


@pullbacks(ops.Cast, ops.BitCast)
def _cast(demand: Demand, frame: Frame, op: ops.Cast | ops.BitCast) -> None:
    adjoint = _adjoint(frame, op)
    if adjoint is not None:
        _give(demand, frame, op.x, frame.build.add(type(op)(adjoint, type=op.x.type)))


@pullbacks(ops.Splat)
def _splat(demand: Demand, frame: Frame, op: ops.Splat) -> None:
    adjoint = _adjoint(frame, op)
    if adjoint is not None:
        _give(demand, frame, op.x, frame.build.add(ops.Reduce("add", adjoint)))


@pullbacks(ops.Reduce)
def _reduce(demand: Demand, frame: Frame, op: ops.Reduce) -> None:
    adjoint = _adjoint(frame, op)
    if adjoint is not None:
        _give(demand, frame, op.x, frame.build.add(ops.Splat(adjoint, type=op.x.type)))


@pullbacks(ops.Transpose)
def _transpose(demand: Demand, frame: Frame, op: ops.Transpose) -> None:
    adjoint = _adjoint(frame, op)
    if adjoint is not None:
        _give(demand, frame, op.x, frame.build.add(ops.Transpose(adjoint)))


@pullbacks(ops.Extract, ops.Member)
def _part(demand: Demand, frame: Frame, op: ops.Extract | ops.Member) -> None:
    adjoint = _adjoint(frame, op)
    if adjoint is not None:
        _give(demand, frame, op.x, adjoint, (op.index,))


@pullbacks(ops.MakeTensor, ops.MakeStruct)
def _whole(demand: Demand, frame: Frame, op: ops.MakeTensor | ops.MakeStruct) -> None:
    adjoint = _adjoint(frame, op)
    if adjoint is None:
        return
    for index, value in enumerate(op.values):
        if value in demand.active:
            kind = ops.Extract if isinstance(op, ops.MakeTensor) else ops.Member
            _give(demand, frame, value, frame.build.add(kind(adjoint, index)))


@pullbacks(ops.MatMul)
def _matmul(demand: Demand, frame: Frame, op: ops.MatMul) -> None:
    adjoint, add = _adjoint(frame, op), frame.build.add
    if adjoint is None:
        return
    if op.rhs in demand.active:
        _give(demand, frame, op.rhs, add(ops.MatMul(add(ops.Transpose(frame.value(op.lhs))), adjoint)))
    if op.lhs not in demand.active:
        return
    right = frame.value(op.rhs)
    if len(shape_of(right.type)) == 2:
        _give(demand, frame, op.lhs, add(ops.MatMul(adjoint, add(ops.Transpose(right)))))
        return
    rows = [add(ops.Extract(adjoint, row)) for row in range(flat_size(adjoint.type))]
    columns = [add(ops.Extract(right, column)) for column in range(flat_size(right.type))]
    outer: list[Value] = [
        add(ops.Binary("mul", row, column, type=element(right.type))) for row in rows for column in columns
    ]
    _give(demand, frame, op.lhs, add(ops.MakeTensor(outer, type=op.lhs.type)))


@pullbacks(ops.Invoke)
def _invoke(demand: Demand, frame: Frame, op: ops.Invoke) -> None:
    """The function's derivative gives the adjoint of each argument of floats, adds to those of memory that the
    function reads, and takes those of memory that it writes."""
    adjoint = _adjoint(frame, op)
    if adjoint is None and writes_companions(op, demand.companions):
        adjoint = None if op.type is VOID else filled(frame.build, op.type)
        _pull_call(demand, frame, op, adjoint, joint=False)
    elif adjoint is not None:
        _pull_call(demand, frame, op, adjoint, joint=False)


def call_jointly(demand: Demand, frame: Frame, op: ops.Invoke) -> None:
    """The pullback of a call whose value is needed, and not computed yet."""
    adjoint, add = _adjoint(frame, op), frame.build.add
    if adjoint is None:
        frame.values[op] = add(called_again(op, [frame.value(value) for value in op.values]))
        return
    results, made = parts_of(op.type), _pull_call(demand, frame, op, adjoint, joint=True)
    parts: list[Value] = [add(ops.Member(made, k)) for k in range(len(results))]
    frame.values[op] = parts[0] if results == (op.type,) else add(ops.MakeStruct(parts, type=op.type))


def _pull_call(demand: Demand, frame: Frame, op: ops.Invoke, adjoint: Value | None, joint: bool) -> Value:
    """Call the derivative of a function. `adjoint`: None if the function has no results. `joint`: the one that gives
    its results, too."""
    add, companions = frame.build.add, demand.companions
    results, parts = parts_of(op.type), list[Value]()
    if adjoint is not None:
        parts = [add(ops.Member(adjoint, k)) for k in range(len(results))] if results != (op.type,) else [adjoint]
    given = [part for part in parts if carries(part.type)]
    floats = [value for value in op.values if carries(value.type)]
    arrays = [ops.Arg(number, type=companions.types[number]) for _, number in arrays_in(op, companions)]
    values = [*(frame.value(value) for value in op.values), *given, *map(add, arrays)]
    first = results if joint else ()
    type, touched = together([*first, *(v.type for v in floats)]), (*op.touched, *companions.beside(op.touched))
    name = name_in(op, companions, joint)
    made = add(ops.Invoke(name, values, touched, op.only_read, stream=op.stream, effects=op.effects, type=type))
    for k, value in enumerate(floats, len(first)):
        _give(demand, frame, value, add(ops.Member(made, k)))
    return made


# ---- memory ----------------------------------------------------------------------------------------------------------


@pullbacks(ops.Load)
def _load(demand: Demand, frame: Frame, op: ops.Load) -> None:
    adjoint = _adjoint(frame, op)
    if adjoint is not None and demand.takes(op.ptr):
        accumulate(frame, frame.adjoint(op.ptr), adjoint)


@pullbacks(ops.Store)
def _store(demand: Demand, frame: Frame, op: ops.Store) -> None:
    """The value gets the adjoint of the memory, and the memory's old value gets none."""
    place = frame.adjoint(op.ptr)
    adjoint = frame.build.add(ops.Load(place)) if op.value in demand.active and place not in frame.zero else None
    if not _is_first(op):
        clear(frame, place)
    if adjoint is not None:
        _give(demand, frame, op.value, adjoint)


def _is_first(op: ops.Store) -> bool:
    """Whether the store gives a local its first value: then nothing reads the adjoint of what it held before."""
    local = op.ptr
    if not isinstance(local, LOCALS) or local.block is not op.block:
        return False
    between = local.next
    while between is not None and between is not op:
        if any(local in inner.operands for inner in between.walk()):
            return False
        between = between.next
    return between is op


@pullbacks(ops.Atomic)
def _atomic(demand: Demand, frame: Frame, op: ops.Atomic) -> None:
    """The value of a sum gets the adjoint of the memory, which stays."""
    if op.kind in EXTREMES:
        _extreme(demand, frame, op)
        return
    if op.kind == "mul":
        if op.value in demand.active:
            _give(demand, frame, op.value, pull_factor(frame, op, isinstance(root_of(op.ptr), LOCALS)))
        return
    old = _adjoint(frame, op)
    place = frame.adjoint(op.ptr)
    if op.value in demand.active and carries(op.value.type):
        adjoint: Value = frame.build.add(ops.Load(place))
        if op.kind == "sub":
            adjoint = frame.build.add(ops.Unary("neg", adjoint))
        _give(demand, frame, op.value, adjoint)
    if old is not None:
        accumulate(frame, place, old)


def _extreme(demand: Demand, frame: Frame, op: ops.Atomic) -> None:
    """The iteration whose operand is in memory at the end takes the adjoint of the memory, and leaves 0. Of several
    with that operand, the first to come takes it. A constant that won takes it too: the old value gets none."""
    add, value, place = frame.build.add, frame.value(op.value), frame.adjoint(op.ptr)
    final = frame.value(op) if isinstance(root_of(op.ptr), LOCALS) else add(ops.Load(frame.address(op.ptr)))
    if isinstance(op.value, ops.Load) and op.value in demand.active and _is_loaded_for(op.value, op):
        winner = add(ops.If(add(ops.Binary("eq", value, final))))
        inner = frame.inner(winner.then, op.span)
        moved = inner.build.add(ops.Atomic("xchg", place, filled(inner.build, value.type)))
        accumulate(inner, inner.adjoint(op.value.ptr), moved)
        return
    taken = add(ops.Alloca(type=pointer(value.type)))
    add(ops.Store(taken, filled(frame.build, value.type)))
    shape = shape_of(value.type)
    for index in range(flat_size(value.type)):
        part, last = (add(ops.Extract(whole, index)) if shape else whole for whole in (value, final))
        where, target = (part_of(frame.build, ptr, index) if shape else ptr for ptr in (place, taken))
        winner = add(ops.If(add(ops.Binary("eq", part, last))))
        build = Builder(winner.then, None, op.span)
        zero = filled(build, element(value.type))
        build.add(ops.Store(target, build.add(ops.Atomic("xchg", where, zero))))
    _give(demand, frame, op.value, add(ops.Load(taken)))


def _is_loaded_for(load: ops.Load, op: ops.Atomic) -> bool:
    """Whether a scalar is loaded for an op only, and no adjoint is taken from its memory before the op: then the memory
    may receive the adjoint at the op. Iterations that did not win need not access it."""
    if shape_of(load.type) or load.block is not op.block or len(load.users) != 1:
        return False
    between = load.next
    while between is not None and between is not op:
        if not between.pure and not isinstance(between, ops.Load):
            return False
        between = between.next
    return between is op
