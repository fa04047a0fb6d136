"""Conditions, jumps and assertions. `loops` has the loops."""

from __future__ import annotations

import ast
from typing import Any

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.ir.types import shape_of
from weft.lang.errors import UnsupportedSyntax
from weft.lang.translate.expressions import unpack
from weft.lang.translate.operators import condition, run_now, tested
from weft.lang.translate.precision import warn_of_loss
from weft.lang.translate.printing import assertion
from weft.lang.translate.statements import is_static_call
from weft.lang.translate.translator import Returned, Translator, translates
from weft.lang.translate.values import Record, coerce, is_known, to_expr
from weft.lang.values.types import to_ir

__all__: list[str] = []


@translates(ast.If)
def _if(t: Translator, node: ast.If) -> None:
    test = tested(t, node.test)
    if is_known(test):
        _static_if(t, node, bool(run_now(t, node.test, bool, test)))
        return
    made = tree.If(condition(t, test, node.test), [], [], span=t.span(node))
    t.emit(made)
    for statements, into in ((node.body, made.then), (node.orelse, made.orelse)):
        with t.block() as out:
            t.body(statements)
            into.extend(out)


def _static_if(t: Translator, node: ast.If, holds: bool) -> None:
    """Translate only the branch that is taken. Without `ti.static(...)`, its loops are not at the top level."""
    top = t.top
    t.top = top and is_static_call(t, node.test)
    t.body(node.body if holds else node.orelse)
    t.top = top


@translates(ast.Return)
def _return(t: Translator, node: ast.Return) -> None:
    if any(loop.kind == "parallel" for loop in t.loops):
        raise t.error(
            "a parallel loop cannot contain 'return': its iterations run in any order, so none of them can end "
            "the kernel",
            node,
        )
    value = None if node.value is None else t.expr(node.value)
    stmt = tree.Return([], span=t.span(node))
    if t.is_kernel:
        _kernel_return(t, stmt, value, node)
    else:
        if isinstance(value, Record):
            value = Record(value.type, to_expr(t, value, node))
        t.returns.append(Returned(stmt, value, node))
        t.emit(stmt)
    t.jump = "ended"


def _kernel_return(t: Translator, stmt: tree.Return, value: Any, node: ast.Return) -> None:
    wanted, word = t.unit.results, "function" if t.unit.is_function else "kernel"
    if not wanted:
        if value is not None:
            assert node.value is not None
            raise t.error(
                f"this {word} returns a value, but has no return annotation: write '-> type' after its parameters",
                node.value,
            )
        stmt.values += t.unit.current()
        t.emit(stmt)
        return
    if value is None:
        raise t.error(
            f"the {word} is annotated to return {', '.join(map(repr, wanted))}, but this 'return' has no value", node
        )
    values = [value] if len(wanted) == 1 else unpack(t, value, node)
    if len(values) != len(wanted):
        raise t.error(
            f"the {word} is annotated to return {len(wanted)} values, but this 'return' has {len(values)}",
            node,
            TypeMismatch,
        )
    for item, annotation in zip(values, wanted, strict=True):
        expr, type = to_expr(t, item, node), to_ir(annotation)
        if shape_of(type) and not shape_of(expr.type):
            raise t.error(
                f"the {word} is annotated to return {type}, but this 'return' has {expr.type}", node, TypeMismatch
            )
        warn_of_loss(t, "the result", type, expr, node.value or node)
        stmt.values.append(coerce(t, expr, type, node))
    stmt.values += t.unit.current()
    t.unit.returned = True
    t.emit(stmt)


@translates(ast.Break, ast.Continue)
def _jump(t: Translator, node: ast.Break | ast.Continue) -> None:
    word = "break" if isinstance(node, ast.Break) else "continue"
    if not t.loops:
        raise t.error(f"'{word}' outside a loop", node, UnsupportedSyntax)
    loop = t.loops[-1]
    if loop.kind == "static":
        if t.depth != loop.depth:
            raise t.error(
                f"'{word}' of a static loop depends on a condition that is known only when the kernel runs: "
                "make the condition static, or leave out the ti.static of the loop",
                node,
            )
        t.jump = word
        return
    if loop.kind == "parallel" and word == "break":
        raise t.error(
            "a parallel loop cannot contain 'break': its iterations run in any order. Loops at the top level "
            "of a kernel are parallel; write ti.loop_config(serialize=True) before the loop to run it in order",
            node,
        )
    t.emit((tree.Break if word == "break" else tree.Continue)(span=t.span(node)))
    t.jump = "ended"


@translates(ast.Assert)
def _assert(t: Translator, node: ast.Assert) -> None:
    assertion(t, node)


@translates(ast.Raise)
def _raise(t: Translator, node: ast.Raise) -> None:
    raise t.error(
        f"kernels cannot raise exceptions: '{ast.unparse(node)}' is allowed only in a branch that ti.static leaves out",
        node,
    )
