"""`lower_tree` and `infer_types`, on trees built by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from weft.ir import ops, tree
from weft.ir.config import CompileConfig
from weft.ir.errors import CompilationError, TypeMismatch
from weft.ir.storage.dense import Term
from weft.ir.symbols import FieldSymbol, Param
from weft.ir.transforms.infer_types import infer_types
from weft.ir.transforms.lower_tree import lower_tree
from weft.ir.types import VOID, array, f32, f64, i32, i64, tensor, u1

CONFIG = CompileConfig()
X = FieldSymbol.dense("x", f32, (8,), 0, (0,), (Term(0, 1, 8, 4),), (0,), (0,))


def c(value, type=i32):
    return tree.Const(value, type=type)


def v(variable):
    return tree.Var(variable, type=variable.type)


def b(kind, lhs, rhs, type=i32):
    return tree.Binary(kind, lhs, rhs, type=type)


def at(*indices):
    return tree.FieldElement(X, list(indices), type=f32)


def kernel(body: Sequence[tree.Stmt], params=(), results=(), config=CONFIG) -> ops.Kernel:
    made = lower_tree(tree.KernelTree("k", tuple(params), tuple(results), (X,), list(body)), config)
    infer_types(made, config)
    assert not infer_types(made, config), "a second run finds nothing to do"
    return made


def names(block) -> list[str]:
    return [op.opname for op in block]


def find(root, kind):
    return [op for op in root.walk() if isinstance(op, kind)]


I, J = tree.Variable("i", i32), tree.Variable("j", i32)


def test_a_parallel_loop_and_an_atomic():
    body = [tree.AugAssign("add", at(v(I)), c(1))]
    made = kernel([tree.RangeFor(I, c(0), c(8), c(1), body, parallel=True)])
    loop = made.body.last
    assert isinstance(loop, ops.ParallelFor)
    assert names(loop.body) == ["const", "field_ptr", "const", "atomic"]
    assert loop.body.last.value.type is f32


def test_a_parallel_loop_inside_another_is_serial():
    inner = tree.RangeFor(J, c(0), c(8), c(1), [tree.Assign(at(v(J)), v(I))], parallel=True)
    made = kernel([tree.RangeFor(I, c(0), c(8), c(1), [inner], parallel=True)])
    assert len(find(made, ops.ParallelFor)) == 1
    assert len(find(made, ops.For)) == 1


def test_a_step_becomes_a_trip_count():
    made = kernel([tree.RangeFor(I, c(10), c(0), c(-3), [tree.Assign(at(v(I)), c(1))], parallel=True)])
    (loop,) = find(made, ops.ParallelFor)
    assert loop.begins[0].value == 0
    assert names(loop.body)[:3] == ["cast", "binary", "binary"]
    assert loop.body.args[0].type is i64


def test_locals_never_assigned_again_are_values():
    once, again = tree.Variable("once", f32), tree.Variable("again", f32)
    made = kernel(
        [
            tree.Let(once, c(1)),
            tree.Let(again, v(once)),
            tree.AugAssign("add", v(again), c(2)),
            tree.Return([v(again)]),
        ],
        results=[f32],
    )
    assert [op.name for op in find(made, ops.Alloca)] == ["again"]
    assert made.body.last.values[0].type is f32


def test_break_of_a_box_leaves_the_whole_nest():
    leave = tree.If(b("eq", v(J), c(3), u1), [tree.Break()])
    made = kernel([tree.BoxFor([I, J], [c(0), c(0)], [c(8), c(8)], [leave, tree.Assign(at(v(J)), v(I))])])
    outer, inner = find(made, ops.For)
    assert inner.parent is outer
    test = outer.body.last
    assert isinstance(test, ops.If)
    assert names(test.then) == ["break"]
    assert test.condition.ptr.block is outer.body


def test_break_of_a_parallel_loop_is_an_error():
    with pytest.raises(CompilationError, match="parallel"):
        kernel([tree.RangeFor(I, c(0), c(8), c(1), [tree.Break()], parallel=True)])
    with pytest.raises(CompilationError, match="parallel"):
        kernel([tree.RangeFor(I, c(0), c(8), c(1), [tree.Return([])], parallel=True)])


def test_an_early_return_at_the_tail_needs_no_loop():
    a = tree.Variable("a", i32)
    body = [tree.If(b("lt", v(a), c(0), u1), [tree.Return([c(0)])]), tree.Return([v(a)])]
    made = kernel([tree.Return([tree.Call("f", [(a, c(3))], body, type=i32)])], results=[i32])
    assert not find(made, ops.While)
    (branch,) = find(made, ops.If)
    assert names(branch.then)[-1] == names(branch.orelse)[-1] == "store"


def test_a_return_out_of_loops_raises_a_flag():
    body = [
        tree.RangeFor(I, c(0), c(8), c(1), [tree.If(b("eq", v(I), c(3), u1), [tree.Return([v(I)])])]),
        tree.Return([c(-1)]),
    ]
    made = kernel([tree.Return([tree.Call("f", [], body, type=i32)])], results=[i32])
    (loop,) = find(made, ops.While)
    assert names(loop.body)[-1] == "break"
    (inner,) = find(made, ops.For)
    assert isinstance(inner.next.next, ops.If)


def test_a_straight_call_has_no_memory():
    a = tree.Variable("a", f32)
    made = kernel(
        [tree.Return([tree.Call("f", [(a, c(3))], [tree.Return([b("mul", v(a), v(a), f32)])], type=f32)])],
        results=[f32],
    )
    assert names(made.body) == ["const", "const", "binary", "return"]


def test_and_guards_what_may_fault():
    guarded = tree.BoolOp("and", [b("lt", v(I), c(3), u1), b("gt", at(v(I)), c(0), u1)], type=u1)
    flag = tree.Variable("flag", u1)
    made = kernel([tree.Let(I, c(1)), tree.Let(flag, guarded)])
    (branch,) = find(made, ops.If)
    assert "load" in names(branch.then)
    cheap = tree.BoolOp("or", [b("lt", v(I), c(3), u1), v(I)], type=u1)
    made = kernel([tree.Let(I, c(1)), tree.Let(flag, cheap)])
    assert not find(made, ops.If)


def test_conditional_expressions():
    made = kernel([tree.Return([tree.IfExp(c(1), c(2), c(3.0, f32), type=f32)])], results=[f32])
    (select,) = find(made, ops.Select)
    assert select.condition.type is u1
    assert select.a.type is f32
    made = kernel([tree.Return([tree.IfExp(c(1), at(c(0)), c(3.0, f32), type=f32)])], results=[f32])
    assert len(find(made, ops.If)) == 1


def test_vectors_indexed_at_run_time_stay_in_memory():
    vec = tensor(f32, (3,))
    a, w = tree.Variable("a", vec), tree.Variable("w", vec)
    make = tree.MakeTensor([c(1), c(2), c(3)], type=vec)
    dynamic = tree.Element(v(a), [tree.ParamRef(0, type=i32)], type=f32)
    fixed = tree.Element(v(w), [c(-1)], type=f32)
    made = kernel(
        [tree.Let(a, make), tree.Let(w, make), tree.Return([b("add", dynamic, fixed, f32)])],
        params=[Param("n", i32)],
        results=[f32],
    )
    assert [op.name for op in find(made, ops.Alloca)] == ["a"]
    assert [op.index for op in find(made, ops.Extract)] == [2]


def test_scalars_fill_tensors():
    vec = tensor(f32, (3,))
    a = tree.Variable("a", vec)
    made = kernel([tree.Let(a, c(1)), tree.Return([b("mul", v(a), c(2), vec)])], results=[tensor(f64, (3,))])
    assert len(find(made, ops.Splat)) == 2
    assert made.body.last.values[0].type is tensor(f64, (3,))


def test_struct_for_over_fields_and_arrays():
    made = kernel([tree.StructFor([I], X, [tree.Assign(at(v(I)), c(0))], parallel=True)])
    assert isinstance(made.body.last, ops.StructFor)
    made = kernel([tree.StructFor([I], X, [tree.Assign(at(v(I)), c(0))])])
    assert isinstance(made.body.last, ops.For)
    array_type = array(f32, 2)
    over = tree.ParamRef(0, type=array_type)
    made = kernel([tree.StructFor([I, J], over, [], parallel=True)], params=[Param("a", array_type)])
    assert isinstance(made.body.last, ops.ParallelFor)
    assert [end.axis for end in made.body.last.ends] == [0, 1]


def test_while_breaks_where_its_condition_fails():
    n = tree.Variable("n", i32)
    made = kernel(
        [tree.Let(n, c(0)), tree.While(b("lt", v(n), c(5), u1), [tree.AugAssign("add", v(n), c(1)), tree.Continue()])]
    )
    (loop,) = find(made, ops.While)
    (test,) = find(made, ops.If)
    assert names(test.orelse) == ["break"]
    assert names(loop.body)[-1] == "continue"


def test_asserts_only_in_debug():
    check = tree.Assert(c(0), "no {}", [c(1)])
    assert not find(kernel([check]), ops.Assert)
    (made,) = find(kernel([check], config=CompileConfig(debug=True)), ops.Assert)
    assert made.condition.type is u1


def test_types_that_do_not_go_together():
    two, three = tensor(f32, (2,)), tensor(f32, (3,))
    wrong = b("add", tree.Splat(c(1), type=two), tree.Splat(c(1), type=three), two)
    with pytest.raises(TypeMismatch, match="shapes differ: 2 and 3"):
        kernel([tree.Eval(wrong)])
    with pytest.raises(TypeMismatch, match="takes integers"):
        kernel([tree.Eval(b("and", c(1.0, f32), c(1), i32))])
    with pytest.raises(TypeMismatch, match="an index must be an integer"):
        kernel([tree.Assign(at(c(1.0, f32)), c(1))])


def test_index_types_stay_and_division_is_float():
    made = kernel([tree.Return([b("div", c(1), c(2), f64)])], results=[f64], config=CompileConfig(default_fp=f64))
    assert made.body.last.values[0].lhs.type is f64
    long = tree.Variable("l", i64)
    made = kernel([tree.Let(long, c(1)), tree.Assign(at(v(long)), c(0))])
    assert find(made, ops.FieldPtr)[0].indices[0].type is i64


def test_a_call_without_value():
    made = kernel([tree.Eval(tree.Call("f", [], [tree.Return([])], type=VOID))])
    assert names(made.body) == []


def test_and_without_else_is_nested_ifs():
    guarded = tree.BoolOp("and", [b("lt", v(I), c(3), u1), b("gt", at(v(I)), c(0), u1)], type=u1)
    made = kernel([tree.Let(I, c(1)), tree.If(guarded, [tree.Assign(at(c(0)), c(1))])])
    outer, inner = find(made, ops.If)
    assert inner.parent is outer
    assert not find(made, ops.Alloca)


def test_the_value_of_a_call_without_one():
    with pytest.raises(TypeMismatch, match="void"):
        kernel([tree.Assign(at(c(0)), tree.Call("f", [], [], type=VOID))])
