"""Passes on tasks of a few lines: which lines they leave, and that the task means what it meant."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ir.test_task_passes import kernel, range_for, run, transformed
from weft.ir.text import print_ir

CARRIED = range_for(
    """%old = load %l : i32
    %new = binary add %old, %i : i32
    store %l, %new
    %p = field_ptr @x[%i]
    %v = cast %new : f32
    store %p, %v""",
    prologue="%zero = const 0 : i32\n%l = alloca : *i32\nstore %l, %zero",
)
PARAMS = "n: i32, m: i32"

# What a pass is given, what stands in the text after it, and what does not any more.
CASES: dict[str, tuple[str, str, tuple[str, ...], tuple[str, ...]]] = {
    "what the prologue stores and rounds write": ("forward", CARRIED, ("%old = load %l",), ()),
    "what the prologue loads": (
        "forward",
        range_for(
            """%b = load %s : f32
            %p = field_ptr @x[%i]
            store %p, %b""",
            prologue="%s = field_ptr @s[]\n%a = load %s : f32",
        ),
        ("store %p, %a",),
        ("%b =",),
    ),
    "what the prologue computes": (
        "cse",
        range_for(
            """%t = binary add %n, %m : i32
            %u = binary add %t, %i : i32
            %v = cast %u : f32
            %p = field_ptr @x[%i]
            store %p, %v""",
            prologue="%n = arg index=0 : i32\n%m = arg index=1 : i32\n%s = binary add %n, %m : i32",
        ),
        ("binary add %s, %i",),
        ("%t =",),
    ),
    "an exchange of whose old value one makes something": (
        "demote_atomics",
        range_for(
            """%p = field_ptr @x[%i]
            %v = cast %i : f32
            %old = atomic xchg %p, %v : f32
            %0 = const 0 : i32
            %q = field_ptr @y[%i, %0]
            store %q, %old"""
        ),
        ("%old = load %p : f32\n    store %p, %v\n", "store %q, %old"),
        ("atomic",),
    ),
    "one load for two": (
        "cache_invariant",
        range_for(
            """%p = field_ptr @s[]
            %a = load %p : f32
            %q = field_ptr @s[]
            %b = load %q : f32
            %c = binary add %a, %b : f32
            %r = field_ptr @x[%i]
            store %r, %c"""
        ),
        ("binary add %a, %a",),
        ("%b =",),
    ),
    **{
        f"an index of 64 bits: {index}": (
            "lower_access",
            range_for(
                f"""%n = arg index=0 : i32
                %m = arg index=1 : i32
                %3 = const 3 : i32
                %j = binary {index} : i32
                %p = field_ptr @x[%j]
                %v = load %p : f32
                %q = field_ptr @y[%i, %n]
                store %q, %v""",
                "0 2",
            ),
            (f"= binary {index.split()[0]} ", wide),
            (narrow,),
        )
        for index, wide, narrow in (
            ("add %n, %m", " : i64\n    %p = address", "cast %j : i64"),
            ("mul %n, %3", " : i64\n    %p = address", "cast %j : i64"),
            ("mul %3, %m", " : i64\n    %p = address", "cast %j : i64"),
            ("mul %n, %m", "cast %j : i64", "binary mul %j"),
        )
    },
}


@pytest.mark.parametrize("title", CASES)
def test_text_and_meaning(title: str) -> None:
    name, body, there, gone = CASES[title]
    params, given = (PARAMS, (1, 2)) if " arg index" in body else ("", ())
    after = transformed(name, kernel(body, params))
    text = print_ir(after)
    assert all(line in text for line in there), text
    assert not any(line in text for line in gone), text
    expected = run(kernel(body, params), *given)
    for what, value in run(after, *given).items():
        assert np.array_equal(value, expected[what]), what
