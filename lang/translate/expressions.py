"""Names, literals, containers and comprehensions. Containers exist only at compile time, but may contain run-time
values."""

from __future__ import annotations

import ast
from typing import Any

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.ir.types import Array, Tensor
from weft.lang.data.ndarray import Ndarray
from weft.lang.functions.captures import is_ours, is_watched
from weft.lang.translate.names import Binding
from weft.lang.translate.operators import OPERATORS, binary, matmul, no_field, run_now
from weft.lang.translate.order import following
from weft.lang.translate.printing import Pieces, format_percent, format_pieces
from weft.lang.translate.translator import Translator, translates
from weft.lang.translate.values import Record, evaluated, is_known, kind_of, tensor_elements, to_expr

__all__ = ["iterate", "meaning", "unpack", "unpack_item"]


@translates(ast.Constant)
def _constant(t: Translator, node: ast.Constant) -> Any:
    if isinstance(node.value, (complex, bytes)) or node.value is ...:
        raise t.error(f"{node.value!r} cannot be used as a value in a kernel", node, TypeMismatch)
    return node.value


@translates(ast.Name)
def _name(t: Translator, node: ast.Name) -> Any:
    binding = t.names.find(node.id)
    if binding is not None:
        return meaning(t, binding, node)
    value, space = t.names.outer(node.id)
    if is_watched(None, value) and not is_ours(space):
        t.unit.captures[id(space), node.id] = (space, node.id, value)
    if isinstance(value, Ndarray):
        raise t.error(
            f"'{node.id}' is an ndarray: a kernel takes it as an argument, annotated ti.types.ndarray()",
            node,
            TypeMismatch,
        )
    return value


def meaning(t: Translator, binding: Binding, node: ast.AST) -> Any:
    """The meaning of a local name: the value of a variable, or what is known at compile time."""
    value = binding.value
    if isinstance(value, tree.Variable):
        return tree.Var(value, type=value.type, span=t.span(node))
    return value


@translates(ast.Tuple)
def _tuple(t: Translator, node: ast.Tuple) -> Any:
    return tuple(_items(t, node.elts))


@translates(ast.List)
def _list(t: Translator, node: ast.List) -> Any:
    return _items(t, node.elts)


def _items(t: Translator, nodes: list[ast.expr]) -> list[Any]:
    items: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            items.extend(following(t, items, unpack_item, t, node))
        else:
            items.append(following(t, items, t.expr, node))
    return items


def unpack_item(t: Translator, node: ast.Starred) -> list[Any]:
    """The items of `*value` in a call or in a list."""
    return unpack(t, t.expr(node.value), node)


@translates(ast.Dict)
def _dict(t: Translator, node: ast.Dict) -> Any:
    made: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            made.update(t.expr(value))
            continue
        name = t.expr(key)
        if not is_known(name):
            raise t.error("the keys of a dict must be known at compile time", key)
        made[name] = t.expr(value)
    return made


def unpack(t: Translator, value: Any, node: ast.AST) -> list[Any]:
    """The items of a sequence, the elements of a vector, or the rows of a matrix. Raises TypeMismatch for anything
    else."""
    if isinstance(value, tree.Expr) and isinstance(value.type, Tensor):
        scalars = tensor_elements(t, value)
        if len(value.type.shape) == 1:
            return list(scalars)
        width = value.type.shape[1]
        return [scalars[k : k + width] for k in range(0, len(scalars), width)]
    if isinstance(value, (tree.Expr, Record)):
        raise t.error(f"{kind_of(value)} cannot be unpacked into several values", node, TypeMismatch)
    if getattr(value, "phrase", "").startswith("a range"):
        raise t.error(
            "a list is made at compile time, but the bounds of this range are known only when the kernel runs: "
            "loop over the range, or give it bounds known at compile time",
            node,
            TypeMismatch,
        )
    try:
        return list(value)
    except TypeError:
        raise t.error(f"{kind_of(value)} cannot be unpacked into several values", node, TypeMismatch) from None


def iterate(t: Translator, target: ast.expr, value: Any) -> None:
    """Bind the targets of a static loop to one item."""
    if isinstance(target, ast.Name):
        t.bind(target.id, value, "static loop variable")
        return
    if isinstance(target, (ast.Tuple, ast.List)):
        items = unpack(t, value, target)
        if len(items) != len(target.elts):
            raise t.error(
                f"{len(target.elts)} loop variables, but an item has {len(items)} values", target, TypeMismatch
            )
        for part, item in zip(target.elts, items, strict=True):
            iterate(t, part, item)
        return
    raise t.error("a loop variable must be a name", target)


@translates(ast.ListComp)
def _list_comp(t: Translator, node: ast.ListComp) -> Any:
    made: list[Any] = []
    _comprehend(t, node.generators, lambda: made.append(following(t, made, t.expr, node.elt)))
    return made


@translates(ast.DictComp)
def _dict_comp(t: Translator, node: ast.DictComp) -> Any:
    made: dict[Any, Any] = {}

    def add() -> None:
        made[t.expr(node.key)] = t.expr(node.value)

    _comprehend(t, node.generators, add)
    return made


def _comprehend(t: Translator, generators: list[ast.comprehension], add: Any) -> None:
    if not generators:
        add()
        return
    first, *rest = generators
    over = t.expr(first.iter)
    if isinstance(over, tree.Expr) and isinstance(over.type, Array):
        raise t.error("a comprehension over an array cannot be unrolled: use a loop", first.iter)
    for item in unpack(t, evaluated(t, over), first.iter):
        t.names.push()
        try:
            iterate(t, first.target, item)
            tests = [t.expr(test) for test in first.ifs]
            if not all(map(is_known, tests)):
                raise t.error("the condition of a comprehension must be known at compile time", first.ifs[0])
            if all(run_now(t, first.iter, bool, test) for test in tests):
                _comprehend(t, rest, add)
        finally:
            t.names.pop()


@translates(ast.JoinedStr)
def _joined(t: Translator, node: ast.JoinedStr) -> Any:
    """Translate an f-string. If all its values are known at compile time, it is a string. Otherwise it is a sequence of
    pieces that `print` and `assert` accept."""
    pieces = format_pieces(t, node)
    return "".join(map(str, pieces)) if all(isinstance(piece, str) for piece in pieces) else Pieces(pieces)


@translates(ast.BinOp)
def _bin_op(t: Translator, node: ast.BinOp) -> Any:
    lefts = [t.expr(node.left)]
    right = following(t, lefts, t.expr, node.right)
    (left,) = lefts
    kind, _, function = OPERATORS[type(node.op)]
    if is_known(left) and is_known(right):
        no_field(t, left, node.left)
        no_field(t, right, node.right)
        return run_now(t, node, function, left, right)
    if isinstance(left, (list, tuple)) and kind == "mul" and isinstance(right, tree.Expr):
        raise t.error("the length of a list must be known at compile time", node.right, TypeMismatch)
    if isinstance(left, (list, tuple)) and (isinstance(right, (list, tuple)) or kind == "mul"):
        return run_now(t, node, function, left, right)
    if isinstance(left, str) and kind == "mod":
        return format_percent(t, left, right, node)
    a, b = to_expr(t, left, node.left), to_expr(t, right, node.right)
    return matmul(t, a, b, node) if kind == "matmul" else binary(t, kind, a, b, node)
