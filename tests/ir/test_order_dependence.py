"""What is said to depend on the order of iterations, and that nothing else does."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ir.test_adversary import HEAD, SEEDS, kernel, outcomes, run
from tests.order_dependence import Level, order_dependence
from weft.ir.adversary import Schedule
from weft.ir.alias import space_of_array
from weft.ir.ops import Arg
from weft.ir.parse import parse

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
          %r = field_ptr @x[%k]
          %v = load %r : f32
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


SUM_READ = """kernel @read() -> (i32) {
  field @s: i32 tree=2 components=(0)
  %p = field_ptr @s[]
  %v = load %p : i32
  PRINT
  return [%v]
}"""


@pytest.mark.parametrize("prints", ["", 'print [%v], parts=("", ""), types=(i32)'])
@pytest.mark.parametrize("updates", ["%old = atomic add %p, %1 : i32", ""])
def test_calls_in_loops_print_and_read_in_any_order(prints: str, updates: str):
    read = parse(SUM_READ.replace("PRINT", prints))
    made = kernel(f"""
      parallel_for begins=[%0], ends=[%16] (%i: i32) {{
        %p = field_ptr @s[]
        {updates}
        %v = invoke function=read, [] : i32
        %q = field_ptr @n[%i]
        store %q, %v
      }}""")
    found = order_dependence(made, [read])
    assert found.prints is (Level.ORDER if prints else Level.EXACT)
    assert found.of(made.fields[1]) is (Level.ORDER if updates else Level.EXACT)
    assert (len(outcomes(made, "n", [read])) > 1) is bool(updates)
    unknown = order_dependence(made)
    assert unknown.prints is Level.ORDER
    assert unknown.of(made.fields[1]) is found.of(made.fields[1])


def test_calls_read_what_their_functions_name():
    made = kernel("""
      parallel_for begins=[%0], ends=[%16] (%i: i32) {
        %p = field_ptr @s[]
        %old = atomic add %p, %1 : i32
        %v = invoke function=read, [] : i32
        %q = field_ptr @n[%i]
        store %q, %v
      }""")
    other = (
        SUM_READ.replace("@s: i32", "@f: f32").replace("@s", "@f").replace("%v = load %p : i32", "%w = load %p : f32")
    )
    other = other.replace("PRINT", "%v = cast %w : i32\nTHEN")
    again = other.replace("THEN", "%u = invoke function=read, [] : i32")
    inner = SUM_READ.replace("PRINT", "").replace("@read", "@inner")
    for functions, level in (
        ([parse(other.replace("THEN", ""))], Level.EXACT),
        ([parse(again)], Level.EXACT),  # it calls itself
        ([parse(again.replace("function=read", "function=inner")), parse(inner)], Level.ORDER),
        ([parse(again.replace("function=read", "function=inner"))], Level.ORDER),  # which is not known
        ([], Level.ORDER),
    ):
        assert order_dependence(made, functions).of(made.fields[1]) is level


@pytest.mark.parametrize("update", ["%old = atomic add %p, %1 : i32", ""])
@pytest.mark.parametrize("touched", [", touched=(a)", ""])
def test_calls_read_and_write_the_arrays_that_they_are_given(update: str, touched: str):
    read = parse("kernel @read(a: [i32; 1]) -> (i32) {\n%v = const 1 : i32\nreturn [%v]\n}")
    made = parse(
        HEAD.replace("@k()", "@k(a: [i32; 1])")
        + f"""
      %a = arg index=0 : [i32; 1]
      parallel_for begins=[%0], ends=[%16] (%i: i32) {{
        %p = array_ptr %a[%0] : *i32
        {update}
        %v = invoke function=read, [%a]{touched} : i32
        %q = field_ptr @n[%i]
        store %q, %v
      }}
    }}"""
    )
    found = order_dependence(made, [read])
    (array,) = [op for op in made.body if isinstance(op, Arg)]
    assert found.of(space_of_array(array)) is (Level.ORDER if touched else Level.EXACT)
    assert found.of(made.fields[1]) is (Level.ORDER if touched or update else Level.EXACT)


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
