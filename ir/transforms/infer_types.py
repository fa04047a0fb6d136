"""Makes the operand types of each op agree by inserting casts and splats.

    %a: i32, %b: f32x3
    %c = binary add %a, %b     =>     %t = cast %a : f32;  %u = splat %t : f32x3;  %c = binary add %u, %b : f32x3
    store %p: *f32, %i: i32    =>     %t = cast %i : f32;  store %p, %t
    if %x: i32                 =>     %t = cast %x : u1;   if %t

The operands of an operator get the types that its row of the table asks for. A stored value gets the type of the
memory, a loop bound gets the type of the index, a condition becomes u1, and a returned value gets the type of the
kernel's result. Constants are converted at once. If types cannot agree, the pass reports an error of the user. This
pass fixes the meaning of the program: no later pass inserts casts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.ir import ops
from weft.ir.config import CompileConfig
from weft.ir.core import Block, BlockArg, Builder, Op, Value, pointee
from weft.ir.errors import TypeMismatch
from weft.ir.intervals import interval, type_interval
from weft.ir.passes import pass_
from weft.ir.registry import registers
from weft.ir.scalar import BINARY, UNARY, binary_type, cast_value, unary_type
from weft.ir.simt import SIMT
from weft.ir.types import Prim, Struct, Tensor, Type, element, i32, i64, shape_of, u1, u32, u64, with_element

__all__ = ["infer_types"]

Rule = Callable[["Inference", Any], None]
RULES: dict[type[Op], Rule] = {}
types = registers(RULES)  # the typing rules of op classes


@pass_("infer_types")
def infer_types(root: ops.Kernel, config: CompileConfig) -> bool:
    """Insert casts and splats until all operand types agree. A second run changes nothing."""
    inference = Inference(root, config)
    inference.block(root.body)
    return inference.changed


class Inference:
    """One run over a kernel in program order, so that operands are typed before the ops that use them."""

    def __init__(self, kernel: ops.Kernel, config: CompileConfig) -> None:
        self.kernel, self.config, self.changed = kernel, config, False

    def block(self, block: Block) -> None:
        """Type every op in `block` and in its nested blocks."""
        for op in block:
            rule = RULES.get(type(op))
            if rule is not None:
                rule(self, op)
            for inner in op.regions:
                self.block(inner)

    def want(self, op: Op, position: int, type: Type) -> None:
        """Convert the operand number `position` of `op` to a type."""
        value = op.operands[position]
        if value.type is type:
            return
        op.set_operand(position, self.convert(value, type, op))
        self.changed = True

    def convert(self, value: Value, type: Type, at: Op) -> Value:
        """Convert `value` to another type with ops inserted before `at`."""
        if value.type is type:
            return value
        if isinstance(value.type, Struct) or isinstance(type, Struct):
            return self._convert_struct(value, type, at)
        shape, wanted = shape_of(value.type), shape_of(type)
        if (shape and shape != wanted) or not isinstance(value.type, (Prim, Tensor)):
            raise TypeMismatch(f"cannot convert a {value.type} to a {type}", at.span)
        build = Builder.at(at)
        elem = element(type)
        if element(value.type) is not elem:
            value = _cast(build, value, elem)
        return build.add(ops.Splat(value, type=type)) if wanted != shape else value

    def _convert_struct(self, value: Value, type: Type, at: Op) -> Value:
        """Structs whose member names agree are converted member by member."""
        old = value.type
        if not (isinstance(old, Struct) and isinstance(type, Struct)) or _names(old) != _names(type):
            raise TypeMismatch(f"cannot convert a {old} to a {type}", at.span)
        build = Builder.at(at)
        members = [
            self.convert(build.add(ops.Member(value, index)), member, at)
            for index, (_, member) in enumerate(type.members)
        ]
        return build.add(ops.MakeStruct(members, type=type))

    def result(self, op: Op, type: Type) -> None:
        """Set the result type of `op`. Users that expect another type get a cast."""
        if op.type is type:
            return
        promised, op.type = op.type, type
        self.changed = True
        assert op.block is not None
        following = op.next
        place = Builder(op.block, following, op.span)
        users = list(op.users)
        marker = place.add(ops.Cast(op, type=promised))
        for user in users:
            for position, value in enumerate(user.operands):
                if value is op:
                    user.set_operand(position, marker)


def _names(struct: Struct) -> list[str]:
    return [name for name, _ in struct.members]


def _cast(build: Builder, value: Value, elem: Prim) -> Value:
    if isinstance(value, ops.Const):
        own = cast_value(value.value, element(value.type))  # an f32 0.1 converted to f64 keeps its f32 value
        return build.add(ops.Const(cast_value(own, elem).item(), type=elem, span=value.span))
    return build.add(ops.Cast(value, type=with_element(value.type, elem)))


def _elements(op: Op, *values: Value) -> list[Prim]:
    for value in values:
        if not isinstance(value.type, (Prim, Tensor)):
            raise TypeMismatch(f"an operator takes scalars, vectors and matrices, not a {value.type}", op.span)
    return [element(value.type) for value in values]


def _common_shape(op: Op, *values: Value) -> Type | None:
    """The shape that all tensors among `values` share, as a tensor type, or None if all values are scalars."""
    wide: Type | None = None
    for value in values:
        if isinstance(value.type, Tensor):
            if wide is not None and shape_of(wide) != value.type.shape:
                raise TypeMismatch(f"shapes differ: {_shape(wide)} and {_shape(value.type)}", op.span)
            wide = value.type
    return wide


def _shape(type: Type) -> str:
    return "x".join(map(str, shape_of(type)))


def _wider(wide: Type | None, elem: Prim) -> Type:
    return elem if wide is None else with_element(wide, elem)


# ---- values ----------------------------------------------------------------------------------------------------------


@types(ops.Unary)
def _unary(inference: Inference, op: ops.Unary) -> None:
    (elem,) = _elements(op, op.x)
    try:
        operand, result = unary_type(op.kind, elem, inference.config.default_fp)
    except TypeError as error:
        raise TypeMismatch(str(error), op.span) from error
    if UNARY[op.kind].typing != "truth":
        inference.want(op, 0, with_element(op.x.type, operand))
    inference.result(op, with_element(op.x.type, result))


@types(ops.Binary)
def _binary(inference: Inference, op: ops.Binary) -> None:
    wide = _common_shape(op, op.lhs, op.rhs)
    left, right = _elements(op, op.lhs, op.rhs)
    try:
        left, right, result = binary_type(op.kind, left, right, inference.config.default_fp)
    except TypeError as error:
        raise TypeMismatch(str(error), op.span) from error
    inference.want(op, 0, _wider(wide, left))
    inference.want(op, 1, _wider(wide, right))
    inference.result(op, _wider(wide, result))


@types(ops.Select)
def _select(inference: Inference, op: ops.Select) -> None:
    if isinstance(op.a.type, Struct):
        inference.want(op, 0, u1)
        inference.want(op, 2, op.a.type)
        inference.result(op, op.a.type)
        return
    wide = _common_shape(op, op.condition, op.a, op.b)
    _, a, b = _elements(op, op.condition, op.a, op.b)
    common = binary_type("max", a, b)[2] if a is not b else a
    inference.want(op, 0, _wider(wide, u1))
    inference.want(op, 1, _wider(wide, common))
    inference.want(op, 2, _wider(wide, common))
    inference.result(op, _wider(wide, common))


@types(ops.Cast)
def _cast_op(inference: Inference, op: ops.Cast) -> None:
    source, target = op.x.type, op.type
    if source is target:
        op.replace(op.x)
    elif isinstance(op.x, ops.Const) or not (isinstance(source, Tensor) or isinstance(target, Prim)):
        op.replace(inference.convert(op.x, target, op))
    elif shape_of(source) != shape_of(target) or not isinstance(source, (Prim, Tensor)):
        raise TypeMismatch(f"cannot convert a {source} to a {target}", op.span)
    else:
        return
    inference.changed = True


@types(ops.BitCast)
def _bit_cast(inference: Inference, op: ops.BitCast) -> None:
    (source,) = _elements(op, op.x)
    if source.bits != element(op.type).bits or shape_of(op.x.type) != shape_of(op.type):
        raise TypeMismatch(f"bit_cast needs types of the same size, not {op.x.type} and {op.type}", op.span)


@types(ops.Simt)
def _simt(inference: Inference, op: ops.Simt) -> None:
    for position, wanted in enumerate(SIMT[op.kind].takes):
        if wanted is not None:
            inference.want(op, position, wanted)
    inference.result(op, op.result_type())


@types(ops.MakeTensor)
def _make_tensor(inference: Inference, op: ops.MakeTensor) -> None:
    for position in range(len(op.operands)):
        inference.want(op, position, element(op.type))


@types(ops.Splat)
def _splat(inference: Inference, op: ops.Splat) -> None:
    inference.want(op, 0, element(op.type))


@types(ops.MatMul)
def _matmul(inference: Inference, op: ops.MatMul) -> None:
    left, right = shape_of(op.lhs.type), shape_of(op.rhs.type)
    if len(left) != 2 or not right or left[1] != right[0]:
        raise TypeMismatch(f"cannot multiply a {op.lhs.type} by a {op.rhs.type} with '@'", op.span)
    common = binary_type("mul", *_elements(op, op.lhs, op.rhs))[2]
    inference.want(op, 0, with_element(op.lhs.type, common))
    inference.want(op, 1, with_element(op.rhs.type, common))
    inference.result(op, op.result_type())


@types(ops.Transpose)
def _transpose(inference: Inference, op: ops.Transpose) -> None:
    if len(shape_of(op.x.type)) != 2:
        raise TypeMismatch(f"only a matrix can be transposed, not a {op.x.type}", op.span)
    inference.result(op, op.result_type())


@types(ops.Vary, ops.Derivative)
def _of_derivatives(inference: Inference, op: ops.Vary | ops.Derivative) -> None:
    inference.result(op, op.result_type())


@types(ops.Extract)
def _extract(inference: Inference, op: ops.Extract) -> None:
    inference.result(op, op.result_type())


@types(ops.Member)
def _member(inference: Inference, op: ops.Member) -> None:
    inference.result(op, op.result_type())


@types(ops.Reduce)
def _reduce(inference: Inference, op: ops.Reduce) -> None:
    (elem,) = _elements(op, op.x)
    try:
        operand, _, result = binary_type(op.kind, elem, elem, inference.config.default_fp)
    except TypeError as error:
        raise TypeMismatch(str(error), op.span) from error
    inference.want(op, 0, with_element(op.x.type, operand))
    inference.result(op, result)


@types(ops.MakeStruct)
def _make_struct(inference: Inference, op: ops.MakeStruct) -> None:
    assert isinstance(op.type, Struct)
    for position, (_, member) in enumerate(op.type.members):
        inference.want(op, position, member)


# ---- memory ----------------------------------------------------------------------------------------------------------


@types(ops.FieldPtr)
def _field_ptr(inference: Inference, op: ops.FieldPtr) -> None:
    if len(op.indices) != len(op.field.shape):
        raise TypeMismatch(f"{op.field.name} takes {len(op.field.shape)} indices, not {len(op.indices)}", op.span)
    _indices(inference, op, 0)


@types(ops.Activate)
@types(ops.Deactivate)
@types(ops.IsActive)
@types(ops.Length)
@types(ops.Append)
def _on_cells(inference: Inference, op: Op) -> None:
    for position, index in enumerate(op.operands):
        if not isinstance(index.type, Prim) or index.type.is_float:
            raise TypeMismatch(f"the index of a cell must be an integer, not a {index.type}", op.span)
        if index.type is u64:
            _signed(inference, op, position)
        elif index.type not in (i32, i64):
            inference.want(op, position, i64 if index.type is u32 else i32)


@types(ops.ArrayPtr)
@types(ops.ElementPtr)
def _element_ptr(inference: Inference, op: ops.ArrayPtr | ops.ElementPtr) -> None:
    _indices(inference, op, 1)


def _indices(inference: Inference, op: Op, start: int) -> None:
    for position in range(start, len(op.operands)):
        index = op.operands[position].type
        if not isinstance(index, Prim) or index.is_float:
            raise TypeMismatch(f"an index must be an integer, not a {index}", op.span)
        if index is u1:
            inference.want(op, position, i32)
        elif index is u64:
            _signed(inference, op, position)


def _signed(inference: Inference, op: Op, position: int) -> None:
    """Convert an index to i64. Larger values become the largest i64, so that they stay out of bounds."""
    value, (_, most) = op.operands[position], type_interval(i64)
    if interval(value)[1] > most:
        build = Builder.at(op)
        op.set_operand(position, build.add(ops.Binary("min", value, build.add(ops.Const(most, type=u64)), type=u64)))
    inference.want(op, position, i64)


@types(ops.Store)
def _store(inference: Inference, op: ops.Store) -> None:
    inference.want(op, 1, pointee(op.ptr))


@types(ops.AtomicStore)
@types(ops.Exchange)
@types(ops.CompareExchange)
def _synchronizing(inference: Inference, op: ops.AtomicStore | ops.Exchange | ops.CompareExchange) -> None:
    for position in range(1, len(op.operands)):
        inference.want(op, position, pointee(op.ptr))


@types(ops.Atomic)
def _atomic(inference: Inference, op: ops.Atomic) -> None:
    place = pointee(op.ptr)
    if isinstance(place, Struct):
        raise TypeMismatch(f"an atomic operation takes a scalar, vector or matrix, not a {place}", op.span)
    if op.kind in BINARY and BINARY[op.kind].typing == "bits" and element(place).is_float:
        raise TypeMismatch(f"atomic '{op.kind}' takes integers, not {element(place)}", op.span)
    inference.want(op, 1, place)


# ---- control ---------------------------------------------------------------------------------------------------------


@types(ops.If)
@types(ops.Assert)
def _condition(inference: Inference, op: ops.If | ops.Assert) -> None:
    if not isinstance(op.condition.type, Prim):
        raise TypeMismatch(f"a condition must be a scalar, not a {op.condition.type}", op.span)
    inference.want(op, 0, u1)


@types(ops.For)
def _for(inference: Inference, op: ops.For) -> None:
    for position in range(3):
        inference.want(op, position, op.body.args[0].type)


@types(ops.ParallelFor)
def _parallel_for(inference: Inference, op: ops.ParallelFor) -> None:
    axes: list[BlockArg] = op.body.args
    for position in range(len(op.operands)):
        inference.want(op, position, axes[position % len(axes)].type)


@types(ops.Return)
def _return(inference: Inference, op: ops.Return) -> None:
    results = inference.kernel.results
    if len(op.operands) != len(results):
        raise TypeMismatch(f"the kernel must return {len(results)} values, not {len(op.operands)}", op.span)
    for position, result in enumerate(results):
        inference.want(op, position, result)
