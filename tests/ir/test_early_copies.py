"""Copies of tasks with float arithmetic: what they round as the task does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ir.test_activate_ahead import tree as cells
from tests.ir.test_count_appends import QUICK, counting, tree
from tests.ir.test_sparse_lowering import kernel_of
from tests.sampling import every
from weft.ir.errors import CompilationError
from weft.ir.ops import FieldPtr
from weft.ir.pipeline import TO_TASKS, run_passes
from weft.ir.tasks import parallel_tasks

LOOP = """
%many = const 2000 : i32
%half = const 0.5 : f32
%wide_half = const 0.5 : f64
parallel_for begins=[%0], ends=[%many] (%i: i32) {{
  %m = binary raw_mod %i, %9 : i32
  %kp = field_ptr @k[%m] : *i32
  %key = load %kp : i32
  %real = cast %key : f32
  %odd = binary eq %m, %3 : u1
  %local = alloca : *f32
  store %local, %real
  {}
  %t = cast %u : i32
  %j = binary and %t, %1 : i32
  {}
}}"""
SAME = {
    "a number": "%u = select %odd, %real, %half : f32",
    "one product": "%u = binary mul %real, %half : f32",
    "one sum, rounded to an integer, and a product": (
        "%a = binary add %real, %half : f32\n%b = unary floor %a : f32\n%u = binary mul %b, %half : f32"
    ),
    "the smallest of sums": (
        "%a = binary add %real, %half : f32\n%b = binary sub %real, %half : f32\n%c = binary min %a, %b : f32\n"
        "%u = unary neg %c : f32"
    ),
    "a wider number": "%a = cast %real : f64\n%u = binary mul %a, %wide_half : f64",
    "a comparison of products": (
        "%a = binary mul %real, %half : f32\n%b = binary mul %real, %real : f32\n"
        "%c = binary lt %a, %b : u1\n%u = cast %c : i32"
    ),
}
OTHER = {
    "a sum of a product": "%a = binary mul %real, %half : f32\n%u = binary add %a, %real : f32",
    "a product of a product": "%a = binary mul %real, %half : f32\n%u = binary mul %real, %a : f32",
    "a quotient": "%u = binary raw_div %half, %real : f32",
    "a power": "%u = binary pow %half, %real : f32",
    "a root": "%u = unary sqrt %real : f32",
    "a sine": "%u = unary sin %real : f32",
    "a product of the smaller of products": (
        "%a = binary mul %real, %half : f32\n%b = binary min %a, %real : f32\n%u = binary sub %b, %real : f32"
    ),
    "a sum of a selected product": (
        "%a = binary mul %real, %half : f32\n%b = select %odd, %a, %real : f32\n%u = binary sub %real, %b : f32"
    ),
    "a sum of a negative product": (
        "%a = binary mul %real, %half : f32\n%b = unary neg %a : f32\n%u = binary sub %real, %b : f32"
    ),
    "a wider sum": ("%a = binary add %real, %half : f32\n%b = cast %a : f64\n%u = binary sub %wide_half, %b : f64"),
    "a narrow product": (
        "%a = cast %key : f64\n%b = binary mul %a, %wide_half : f64\n%c = cast %b : f32\n%u = unary floor %c : f32"
    ),
    "a sum in a local": (
        "%a = binary mul %real, %half : f32\nif %odd then { store %local, %a }\n%b = load %local : f32\n"
        "%u = binary sub %real, %b : f32"
    ),
}
APPEND = "%n = append @D0[%j]\n%p = field_ptr @x[%j, %n] : *i32\nstore %p, %i"
WRITE = "%p = field_ptr @x[%j] : *i32\n%o = atomic add %p, %i : i32"


@pytest.mark.parametrize("case", every(3, [*SAME, *OTHER]))
def test_appends_are_counted_if_the_copy_rounds_as_the_task(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = LOOP.format((SAME | OTHER)[case], APPEND)
    for fast in (False, True):
        monkeypatch.setattr("tests.ir.test_count_appends.QUICK", replace(QUICK, fast_math=fast))
        same = case in SAME or not fast
        assert counting(tree(ordered=False), text) == (3 if same else 0)
        if not same:
            with pytest.raises(CompilationError, match=r"float arithmetic.*ti\.init\(fast_math=False\)"):
                counting(tree(), text)


@pytest.mark.parametrize("case", every(3, [*SAME, *OTHER]))
def test_writes_activate_their_cells_themselves_if_the_copy_may_round_otherwise(case: str) -> None:
    text = LOOP.format((SAME | OTHER)[case], WRITE)
    for fast in (False, True):
        kernel = kernel_of(cells(), text)
        run_passes(kernel, TO_TASKS[: TO_TASKS.index("lower_sparse")], replace(QUICK, fast_math=fast))
        written = [op for op in parallel_tasks(kernel)[-1].all_of(FieldPtr) if op.field.name == "x"]
        assert [op.active for op in written] == [case in SAME or not fast]
