"""Objects of the program's classes that a kernel creates from run-time values.

    ray = Ray(eye, towards)        =>        __init__ inlined: its `self.origin = origin` makes a variable
    ray.at(t)                      =>        at inlined, with `ray.origin` the variable

Such an object exists only while the kernel is compiled. Its attributes become variables of the kernel."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from types import FunctionType, MethodType
from typing import Any, cast

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.lang.errors import UnknownName
from weft.lang.functions.annotations import annotation_of
from weft.lang.functions.source import Source, source_of
from weft.lang.program.options import did_you_mean
from weft.lang.translate.functions import Call
from weft.lang.translate.inlining import inline, inline_body, matched
from weft.lang.translate.names import Names
from weft.lang.translate.translator import Translator
from weft.lang.translate.values import Made, Parent, Record, is_number, to_expr
from weft.lang.translate.variables import kept
from weft.lang.values.types import Template

__all__ = ["add_attribute", "attribute_of", "check_assignable", "initialize", "make", "makes_objects"]


def attribute_of(t: Translator, owner: Made | Parent, node: ast.Attribute) -> Any:
    """The meaning of `object.name`: an attribute of the object, or of its class. For `super()`, it is that of the next
    class that has it."""
    name, made = node.attr, owner if isinstance(owner, Made) else owner.made
    if isinstance(owner, Made) and name in made.attributes:
        return made.attributes[name]
    order = made.kind.__mro__
    classes = order if isinstance(owner, Made) else order[order.index(owner.of) + 1 :]
    kind = next((kind for kind in classes if name in vars(kind)), None)
    if kind is None:
        near = did_you_mean(name, [*made.attributes, *vars(made.kind)], 0.75)
        raise UnknownName(f"{owner.phrase} has no attribute '{name}'{near}", t.span(node))
    value, raw = getattr(kind, name), vars(kind)[name]
    if isinstance(raw, property):
        return inline(t, cast(Any, raw.fget), Call(ast.copy_location(ast.Call(node, [], []), node), [made], {}), True)
    if isinstance(raw, classmethod):
        return MethodType(cast(Any, raw).__func__, made.kind)
    unbound = callable(value) and not isinstance(value, type) and not isinstance(raw, staticmethod)
    return MethodType(value, made) if unbound else value


def check_assignable(t: Translator, made: Made, target: ast.Attribute) -> None:
    """Raise an error unless an assignment to this attribute only stores a value. A property or `__setattr__` would run
    code."""
    if getattr(made.kind, "__setattr__", None) is not object.__setattr__:
        raise t.error(f"the attributes of {made.phrase} cannot be assigned: its class is frozen", target)
    if isinstance(inspect.getattr_static(made.kind, target.attr, None), property):
        raise t.error(
            f"'{target.attr}' is a property, and kernels do not call property setters: use a method instead", target
        )


def add_attribute(t: Translator, made: Made, target: ast.Attribute, value: Any, node: ast.AST) -> None:
    """Translate the first assignment `object.name = value`."""
    if t.out is not made.home:
        raise t.error(
            f"{made.phrase} cannot get a new attribute '{target.attr}' in a block or in another function: "
            "assign it first in __init__, outside of ifs and loops",
            target,
        )
    made.attributes[target.attr] = kept(t, target.attr, value, node)


def makes_objects(kind: Any) -> bool:
    """Whether a call of `kind` creates an object in the kernel: `kind` is a class of the program that makes objects in
    the ordinary way."""
    if type(kind) is not type or getattr(kind, "__new__", None) is not object.__new__:
        return False
    return isinstance(getattr(kind, "__init__", None), FunctionType)


def make(t: Translator, kind: Any, c: Call) -> Made:
    """Create the object for a call of the class `kind`."""
    init: FunctionType = kind.__init__
    made = Made(kind, t.out)
    _check_ordinary(t, made, c)
    owner = next(one for one in kind.__mro__ if "__init__" in vars(one))
    if "__dataclass_params__" in vars(owner) and init.__code__.co_filename == "<string>":
        _fill_dataclass(t, made, owner, c)
    else:
        initialize(t, made, init, c)
    return made


def _check_ordinary(t: Translator, made: Made, c: Call) -> None:
    """Raise an error unless the class reads and sets attributes of its objects in the ordinary way."""
    frozen = getattr(getattr(made.kind, "__dataclass_params__", None), "frozen", False)
    for name in ("__getattribute__", "__getattr__", *(() if frozen else ("__setattr__",))):
        if getattr(made.kind, name, None) is not getattr(object, name, None):
            raise t.error(f"a kernel cannot make {made.phrase}: its class defines '{name}'", c.node)


def initialize(t: Translator, made: Made, init: Any, c: Call) -> None:
    """Inline `__init__`. Values that are known at compile time stay known, as they would in Python."""
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
    """A `return self` after the body of a constructor. Its variables then belong to the caller."""
    first = [*source.node.args.posonlyargs, *source.node.args.args][0]
    return ast.copy_location(ast.Return(ast.copy_location(ast.Name(first.arg, ast.Load()), first)), first)


def _fill_dataclass(t: Translator, made: Made, owner: type, c: Call) -> None:
    """Do what the generated `__init__` of the dataclass `owner` does. It has no source text."""
    signature = inspect.signature(owner)
    try:
        given = signature.bind(*c.args, **c.keywords).arguments
    except TypeError as error:
        raise TypeMismatch(f"'{made.kind.__name__}': {error}", t.span(c.node)) from None
    fields, after = dataclasses.fields(cast(Any, owner)), getattr(made.kind, "__post_init__", None)
    for field in fields:
        value = given.get(field.name, field.default)
        if value is dataclasses.MISSING:
            raise t.error(f"{made.phrase} needs a value for '{field.name}'", c.node, TypeMismatch)
        if after is not None and is_number(value):  # `__post_init__` may change it
            value = to_expr(t, value, c.node)
        made.attributes[field.name] = kept(t, field.name, value, c.node)
    if after is None:
        return
    passed_on = [one for one in signature.parameters.values() if one.name not in {field.name for field in fields}]
    initialize(t, made, after, Call(c.node, [given.get(one.name, one.default) for one in passed_on], {}))
