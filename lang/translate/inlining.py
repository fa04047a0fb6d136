"""Inlines functions: binds arguments to parameters, translates the body in place, and joins its returns.

    x = f(a, b)        =>        x = call { p = a; q = b; ... return v }

Arguments are passed by value, except template parameters, `self`, and values that exist only at compile time (fields,
functions, strings)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.ir.types import VOID, Array, Prim, Tensor, Type, struct, with_element
from weft.lang.data.field_annotations import FieldAnnotation, Subscripted
from weft.lang.functions.annotations import MISSING, annotation_of, is_template, result_annotations
from weft.lang.functions.source import Source, source_of
from weft.lang.translate.endings import refuse_open_end
from weft.lang.translate.functions import Call
from weft.lang.translate.names import Names
from weft.lang.translate.operators import note_choice
from weft.lang.translate.order import following
from weft.lang.translate.precision import warn_of_loss
from weft.lang.translate.translator import Returned, Translator
from weft.lang.translate.values import (
    Record,
    assignable,
    coerce,
    common_type,
    in_memory,
    is_number,
    settled,
    settled_place,
    struct_kind,
    to_expr,
)
from weft.lang.values.matrix import Matrix
from weft.lang.values.struct import Struct
from weft.lang.values.types import CompoundType, NdarrayType, Ref, StructType, to_ir

__all__ = ["DEEPEST", "argument_node", "declared_type", "inline", "inline_body", "matched"]

DEEPEST = 64  # the most calls that are open at once; template recursion that ends stays below it


def inline(t: Translator, function: Callable[..., Any], c: Call, bound: bool = False) -> Any:
    """The meaning of a call of `function`. If `bound`, the first argument is `self`."""
    source = source_of(function)
    child = Translator(t.unit, source, Names(function), t.span(c.node))
    child.top = t.top and t.alone is c.node and _loops_freely(source.node)
    pairs = matched(t, function, source, c)
    return inline_body(t, child, pairs, partial(annotation_of, function), (function,), c, bound)


def inline_body(
    t: Translator,
    child: Translator,
    pairs: list[tuple[str, Any]],
    annotation: Callable[[str], Any],
    identity: tuple[Any, ...],
    c: Call,
    bound: bool = False,
    body: list[ast.stmt] | None = None,
) -> Any:
    """The meaning of a call of the function that `child` translates, with these (parameter, argument) pairs. `identity`
    is the part of its key that identifies the function. `body`, if given, is translated in place of the function's own
    body."""
    lets: list[tuple[tree.Variable, tree.Expr]] = []
    key: list[Any] = [*identity]
    for position, (name, value) in enumerate(pairs):
        by_reference = bound and position == 0
        earlier = [expr for _, expr in lets]
        key.append(following(t, earlier, _bind, t, child, annotation(name), name, value, by_reference, lets, c))
        lets[: len(earlier)] = [(variable, expr) for (variable, _), expr in zip(lets, earlier)]
    _open(t, child.source, tuple(key), c)
    try:
        child.body(child.source.node.body if body is None else body)
    finally:
        t.unit.open_calls.pop()
    return _Result(t, child, lets, annotation("return"), c).value()


def _loops_freely(function: ast.FunctionDef) -> bool:
    """Whether the loops of an inlined function are parallel, as if they were written at the call. The call is a
    statement at the top level of a kernel. The function must not return, and none of its loops may `break`."""
    return not any(isinstance(node, (ast.Return, ast.Break)) for node in ast.walk(function))


def _open(t: Translator, source: Source, key: tuple[Any, ...], c: Call) -> None:
    calls = t.unit.open_calls
    if key in calls or len(calls) >= DEEPEST:
        raise t.error(
            f"'{source.name}' calls itself, but a @func is inlined, so the recursion would never end; use a "
            "loop, @ti.real_func, or a condition ti.static(...) on a template() parameter that ends the "
            "recursion",
            c.node,
        )
    calls.append(key)


def matched(t: Translator, function: Callable[..., Any], source: Source, c: Call) -> list[tuple[str, Any]]:
    """The (parameter, argument) pairs, with defaults filled in. Raises TypeMismatch if the arguments do not match."""
    spec = source.node.args
    if c.keywords or spec.vararg or spec.kwarg or spec.kwonlyargs or function.__defaults__:
        return _matched_slowly(t, function, source, c)
    names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    if len(names) != len(c.args):
        wanted = f"{len(names)} argument{'' if len(names) == 1 else 's'}"
        raise t.error(f"'{source.name}' takes {wanted} ({', '.join(names)}), got {len(c.args)}", c.node, TypeMismatch)
    return list(zip(names, c.args, strict=True))


def _matched_slowly(t: Translator, function: Callable[..., Any], source: Source, c: Call) -> list[tuple[str, Any]]:
    from inspect import signature

    made = signature(function)
    for name in c.keywords:
        if name not in made.parameters and not source.node.args.kwarg:
            raise t.error(
                f"'{source.name}' has no parameter '{name}'; its parameters are ({', '.join(made.parameters)})",
                c.node,
                TypeMismatch,
            )
    try:
        bound = made.bind(*c.args, **c.keywords)
    except TypeError as error:
        raise TypeMismatch(f"'{source.name}': {error}", t.span(c.node)) from None
    bound.apply_defaults()
    return list(bound.arguments.items())


def _bind(
    t: Translator,
    child: Translator,
    annotation: Any,
    name: str,
    value: Any,
    by_reference: bool,
    lets: list[tuple[tree.Variable, tree.Expr]],
    c: Call,
) -> Any:
    """Bind one parameter. Returns its part of the key that identifies this instance of the function."""
    template = by_reference or is_template(annotation)
    check_template(t, child.source.name, name, value, annotation, c)
    if template and is_number(value):
        child.bind(name, value, "template parameter")
        return (type(value), value)
    if template:
        child.bind(name, _reference(t, value), "" if isinstance(value, (tree.Expr, Record)) else "template parameter")
        return _identity(value)
    if isinstance(value, tree.Expr) and isinstance(value.type, Array):
        child.bind(name, value, "template parameter")
        return value.type
    if isinstance(value, (list, tuple)) and not isinstance(annotation, CompoundType):
        child.bind(name, settled(t, value), "")
        return _identity(value)
    if not isinstance(value, (tree.Expr, Record, Matrix, Struct, list, tuple)) and not is_number(value):
        child.bind(name, value, "template parameter")
        return _identity(value)
    return _by_value(t, child, name, value, annotation, lets, c)


def _by_value(
    t: Translator,
    child: Translator,
    name: str,
    value: Any,
    annotation: Any,
    lets: list[tuple[tree.Variable, tree.Expr]],
    c: Call,
) -> Any:
    expr = to_expr(t, value, c.node)
    kind = struct_kind(value)
    wanted = declared_type(annotation)
    if wanted is not None:
        try:
            if isinstance(wanted, Tensor) and isinstance(expr.type, Prim):
                raise TypeMismatch("a number is not a vector")
            warn_of_loss(t, f"argument '{name}' of '{child.source.name}'", wanted, expr, argument_node(c, name, value))
            expr = coerce(t, expr, wanted, c.node)
        except TypeMismatch:
            raise t.error(
                f"argument '{name}' of '{child.source.name}' must be of type {wanted}, not {expr.type}",
                c.node,
                TypeMismatch,
            ) from None
        kind = annotation if isinstance(annotation, StructType) else kind
    variable = tree.Variable(name, expr.type)
    lets.append((variable, expr))
    child.bind(name, variable if kind is None else Record(kind, tree.Var(variable, type=expr.type)), "")
    return expr.type


def check_template(t: Translator, function: str, name: str, value: Any, annotation: Any, c: Call) -> None:
    """Raise TypeMismatch unless the argument is what its annotation asks for: an lvalue for `ref`, a field of such
    elements for `Field[element]`. Other annotations are accepted."""
    if isinstance(annotation, Ref):
        _check_reference(t, function, name, value, annotation, c)
    if isinstance(annotation, FieldAnnotation) and not annotation.accepts(value):
        given = f"{value!r}" if isinstance(value, Subscripted) else f"a value of type {_kind(value)}"
        raise t.error(
            f"argument '{name}' of '{function}' must be a field, as {annotation!r} says, not {given}",
            argument_node(c, name, value),
            TypeMismatch,
        )


def _kind(value: Any) -> str:
    return f"{value.type}" if isinstance(value, tree.Expr) else type(value).__name__


def _check_reference(t: Translator, function: str, name: str, value: Any, annotation: Ref, c: Call) -> None:
    """Raise TypeMismatch unless the argument of a `ref` parameter is an lvalue of that type."""
    wanted, node = (
        f"argument '{name}' of '{function}' must be a reference to {annotation.dtype}",
        argument_node(c, name, value),
    )
    if not assignable(value, t):
        raise t.error(f"{wanted}: pass a variable, or an element of a field or array", node, TypeMismatch)
    if value.type is not annotation.dtype:
        raise t.error(f"{wanted}, not to {value.type}", node, TypeMismatch)


def argument_node(c: Call, name: str, value: Any) -> ast.AST:
    """The node of the argument for parameter `name`. The whole call if the argument is not written there."""
    written = {keyword.arg: keyword.value for keyword in c.node.keywords}
    if name in written:
        return written[name]
    extra = len(c.args) - len(c.node.args)  # `self` and similar arguments
    places = (place for given, place in zip(c.args[extra:], c.node.args) if given is value)
    return next(places, c.node)


def declared_type(annotation: Any) -> Type | None:
    """The type that an annotation requires for values. None if it requires none."""
    if annotation is MISSING or annotation is Any or isinstance(annotation, NdarrayType):
        return None
    try:
        return to_ir(annotation)
    except TypeMismatch:
        return None


def _identity(value: Any) -> Any:
    if isinstance(value, tree.Expr):
        return value.type
    if isinstance(value, Record):
        return value.type
    if isinstance(value, (list, tuple)):
        return tuple(map(_identity, value))
    return value if isinstance(value, str) or is_number(value) else id(value)


def _reference(t: Translator, value: Any) -> Any:
    """`value` for use under another name: its indices are evaluated now."""
    if isinstance(value, Record):
        if value.whole is not None:
            return Record(value.type, _reference(t, value.whole))
        return value
    if not isinstance(value, tree.Expr) or isinstance(value.type, Array):
        return value
    if not in_memory(value):
        return t.frozen(value)
    return settled_place(t, value)


class _Result:
    """Joins the returns of an inlined body into the meaning of the call."""

    def __init__(
        self,
        t: Translator,
        child: Translator,
        lets: list[tuple[tree.Variable, tree.Expr]],
        annotation: Any,
        c: Call,
    ) -> None:
        self.t, self.child, self.lets, self.node = t, child, lets, c.node
        self.wanted = result_annotations(annotation)

    def value(self) -> Any:
        """The meaning of the call. Statements that must run before it are emitted, or stored in a `Call`."""
        returns = self.child.returns
        if all(returned.value is None for returned in returns):
            if self.wanted:
                raise self.t.error(
                    f"'{self.child.source.name}' is annotated to return a value ('-> ...'), but has no "
                    "'return' with a value",
                    self.node,
                )
            self._no_value()
            return None
        refuse_open_end(self.child)
        for returned in returns:
            if returned.value is None:
                raise self.child.error(
                    "this 'return' has no value, but another 'return' of the function has one", returned.node
                )
        if len(returns) == 1 and self.child.out and self.child.out[-1] is returns[0].stmt:
            return self._single(returns[0])
        if any(isinstance(returned.value, (list, tuple)) for returned in returns):
            return self._tuples(returns)
        return self._several(returns)

    def _no_value(self) -> None:
        if self.lets or self.child.out:
            self.t.emit(tree.Eval(self._call(VOID), span=self.t.span(self.node)))

    def _call(self, type: Type) -> tree.Call:
        name = self.child.source.name
        return tree.Call(name, self.lets, self.child.out, type=type, span=self.t.span(self.node))

    def _single(self, returned: Returned) -> Any:
        t, value = self.t, returned.value
        if isinstance(value, (list, tuple)) and len(self.wanted) == 1 and self._declared(0) is not None:
            value = to_expr(t, value, returned.node)
        if not isinstance(value, (tree.Expr, Record, Struct, Matrix)) and not is_number(value):
            return self._hoisted(value)
        return self._several([Returned(returned.stmt, value, returned.node)])

    def _hoisted(self, value: Any) -> Any:
        """A result that is a tuple or is known at compile time: emit the body first, then read the parts."""
        for variable, argument in self.lets:
            self.t.emit(tree.Let(variable, argument, span=argument.span))
        self.child.out.pop()
        self.t.out.extend(self.child.out)
        return settled(self.t, value)

    def _several(self, returns: list[Returned]) -> Any:
        exprs = [to_expr(self.child, returned.value, returned.node) for returned in returns]
        type = self._type(0, exprs, returns)
        for returned, expr in zip(returns, exprs, strict=True):
            self._warn(0, expr, returned)
            returned.stmt.values = [coerce(self.child, expr, type, returned.node)]
        return self._wrapped(returns[0].value, 0, self._call(type))

    def _tuples(self, returns: list[Returned]) -> Any:
        """Several returns of tuples: use a struct with a member for each item."""
        rows = [list(r.value) if isinstance(r.value, (list, tuple)) else [r.value] for r in returns]
        if len({len(row) for row in rows}) != 1:
            raise TypeMismatch(
                "all 'return' statements must return the same number of values", self.child.span(returns[-1].node)
            )
        columns: list[list[tree.Expr]] = []
        for position in range(len(rows[0])):
            exprs = [to_expr(self.child, row[position], r.node) for row, r in zip(rows, returns, strict=True)]
            type = self._type(position, exprs, returns)
            for expr, r in zip(exprs, returns, strict=True):
                self._warn(position, expr, r)
            columns.append([coerce(self.child, e, type, r.node) for e, r in zip(exprs, returns, strict=True)])
        for row, returned in enumerate(returns):
            returned.stmt.values = [column[row] for column in columns]
        whole = struct(tuple((f"_{k}", column[0].type) for k, column in enumerate(columns)))
        place = self.t.local(self._call(whole), self.child.source.name)
        parts = [tree.Member(place, f"_{k}", type=column[0].type) for k, column in enumerate(columns)]
        return tuple(self._wrapped(rows[0][k], k, part) for k, part in enumerate(parts))

    def _warn(self, position: int, expr: tree.Expr, returned: Returned) -> None:
        declared = self._declared(position)
        if declared is not None:
            what = f"the result of '{self.child.source.name}'"
            warn_of_loss(self.child, what, declared, expr, returned.node.value or returned.node)

    def _declared(self, position: int) -> Type | None:
        return declared_type(self.wanted[position]) if position < len(self.wanted) else None

    def _type(self, position: int, exprs: list[tree.Expr], returns: list[Returned]) -> Type:
        declared, type = self._declared(position), exprs[0].type
        if isinstance(declared, Prim) and isinstance(type, Tensor):  # `-> ti.f32` describes the elements of a vector
            return with_element(type, declared)
        if declared is not None:
            return declared
        for expr, returned in zip(exprs[1:], returns[1:], strict=True):
            if isinstance(type, Tensor) != isinstance(expr.type, Tensor):
                message = f"'{self.child.source.name}' returns different types: {type} before, {expr.type} here"
                raise self.child.error(message, returned.node, TypeMismatch)
            type = common_type(self.child, type, expr.type, returned.node)
        if len(returns) > 1:
            note_choice(self.child, type, 0, position)
        return type

    def _wrapped(self, value: Any, position: int, expr: tree.Expr) -> Any:
        """Wrap the value in a Record if it is a struct."""
        kind = struct_kind(value)
        if position < len(self.wanted) and isinstance(self.wanted[position], StructType):
            kind = self.wanted[position]
        return expr if kind is None else Record(kind, expr)
