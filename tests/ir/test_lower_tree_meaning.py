"""What lowered trees compute, against what Python computes."""

from __future__ import annotations

from itertools import product

import pytest

from weft.ir import tree
from weft.ir.config import CompileConfig
from weft.ir.evaluate import Memory, evaluate
from weft.ir.storage.cell import Cell
from weft.ir.storage.dense import Term
from weft.ir.storage.path import dense_path
from weft.ir.symbols import FieldSymbol, Param
from weft.ir.transforms.bounds import bounds
from weft.ir.transforms.demote_ops import demote_ops
from weft.ir.transforms.infer_types import infer_types
from weft.ir.transforms.lower_tree import lower_tree
from weft.ir.transforms.scalarize import scalarize
from weft.ir.types import VOID, f32, i32, struct, tensor, u1
from weft.ir.verify import verify

CONFIG = CompileConfig(debug=True, fast_math=False)
LOG = FieldSymbol.dense("log", i32, (64,), 0, (0,), (Term(0, 1, 64, 4),), (), (0,))
COUNT = FieldSymbol.dense("count", i32, (), 1, (0,), ())
PLANE = FieldSymbol.dense("plane", i32, (2, 3), 2, (0,), (Term(1, 1, 3, 8), Term(0, 1, 2, 4)), (-1, 5), (1, 0))


HALO = FieldSymbol(
    "halo", (4, 3), 3, dense_path(Cell(i32, (0,), halo=((1, 1), (0, 2))), (Term(0, 1, 4, 12), Term(1, 1, 3, 4)))
)


def c(value, type=i32):
    return tree.Const(value, type=type)


def v(variable):
    return tree.Var(variable, type=variable.type)


def b(kind, lhs, rhs, type=i32):
    return tree.Binary(kind, lhs, rhs, type=type)


def is_(kind, lhs, rhs):
    return b(kind, lhs, rhs, u1)


def p(index):
    return tree.ParamRef(index, type=i32)


def count():
    return tree.FieldElement(COUNT, [], type=i32)


def log(value) -> list[tree.Stmt]:
    """log[count] = value; count += 1"""
    slot = tree.FieldElement(LOG, [count()], type=i32)
    return [tree.Assign(slot, value), tree.AugAssign("add", count(), c(1))]


def run(body, *args, results=()):
    """The kernel's results and what it logged; the same before and after the front's passes."""
    params = tuple(Param(f"a{k}", i32) for k in range(len(args)))
    root = tree.KernelTree("k", params, tuple(results), (LOG, COUNT, PLANE, HALO), body)
    seen = []
    kernel = lower_tree(root, CONFIG)
    verify(kernel, "untyped")
    for change in (infer_types, bounds, scalarize, demote_ops):
        change(kernel, CONFIG)
        if change in (infer_types, bounds):
            verify(kernel, "chi")
        memory = Memory.of([LOG, COUNT, PLANE, HALO])
        values = evaluate(kernel, args, memory, CONFIG)
        logged = memory.read(LOG)[: int(memory.read(COUNT))].tolist()
        seen.append(([value.tolist() for value in values], logged))
    assert all(outcome == seen[0] for outcome in seen)
    return seen[0]


I, J, N = (tree.Variable(name, i32) for name in "ijn")


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("step", [1, 2, 3, -1, -2, -5])
def test_ranges(step: int, parallel: bool):
    for begin, end in product((-3, 0, 5), (-4, 0, 5, 6)):
        for given in (c(step), p(2)):
            body = [tree.RangeFor(I, p(0), p(1), given, log(v(I)), parallel=parallel)]
            assert run(body, begin, end, step)[1] == list(range(begin, end, step))


def test_break_and_continue_in_a_box():
    body = [
        tree.If(is_("eq", v(J), c(1)), [tree.Continue()]),
        tree.If(is_("eq", b("add", b("mul", v(I), c(4)), v(J)), p(0)), [tree.Break()]),
        *log(b("add", b("mul", v(I), c(4)), v(J))),
    ]
    loop = [tree.BoxFor([I, J], [c(0), c(0)], [c(3), c(4)], body), *log(c(99))]
    for stop in (0, 2, 5, 6, 50):
        expected = [k for k in range(12) if k % 4 != 1]
        assert run(loop, stop)[1] == (expected[: expected.index(stop)] if stop in expected else expected) + [99]


def find() -> list[tree.Stmt]:
    """for i: for j: if i * j == n: return i; while True: if j > n: return -2; ...; return -1"""
    deep = tree.If(is_("eq", b("mul", v(I), v(J)), v(N)), [tree.Return([v(I)])])
    inner = tree.RangeFor(J, c(1), c(5), c(1), [deep])
    k = tree.Variable("k", i32)
    forever = tree.While(
        c(True, u1),
        [
            tree.AugAssign("add", v(k), c(1)),
            tree.If(is_("gt", v(k), v(N)), [tree.Return([c(-2)])]),
            tree.If(is_("eq", v(k), c(20)), [tree.Break()]),
        ],
    )
    return [tree.RangeFor(I, c(2), c(5), c(1), [inner]), tree.Let(k, c(0)), forever, tree.Return([c(-1)])]


def python_find(n: int) -> int:
    for i in range(2, 5):
        for j in range(1, 5):
            if i * j == n:
                return i
    return -2 if n < 20 else -1


@pytest.mark.parametrize("n", [2, 3, 6, 8, 12, 13, 19, 20, 30])
def test_returns_out_of_loops(n: int):
    call = tree.Call("find", [(N, p(0))], find(), type=i32)
    assert run([tree.Return([b("mul", call, c(10))])], n, results=[i32])[0] == [python_find(n) * 10]
    inside = tree.RangeFor(tree.Variable("r", i32), c(0), c(2), c(1), log(call), parallel=True)
    assert run([inside], n)[1] == [python_find(n)] * 2


def test_early_returns_at_the_tail():
    def body():
        return [
            tree.If(is_("lt", v(N), c(0)), [tree.Return([c(-1)])]),
            tree.If(
                is_("lt", v(N), c(10)),
                [tree.If(is_("eq", v(N), c(5)), [*log(c(5)), tree.Return([c(50)])], [tree.Return([c(1)])])],
                [],
            ),
            *log(v(N)),
            tree.Return([c(2)]),
        ]

    for n, (value, logged) in {-3: (-1, []), 5: (50, [5]), 7: (1, []), 12: (2, [12])}.items():
        call = tree.Call("f", [(N, p(0))], body(), type=i32)
        assert run([tree.Return([call])], n, results=[i32]) == ([value], logged)


def test_a_partial_return_in_the_middle():
    body = [
        tree.If(is_("gt", v(N), c(0)), [tree.If(is_("gt", v(N), c(5)), [tree.Return([])]), *log(c(1))]),
        *log(c(2)),
    ]
    for n, logged in {-1: [2, 3], 3: [1, 2, 3], 9: [3]}.items():
        call = tree.Call("f", [(N, p(0))], body, type=VOID)
        assert run([tree.Eval(call), *log(c(3))], n)[1] == logged


def test_a_kernel_returns_early():
    body = [
        tree.RangeFor(I, c(0), c(9), c(1), [tree.If(is_("eq", v(I), p(0)), [tree.Return([v(I), c(1)])]), *log(v(I))]),
        tree.Return([c(-1), c(0)]),
    ]
    assert run(body, 2, results=[i32, f32]) == ([2, 1.0], [0, 1])
    assert run(body, 20, results=[i32, f32]) == ([-1, 0.0], list(range(9)))


def test_short_circuit():
    def noisy(value: tree.Expr, number: int) -> tree.Expr:
        return tree.Call("noisy", [], [*log(c(number)), tree.Return([value])], type=u1)

    def tests() -> list[tree.Expr]:
        return [noisy(is_("gt", p(k), c(0)), k) for k in range(3)]

    for given in product((0, 1), repeat=3):
        for kind, stops, end in (("and", 0, all(given)), ("or", 1, any(given))):
            order = list(range(given.index(stops) + 1 if stops in given else 3))
            value = tree.BoolOp(kind, tests(), type=u1)
            assert run([tree.Return([value])], *given, results=[u1]) == ([end], order)
            branch = [tree.If(tree.BoolOp(kind, tests(), type=u1), log(c(9)))]
            assert run(branch, *given)[1] == order + [9] * end
            both = tree.IfExp(tree.BoolOp(kind, tests(), type=u1), noisy(c(1), 7), noisy(c(0), 8), type=u1)
            assert run([tree.Return([both])], *given, results=[u1]) == ([end], [*order, 7 if end else 8])


def test_loops_over_a_field_leave_its_halo_out():
    for parallel in (False, True):
        body = [tree.StructFor([I, J], HALO, log(b("add", b("mul", v(I), c(10)), v(J))), parallel=parallel)]
        assert run(body)[1] == [10, 20]


def test_struct_for_counts_from_the_offset():
    mark = [tree.AugAssign("add", tree.FieldElement(PLANE, [v(I), v(J)], type=i32), c(1))]
    for parallel in (True, False):
        body = [tree.StructFor([I, J], PLANE, [*mark, *log(b("add", b("mul", v(I), c(10)), v(J)))], parallel=parallel)]
        assert sorted(run(body)[1]) == sorted(i * 10 + j for i in (-1, 0) for j in (5, 6, 7))


def test_vectors_and_structs():
    vec = tensor(i32, (3,))
    pair = struct((("a", i32), ("v", vec)))
    w, s = tree.Variable("w", vec), tree.Variable("s", pair)
    make = tree.MakeTensor([c(1), c(2), p(0)], type=vec)
    member = tree.Member(v(s), "v", type=vec)
    body = [
        tree.Let(w, make),
        tree.AugAssign("mul", v(w), c(2)),
        tree.Let(s, tree.MakeStruct([c(7), v(w)], type=pair)),
        tree.Assign(tree.Element(member, [p(1)], type=i32), c(100)),
        tree.AugAssign("add", tree.Element(v(w), [c(0)], type=i32), c(1)),
        *log(tree.Element(member, [c(-1)], type=i32)),
        *log(tree.Element(b("add", v(w), member, vec), [p(1)], type=i32)),
        tree.Return([v(s), tree.Reduce("add", v(w), type=i32)]),
    ]
    values, logged = run_struct(body, 5, 1)
    assert values == "[(7, [2, 100, 10]), 17]"
    assert logged == [10, 104]


def run_struct(body, *args):
    params = tuple(Param(f"a{k}", i32) for k in range(len(args)))
    pair = struct((("a", i32), ("v", tensor(i32, (3,)))))
    kernel = lower_tree(tree.KernelTree("k", params, (pair, i32), (LOG, COUNT), body), CONFIG)
    outcomes = []
    for change in (infer_types, scalarize, demote_ops):
        change(kernel, CONFIG)
        memory = Memory.of([LOG, COUNT])
        (number, vector), total = evaluate(kernel, args, memory, CONFIG)
        text = str([(int(number), vector.tolist()), int(total)])
        outcomes.append((text, memory.read(LOG)[: int(memory.read(COUNT))].tolist()))
    assert all(outcome == outcomes[0] for outcome in outcomes)
    return outcomes[0]


def test_atomics_on_locals_give_the_old_value():
    body = [
        tree.Let(N, p(0)),
        *log(tree.Atomic("max", v(N), c(5), type=i32)),
        *log(tree.Atomic("xchg", v(N), c(3), type=i32)),
        *log(v(N)),
        tree.Assign(count(), c(3)),
        tree.Eval(tree.Atomic("add", tree.FieldElement(LOG, [c(0)], type=i32), c(40), type=i32)),
    ]
    assert run(body, 2)[1] == [42, 5, 3]


def test_the_loop_index_may_be_assigned():
    body = [tree.RangeFor(I, c(0), c(4), c(1), [tree.AugAssign("mul", v(I), c(10)), *log(v(I))], parallel=True)]
    assert run(body)[1] == [0, 10, 20, 30]
