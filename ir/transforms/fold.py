"""Constant folding: computes ops with constant operands at compile time."""

from __future__ import annotations

from weft.ir.addresses import split
from weft.ir.config import CompileConfig
from weft.ir.core import Value
from weft.ir.ops import (
    Address,
    Binary,
    BitCast,
    Cast,
    Const,
    Extract,
    Kernel,
    MakeStruct,
    MakeTensor,
    Member,
    Reduce,
    Select,
    Splat,
    Transpose,
    Unary,
)
from weft.ir.passes import pass_
from weft.ir.rewrite import Rewriter, Table, literal, rewrite
from weft.ir.scalar import cast_value
from weft.ir.types import Prim, element
from weft.ir.widen import FARTHEST

__all__ = ["FOLDERS", "fold"]


@pass_("fold")
def fold(root: Kernel, config: CompileConfig) -> bool:
    """Computes ops whose operands are constants, and replaces parts of newly built values by their operands.

        %a = const 2 : i32                     %c = const 6 : i32
        %b = const 3 : i32             ->
        %c = binary mul %a, %b
        %v = make_tensor %x, %y                %x
        %e = extract %v 1              ->      %y

    The pass does not fold results that depend on the target: it leaves memory, calls and unknown pointers alone.
    Tensors of different constants are left unchanged, because `scalarize` splits them.
    """
    return rewrite(root, FOLDERS)


def _unary(op: Unary, build: Rewriter) -> Value | None:
    x = op.operands[0]
    return None if literal(x) is None else build.unary(op.kind, x)


def _binary(op: Binary, build: Rewriter) -> Value | None:
    a, b = op.operands
    if literal(a) is None or literal(b) is None or a.type is not b.type:
        return None
    return build.binary(op.kind, a, b)


def _select(op: Select, build: Rewriter) -> Value | None:
    condition = literal(op.operands[0])
    if condition is None:
        return None
    chosen = op.operands[1 if condition else 2]
    return chosen if chosen.type is op.type else None


def _cast(op: Cast, build: Rewriter) -> Value | None:
    x = op.operands[0]
    if x.type is op.type:
        return x
    number = literal(x)
    return None if number is None else build.constant(cast_value(number, element(x.type)), op.type)


def _bit_cast(op: BitCast, build: Rewriter) -> Value | None:
    x = op.operands[0]
    if x.type is op.type:
        return x
    number = literal(x)
    if number is None or not isinstance(x.type, Prim) or not isinstance(op.type, Prim):
        return None
    return build.constant(x.type.np.type(cast_value(number, x.type)).view(op.type.np), op.type)


def _extract(op: Extract, build: Rewriter) -> Value | None:
    x = op.operands[0]
    if isinstance(x, Splat):
        return x.x
    return x.operands[op.index] if isinstance(x, MakeTensor) else None


def _make_tensor(op: MakeTensor, build: Rewriter) -> Value | None:
    """A tensor built from all parts of another tensor is that other tensor. A tensor built from one repeated scalar is
    a splat."""
    first = op.operands[0]
    if isinstance(first, Extract) and first.x.type is op.type:
        whole = first.x
        if all(isinstance(v, Extract) and v.x is whole and v.index == n for n, v in enumerate(op.operands)):
            return whole
    number = literal(first)
    if number is None:
        same = all(value is first for value in op.operands)
    else:
        same = all(repr(literal(value)) == repr(number) for value in op.operands)
    return build.add(Splat(first, type=op.type)) if same else None


def _reduce(op: Reduce, build: Rewriter) -> Value | None:
    x = op.operands[0]
    if not isinstance(x, MakeTensor) or any(type(value) is not Const for value in x.operands):
        return None
    total = x.operands[0]
    for value in x.operands[1:]:
        total = build.binary(op.kind, total, value)
    return total


def _transpose(op: Transpose, build: Rewriter) -> Value | None:
    x = op.operands[0]
    if isinstance(x, Transpose):
        return x.x
    return build.add(Splat(x.x, type=op.type)) if isinstance(x, Splat) else None


def _member(op: Member, build: Rewriter) -> Value | None:
    x = op.operands[0]
    return x.operands[op.index] if isinstance(x, MakeStruct) else None


def _address(op: Address, build: Rewriter) -> Value | None:
    """Moves constants into the offset: constant terms, and the constant of `i + c` unless it is too large. The sum does
    not overflow."""
    indices: list[Value] = []
    strides: list[Value] = []
    offset = op.offset
    for index, stride in zip(op.indices, op.strides):
        factor = literal(stride)
        value, moved = split(index, exact=True)
        if factor is not None and value is not None and moved and abs(moved * int(factor)) <= FARTHEST:
            offset += moved * int(factor)
            index = value
        fixed = literal(index)
        if factor is not None and fixed is not None:
            offset += int(fixed) * int(factor)
        else:
            indices.append(index)
            strides.append(stride)
    if offset == op.offset and len(indices) == len(op.indices):
        return None
    return build.add(Address(op.base, indices, strides, offset, op.scope, type=op.type))


FOLDERS: Table = {
    Unary: _unary,
    Binary: _binary,
    Select: _select,
    Cast: _cast,
    BitCast: _bit_cast,
    Extract: _extract,
    MakeTensor: _make_tensor,
    Reduce: _reduce,
    Transpose: _transpose,
    Member: _member,
    Address: _address,
}
