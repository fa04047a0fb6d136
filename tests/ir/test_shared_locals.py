"""Which locals iterations share, and what assignments to them mean; on trees built by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ir.test_lower_tree import I, J, X, at, b, c, find, kernel, v
from weft.ir import ops, tree
from weft.ir.errors import InternalError
from weft.ir.parse import parse
from weft.ir.shared_locals import atomic_updates, loop_locals
from weft.ir.types import VOID, f32, f64, i16, i32, i64, struct, tensor, u1
from weft.ir.verify import verify

S, T = tree.Variable("s", i32), tree.Variable("t", i32)
F = tree.Variable("f", f32)


def loop(*body: tree.Stmt, over: tree.Variable = I) -> tree.RangeFor:
    return tree.RangeFor(over, c(0), c(8), c(1), list(body), parallel=True)


def assign(target: tree.Variable, value: tree.Expr) -> tree.Assign:
    return tree.Assign(v(target), value)


def let(variable: tree.Variable) -> tree.Let:
    return tree.Let(variable, c(0, variable.type))


def facts(*body: tree.Stmt):
    """The facts of the last loop, after locals s, t and f were declared."""
    root = tree.KernelTree("k", (), (), (X,), [let(S), let(T), let(F), *body])
    loops = [stmt for stmt in body if isinstance(stmt, tree.RangeFor)]
    return loop_locals(root).get(loops[-1])


READ = tree.Assign(at(c(0)), v(S))
UPDATES = {
    "s = s + t": (assign(S, b("add", v(S), v(I))), ["add"]),
    "s = t + s": (assign(S, b("add", v(I), v(S))), ["add"]),
    "s = s - t + t": (assign(S, b("add", b("sub", v(S), v(I)), v(I))), ["sub", "add"]),
    "s = t + s + t": (assign(S, b("add", b("add", v(I), v(S)), v(I))), ["add", "add"]),
    "s = max(s, t)": (assign(S, b("max", v(S), v(I))), ["max"]),
    "s = min(t, s)": (assign(S, b("min", v(I), v(S))), ["min"]),
    "s = s | t": (assign(S, b("or", v(S), v(I))), ["or"]),
    "a sum of a wider type": (assign(S, b("add", v(S), tree.Cast(v(I), type=i64), i64)), ["add"]),
}
NAMESAKE = tree.Variable("s", i32)
RACES = {
    "another local of that name": assign(S, b("add", v(NAMESAKE), v(I))),
    "a value of each iteration": assign(S, v(I)),
    "t - s": assign(S, b("sub", v(I), v(S))),
    "s": assign(S, v(S)),
    "s + s": assign(S, b("add", v(S), v(S))),
    "two kinds": assign(S, b("mul", b("add", v(S), v(I)), v(I))),
    "a fraction, cut off after the sum": assign(S, b("add", v(S), c(0.5, f32), f32)),
    "no atomic of that kind": tree.AugAssign("floordiv", v(S), c(2)),
}


@pytest.mark.parametrize("name", UPDATES)
def test_assignments_that_are_atomics(name: str):
    stmt, kinds = UPDATES[name]
    found = facts(loop(stmt), READ)
    assert found.shared == {S}
    assert [kind for kind, _ in found.updates[stmt].steps] == kinds
    assert not found.races
    made = kernel([let(S), loop(stmt), READ])
    assert [op.kind for op in find(made, ops.Atomic)] == kinds
    assert not find(find(made, ops.ParallelFor)[0], ops.Store)


@pytest.mark.parametrize("name", RACES)
def test_assignments_of_which_any_may_win(name: str):
    found = facts(loop(RACES[name]), READ)
    assert found.races == [RACES[name]]
    made = kernel([let(S), let(NAMESAKE), loop(RACES[name]), READ])
    assert [op.relaxed for op in find(made, ops.Store)] == [False, True, False]
    assert len(find(made, ops.SharedLocal)) == 1


def test_what_each_iteration_assigns_first_is_its_own():
    stmt = loop(assign(S, v(I)), tree.AugAssign("add", v(S), c(1)), tree.Assign(at(v(I)), v(S)))
    assert facts(stmt).private == [S]
    made = kernel([let(S), stmt])
    assert not find(made, ops.SharedLocal)
    assert not find(made, ops.Atomic)
    assert len(find(find(made, ops.ParallelFor)[0], ops.Alloca)) == 1


def shared(*body: tree.Stmt) -> bool:
    return S in facts(*body).shared


def test_an_own_local_is_read_by_no_one_else():
    mine = assign(S, v(I))
    assert shared(loop(mine), READ)
    assert shared(loop(mine), tree.If(v(T), [READ]))
    assert not shared(READ, loop(mine))
    assert not shared(loop(mine), assign(S, c(1)), READ)
    assert shared(loop(mine), tree.If(v(T), [assign(S, c(1))]), READ)
    assert not shared(loop(mine), tree.If(v(T), [assign(S, c(1))], [assign(S, c(2))]), READ)
    assert shared(loop(mine), loop(tree.AugAssign("add", at(v(J)), v(S)), over=J), loop(mine), READ)


def test_an_own_local_is_assigned_on_every_way_to_a_read():
    use = tree.Assign(at(v(I)), v(S))
    cond = b("lt", v(I), c(3), u1)
    mine = assign(S, v(I))
    assert shared(loop(tree.If(cond, [mine]), use))
    assert not shared(loop(tree.If(cond, [mine], [assign(S, c(1))]), use))
    assert not shared(loop(tree.If(cond, [mine], [tree.Continue()]), use))
    assert not shared(loop(tree.If(cond, [tree.Continue()], [mine]), use))
    assert shared(loop(tree.If(cond, [tree.Continue()]), use, mine))
    assert shared(loop(use, mine))
    assert shared(loop(tree.RangeFor(J, c(0), v(I), c(1), [mine]), use))
    assert shared(loop(tree.While(cond, [tree.If(cond, [tree.Break()]), mine]), use))
    assert not shared(loop(tree.While(cond, [mine, use])))
    assert shared(loop(tree.While(cond, [use]), mine))


def test_an_index_of_an_inner_loop_is_from_inside():
    inner = tree.RangeFor(J, c(0), c(3), c(1), [tree.AugAssign("add", v(J), c(1))])
    assert facts(loop(inner), READ) is None


def test_a_call_assigns_what_it_assigns_on_every_way():
    use = tree.Assign(at(v(I)), v(S))
    cond = b("lt", v(I), c(3), u1)
    sure = tree.Eval(tree.Call("f", [], [assign(S, v(I))], type=VOID))
    early = tree.Eval(tree.Call("f", [], [tree.If(cond, [tree.Return([])]), assign(S, v(I))], type=VOID))
    last = tree.Let(T, tree.Call("f", [], [assign(S, v(I)), tree.Return([c(1)])], type=i32))
    assert not shared(loop(sure, use))
    assert not shared(loop(last, use))
    assert shared(loop(early, use))


def test_a_part_of_a_local_is_not_the_whole():
    pair = tensor(i32, (2,))
    w = tree.Variable("w", pair)
    for value in (v(I), c(3)):  # a part is no flag
        part = tree.Assign(tree.Element(v(w), [c(0)], type=i32), value)
        use = tree.Assign(at(v(I)), tree.Element(v(w), [c(1)], type=i32))
        body = [tree.Let(w, tree.MakeTensor([c(1), c(2)], type=pair)), loop(part, use)]
        (found,) = loop_locals(tree.KernelTree("k", (), (), (X,), body)).values()
        assert found.shared == {w}
        assert found.races == [part]


def test_iterations_with_elements_of_their_own_do_not_race():
    row = tensor(i32, (8,))
    w = tree.Variable("w", row)
    own = tree.Assign(tree.Element(v(w), [v(I)], type=i32), v(I))
    fixed = tree.Assign(tree.Element(v(w), [c(0)], type=i32), v(I))
    for body, races in (([own], []), ([own, fixed], [own, fixed])):
        root = tree.KernelTree("k", (), (), (X,), [tree.Let(w, tree.Splat(c(1), type=row)), loop(*body)])
        (found,) = loop_locals(root).values()
        assert sorted(map(id, found.races)) == sorted(map(id, races))


def test_elements_of_a_member_may_be_anyones():
    row = tensor(i32, (8,))
    w = tree.Variable("w", struct((("v", row),)))
    part = tree.Assign(tree.Element(tree.Member(v(w), "v", type=row), [v(I)], type=i32), v(I))
    let_w = tree.Let(w, tree.MakeStruct([tree.Splat(c(1), type=row)], type=w.type))
    (found,) = loop_locals(tree.KernelTree("k", (), (), (X,), [let_w, loop(part)])).values()
    assert found.races == [part]


def test_iterations_of_a_box_with_elements_of_their_own():
    """Every one writes `w[i, j]`, or every one `w[j, i]`: of both, (1, 2) and (2, 1) meet."""
    w = tree.Variable("w", tensor(i32, (8, 8)))

    def races(*places: list[tree.Expr]) -> bool:
        writes: list[tree.Stmt] = [tree.Assign(tree.Element(v(w), place, type=i32), v(I)) for place in places]
        box = tree.BoxFor([I, J], [c(0), c(0)], [c(8), c(8)], writes, parallel=True)
        use = tree.Assign(at(c(0)), tree.Element(v(w), [c(0), c(0)], type=i32))
        root = tree.KernelTree("k", (), (), (X,), [tree.Let(w, tree.Splat(c(1), type=w.type)), box, use])
        (found,) = loop_locals(root).values()
        return bool(found.races)

    assert not races([v(I), v(J)])
    assert not races([v(J), v(I)], [v(J), v(I)])
    assert races([v(I), v(J)], [v(J), v(I)])
    assert races([v(I), v(I)])
    assert races([v(I), c(0)])


@pytest.mark.parametrize(("kind", "atomic"), [("gt", "max"), ("ge", "max"), ("lt", "min"), ("le", "min")])
@pytest.mark.parametrize("mirrored", [False, True])
def test_an_extreme_by_comparison(kind: str, atomic: str, mirrored: bool):
    swap = {"gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}
    test = b(swap[kind], v(S), v(I), u1) if mirrored else b(kind, v(I), v(S), u1)
    branch = tree.If(test, [assign(S, v(I))])
    made = kernel([let(S), loop(branch), READ])
    (op,) = find(made, ops.Atomic)
    assert op.kind == atomic
    assert not find(made, ops.If)
    assert not facts(loop(branch), READ).races


def test_an_extreme_of_floats_keeps_a_nan():
    value = tree.Cast(v(I), type=f32)
    branch = tree.If(b("gt", value, v(F), u1), [assign(F, value)])
    made = kernel([let(F), loop(branch), tree.Assign(at(c(0)), v(F))])
    (test,) = find(made, ops.If)
    assert [op.kind for op in find(test, ops.Atomic)] == ["max"]


def test_no_extreme_where_more_happens():
    test = b("gt", v(I), v(S), u1)
    take, other = assign(S, v(I)), assign(T, v(I))
    beside = loop(tree.If(test, [other]), take)
    assert take in facts(beside, READ, tree.Assign(at(c(1)), v(T))).races
    argmax = tree.If(test, [take, other])
    assert facts(loop(argmax), READ, tree.Assign(at(c(1)), v(T))).races == [take, other]
    assert facts(loop(tree.If(test, [take], [tree.AugAssign("add", v(T), c(1))])), READ).races == [take]
    assert facts(loop(tree.If(test, [take]), tree.Assign(at(v(I)), v(S))), READ).races == [take]
    for other_test in (b("eq", v(I), v(S), u1), tree.Unary("not", test, type=u1), tree.Cast(v(S), type=u1)):
        assert facts(loop(tree.If(other_test, [take])), READ).races == [take]
    wrong = assign(S, b("add", v(I), c(1)))
    assert facts(loop(tree.If(test, [wrong])), READ).races == [wrong]
    elsewhere = tree.If(b("gt", v(I), v(T), u1), [take])
    assert facts(loop(elsewhere, tree.Assign(at(v(I)), v(S))), READ).races == [take]
    drawn = tree.Random(type=i32)
    take = assign(S, drawn)
    assert facts(loop(tree.If(b("gt", drawn, v(S), u1), [take])), READ).races == [take]


def test_a_flag_is_no_race():
    cond = b("lt", v(I), c(3), u1)
    found = facts(loop(tree.If(cond, [assign(S, c(1))]), tree.If(cond, [assign(S, c(1))])), READ)
    assert found.shared == {S}
    assert not found.races
    made = kernel([let(S), loop(tree.If(cond, [assign(S, c(1))])), READ])
    assert [op.kind for op in find(made, ops.Atomic)] == ["xchg"]
    two = [assign(S, c(1)), assign(S, c(2))]
    assert facts(loop(tree.If(cond, two)), READ).races == two
    narrow = [assign(S, tree.Cast(c(1, i16), type=i32)) for _ in two]
    assert not facts(loop(*narrow), READ).races
    assert facts(loop(assign(S, tree.Cast(v(I), type=i32))), READ).races


def test_loops_of_calls_that_are_statements():
    """What is live behind such a loop: what the rest of the call reads, what the place reads that takes the result."""
    own = tree.Variable("own", i32)
    inner = loop(assign(own, v(I)))
    for read in ([tree.Assign(at(c(0)), v(own))], []):
        body = [let(own), inner, *read, tree.Return([c(1)])]
        call = tree.Call("f", [], body, type=i32)
        for stmt in (tree.Eval(call), tree.Let(T, call), assign(T, call), tree.Assign(at(c(1)), call)):
            root = tree.KernelTree("k", (), (), (X,), [let(S), stmt])
            found = loop_locals(root)[inner]
            assert found.shared == ({own} if read else set())
            assert found.private == ([] if read else [own])
    inner = loop(assign(S, v(I)))
    call = tree.Call("f", [], [inner, tree.Return([c(1)])], type=i32)
    for place, live in ((at(v(S)), True), (at(v(T)), False)):
        root = tree.KernelTree("k", (), (), (X,), [let(S), let(T), tree.Assign(place, call)])
        assert loop_locals(root)[inner].shared == ({S} if live else set())


def test_f64_values_into_an_f32():
    stmt = assign(F, b("add", v(F), c(0.5, f64), f64))
    assert [kind for kind, _ in facts(loop(stmt), tree.Assign(at(c(0)), v(F))).updates[stmt].steps] == ["add"]


PLAIN = """\
kernel @k() -> () {
  %0 = const 0 : i32
  %n = const 8 : i32
  %s = KIND : *i32
  parallel_for begins=[%0], ends=[%n] (%i: i32) {
    store %s, %iHOW
  }
}
"""


@pytest.mark.parametrize(
    ("kind", "how", "message"),
    [
        ("alloca", "", "a local of the code around the loop"),
        ("alloca", ", relaxed=true", "a local of the code around the loop"),
        ("shared_local", "", "is a plain store to"),
        ("shared_local", ", relaxed=true", None),
    ],
)
def test_the_verifier_knows_who_may_write(kind: str, how: str, message: str | None):
    made = parse(PLAIN.replace("KIND", kind).replace("HOW", how))
    if message is None:
        verify(made, "chi")
        return
    with pytest.raises(InternalError, match=message):
        verify(made, "chi")


def test_no_extreme_of_two_types():
    """A greater number of 64 bits may be a smaller one of 32."""
    wide = tree.Cast(v(I), type=i64)
    take = assign(S, wide)
    assert facts(loop(tree.If(b("gt", wide, v(S), u1), [take])), READ).races == [take]


def test_a_serial_loop_shares_nothing():
    stmt = loop(assign(S, b("add", v(S), v(I))))
    stmt.config = replace(stmt.config, serialize=True)
    assert facts(stmt, READ) is None
    stmt = loop(assign(S, b("add", v(S), v(I))))
    stmt.parallel = False
    assert facts(stmt, READ) is None


def test_which_statements_are_atomics():
    body = [assign(S, b("add", v(S), v(I))), tree.AugAssign("mul", v(S), c(2)), tree.AugAssign("floordiv", v(S), c(2))]
    root = tree.KernelTree("k", (), (), (X,), [let(S), loop(*body, tree.AugAssign("add", at(v(I)), c(2))), READ])
    assert atomic_updates(loop_locals(root)) == {*body[:2]}


def test_places_are_one_where_they_are_spelled_alike():
    """`w[i, 0] = w[i, 0] + i` is an atomic; of another element, or of one that a call finds, it is none."""
    w = tree.Variable("w", tensor(i32, (2, 2)))

    def element(*index: tree.Expr) -> tree.Element:
        return tree.Element(v(w), list(index), type=i32)

    def kinds(target: tree.Expr, read: tree.Expr) -> list[str] | None:
        write = tree.Assign(target, b("add", read, v(I)))
        use = tree.Assign(at(c(0)), element(c(0), c(0)))
        root = tree.KernelTree("k", (), (), (X,), [tree.Let(w, tree.Splat(c(1), type=w.type)), loop(write), use])
        (found,) = loop_locals(root).values()
        return [kind for kind, _ in found.updates[write].steps] if write in found.updates else None

    assert kinds(element(c(1), c(0)), element(c(1), c(0))) == ["add"]
    big = [c(int(digits)) for digits in ("1000", "1000", "1001")]  # no one object
    assert kinds(element(big[0], c(0)), element(big[1], c(0))) == ["add"]
    assert kinds(element(big[0], c(0)), element(big[2], c(0))) is None
    assert kinds(element(c(1), c(0)), element(c(0), c(0))) is None
    assert kinds(element(c(1), c(0)), element(c(1), c(1))) is None
    assert kinds(element(c(1), c(0)), element(c(1))) is None
    assert kinds(element(c(1)), element(c(1), c(0))) is None
    assert kinds(element(c(1), c(0)), element(c(1), c(0, i64))) is None
    call = tree.Call("f", [], [tree.Return([c(1)])], type=i32)
    assert kinds(element(call, c(0)), element(call, c(0))) is None
    assert kinds(element(c(1), c(0)), element(c(1), v(I))) is None
