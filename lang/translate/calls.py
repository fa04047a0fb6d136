"""Calls: decides which kind of call an expression is. `inlining.py` inlines `@func`s."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.ir.types import Prim, Tensor
from weft.lang.data.field import Field
from weft.lang.library.indices import fill_field
from weft.lang.library.linalg import METHODS as LINEAR_ALGEBRA
from weft.lang.translate import constructors, float_parts, functions, methods, simt, sparse
from weft.lang.translate.attributes import ValueMethod
from weft.lang.translate.contract import Loss
from weft.lang.translate.expressions import unpack_item
from weft.lang.translate.functions import FUNCTIONS, Call
from weft.lang.translate.inlining import inline
from weft.lang.translate.lists import ListOf
from weft.lang.translate.nested import NestedFunction
from weft.lang.translate.objects import initialize, make, makes_objects
from weft.lang.translate.operators import run_now
from weft.lang.translate.order import following
from weft.lang.translate.printing import format_braces
from weft.lang.translate.python_functions import PYTHON
from weft.lang.translate.real_calls import invoke
from weft.lang.translate.refused import why_refused
from weft.lang.translate.translator import Translator, translates
from weft.lang.translate.values import Made, Parent, is_known, kind_of, settled, to_expr
from weft.lang.values.builtins import BUILTINS, Builtin, ndrange
from weft.lang.values.matrix import Matrix
from weft.lang.values.types import MatrixType, StructType

__all__ = ["call"]

_WRITERS = (float_parts, simt)  # imported because they register functions


@translates(ast.Call)
def _call(t: Translator, node: ast.Call) -> Any:
    function = t.expr(node.func)
    values: list[Any] = [function.owner] if isinstance(function, ValueMethod) else []
    first = len(values)
    for place in node.args:
        if isinstance(place, ast.Starred):
            values.extend(following(t, values, unpack_item, t, place))
        else:
            values.append(following(t, values, t.expr, place))
    count, names = len(values), list[str]()
    for keyword in node.keywords:
        value = following(t, values, t.expr, keyword.value)
        if keyword.arg is None and not isinstance(value, dict):
            raise t.error("the dict after '**' must be known at compile time", keyword)
        given = value if keyword.arg is None else {keyword.arg: value}
        names += given
        values += given.values()
    if isinstance(function, ValueMethod):
        function = replace(function, owner=values[0])
    return call(t, function, Call(node, values[first:count], dict(zip(names, values[count:], strict=True))))


def call(t: Translator, function: Any, c: Call) -> Any:
    """The meaning of a call of `function`, which is known at compile time."""
    if isinstance(function, Builtin):
        return _builtin(t, function.name, c)
    if isinstance(function, ValueMethod):
        return _method(t, function, c)
    if isinstance(function, ListOf):
        return sparse.call_list(t, function, c)
    if isinstance(function, MethodType):
        return _bound(t, function, c)
    if isinstance(function, NestedFunction):
        return function.inline(t, c)
    if isinstance(function, partial):
        return call(t, function.func, Call(c.node, [*function.args, *c.args], {**function.keywords, **c.keywords}))
    if getattr(function, "is_real", False):
        return invoke(t, function.function, c)
    if getattr(function, "is_pyfunc", None) is not None:
        return inline(t, function.function, c)
    if getattr(function, "is_kernel", False):
        raise t.error(
            f"kernel '{function.__name__}' is called inside a kernel: make it a @ti.func, or call it from Python",
            c.node,
        )
    if isinstance(function, Prim):
        return functions.cast_to(t, function, c)
    if isinstance(function, (MatrixType, StructType)):
        return constructors.construct(t, function, c)
    handler = _python_handler(function)
    if handler is not None:
        return handler(t, c)
    return _python_call(t, function, c)


def _builtin(t: Translator, name: str, c: Call) -> Any:
    handler = FUNCTIONS.get(name)
    if handler is None:
        raise t.error(f"'{name}' cannot be used in a kernel", c.node)
    return handler(t, c)


def _method(t: Translator, method: ValueMethod, c: Call) -> Any:
    handler = methods.METHODS.get(method.name)
    if handler is not None:
        return handler(t, method.owner, c)
    if method.name in _OF_TWO and c.args and not _is_tensor(c.args[0]):
        raise t.error(
            f"{method.name} takes another vector or matrix, not {kind_of(c.args[0])}", c.node.args[0], TypeMismatch
        )
    return inline(t, LINEAR_ALGEBRA[method.name].function, c.with_first(method.owner))


_OF_TWO = ("cross", "dot", "outer_product")


def _is_tensor(value: Any) -> bool:
    """Whether a meaning is a vector or a matrix."""
    return isinstance(value, (Matrix, list, tuple)) or (isinstance(value, tree.Expr) and isinstance(value.type, Tensor))


def _bound(t: Translator, function: MethodType, c: Call) -> Any:
    inner: Any = function.__func__
    if inner is Field.fill:
        return inline(t, fill_field.function, c.with_first(function.__self__))
    _check_scope(t, function, c)
    owner: object = function.__self__
    if isinstance(owner, Made) and inner.__name__ == "__init__":  # the __init__ of super()
        return initialize(t, owner, inner, c)
    if getattr(inner, "is_real", False):
        return invoke(t, inner.function, c.with_first(function.__self__), bound=True)
    if getattr(inner, "is_pyfunc", None) is not None:
        return inline(t, inner.function, c.with_first(function.__self__), bound=True)
    if getattr(inner, "is_kernel", False):
        return call(t, inner, c)
    if isinstance(inner, FunctionType) and not (
        is_known(c.args) and is_known(c.keywords) and is_known(function.__self__)
    ):
        return inline(t, inner, c.with_first(function.__self__), bound=True)
    return _python_call(t, function, c)


def _super(t: Translator, c: Call) -> Any:
    """`super()` as in Python: for the class in which the method is defined and the first argument of the method."""
    parameters = t.source.node.args
    first = next(iter([*parameters.posonlyargs, *parameters.args]), None)
    bound = t.names.find(first.arg) if first is not None else None
    if bound is None or "__class__" not in t.names.function.__code__.co_freevars:
        raise t.error("super() without arguments works only in a method that is defined in a class", c.node)
    kind = t.names.outer("__class__")[0]
    return Parent(bound.value, kind) if isinstance(bound.value, Made) else super(kind, bound.value)


def _python_handler(function: Any) -> Callable[[Translator, Call], Any] | None:
    """The handler of a Python builtin, of a function of `math`, or of Matrix, Vector, Struct and their factories."""
    try:
        found = PYTHON.get(function) or constructors.CLASSES.get(function)
    except TypeError:  # not hashable
        return None
    if found is None and isinstance(function, FunctionType):
        name = function.__name__
        return _UNBOUND.get(name) if vars(Matrix).get(name) is function else None
    if found is None and isinstance(function, BuiltinFunctionType) and function.__module__ == "math":
        name = _MATH_NAMES.get(function.__name__, function.__name__)
        if name in BUILTINS and name in FUNCTIONS:
            return FUNCTIONS[name]
    return found


def _unbound(method: Callable[[Translator, Any, Call], Any]) -> Callable[[Translator, Call], Any]:
    """A method that is called through the class: `Matrix.transpose(m)`."""

    def handle(t: Translator, c: Call) -> Any:
        if not c.args:
            raise t.error("the first argument of this method must be a vector or a matrix", c.node, TypeMismatch)
        first, *rest = c.args
        return method(t, to_expr(t, first, c.node), replace(c, args=rest))

    return handle


_UNBOUND = {name: _unbound(method) for name, method in methods.METHODS.items()}
_MATH_NAMES: dict[str, str] = {"fabs": "abs", "fmod": "raw_mod"}


def _check_scope(t: Translator, function: Any, c: Call) -> None:
    why = why_refused(function)
    if why:
        raise t.error(why, c.node)


def _python_call(t: Translator, function: Any, c: Call) -> Any:
    """Call a Python callable. If all arguments are known at compile time, it runs now. Otherwise a plain function is
    inlined."""
    if not callable(function):
        raise t.error(f"{kind_of(function)} cannot be called", c.node, TypeMismatch)
    _check_scope(t, function, c)
    if function is super and not c.args:
        return _super(t, c)
    own: Any = type(function).__call__
    if getattr(own, "is_pyfunc", None) is not None:  # an object whose `__call__` is a @func
        return _bound(t, MethodType(own, function), c)
    if function is ndrange:
        return run_now(t, c.node, ndrange, *c.args)
    if isinstance(getattr(function, "__self__", None), (list, dict)):  # append, extend, get, items ...
        _check_growth(t, function, c)
        return run_now(t, c.node, function, *settled(t, c.args), **c.keywords)
    if is_known(c.args) and is_known(c.keywords):
        if t.unit.rehearsed and t.alone is c.node:  # a call such as breakpoint(): Python will run it
            return None
        if _draws(function):
            _warn_of_draw(t, c)
        return run_now(t, c.node, function, *c.args, **c.keywords)
    if isinstance(function, FunctionType):
        return inline(t, function, c)
    if makes_objects(function):
        return make(t, function, c)
    text = getattr(function, "__self__", None)
    if isinstance(text, str) and function.__name__ == "format":
        return format_braces(t, text, c)
    name = getattr(function, "__name__", "")
    instead = f"; write ti.{name}" if name in FUNCTIONS and name in BUILTINS else ""
    raise t.error(
        f"{kind_of(function)} is a Python function, not a Weft function: in a kernel, all its arguments must "
        f"be known at compile time{instead}",
        c.node,
        TypeMismatch,
    )


_GROWING = ("append", "extend", "insert", "setdefault", "update")


def _check_growth(t: Translator, function: Any, c: Call) -> None:
    """Raise an error if a container of the program grows by run-time values. Only a container that is a local of this
    block can grow, because it grows once; in a run-time loop or `if` it would not."""
    owner = c.node.func.value if isinstance(c.node.func, ast.Attribute) else None
    if function.__name__ not in _GROWING or is_known(c.args) or not isinstance(owner, (ast.Name, ast.Attribute)):
        return
    if isinstance(owner, ast.Name) and t.lives_here(owner.id):
        return
    raise t.error(
        f"'{ast.unparse(owner)}' is a Python {type(function.__self__).__name__}, which exists only while the "
        "kernel is compiled: a running kernel cannot add to it. Write the values to a field; "
        "ti.atomic_add(count[None], 1) returns a new index for each value",
        c.node,
    )


_DRAWING = {"random.Random", "numpy.random.mtrand.RandomState", "numpy.random._generator.Generator"}


def _draws(function: Any) -> bool:
    """Whether the function is a method of a random number generator. The class is compared by name, because compiling a
    kernel must not import `np.random`, which programs could notice."""
    classes = type(getattr(function, "__self__", None)).__mro__
    return any(f"{one.__module__}.{one.__qualname__}" in _DRAWING for one in classes)


def _warn_of_draw(t: Translator, c: Call) -> None:
    """Warn that `random.random()` in a kernel gives a single number, which is seldom intended. The warning is a
    SyntaxWarning."""
    span = t.span(c.node)
    text = (
        f"\n{span.render()}\nthe compiler calls {ast.unparse(c.node.func)} once, when it compiles the kernel, "
        "so each iteration and each call gets the same number; write ti.random() to draw a number when the "
        "kernel runs"
    )
    if text not in t.unit.warned:
        space = getattr(t.names.function, "__globals__", {})
        loss = t.unit.warned[text] = Loss(text, span.file, span.line, space, SyntaxWarning)
        loss.warn()
