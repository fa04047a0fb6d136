"""Attributes `a.b`: swizzles, members, methods of values, shapes, and the attributes of compile-time objects."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.ir.types import Array, Tensor, tensor
from weft.lang.data.companions import KINDS
from weft.lang.data.field import Field, MatrixField
from weft.lang.data.lists import LIST_METHODS
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.struct_field import StructField
from weft.lang.errors import UnknownName
from weft.lang.functions.captures import is_watched, space_of
from weft.lang.functions.source import LIBRARY
from weft.lang.library.linalg import METHODS as LINEAR_ALGEBRA
from weft.lang.program.options import did_you_mean
from weft.lang.translate.indexing import constant_element, dotted
from weft.lang.translate.lists import ListOf, method_of
from weft.lang.translate.objects import attribute_of
from weft.lang.translate.operators import run_now
from weft.lang.translate.translator import Translator, translates
from weft.lang.translate.values import Made, Parent, Record, Unfinished, evaluated, has_effects, kind_of, to_expr
from weft.lang.values.matrix import Matrix, swizzle
from weft.lang.values.struct import Struct, known_member

__all__ = ["TENSOR_METHODS", "ValueMethod", "swizzle_positions"]

# Methods of vectors and matrices that `constructors` and `functions` implement. The others are Weft functions.
TENSOR_METHODS = frozenset({"sum", "max", "min", "any", "all", "transpose", "cast", "fill", "get_shape", "copy"})


@dataclass(frozen=True, eq=False)
class ValueMethod(Unfinished):
    """A method of a run-time value that was not called yet."""

    name: str
    owner: tree.Expr

    @property
    def phrase(self) -> str:  # type: ignore[override]
        """The name of this meaning in messages."""
        return f"the method {self.name} (without a call)"


def _what_it_has(kind: Tensor, name: str) -> str:
    """The message for a name that vectors or matrices do not have: what to write instead."""
    if len(kind.shape) == 1 and len(name) <= 4 and set(name) <= set("xyzwrgbastpq"):
        return f": its elements are {', '.join('xyzw'[: kind.shape[0]])}"
    return did_you_mean(name, (*TENSOR_METHODS, *LINEAR_ALGEBRA, "n", "m", "shape", "dtype"))


@translates(ast.Attribute)
def _attribute(t: Translator, node: ast.Attribute) -> Any:
    base = t.expr(node.value)
    if isinstance(base, Field | StructField) and (method := method_of(base, node.attr)) is not None:
        return method
    if isinstance(base, ListOf):
        return _of_list(t, base, node)
    if isinstance(base, Struct):
        if (known := known_member(base, node.attr)) is not None:
            return known
        base = base.as_constant()
    if isinstance(base, (Matrix, Struct)) and not _is_static(base, node.attr):
        base = (
            t.frozen(to_expr(t, base, node.value))
            if isinstance(base, Matrix)
            else Record(base.struct_type, to_expr(t, base, node.value))
        )
    if isinstance(base, Record):
        return _member(t, base, node)
    if isinstance(base, tree.Expr):
        return _of_value(t, base, node)
    if isinstance(base, (Made, Parent)):
        return attribute_of(t, base, node)
    value = _of_object(t, base, node)
    if isinstance(value, Ndarray):
        raise t.error(
            f"'{node.attr}' is an ndarray: a kernel takes it as an argument, annotated ti.types.ndarray()", node
        )
    return value


def _is_static(base: Any, name: str) -> bool:
    """Whether the attribute of a captured constant is known at compile time: facts and elements are, methods are
    not."""
    if isinstance(base, Matrix):
        return name in ("n", "m", "shape") or swizzle(name) is not None
    return name in ("keys", "struct_type", "methods")


def _of_list(t: Translator, base: ListOf, node: ast.Attribute) -> ListOf:
    if base.method or node.attr not in LIST_METHODS:
        raise t.error(f"a list has no '{node.attr}'; it has {', '.join(LIST_METHODS)}", node, UnknownName)
    return replace(base, method=node.attr)


def _member(t: Translator, base: Record, node: ast.Attribute) -> Any:
    if node.attr in base.type.members:
        return base.member(node.attr, t.span(node))
    if node.attr in base.type.methods:
        return base.type.bound(node.attr, base)
    names = ", ".join([*base.type.members, *base.type.methods])
    raise t.error(f"a struct {base.type!r} has no '{node.attr}'; it has {names}", node, UnknownName)


def _of_value(t: Translator, base: tree.Expr, node: ast.Attribute) -> Any:
    kind, name = base.type, node.attr
    if isinstance(kind, Array):
        return _of_array(t, base, kind, node)
    if isinstance(kind, Tensor):
        positions = swizzle_positions(kind, name)
        if positions is not None:
            return _swizzled(t, base, positions, node)
        facts = {
            "n": kind.shape[0],
            "m": (*kind.shape, 1)[1],
            "shape": kind.shape,
            "dtype": kind.elem,
            "ndim": len(kind.shape),
        }
        if name in facts:
            evaluated(t, base)
            return facts[name]
        if name in TENSOR_METHODS or name in LINEAR_ALGEBRA:
            return ValueMethod(name, base)
        raise t.error(f"a value of type {kind} has no '{name}'{_what_it_has(kind, name)}", node, UnknownName)
    if name == "dtype":
        return kind
    if name in ("cast",):
        return ValueMethod(name, base)
    if t.source.file.startswith(LIBRARY):
        raise t.error(f"{t.source.name} takes a vector or matrix, not {kind_of(base)}", node, TypeMismatch)
    raise t.error(f"a scalar ({kind}) has no '{name}'", node, UnknownName)


def _derived(t: Translator, base: tree.Expr, node: ast.Attribute) -> tree.Expr:
    """The gradient or the dual of an array argument, which is a hidden argument."""
    assert isinstance(base, tree.ParamRef)
    own = t.unit.params[base.index].name
    name = f"{own}.{node.attr}"
    if t.unit.mode:
        raise t.error(f"a kernel that uses '{name}' itself cannot be differentiated", node)
    found = next((k for k, param in enumerate(t.unit.params) if param.name == name and param.hidden), None)
    if found is None:
        how = f"make the array with needs_{node.attr}=True"
        inside = "" if t.is_kernel else f", and write {name} in the kernel that calls this function"
        raise t.error(f"argument '{own}' has no '{node.attr}': {how}{inside}", node, UnknownName)
    return tree.ParamRef(found, type=t.unit.params[found].type, span=t.span(node))


def _of_array(t: Translator, base: tree.Expr, kind: Array, node: ast.Attribute) -> Any:
    if node.attr in KINDS and isinstance(base, tree.ParamRef):
        return _derived(t, base, node)
    if node.attr == "shape":
        if isinstance(base, tree.Shared):
            return base.shape
        return tuple(tree.ArrayShape(base, axis, type=kind.index, span=t.span(node)) for axis in range(kind.ndim))
    facts: dict[str, Any] = {
        "ndim": kind.ndim,
        "dtype": getattr(kind.elem, "elem", kind.elem),
        "element_type": kind.elem,
    }
    if isinstance(kind.elem, Tensor):
        facts |= {"n": kind.elem.shape[0], "m": (*kind.elem.shape, 1)[1]}
    if node.attr in facts:
        return facts[node.attr]
    if node.attr == "element_shape":
        return ValueMethod(node.attr, base)
    raise t.error(f"an array argument has no '{node.attr}' in a kernel; it has shape, ndim, dtype", node, UnknownName)


def swizzle_positions(kind: Tensor, name: str) -> tuple[int, ...] | None:
    """The positions of the elements that the swizzle `name` selects. None if it is not a swizzle of this vector."""
    if len(kind.shape) != 1 and kind.shape[1] != 1:
        return None
    positions = swizzle(name)
    return positions if positions is not None and max(positions) < kind.shape[0] else None


def _swizzled(t: Translator, base: tree.Expr, positions: tuple[int, ...], node: ast.Attribute) -> tree.Expr:
    kind = base.type
    assert isinstance(kind, Tensor)
    rest = (0,) * (len(kind.shape) - 1)
    if isinstance(base, tree.MakeTensor) and not has_effects(base):
        scalars = [base.values[position] for position in positions]
    else:
        written_out = isinstance(base, tree.MakeTensor)
        if written_out or (len(positions) > 1 and not isinstance(base, (tree.Var, tree.ParamRef))):
            base = t.local(base)
        scalars = [constant_element(base, (position, *rest), t.span(node)) for position in positions]
    if len(scalars) == 1:
        return scalars[0]
    return tree.MakeTensor(scalars, type=tensor(kind.elem, (len(scalars),)), span=t.span(node))


def _example(field: Any) -> str:
    return ", ".join("ijklmnop"[: len(field.shape)]) or "None"


def _noted(t: Translator, base: Any, name: str, value: Any) -> Any:
    """Return `value`. If it can change later, record it as a capture."""
    if is_watched(base, value) and (space := space_of(base, name, value)) is not None:
        t.unit.captures[id(base), name] = (space, name, value)
    return value


def _is_method(name: str) -> bool:
    return name in TENSOR_METHODS or name in LINEAR_ALGEBRA


def _is_ours(module: ModuleType) -> bool:
    return module.__name__.split(".")[0] == __name__.split(".")[0]


def _owner(base: Any, node: ast.Attribute) -> str:
    """The name, in messages, of an object that lacks an attribute."""
    if isinstance(base, (Field, StructField)):
        return "a field"
    if isinstance(base, ModuleType):
        return f"module '{dotted(node.value) if _is_ours(base) else base.__name__}'"
    return repr(base.__name__ if isinstance(base, type) else type(base).__name__)


def _meant(base: Any, node: ast.Attribute) -> str:
    """A suggestion for a missing attribute, for the message."""
    if isinstance(base, ModuleType) and _is_method(node.attr):
        return f": vectors and matrices have it, as in v.{node.attr}(...)"
    if isinstance(base, ModuleType) and _is_ours(base) and hasattr(getattr(base, "math", None), node.attr):
        return f": {dotted(node.value)}.math has it"
    return did_you_mean(node.attr, [name for name in dir(base) if not name.startswith("_")], 0.75)


def _of_object(t: Translator, base: Any, node: ast.Attribute) -> Any:
    try:
        return _noted(t, base, node.attr, getattr(base, node.attr))
    except AttributeError as error:
        if isinstance(base, ModuleType) and " yet: " in str(error):  # Weft knows it and does not implement it yet
            raise UnknownName(str(error), t.span(node)) from None
        if isinstance(base, MatrixField) and (swizzle(node.attr) is not None or _is_method(node.attr)):
            right = f"{dotted(node.value)}[{_example(base)}].{node.attr}"
            raise UnknownName(
                f"a field has no '{node.attr}', but its elements have it: write {right}", t.span(node)
            ) from None
        if t.source.file.startswith(LIBRARY):  # inside of Weft's functions, the argument is wrong
            raise t.error(f"{t.source.name} cannot take {kind_of(base)}", node, TypeMismatch) from None
        raise UnknownName(
            f"{_owner(base, node)} has no attribute '{node.attr}'{_meant(base, node)}", t.span(node)
        ) from None
    except Exception:
        return run_now(t, node, getattr, base, node.attr)
