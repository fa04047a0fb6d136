"""What crosses from task to task: what is computed again, what lies in temporaries, and where locals go."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.ir.test_task_passes import kernel, run, transformed
from weft.ir.ops import Const, Task
from weft.ir.parse import parse
from weft.ir.text import print_ir
from weft.ir.types import i64

CASES = {
    "a value that two later tasks want has one temporary": """
      %p = field_ptr @s[]
      %a = load %p : f32
      %0 = const 0 : i32
      %n = const 6 : i32
      parallel_for begins=[%0], ends=[%n] (%i: i32) {
        %q = field_ptr @x[%i]
        %v = load %q : f32
        %b = binary add %v, %a : f32
        %c = binary add %b, %a : f32
        store %q, %c
        store %p, %v
      }
      parallel_for begins=[%0], ends=[%n] (%j: i32) {
        %r = field_ptr @x[%j]
        store %r, %a
      }""",
    "a local stays where it is, and what was read of it crosses": """
      %p = field_ptr @s[]
      %z = load %p : f32
      %l = alloca : *f32
      store %l, %z
      %a = load %l : f32
      store %p, %z
      %0 = const 0 : i32
      %n = const 6 : i32
      parallel_for begins=[%0], ends=[%n] (%i: i32) {
        %q = field_ptr @x[%i]
        store %q, %a
      }""",
    "a vector that tasks write and read by its elements": """
      %0 = const 0 : i32
      %1 = const 1 : i32
      %n = const 6 : i32
      %z = const 3.5 : f32
      %l = alloca : *f32x3
      %e = element_ptr %l, [%1]
      store %e, %z
      parallel_for begins=[%0], ends=[%n] (%i: i32) {
        %f = element_ptr %l, [%1]
        %a = load %f : f32
        %q = field_ptr @x[%i]
        store %q, %a
      }""",
    "the address of an element, made before": """
      %0 = const 0 : i32
      %1 = const 1 : i32
      %n = const 6 : i32
      %z = const 3.5 : f32
      %l = alloca : *f32x3
      %e = element_ptr %l, [%1]
      store %e, %z
      parallel_for begins=[%0], ends=[%n] (%i: i32) {
        %a = load %e : f32
        %q = field_ptr @x[%i]
        store %q, %a
      }""",
    "an address whose index was read": """
      %p = field_ptr @s[]
      %f = load %p : f32
      %k = cast %f : i32
      %r = field_ptr @x[%k]
      %one = const 1.0 : f32
      store %r, %one
      store %p, %one
      %0 = const 0 : i32
      %n = const 6 : i32
      parallel_for begins=[%0], ends=[%n] (%i: i32) {
        %a = load %r : f32
        %q = field_ptr @y[%i, %0]
        store %q, %a
      }""",
    "a local that a loop alone uses is a temporary": """
      %l = shared_local : *f32
      %0 = const 0 : i32
      %n = const 1 : i32
      parallel_for begins=[%0], ends=[%n] (%i: i32) {
        %q = field_ptr @x[%i]
        %a = load %q : f32
        %old = atomic xchg %l, %a : f32
        store %q, %a
      }""",
    "a shared local of a serial run is a local": """
      %l = shared_local : *f32
      %p = field_ptr @s[]
      %a = load %p : f32
      store %l, %a
      %b = load %l : f32
      %c = binary add %b, %a : f32
      store %p, %c""",
    "what nobody wants is gone": """
      %l = alloca : *f32
      %p = field_ptr @s[]
      %a = load %p : f32
      %0 = const 0 : i32
      %n = const 6 : i32
      %c = const 2.0 : f32
      parallel_for begins=[%0], ends=[%n] (%i: i32) {
        %q = field_ptr @x[%i]
        store %q, %c
      }""",
    "a random number is drawn once": """
      %r = random : i32
      %m = const 5 : i32
      %k = binary and %r, %m : i32
      %0 = const 0 : i32
      %n = const 6 : i32
      parallel_for begins=[%0], ends=[%n] (%i: i32) {
        %q = field_ptr @x[%i]
        %a = cast %k : f32
        store %q, %a
      }
      parallel_for begins=[%0], ends=[%n] (%j: i32) {
        %u = field_ptr @x[%j]
        %b = cast %k : f32
        store %u, %b
      }""",
    "the old value of an atomic": """
      %p = field_ptr @s[]
      %one = const 1.0 : f32
      %a = atomic add %p, %one : f32
      %0 = const 0 : i32
      %n = const 6 : i32
      parallel_for begins=[%0], ends=[%n] (%i: i32) {
        %q = field_ptr @x[%i]
        store %q, %a
      }""",
    "a long way to a value": "\n".join(
        [
            "%n = const 6 : i32",
            "%0 = const 0 : i32",
            "%p = field_ptr @s[]",
            "%v0 = load %p : f32",
            *(f"%v{k + 1} = unary {'neg' if k % 2 else 'sin'} %v{k} : f32" for k in range(26)),
            "parallel_for begins=[%0], ends=[%n] (%i: i32) {",
            "%q = field_ptr @x[%i]",
            "%a = binary add %v2, %v26 : f32",
            "store %q, %a",
            "}",
        ]
    ),
    "bounds of what was read, and of what was not": """
      %p = field_ptr @s[]
      %a = load %p : f32
      %k = cast %a : i32
      %0 = const 0 : i32
      %n = const 3 : i32
      %e = binary add %k, %n : i32
      store %p, %a
      parallel_for begins=[%0], ends=[%e] (%i: i32) {
        %q = field_ptr @x[%i]
        %f = cast %e : f32
        store %q, %f
      }""",
}


def test_the_indices_of_a_struct_for_are_as_wide_as_the_loops() -> None:
    text = """kernel @k() -> () {
      field @x: u8[8] tree=0 components=(0) terms=((0, 1, 8, 1)) offset=(4294967296) order=(0)
      struct_for @x (%i: i64) {
        %p = field_ptr @x[%i]
        %c = const 1 : u8
        store %p, %c
      }
    }"""
    made = transformed("offload", parse(text))
    (task,) = (op for op in made.body if isinstance(op, Task))
    assert [op.type for op in (*task.body.args, *(op for op in task.bounds if isinstance(op, Const)))] == [i64] * 3
    assert [op.value for op in task.body if isinstance(op, Const) and op.type is i64] == [2**32]


def test_text(golden: Callable[[str, str], None]) -> None:
    shown: list[str] = []
    for title, body in CASES.items():
        made = kernel(body)
        before = print_ir(made)
        shown.append(f"# {title}\n\n{before}\n# offload\n\n{print_ir(transformed('offload', made))}")
    golden("offload_values.txt", "\n\n".join(shown) + "\n")


@pytest.mark.parametrize("title", CASES)
def test_meaning(title: str) -> None:
    expected, got = run(kernel(CASES[title])), run(transformed("offload", kernel(CASES[title])))
    for what, value in expected.items():
        np.testing.assert_array_equal(got[what], value)
