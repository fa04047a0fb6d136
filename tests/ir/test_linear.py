"""Linear forms: which sums are looked into, what conditions say, and what follows from them."""

from __future__ import annotations

import textwrap

import pytest

from weft.ir.affine import leaf_key
from weft.ir.core import Value
from weft.ir.linear import Facts, Form, conditions, exact_form, index_form
from weft.ir.parse import parse
from weft.ir.tasks import tasks_of

FRAME = """\
kernel @k(n: i32, m: i32, f: f32) -> () {{
  task range_for bounds {{
    %zero = const 0 : i32
    %eight = const 8 : i32
    yield begins=[%zero], ends=[%eight]
  }} body (%i: i32) {{
    %n = arg index=0 : i32
    %m = arg index=1 : i32
    %f = arg index=2 : f32
    %one = const 1 : i32
    %two = const 2 : i32
    %three = const 3 : i32
    %unit = const 1.0 : f32
{body}
  }}
}}
"""


def values_of(body: str) -> dict[str, Value]:
    """The values by name."""
    kernel = parse(FRAME.format(body=textwrap.indent(textwrap.dedent(body), "    ")))
    (task,) = tasks_of(kernel)
    return {"i": task.body.args[0], **{op.name: op for op in task.walk() if op.name}}


def spelled(form: Form, values: dict[str, Value]) -> str:
    """A form as text: `2*i - n + 1`."""
    names = {value: name for name, value in values.items()}
    terms = sorted((names[value], count) for _, count, value in form.terms)
    return " ".join([*(f"{count:+d}{name}" for name, count in terms), f"{form.constant:+d}"])


@pytest.mark.parametrize(
    ("body", "exact", "index"),
    [
        ("%x = binary add %i, %three : i32", "+1i +3", "+1i +3"),
        ("%x = binary sub %three, %i : i32", "-1i +3", "-1i +3"),
        ("%x = binary mul %i, %three : i32", "+3i +0", "+3i +0"),
        ("%x = binary mul %three, %i : i32", "+3i +0", "+3i +0"),
        ("%x = binary shl %i, %three : i32", "+8i +0", "+8i +0"),
        ("%x = unary neg %i : i32", "-1i +0", "-1i +0"),
        ("%x = unary abs %i : i32", "+1x +0", "+1x +0"),
        ("%x = binary mul %i, %i : i32", "+1x +0", "+1x +0"),
        ("%x = binary shl %i, %i : i32", "+1x +0", "+1x +0"),
        ("%k = const 31 : i32\n%x = binary shl %n, %k : i32", "+1x +0", "+1x +0"),
        ("%k = const 30 : i32\n%x = binary shl %n, %k : i32", "+1x +0", "+1073741824n +0"),
        ("%x = binary add %n, %one : i32", "+1x +0", "+1n +1"),  # it may wrap around
        ("%x = binary sub %n, %m : i32", "+1x +0", "-1m +1n +0"),
        ("%x = unary neg %n : i32", "+1x +0", "-1n +0"),
        ("%y = binary add %n, %one : i32\n%x = cast %y : i64", "+1y +0", "+1n +1"),
        ("%y = binary add %n, %one : i32\n%z = cast %y : i64\n%x = unary neg %z : i64", "-1y +0", "-1y +0"),
        ("%x = cast %i : u8", "+1i +0", "+1i +0"),
        ("%x = cast %n : u8", "+1x +0", "+1x +0"),
        ("%x = cast %n : u32", "+1x +0", "+1x +0"),
        ("%x = cast %f : i32", "+1x +0", "+1x +0"),
        ("%y = cast %n : u32\n%x = cast %y : i32", "+1x +0", "+1x +0"),
        ("%y = cast %n : f32\n%x = cast %y : i64", "+1x +0", "+1x +0"),  # 2**31 - 1 has become 2**31
        ("%x = binary min %three, %n : i32", "+1x +0", "+1x +0"),
        ("%y = cast %n : u8\n%z = cast %i : u8\n%x = binary add %y, %z : u8", "+1x +0", "+1x +0"),
        ("%y = cast %i : u8\n%z = cast %one : u8\n%x = binary add %y, %z : u8", "+1i +1", "+1i +1"),
        ("%y = cast %i : u32\n%z = cast %n : u32\n%x = binary sub %y, %z : u32", "+1x +0", "+1i -1z +0"),
    ],
)
def test_forms(body: str, exact: str, index: str) -> None:
    values = values_of(body)
    assert spelled(exact_form(values["x"]), values) == exact
    assert spelled(index_form(values["x"], 0), values) == index


def test_unsigned_sums_are_no_negative_indices() -> None:
    """0 - 1 is 2**32 - 1, which is out of range, though -1 would be in range where indices begin at -4."""
    values = values_of("%y = cast %i : u32\n%z = cast %two : u32\n%x = binary sub %y, %z : u32")
    assert spelled(index_form(values["x"], 0), values) == "+1i -2"
    assert spelled(index_form(values["x"], -4), values) == "+1x +0"


def test_sums_with_a_sign_are_negative_indices() -> None:
    values = values_of("%x = binary add %n, %one : i32")
    assert spelled(index_form(values["x"], -4), values) == "+1n +1"


@pytest.mark.parametrize(
    ("body", "holds", "fails"),
    [
        ("%x = binary lt %i, %n : u1", ["+1i -1n +1"], ["-1i +1n +0"]),
        ("%x = binary le %i, %n : u1", ["+1i -1n +0"], ["-1i +1n +1"]),
        ("%x = binary gt %i, %n : u1", ["-1i +1n +1"], ["+1i -1n +0"]),
        ("%x = binary ge %i, %n : u1", ["-1i +1n +0"], ["+1i -1n +1"]),
        ("%x = binary eq %i, %n : u1", ["+1i -1n +0", "-1i +1n +0"], []),
        ("%x = binary ne %i, %n : u1", [], ["+1i -1n +0", "-1i +1n +0"]),
        ("%y = binary lt %i, %n : u1\n%x = unary not %y : u1", ["-1i +1n +0"], ["+1i -1n +1"]),
        ("%y = unary bit_not %n : i32\n%x = binary lt %i, %y : u1", ["+1i -1y +1"], ["-1i +1y +0"]),
        ("%x = binary lt %f, %unit : u1", [], []),
        (
            "%y = binary lt %i, %n : u1\n%z = binary gt %i, %m : u1\n%x = binary and %y, %z : u1",
            ["+1i -1n +1", "-1i +1m +1"],
            [],
        ),
        (
            "%y = binary lt %i, %n : u1\n%z = binary gt %i, %m : u1\n%x = binary or %y, %z : u1",
            [],
            ["-1i +1n +0", "+1i -1m +0"],
        ),
        ("%y = binary lt %i, %n : u1\n%z = binary gt %i, %m : u1\n%x = binary xor %y, %z : u1", [], []),
        ("%y = binary and %n, %m : i32\n%x = unary not %y : u1", [], []),
        ("%y = binary lt %i, %n : u1\n%x = unary abs %y : u1", [], []),
    ],
)
def test_conditions(body: str, holds: list[str], fails: list[str]) -> None:
    values = values_of(body)
    assert [spelled(form, values) for form in conditions(values["x"], True)] == holds
    assert [spelled(form, values) for form in conditions(values["x"], False)] == fails


LEAST = "%x = binary min %n, %m : i32"
MOST = "%x = binary max %n, %m : i32"
SUM = "%x = binary add %n, %m : i32"


@pytest.mark.parametrize(
    ("body", "above", "expected"),
    [
        (LEAST, True, ["-1n +1x +0", "-1m +1x +0"]),
        (LEAST, False, []),
        (MOST, True, []),
        (MOST, False, ["+1n -1x +0", "+1m -1x +0"]),
    ],
)
def test_what_is_known_of_a_minimum(body: str, above: bool, expected: list[str]) -> None:
    """Forms that are not positive."""
    values = values_of(body)
    found = Facts().about(leaf_key(values["x"]), values["x"], above)
    assert [spelled(form, values) for form in found] == expected


@pytest.mark.parametrize(
    ("body", "known", "asked", "proven"),
    [
        (SUM, {}, "i - 7", True),
        (SUM, {}, "i - 6", False),
        (SUM, {}, "-i", True),
        (SUM, {}, "-i + 1", False),
        (SUM, {}, "n", False),
        (SUM, {"n - 5"}, "n - 5", True),
        (SUM, {"n - 5"}, "n - 4", False),
        (SUM, {"n - 5"}, "-n", False),
        (SUM, {"n - 5"}, "2*n - 10", True),
        (SUM, {"n - 5", "m - n"}, "m - 5", True),
        (SUM, {"n - 5", "m - n"}, "m - 4", False),
        (SUM, {"n - 5", "n - m"}, "m - 5", False),
        (SUM, {"2*n - 5"}, "4*n - 10", True),
        (SUM, {"2*n - 5"}, "n - 5", False),  # there would be more to prove than what is asked
        (SUM, {"i + n - 5"}, "n - 5", True),
        (SUM, {"i + n - 5"}, "n + 3", False),
        (LEAST, {}, "x - n", True),
        (LEAST, {}, "x - m", True),
        (LEAST, {}, "n - x", False),
        (LEAST, {"n - 5"}, "x - 5", True),
        (LEAST, {"5 - x"}, "5 - n", True),
        (LEAST, {"x - 5"}, "n - 5", False),
        (MOST, {}, "n - x", True),
        (MOST, {}, "m - x", True),
        (MOST, {}, "x - n", False),
        (MOST, {"x - 5"}, "n - 5", True),
        (MOST, {"x - 5"}, "m - 5", True),
        (MOST, {"5 - x"}, "5 - n", False),
        (MOST, {"2*x - 8"}, "2*m - 8", True),
    ],
)
def test_what_follows(body: str, known: set[str], asked: str, proven: bool) -> None:
    """`known` and `asked`: sums that are not positive."""
    values = values_of(body)
    forms = {name: exact_form(value) for name, value in values.items()}

    def form(text: str) -> Form:
        total = Form()
        for term in text.replace("- ", "+ -").replace("-", "-1*").split(" + "):
            *factors, last = term.removeprefix("+").split("*")
            count = 1
            for factor in factors:
                count *= int(factor)
            total = total.plus(Form((), int(last)) if last.isdigit() else forms[last], count)
        return total

    facts = Facts()
    facts.learn(form("n - 100"))
    mark = facts.mark()
    for one in sorted(known):
        facts.learn(form(one))
    assert facts.proves(form(asked)) == proven
    facts.forget(mark)
    if known:
        assert not facts.proves(form(asked))
