"""Tasks of the run-time library that are compiled apart from the kernel (`ir/mapping/routines.py`)."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.mapping import for_cpu
from weft.ir.config import CompileConfig
from weft.ir.mapping.routines import Routine, routines_in
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, run_passes
from weft.ir.schedule import Privatized
from weft.ir.scopes import Scope
from weft.ir.tasks import tasks_of
from weft.ir.text import print_ir
from weft.ir.types import i32

FIELDS = """
  field @a: i32[8] tree=0 components=(64) terms=((0, 1, 8, 4)) order=(0)
  field @b: i32[8] tree=0 components=(96) terms=((0, 1, 8, 4)) order=(0)
  field @c: i32[8] tree=3 components=(0) terms=((0, 1, 8, 4)) order=(0)
  field @d: i32[8] tree=2 components=(32) terms=((0, 1, 8, 4)) order=(0)
  field @e: i32[8] tree=2 components=(64) terms=((0, 1, 8, 4)) order=(0)
  field @f: i32[8] tree=1 components=(4) terms=((0, 1, 8, 4)) order=(0)
"""


def sums(routine: str, one: str, two: str, three: str, temp: int, extra: str = "", size: int = 8) -> str:
    """Two tasks: the sum of field `one` goes into a temporary, and is added to field `two` where `three` is not 0."""
    return f"""
  task serial routine="{routine}" body {{
    %zero = const 0 : i32
    %one = const 1 : i32
    %size = const {size} : i32
    %sum = alloca : *i32
    store %sum, %zero
    for %zero, %size, %one (%i: i32) {{
      %p = field_ptr @{one}[%i] : *i32
      %v = load %p : i32
      %old = load %sum : i32
      %new = binary add %old, %v : i32
      store %sum, %new
    }}
    %all = load %sum : i32
    %t = temp_ptr offset={temp} : *i32
    store %t, %all
  }}
  task range_for routine="{routine}" bounds {{
    %begin = const 0 : i32
    %end = const 8 : i32
    yield begins=[%begin], ends=[%end]
  }} prologue {{
    %none = const 0 : i32
    %from = temp_ptr offset={temp} : *i32
    %add = load %from : i32
  }} body (%k: i32) {{
    %q = field_ptr @{three}[%k] : *i32
    %w = load %q : i32
    %some = binary ne %w, %none : u1
    {extra}
    if %some then {{
      %r = field_ptr @{two}[%k] : *i32
      %x = load %r : i32
      %y = binary add %x, %add : i32
      store %r, %y
    }}
  }}
"""


def mapped(*tasks: str, params: str = "", fields: str = FIELDS) -> Kernel:
    """A kernel of these tasks, for the CPU."""
    own = [re.sub(r"%(\w+)", rf"%k{number}_\1", text) for number, text in enumerate(tasks)]
    kernel = parse(f"kernel @k({params}) -> () temp_bytes=24 {{{fields}{''.join(own)}}}")
    return for_cpu(run_passes(kernel, TO_LOWERED, CompileConfig(), level="tasks"), CompileConfig())


def texts(found: list[Routine]) -> list[str]:
    return [print_ir(routine.kernel) for routine in found]


def test_routines_that_are_laid_out_alike_are_equal() -> None:
    found = routines_in(mapped(sums("x", "a", "b", "c", 0), sums("y", "d", "e", "f", 8)))
    assert [(one.first, one.count, one.trees, one.begins) for one in found] == [
        (0, 2, (0, 3), (64, 0)),
        (2, 2, (2, 1), (32, 4)),
    ]
    one, two = texts(found)
    assert one == two
    assert "field:a" not in one
    assert "temp_bytes=8" in one


@pytest.mark.parametrize(
    "other",
    [
        sums("y", "d", "e", "f", 8, size=7),  # another number
        sums("y", "d", "f", "e", 8),  # another place
        sums("y", "d", "d", "f", 8),  # the same memory
    ],
)
def test_other_routines_have_another_text(other: str) -> None:
    one, two = texts(routines_in(mapped(sums("x", "a", "b", "c", 0), other)))
    assert one != two


def test_tasks_of_the_program_between_them_divide_routines() -> None:
    tasks = [sums(name, "a", "b", "c", 8 * (name == "")) for name in ("x", "", "x")]
    assert [(one.first, one.count) for one in routines_in(mapped(tasks[0], tasks[1]))] == [(0, 2)]
    assert routines_in(mapped(tasks[1])) == []
    assert routines_in(mapped(*tasks)) == []  # the first one and the last one share a temporary


@pytest.mark.parametrize(
    ("extra", "params"),
    [
        ('assert %some, [%w], message="{}"', ""),
        ('print [%w], parts=("x"), types=(i32)', ""),
        ("%n = arg index=0 : i32\n%z = binary add %n, %w : i32\n store %q, %z", "n: i32"),
        ("%n = random : f32\n%z = cast %n : i32\n store %q, %z", ""),
    ],
)
def test_what_else_a_task_does_keeps_it_in_the_kernel(extra: str, params: str) -> None:
    extra = extra.replace('print [%w], parts=("x"), types=(i32)', 'print [], parts=("x")')
    assert routines_in(mapped(sums("x", "a", "b", "c", 0, extra), params=params)) == []


def test_a_temporary_of_others_keeps_it_in_the_kernel() -> None:
    later = """
  task serial body {
    %t = temp_ptr offset=0 : *i32
    %v = load %t : i32
    %0 = const 0 : i32
    %p = field_ptr @f[%0] : *i32
    store %p, %v
  }
"""
    assert len(routines_in(mapped(sums("x", "a", "b", "c", 0)))) == 1
    assert routines_in(mapped(sums("x", "a", "b", "c", 0), later)) == []


def test_a_temporary_of_several_words_keeps_it_in_the_kernel() -> None:
    task = """
  task serial routine="x" body {
    %t = temp_ptr offset=0 : *i32x2
    %1 = const 1 : i32
    %e = element_ptr %t, [%1] : *i32
    store %e, %1
  }
"""
    kernel = mapped(task)
    assert "offset=4" in print_ir(kernel)
    assert routines_in(kernel) == []


def test_private_copies_keep_it_in_the_kernel() -> None:
    kernel = mapped(sums("x", "a", "b", "c", 0))
    task = tasks_of(kernel)[1]
    copies = Privatized(Scope("field:b"), tree=0, low=96, words=8, kind="add", type=i32, reach=0)
    task.schedule = replace(task.schedule, privatized=(copies,))  # it names a tree of the kernel
    assert routines_in(kernel) == []


def test_an_exit_keeps_it_in_the_kernel() -> None:
    """It would end only the routine."""
    task = """
  task serial routine="x" body {
    %0 = const 0 : i32
    %p = field_ptr @f[%0] : *i32
    %v = load %p : i32
    %some = binary ne %v, %0 : u1
    if %some then {
      exit
    }
  }
"""
    assert routines_in(mapped(task)) == []
    assert len(routines_in(mapped(task.replace("exit", "store %p, %0")))) == 1


def test_schedules_name_the_trees_of_the_routine() -> None:
    task = """
  task serial routine="x" body {
    %0 = const 0 : i32
    %1 = const 1 : i32
    %p = field_ptr @d[%0] : *i32
    %q = field_ptr @e[%0] : *i32
    %r = field_ptr @e[%1] : *i32
    %v = load %p : i32
    store %q, %v
    %w = load %r : i32
    store %p, %w
  }
"""
    kernel = mapped(task)
    (found,) = routines_in(kernel)
    joined = [task.schedule.joined for one in (kernel, found.kernel) for task in tasks_of(one)]
    assert joined == [(2,), (0,)]
    assert found.trees == (2,)


def test_memory_that_may_overlap_others_makes_another_routine() -> None:
    one = mapped(sums("x", "a", "b", "c", 0))
    fields = FIELDS.replace("order=(0)", "order=(0) exposed=true", 1)
    two = mapped(sums("x", "a", "b", "c", 0), fields=fields)
    assert "exposed field:0" in texts(routines_in(two))[0]
    assert texts(routines_in(one)) != texts(routines_in(two))
