"""When LLVM may move the accesses of an iteration past one another."""

from __future__ import annotations

import textwrap
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from weft.ir.adversary import Schedule
from weft.ir.config import CompileConfig
from weft.ir.errors import InternalError
from weft.ir.evaluate import evaluate
from weft.ir.mapping.unordered import is_unordered
from weft.ir.memory_model import Memory
from weft.ir.parse import parse
from weft.ir.tasks import tasks_of

KERNEL = """\
kernel @k(n: i32) -> () {{
  task range_for bounds {{
    %begin = const 0 : i64
    %end = const 5000 : i64
    yield begins=[%begin], ends=[%end]
  }} prologue {{
    %base = tree_base tree=0 : *i64
    %same = tree_base tree=0 : *i64
    %other = tree_base tree=1 : *i64
    %array = array_base index=0 : *i64
    %same_array = array_base index=0 : *i64
    %zero = const 0 : i64
    %one = const 1 : i64
    %four = const 4 : i64
    %eight = const 8 : i64
    %again = const 8 : i64
    %value = const 1.0 : f32
  }} body (%i: i64) {{
    %k = binary and %i, %one : i64
    %test = binary eq %k, %one : u1
{body}
  }}
}}
"""


def place(
    name: str, scope: str, index: str = "%i", stride: str = "%eight", offset: int = 0, base: str = "%base"
) -> str:
    return f'%{name} = address {base}, indices=[{index}], strides=[{stride}], offset={offset}, scope="{scope}" : *f32\n'


def unordered(body: str) -> bool:
    (task,) = tasks_of(parse(KERNEL.format(body=textwrap.indent(body, "    "))))
    return is_unordered(task)


@pytest.mark.parametrize(
    ("index", "stride", "free"),
    [
        ("%i", "%eight", True),
        ("%i", "%four", False),
        ("%i", "%again", True),
        ("%k", "%eight", False),
        ("%i, %one", "%eight, %four", True),
        ("%i, %k", "%eight, %four", False),
    ],
)
def test_accesses_to_what_is_written_differ_by_constants(index: str, stride: str, free: bool) -> None:
    first = place("p", "field:x") + "store %p, %value\n"
    for scope in ("field:x", "field:y"):
        read = place("q", scope, index, stride, 4) + "%v = load %q : f32\n"
        assert unordered(first + read) == (free or scope == "field:y")
        assert unordered(read) == unordered(place("p", "field:x") + "%w = load %p : f32\n" + read) is True
    assert unordered(first + place("q", "field:x", index, stride, 4) + "%v = atomic add %q, %value : f32\n") == free


@pytest.mark.parametrize(
    ("accesses", "free"),
    [
        ("a b a", True),
        ("a B a", False),
        ("a B", True),
        ("B a", True),
        ("A b A", False),
        ("A B A", False),
        ("A B B", True),
        ("a A a", True),
        ("a a B B", True),
        ("a A B b", True),
        ("a b B a", False),
    ],
)
def test_accesses_to_arrays_that_may_be_one(accesses: str, free: bool) -> None:
    """Small letters are loads, capitals are stores."""
    for kind in ("exposed array", "array"):
        body = ""
        for number, one in enumerate(accesses.split()):
            body += place(f"p{number}", f"{kind}:{one.lower()}")
            body += f"store %p{number}, %value\n" if one.isupper() else f"%v{number} = load %p{number} : f32\n"
        assert unordered(body) == (free or kind == "array")


@pytest.mark.parametrize(
    ("accesses", "free"),
    [
        ("x0 x4 X0 X4", True),
        ("X0 X4", True),
        ("X0 Y4", True),
        ("X0 X0", True),
        ("X0 x0", True),
        ("X0 X0 Z4", True),
        ("X0 X0 X4", False),
        ("X4 X0 X0", False),
        ("X0 X0 Y4", False),
        ("X0 X0 y4", False),
        ("X0 x0 x4", False),
        ("x4 X0 x0", False),
        ("x0 X0 x4", True),
        ("x0 x0 X4", True),
        ("X0 A0 X4", False),
        ("A0 A4", True),
        ("A0 x0 A4", False),
        ("X0 ( X4 )", True),
        ("( X0 )", True),
        ("x0 { x4 }", True),
        ("Z0 { x4 }", True),
        ("X0 { x4 }", False),
        ("Y0 { x4 }", False),
        ("{ X0 }", False),
    ],
)
def test_what_comes_back_to_a_cell(accesses: str, free: bool) -> None:
    """Small letters are loads, capitals are stores, A is an atomic on x; x and y are in one tree, z is not. The number
    is an offset; in braces is an inner loop, in parentheses what an `if` guards."""
    assert unordered(accessing(accesses)) == free


def accessing(accesses: str) -> str:
    """A body with these accesses."""
    body, marks = "", {"{": "for %zero, %i, %one (%j: i64) {\n", "(": "if %test then {\n", "}": "}\n", ")": "}\n"}
    for number, one in enumerate(accesses.split()):
        if one in marks:
            body += marks[one]
            continue
        letter, base = one[0].lower().replace("a", "x"), "%other" if one[0] in "zZ" else "%base"
        body += place(f"p{number}", f"field:{letter}", offset=int(one[1:]), base=base)
        if one[0] == "A":
            body += f"%v{number} = atomic add %p{number}, %value : f32\n"
        else:
            body += f"store %p{number}, %value\n" if one[0].isupper() else f"%v{number} = load %p{number} : f32\n"
    return body


def check_claim(body: str, free: bool, seed: int | None = None) -> None:
    """Evaluate a task that is said to be unordered: the evaluator must complain exactly if the order matters."""
    text = KERNEL.format(body=textwrap.indent(body, "    ")).replace("5000", "9")
    kernel = parse(text.replace("(n: i32)", "(a: [f32; 1], b: [f32; 1])"))
    (task,) = tasks_of(kernel)
    task.schedule = replace(task.schedule, unordered=True)
    numbers, memory = np.zeros(64, np.float32), Memory([np.zeros(256, np.uint8), np.zeros(256, np.uint8)])
    schedule = None if seed is None else Schedule(seed, weak=True)
    with nullcontext() if free else pytest.raises(InternalError, match="the schedule says otherwise"):
        evaluate(kernel, [numbers, numbers], memory, CompileConfig(), schedule=schedule)


@pytest.mark.parametrize("seed", [None, 0, 3])
@pytest.mark.parametrize(
    ("accesses", "free"),
    [
        *((accesses, True) for accesses in ("x0 x4 X0 X4", "X0 X4", "X0 Y4", "X0 X0", "X0 x0", "X0 X0 Z4", "A0 A4")),
        *((accesses, True) for accesses in ("x0 X0 x4", "x0 x0 X4", "X0 ( X4 )", "( X0 )", "x0 { x4 }", "Z0 { x4 }")),
        *((accesses, False) for accesses in ("X0 X0 X4", "X0 X0 Y4", "X0 x0 X4", "x4 X0 x0", "X0 A0 X4", "x4 A0 x0")),
        ("X0 ( X0 ) X4", False),
        ("Y0 X0 { y0 } Y4", False),
    ],
)
def test_the_evaluator_finds_an_order_that_matters(accesses: str, free: bool, seed: int | None) -> None:
    check_claim(accessing(accesses), free, seed)
    assert free or not unordered(accessing(accesses))


@pytest.mark.parametrize(
    ("accesses", "free"), [("a B", True), ("a A a", True), ("a0 B4 a4", False), ("A4 b4 A0", False), ("a4 B0 a4", True)]
)
def test_arrays_that_are_one_have_an_order(accesses: str, free: bool) -> None:
    body = ""
    for number, one in enumerate(accesses.split()):
        index = "ab".index(one[0].lower())
        body += f"%r{number} = array_base index={index} : *i64\n"
        scope = f"exposed array:{index}"
        body += place(f"p{number}", scope, offset=int(one[1:] or 0), base=f"%r{number}")
        body += f"store %p{number}, %value\n" if one[0].isupper() else f"%v{number} = load %p{number} : f32\n"
    check_claim(body, free)


@pytest.mark.parametrize(("base", "same", "scope"), [("%base", "%same", "field"), ("%array", "%same_array", "array")])
def test_a_memory_is_one_by_whichever_op_it_is_reached(base: str, same: str, scope: str) -> None:
    """(LLVM may store `x[%i]` and `y[%i]`, which are in one tree, at once, at the end.)"""

    def body(third: str) -> str:
        stores = (("p", "x", 0, base), ("q", "y" if scope == "field" else "x", 4, base), ("r", "x", 0, third))
        places = (place(name, f"{scope}:{field}", offset=offset, base=where) for name, field, offset, where in stores)
        return "".join(f"{text}store %{text[1]}, %value\n" for text in places)

    assert not unordered(body(base))
    assert not unordered(body(same))
    apart = place("p", f"{scope}:x", base=base) + "store %p, %value\n" + place("q", f"{scope}:x", offset=4, base=same)
    assert unordered(apart + "store %q, %value\n")


def test_rows_of_an_unknown_length_are_apart() -> None:
    """(`a[0, %i]` is stored to twice, `a[1, %i]` in between: LLVM may store the first ones at once, at the end.)"""
    rows = ("%zero", "%one", "%zero")
    body = "%length = load %array : i64\n"
    for number, row in enumerate(rows):
        body += place(f"p{number}", "array:0", f"{row}, %i", "%length, %four", base="%array")
        body += f"store %p{number}, %value\n"
    assert not unordered(body)
