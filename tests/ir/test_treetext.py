"""The tree's text, whole: one kernel that uses every kind of node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.ir import tree
from weft.ir.storage.dense import Term
from weft.ir.symbols import FieldSymbol, LoopConfig, Param
from weft.ir.tree import Variable
from weft.ir.treetext import _PRINTERS, print_tree
from weft.ir.types import VOID, array, f32, i32, struct, tensor, u1

VEC, PAIR = tensor(f32, (2,)), struct((("a", i32), ("v", tensor(f32, (2,)))))
X = FieldSymbol.dense("x", VEC, (8, 4), 0, (0, 4), (Term(0, 1, 8, 32), Term(1, 1, 4, 8)))
LOSS = FieldSymbol.dense("loss", f32, (), 0, (256,), ())


def _int(value: int) -> tree.Expr:
    return tree.Const(value, type=i32)


def _add(a: tree.Expr, b: tree.Expr, kind: str = "add") -> tree.Expr:
    return tree.Binary(kind, a, b, type=a.type)


def kernel() -> tree.KernelTree:
    """A kernel that makes no sense and uses everything."""
    i, j, y, y2, s, n, a = (
        *(Variable(name, i32) for name in ("i", "j")),
        *(Variable("y", type) for type in (f32, VEC)),
        *(Variable("s", PAIR), Variable("n", i32), Variable("a", f32)),
    )
    var = {v: tree.Var(v, type=v.type) for v in (i, j, y, y2, s, n, a)}
    dt, arr = tree.ParamRef(0, type=f32), tree.ParamRef(1, type=array(f32, 1))
    cell = tree.FieldElement(X, [var[i], var[j]], type=VEC)
    loss = tree.FieldElement(LOSS, [], type=f32)
    square = tree.Call("square", [(a, dt)], [tree.Return([_add(var[a], var[a], "mul")])], type=f32)
    shout = tree.Call("shout", [], [tree.Print(["hi ", (dt, ".3f")])], type=VOID)
    less = tree.Binary("lt", var[y], dt, type=u1)
    mat = tree.MakeTensor([dt, dt, dt, dt], type=tensor(f32, (2, 2)))
    inner: list[tree.Stmt] = [
        tree.Let(y, _add(square, tree.Element(cell, [_int(0)], type=f32))),
        tree.Let(y2, tree.MatMul(mat, tree.Transpose(mat, type=mat.type), type=VEC)),
        tree.AugAssign("add", cell, tree.Splat(tree.Unary("sqrt", var[y], type=f32), type=VEC)),
        tree.AugAssign("max", var[y], tree.Unary("neg", dt, type=f32)),
        tree.Eval(tree.Atomic("add", loss, tree.Reduce("add", var[y2], type=f32), type=f32)),
        tree.Eval(shout),
        tree.If(tree.BoolOp("and", [less, less], type=u1), [tree.Continue()], [tree.If(less, [])]),
    ]
    body: list[tree.Stmt] = [
        tree.BoxFor([i, j], [_int(0), _int(0)], [_int(8), tree.ArrayShape(arr, 0, type=i32)], inner, parallel=True),
        tree.StructFor([i, j], X, [], parallel=True, config=LoopConfig(block_dim=64)),
        tree.Let(s, tree.MakeStruct([_int(1), tree.MakeTensor([dt, dt], type=VEC)], type=PAIR)),
        tree.Assign(tree.Member(var[s], "a", type=i32), tree.Cast(tree.Random(type=f32), type=i32)),
        tree.Let(n, tree.BitCast(dt, type=i32)),
        tree.RangeFor(i, _int(0), var[n], _int(2), [tree.While(less, [tree.Break()])]),
        tree.Assign(tree.ArrayElement(arr, [var[n]], type=f32), tree.IfExp(less, dt, var[y], type=f32)),
        tree.Assert(less, "n is {}", [tree.Select(less, var[n], var[n], type=i32)]),
        tree.Return([_add(var[n], _int(1), "atan2")]),
    ]
    return tree.KernelTree("all", (Param("dt", f32), Param("arr", array(f32, 1))), (i32,), (X, LOSS), body)


def test_every_node_prints(golden: Callable[[str, str], None]) -> None:
    golden("tree.txt", print_tree(kernel()))


def test_no_kind_of_node_is_forgotten() -> None:
    kinds: set[Any] = {*tree.EXPRESSIONS, *tree.STATEMENTS}
    assert kinds == set(_PRINTERS)
