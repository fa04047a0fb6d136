"""Parallel loops under schedules that interleave their iterations, and what depends on such an order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft.ir.adversary import Schedule
from weft.ir.config import CompileConfig
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Fault, Memory
from weft.ir.ops import Kernel
from weft.ir.order_dependence import Level, order_dependence
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
        run_passes(made, TO_TASKS + TO_LOWERED, CONFIG, lambda name, k, changed, _: outcomes(k, "s").pop())
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


# ---- what depends on the order ---------------------------------------------------------------------------------------

BODIES: dict[str, tuple[str, dict[str, Level]]] = {
    "own elements": (
        """%p = field_ptr @x[%i]
        %v = load %p : f32
        %old = atomic add %p, %v : f32
        %q = field_ptr @n[%i]
        %k = cast %old : i32
        store %q, %k""",
        {},
    ),
    "a sum of integers": ("%p = field_ptr @s[]\n %old = atomic add %p, %i : i32", {}),
    "a sum of floats": (
        "%p = field_ptr @f[]\n %c = const 0.1 : f32\n %old = atomic add %p, %c : f32",
        {"f": Level.ROUNDING},
    ),
    "slots": (
        "%p = field_ptr @s[]\n %old = atomic add %p, %1 : i32\n %q = field_ptr @n[%old]\n store %q, %i",
        {"n": Level.SLOTS},
    ),
    "the slot itself": (
        "%p = field_ptr @s[]\n %old = atomic add %p, %1 : i32\n %q = field_ptr @n[%i]\n store %q, %old",
        {"n": Level.ORDER},
    ),
    "where the slot decides": (
        """%p = field_ptr @s[]
        %old = atomic add %p, %1 : i32
        %t = binary lt %old, %1 : u1
        if %t then {
          %q = field_ptr @n[%0]
          store %q, %i
        }""",
        {"n": Level.ORDER},
    ),
    "two kinds of atomics": (
        "%p = field_ptr @s[]\n %a = atomic add %p, %1 : i32\n %b = atomic max %p, %i : i32",
        {"s": Level.ORDER},
    ),
    "an exchange": ("%p = field_ptr @s[]\n %a = atomic xchg %p, %i : i32", {"s": Level.ORDER}),
    "sums and differences": (
        "%p = field_ptr @s[]\n %a = atomic add %p, %i : i32\n %b = atomic sub %p, %1 : i32",
        {},
    ),
    "a local of the iteration": (
        """%c = alloca : *i32
        store %c, %i
        %a = atomic add %c, %1 : i32
        %b = atomic xchg %c, %i : i32
        %v = load %c : i32
        %q = field_ptr @n[%i]
        store %q, %v""",
        {},
    ),
    "slots of values that depend on the order": (
        """%p = field_ptr @s[]
        %old = atomic add %p, %1 : i32
        %more = binary mul %old, %i : i32
        %q = field_ptr @n[%old]
        store %q, %more""",
        {"n": Level.ORDER},
    ),
    "slots that not all get": (
        """%p = field_ptr @s[]
        %old = atomic add %p, %1 : i32
        %t = binary lt %old, %1 : u1
        if %t then {
          %q = field_ptr @n[%old]
          store %q, %i
        }""",
        {"n": Level.ORDER},
    ),
    "the last of two constants": (
        """%p = field_ptr @s[]
        %t = binary lt %i, %1 : u1
        if %t then {
          store %p, %0, relaxed=true
        } orelse {
          store %p, %1, relaxed=true
        }""",
        {"s": Level.ORDER},
    ),
    "a read of a flag meanwhile": (
        """%p = field_ptr @s[]
        store %p, %1, relaxed=true
        %v = load %p : i32
        %q = field_ptr @n[%i]
        store %q, %v""",
        {"n": Level.ORDER},
    ),
    "rounds that the slot ends": (
        """%p = field_ptr @s[]
        %old = atomic add %p, %1 : i32
        for %0, %16, %1 (%k: i32) {
          %same = binary eq %k, %k : u1
          if %same then {
            %t = binary gt %old, %k : u1
            if %t then {
              break
            }
          }
          %q = field_ptr @n[%i]
          store %q, %k
        }""",
        {"n": Level.ORDER},
    ),
    "rounds that the iteration ends": (
        """%p = field_ptr @s[]
        %old = atomic add %p, %1 : i32
        for %0, %16, %1 (%k: i32) {
          %t = binary gt %k, %i : u1
          if %t then {
            break
          }
          %q = field_ptr @n[%i]
          store %q, %k
        }""",
        {},
    ),
    "as many rounds as the slot says": (
        """%p = field_ptr @s[]
        %old = atomic add %p, %1 : i32
        for %0, %old, %1 (%k: i32) {
          %q = field_ptr @n[%i]
          %a = atomic add %q, %1 : i32
        }""",
        {"n": Level.ORDER},
    ),
    "a read meanwhile": (
        """%p = field_ptr @s[]
        %a = atomic add %p, %1 : i32
        %v = load %p : i32
        %q = field_ptr @n[%i]
        store %q, %v""",
        {"n": Level.ORDER},
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_levels_of_one_loop(name: str):
    body, wanted = BODIES[name]
    made = kernel("parallel_for begins=[%0], ends=[%16] (%i: i32) {\n" + body + "\n}")
    found = order_dependence(made)
    assert {symbol.name: found.of(symbol) for symbol in made.fields if found.of(symbol)} == wanted
    for symbol in made.fields:
        if found.of(symbol) is Level.EXACT:
            assert len(outcomes(made, symbol.name)) == 1
        elif found.of(symbol) is Level.SLOTS:
            assert len({np.sort(run(made, Schedule(seed))[symbol.name]).tobytes() for seed in SEEDS}) == 1


def test_levels_spread_to_later_loops_and_results():
    made = parse(
        HEAD.replace("-> ()", "-> (f32, i32)")
        + """
      %sum = shared_local : *f32
      %zero = const 0.0 : f32
      store %sum, %zero
      parallel_for begins=[%0], ends=[%16] (%i: i32) {
        %p = field_ptr @x[%i]
        %v = load %p : f32
        %old = atomic add %sum, %v : f32
      }
      %mean = load %sum : f32
      parallel_for begins=[%0], ends=[%16] (%j: i32) {
        %p2 = field_ptr @x[%j]
        store %p2, %mean
        %t = binary gt %mean, %zero : u1
        if %t then {
          %q = field_ptr @n[%j]
          store %q, %j
        }
      }
      return [%mean, %0]
    }"""
    )
    found = order_dependence(made)
    levels = {symbol.name: found.of(symbol) for symbol in made.fields}
    assert levels == {"x": Level.ROUNDING, "n": Level.ORDER, "s": Level.EXACT, "f": Level.EXACT}
    assert found.results is Level.ROUNDING


def test_what_lies_in_slots_is_known_but_not_where():
    made = kernel("""
      parallel_for begins=[%0], ends=[%16] (%i: i32) {
        %p = field_ptr @s[]
        %old = atomic add %p, %1 : i32
        %q = field_ptr @n[%old]
        store %q, %i
      }
      parallel_for begins=[%0], ends=[%16] (%j: i32) {
        %r = field_ptr @n[%j]
        %v = load %r : i32
        %u = field_ptr @x[%j]
        %w = cast %v : f32
        store %u, %w
      }""")
    found = order_dependence(made)
    assert {symbol.name: found.of(symbol) for symbol in made.fields if found.of(symbol)} == {
        "n": Level.SLOTS,
        "x": Level.ORDER,
    }


def test_outside_of_loops_all_is_in_order():
    made = kernel("""
      %p = field_ptr @s[]
      %a = atomic add %p, %1 : i32
      %b = atomic max %p, %16 : i32
      %c = atomic xchg %p, %a : i32
      %q = field_ptr @n[%a]
      store %q, %c
      %r = load %p : i32
      print [%r], parts=("", ""), types=(i32)""")
    found = order_dependence(made)
    assert found.spaces == {}
    assert found.prints is Level.EXACT


PRINTS = {
    'print [%i], parts=("", ""), types=(i32)': Level.ORDER,
    "%p = field_ptr @n[%i]\n store %p, %i": Level.EXACT,
}


@pytest.mark.parametrize("body", PRINTS)
def test_loops_print_in_any_order(body: str):
    made = kernel("parallel_for begins=[%0], ends=[%16] (%i: i32) {\n" + body + "\n}")
    assert order_dependence(made).prints is PRINTS[body]


def test_an_uncertain_return_leaves_all_that_follows_uncertain():
    body = """
      parallel_for begins=[%0], ends=[%16] (%i: i32) {
        %f = field_ptr @f[]
        %c = const 0.1 : f32
        %old = atomic add %f, %c : f32
      }
      for %0, %16, %1 (%k: i32) {
        %g = field_ptr @f[]
        %v = load %g : f32
        %zero = const 0.5 : f32
        %t = binary gt %v, %zero : u1
        if %t then {
          JUMP
        }
      }
      %p = field_ptr @s[]
      store %p, %1"""
    for jump, level in (("return []", Level.ORDER), ("break", Level.EXACT)):
        made = kernel(body.replace("JUMP", jump))
        found = order_dependence(made)
        assert found.of(made.fields[2]) is level
        assert found.of(made.fields[1]) is Level.EXACT


def test_calls_in_loops_do_what_they_touch_in_any_order():
    body = """
      %before = invoke function=sum, [%1]TOUCHED : i32
      LOOP
        %v = invoke function=sum, [%1]TOUCHED : i32
        %p = field_ptr @n[%1]
        store %p, %v
      END"""
    loop, end = "parallel_for begins=[%0], ends=[%16] (%i: i32) {", "}"
    for touched in (", touched=(s)", ""):
        for opening, closing in ((loop, end), ("", "")):
            text = body.replace("TOUCHED", touched).replace("LOOP", opening).replace("END", closing)
            text = text.replace("%p = field_ptr @n[%1]", "%p = field_ptr @n[%i]") if opening else text
            made = kernel(text)
            found = order_dependence(made)
            level = Level.ORDER if touched and opening else Level.EXACT
            assert [found.of(made.fields[1]), found.of(made.fields[2])] == [level, level]


@pytest.mark.parametrize("how", ["store %flag, {}, relaxed=true", "%old = atomic xchg %flag, {} : i32"])
def test_flags_do_not_depend_on_the_order(how: str):
    body = """
      %flag = shared_local : *i32
      store %flag, %0
      parallel_for begins=[%0], ends=[%16] (%i: i32) {{
        %t = binary gt %i, %1 : u1
        if %t then {{
          HOW
        }}
      }}
      %v = load %flag : i32
      %p = field_ptr @s[]
      store %p, %v"""
    for value, level in (("%1", Level.EXACT), ("%i", Level.ORDER)):
        made = kernel(body.replace("HOW", how).format(value))
        assert order_dependence(made).of(made.fields[2]) is level
