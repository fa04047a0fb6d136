"""Subscripts `x[i, j]`: elements of fields, arrays, vectors, matrices, struct fields and compile-time containers."""

from __future__ import annotations

import ast
import operator
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.ir.types import Array, Prim, Tensor, element, i32, shape_of, tensor
from weft.lang.data.field import Field
from weft.lang.data.struct_field import StructField
from weft.lang.errors import WrongIndex
from weft.lang.library.triplets import HOW, is_builder
from weft.lang.translate.lists import list_at
from weft.lang.translate.operators import run_now
from weft.lang.translate.order import following
from weft.lang.translate.translator import Translator, translates
from weft.lang.translate.values import Record, evaluated, has_effects, is_known, kind_of, tensor_elements, to_expr
from weft.lang.values.matrix import Matrix
from weft.lang.values.types import StructType, to_ir

__all__ = [
    "constant_element",
    "dotted",
    "element_of",
    "field_element",
    "keys_of",
    "scalar_indices",
    "sliced",
    "subscripts",
]


@translates(ast.Subscript)
def _subscript(t: Translator, node: ast.Subscript) -> Any:
    base = t.expr(node.value)
    if isinstance(base, (Field, StructField)):
        return field_element(t, base, _indices(t, node.slice), node)
    if isinstance(base, tree.Expr):
        if isinstance(base.type, Array):
            return _array_element(t, base, _indices(t, node.slice), node)
        if isinstance(base.type, Tensor):
            bases: list[Any] = [base]
            keys = following(t, bases, keys_of, t, node)
            return element_of(t, bases[0], keys, node)
        raise t.error(f"{kind_of(base)} has no elements", node, TypeMismatch)
    base, key = evaluated(t, base), _key(t, node.slice)
    if isinstance(base, Matrix) and not is_known(key):
        parts = list(key) if isinstance(key, tuple) else [key]
        return element_of(t, to_expr(t, base, node.value), parts, node)
    if isinstance(base, Record):
        return _record_member(t, base, key, node)
    if is_builder(base):
        raise t.error(HOW, node, TypeMismatch)
    if base is None:
        of = " (a field has gradients if it was made with needs_grad=True)" if _names_gradient(node.value) else ""
        raise t.error(f"None has no elements{of}", node.value, TypeMismatch)
    if not is_known(key):
        if isinstance(base, np.ndarray):
            raise t.error(
                "a kernel cannot index a numpy array from outside with a value that is known only at run time: "
                "pass the array as an argument, annotated ti.types.ndarray(), or copy it to a field with "
                "from_numpy",
                node.value,
            )
        raise t.error(
            f"{kind_of(base)} exists only at compile time, so its index must be known at compile time too: "
            "loop with ti.static(range(...)), or keep the values in a vector or field",
            node.slice,
        )
    if not hasattr(base, "__getitem__"):
        raise t.error(f"{kind_of(base)} has no elements", node, TypeMismatch)
    if isinstance(base, (list, tuple)) and isinstance(key, int) and not -len(base) <= key < len(base):
        raise t.error(
            f"index {key} is out of bounds for a {type(base).__name__} of {len(base)} items", node, WrongIndex
        )
    return run_now(t, node, operator.getitem, base, key)


def _record_member(t: Translator, base: Record, key: Any, node: ast.Subscript) -> Any:
    if key not in base.type.members:
        raise t.error(f"a struct {base.type!r} has no member {key!r}", node)
    return base.member(key, t.span(node))


def _names_gradient(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "grad"


def _key(t: Translator, node: ast.expr) -> Any:
    if isinstance(node, ast.Slice):
        parts = [None if part is None else t.expr(part) for part in (node.lower, node.upper, node.step)]
        if not is_known(parts):
            raise t.error("the bounds of a slice must be known at compile time", node)
        return slice(*parts)
    if isinstance(node, ast.Tuple):
        return tuple(_keys(t, node.elts))
    return t.expr(node)


# ---- fields and arrays -----------------------------------------------------------------------------------------------


def _indices(t: Translator, node: ast.expr) -> list[tree.Expr]:
    """The scalar indices. Vectors are split into their elements, and `None` stands for no index."""
    nodes = node.elts if isinstance(node, ast.Tuple) else [node]
    indices: list[tree.Expr] = []
    for part in nodes:
        if isinstance(part, ast.Slice):
            raise t.error(
                "a field or array needs an integer index for each axis; it cannot be sliced in a kernel", part
            )
        indices.extend(following(t, indices, _indices_of, t, part, len(nodes) == 1))
    return indices


def _indices_of(t: Translator, node: ast.expr, alone: bool) -> list[tree.Expr]:
    """The scalar indices of one part of a subscript. `alone`: it is the only one."""
    value = t.expr(node.value if isinstance(node, ast.Starred) else node)
    if value is None and alone:
        return []
    found: list[tree.Expr] = []
    for item in value if isinstance(value, (list, tuple)) else [value]:
        found.extend(following(t, found, scalar_indices, t, item, node))
    return found


def scalar_indices(t: Translator, value: Any, node: ast.AST) -> list[tree.Expr]:
    """The indices that a value is: an integer, or a vector of integers."""
    index = to_expr(t, value, node)
    if not isinstance(index.type, (Prim, Tensor)) or element(index.type).is_float:
        raise t.error(f"an index must be an integer, not {index.type}; cast it with int(...)", node, TypeMismatch)
    return tensor_elements(t, index)


def field_element(t: Translator, over: Any, indices: list[tree.Expr], node: ast.Subscript) -> Any:
    """One element of a field. For a struct field, it is a Record."""
    name = dotted(node.value)
    found = list_at(over, indices)
    if found is not None:
        return found
    if isinstance(over, StructField):
        indices = [t.frozen(index) for index in indices]
        parts: dict[str, Any] = {}
        for member, inner in over.members.items():
            parts[member] = _one(t, inner, indices, node, f"{name}.{member}")
        return Record(over.struct_type, parts=parts)
    return _one(t, over, indices, node, name)


def _one(t: Translator, over: Any, indices: list[tree.Expr], node: ast.Subscript, name: str) -> Any:
    if isinstance(over, StructField):
        parts = {member: _one(t, inner, indices, node, f"{name}.{member}") for member, inner in over.members.items()}
        return Record(over.struct_type, parts=parts)
    symbol = run_now(t, node.value, t.unit.symbol, over, name)
    extents = len(symbol.shape)
    if len(indices) != extents:
        indices = _forgive(t, symbol.name, symbol.shape, indices, node)
    activates = symbol.node is None or not t.dormant or t.dormant.isdisjoint(over.snode.node.path())
    stopped = id(over) in t.unit.stopped
    return tree.FieldElement(symbol, indices, stopped, activates, type=symbol.dtype, span=t.span(node))


def _forgive(
    t: Translator, name: str, shape: tuple[int, ...], indices: list[tree.Expr], node: ast.Subscript
) -> list[tree.Expr]:
    """Accept `x[0]` for the element of a 0-D field. Any other number of indices is an error."""
    only = indices[0] if len(indices) == 1 else None
    if not shape and isinstance(only, tree.Const) and only.value == 0:
        return []
    wanted = "index" if len(shape) == 1 else "indices"
    right = f"{name}[None]" if not shape else f"{name}[{', '.join('ijklmnop'[: len(shape)])}]"
    raise t.error(
        f"field '{name}' of shape {shape} takes {len(shape)} {wanted}, got {len(indices)}: write {right}",
        node,
        WrongIndex,
    )


def _array_element(t: Translator, base: tree.Expr, indices: list[tree.Expr], node: ast.Subscript) -> Any:
    kind = base.type
    assert isinstance(kind, Array)
    if isinstance(base, tree.ParamRef) and base.index in t.unit.clamped:
        indices = [_clamped(base, index, axis) if axis < kind.ndim else index for axis, index in enumerate(indices)]
    if len(indices) == kind.ndim:
        whole = tree.ArrayElement(base, indices, type=kind.elem, span=t.span(node))
        structs = t.unit.of_structs.get(base.index) if isinstance(base, tree.ParamRef) else None
        if structs is None:
            return whole
        whole.indices = [t.frozen(index) for index in indices]
        return _members(whole, structs, "")
    name = dotted(node.value)
    if isinstance(kind.elem, Tensor) and len(indices) == kind.ndim + len(kind.elem.shape):
        whole = tree.ArrayElement(base, indices[: kind.ndim], type=kind.elem, span=t.span(node))
        return tree.Element(whole, indices[kind.ndim :], type=kind.elem.elem, span=t.span(node))
    raise t.error(f"array '{name}' has {kind.ndim} axes, got {len(indices)} indices", node, WrongIndex)


def _members(whole: tree.ArrayElement, structs: StructType, prefix: str) -> Record:
    """An element of an array of structs, whose members have dotted names (see `struct_ndarray.py`)."""
    parts: dict[str, Any] = {}
    for name, annotation in structs.members.items():
        if isinstance(annotation, StructType):
            parts[name] = _members(whole, annotation, f"{prefix}{name}.")
        else:
            parts[name] = tree.Member(whole, prefix + name, type=to_ir(annotation), span=whole.span)
    return Record(structs, parts=parts)


def _clamped(array: tree.ParamRef, index: tree.Expr, axis: int) -> tree.Expr:
    """Clamp the index to the bounds of the array."""
    assert isinstance(array.type, Array)
    prim = array.type.index
    index = index if index.type is prim else tree.Cast(index, type=prim, span=index.span)
    one, zero = tree.Const(1, type=prim), tree.Const(0, type=prim)
    last = tree.Binary("sub", tree.ArrayShape(array, axis, type=prim), one, type=prim)
    return tree.Binary("max", tree.Binary("min", index, last, type=prim), zero, type=prim, span=index.span)


def dotted(node: ast.expr) -> str:
    """The text of an expression in the program, such as `self.x`. "it" if it is not a name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return "it"


# ---- vectors and matrices --------------------------------------------------------------------------------------------


def subscripts(node: ast.Subscript) -> list[ast.expr]:
    """The subscripts between the brackets, one for each axis."""
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def keys_of(t: Translator, node: ast.Subscript) -> list[Any]:
    """The meaning of each part of a subscript. A slice becomes a Python slice of numbers."""
    return _keys(t, subscripts(node))


def _keys(t: Translator, nodes: Sequence[ast.expr]) -> list[Any]:
    keys: list[Any] = []
    for node in nodes:
        keys.append(following(t, keys, _key, t, node))
    return keys


def element_of(t: Translator, base: tree.Expr, keys: list[Any], node: ast.Subscript) -> tree.Expr:
    """An element of a tensor, or a smaller tensor if there are slices."""
    kind = base.type
    assert isinstance(kind, Tensor)
    if not any(isinstance(key, slice) for key in keys):
        return _element(t, base, keys, node)
    if not isinstance(base, (tree.Var, tree.ParamRef)):
        base = _settled(t, base)
    elements, shape = sliced(t, base, keys, node)
    return tree.MakeTensor(elements, type=tensor(kind.elem, shape), span=t.span(node))


def _settled(t: Translator, base: tree.Expr) -> tree.Expr:
    """A tensor of which only a part may be used. It is stored in a local, so that all of it is evaluated once, unless
    its elements are listed and have no effects."""
    return base if isinstance(base, tree.MakeTensor) and not has_effects(base) else t.local(base)


def _element(t: Translator, base: tree.Expr, parts: list[Any], node: ast.Subscript) -> tree.Expr:
    """The element at these indices, which are scalars or vectors."""
    kind = base.type
    assert isinstance(kind, Tensor)
    values = [index for part in parts for index in scalar_indices(t, part, node.slice)]
    if len(values) != len(kind.shape):
        right = "v[i]" if len(kind.shape) == 1 else "m[i, j], or m[i, :] for a row"
        what = "a vector" if len(kind.shape) == 1 else "a matrix"
        raise t.error(
            f"{what} ({kind}) takes {len(kind.shape)} indices, got {len(values)}: write {right}", node, WrongIndex
        )
    for axis, index in enumerate(values):
        _check_constant(t, index, axis, kind, node)
    if isinstance(base, tree.MakeTensor):
        base = _settled(t, base)
    return _element_at(t, base, values, node)


def sliced(
    t: Translator, base: tree.Expr, keys: Sequence[Any], node: ast.Subscript
) -> tuple[list[tree.Expr], tuple[int, ...]]:
    """The elements of a tensor that a subscript with slices selects, in row-major order, and their shape.

    `keys` are the meanings of the parts of the subscript. Only axes with a slice remain in the shape. `base` may be
    evaluated more than once."""
    kind, nodes = base.type, subscripts(node)
    assert isinstance(kind, Tensor)
    if len(keys) != len(kind.shape):
        raise t.error(f"{kind} takes {len(kind.shape)} indices, got {len(keys)}", node, WrongIndex)
    axes: list[list[tree.Expr]] = []
    shape: list[int] = []
    for axis, (key, part, extent) in enumerate(zip(keys, nodes, kind.shape, strict=True)):
        if isinstance(key, slice):
            positions = run_now(t, part, range(extent).__getitem__, key)
            axes.append([tree.Const(int(position), type=i32) for position in positions])
            shape.append(len(positions))
        else:
            axes.append([_beside(t, key, kind, axis, part)])
    if 0 in shape:
        raise t.error("this slice is empty", node, WrongIndex)
    return [_element_at(t, base, [*indices], node) for indices in product(*axes)], tuple(shape)


def _beside(t: Translator, key: Any, kind: Tensor, axis: int, node: ast.expr) -> tree.Expr:
    """The index of an axis that has no slice, next to an axis that has one."""
    found = scalar_indices(t, key, node)
    if len(found) != 1 or shape_of(getattr(key, "type", i32)):
        raise t.error("an index beside a slice must be a single integer", node, TypeMismatch)
    index, extent = found[0], kind.shape[axis]
    _check_constant(t, index, axis, kind, node)
    if isinstance(index, tree.Const):
        return tree.Const(int(index.value) % extent, type=i32, span=index.span)
    return t.frozen(index)


def _check_constant(t: Translator, index: tree.Expr, axis: int, kind: Tensor, node: ast.AST) -> None:
    """Raise WrongIndex if a constant index is out of bounds."""
    extent = kind.shape[axis]
    if isinstance(index, tree.Const) and not -extent <= index.value < extent:
        raise t.error(
            f"index {index.value} of axis {axis} is out of bounds for {kind}: it must be from 0 to {extent - 1}",
            node,
            WrongIndex,
        )


def _element_at(t: Translator, base: tree.Expr, indices: list[tree.Expr], node: ast.AST) -> tree.Expr:
    """One element of a tensor. If the tensor lists its elements, it is the listed value."""
    kind = base.type
    assert isinstance(kind, Tensor)
    if isinstance(base, tree.MakeTensor) and all(isinstance(index, tree.Const) for index in indices):
        flat = 0
        for index, extent in zip(indices, kind.shape, strict=True):
            flat = flat * extent + int(getattr(index, "value", 0)) % extent
        return base.values[flat]
    return tree.Element(base, indices, type=kind.elem, span=t.span(node))


def constant_element(base: tree.Expr, position: Sequence[int], node_span: Any = None) -> tree.Expr:
    """Element `position` of a tensor, as an lvalue."""
    kind = base.type
    assert isinstance(kind, Tensor)
    indices: list[tree.Expr] = [tree.Const(int(p), type=i32) for p in position]
    return tree.Element(base, indices, type=kind.elem, span=node_span)
