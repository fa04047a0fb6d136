"""Parallel loops under schedules that interleave their iterations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft.ir.adversary import Schedule
from weft.ir.config import CompileConfig
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Fault, Memory
from weft.ir.ops import FieldPtr, Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes

CONFIG = CompileConfig(fast_math=False)
SEEDS = range(12)
HEAD = """\
kernel @k() -> () {
  field @x: f32[16] tree=0 components=(0) terms=((0, 1, 16, 4)) order=(0)
  field @n: i32[16] tree=1 components=(0) terms=((0, 1, 16, 4)) order=(0)
  field @s: i32 tree=2 components=(0)
  field @f: f32 tree=3 components=(0)
  %0 = const 0 : i32
  %1 = const 1 : i32
  %16 = const 16 : i32
"""


def kernel(body: str) -> Kernel:
    return parse(HEAD + body + "\n}\n")


def run(made: Kernel, schedule: Schedule | None = None, functions: Any = ()) -> dict[str, Any]:
    memory = Memory.of(made.fields)
    memory.write(made.fields[0], np.arange(16) * 0.37)
    evaluate(made, [], memory, CONFIG, functions=functions, schedule=schedule)
    return {symbol.name: memory.read(symbol) for symbol in made.fields}


def outcomes(made: Kernel, name: str, functions: Any = ()) -> set[bytes]:
    """What a field may hold in the end."""
    return {run(made, schedule, functions)[name].tobytes() for schedule in (None, *map(Schedule, SEEDS))}


LOST = kernel("""
  parallel_for begins=[%0], ends=[%16] (%i: i32) {
    %p = field_ptr @s[]
    %old = load %p : i32
    %new = binary add %old, %1 : i32
    store %p, %new
  }""")
KEPT = kernel("""
  parallel_for begins=[%0], ends=[%16] (%i: i32) {
    %p = field_ptr @s[]
    %old = atomic add %p, %1 : i32
    %q = field_ptr @n[%old]
    store %q, %i
  }""")
IN_LOOPS = kernel("""
  struct_for @x (%i: i32) {
    %l = alloca : *i32
    store %l, %0
    for %0, %i, %1 (%j: i32) {
      while {
        %p = field_ptr @s[]
        %k = load %l : i32
        %m = binary add %k, %1 : i32
        store %l, %m
        %t = binary gt %m, %1 : u1
        if %t then {
          store %l, %0
          break
        } orelse {
          %old = atomic add %p, %1 : i32
        }
      }
    }
  }""")


def test_lost_updates_show():
    assert len(outcomes(LOST, "s")) > 1
    assert run(LOST)["s"] == 16


def test_atomics_are_whole():
    assert outcomes(KEPT, "s") == {np.int32(16).tobytes()}
    assert len(outcomes(KEPT, "n")) > 1
    for seed in SEEDS:
        np.testing.assert_array_equal(np.sort(run(KEPT, Schedule(seed))["n"]), np.arange(16))


def test_loops_and_branches_in_steps():
    assert outcomes(IN_LOOPS, "s") == {np.int32(120).tobytes()}


def test_every_level_of_the_ir():
    """The same under the adversary at each stage of the pipelines."""
    for source in (KEPT, IN_LOOPS):
        made = source.clone({})
        assert isinstance(made, Kernel)
        run_passes(made, TO_TASKS + TO_LOWERED, CONFIG, lambda name, k, changed, *_: outcomes(k, "s").pop())
        assert outcomes(made, "s") == outcomes(source, "s")


def test_random_numbers_belong_to_their_iteration():
    made = kernel("""
      parallel_for begins=[%0], ends=[%16] (%i: i32) {
        %a = random stream=1 : f32
        %p = field_ptr @x[%i]
        store %p, %a
        %b = random stream=1 : f32
        %old = atomic add %p, %b : f32
      }""")
    assert len(outcomes(made, "x")) == 1


FUNCTION = parse("""\
kernel @sum(k: i32) -> (i32) called=true {
  field @s: i32 tree=2 components=(0)
  %0 = const 0 : i32
  %1 = const 1 : i32
  %k = arg index=0 : i32
  %p = field_ptr @s[]
  %old = atomic add %p, %1 : i32
  %t = binary le %k, %0 : u1
  if %t then {
    return [%0]
  } orelse {
    %less = binary sub %k, %1 : i32
    %rest = invoke function=sum, [%less], touched=(s) : i32
    %more = arg index=0 : i32
    %all = binary add %rest, %more : i32
    return [%all]
  }
}
""")
CALLS = kernel("""
  parallel_for begins=[%0], ends=[%16] (%i: i32) {
    %v = invoke function=sum, [%i], touched=(s) : i32
    %p = field_ptr @n[%i]
    store %p, %v
  }""")


def test_calls_have_frames_of_their_own():
    i = np.arange(16)
    for seed in SEEDS:
        found = run(CALLS, Schedule(seed), [FUNCTION])
        np.testing.assert_array_equal(found["n"], i * (i + 1) // 2)
        assert found["s"] == (i + 1).sum()


def test_each_thread_has_its_prologue_and_epilogue():
    made = parse(
        HEAD.split("  %0 =")[0]
        + """
      task range_for bounds {
        %0 = const 0 : i32
        %16 = const 16 : i32
        yield begins=[%0], ends=[%16]
      } prologue {
        %sum = alloca : *i32
        %zero = const 0 : i32
        store %sum, %zero
        %p = field_ptr @s[]
      } body (%i: i32) {
        %old = load %sum : i32
        %new = binary add %old, %i : i32
        store %sum, %new
      } epilogue {
        %all = load %sum : i32
        %before = atomic add %p, %all : i32
      }
    }"""
    )
    assert outcomes(made, "s") == {np.int32(120).tobytes()}


def test_faults_and_limits_are_those_of_any_order():
    made = kernel("""
      parallel_for begins=[%0], ends=[%16] (%i: i32) {
        %t = binary lt %i, %1 : u1
        assert %t, [], message="no"
      }""")
    with pytest.raises(Fault, match="no"):
        run(made, Schedule(1))
    endless = kernel("parallel_for begins=[%0], ends=[%16] (%i: i32) {\n while {\n }\n }")
    with pytest.raises(Fault, match="too many"):
        evaluate(endless, [], Memory.of(endless.fields), CONFIG, limit=1000, schedule=Schedule(1))


def test_an_empty_loop():
    made = kernel("parallel_for begins=[%1], ends=[%0] (%i: i32) {\n %p = field_ptr @s[]\n store %p, %i\n }")
    assert outcomes(made, "s") == {np.int32(0).tobytes()}


@pytest.mark.parametrize("stage", [(), TO_TASKS, TO_TASKS + TO_LOWERED])
def test_functions_are_interleaved_at_every_level(stage: tuple[str, ...]) -> None:
    """What a function loads and stores meets what others do, before and after it is lowered to a task."""
    text = """  parallel_for begins=[%0], ends=[%16] (%i: i32) {
    invoke function=add, [], touched=(s)
  }"""
    caller = kernel(text)
    add = parse(
        HEAD.replace("@k() -> ()", "@add() -> () called=true")
        + """  %p = field_ptr @s[]
  %old = load %p : i32
  %new = binary add %old, %1 : i32
  store %p, %new
}
"""
    )
    add.fields = caller.fields
    for op in add.walk():
        if isinstance(op, FieldPtr):
            op.field = next(symbol for symbol in caller.fields if symbol.name == "s")
    assert len(outcomes(caller, "s", [run_passes(add, stage, CONFIG)])) > 1
