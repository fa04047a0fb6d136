"""Constructors of vectors, matrices and structs: `ti.Vector([..])`, `vec3(..)`, `Ray(start, direction)`,
`Matrix.identity` ..."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.ir.types import Prim, Tensor, Type, element, shape_of, struct, tensor
from weft.lang.translate.expressions import unpack
from weft.lang.translate.functions import Call, Handler, arguments, cast_value_to
from weft.lang.translate.methods import transposed
from weft.lang.translate.operators import run_now
from weft.lang.translate.translator import Translator
from weft.lang.translate.values import (
    Record,
    as_int,
    coerce,
    is_number,
    kind_of,
    scalar_of,
    sequence_of,
    struct_kind,
    tensor_elements,
    to_expr,
)
from weft.lang.values.matrix import Matrix, Vector
from weft.lang.values.struct import Struct
from weft.lang.values.types import MatrixType, StructType, VectorType, primitive, to_ir

__all__ = ["CLASSES", "construct"]


def construct(t: Translator, kind: MatrixType | StructType, c: Call) -> Any:
    """Translate a call of a compound type."""
    if isinstance(kind, StructType):
        return Record(kind, _struct(t, kind, c))
    return _tensor(t, kind.ir, c)


def _tensor(t: Translator, kind: Tensor, c: Call) -> tree.Expr:
    """Make a tensor from one scalar, from all scalars, or from parts that together have as many scalars."""
    pieces = c.args
    if c.keywords:
        raise t.error(
            f"{kind} takes its elements as positional arguments; it has no argument '{min(c.keywords)}'",
            c.node,
            TypeMismatch,
        )
    if len(pieces) == 1 and isinstance(pieces[0], (list, tuple)):
        pieces = list(pieces[0])
    values = [to_expr(t, piece, c.node) for piece in pieces]
    if len(values) == 1 and shape_of(values[0].type) in ((), kind.shape):
        return coerce(t, values[0], kind, c.node)
    scalars = [scalar for value in values for scalar in tensor_elements(t, value)]
    if len(scalars) != kind.count:
        found = ", ".join(str(value.type) for value in values) or "nothing"
        raise t.error(f"{kind} takes 1 or {kind.count} scalars, got {len(scalars)} ({found})", c.node, TypeMismatch)
    made = [coerce(t, scalar, kind.elem, c.node) for scalar in scalars]
    return tree.MakeTensor(made, type=kind, span=t.span(c.node))


def _struct(t: Translator, kind: StructType, c: Call) -> tree.Expr:
    """Make a struct from members in order or by name. Missing members are zero."""
    names = list(kind.members)
    if len(c.args) > len(names):
        raise t.error(f"{kind!r} has {len(names)} members, but got {len(c.args)} values", c.node, TypeMismatch)
    if len(c.args) == 1 and isinstance(c.args[0], (Record, Struct)) and struct_kind(c.args[0]) == kind:
        return to_expr(t, c.args[0], c.node)
    given = dict(zip(names, c.args))
    for name, value in c.keywords.items():
        if name not in kind.members or name in given:
            problem = "is given twice" if name in given else f"is not one of {', '.join(names)}"
            raise t.error(f"{kind!r}: member '{name}' {problem}", c.node, TypeMismatch)
        given[name] = value
    values = [_member(t, kind.members[name], given.get(name, 0), name, c) for name in names]
    return tree.MakeStruct(values, type=kind.ir, span=t.span(c.node))


def _member(t: Translator, annotation: Any, value: Any, name: str, c: Call) -> tree.Expr:
    if isinstance(annotation, StructType):
        if isinstance(value, dict):
            return _struct(t, annotation, Call(c.node, [], value))
        if struct_kind(value) is None:  # the members, or the first one
            inner = list(value) if isinstance(value, (list, tuple)) else [value] if annotation.members else []
            return _struct(t, annotation, Call(c.node, inner, {}))
    expr, wanted = to_expr(t, value, c.node), to_ir(annotation)
    try:
        return coerce(t, expr, wanted, c.node)
    except TypeMismatch:
        raise t.error(f"member '{name}' must be of type {wanted}, not {expr.type}", c.node, TypeMismatch) from None


# ---- Vector, Matrix, Struct ------------------------------------------------------------------------------------------


def _matrix(t: Translator, c: Call) -> tree.Expr:
    """`Matrix(rows, dt)`, `Vector(elements, dt)`."""
    arr, dtype = arguments(t, c, 1, 2, "arr", "dt")
    if isinstance(arr, (list, tuple)) and not arr:
        raise t.error("a vector or matrix must have at least one element", c.node, TypeMismatch)
    if is_number(arr) or (isinstance(arr, tree.Expr) and not shape_of(arr.type)):
        raise t.error(
            f"expected a list of elements, not {kind_of(arr)}: write ti.Vector([x, y, ...])", c.node, TypeMismatch
        )
    if not isinstance(arr, (list, tuple, tree.Expr, Matrix)):
        arr = run_now(t, c.node, Matrix, arr)
    prim = None if dtype is None else run_now(t, c.node, primitive, dtype)
    if isinstance(arr, (list, tuple)):
        return sequence_of(t, arr, prim, c.node)
    value = to_expr(t, arr, c.node)
    return value if prim is None else cast_value_to(t, value, prim, c.node)


def _anonymous_struct(t: Translator, c: Call) -> Record:
    """`ti.Struct(a=1, b=2.0)` or `ti.Struct({"a": 1})`. The types of the members are those of the values."""
    given = dict(c.args[0]) if c.args and isinstance(c.args[0], dict) else {}
    given |= c.keywords
    if not given or len(c.args) > 1:
        raise t.error("ti.Struct takes members by name, or one dict of them", c.node, TypeMismatch)
    values = {name: _struct_member(t, value, c) for name, value in given.items()}
    exprs = [to_expr(t, value, c.node) for value in values.values()]
    kind = StructType({name: _annotation(value) for name, value in values.items()})
    type = struct(tuple((name, expr.type) for name, expr in zip(values, exprs, strict=True)))
    return Record(kind, tree.MakeStruct(exprs, type=type, span=t.span(c.node)))


def _struct_member(t: Translator, value: Any, c: Call) -> Any:
    if isinstance(value, dict):
        return _anonymous_struct(t, Call(c.node, [value], {}))
    return value if isinstance(value, Record) else to_expr(t, value, c.node)


def _annotation(value: Any) -> Any:
    if isinstance(value, Record):
        return value.type
    kind: Type = value.type
    if isinstance(kind, Tensor):
        n, m = (*kind.shape, 1)[:2]
        return VectorType(n, kind.elem) if len(kind.shape) == 1 else MatrixType(n, m, kind.elem)
    return kind


def _full(number: int) -> Handler:
    """`Matrix.zero(dt, n, m)`, `Vector.one(dt, n)`."""

    def handle(t: Translator, c: Call) -> tree.Expr:
        dtype, n, m = arguments(t, c, 2, 3, "dt", "n", "m")
        prim = run_now(t, c.node, primitive, dtype)
        shape = tuple(as_int(t, extent, c.node, "an extent") for extent in (n, m) if extent is not None)
        return _constant(t, [number] * _count(shape), shape, prim, c.node)

    return handle


def _count(shape: Sequence[int]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def _constant(t: Translator, numbers: list[int], shape: tuple[int, ...], prim: Prim, node: ast.AST) -> tree.Expr:
    if min(shape) < 1:
        raise t.error(f"an extent must be at least 1, got {min(shape)}", node, TypeMismatch)
    values = [scalar_of(t, float(x) if prim.is_float else x, prim, node) for x in numbers]
    return tree.MakeTensor(list(values), type=tensor(prim, shape), span=t.span(node))


def _unit(t: Translator, c: Call) -> tree.Expr:
    n, i, dtype = arguments(t, c, 2, 3, "n", "i", "dt")
    count, at = as_int(t, n, c.node, "n"), as_int(t, i, c.node, "i")
    if not 0 <= at < count:
        raise t.error(f"unit({count}, {at}): there is no element {at}", c.node, TypeMismatch)
    prim = run_now(t, c.node, primitive, int if dtype is None else dtype)
    return _constant(t, [int(k == at) for k in range(count)], (count,), prim, c.node)


def _identity(t: Translator, c: Call) -> tree.Expr:
    dtype, n = arguments(t, c, 2, 2, "dt", "n")
    prim, count = run_now(t, c.node, primitive, dtype), as_int(t, n, c.node, "n")
    return _constant(t, [int(i == j) for i in range(count) for j in range(count)], (count, count), prim, c.node)


def _diag(t: Translator, c: Call) -> tree.Expr:
    dim, value = arguments(t, c, 2, 2, "dim", "val")
    count, scalar = as_int(t, dim, c.node, "dim"), t.frozen(to_expr(t, value, c.node))
    zero = scalar_of(t, 0, element(scalar.type), c.node)
    values: list[tree.Expr] = [scalar if i == j else zero for i in range(count) for j in range(count)]
    return tree.MakeTensor(values, type=tensor(element(scalar.type), (count, count)), span=t.span(c.node))


def _rows(t: Translator, c: Call) -> tree.Expr:
    (rows,) = arguments(t, c, 1, 1, "rows")
    return to_expr(t, unpack(t, rows, c.node), c.node)


def _columns(t: Translator, c: Call) -> tree.Expr:
    (columns,) = arguments(t, c, 1, 1, "cols")
    return transposed(t, to_expr(t, unpack(t, columns, c.node), c.node), c.node)


CLASSES: dict[Any, Callable[[Translator, Call], Any]] = {
    Matrix: _matrix,
    Vector: _matrix,
    Struct: _anonymous_struct,
    Matrix.zero: _full(0),
    Matrix.one: _full(1),
    Matrix.unit: _unit,
    Matrix.identity: _identity,
    Matrix.diag: _diag,
    Matrix.rows: _rows,
    Matrix.cols: _columns,
}
