"""Updates: `place op= value`, atomics, and updates of variables that the iterations of a parallel loop share.

    x[i] += v          becomes      __weft__.update("add", x, i, v, ...)
    s += v             becomes      s = __weft__.updated(value=v, kind="add", old=s, ...)
    s = ti.max(s, v)   becomes      s = max(s, v), by steps where iterations share s: __weft__.updated(...)

An atomic casts the value to the type of the place first. All other arithmetic uses the common type of both operands.
The translator knows which variables are shared (see `ir/shared_locals.py`). `shares` looks this up by the position of
the statement.
"""

from __future__ import annotations

import ast
import builtins
from copy import deepcopy
from typing import Any, Protocol

from weft.ir.errors import TypeMismatch
from weft.ir.scalar import ATOMICS, BINARY
from weft.lang.data.struct_field import StructElement
from weft.lang.interpret.places import cells_of, flat_index
from weft.lang.interpret.types import assigned, own
from weft.lang.library.triplets import HOW, append, is_builder
from weft.lang.values.builtins import Builtin
from weft.lang.values.matrix import Matrix

__all__ = ["KINDS", "Updates", "atomic", "augmented", "by_steps", "called"]

KINDS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.LShift: "shl", ast.RShift: "shr", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
    ast.MatMult: "matmul",
}  # fmt: skip
_EXTREMES: dict[Any, str] = {builtins.min: "min", builtins.max: "max"}


class Updates:
    """The part of the `__weft__` of a rewritten function that updates places."""

    def update(self, kind: str, base: Any, index: Any, value: Any, name: str, shared: bool) -> Any:
        """Run `base[index] op= value` and return the old value."""
        if is_builder(base):
            return self.triplet(kind, base, index, value)
        old = own(self.load(base, index, name))
        shared |= base.values.base is not None if isinstance(base, Matrix) else cells_of(base) is not None
        self.store(base, index, self.combined(kind, old, value, shared), name)
        return old

    def triplet(self, kind: str, builder: Any, index: Any, value: Any) -> None:
        """Run `builder[i, j] op= value`."""
        place = flat_index(index)
        if kind not in ("add", "sub") or len(place) != 2:
            raise TypeMismatch(HOW)
        append(builder, place, value if kind == "add" else self.unary("neg", value))

    def update_member(self, kind: str, base: Any, name: str, value: Any, shared: bool) -> Any:
        """Run `base.name op= value` and return the old value."""
        old = own(self.member(base, name))
        shared |= isinstance(base, StructElement) or (isinstance(base, Matrix) and base.values.base is not None)
        setattr(base, name, self.combined(kind, old, value, shared))
        return old

    def updated(self, kind: str, old: Any, value: Any, shared: bool) -> Any:
        """Return the value of a variable after `op= value`. The variable held `old`."""
        return assigned(old, self.combined(kind, old, value, shared))

    def combined(self, kind: str, old: Any, value: Any, shared: bool) -> Any:
        """Return `old op value`, computed as an atomic does if the place is `shared`."""
        return (
            self.alike(kind, old, assigned(old, value)) if shared and kind in ATOMICS else self.binary(kind, old, value)
        )

    def old(self, before: Any, after: Any) -> Any:
        """Return the result of an atomic on a local."""
        del after
        return before

    def load(self, base: Any, index: Any, name: str = "") -> Any:
        """See `Semantics`."""
        raise NotImplementedError

    def store(self, base: Any, index: Any, value: Any, name: str = "") -> None:
        """See `Semantics`."""
        raise NotImplementedError

    @staticmethod
    def member(base: Any, name: str) -> Any:
        """See `Semantics`."""
        raise NotImplementedError

    @staticmethod
    def unary(kind: str, x: Any) -> Any:
        """See `Semantics`."""
        raise NotImplementedError

    @staticmethod
    def binary(kind: str, a: Any, b: Any) -> Any:
        """See `Semantics`."""
        raise NotImplementedError

    @staticmethod
    def alike(kind: str, a: Any, b: Any) -> Any:
        """See `Semantics`."""
        raise NotImplementedError


class _Rewriter(Protocol):
    """The part of `Rewriter` that this module uses."""

    scopes: list[set[str]]

    def call(self, method: str, *args: ast.expr) -> ast.expr: ...

    def ordered(self, method: str, **args: ast.expr) -> ast.expr: ...

    def resolve(self, node: ast.expr) -> Any: ...

    def visit(self, node: ast.AST) -> Any: ...


def called(base: ast.expr) -> ast.expr:
    """Return the text of the indexed expression in the program."""
    return ast.Constant(ast.unparse(base))


def augmented(rewriter: _Rewriter, node: ast.AugAssign) -> ast.stmt:
    """Rewrite `target op= value`: in place if the target is part of an object, else as an assignment."""
    kind, target, shared = KINDS[type(node.op)], node.target, _shares(rewriter, node)
    if not isinstance(target, ast.Name):
        return ast.Expr(_update(rewriter, kind, target, node.value, shared))
    total = _updated(rewriter, kind, shared, value=rewriter.visit(node.value), old=_read(target))
    return ast.Assign([target], rewriter.call("assign", _read(target), total))


def atomic(rewriter: _Rewriter, node: ast.Call, kind: str) -> ast.expr:
    """Rewrite `atomic_add(target, value)`: it changes the target and gives the old value."""
    target, value = node.args
    if isinstance(target, (ast.Subscript, ast.Attribute)):
        return _update(rewriter, kind, target, value, ast.Constant(True))
    if not isinstance(target, ast.Name):
        raise SyntaxError(f"{ast.unparse(target)} cannot be changed by an atomic operation")
    total = _updated(rewriter, kind, ast.Constant(True), value=rewriter.visit(value), old=_read(target))
    after = ast.NamedExpr(ast.Name(target.id, ast.Store()), rewriter.call("assign", _read(target), total))
    return rewriter.call("old", rewriter.call("declare", _read(target)), after)


def by_steps(rewriter: _Rewriter, node: ast.Assign) -> ast.expr:
    """Return the value of an assignment. For `s = s + a + b` with an s that iterations share, the value is that after
    an atomic for each operand."""
    steps = _steps(rewriter, node)
    declared = [set(scope) for scope in rewriter.scopes]
    operands = [deepcopy(operand) for _, operand in steps]
    value: ast.expr = rewriter.visit(node.value)
    if not steps:
        return value
    rewriter.scopes, scopes = declared, rewriter.scopes  # the value occurs a second time
    left: ast.expr = rewriter.visit(_read(node.targets[0]))
    for (kind, _), operand in zip(steps, operands, strict=True):
        left = _updated(rewriter, kind, ast.Constant(True), old=left, value=rewriter.visit(operand))
    rewriter.scopes = scopes
    return ast.copy_location(ast.IfExp(_shares(rewriter, node), left, value), node)


def _steps(rewriter: _Rewriter, node: ast.Assign) -> list[tuple[str, ast.expr]]:
    """Return the kinds and operands of `s = s + a + b`, in order, or nothing if the statement has another form.
    `ir/shared_locals.py` uses the same form to decide whether a statement is a sequence of atomics."""
    target, value, steps = ast.unparse(node.targets[0]), node.value, list[tuple[str, ast.expr]]()
    while (operation := _operation(rewriter, value)) is not None and operation[0] in ATOMICS:
        kind, value, operand = operation
        if BINARY[kind].commutative and ast.unparse(operand) == target:
            value, operand = operand, value
        steps.append((kind, operand))
    return steps[::-1] if ast.unparse(value) == target else []


def _operation(rewriter: _Rewriter, value: ast.expr) -> tuple[str, ast.expr, ast.expr] | None:
    """Return the operator and the operands of `a + b` or `ti.max(a, b)`."""
    if isinstance(value, ast.BinOp):
        return KINDS[type(value.op)], value.left, value.right
    if not isinstance(value, ast.Call) or len(value.args) < 2 or value.keywords:
        return None
    known = rewriter.resolve(value.func)
    name = known.name if isinstance(known, Builtin) else _EXTREMES.get(known, "") if callable(known) else ""
    if name not in _EXTREMES.values():
        return None
    *others, last = value.args
    return name, others[0] if len(others) == 1 else ast.copy_location(ast.Call(value.func, others, []), value), last


def _updated(rewriter: _Rewriter, kind: str, shared: ast.expr, **sides: ast.expr) -> ast.expr:
    """Return the value of a variable after an update. `value` and `old` are evaluated in the given order."""
    return rewriter.ordered("updated", kind=ast.Constant(kind), **sides, shared=shared)


def _update(rewriter: _Rewriter, kind: str, target: ast.expr, value: ast.expr, shared: ast.expr) -> ast.expr:
    """Rewrite `target op= value` for an element or a member."""
    operator, operand = ast.Constant(kind), rewriter.visit(value)
    if isinstance(target, ast.Subscript):
        base, index = rewriter.visit(target.value), rewriter.visit(target.slice)
        return rewriter.call("update", operator, base, index, operand, called(target.value), shared)
    assert isinstance(target, ast.Attribute)
    owner = rewriter.visit(target.value)
    return rewriter.call("update_member", operator, owner, ast.Constant(target.attr), operand, shared)


def _shares(rewriter: _Rewriter, node: ast.AST) -> ast.expr:
    """Return whether iterations share the variable that this statement updates."""
    place: Any = node
    return rewriter.call("shares", ast.Constant(place.lineno), ast.Constant(place.col_offset))


def _read(place: ast.expr) -> Any:
    """Return the node that reads the place."""
    made: Any = deepcopy(place)
    made.ctx = ast.Load()
    return made
