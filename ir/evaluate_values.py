"""The meaning of the ops that compute values and access memory, in the evaluator. Control flow is in `evaluate.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.ir import ops
from weft.ir.core import pointee
from weft.ir.errors import InternalError
from weft.ir.evaluate_vectors import addresses, chosen, splat
from weft.ir.machine import Env, Machine, Run, runs
from weft.ir.memory_model import Place, array_place, convert, flat_values, packed, unflatten
from weft.ir.scalar import BINARY, UNARY, binary_type, cast_value, unary_type
from weft.ir.types import Lanes, Pointer, Prim, Struct, Tensor, Type, element, flat_size, flatten, u1

# ---- values ----------------------------------------------------------------------------------------------------------


@runs(ops.Const)
def _const(machine: Machine, op: ops.Const) -> Run:
    value = cast_value(op.value, element(op.type))
    return lambda env: value


@runs(ops.Arg)
def _arg(machine: Machine, op: ops.Arg) -> Run:
    index = op.index
    return lambda env: machine.args[index]


@runs(ops.ScalarArg)
def _scalar_arg(machine: Machine, op: ops.ScalarArg) -> Run:
    index, part, type = op.index, op.part, machine.kernel.params[op.index].type
    return lambda env: flat_values(machine.args[index], type)[part]


def _float_of(machine: Machine, type: Type) -> Prim:
    """The float type that an integer operand is converted to. The op's own type gives it, once types are inferred."""
    elem = element(type)
    return elem if elem.is_float else machine.config.default_fp


def _as(prim: Prim, type: Type) -> Callable[[Any], Any]:
    """A cast that costs nothing if the type is already right."""
    return (lambda value: value) if element(type) is prim else (lambda value: cast_value(value, prim))


@runs(ops.Unary)
def _unary(machine: Machine, op: ops.Unary) -> Run:
    x, function = machine.slot(op.x), UNARY[op.kind].evaluate
    prim, result = unary_type(op.kind, element(op.x.type), _float_of(machine, op.type))
    before, after = _as(prim, op.x.type), _as(element(op.type), result)
    return lambda env: after(function(before(env[x])))


@runs(ops.Binary)
def _binary(machine: Machine, op: ops.Binary) -> Run:
    a, b, function = machine.slot(op.lhs), machine.slot(op.rhs), BINARY[op.kind].evaluate
    lhs, rhs = op.lhs.type, op.rhs.type
    left, right, result = binary_type(op.kind, element(lhs), element(rhs), _float_of(machine, op.type))
    if element(lhs) is element(rhs) is element(op.type):
        left = right = result = element(lhs)  # an op in one type computes in it: u1 + u1 wraps modulo 2
    first, second, after = _as(left, lhs), _as(right, rhs), _as(element(op.type), result)
    if isinstance(op.type, Prim) and left is right:
        function = BINARY[op.kind].on_scalars(left)
        if element(lhs) is element(rhs) is left and result is op.type:
            return lambda env: function(env[a], env[b])
    return lambda env: after(function(first(env[a]), second(env[b])))


@runs(ops.Select)
def _select(machine: Machine, op: ops.Select) -> Run:
    condition, a, b, type = machine.slot(op.condition), machine.slot(op.a), machine.slot(op.b), op.type
    if isinstance(type, Struct | Pointer):
        return lambda env: env[a] if env[condition] else env[b]
    if isinstance(type, Lanes) and isinstance(type.elem, Pointer):
        return chosen(machine, op)
    prim = element(type)
    first, second = _as(prim, op.a.type), _as(prim, op.b.type)

    def run(env: Env) -> Any:
        return np.where(np.asarray(env[condition]) != 0, first(env[a]), second(env[b]))[()]

    return run


@runs(ops.Cast)
def _cast(machine: Machine, op: ops.Cast) -> Run:
    x, type, source = machine.slot(op.x), op.type, op.x.type
    if isinstance(type, Prim) and isinstance(source, Prim) and type is not u1 and (source.is_int or type.is_float):
        dtype = type.np  # integers wrap and floats are rounded, as in numpy
        return lambda env: env[x].astype(dtype)
    return lambda env: convert(env[x], type)


@runs(ops.BitCast)
def _bit_cast(machine: Machine, op: ops.BitCast) -> Run:
    x, dtype = machine.slot(op.x), element(op.type).np
    return lambda env: np.asarray(env[x]).view(dtype)[()]


@runs(ops.Random)
def _random(machine: Machine, op: ops.Random) -> Run:
    prim, stream, type = element(op.type), op.stream, op.type
    if isinstance(type, Prim):
        return lambda env: machine.draw(prim, stream)
    return lambda env: unflatten([machine.draw(part, stream) for part in flatten(type)], type)


@runs(ops.RandomAt)
def _random_at(machine: Machine, op: ops.RandomAt) -> Run:
    prim, stream, draw = element(op.type), op.stream, machine.slot(op.draw)
    if op.lane:
        lane = machine.slot(op.lane[0])
        return lambda env: machine.drawn(prim, stream, int(env[draw]), int(env[lane]))
    return lambda env: machine.drawn(prim, stream, int(env[draw]))


@runs(ops.MakeTensor)
def _make_tensor(machine: Machine, op: ops.MakeTensor) -> Run:
    values, type = machine.slot_list(op.values), op.type
    return lambda env: unflatten([env[value] for value in values], type)


@runs(ops.Splat)
def _splat(machine: Machine, op: ops.Splat) -> Run:
    x, type = machine.slot(op.x), op.type
    if isinstance(type, Lanes):
        return splat(machine, op)
    return lambda env: convert(env[x], type)


@runs(ops.Extract)
def _extract(machine: Machine, op: ops.Extract) -> Run:
    x, index = machine.slot(op.x), op.index
    return lambda env: env[x].reshape(-1)[index]


@runs(ops.MatMul)
def _matmul(machine: Machine, op: ops.MatMul) -> Run:
    """Products are summed in the order of the inner axis. Each operation is rounded to the element type."""
    a, b, prim = machine.slot(op.lhs), machine.slot(op.rhs), element(op.type)
    times, plus = BINARY["mul"].evaluate, BINARY["add"].evaluate

    def run(env: Env) -> Any:
        left, right = cast_value(env[a], prim), cast_value(env[b], prim)
        column = (slice(None), None) if right.ndim == 2 else slice(None)
        terms = [times(left[:, k][column], right[k]) for k in range(left.shape[1])]
        total = terms[0]
        for term in terms[1:]:
            total = plus(total, term)
        return total

    return run


@runs(ops.Transpose)
def _transpose(machine: Machine, op: ops.Transpose) -> Run:
    x = machine.slot(op.x)
    return lambda env: env[x].T.copy()


@runs(ops.Reduce)
def _reduce(machine: Machine, op: ops.Reduce) -> Run:
    x, function, prim = machine.slot(op.x), BINARY[op.kind].evaluate, element(op.type)

    def run(env: Env) -> Any:
        first, *rest = cast_value(env[x], prim).reshape(-1)
        for value in rest:
            first = function(first, value)
        return first

    return run


@runs(ops.MakeStruct)
def _make_struct(machine: Machine, op: ops.MakeStruct) -> Run:
    values, type = machine.slot_list(op.values), op.type
    return lambda env: convert(tuple(env[value] for value in values), type)


@runs(ops.Member)
def _member(machine: Machine, op: ops.Member) -> Run:
    x, index = machine.slot(op.x), op.index
    return lambda env: env[x][index]


# ---- memory ----------------------------------------------------------------------------------------------------------


def _local(machine: Machine, op: ops.Alloca | ops.SharedLocal) -> Run:
    """A new local. All its bytes are filled with ones: garbage, but always the same garbage."""
    type = pointee(op)
    offsets, prims = packed(type), flatten(type)
    size = sum(prim.size for prim in prims)
    return lambda env: Place(np.ones(size, np.uint8), offsets, prims)


runs(ops.Alloca)(_local)
runs(ops.SharedLocal)(_local)


@runs(ops.FieldPtr)
def _field_ptr(machine: Machine, op: ops.FieldPtr) -> Run:
    indices, memory, field, activates = machine.slot_list(op.indices), machine.memory, op.field, op.activates
    places: dict[tuple[int, ...], Place] = {}

    def run(env: Env) -> Place:
        index = tuple([int(env[i]) for i in indices])
        if index not in places:
            places[index] = memory.place(field, index, activates)
        return places[index]

    return run


@runs(ops.ArrayPtr)
def _array_ptr(machine: Machine, op: ops.ArrayPtr) -> Run:
    array, indices, type = machine.slot(op.array), machine.slot_list(op.indices), pointee(op)
    prims, places = flatten(type), dict[tuple[int, ...], Place]()
    last: list[Any] = [None]  # the array that `places` are in

    def made(values: Any, index: tuple[int, ...]) -> Place:
        shape = values.shape[: len(index)]
        inside = all(0 <= i < extent for i, extent in zip(index, shape, strict=True))
        error = "" if inside else f"index {index} is out of bounds for an array of shape {shape}"
        buffer, start = array_place(values)
        start += sum(i * stride for i, stride in zip(index, values.strides))
        return Place(buffer, packed(type, start), prims, error)

    def run(env: Env) -> Place:
        values = env[array]
        if values is not last[0]:
            last[0] = values
            places.clear()
        index = tuple([int(env[i]) for i in indices])
        if index not in places:
            places[index] = made(values, index)
        return places[index]

    return run


@runs(ops.ArrayShape)
def _array_shape(machine: Machine, op: ops.ArrayShape) -> Run:
    array, axis, prim = machine.slot(op.array), op.axis, element(op.type)
    return lambda env: cast_value(env[array].shape[axis], prim)


@runs(ops.ElementPtr)
def _element_ptr(machine: Machine, op: ops.ElementPtr) -> Run:
    base, indices, type = machine.slot(op.base), machine.slot_list(op.indices), pointee(op.base)
    assert isinstance(type, Tensor)
    shape = type.shape

    def run(env: Env) -> Place:
        number, inside = 0, True
        for i, extent in zip(indices, shape, strict=True):
            at = int(env[i])
            inside = inside and 0 <= at < extent
            number = number * extent + at
        place: Place = env[base]
        if inside:
            return place.part(number, 1)
        return place.part(0, 1, f"index {tuple(int(env[i]) for i in indices)} is outside a tensor of shape {shape}")

    return run


@runs(ops.MemberPtr)
def _member_ptr(machine: Machine, op: ops.MemberPtr) -> Run:
    base, type = machine.slot(op.base), pointee(op.base)
    assert isinstance(type, Struct)
    start = sum(flat_size(member) for _, member in type.members[: op.index])
    count = flat_size(type.members[op.index][1])
    return lambda env: env[base].part(start, count)


@runs(ops.TempPtr)
def _temp_ptr(machine: Machine, op: ops.TempPtr) -> Run:
    type = pointee(op)
    place = Place(machine.temporaries, packed(type, op.offset), flatten(type))
    return lambda env: place


@runs(ops.Load)
def _load(machine: Machine, op: ops.Load) -> Run:
    ptr, type = machine.slot(op.ptr), op.type
    if machine.config.masks:
        nothing = unflatten([0] * flat_size(type), type)
        return lambda env: nothing if env[ptr].error else env[ptr].load(type)
    return lambda env: env[ptr].load(type)


@runs(ops.Store)
def _store(machine: Machine, op: ops.Store) -> Run:
    ptr, value, type = machine.slot(op.ptr), machine.slot(op.value), pointee(op.ptr)
    if machine.config.masks:
        return lambda env: None if env[ptr].error else env[ptr].store(env[value], type)
    return lambda env: env[ptr].store(env[value], type)


@runs(ops.Atomic)
def _atomic(machine: Machine, op: ops.Atomic) -> Run:
    ptr, operand, type, kind = machine.slot(op.ptr), machine.slot(op.value), op.type, op.kind
    masked, nothing = machine.config.masks, unflatten([0] * flat_size(op.type), op.type)

    def run(env: Env) -> Any:
        place: Place = env[ptr]
        if masked and place.error:
            return nothing
        old, value = place.load(type), convert(env[operand], type)
        place.store(value if kind == "xchg" else BINARY[kind].evaluate(old, value), type)
        return old

    return run


@runs(ops.AtomicLoad)
def _atomic_load(machine: Machine, op: ops.AtomicLoad) -> Run:
    return _updates(machine, op, lambda old, _: None)


@runs(ops.AtomicStore)
def _atomic_store(machine: Machine, op: ops.AtomicStore) -> Run:
    update = _updates(machine, op, lambda _, values: values[0])

    def run(env: Env) -> None:
        update(env)

    return run


@runs(ops.Exchange)
def _exchange(machine: Machine, op: ops.Exchange) -> Run:
    return _updates(machine, op, lambda _, values: values[0])


@runs(ops.CompareExchange)
def _compare_exchange(machine: Machine, op: ops.CompareExchange) -> Run:
    return _updates(machine, op, lambda old, values: values[1] if old.tobytes() == values[0].tobytes() else None)


def _updates(machine: Machine, op: Any, update: Callable[[Any, list[Any]], Any]) -> Run:
    """An atomic access of a scalar. `update` computes the new value from the old one and the operands; None: the value
    stays. It gives the old value."""
    ptr, values, type = machine.slot(op.ptr), machine.slot_list(op.operands[1:]), pointee(op.ptr)
    masked, nothing, reads = machine.config.masks, cast_value(0, element(type)), isinstance(op, ops.AtomicLoad)

    def run(env: Env) -> Any:
        place: Place = env[ptr]
        if masked and place.error:
            return nothing
        old = place.load(type)
        if not reads:
            place.touch()
        new = update(old, [convert(env[value], type) for value in values])
        if new is not None:
            place.store(new, type)
        return old

    return run


@runs(ops.Fence)
def _fence(machine: Machine, op: ops.Fence) -> Run:
    """Iterations run one at a time, and each sees the effects of others at once."""
    return lambda env: None


@runs(ops.RunRoutine)
def _run_routine(machine: Machine, op: ops.RunRoutine) -> Run:
    raise InternalError(f"routine '{op.kind}' of '{op.node.name}' is compiled apart: its tasks are not evaluated")


@runs(ops.HoldInterrupts)
def _hold_interrupts(machine: Machine, op: ops.HoldInterrupts) -> Run:
    course, held = machine.course, int(op.held)

    def run(env: Env) -> None:
        course.held = held

    return run


@runs(ops.TreeBase)
def _tree_base(machine: Machine, op: ops.TreeBase) -> Run:
    place = Place(machine.memory.trees[op.tree], [0], [element(pointee(op))])
    return lambda env: place


@runs(ops.ArrayBase)
def _array_base(machine: Machine, op: ops.ArrayBase) -> Run:
    index, prim = op.index, element(pointee(op))

    def run(env: Env) -> Place:
        buffer, start = array_place(machine.args[index])
        return Place(buffer, [start], [prim])

    return run


@runs(ops.ArrayExtent)
def _array_extent(machine: Machine, op: ops.ArrayExtent) -> Run:
    index, axis = op.index, op.axis
    return lambda env: np.int64(machine.args[index].shape[axis])


@runs(ops.ArrayStride)
def _array_stride(machine: Machine, op: ops.ArrayStride) -> Run:
    index, axis = op.index, op.axis
    return lambda env: np.int64(machine.args[index].strides[axis])


@runs(ops.Address)
def _address(machine: Machine, op: ops.Address) -> Run:
    if isinstance(op.type, Lanes):
        return addresses(machine, op)
    base, offset, type = machine.slot(op.base), op.offset, pointee(op)
    indices, strides = machine.slot_list(op.indices), machine.slot_list(op.strides)
    prims, scope, course = flatten(type), op.scope.whole, machine.course
    in_tree = isinstance(op.base, ops.TreeBase)

    def run(env: Env) -> Place:
        place: Place = env[base]
        if in_tree and scope in course.moved:
            place = Place(course.moved[scope], place.offsets, place.prims)
        start = place.offsets[0] + offset
        start += sum(int(env[i]) * int(env[stride]) for i, stride in zip(indices, strides, strict=True))
        return Place(place.buffer, packed(type, start), prims, place.error)

    return run
