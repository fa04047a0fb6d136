"""Sparse nodes in kernels: `ti.activate`, `ti.append`, `x[i].append(v)`, loops over nodes, and others.

A node is an `SNode` that is known at compile time. Its cells are named by their indices, which count from 0. A list,
that is the cells of a dynamic node in one cell above it, is named by the indices of that cell."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.ir.symbols import FieldSymbol, NodeSymbol
from weft.ir.types import VOID, Type, i32, shape_of, u1, u32
from weft.lang.data.derived import is_derived
from weft.lang.data.field import Field
from weft.lang.data.lists import CELLS, list_node, visited_by
from weft.lang.data.snode_api import Root, SNode
from weft.lang.data.struct_field import StructField
from weft.lang.errors import WrongIndex
from weft.lang.translate.functions import Call, arguments, function
from weft.lang.translate.indexing import scalar_indices
from weft.lang.translate.lists import ListOf
from weft.lang.translate.operators import run_now
from weft.lang.translate.translator import Translator
from weft.lang.translate.values import Record, coerce, kind_of, tensor_elements, to_expr

__all__ = ["call_list", "visited"]


def _node(t: Translator, value: Any, c: Call, kinds: Sequence[str], what: str) -> NodeSymbol:
    """The symbol of a sparse node of these kinds. Raises TypeMismatch for anything else."""
    place = c.node.args[0] if c.node.args else c.node
    listed = f"{', '.join(kinds[:-1])} and {kinds[-1]}" if len(kinds) > 1 else kinds[0]
    if isinstance(value, Field | StructField):
        hint = "" if kinds[0] == "field" else ": x.parent() is the node in which it was placed"
        raise t.error(f"ti.{what} takes a node, not a field{hint}", place, TypeMismatch)
    if not isinstance(value, SNode):
        root = " (the root has only one cell)" if isinstance(value, Root) else ""
        raise t.error(f"ti.{what} takes a {listed} node, not {kind_of(value)}{root}", place, TypeMismatch)
    if value.node.kind not in kinds:
        raise t.error(f"ti.{what} works only on {listed} nodes, not on a {value.node.title} node", place, TypeMismatch)
    found: NodeSymbol = run_now(t, c.node, t.unit.node, value)
    return found


def _indices(t: Translator, value: Any, count: int, c: Call, what: str) -> list[tree.Expr]:
    """The indices of a cell: a number, a vector, or a list of both."""
    place = c.node.args[1] if len(c.node.args) > 1 else c.node
    items = value if isinstance(value, list | tuple) else [] if value is None else [value]
    found = [index for item in items for index in scalar_indices(t, item, place)]
    if len(found) != count:
        wanted = "1 index" if count == 1 else f"{count} indices"
        raise t.error(f"{what} takes {wanted}, got {len(found)}", place, WrongIndex)
    return found


def _cell(t: Translator, kind: str, node: NodeSymbol, indices: list[tree.Expr], type: Type, at: ast.AST) -> Any:
    """Do an operation on a cell now. Its result is in a local."""
    made = tree.CellOp(kind, node, indices, type=type, span=t.span(at))
    if type is not VOID:
        return t.local(made)
    t.emit(tree.Eval(made, span=made.span))
    return None


# ---- functions -------------------------------------------------------------------------------------------------------


@function("activate")
def _activate(t: Translator, c: Call) -> Any:
    node, at = arguments(t, c, 2, 2, "node", "indices")
    if _is_dense(node):
        return None  # its cells are active always, and programs of Taichi do this
    symbol = _node(t, node, c, CELLS, "activate")
    return _cell(t, "activate", symbol, _cell_indices(t, node, symbol, at, c), VOID, c.node)


@function("deactivate")
def _deactivate(t: Translator, c: Call) -> Any:
    node, at = arguments(t, c, 2, 2, "node", "indices")
    if _is_dense(node):
        return None
    symbol = _node(t, node, c, (*CELLS, "dynamic"), "deactivate")
    find = _list_indices if symbol.kind == "dynamic" else _cell_indices
    indices = find(t, node, symbol, at, c)
    return _cell(t, "deactivate", symbol, indices, VOID, c.node)


@function("is_active")
def _is_active(t: Translator, c: Call) -> Any:
    node, at = arguments(t, c, 2, 2, "node", "indices")
    symbol = _node(t, node, c, (*CELLS, "dynamic"), "is_active")
    count = len(symbol.shape)
    indices = _from_zero(_indices(t, at, count, c, "this node"), node.node.first())
    active = _cell(t, "is_active", symbol, indices, u1, c.node)
    return tree.Cast(active, type=i32, span=active.span)  # an i32 as in Taichi, so that sums count


@function("cell_slot")
def _cell_slot(t: Translator, c: Call) -> Any:
    node, at = arguments(t, c, 2, 2, "node", "indices")
    symbol = _node(t, node, c, ("pointer", "hash", "dynamic"), "cell_slot")
    indices = _from_zero(_indices(t, at, len(symbol.shape), c, "this node"), node.node.first())
    return _cell(t, "cell_slot", symbol, indices, u32, c.node)


@function("length")
def _length(t: Translator, c: Call) -> Any:
    node, at = arguments(t, c, 1, 2, "node", "indices")
    symbol = _node(t, node, c, ("dynamic",), "length")
    return _cell(t, "length", symbol, _list_indices(t, node, symbol, at, c), i32, c.node)


@function("append")
def _append(t: Translator, c: Call) -> Any:
    node, at, value = arguments(t, c, 3, 3, "node", "indices", "val")
    symbol = _node(t, node, c, ("dynamic",), "append")
    return _appended(t, node, _list_indices(t, node, symbol, at, c), value, c)


@function("no_activate")
def _no_activate(t: Translator, c: Call) -> Any:
    for one in c.args:
        if not isinstance(one, SNode | Field | StructField):
            raise t.error(f"no_activate takes nodes and fields, not {kind_of(one)}", c.node, TypeMismatch)
        t.dormant_next |= {(node if isinstance(node, SNode) else node.snode).node for node in _with_members(one)}


def _with_members(one: Any) -> list[Any]:
    """A node or a field, or the fields of the members of a field of structs."""
    members = one.members.values() if isinstance(one, StructField) else ()
    return [one, *(part for member in members for part in _with_members(member))]


def _is_dense(node: Any) -> bool:
    return isinstance(node, SNode) and node.node.kind == "dense"


def _cell_indices(t: Translator, over: SNode, node: NodeSymbol, at: Any, c: Call) -> list[tree.Expr]:
    found = _indices(t, at, len(node.shape), c, f"a cell of this {over.node.title} node")
    return _from_zero(found, over.node.first())


def _list_indices(t: Translator, over: SNode, node: NodeSymbol, at: Any, c: Call) -> list[tree.Expr]:
    assert node.length is not None
    found = _indices(t, at, len(node.length.shape), c, "a list of this dynamic node")
    return _from_zero(found, node.list_of(over.node.first()))


def _from_zero(indices: Sequence[tree.Expr], first: Sequence[int]) -> list[tree.Expr]:
    """The indices of a cell, counted from 0, of those that the program uses."""
    return [_plus(index, -start) for index, start in zip(indices, first, strict=True)]


def _plus(index: tree.Expr, number: int) -> tree.Expr:
    """The sum of an index and a number."""
    if not number:
        return index
    return tree.Binary("add", index, tree.Const(number, type=index.type), type=index.type, span=index.span)


# ---- lists -----------------------------------------------------------------------------------------------------------


def call_list(t: Translator, of: ListOf, c: Call) -> Any:
    """`x[i].append(v)`, `x[i].length()` and `x[i].deactivate()`. The indices are those of the field."""
    node = list_node(of.over)
    assert node is not None
    symbol: NodeSymbol = run_now(t, c.node, t.unit.node, node)
    indices = _from_zero(of.indices, symbol.list_of(of.over.offset))
    if of.method == "append":
        (value,) = arguments(t, c, 1, 1, "val")
        return _appended(t, node, indices, value, c)
    arguments(t, c, 0, 0)
    type: Type = i32 if of.method == "length" else VOID
    return _cell(t, of.method, symbol, indices, type, c.node)


def _appended(t: Translator, node: SNode, indices: list[tree.Expr], value: Any, c: Call) -> tree.Expr:
    """Make a list longer by one element with that value, and return the index of the element. The indices of the list
    count from 0."""
    symbol: NodeSymbol = run_now(t, c.node, t.unit.node, node)
    places = [(made, name) for made, name in _places(t, node, c) if not is_derived(made)]
    values = _parts(t, value, places, c)
    position = sorted({axis for one in node.node.path() for axis in one.axes}).index(node.node.axes[0])
    indices = [t.frozen(index) for index in indices]
    at: tree.Expr = _cell(t, "append", symbol, indices, i32, c.node)
    for (made, name), part in zip(places, values, strict=True):
        field: FieldSymbol = run_now(t, c.node, t.unit.symbol, made, name)
        where = [*indices[:position], at, *indices[position:]]
        where = [_plus(index, first) for index, first in zip(where, field.offset or (0,) * len(where), strict=True)]
        target = tree.FieldElement(field, where, type=field.dtype, span=t.span(c.node))
        t.emit(tree.Assign(target, coerce(t, part, field.dtype, c.node), span=t.span(c.node)))
    return at


def _places(t: Translator, node: SNode, c: Call) -> list[tuple[Any, str]]:
    """The fields in the cell of a node, in the order of their places, each with its name."""
    found: list[tuple[Any, str]] = []
    for child in node.node.children:
        made = node.tree.fields.get(child)
        if child.kind != "place" or made is None:
            what = "holds other nodes" if child.kind != "place" else "holds a field that does not exist any more"
            raise t.error(f"this dynamic node {what}: a value can be appended only to fields", c.node)
        if all(made is not one for one, _ in found):
            found.append((made, made.name or "it"))
    return found


def _parts(t: Translator, value: Any, places: list[tuple[Any, str]], c: Call) -> list[tree.Expr]:
    """The value for each of the fields. A struct has one for each member, in order."""
    node = c.node.args[-1] if c.node.args else c.node
    values = _flat(t, value, node)
    if len(values) != len(places):
        scalars = [scalar for one in values for scalar in tensor_elements(t, t.frozen(one))]
        if all(not shape_of(made.describe().dtype) for made, _ in places):
            values = scalars
    if len(values) != len(places):
        raise t.error(
            f"the cells of this list hold {len(places)} field{'s' * (len(places) != 1)}, but the value has "
            f"{len(values)} part{'s' * (len(values) != 1)}",
            node,
            TypeMismatch,
        )
    return [t.frozen(one) for one in values]


def _flat(t: Translator, value: Any, node: ast.AST) -> list[tree.Expr]:
    """The members of a struct, nested ones too. Another value is one part."""
    if not isinstance(value, Record):
        as_struct = getattr(value, "as_constant", None)
        if as_struct is None:
            return [to_expr(t, value, node)]
        constant = as_struct()
        value = Record(constant.struct_type, to_expr(t, constant, node))
    if value.whole is not None:
        value = Record(value.type, t.frozen(value.whole))
    return [part for name in value.type.members for part in _flat(t, value.member(name, t.span(node)), node)]


# ---- loops -----------------------------------------------------------------------------------------------------------


def visited(t: Translator, node: SNode, at: ast.expr) -> FieldSymbol | NodeSymbol | None:
    """What a loop over the cells of a node visits: the node, or the field whose active elements are its active cells.
    None if all cells are active."""
    over = run_now(t, at, visited_by, node)
    if over is None:
        return None
    make, name = (t.unit.node, ()) if over is node else (t.unit.symbol, (over.name or "it",))
    found: FieldSymbol | NodeSymbol = run_now(t, at, make, over, *name)
    return found
