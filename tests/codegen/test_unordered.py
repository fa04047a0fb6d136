"""When LLVM may move the accesses of an iteration past one another."""

from __future__ import annotations

import textwrap

import pytest

from weft.codegen.unordered import is_unordered
from weft.ir.parse import parse
from weft.ir.tasks import tasks_of

KERNEL = """\
kernel @k(n: i32) -> () {{
  task range_for bounds {{
    %zero = const 0 : i64
    %end = const 5000 : i64
    yield begins=[%zero], ends=[%end]
  }} prologue {{
    %base = tree_base tree=0 : *i64
    %one = const 1 : i64
    %four = const 4 : i64
    %eight = const 8 : i64
    %again = const 8 : i64
    %value = const 1.0 : f32
  }} body (%i: i64) {{
    %k = binary and %i, %one : i64
{body}
  }}
}}
"""


def place(name: str, scope: str, index: str = "%i", stride: str = "%eight", offset: int = 0) -> str:
    return f'%{name} = address %base, indices=[{index}], strides=[{stride}], offset={offset}, scope="{scope}" : *f32\n'


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
