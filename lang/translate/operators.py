"""Operators: arithmetic, comparison and truth. Operations on compile-time values run now, by Python's rules."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from weft.ir import tree
from weft.ir.errors import CompilationError, TypeMismatch, WeftError
from weft.ir.scalar import binary_type, unary_type
from weft.ir.types import Prim, Struct, Tensor, Type, element, shape_of, tensor, u1, with_element
from weft.lang.data.field import Field
from weft.lang.data.struct_field import StructField
from weft.lang.errors import UnsupportedSyntax, WrongIndex, beneath_compiler
from weft.lang.translate.order import following
from weft.lang.translate.translator import Translator, translates
from weft.lang.translate.values import (
    Record,
    coerce,
    common_type,
    is_known,
    kind_of,
    tensor_elements,
    to_expr,
)

__all__ = ["OPERATORS", "binary", "condition", "matmul", "note_choice", "run_now", "tested", "truth", "unary"]

OPERATORS: dict[type[ast.operator], tuple[str, str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("add", "+", operator.add),
    ast.Sub: ("sub", "-", operator.sub),
    ast.Mult: ("mul", "*", operator.mul),
    ast.Div: ("div", "/", operator.truediv),
    ast.FloorDiv: ("floordiv", "//", operator.floordiv),
    ast.Mod: ("mod", "%", operator.mod),
    ast.Pow: ("pow", "**", operator.pow),
    ast.LShift: ("shl", "<<", operator.lshift),
    ast.RShift: ("shr", ">>", operator.rshift),
    ast.BitOr: ("or", "|", operator.or_),
    ast.BitXor: ("xor", "^", operator.xor),
    ast.BitAnd: ("and", "&", operator.and_),
    ast.MatMult: ("matmul", "@", operator.matmul),
}
_SYMBOLS: dict[str, str] = {
    **{kind: symbol for kind, symbol, _ in OPERATORS.values()},
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
}

_COMPARES: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
}

_STATIC_COMPARES: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Is: ("is", operator.is_),
    ast.IsNot: ("is not", operator.is_not),
    ast.In: ("in", lambda a, b: a in b),
    ast.NotIn: ("not in", lambda a, b: a not in b),
}

_UNARY: dict[type[ast.unaryop], tuple[str, Callable[[Any], Any]]] = {
    ast.USub: ("neg", operator.neg),
    ast.UAdd: ("pos", operator.pos),
    ast.Invert: ("bit_not", operator.invert),
    ast.Not: ("not", operator.not_),
}


_KINDS: tuple[tuple[type[Exception], type[CompilationError]], ...] = (
    (TypeError, TypeMismatch),
    (LookupError, WrongIndex),
)


def run_now(t: Translator, node: ast.AST, function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """Call a Python function with compile-time values. Its exceptions become errors at `node`."""
    try:
        return function(*args, **keywords)
    except CompilationError as error:
        if error.span is not None:
            raise
        raise type(error)(error.message, t.span(node)) from error
    except WeftError as error:
        raise CompilationError(str(error), t.span(node)) from error
    except Exception as fault:
        kind = next((ours for theirs, ours in _KINDS if isinstance(fault, theirs)), CompilationError)
        message = f"this raised {type(fault).__name__} at compile time: {fault}"
        raise kind(message, t.span(node)) from beneath_compiler(fault)


def no_field(t: Translator, value: Any, node: ast.AST) -> None:
    """Raise an error if `value` is a whole field, because no operator takes one."""
    if isinstance(value, (Field, StructField)):
        to_expr(t, value, node)


# ---- arithmetic ------------------------------------------------------------------------------------------------------


def binary(t: Translator, kind: str, a: tree.Expr, b: tree.Expr, node: ast.AST) -> tree.Expr:
    """Apply operator `kind` of BINARY, element by element. Raises TypeMismatch that names the types if it does not take
    them."""
    shape = _shape(t, kind, a.type, b.type, node)
    try:
        result = binary_type(kind, element(a.type), element(b.type), t.unit.config.default_fp)[2]
    except TypeError:
        what = _SYMBOLS.get(kind, kind)
        message = f"'{what}' takes integers, not {a.type} and {b.type}"
        raise TypeMismatch(message, t.span(node)) from None
    wide: Type = tensor(result, shape) if shape else result
    return tree.Binary(kind, a, b, type=wide, span=t.span(node))


def _shape(t: Translator, kind: str, a: Type, b: Type, node: ast.AST) -> tuple[int, ...]:
    what = _SYMBOLS.get(kind, kind)
    for side in (a, b):
        if not isinstance(side, (Prim, Tensor)):
            raise t.error(f"'{what}' does not work on a struct: use its members", node, TypeMismatch)
    left, right = shape_of(a), shape_of(b)
    if left and right and left != right:
        hint = "; the matrix product is '@'" if kind == "mul" else ""
        raise t.error(f"'{what}' of {a} and {b}: the shapes {left} and {right} differ{hint}", node, TypeMismatch)
    return left or right


def matmul(t: Translator, a: tree.Expr, b: tree.Expr, node: ast.AST) -> tree.Expr:
    """Translate `a @ b`. A vector on the left is a row if its length is the number of rows of b, else a column."""
    left, right = shape_of(a.type), shape_of(b.type)
    if not left or not right:
        raise t.error(f"'@' takes matrices and vectors, not {a.type} and {b.type}", node, TypeMismatch)
    if len(left) == 1 and left == right:  # two vectors of equal length
        product = binary(t, "mul", a, b, node)
        return tree.Reduce("add", product, type=element(product.type), span=t.span(node))
    if len(left) == 1 and left == right[:1]:
        row = tree.Transpose(b, type=tensor(element(b.type), right[::-1]), span=b.span)
        return matmul(t, row, a, node)
    if len(left) == 1:
        left = (left[0], 1)
        a = tree.MakeTensor(tensor_elements(t, a), type=tensor(element(a.type), left), span=a.span)
    if left[1] != right[0]:
        raise t.error(
            f"'@' of shapes {left} and {right}: the left side has {left[1]} columns, but the right side has "
            f"{right[0]} rows",
            node,
            TypeMismatch,
        )
    prim = binary_type("mul", element(a.type), element(b.type), t.unit.config.default_fp)[2]
    return tree.MatMul(a, b, type=tensor(prim, (left[0], *right[1:])), span=t.span(node))


@translates(ast.UnaryOp)
def _unary_op(t: Translator, node: ast.UnaryOp) -> Any:
    value = tested(t, node.operand) if isinstance(node.op, ast.Not) else t.expr(node.operand)
    kind, function = _UNARY[type(node.op)]
    if is_known(value):
        no_field(t, value, node.operand)
        return run_now(t, node, function, value)
    x = to_expr(t, value, node.operand)
    return x if kind == "pos" else unary(t, kind, x, node)


def unary(t: Translator, kind: str, x: tree.Expr, node: ast.AST) -> tree.Expr:
    """Apply operator `kind` of UNARY, element by element."""
    if isinstance(x.type, Struct):
        raise t.error(f"'{kind}' does not work on a struct: use its members", node, TypeMismatch)
    try:
        result = unary_type(kind, element(x.type), t.unit.config.default_fp)[1]
    except TypeError:
        raise TypeMismatch(f"'{kind}' takes an integer, not {x.type}", t.span(node)) from None
    return tree.Unary(kind, x, type=with_element(x.type, result), span=t.span(node))


# ---- comparison and truth --------------------------------------------------------------------------------------------


@translates(ast.Compare)
def _compare(t: Translator, node: ast.Compare) -> Any:
    """A chain `a < b < c` means `a < b and b < c`, but b is evaluated once. So c is evaluated only if a < b. Sides of
    tensors are all evaluated, because each element has an answer of its own."""
    lefts = [t.expr(node.left)]
    right = following(t, lefts, t.expr, node.comparators[0])
    (left,) = lefts
    if len(node.ops) == 1:
        return _compare_two(t, node, 0, left, right)
    return _chain(t, node, 0, left, right)


def _chain(t: Translator, node: ast.Compare, number: int, left: Any, right: Any) -> Any:
    """The comparisons of a chain from `number` on, whose sides are `left` and `right`."""
    if number == len(node.ops) - 1:
        return _compare_two(t, node, number, left, right)
    lets: list[tuple[tree.Variable, tree.Expr]] = []
    if not is_known(right):
        left = left if is_known(left) else _named(t, to_expr(t, left, node), lets)
        right = _named(t, to_expr(t, right, node), lets)
    first = _compare_two(t, node, number, left, right)
    if is_known(first) and not first:
        return _with(lets, tree.Const(False, type=u1, span=t.span(node))) if lets else False
    rest = t.guarded(node, partial(_rest, number=number + 1, left=right))
    if is_known(first):
        return _with(lets, to_expr(t, rest, node)) if lets else rest
    if is_known(rest) and rest:
        return _with(lets, truth(t, first, node))
    return _with(lets, _all_or_any(t, "and", [truth(t, first, node), truth(t, rest, node)], node))


def _rest(t: Translator, node: ast.expr, number: int, left: Any) -> Any:
    assert isinstance(node, ast.Compare)
    return _chain(t, node, number, left, t.expr(node.comparators[number]))


def _named(t: Translator, value: tree.Expr, lets: list[tuple[tree.Variable, tree.Expr]]) -> tree.Expr:
    """`value` for several uses: a variable that `lets` binds, unless it is one already."""
    if t.simple(value):
        return value
    variable = tree.Variable("", value.type)
    t.unit.fixed.add(variable)
    lets.append((variable, value))
    return tree.Var(variable, type=value.type, span=value.span)


def _with(lets: list[tuple[tree.Variable, tree.Expr]], result: tree.Expr) -> tree.Expr:
    """`result`, after the variables in it are bound, in order."""
    return tree.Call("", lets, [tree.Return([result])], type=result.type, span=result.span) if lets else result


def _compare_two(t: Translator, node: ast.Compare, number: int, left: Any, right: Any) -> Any:
    """Translate one comparison of a chain."""
    op = node.ops[number]
    if not isinstance(op, ast.Is | ast.IsNot):
        for side, place in zip((left, right), (node.left, *node.comparators)[number:]):
            no_field(t, side, place)
    static = _STATIC_COMPARES.get(type(op))
    known = is_known(left) and is_known(right)
    if static is not None:
        if known or (static[0] in ("is", "is not") and (left is None or right is None)):
            return run_now(t, node, static[1], left, right)
        hint = "compare with '=='" if static[0].startswith("is") else "compare with each item"
        raise t.error(f"'{static[0]}' needs values known at compile time: {hint}", node, UnsupportedSyntax)
    kind, function = _COMPARES[type(op)]
    if known:
        return run_now(t, node, function, left, right)
    return binary(t, kind, to_expr(t, left, node), to_expr(t, right, node), node)


def truth(t: Translator, value: Any, node: ast.AST) -> tree.Expr:
    """Convert `value` to u1, a tensor element by element."""
    x = to_expr(t, value, node)
    if not isinstance(x.type, (Prim, Tensor)):
        raise t.error(f"a value of type {x.type} has no truth value", node, TypeMismatch)
    if element(x.type) is u1:
        return x
    return tree.Cast(x, type=with_element(x.type, u1), span=x.span)


def condition(t: Translator, value: Any, node: ast.AST) -> tree.Expr:
    """Convert `value` to the scalar u1 that an if, while or assert takes."""
    x = truth(t, value, node)
    if isinstance(x.type, Tensor):
        raise t.error(f"a condition must be a scalar, not {x.type}: use .all() or .any()", node, TypeMismatch)
    return x


def tested(t: Translator, node: ast.expr) -> Any:
    """The meaning of an expression whose truth alone matters. Then `and` and `or` need not return the deciding
    operand."""
    if isinstance(node, ast.BoolOp):
        return _decided(t, node, True)
    value = t.expr(node)
    if not isinstance(node, ast.Call):  # `ti.static(field)` tests whether there is a field
        no_field(t, value, node)
    return value


@translates(ast.BoolOp)
def _bool_op(t: Translator, node: ast.BoolOp) -> Any:
    return _decided(t, node, False)


def _decided(t: Translator, node: ast.BoolOp, only_truth: bool) -> Any:
    """Translate `and` or `or`. Operands that are known at compile time decide the result or are left out. The others
    keep their order and are evaluated only as far as needed."""
    kind = "and" if isinstance(node.op, ast.And) else "or"
    meaning = tested if only_truth else Translator.expr
    values: list[Any] = []
    for place in node.values:
        value = t.guarded(place, meaning) if values else meaning(t, place)
        if not is_known(value):
            values.append(value)
            continue
        last = place is node.values[-1]
        decides = bool(run_now(t, place, bool, value)) is (kind == "or")
        if not values and (decides or last):
            return value
        if decides or (last and not only_truth):
            values.append(value)
        if decides:
            break
    parts = [to_expr(t, value, node) for value in values]
    if only_truth or any(isinstance(p.type, Tensor) for p in parts) or all(p.type is u1 for p in parts):
        return _all_or_any(t, kind, [truth(t, part, node) for part in parts], node)
    return _deciding(t, kind, parts, node)


def _deciding(t: Translator, kind: str, parts: list[tree.Expr], node: ast.BoolOp) -> tree.Expr:
    """Translate `and` or `or` of numbers. `a and b` is b if a is not 0, else a; `a or b` is a if a is not 0, else b.
    The result has their common type."""
    wanted: Type = parts[0].type
    for part in parts:
        truth(t, part, node)  # raises an error for a value that is neither true nor false
        wanted = common_type(t, wanted, part.type, node)
    note_choice(t, wanted, node.lineno + t.source.shift, node.col_offset)
    span = t.span(node)
    result = coerce(t, parts[-1], wanted, node)
    for part in reversed(parts[:-1]):
        lets: list[tuple[tree.Variable, tree.Expr]] = []
        place = _named(t, part, lets)
        own = coerce(t, place, wanted, node)
        then, orelse = (result, own) if kind == "and" else (own, result)
        result = _with(lets, tree.IfExp(truth(t, place, node), then, orelse, type=wanted, span=span))
    return result


def note_choice(t: Translator, type: Type, line: int, column: int) -> None:
    """Record the common type of a choice between values, for a kernel that runs as Python: it evaluates only one of
    them.

    A choice between the returns of a function is recorded at line 0. Its column is the position in a tuple."""
    if not t.unit.rehearsed or t.names.function is None:
        return
    t.unit.note((t.names.function.__code__, line, column), t.caller, type)


def _all_or_any(t: Translator, kind: str, parts: list[tree.Expr], node: ast.expr) -> tree.Expr:
    """Whether all (`and`) or any (`or`) of the conditions hold. Tensors are combined element by element."""
    if len(parts) == 1:
        return parts[0]
    if any(isinstance(part.type, Tensor) for part in parts):
        joined = parts[0]
        for part in parts[1:]:
            joined = binary(t, kind, joined, part, node)
        return joined
    return tree.BoolOp(kind, parts, type=u1, span=t.span(node))


@translates(ast.IfExp)
def _if_exp(t: Translator, node: ast.IfExp) -> Any:
    test = tested(t, node.test)
    if is_known(test):
        return t.expr(node.body if run_now(t, node.test, bool, test) else node.orelse)
    decide = truth(t, test, node.test)
    a, b = t.guarded(node.body), t.guarded(node.orelse)
    if isinstance(a, Record) and isinstance(b, Record):
        if a.type is not b.type:
            raise t.error(f"'if ... else' cannot choose between {kind_of(a)} and {kind_of(b)}", node, TypeMismatch)
        left, right = to_expr(t, a, node.body), to_expr(t, b, node.orelse)
        return Record(a.type, tree.IfExp(decide, left, right, type=left.type, span=t.span(node)))
    left, right = to_expr(t, a, node.body), to_expr(t, b, node.orelse)
    kind = common_type(t, left.type, right.type, node)
    if isinstance(decide.type, Tensor):
        return select(t, decide, left, right, node)
    note_choice(t, kind, node.lineno + t.source.shift, node.col_offset)
    left, right = coerce(t, left, kind, node), coerce(t, right, kind, node)
    return tree.IfExp(decide, left, right, type=kind, span=t.span(node))


def select(t: Translator, decide: tree.Expr, a: tree.Expr, b: tree.Expr, node: ast.AST) -> tree.Expr:
    """Choose element by element. Scalars are broadcast to the largest shape."""
    kind = common_type(t, a.type, b.type, node)
    shape = shape_of(decide.type)
    if shape and shape_of(kind) not in ((), shape):
        raise t.error(
            f"'select' has a condition of type {decide.type} and values of type {kind}: the shapes differ",
            node,
            TypeMismatch,
        )
    if shape and not shape_of(kind):
        kind = tensor(element(kind), shape)
    if shape_of(kind) and not shape:
        decide = tree.Splat(decide, type=tensor(u1, shape_of(kind)), span=decide.span)
    a, b = coerce(t, a, kind, node), coerce(t, b, kind, node)
    return tree.Select(decide, a, b, type=kind, span=t.span(node))
