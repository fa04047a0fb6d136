"""Objects of the program's own classes, made in a kernel of values that are computed there.

    ray = Ray(eye, towards)        =>        __init__ inlined: its `self.origin = origin` makes a variable
    ray.at(t)                      =>        at inlined, with `ray.origin` the variable

Such an object exists while the kernel is compiled: what is left of it are the variables behind its attributes.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from types import FunctionType, MethodType
from typing import Any, cast

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.lang.errors import UnknownName
from weft.lang.options import did_you_mean
from weft.lang.translate.annotations import annotation_of
from weft.lang.translate.functions import Call
from weft.lang.translate.inlining import inline, inline_body, matched
from weft.lang.translate.names import Names
from weft.lang.translate.source import Source, source_of
from weft.lang.translate.translator import Translator
from weft.lang.translate.values import Made, Record
from weft.lang.translate.variables import kept
from weft.lang.types import Template

__all__ = ["add_attribute", "attribute_of", "initialize", "make", "makes_objects", "parent_of"]


def attribute_of(t: Translator, made: Made, node: ast.Attribute) -> Any:
    """What `object.name` means: its own, or its class's."""
    name = node.attr
    if name in made.attributes:
        return made.attributes[name]
    if not hasattr(made.kind, name):
        near = did_you_mean(name, [*made.attributes, *vars(made.kind)], 0.75)
        raise UnknownName(f"{made.phrase} has no attribute '{name}'{near}", t.span(node))
    value, raw = getattr(made.kind, name), inspect.getattr_static(made.kind, name)
    t.unit.reads.append((made.kind, name, value))
    if isinstance(raw, property):
        return inline(t, cast(Any, raw.fget), Call(ast.copy_location(ast.Call(node, [], []), node), [made], {}), True)
    unbound = callable(value) and not isinstance(value, type) and not isinstance(raw, (staticmethod, classmethod))
    return MethodType(value, made) if unbound else value


def add_attribute(t: Translator, made: Made, target: ast.Attribute, value: Any, node: ast.AST) -> None:
    """`object.name = value`, the first time."""
    if t.out is not made.home:
        raise t.error(
            f"{made.phrase} would get its '{target.attr}' here, in a block or a function of its own: assign it first "
            f"in __init__, outside of ifs and loops",
            target,
        )
    made.attributes[target.attr] = kept(t, target.attr, value, node)


def parent_of(made: Made, of: type) -> Made:
    """What `super()` means in a method of class `of`."""
    order = made.kind.__mro__
    return Made(order[order.index(of) + 1], made.home, made.attributes)


def makes_objects(kind: Any) -> bool:
    """Whether calling `kind` in a kernel makes an object there: a class of the program's, made in the ordinary way."""
    if type(kind) is not type or getattr(kind, "__new__", None) is not object.__new__:
        return False
    return isinstance(getattr(kind, "__init__", None), FunctionType)


def make(t: Translator, kind: Any, c: Call) -> Made:
    """The object that a call of the class `kind` gives."""
    init: FunctionType = kind.__init__
    t.unit.reads += [(kind, "__init__", init), (kind, "__new__", kind.__new__)]
    made = Made(kind, t.out)
    if dataclasses.is_dataclass(kind):
        _fill_dataclass(t, made, c)
    else:
        initialize(t, made, init, c)
    return made


def initialize(t: Translator, made: Made, init: Any, c: Call) -> None:
    """Run `__init__`. What is known at compile time stays so, as it would in Python."""
    source = source_of(init)
    child = Translator(t.unit, source, Names(init), t.span(c.node))
    pairs = matched(t, init, source, c.with_first(made))
    known = {name for name, value in pairs if not isinstance(value, (tree.Expr, Record))}

    def annotation(name: str) -> Any:
        return Template() if name in known else annotation_of(init, name)

    made.home = child.out
    inline_body(t, child, pairs, annotation, (init,), c, bound=True, body=[*source.node.body, _gives_first(source)])
    made.home = t.out


def _gives_first(source: Source) -> ast.Return:
    """`return self`, behind a constructor's body: its variables are then those of the caller."""
    first = [*source.node.args.posonlyargs, *source.node.args.args][0]
    return ast.copy_location(ast.Return(ast.copy_location(ast.Name(first.arg, ast.Load()), first)), first)


def _fill_dataclass(t: Translator, made: Made, c: Call) -> None:
    """Give a dataclass's object its attributes: its `__init__` has no text, and does nothing else."""
    try:
        bound = inspect.signature(made.kind).bind(*c.args, **c.keywords)
    except TypeError as error:
        raise TypeMismatch(f"'{made.kind.__name__}': {error}", t.span(c.node)) from None
    for field in dataclasses.fields(cast(Any, made.kind)):
        value = bound.arguments.get(field.name, field.default)
        if value is dataclasses.MISSING:
            raise t.error(f"{made.phrase} that a kernel makes is given its '{field.name}'", c.node, TypeMismatch)
        made.attributes[field.name] = kept(t, field.name, value, c.node)
