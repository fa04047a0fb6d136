"""The text of a tree tells trees apart that mean something else, and only these."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from weft.ir import tree
from weft.ir.errors import InternalError, Span
from weft.ir.symbols import FieldSymbol, LoopConfig, Param
from weft.ir.tree_key import describe
from weft.ir.types import array, f32, f64, i32, struct, tensor


def kernel(*body: tree.Stmt, **changes: Any) -> tree.KernelTree:
    given: dict[str, Any] = {"name": "k", "params": (), "results": (), "fields": (), "body": [*body], **changes}
    return tree.KernelTree(**given)


def text(*body: tree.Stmt, **changes: Any) -> str:
    return describe(kernel(*body, **changes))[0]


def put(value: float, line: int = 1) -> tree.Stmt:
    return tree.Eval(tree.Const(value, type=f32, span=Span("a.py", line)), span=Span("a.py", line, 3))


def test_numbers():
    values = (0.0, -0.0, 1, 1.0, True, 2, float("inf"), float("nan"))
    assert len({text(put(value)) for value in values}) == len(values)
    assert text(put(float("nan"))) == text(put(float("nan")))


def test_spans_are_apart():
    (one, places), (other, moved) = describe(kernel(put(1.0))), describe(kernel(put(1.0, 2)))
    assert one == other
    assert places != moved
    assert len(places) == 3


def test_variables_of_one_name_are_two():
    a, b, again = (tree.Variable("a", f32) for _ in range(3))
    value = tree.Const(1.0, type=f32)

    def program(used: tree.Variable, *declared: tree.Variable) -> str:
        return text(*(tree.Let(one, value) for one in declared), tree.Eval(tree.Var(used, type=f32)))

    assert program(a, a, b) != program(b, a, b)
    assert program(b, a, b) == program(again, a, again)


def test_nesting():
    one, two = put(1.0), put(2.0)
    condition = tree.Const(True, type=i32)
    assert text(tree.If(condition, [one, two])) != text(tree.If(condition, [one]), two)
    assert text(tree.If(condition, [one], [two])) != text(tree.If(condition, [one, two], []))


@pytest.mark.parametrize(
    ("name", "value"),
    [("shape", (8,)), ("name", "y"), ("tree", 1), ("offset", (1,)), ("order", (0,)), ("exposed", True)],
)
def test_fields(name: str, value: Any):
    symbol = FieldSymbol.dense("x", f32, (4,), 0, (0,), ())
    wide = FieldSymbol.dense("x", f64, (4,), 0, (0,), ())
    changed = dataclasses.replace(symbol, **{name: value})
    assert len({text(fields=(one,)) for one in (symbol, wide, changed)}) == 3


def test_types_and_loops():
    types = (f32, f64, tensor(f32, (2,)), struct((("a", f32),)), struct((("b", f32),)), array(f32, 1), array(f32, 2))
    assert len({text(params=(Param("p", one),)) for one in types}) == len(types)
    loops = (LoopConfig(), LoopConfig(simd=8), LoopConfig(block_dim=8))
    bounds = [tree.Const(n, type=i32) for n in (0, 8, 1)]
    assert (
        len(
            {
                text(tree.RangeFor(tree.Variable("i", i32), bounds[0], bounds[1], bounds[2], [], config=one))
                for one in loops
            }
        )
        == 3
    )


def test_whatever_else_is_refused():
    with pytest.raises(InternalError, match="class complex"):
        text(tree.Eval(tree.Const(1j, type=f32)))  # type: ignore[arg-type]  # no number of a kernel
