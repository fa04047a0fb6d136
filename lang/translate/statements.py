"""Assignments, and expressions as statements. `control` has the other statements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.ir.transforms.lower_tree_facts import walk
from weft.ir.types import Struct, Tensor, Type, element, shape_of
from weft.lang.data.field import Field
from weft.lang.data.struct_field import StructField
from weft.lang.errors import UnsupportedSyntax
from weft.lang.functions.source import reads
from weft.lang.translate.attributes import swizzle_positions
from weft.lang.translate.expressions import unpack
from weft.lang.translate.indexing import constant_element, keys_of, sliced, subscripts
from weft.lang.translate.names import Binding
from weft.lang.translate.objects import add_attribute, check_assignable
from weft.lang.translate.operators import OPERATORS, binary, matmul, run_now
from weft.lang.translate.order import following
from weft.lang.translate.precision import warn_of_loss, warn_of_update
from weft.lang.translate.translator import Translator, translates
from weft.lang.translate.triplets import adds_triplet
from weft.lang.translate.values import (
    EFFECTS,
    Made,
    Record,
    assignable,
    coerce,
    has_effects,
    in_memory,
    is_known,
    is_number,
    kind_of,
    moves,
    settled,
    settled_place,
    struct_kind,
    tensor_elements,
    to_expr,
)
from weft.lang.translate.variables import define, right_of
from weft.lang.values.types import StructType, to_ir

__all__ = ["assign_name", "is_static_call", "store"]


@translates(ast.Pass)
def _pass(t: Translator, node: ast.Pass) -> None:
    del t, node


@translates(ast.Expr)
def _expression(t: Translator, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant):  # a docstring
        return
    t.alone = node.value
    value = t.expr(node.value)
    whole = value.whole if isinstance(value, Record) else value
    if isinstance(whole, tree.Expr) and has_effects(whole):
        t.emit(tree.Eval(whole, span=t.span(node)))


# ---- assignment ------------------------------------------------------------------------------------------------------


@translates(ast.Assign)
def _assign(t: Translator, node: ast.Assign) -> None:
    value = t.expr(node.value)
    if len(node.targets) > 1 and isinstance(value, tree.Expr):
        value = t.frozen(value)
    static = is_static_call(t, node.value)
    for target in node.targets:
        _assign_to(t, target, value, static, node)


def is_static_call(t: Translator, node: ast.expr) -> bool:
    """Whether an expression is a call that is written as `static(...)`."""
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    if not isinstance(function, (ast.Name, ast.Attribute)):
        return False
    if (function.id if isinstance(function, ast.Name) else function.attr) != "static":
        return False
    return getattr(t.expr(function), "name", "") == "static"


def _assign_to(t: Translator, target: ast.expr, value: Any, static: bool, node: ast.AST) -> None:
    if isinstance(target, ast.Name):
        assign_name(t, target, value, static, node)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _assign_several(t, target, value, static, node)
    elif isinstance(target, (ast.Subscript, ast.Attribute)):
        _assign_place(t, target, value, node)
    else:
        raise t.error("only names, elements and members can be assigned", target, UnsupportedSyntax)


def _assign_several(t: Translator, target: ast.Tuple | ast.List, value: Any, static: bool, node: ast.AST) -> None:
    if any(isinstance(part, ast.Starred) for part in target.elts):
        raise t.error("'*' is not supported on the left of '='", target, UnsupportedSyntax)
    items = unpack(t, value, node)
    if len(items) != len(target.elts):
        raise t.error(
            f"{len(target.elts)} names are on the left of '=', but {len(items)} values are on the right",
            node,
            TypeMismatch,
        )
    fresh = all(isinstance(part, ast.Name) and t.names.find(part.id) is None for part in target.elts)
    if not fresh:  # an item may read what an earlier assignment writes, as in a, b = b, a
        items = [settled(t, item) for item in items]
    for part, item in zip(target.elts, items, strict=True):
        _assign_to(t, part, item, static, node)


_WHY: dict[str, str] = {
    "loop index": "is the index of a loop, which cannot be assigned: use another name",
    "kernel parameter": "is a kernel parameter, which cannot be assigned: copy it to a new variable first",
    "template parameter": "is a template parameter, which is fixed at compile time: use another name",
    "static loop variable": "is the variable of a static loop, which is fixed at compile time: use another name",
    "compile-time value": "is a compile-time value, which cannot change when the kernel runs: use another name",
}


def assign_name(t: Translator, target: ast.Name, value: Any, static: bool, node: ast.AST) -> None:
    """Assign to a variable, or create it. `static`: the value comes from `static(...)`."""
    if target.id == "_" and not reads(t.source.node, "_"):
        t.names.forget("_")  # the value is discarded, even if `_` is the variable of a loop
    binding = t.names.find(target.id)
    if binding is None:
        if static and is_known(value):
            t.bind(target.id, value, "compile-time value")
        elif static:
            t.bind(target.id, value, "")
        else:
            define(t, target.id, value, node)
        return
    if (
        binding.role == "compile-time value"
        and is_known(value)
        and t.names.is_local_here(target.id)
        and not is_number(value)
    ):
        t.bind(target.id, value, "compile-time value")
        return
    if binding.role:
        raise t.error(f"'{target.id}' {_WHY[binding.role]}", target)
    _assign_binding(t, target.id, binding, value, node)


def _assign_binding(t: Translator, name: str, binding: Binding, value: Any, node: ast.AST) -> None:
    """Assign to an existing variable. Its type does not change."""
    known = binding.value
    if isinstance(known, (list, tuple)):
        items = unpack(t, value, node)
        if len(items) != len(known):
            raise t.error(f"'{name}' has {len(known)} items, but the new value has {len(items)}", node, TypeMismatch)
        for old, new in zip(known, [settled(t, item) for item in items], strict=True):
            store(t, old, new, node)
        return
    place = tree.Var(known, type=known.type, span=t.span(node)) if isinstance(known, tree.Variable) else known
    store(t, place, value, node, name)


@translates(ast.AnnAssign)
def _annotated(t: Translator, node: ast.AnnAssign) -> None:
    if not isinstance(node.target, ast.Name):
        raise t.error("only a variable can be annotated", node.target, UnsupportedSyntax)
    if node.value is None:
        raise t.error(
            f"'{node.target.id}' needs a value: an annotation without a value does not create a variable",
            node,
            UnsupportedSyntax,
        )
    annotation = t.expr(node.annotation)
    wanted = run_now(t, node.annotation, to_ir, annotation)
    value = t.expr(node.value)
    binding = t.names.find(node.target.id)
    if binding is None:
        define(t, node.target.id, value, node, wanted, annotation if isinstance(annotation, StructType) else None)
        return
    known = getattr(binding.value, "type", None)
    if known is not wanted and getattr(known, "ir", None) is not wanted:
        raise t.error(
            f"'{node.target.id}' has type {known} from its first assignment, which cannot change to {wanted}: "
            "leave out the annotation",
            node,
        )
    assign_name(t, node.target, value, False, node)


# ---- elements and members --------------------------------------------------------------------------------------------


def _assign_place(t: Translator, target: ast.Subscript | ast.Attribute, value: Any, node: ast.AST) -> None:
    owner = _object(t, target)
    if owner is not None and isinstance(target, ast.Attribute):
        check_assignable(t, owner, target)
        if target.attr not in owner.attributes:
            add_attribute(t, owner, target, value, node)
            return
    _refuse_item_of_tuple(t, target)
    find = _parts(t, target)
    if find is None:
        values = [value]
        place = following(t, values, t.expr, target)
        store(t, place, values[0], node)
        return
    expr = to_expr(t, value, right_of(node))
    scalars = [t.frozen(scalar) for scalar in tensor_elements(t, expr)]
    parts = find()
    if not shape_of(expr.type):
        scalars *= len(parts)
    if len(scalars) != len(parts):
        raise t.error(f"{len(parts)} elements are assigned, but there are {len(scalars)} values", node, TypeMismatch)
    for part, scalar in zip(parts, scalars, strict=True):
        store(t, part, scalar, node)


def _refuse_item_of_tuple(t: Translator, target: ast.expr) -> None:
    """Raise an error: as in Python, items of a tuple cannot be assigned."""
    of = target.value if isinstance(target, ast.Subscript) else None
    if isinstance(of, (ast.Name, ast.Subscript, ast.Tuple)) and isinstance(t.expr(of), tuple):
        what = "the items of a tuple cannot be assigned: use a list, [a, b], or a ti.Vector"
        raise t.error(what, target, TypeMismatch)


def _object(t: Translator, target: ast.expr) -> Made | None:
    """The object made in the kernel that has the attribute `target`."""
    if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
        return None
    binding = t.names.find(target.value.id)
    return binding.value if binding is not None and isinstance(binding.value, Made) else None


def _parts(t: Translator, target: ast.expr) -> Callable[[], list[tree.Expr]] | None:
    """A function that finds the elements of a swizzle or a slice on the left side of an assignment. None for a single
    place."""
    if isinstance(target, ast.Attribute):
        if len(target.attr) < 2 or any(letter not in "xyzwrgbastpq" for letter in target.attr):
            return None
        base = t.expr(target.value)
        if not isinstance(base, tree.Expr) or not isinstance(base.type, Tensor):
            return None
        positions = swizzle_positions(base.type, target.attr)
        if positions is None:
            return None
        return partial(_swizzled, t, base, positions, target)
    assert isinstance(target, ast.Subscript)
    if not any(isinstance(part, ast.Slice) for part in subscripts(target)):
        return None
    base = t.expr(target.value)
    if not isinstance(base, tree.Expr) or not isinstance(base.type, Tensor):
        raise t.error("on the left of '=', only vectors and matrices can be sliced", target, UnsupportedSyntax)
    return lambda: sliced(t, settled_place(t, base), keys_of(t, target), target)[0]


def _swizzled(t: Translator, base: tree.Expr, positions: Sequence[int], node: ast.AST) -> list[tree.Expr]:
    base, rest = settled_place(t, base), (0,) * (len(shape_of(base.type)) - 1)
    return [constant_element(base, (position, *rest), t.span(node)) for position in positions]


def store(t: Translator, place: Any, value: Any, node: ast.AST, name: str = "") -> None:
    """Store `value` in `place`, cast to the type of the place."""
    if isinstance(place, Record):
        _store_struct(t, place, value, node)
        return
    if not assignable(place, t):
        _refuse(t, place, node)
    expr = to_expr(t, value, right_of(node))
    what = f"'{name}'" if name else "the target"
    if isinstance(place.type, Struct) != isinstance(expr.type, Struct):
        raise t.error(f"{what} has type {place.type}, but the value has type {expr.type}", node, TypeMismatch)
    if not isinstance(expr.type, Struct) and shape_of(expr.type) not in ((), shape_of(place.type)):
        raise t.error(
            f"{what} has type {place.type}, but the value has type {expr.type}: their shapes differ", node, TypeMismatch
        )
    warn_of_loss(t, what, place.type, expr, right_of(node))
    t.emit(tree.Assign(place, expr, span=t.span(node)))


def _refuse(t: Translator, place: Any, node: ast.AST) -> None:
    if isinstance(place, (Field, StructField)):
        to_expr(t, place, node)  # raises an error if an index is missing
    root = place
    while isinstance(root, (tree.Element, tree.Member)):
        root = root.base
    if isinstance(root, tree.ParamRef):
        name = t.unit.params[root.index].name
        raise t.error(
            f"'{name}' is a kernel parameter, which cannot be assigned: copy it to a new variable first", node
        )
    if not isinstance(place, (tree.Expr, Record)):
        raise t.error(
            f"{kind_of(place)} is a constant in a kernel and cannot be assigned: use a field for values that change",
            node,
        )
    if isinstance(root, tree.Var):
        what = (
            "the result of ti.static(...) is a value, which cannot be assigned: assign to the variable or the "
            "element itself"
        )
        raise t.error(what, node)
    raise t.error("only variables, fields and arrays, their elements and members can be assigned", node)


def _store_struct(t: Translator, place: Record, value: Any, node: ast.AST) -> None:
    if isinstance(value, dict):
        for name, member in value.items():
            store(t, place.member(name), member, node)
        return
    kind = struct_kind(value)
    if kind is None or list(kind.members) != list(place.type.members):
        raise t.error(f"the target is {kind_of(place)}, but the value is {kind_of(value)}", node, TypeMismatch)
    if place.whole is not None:
        if not assignable(place.whole, t):
            _refuse(t, place.whole, node)
        expr = coerce(t, to_expr(t, value, node), place.whole.type, node)
        t.emit(tree.Assign(place.whole, expr, span=t.span(node)))
        return
    source = value if isinstance(value, Record) else Record(kind, to_expr(t, value, node))
    if source.whole is not None:
        source = Record(kind, t.frozen(source.whole))
    items = [settled(t, source.member(name)) for name in kind.members]
    for name, item in zip(kind.members, items, strict=True):
        store(t, place.member(name), item, node)


@translates(ast.AugAssign)
def _aug_assign(t: Translator, node: ast.AugAssign) -> None:
    kind, symbol, function = OPERATORS[type(node.op)]
    if adds_triplet(t, kind, node):
        return
    if isinstance(node.target, ast.Name):
        binding = t.names.find(node.target.id)
        if binding is None:
            value, _ = t.names.outer(node.target.id)  # raises an error if there is none
            if isinstance(value, (Field, StructField)):
                to_expr(t, value, node.target)  # raises an error if an index is missing
            raise t.error(
                f"'{node.target.id}' is a constant in a kernel and cannot be assigned: use a field for values "
                "that change",
                node.target,
            )
        if binding.role == "compile-time value" and is_known(value := t.expr(node.value)):
            t.bind(node.target.id, run_now(t, node, function, binding.value, value), binding.role)
            return
        if binding.role:
            raise t.error(f"'{node.target.id}' {_WHY[binding.role]}", node.target)
    _refuse_item_of_tuple(t, node.target)
    find = _parts(t, node.target) if isinstance(node.target, (ast.Subscript, ast.Attribute)) else None
    if find is None:
        places = [_before(t, t.expr(node.target), node.value)]
        value = to_expr(t, following(t, places, t.expr, node.value), node.value)
        (place,) = places
        _update(t, kind, symbol, settled_place(t, place) if moves(place, value) else place, value, node)
        return
    parts = find()
    value = to_expr(t, t.expr(node.value), node.value)
    scalars = [t.frozen(scalar) for scalar in tensor_elements(t, value)] * (1 if shape_of(value.type) else len(parts))
    if len(scalars) != len(parts):
        raise t.error(f"{len(parts)} elements are updated, but there are {len(scalars)} values", node, TypeMismatch)
    for part, scalar in zip(parts, scalars, strict=True):
        _update(t, kind, symbol, part, scalar, node)


def _before(t: Translator, place: Any, value: ast.expr) -> Any:
    """The place of `place += value`, found before the value is computed where either could change the other."""
    if not isinstance(place, tree.Expr) or isinstance(value, ast.Constant):
        return place
    indices = [inner for inner in walk(place) if inner is not place]
    if any(isinstance(inner, EFFECTS) for inner in indices):
        return settled_place(t, place)
    calls = any(isinstance(inner, ast.Call) for inner in ast.walk(value))
    reads = any(isinstance(inner, (tree.FieldElement, tree.ArrayElement)) for inner in indices)
    return settled_place(t, place) if calls and reads and in_memory(place) else place


def _update(t: Translator, kind: str, symbol: str, place: Any, value: tree.Expr, node: ast.AugAssign) -> None:
    if isinstance(place, Record) or isinstance(value.type, Struct):
        raise t.error(f"'{symbol}=' does not work on a struct: use its members", node, TypeMismatch)
    if not assignable(place, t):
        _refuse(t, place, node)
    if kind == "matmul":
        place = settled_place(t, place)
        t.emit(tree.Assign(place, matmul(t, place, value, node), span=t.span(node)))
        return
    binary(t, kind, place, value, node)  # raises the errors of the operator
    if shape_of(value.type) and not shape_of(place.type):
        raise t.error(
            f"the target has type {place.type}, but the value has type {value.type}: their shapes differ",
            node,
            TypeMismatch,
        )
    if shape_of(place.type) and not shape_of(value.type):
        value = coerce(t, value, _with_shape(place.type, value.type), node)
    what = f"'{place.variable.name}'" if isinstance(place, tree.Var) else "the target"
    warn_of_update(t, what, kind, place, value, node)
    t.emit(tree.AugAssign(kind, place, value, span=t.span(node)))


def _with_shape(place: Type, value: Type) -> Type:
    from weft.ir.types import tensor

    return tensor(element(value), shape_of(place))
