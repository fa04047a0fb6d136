"""Python's own functions in kernels: number and truth functions, `range`, and functions that rearrange compile-time
values."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.ir.types import Prim, Tensor, i32
from weft.lang.data.field import Field
from weft.lang.data.struct_field import StructField
from weft.lang.translate.expressions import unpack
from weft.lang.translate.functions import (
    FUNCTIONS,
    Call,
    Handler,
    RangeOf,
    arguments,
    cast_value_to,
    element_type,
    exprs,
)
from weft.lang.translate.operators import binary, run_now, truth
from weft.lang.translate.precision import warn_of_loss
from weft.lang.translate.printing import print_call
from weft.lang.translate.translator import Translator
from weft.lang.translate.values import Made, Record, evaluated, is_known, kind_of, to_expr
from weft.lang.values.matrix import Matrix
from weft.lang.values.struct import Struct as PyStruct

__all__ = ["PYTHON"]


def _range(t: Translator, c: Call) -> Any:
    if not 1 <= len(c.args) <= 3 or c.keywords:
        raise t.error(f"range takes 1 to 3 arguments, got {len(c.args) + len(c.keywords)}", c.node, TypeMismatch)
    if is_known(c.args):
        for bound, place in zip(c.args, c.node.args):
            if isinstance(bound, (Field, StructField)):
                raise t.error("range takes integers, not a field: loop over the field itself", place, TypeMismatch)
        return run_now(t, c.node, range, *(_whole(t, bound, c) for bound in c.args))
    return RangeOf(tuple(_whole(t, bound, c) for bound in c.args))


def _whole(t: Translator, bound: Any, c: Call) -> Any:
    """Truncate a float bound of a range to an integer, with a warning if this loses information."""
    place = next((place for given, place in zip(c.args, c.node.args) if given is bound), c.node)
    if isinstance(bound, float):
        warn_of_loss(t, "a bound of a range", i32, to_expr(t, bound, place), place)
        return run_now(t, place, int, bound)
    if isinstance(bound, tree.Expr) and isinstance(bound.type, Prim) and bound.type.is_float:
        warn_of_loss(t, "a bound of a range", i32, bound, place)
        return tree.Cast(bound, type=i32, span=t.span(place))
    return bound


def _len(t: Translator, c: Call) -> Any:
    x = evaluated(t, arguments(t, c, 1, 1, "x")[0])
    if isinstance(x, tree.Expr) and isinstance(x.type, Tensor):
        return x.type.shape[0]
    if isinstance(x, tree.Expr):
        raise t.error(f"{kind_of(x)} has no len()", c.node, TypeMismatch)
    if isinstance(x, (Field, StructField)):
        raise t.error("a field has no len(): use its shape, as in x.shape[0]", c.node, TypeMismatch)
    return run_now(t, c.node, len, x)


def _number(dtype: Any) -> Handler:
    def handle(t: Translator, c: Call) -> Any:
        (x,) = arguments(t, c, 0, 1, "x")
        if isinstance(x, (Field, StructField)):
            to_expr(t, x, c.node)  # raises an error if an index is missing
        if x is None or is_known(x):
            return run_now(t, c.node, dtype, *([] if x is None else [x]))
        if dtype is bool:
            return truth(t, x, c.node)
        return cast_value_to(t, to_expr(t, x, c.node), dtype, c.node)

    return handle


def _sum(t: Translator, c: Call) -> Any:
    values, start = arguments(t, c, 1, 2, "values", "start")
    if isinstance(values, (Field, StructField)):
        raise t.error("sum takes a vector or a list, not a field: loop over the field", c.node, TypeMismatch)
    if isinstance(values, tree.Expr):
        if not isinstance(values.type, Tensor):
            raise t.error(f"sum takes a vector, matrix or list, not {kind_of(values)}", c.node, TypeMismatch)
        total = tree.Reduce("add", values, type=element_type(t, values, c.node), span=t.span(c.node))
        return total if start is None else binary(t, "add", to_expr(t, start, c.node), total, c.node)
    if is_known(values) and is_known(start):
        return run_now(t, c.node, sum, values, 0 if start is None else start)
    result, *rest = exprs(t, c, [*([] if start is None else [start]), *unpack(t, values, c.node)])
    for part in rest:
        result = binary(t, "add", result, part, c.node)
    return result


def _is_instance(t: Translator, c: Call) -> Any:
    x, classes = arguments(t, c, 2, 2, "x", "classes")
    if isinstance(x, Made):
        return run_now(t, c.node, issubclass, x.kind, classes)
    if not isinstance(x, (tree.Expr, Record)):
        return run_now(t, c.node, isinstance, x, classes)
    stand_in = PyStruct if isinstance(x, Record) else Matrix if isinstance(x.type, Tensor) else float
    return run_now(t, c.node, issubclass, stand_in, classes)


def _at_once(container: Callable[..., Any]) -> Handler:
    """Make the handler of a function that only rearranges its arguments. It runs at compile time."""

    def handle(t: Translator, c: Call) -> Any:
        args = [unpack(t, x, c.node) if isinstance(x, tree.Expr) and isinstance(x.type, Tensor) else x for x in c.args]
        if any(isinstance(x, (Field, StructField)) for x in args):
            name = ast.unparse(c.node.args[0])
            raise t.error(
                f"{container.__name__} takes a sequence that is known at compile time, not a field: loop over "
                f"the field, as in 'for I in ti.grouped({name})', and read {name}[I]",
                c.node,
                TypeMismatch,
            )
        if any(isinstance(x, (tree.Expr, Record)) for x in args[:1]):
            raise t.error(f"{kind_of(args[0])} is not a sequence known at compile time", c.node, TypeMismatch)
        made = run_now(t, c.node, container, *args, **c.keywords)
        return made if isinstance(made, (list, tuple, dict)) else list(made)

    return handle


def _print(t: Translator, c: Call) -> Any:
    print_call(t, c)


PYTHON: dict[Any, Handler] = {
    builtins.abs: FUNCTIONS["abs"],
    builtins.min: FUNCTIONS["min"],
    builtins.max: FUNCTIONS["max"],
    builtins.pow: FUNCTIONS["pow"],
    builtins.round: FUNCTIONS["round"],
    builtins.any: FUNCTIONS["any"],
    builtins.all: FUNCTIONS["all"],
    builtins.sum: _sum,
    builtins.range: _range,
    builtins.len: _len,
    builtins.int: _number(int),
    builtins.float: _number(float),
    builtins.bool: _number(bool),
    builtins.isinstance: _is_instance,
    builtins.print: _print,
    builtins.list: _at_once(list),
    builtins.tuple: _at_once(tuple),
    builtins.enumerate: _at_once(enumerate),
    builtins.zip: _at_once(zip),
    builtins.reversed: _at_once(reversed),
    builtins.dict: _at_once(dict),
}
