"""The verifier's rules for the operands, attributes and result of each op: one row per op. See `verify.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.atomic_ops import FENCE_SCOPES, ORDERS
from weft.ir.core import Op, Value
from weft.ir.errors import InternalError
from weft.ir.ops import ATOMICS, BINARY, SIMT, UNARY, Kernel
from weft.ir.scalar import binary_type, unary_type
from weft.ir.types import (
    Array,
    Lanes,
    Pointer,
    Prim,
    Struct,
    Tensor,
    Type,
    element,
    f32,
    flat_size,
    i32,
    i64,
    lane_count,
    pointer,
    shape_of,
    u1,
    u64,
    with_element,
)

__all__ = ["CHECKS", "checks", "indices_of", "pointee_of", "require", "show"]


def show(value: Value) -> str:
    """The op on one line, with its operands by name."""
    if not isinstance(value, Op):
        return f"%{value.name or '?'}: {value.type}"
    operands = ", ".join(
        f"%{operand.name or getattr(operand, 'opname', '?')}: {operand.type}" for operand in value.operands
    )
    attributes = "".join(
        f" {getattr(value, f.name)!r}" for f in value.declared if f.role == "attr" and f.name == "kind"
    )
    place = f" at {value.span}" if value.span is not None else ""
    name = f" %{value.name}" if value.name else ""
    return f"op '{value.opname}'{attributes}{name} ({operands}) : {value.type}{place}"


def require(holds: bool, op: Op, complaint: str) -> None:
    """Raise InternalError about `op` unless the condition holds."""
    if not holds:
        raise InternalError(f"{show(op)}: {complaint}")


CHECKS: dict[str, Callable[[Any, Kernel], None]] = {}
OpT = TypeVar("OpT", bound=Op)


def checks(*classes: type[OpT]) -> Callable[[Callable[[OpT, Kernel], None]], Callable[[OpT, Kernel], None]]:
    """Register the rules for ops of these classes."""

    def register(check: Callable[[OpT, Kernel], None]) -> Callable[[OpT, Kernel], None]:
        for one in classes:
            CHECKS[one.opname] = check
        return check

    return register


def _is_integer(type: Type) -> bool:
    return isinstance(type, Prim) and type.is_int


def _numeric(op: Op, *values: Value) -> None:
    for value in values:
        require(_is_numeric(value.type), op, f"has an operand of type {value.type}; expected numbers")


def _is_numeric(type: Type) -> bool:
    return isinstance(type, Prim | Tensor) or (isinstance(type, Lanes) and isinstance(type.elem, Prim))


def _extents(type: Type) -> tuple[int, ...]:
    """Two types with the same extents have as many elements in the same arrangement."""
    return (lane_count(type), *shape_of(type))


def pointee_of(op: Op, value: Value) -> Type:
    """The type that an address points to."""
    require(isinstance(value.type, Pointer), op, f"has an operand of type {value.type}; expected an address")
    return cast(Pointer, value.type).elem


def indices_of(op: Op, indices: Sequence[Value], rank: int) -> None:
    """Check the number of indices, and that they are integers."""
    require(len(indices) == rank, op, f"has {len(indices)} indices; expected {rank}")
    require(all(_is_integer(index.type) for index in indices), op, "has an index that is not an integer")


def _place(op: Op, indices: Sequence[Value], rank: int) -> None:
    indices_of(op, indices, rank)
    held = all(index.type not in (u1, u64) for index in indices)
    require(held, op, "has an index of type u64 or u1; expected an integer that fits i64 (see infer_types.py)")


@checks(ops.Const)
def _const(op: ops.Const, _: Kernel) -> None:
    require(isinstance(op.type, Prim), op, f"is a constant of type {op.type}; expected a scalar type")
    prim = cast(Prim, op.type)
    fits = type(op.value) is float if prim.is_float else type(op.value) is (bool if prim is u1 else int)
    require(fits, op, f"has the value {op.value!r}; expected a Python number for {prim}")
    if prim.is_int and prim is not u1:
        low, high = (-(1 << prim.bits - 1), 1 << prim.bits - 1) if prim.is_signed else (0, 1 << prim.bits)
        require(low <= op.value < high, op, f"has the value {op.value!r}, which is out of range for {prim}")


@checks(ops.Arg)
def _arg(op: ops.Arg, kernel: Kernel) -> None:
    require(
        0 <= op.index < len(kernel.params), op, f"refers to parameter {op.index}; the kernel has {len(kernel.params)}"
    )
    require(
        op.type is kernel.params[op.index].type, op, f"has another type than the parameter {kernel.params[op.index]}"
    )


@checks(ops.RandomAt)
def _random_at(op: ops.RandomAt, _: Kernel) -> None:
    require(op.draw.type is i32, op, f"has a draw of type {op.draw.type}; expected i32")
    require(all(lane.type is i64 for lane in op.lane[:1]) and len(op.lane) < 2, op, "has a lane that is not one i64")
    require(isinstance(op.type, Prim), op, f"has the type {op.type}; expected a scalar")


@checks(ops.Unary)
def _unary(op: ops.Unary, _: Kernel) -> None:
    require(op.kind in UNARY, op, f"has the unknown kind {op.kind!r}")
    _numeric(op, op.x)
    elem = element(op.x.type)
    require(UNARY[op.kind].typing != "float" or elem.is_float, op, f"has an operand of type {elem}; expected a float")
    require(unary_type(op.kind, elem)[0] is elem, op, f"does not compute on {elem}")


@checks(ops.Binary)
def _binary(op: ops.Binary, _: Kernel) -> None:
    require(op.kind in BINARY, op, f"has the unknown kind {op.kind!r}")
    _numeric(op, op.lhs, op.rhs)
    require(_extents(op.lhs.type) == _extents(op.rhs.type), op, "has operands of different shapes")
    left, right = element(op.lhs.type), element(op.rhs.type)
    require(BINARY[op.kind].typing != "float" or left.is_float, op, f"has operands of type {left}; expected floats")
    require(left is right, op, "has operands of different types")
    require(binary_type(op.kind, left, right)[0] is left, op, f"does not compute on {left}")


@checks(ops.Clamp)
def _clamp(op: ops.Clamp, _: Kernel) -> None:
    require(op.kind in ("min", "max"), op, f"has the unknown kind {op.kind!r}")
    require(
        op.lhs.type is op.rhs.type and op.type in (i32, i64),
        op,
        f"has operands of types {op.lhs.type} and {op.rhs.type}; expected two i32 or two i64",
    )
    require(
        op.moved in (0, 1) and op.low <= op.high,
        op,
        f"has moved={op.moved}, low={op.low} and high={op.high}; expected moved 0 or 1, and low <= high",
    )


@checks(ops.AtomicRow)
def _atomic_row(op: ops.AtomicRow, _: Kernel) -> None:
    require(
        pointee_of(op, op.ptr) is f32 and all(value.type is f32 for value in op.values),
        op,
        "has an address or values of other types than f32",
    )
    units, rest = divmod(len(op.values), op.unit) if op.unit > 0 else (0, 1)
    require(
        op.unit in (1, 2, 4) and not rest and units % 2 == 1,
        op,
        f"adds {len(op.values)} values in units of {op.unit}; expected an odd number of units of 1, 2 or 4",
    )
    require(len(op.values) > 1, op, "adds fewer than two values")


@checks(ops.StackLeft)
def _stack_left(op: ops.StackLeft, kernel: Kernel) -> None:
    require(kernel.called, op, "is not in a function that kernels call")


@checks(ops.Aligned)
def _aligned(op: ops.Aligned, _: Kernel) -> None:
    task = op.parent
    require(isinstance(task, ops.Task) and op.block is task.prologue, op, "is not in the prologue of a task")
    require(
        all(value.type is i64 or value.type == pointer(i64) for value in op.operands),
        op,
        "has operands other than bases and strides of arrays",
    )


@checks(ops.Select)
def _select(op: ops.Select, _: Kernel) -> None:
    require(op.a.type is op.b.type, op, "has alternatives of different types")
    scalar = op.condition.type is u1 and not isinstance(op.a.type, Lanes)
    fits = isinstance(op.a.type, Prim | Tensor | Lanes) and op.condition.type is with_element(op.a.type, u1)
    require(
        scalar or fits,
        op,
        f"has a condition of type {op.condition.type}; expected u1, or u1 in the shape of the alternatives",
    )


@checks(ops.Cast)
def _cast(op: ops.Cast, _: Kernel) -> None:
    _numeric(op, op, op.x)
    require(_extents(op.x.type) == _extents(op.type), op, "changes the shape")


@checks(ops.BitCast)
def _bit_cast(op: ops.BitCast, _: Kernel) -> None:
    _numeric(op, op, op.x)
    same = _extents(op.x.type) == _extents(op.type) and element(op.x.type).size == element(op.type).size
    require(same, op, "changes the size")


@checks(ops.Vary, ops.Derivative)
def _of_derivatives(op: Op, _: Kernel) -> None:
    _numeric(op, *op.operands)
    require(element(op.operands[0].type).is_float, op, "has an operand that is no float")
    require(not isinstance(op, ops.Derivative) or isinstance(op.by, ops.Vary), op, "differentiates by no 'vary'")


@checks(ops.MakeTensor)
def _make_tensor(op: ops.MakeTensor, _: Kernel) -> None:
    require(isinstance(op.type, Tensor), op, f"has the type {op.type}; expected a tensor")
    made = cast(Tensor, op.type)
    require(len(op.values) == made.count, op, f"has {len(op.values)} elements; expected {made.count}")
    require(all(value.type is made.elem for value in op.values), op, "has elements of another type")


@checks(ops.Splat)
def _splat(op: ops.Splat, _: Kernel) -> None:
    whole = isinstance(op.type, Tensor | Lanes) and op.x.type is op.type.elem
    require(whole, op, f"fills a {op.type} with a value of type {op.x.type}")


@checks(ops.Extract)
def _extract(op: ops.Extract, _: Kernel) -> None:
    require(isinstance(op.x.type, Tensor), op, f"has an operand of type {op.x.type}; expected a tensor")
    require(
        0 <= op.index < flat_size(op.x.type), op, f"takes element {op.index}; the tensor has {flat_size(op.x.type)}"
    )


@checks(ops.MatMul)
def _matmul(op: ops.MatMul, _: Kernel) -> None:
    left, right = shape_of(op.lhs.type), shape_of(op.rhs.type)
    require(
        len(left) == 2 and len(right) >= 1 and left[1] == right[0],
        op,
        f"has operands of shapes {left} and {right}, which cannot be multiplied",
    )
    require(element(op.lhs.type) is element(op.rhs.type), op, "has operands of different types")


@checks(ops.Transpose)
def _transpose(op: ops.Transpose, _: Kernel) -> None:
    require(len(shape_of(op.x.type)) == 2, op, f"has an operand of type {op.x.type}; expected a matrix")


@checks(ops.Reduce)
def _reduce(op: ops.Reduce, _: Kernel) -> None:
    kinds = ("add", "mul", "min", "max", "and", "or", *(["xor"] if isinstance(op.x.type, Lanes) else []))
    require(op.kind in kinds, op, f"has the unknown kind {op.kind!r}")
    require(
        _is_numeric(op.x.type) and not isinstance(op.x.type, Prim),
        op,
        f"has an operand of type {op.x.type}; expected a tensor or a vector",
    )


@checks(ops.MakeStruct)
def _make_struct(op: ops.MakeStruct, _: Kernel) -> None:
    require(isinstance(op.type, Struct), op, f"has the type {op.type}; expected a struct")
    members = [type for _, type in cast(Struct, op.type).members]
    require(
        [value.type for value in op.values] == members, op, "has values whose types differ from those of the members"
    )


@checks(ops.Member)
def _member(op: ops.Member, _: Kernel) -> None:
    require(
        isinstance(op.x.type, Struct) and 0 <= op.index < len(op.x.type.members),
        op,
        f"refers to member {op.index}, which does not exist",
    )


@checks(ops.Alloca, ops.SharedLocal, ops.TempPtr)
def _alloca(op: Op, _: Kernel) -> None:
    held = pointee_of(op, op)
    if isinstance(held, Lanes):
        held = held.elem
    require(not isinstance(held, Pointer | Array), op, "stores an address in memory")


@checks(ops.FieldPtr)
def _field_ptr(op: ops.FieldPtr, kernel: Kernel) -> None:
    require(op.field in kernel.fields, op, f"accesses the field '{op.field.name}', which the kernel does not list")
    _place(op, op.indices, len(op.field.shape))


@checks(ops.Shared)
def _shared(op: ops.Shared, _: Kernel) -> None:
    require(
        isinstance(op.type, Array) and op.type.contiguous, op, f"has the type {op.type}; expected a contiguous array"
    )
    require(
        len(op.shape) == cast(Array, op.type).ndim,
        op,
        f"has the shape {op.shape}; expected a positive extent for each axis",
    )
    require(
        all(extent > 0 for extent in op.shape),
        op,
        f"has the shape {op.shape}; expected a positive extent for each axis",
    )


@checks(ops.Simt)
def _simt(op: ops.Simt, _: Kernel) -> None:
    require(op.kind in SIMT, op, f"has the unknown kind {op.kind!r}")
    takes = SIMT[op.kind].takes
    require(len(op.values) == len(takes), op, f"has {len(op.values)} operands; expected {len(takes)}")
    for value, wanted in zip(op.values, takes, strict=True):
        require(
            isinstance(value.type, Prim) and wanted in (None, value.type),
            op,
            f"has an operand of type {value.type}; expected {wanted or 'a scalar'}",
        )
    require(op.type is op.result_type(), op, f"has the type {op.type}; expected {op.result_type()}")


@checks(ops.ArrayPtr)
def _array_ptr(op: ops.ArrayPtr, _: Kernel) -> None:
    require(isinstance(op.array.type, Array), op, f"has an operand of type {op.array.type}; expected an array")
    _place(op, op.indices, cast(Array, op.array.type).ndim)


@checks(ops.ArrayShape)
def _array_shape(op: ops.ArrayShape, _: Kernel) -> None:
    require(
        isinstance(op.array.type, Array) and 0 <= op.axis < op.array.type.ndim,
        op,
        "refers to an axis that does not exist",
    )


@checks(ops.ElementPtr)
def _element_ptr(op: ops.ElementPtr, _: Kernel) -> None:
    require(isinstance(pointee_of(op, op.base), Tensor), op, "has a base that is not the address of a tensor")
    _place(op, op.indices, len(shape_of(pointee_of(op, op.base))))


@checks(ops.MemberPtr)
def _member_ptr(op: ops.MemberPtr, _: Kernel) -> None:
    base = pointee_of(op, op.base)
    require(
        isinstance(base, Struct) and 0 <= op.index < len(base.members),
        op,
        f"refers to member {op.index}, which does not exist",
    )


@checks(ops.Load)
def _load(op: ops.Load, _: Kernel) -> None:
    pointee_of(op, op.ptr)
    root = root_of(op.ptr)
    plain = not isinstance(root, ops.FieldPtr) or root.activates
    require(plain, op, "reads what a write through the same address may not have stored; expected activates=true")


@checks(ops.Store)
def _store(op: ops.Store, _: Kernel) -> None:
    require(pointee_of(op, op.ptr) is op.value.type, op, f"stores {op.value.type} at an address of type {op.ptr.type}")


@checks(ops.Atomic)
def _atomic(op: ops.Atomic, _: Kernel) -> None:
    require(op.kind in ATOMICS, op, f"has the unknown kind {op.kind!r}")
    require(
        pointee_of(op, op.ptr) is op.value.type, op, f"updates an address of type {op.ptr.type} with {op.value.type}"
    )


_LOAD_ORDERS, _STORE_ORDERS = ("relaxed", "acquire"), ("relaxed", "release")


@checks(ops.AtomicLoad)
def _atomic_load(op: ops.AtomicLoad, _: Kernel) -> None:
    _word(op, op.ptr)
    require(op.order in _LOAD_ORDERS, op, f"has the order '{op.order}'; expected one of {_LOAD_ORDERS}")


@checks(ops.AtomicStore)
def _atomic_store(op: ops.AtomicStore, _: Kernel) -> None:
    _word(op, op.ptr, op.value)
    require(op.order in _STORE_ORDERS, op, f"has the order '{op.order}'; expected one of {_STORE_ORDERS}")


@checks(ops.Exchange)
def _exchange(op: ops.Exchange, _: Kernel) -> None:
    _word(op, op.ptr, op.value)
    require(op.order in ORDERS, op, f"has the unknown order '{op.order}'")


@checks(ops.CompareExchange)
def _compare_exchange(op: ops.CompareExchange, _: Kernel) -> None:
    _word(op, op.ptr, op.expected, op.desired)
    require(op.order in ORDERS, op, f"has the unknown order '{op.order}'")


@checks(ops.Fence)
def _fence(op: ops.Fence, _: Kernel) -> None:
    require(op.order in ORDERS and op.order != "relaxed", op, f"has the order '{op.order}', which orders nothing")
    require(op.scope in FENCE_SCOPES, op, f"has the unknown scope '{op.scope}'")


def _word(op: Op, ptr: Value, *values: Value) -> None:
    """The address of a scalar that GPUs and CPUs can exchange atomically, and values of its type."""
    type = pointee_of(op, ptr)
    require(
        isinstance(type, Prim) and type.bits in (32, 64), op, f"accesses {type}; expected a scalar of 32 or 64 bits"
    )
    require(all(value.type is type for value in values), op, "has a value of another type than its address")
