"""What a loop keeps in registers: when a load moves before it, when a place becomes a local, and when neither may."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ir.test_task_passes import EXACT, kernel, range_for, transformed
from weft.ir.evaluate import Memory, evaluate
from weft.ir.memory_model import Fault
from weft.ir.ops import Alloca, For, Kernel, Load, Task, While
from weft.ir.text import print_ir

PARAMS = "n: i32, p: u1"
BEFORE = """
  %n = arg index=0 : i32
  %p = arg index=1 : u1
  %0 = const 0 : i32
  %1 = const 1 : i32
  %6 = const 6 : i32
  %down = const -1 : i32
  %one = const 1.0 : f32
  %x = field_ptr @x[%n]
  %x0 = field_ptr @x[%0]
  %s = field_ptr @s[]
"""
READ = "%a = load %x : f32\n%q = field_ptr @y[%n, %j]\nstore %q, %a"
TWICE = "%a = load %x : f32\n%b = load %x : f32\n%c = binary add %a, %b : f32\n%q = field_ptr @y[%n, %j]\nstore %q, %c"
SUM = "%a = load %s : f32\n%c = binary add %a, %one : f32\nstore %s, %c"
OWN = "%q = field_ptr @x[%i]\n%a = load %q : f32\n%c = binary add %a, %one : f32"
BESIDE = """%q0 = field_ptr @y[%0, %n]
%a = load %q0 : f32
%c = binary add %a, %one : f32
store %q0, %c
%q1 = field_ptr @y[%1, %n]
%r = field_ptr @y[%1, %j]"""


def loop(body: str, bounds: str = "%0, %6, %1") -> str:
    return f"for {bounds} (%j: i32) {{\n{body}\n}}"


# title: what a serial task does, and what becomes of the loads in its innermost loop
SERIAL = {
    "runs": (loop(READ), "before"),
    "one load for two": (loop(TWICE), "before"),
    "counts up over nothing": (loop(READ, "%6, %0, %1"), "stay"),
    "counts down": (loop(READ, "%6, %0, %down"), "before"),
    "counts down over nothing": (loop(READ, "%0, %6, %down"), "stay"),
    "may count up over nothing": (loop(READ, "%0, %n, %1"), "stay"),
    "may begin at the end": (loop(READ, "%n, %6, %1"), "stay"),
    "may count down": (loop(READ, "%0, %6, %n"), "stay"),
    "may count up": (loop(READ, "%6, %0, %n"), "stay"),
    "begins where it ends": (loop(READ, "%6, %6, %1"), "stay"),
    "begins where it ends, down": (loop(READ, "%6, %6, %down"), "stay"),
    "breaks before": (loop(f"if %p then {{\nbreak\n}}\n{READ}"), "stay"),
    "breaks after": (loop(f"{READ}\nif %p then {{\nbreak\n}}"), "before"),
    "goes on before": (loop(f"if %p then {{\ncontinue\n}}\n{READ}"), "stay"),
    "asserts before": (loop(f"assert %p, [], message=m\n{READ}"), "stay"),
    "under a condition": (loop(f"if %p then {{\n{READ}\n}}"), "stay"),
    "a while": ("while {\n%j = const 2 : i32\n" + READ + "\nbreak\n}", "local"),
    "a while that breaks before": (
        "while {\n%j = const 2 : i32\nif %p then {\nbreak\n}\n" + READ + "\nbreak\n}",
        "stay",
    ),
    "read before": (f"%z = load %x : f32\nstore %s, %z\n{loop(READ, '%0, %n, %1')}", "before"),
    "written before": (f"store %x, %one\n{loop(READ, '%0, %n, %1')}", "before"),
    "another place read before": (f"%z = load %x0 : f32\nstore %s, %z\n{loop(READ, '%0, %n, %1')}", "stay"),
    "read before, farther out": (
        f"%z = load %x : f32\nstore %s, %z\nif %p then {{\n{loop(READ, '%0, %n, %1')}\n}}",
        "before",
    ),
    "read before under a condition": (
        f"if %p then {{\n%z = load %x : f32\nstore %s, %z\n}}\n{loop(READ, '%0, %n, %1')}",
        "stay",
    ),
    "in range whether it runs or not": (loop(READ.replace("%x", "%x0"), "%0, %n, %1"), "before"),
    "written by the loop": (loop(f"{READ}\n%r = field_ptr @x[%j]\nstore %r, %one"), "stay"),
    "added to by the loop": (loop(f"{READ}\n%r = field_ptr @x[%j]\n%o = atomic add %r, %one : f32"), "stay"),
    "beside what moves": (loop(TWICE.replace("%b = load %x", "%r = field_ptr @x[%j]\n%b = load %r")), "part"),
    "moves": (loop("%r = field_ptr @x[%j]\n%a = load %r : f32\n%q = field_ptr @y[%n, %j]\nstore %q, %a"), "stay"),
    "a sum": (loop(SUM), "local"),
    "a sum under a condition": (loop(f"if %p then {{\n{SUM}\n}}"), "local"),
    "a sum, and an atomic": (loop(f"{SUM}\n%o = atomic add %s, %one : f32"), "stay"),
    "a sum, and an assertion": (loop(f"{SUM}\nassert %p, [], message=m"), "stay"),
    "a sum, and a break": (loop(f"{SUM}\nif %p then {{\nbreak\n}}"), "local"),
    "a place that may not be there": (loop(SUM.replace("%s", "%x"), "%0, %n, %1"), "stay"),
    "a place beside what is written": (loop(f"{SUM.replace('%s', '%x')}\n%r = field_ptr @x[%j]\nstore %r, %a"), "stay"),
    "one is a local, and what lies beside is read": (loop(f"{BESIDE}\n%b = load %q1 : f32\nstore %r, %b"), "part"),
    "one is a local, and what lies beside is updated": (
        loop(f"{BESIDE}\n%b = load %r : f32\nstore %q1, %b\n%d = load %q1 : f32\nstore %s, %d"),
        "part",
    ),
    "a place that another loop reads": (loop(READ) + "\n" + loop(SUM).replace("%j", "%k").replace("%a", "%b"), "local"),
}
# The same in a parallel loop.
PARALLEL = {
    "each its own": (loop(f"{OWN}\nstore %q, %c"), "local"),
    "each its own, under a condition": (loop(f"{OWN}\nif %p then {{\nstore %q, %c\n}}"), "local"),
    "of all, in each round": (loop(SUM), "local"),
    "of all, under a condition": (loop("%a = load %s : f32\nif %p then {\nstore %s, %one\n}"), "stay"),
    "of all, in a loop that may not run": (loop(SUM, "%0, %n, %1"), "stay"),
}


def outcome(made: Kernel) -> str:
    """What became of the loads in the first loop: whether they are before it, or locals took their place."""
    before = print_ir(made)
    (task,) = (op for op in transformed("cache_invariant", made).walk() if isinstance(op, Task))
    if print_ir(made) == before:
        return "stay"
    first = next(op for op in task.walk() if isinstance(op, (For, While)))
    inside = [op for op in first.walk() if isinstance(op, Load) and not isinstance(op.ptr, Alloca)]
    if inside:
        return "part"
    return "local" if any(isinstance(op, Alloca) for op in task.walk()) else "before"


def left(made: Kernel, *given: Any) -> dict[str, np.ndarray] | None:
    """What is in the fields when it has run; None where it raises."""
    memory = Memory.of(made.fields)
    for symbol in made.fields:
        memory.write(symbol, np.arange(memory.read(symbol).size).reshape(memory.read(symbol).shape) + 1)
    try:
        evaluate(made, list(given), memory, EXACT)
    except Fault:
        return None
    return {symbol.name: memory.read(symbol) for symbol in made.fields}


@pytest.mark.parametrize(
    ("kind", "title"), [("serial", one) for one in SERIAL] + [("parallel", one) for one in PARALLEL]
)
def test_loops(kind: str, title: str) -> None:
    body, expected = (SERIAL if kind == "serial" else PARALLEL)[title]
    body = BEFORE + body
    text = f"task serial body {{\n{body}\n}}" if kind == "serial" else range_for(body)
    assert outcome(kernel(text, PARAMS)) == expected
    for given in ((1, False), (1, True), (0, True), (99, False), (-99, True)):
        want = left(kernel(text, PARAMS), *given)
        if want is not None:
            got = left(transformed("cache_invariant", kernel(text, PARAMS)), *given)
            assert got is not None
            for name, value in want.items():
                np.testing.assert_array_equal(got[name], value)
