"""`and`, `or`, `not`, chains and ternaries on numbers: the operand that decides, in the common type, and no other."""

import linecache
import warnings

import pytest

TRIED = (-3, 0, 1, 2, 4)


def test_and_and_or_give_the_operand_that_decides(ti):
    @ti.kernel
    def run(a: ti.i32, b: ti.i32, c: ti.i32) -> ti.types.vector(4, ti.i32):
        return ti.Vector([a and b, a or b, a and b and c, a or b or c])

    for a in TRIED:
        for b in TRIED:
            assert run(a, b, 7).to_list() == [a and b, a or b, a and b and 7, a or b or 7], (a, b)


def test_with_literals(ti):
    @ti.kernel
    def run(a: ti.i32) -> ti.types.vector(6, ti.i32):
        return ti.Vector([a and 5, a or 5, 0 or a, 3 and a, a and 0, a and 5 and 7])

    for a in TRIED:
        assert run(a).to_list() == [a and 5, a or 5, a, a, 0, a and 7]


def test_in_their_common_type(ti):
    """A local has the type of its first value: what it makes of a second one shows which that was."""

    @ti.kernel
    def run(a: ti.i32, b: ti.f32, c: ti.u8) -> ti.types.vector(4, ti.f64):
        both, either, narrow, test = a and b, a or b, c or c, a > 1 and a < 9
        first = ti.Vector([both, either], ti.f64)
        both, narrow, test = ti.cast(2.5, ti.f32), ti.u8(200), a > 100
        narrow += ti.u8(100)
        return ti.Vector([first[0], first[1], both + ti.cast(test, ti.f32), narrow], ti.f64)

    assert run(2, 0.75, 1).to_list() == [0.75, 2, 2.5, 44]
    assert run(0, 0.75, 1).to_list() == [0, 0.75, 2.5, 44]


def test_operands_of_and_and_or_are_evaluated_once(ti):
    calls = ti.field(ti.i32, 3)

    @ti.func
    def seen(k, x):
        calls[k] += 1
        return x

    @ti.kernel
    def run(a: ti.i32, b: ti.i32, c: ti.i32) -> ti.i32:
        return seen(0, a) and seen(1, b) and seen(2, c)

    assert run(2, 3, 4) == 4
    assert calls.to_numpy().tolist() == [1, 1, 1]
    assert run(2, 0, 4) == 0
    assert calls.to_numpy().tolist() == [2, 2, 1]
    assert run(0, 1, 4) == 0
    assert calls.to_numpy().tolist() == [3, 2, 1]


def test_guards(ti):
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def last(n: ti.i32) -> ti.i32:
        return n and x[n - 1]

    x[2] = 9
    assert [last(n) for n in (0, 3)] == [0, 9]


def test_conditions(ti):
    @ti.kernel
    def run(a: ti.i32, b: ti.f32) -> ti.i32:
        found = 0
        if a and b:
            found += 1
        if not (a or b):
            found += 10
        while a and found < 5:
            found += 2
        return found + (100 if a or b else 200)

    assert [run(a, b) for a in (0, 2) for b in (0.0, 0.5)] == [210, 100, 106, 105]


def test_chains_evaluate_each_side_once(ti):
    calls = ti.field(ti.i32, ())

    @ti.func
    def seen(x):
        calls[None] += 1
        return x

    @ti.kernel
    def between(a: ti.i32, x: ti.i32, b: ti.i32) -> ti.u1:
        return a < seen(x) <= b

    assert [between(*row) for row in ((1, 2, 3), (1, 3, 3), (2, 2, 3), (3, 2, 1))] == [1, 1, 0, 0]
    assert calls[None] == 4


def test_of_vectors_elementwise(ti):
    @ti.kernel
    def run(a: ti.types.vector(3, ti.i32), b: ti.types.vector(3, ti.i32)) -> ti.types.matrix(3, 3, ti.i32):
        both, either, none = a and b, a or b, not a
        return ti.Matrix.rows([both, either, none])

    found = run(ti.Vector([2, 0, 3]), ti.Vector([5, 0, 0])).to_list()
    assert found == [[1, 0, 0], [1, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize("text", ["a is 3", "a in (1, 2)", "a not in (1, 2)"])
def test_identity_and_membership_need_values_known_beforehand(ti, text, tmp_path):
    source = f"@ti.kernel\ndef run(a: ti.i32) -> ti.u1:\n    return {text}\n"
    name = str(tmp_path / "kernel.py")
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space = {"ti": ti}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # Python's own, about `is`
        exec(compile(source, name, "exec"), space)
    with pytest.raises(ti.lang.errors.UnsupportedSyntax, match="known at compile time: compare"):
        space["run"](3)


def test_a_choice_has_the_common_type_also_of_what_is_not_evaluated(ti):
    calls, out = ti.field(ti.i32, ()), ti.field(ti.f32, 6)

    @ti.func
    def half(b):
        calls[None] += 1
        return b * 0.5

    @ti.func
    def either(a, b):
        return a or half(b)

    @ti.data_oriented
    class Chooser:
        @ti.kernel
        def run(self, a: ti.i32, b: ti.f32):
            c = a or half(b)
            c += 0.25
            d = a and half(b)
            d += 0.25
            e = a if a > 1 else half(b)
            e += 0.25
            f = either(a, b)
            f += 0.25
            g = 3 and a
            g += 0.75
            h = (a and a) or half(b)
            h += 0.25
            for k, value in ti.static(enumerate((c, d, e, f, g, h))):
                out[k] = value

    Chooser().run(3, 1.0)
    assert out.to_numpy().tolist() == [3.25, 0.75, 3.25, 3.25, 3, 3.25]
    assert calls[None] == 1
    Chooser().run(0, 1.0)
    assert out.to_numpy().tolist() == [0.75, 0.25, 0.75, 0.75, 0, 0.75]
    assert calls[None] == 5
