"""The passes that cut a kernel into tasks and work on tasks: what each makes of small kernels, as whole texts.

Each case is a kernel; the golden file of a pass shows every case before and after it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests.generate import Program, chi_kernels
from tests.ir.test_passes_agree import check
from tests.sampling import draws
from weft.ir.config import CompileConfig
from weft.ir.evaluate import Memory, evaluate
from weft.ir.ops import Address, Atomic, Kernel, Load, Task
from weft.ir.parse import parse
from weft.ir.pipeline import LEVEL_AFTER, find_pass
from weft.ir.text import print_ir
from weft.ir.verify import verify

EXACT = CompileConfig(fast_math=False)
FIELDS = {
    "x": "field @x: f32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) order=(0)",
    "y": "field @y: f32[8, 6] tree=0 components=(32) terms=((0, 1, 8, 24), (1, 1, 6, 4)) order=(0, 1)",
    "s": "field @s: f32 tree=1 components=(0)",
    "v": "field @v: f32x3[8] tree=2 components=(0, 4, 8) terms=((0, 1, 8, 12)) offset=(-2) order=(0)",
    "w": "field @w: f32x3[8] tree=2 components=(96, 200, 232) terms=((0, 1, 8, 4)) order=(0)",
    "u": "field @u: f32x3[8] tree=5 components=(0, 32, 64) terms=((0, 1, 8, 4)) order=(0)",
    "blocked": "field @blocked: i32[4, 12] tree=3 components=(0)"
    " terms=((0, 1, 4, 16), (1, 4, 3, 64), (1, 1, 4, 4)) offset=(0, 1) order=(0, 1)",
    "column": "field @column: i32[3, 5] tree=4 components=(0) terms=((1, 1, 5, 12), (0, 1, 3, 4)) offset=(0, -1)"
    " order=(1, 0)",
}


def kernel(body: str, params: str = "", results: str = "") -> Kernel:
    fields = "\n".join(line for name, line in FIELDS.items() if f"@{name}" in body)
    made = parse(f"kernel @k({params}) -> ({results}) {{\n{fields}\n{body}\n}}")
    verify(made, "tasks" if "task " in body else "chi")
    return made


def range_for(body: str, box: str = "0 8", args: str = "%i: i32", prologue: str = "") -> str:
    """The text of a task over a box: `box` holds begins, then ends."""
    numbers = box.split()
    half = len(numbers) // 2
    index = "i64" if "i64" in args else "i32"
    consts = "\n".join(f"%b{k} = const {n} : {index}" for k, n in enumerate(numbers))
    begins, ends = (", ".join(f"%b{k}" for k in part) for part in (range(half), range(half, 2 * half)))
    return f"""task range_for bounds {{
      {consts}
      yield begins=[{begins}], ends=[{ends}]
    }} prologue {{ {prologue} }} body ({args}) {{
      {body}
    }} epilogue {{ }}"""


OFFLOAD = {
    "constants are cloned, a task for each loop": """
      %0 = const 0 : i32
      %n = const 6 : i32
      %c = const 1.5 : f32
      parallel_for begins=[%0], ends=[%n] (%i: i32) {
        %p = field_ptr @x[%i]
        store %p, %c
      }
      parallel_for begins=[%0, %0], ends=[%n, %n] (%k: i32, %j: i32) {
        %q = field_ptr @y[%k, %j]
        store %q, %c
      }""",
    "a value that may change crosses in a temporary": """
      %p = field_ptr @s[]
      %a = load %p : f32
      %n = cast %a : i32
      %0 = const 0 : i32
      parallel_for begins=[%0], ends=[%n] (%i: i32) {
        %q = field_ptr @x[%i]
        store %q, %a
        store %p, %a
      }
      store %p, %a""",
    "a value that no one writes is read again": """
      %p = field_ptr @s[]
      %a = load %p : f32
      %n = cast %a : i32
      %0 = const 0 : i32
      parallel_for begins=[%0], ends=[%n] (%i: i32) {
        %q = field_ptr @x[%i]
        store %q, %a
      }""",
    "a local of several tasks, added to in parallel": """
      %0 = const 0 : i32
      %n = const 8 : i32
      %z = const 0.0 : f32
      %sum = shared_local : *f32
      store %sum, %z
      parallel_for begins=[%0], ends=[%n] (%i: i32) {
        %p = field_ptr @x[%i]
        %v = load %p : f32
        %old = atomic add %sum, %v : f32
      }
      %t = load %sum : f32
      %r = field_ptr @s[]
      store %r, %t""",
    "a local of one later task moves there": """
      %l = alloca : *i32
      %0 = const 0 : i32
      struct_for @column (%i: i32, %j: i32) {
        %p = field_ptr @column[%i, %j]
        store %p, %j
      }
      store %l, %0
      %v = load %l : i32
      %q = field_ptr @column[%v, %v]
      store %q, %v""",
    "a struct-for over no axes": """
      struct_for @s () {
        %p = field_ptr @s[]
        %c = const 2.0 : f32
        store %p, %c
      }""",
}

FLAG_ACCESS = {
    "read, written, both": range_for(
        """%p = field_ptr @x[%i]
        %a = load %p : f32
        %q = field_ptr @s[]
        %b = load %q : f32
        %old = atomic add %q, %a : f32"""
    ),
}

ATOMICS = {
    "x[i] += x[i]": range_for(
        """%p = field_ptr @x[%i]
        %a = load %p : f32
        %old = atomic add %p, %a : f32"""
    ),
    "truth values: their sum stays": range_for(
        """%t = alloca : *u1
        %a = binary lt %i, %i : u1
        store %t, %a
        %sum = atomic add %t, %a : u1
        %any = atomic or %t, %a : u1"""
    ),
    "elements of a strided array may overlap: stays": range_for(
        """%1 = arg index=2 : [f32; 1 strided]
        %a = const 1.0 : f32
        %q = array_ptr %1, [%i]
        %old = atomic add %q, %a : f32"""
    ),
    "a step, counted in trips that surely fit": range_for(
        """%3 = const 3 : i32
        %t = cast %i : i32
        %j = binary mul %t, %3 : i32
        %p = field_ptr @x[%j]
        %a = load %p : f32
        %old = atomic add %p, %a : f32""",
        "0 3",
        "%i: i64",
    ),
    "an exchange whose old value nobody wants": range_for(
        """%p = field_ptr @s[]
        %a = const 1.0 : f32
        %old = atomic xchg %p, %a : f32"""
    ),
    "x[i + 1] is read beside x[i]": range_for(
        """%1 = const 1 : i32
        %p = field_ptr @x[%i]
        %j = binary add %i, %1 : i32
        %q = field_ptr @x[%j]
        %a = load %q : f32
        %old = atomic add %p, %a : f32""",
        "0 7",
    ),
    "x[i + 1] is written beside x[i]: stays": range_for(
        """%1 = const 1 : i32
        %p = field_ptr @x[%i]
        %j = binary add %i, %1 : i32
        %q = field_ptr @x[%j]
        %a = load %p : f32
        store %q, %a
        %old = atomic add %p, %a : f32""",
        "0 7",
    ),
    "one index of two covered: stays": range_for(
        """%p = field_ptr @x[%i]
        %a = const 1.0 : f32
        %old = atomic add %p, %a : f32""",
        "0 0 8 6",
        "%i: i32, %j: i32",
    ),
    "rows of one's own": range_for(
        """%a = const 1.0 : f32
        %0 = const 0 : i32
        %1 = const 1 : i32
        %6 = const 6 : i32
        for %0, %6, %1 (%j: i32) {
          %p = field_ptr @y[%i, %j]
          %old = atomic max %p, %a : f32
          store %p, %old
        }"""
    ),
}

REDUCTIONS = {
    "a sum and a difference": range_for(
        """%p = field_ptr @s[]
        %q = field_ptr @x[%i]
        %a = load %q : f32
        %o1 = atomic add %p, %a : f32
        %o2 = atomic sub %p, %a : f32"""
    ),
    "a whole vector, its place from the body": range_for(
        """%2 = const 2 : i32
        %p = field_ptr @v[%2]
        %q = field_ptr @w[%i]
        %a = load %q : f32x3
        %o = atomic min %p, %a : f32x3"""
    ),
    "the old value is wanted: stays": range_for(
        """%p = field_ptr @s[]
        %a = const 1.0 : f32
        %o = atomic add %p, %a : f32
        %q = field_ptr @x[%i]
        store %q, %o"""
    ),
    "read besides: stays": range_for(
        """%p = field_ptr @s[]
        %a = load %p : f32
        %o = atomic add %p, %a : f32"""
    ),
    "a sum and a maximum of one place: stay": range_for(
        """%p = field_ptr @s[]
        %q = field_ptr @x[%i]
        %a = load %q : f32
        %o1 = atomic add %p, %a : f32
        %o2 = atomic max %p, %a : f32"""
    ),
    "a local of each iteration: stays": range_for(
        """%t = alloca : *f32
        %a = const 1.0 : f32
        store %t, %a
        %q = field_ptr @x[%i]
        %o = atomic add %t, %a : f32"""
    ),
}

CACHE = {
    "to the prologue": range_for(
        """%p = field_ptr @s[]
        %a = load %p : f32
        %q = field_ptr @x[%i]
        store %q, %a"""
    ),
    "an accumulator, a row's element and one that the loop writes": range_for(
        """%0 = const 0 : i32
        %1 = const 1 : i32
        %6 = const 6 : i32
        for %0, %6, %1 (%j: i32) {
          %p = field_ptr @x[%i]
          %old = load %p : f32
          %q = field_ptr @y[%i, %j]
          %a = load %q : f32
          %r = field_ptr @s[]
          %k = load %r : f32
          %ak = binary mul %a, %k : f32
          %new = binary add %old, %ak : f32
          store %p, %new
        }"""
    ),
    "maybe out of range, maybe not run: stays": range_for(
        """%0 = const 0 : i32
        %1 = const 1 : i32
        %n = arg index=0 : i32
        %p = field_ptr @x[%n]
        for %0, %n, %1 (%j: i32) {
          %a = load %p : f32
          %q = field_ptr @y[%i, %j]
          store %q, %a
        }"""
    ),
    "the loop surely runs": range_for(
        """%0 = const 0 : i32
        %1 = const 1 : i32
        %6 = const 6 : i32
        %n = arg index=0 : i32
        %p = field_ptr @x[%n]
        for %0, %6, %1 (%j: i32) {
          %a = load %p : f32
          %q = field_ptr @y[%i, %j]
          store %q, %a
        }"""
    ),
}

ACCESS = {
    "a stencil": range_for(
        """%1 = const 1 : i32
        %i1 = binary sub %i, %1 : i32
        %j1 = binary add %j, %1 : i32
        %p = field_ptr @y[%i1, %j1]
        %a = load %p : f32
        %q = field_ptr @y[%i, %j]
        store %q, %a""",
        "1 1 7 5",
        "%i: i32, %j: i32",
    ),
    "components: chosen at compile time, evenly spaced, and neither": range_for(
        """%1 = const 1 : i32
        %2 = const 2 : i32
        %k = arg index=0 : i32
        %p = field_ptr @v[%i]
        %p1 = element_ptr %p, [%1]
        %a = load %p1 : f32
        %p2 = element_ptr %p, [%2]
        store %p2, %a
        %q = field_ptr @w[%i]
        %qk = element_ptr %q, [%k]
        store %qk, %a
        %u = field_ptr @u[%i]
        %uk = element_ptr %u, [%k]
        store %uk, %a""",
        "0 6",
    ),
    "blocks": range_for(
        """%p = field_ptr @blocked[%i, %j]
        %a = load %p : i32
        %0 = const 0 : i32
        %7 = const 7 : i32
        %q = field_ptr @blocked[%0, %7]
        store %q, %a""",
        "0 1 4 13",
        "%i: i32, %j: i32",
    ),
    "an inner loop becomes i64": range_for(
        """%1 = const 1 : i32
        %2 = const 2 : i32
        %a = const 1.0 : f32
        %low = binary sub %i, %1 : i32
        %high = binary add %i, %2 : i32
        for %low, %high, %1 (%k: i32) {
          %p = field_ptr @x[%k]
          store %p, %a
        }""",
        "1 7",
    ),
    "a local indexed at run time, and temporaries": """task serial bounds { } prologue { } body {
        %l = alloca : *f32x3
        %n = arg index=0 : i32
        %e = element_ptr %l, [%n]
        %t = temp_ptr offset=8 : *f32
        %a = load %t : f32
        store %e, %a
      } epilogue { }""",
}
ARRAYS = range_for(
    """%0 = arg index=1 : [f32x3; 2]
    %1 = arg index=2 : [f32; 1 strided]
    %n = array_shape %0, axis=1
    %n1 = binary sub %n, %i : i32
    %1c = const 1 : i32
    %k = binary sub %n1, %1c : i32
    %two = const 2 : i32
    %p = array_ptr %0, [%i, %k]
    %e = element_ptr %p, [%two]
    %a = load %e : f32
    %q = array_ptr %1, [%i]
    store %q, %a"""
)

GOLDEN = {
    "offload": OFFLOAD,
    "flag_access": FLAG_ACCESS | {"arrays": ARRAYS},
    "demote_atomics": ATOMICS,
    "thread_local": REDUCTIONS,
    "cache_invariant": CACHE,
    "lower_access": ACCESS | {"arrays": ARRAYS},
}


def transformed(name: str, made: Kernel, before: tuple[str, ...] = ()) -> Kernel:
    for each in (*before, name):
        text = print_ir(made)
        assert find_pass(each)(made, EXACT) == (print_ir(made) != text), (
            f"{each} does not say that it changed something"
        )
        verify(made, "lowering" if each == "lower_access" else LEVEL_AFTER.get(each, "tasks"))
    assert not find_pass(name)(made, EXACT) or name == "lower_access"
    return made


@pytest.mark.parametrize("name", GOLDEN)
def test_text(name, golden):
    shown = []
    for title, body in GOLDEN[name].items():
        made = kernel(body, "n: i32, a: [f32x3; 2], b: [f32; 1 strided]" if " arg index" in body else "")
        before = print_ir(made)
        shown.append(f"# {title}\n\n{before}\n# {name}\n\n{print_ir(transformed(name, made))}")
    golden(f"{name}.txt", "\n\n".join(shown) + "\n")


def run(made: Kernel, *args) -> dict[str, np.ndarray]:
    memory = Memory.of(made.fields)
    for symbol in made.fields:
        size = memory.read(symbol).size
        memory.write(symbol, np.arange(size).reshape(memory.read(symbol).shape) + 1)
    given = [np.copy(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
    evaluate(made, given, memory, CompileConfig(threads=3))
    return {symbol.name: memory.read(symbol) for symbol in made.fields} | {
        f"arg {number}": arg for number, arg in enumerate(given)
    }


@pytest.mark.parametrize(
    ("name", "title"),
    [(name, title) for name, cases in GOLDEN.items() for title in cases if "temporaries" not in title],
)
def test_meaning(name, title):
    body = GOLDEN[name][title]
    arrays = np.arange(8 * 9 * 3, dtype=np.float32).reshape(8, 9, 3), np.zeros(16, np.float32)[::2]
    given = (1, *arrays) if " arg index" in body else ()
    params = "n: i32, a: [f32x3; 2], b: [f32; 1 strided]" if given else ""
    expected = run(kernel(body, params), *given)
    got = run(transformed(name, kernel(body, params)), *given)
    for what, value in expected.items():
        assert np.array_equal(got[what], value), what


def test_two_fields_of_one_name_have_scopes_of_their_own():
    body = range_for("%p = field_ptr @x[%i]\n%c = const 1.0 : f32\nstore %p, %c")
    made = kernel(body)
    (first,) = made.fields
    twin = replace(first, tree=1)
    made.fields = (twin, first)
    transformed("lower_access", made)
    assert [str(op.scope) for op in made.walk() if isinstance(op, Address)] == ["field:x.1"]


def test_arrays_that_are_only_read_do_not_keep_an_atomic():
    body = range_for(
        """%a = arg index=0 : [f32; 1]
        %b = arg index=1 : [f32; 1]
        %p = array_ptr %a, [%i]
        %q = array_ptr %b, [%i]
        %v = load %q : f32
        %o = atomic add %p, %v : f32"""
    )
    made = transformed("demote_atomics", kernel(body, "a: [f32; 1], b: [f32; 1]"))
    assert not any(isinstance(op, Atomic) for op in made.walk())
    both = body.replace("load %q : f32", "atomic add %q, %x : f32").replace("%q =", "%x = const 1.0 : f32\n%q =")
    made = transformed("demote_atomics", kernel(both, "a: [f32; 1], b: [f32; 1]"))
    assert not any(isinstance(op, Atomic) for op in made.walk())
    exposed = both.replace("[f32; 1]", "[f32; 1 exposed]")
    kept = transformed("demote_atomics", kernel(exposed, "a: [f32; 1 exposed], b: [f32; 1 exposed]"))
    assert sum(isinstance(op, Atomic) for op in kept.walk()) == 2


def test_functions_keep_their_atomics():
    """Iterations of a parallel loop may be in the function at once; a kernel's own serial task is alone."""
    body = """task serial body {
        %a = arg index=0 : [f32; 1]
        %one = const 1.0 : f32
        %zero = const 0 : i32
        %p = array_ptr %a, [%zero]
        %o = atomic add %p, %one : f32
    }"""

    def atomics(head: str) -> int:
        text = f"kernel @k(a: [f32; 1]) -> () {head}{{\n{body}\n}}"
        return sum(isinstance(op, Atomic) for op in transformed("demote_atomics", parse(text)).walk())

    assert atomics("") == 0
    assert atomics("called=true ") == 1


def test_an_empty_box_leaves_the_total_alone():
    text = REDUCTIONS["a sum and a difference"].replace("const 8", "const 0")
    made = transformed("thread_local", kernel(text))
    task = made.body.first
    assert isinstance(task, Task)
    assert [type(op) for op in task.epilogue][1:] == [Load, Atomic]
    assert run(made)["s"] == run(kernel(text))["s"]


TASKS = ("demote_atomics", "cache_invariant", "thread_local")
ORDERS = {"before scalarize": (*TASKS, "scalarize"), "after scalarize": ("scalarize", *TASKS)}


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=draws(50), deadline=None, suppress_health_check=list(HealthCheck))
@given(program=chi_kernels(mixed=True))
def test_random_kernels_mean_the_same(order: str, program: Program):
    """Without anything that tidies up in between."""
    names = ("infer_types", "offload", "flag_access", *ORDERS[order], "lower_access", "demote_ops")
    check(program, names, CompileConfig(fast_math=False, verify=True, threads=3), "untyped")
