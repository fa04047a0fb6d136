"""`@real_func`: functions that are compiled once and called, so that they may call themselves.

Such a function becomes a kernel tree of its own, whose parameters are its arguments and whose loops are serial; a call
is a `tree.Invoke` of it. Parameters and results have annotated value types, passed by value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.ir.symbols import Param
from weft.ir.transforms.lower_tree_facts import walk
from weft.ir.types import VOID, Type, struct
from weft.lang.translate.annotations import annotation_of, result_annotations
from weft.lang.translate.functions import Call
from weft.lang.translate.inlining import inline, matched
from weft.lang.translate.names import Names
from weft.lang.translate.source import Source, source_of
from weft.lang.translate.translator import Translator, Unit
from weft.lang.translate.values import coerce, to_expr, wrap
from weft.lang.types import to_ir

__all__ = ["invoke"]


def invoke(t: Translator, function: Callable[..., Any], c: Call) -> Any:
    """The meaning of a call of `function`; where a parameter is no value (an array, a template), it is inlined."""
    if t.unit.config.arch == "cuda":
        return inline(t, function, c)
    source = source_of(function)
    arguments = matched(t, function, source, c)
    annotations = {name: annotation_of(function, name) for name, _ in arguments}
    try:
        types = {name: to_ir(annotation) for name, annotation in annotations.items()}
    except TypeMismatch:
        return inline(t, function, c)
    results = result_annotations(annotation_of(function, "return"))
    name = t.unit.functions.get(function)
    if name is None:
        name = t.unit.functions[function] = f"{source.name}_{len(t.unit.functions)}"
        _translate(t, function, source, name, annotations, types, results)
    given = [_argument(t, value, types[parameter], parameter, source, c) for parameter, value in arguments]
    parts = [to_ir(result) for result in results]
    whole = _whole(parts)
    call = tree.Invoke(name, given, t.unit.touched, type=whole, span=t.span(c.node))
    if not parts:
        t.emit(tree.Eval(call, span=call.span))
        return None
    place = t.local(call, source.name)
    if len(parts) == 1:
        return wrap(results[0], place)
    members = [tree.Member(place, f"_{k}", type=part) for k, part in enumerate(parts)]
    return tuple(wrap(result, member) for result, member in zip(results, members, strict=True))


def _whole(parts: list[Type]) -> Type:
    if not parts:
        return VOID
    return parts[0] if len(parts) == 1 else struct(tuple((f"_{k}", part) for k, part in enumerate(parts)))


def _argument(t: Translator, value: Any, type: Type, name: str, source: Source, c: Call) -> tree.Expr:
    expr = to_expr(t, value, c.node)
    try:
        return coerce(t, expr, type, c.node)
    except TypeMismatch:
        raise t.error(
            f"argument '{name}' of '{source.name}' is {type}, got {expr.type}", c.node, TypeMismatch
        ) from None


def _translate(
    t: Translator,
    function: Callable[..., Any],
    source: Source,
    name: str,
    annotations: dict[str, Any],
    types: dict[str, Type],
    results: tuple[Any, ...],
) -> None:
    """The function's own tree; it is left in the unit, where the kernel finds it."""
    unit = Unit(name, t.unit.config, results=results)
    for shared in ("symbols", "trees", "kept", "fixed", "captures", "functions", "trees_of_functions", "touched"):
        setattr(unit, shared, getattr(t.unit, shared))
    child = Translator(unit, source, Names(function))
    child.is_kernel = True
    for index, (parameter, type) in enumerate(types.items()):
        unit.params.append(Param(parameter, type))
        variable = tree.Variable(parameter, type)
        child.emit(tree.Let(variable, tree.ParamRef(index, type=type), span=source.header()))
        child.bind(parameter, _meaning(annotations[parameter], variable), "")
    child.body(source.node.body)
    made = child.finish(source.header())
    if any(isinstance(node, tree.Random) for node in walk(made)):
        raise t.error(f"'{source.name}' draws random numbers, which a @real_func cannot: make it a @func", source.node)
    unit.trees_of_functions.append(made)


def _meaning(annotation: Any, variable: tree.Variable) -> Any:
    meaning = wrap(annotation, tree.Var(variable, type=variable.type))
    return variable if isinstance(meaning, tree.Expr) else meaning
