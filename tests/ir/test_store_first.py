"""Which first updates of elements become stores, and that the program means the same."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import weft as ti
from tests.sampling import draws
from weft.ir.adversary import Schedule
from weft.ir.config import CompileConfig
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Memory
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, find_pass, run_passes
from weft.ir.text import print_ir
from weft.ir.verify import verify

PLAIN = CompileConfig(fast_math=False)
HEAD = """\
kernel @k(a: [f64; 1], n: i32) -> () {
  field @x: f64[6] tree=0 components=(0) terms=((0, 1, 6, 8)) offset=(-1) order=(0)
  field @y: f64[6] tree=1 components=(0) terms=((0, 1, 6, 8)) offset=(-1) order=(0)
  field @z: f64[3, 3] tree=2 components=(0) terms=((0, 1, 3, 24), (1, 1, 3, 8)) order=(0, 1)
  field @v: f64x2[6] tree=3 components=(0, 8) terms=((0, 1, 6, 16)) offset=(-1) order=(0)
  field @b: u1[6] tree=4 components=(0) terms=((0, 1, 6, 1)) offset=(-1) order=(0)
  field @e: f64[6] tree=5 components=(0) terms=((0, 1, 6, 8)) offset=(-1) order=(0) exposed=true
  %a = arg index=0 : [f64; 1]
  %n = arg index=1 : i32
  %low = const -1 : i32  %0 = const 0 : i32  %1 = const 1 : i32  %3 = const 3 : i32  %5 = const 5 : i32
  %7 = const 7 : i32  %half = const 0.5 : f64  %zero = const 0.0 : f64  %yes = const true : u1
"""
FILL = "%q = field_ptr @y[%i]\nstore %q, %zero\n"
ADD = "%p = field_ptr @y[%i]\n%o = load %p : f64\n%s = binary add %o, %half : f64\nstore %p, %s\n"
ATOMIC = "%p = field_ptr @y[%i]\n%o = atomic add %p, %half : f64\n"
BOX = "struct_for @y (%i: i32)"


def numbered(number: int, box: str, body: str) -> str:
    """A loop whose names are its own."""
    return re.sub(r"%(i|j|k|c|p|q|o|s|t|w|r)\b", rf"%\g<1>{number}", f"{box} {{ {body} }}")


def loops(first: str = FILL, between: str = "", last: str = ADD, box: str = BOX, other: str = "") -> Kernel:
    """Two loops, over one box unless there is an `other` one."""
    made = parse(f"{HEAD}{numbered(1, box, first)}\n{between}\n{numbered(2, other or box, last)}\n}}\n")
    verify(made, "chi")
    return made


def outcome(made: Kernel, schedule: Schedule | None = None) -> list[Any]:
    memory, rng, a = Memory.of(made.fields), np.random.default_rng(3), np.linspace(-1, 1, 8)
    for symbol in made.fields:
        numbers = rng.uniform(-1, 1, memory.read(symbol).shape)
        memory.write(symbol, numbers > 0 if symbol.name == "b" else numbers)
    evaluate(made, [a, 4], memory, PLAIN, schedule=schedule)
    return [*(memory.read(symbol) for symbol in made.fields), a]


def stores(made: Kernel, config: CompileConfig = PLAIN) -> bool:
    """Whether the pass changes the kernel. It means what it meant, also as tasks, and in any order of iterations."""
    before, text = outcome(made), print_ir(made)
    changed = find_pass("store_first")(made, config)
    assert changed == (print_ir(made) != text)
    verify(made, "chi")
    for lowered in (False, True):
        if lowered:
            run_passes(made, TO_TASKS[TO_TASKS.index("store_first") :] + TO_LOWERED, PLAIN)
        for schedule in (None, Schedule(2)):
            for one, other in zip(before, outcome(made, schedule), strict=True):
                np.testing.assert_array_equal(other, one, err_msg=text)
    return changed


IF = "%c = binary lt %i, %1 : u1\nif %c then {{ {} }}\n"
WIDE = "parallel_for begins=[%low], ends=[%7] (%i: i32)"  # more than the field has
SECOND = numbered(3, BOX, "%t = field_ptr @x[%i]\nstore %t, %half\n")

# The first loop, what is between, the second loop, and whether its first update becomes a store.
CASES: dict[str, tuple[str, str, str, bool]] = {
    "a sum": (FILL, "", ADD, True),
    "an atomic sum": (FILL, "", ATOMIC, True),
    "an atomic whose old value is used": (FILL, "", ATOMIC + "%t = field_ptr @x[%i]\nstore %t, %o\n", True),
    "an exchange": (FILL, "", ATOMIC.replace("add", "xchg") + "%t = field_ptr @x[%i]\nstore %t, %o\n", True),
    "another constant": (FILL.replace("%zero", "%half"), "", ADD, True),
    "an update behind it in a branch": (FILL, "", ADD + IF.format("%s3 = atomic add %p, %half : f64"), True),
    "only a store": (FILL, "", "%p = field_ptr @y[%i]\nstore %p, %half", True),
    "an update in a branch": (FILL, "", IF.format(ADD), False),
    "a load in a branch, then a store": (
        FILL,
        "",
        "%p = field_ptr @y[%i]\n%t = field_ptr @x[%i]\n"
        + IF.format("%w = load %p : f64\nstore %t, %w")
        + "store %p, %half",
        True,
    ),
    "a load in a branch, without a store": (
        FILL,
        "",
        "%p = field_ptr @y[%i]\n%t = field_ptr @x[%i]\n" + IF.format("%w = load %p : f64\nstore %t, %w"),
        False,
    ),
    "a load only": (FILL, "", "%p = field_ptr @y[%i]\n%o = load %p : f64\n%t = field_ptr @x[%i]\nstore %t, %o", False),
    "a store in a branch first": (FILL, "", "%t = field_ptr @y[%i]\n" + IF.format("store %t, %half") + ADD, False),
    "one element of all iterations": (FILL, "", "%k = field_ptr @y[%0]\n%w = atomic add %k, %half : f64", False),
    "also another element": (FILL, "", ADD + "%k = field_ptr @y[%0]\n%w = atomic add %k, %half : f64", False),
    "another index": (FILL, "", "%k = binary sub %3, %i : i32\n" + ADD.replace("[%i]", "[%k]"), False),
    "another index of the constant": ("%k = binary sub %3, %i : i32\n" + FILL.replace("[%i]", "[%k]"), "", ADD, False),
    "a neighbour is read": (
        FILL,
        "",
        "%k = binary add %i, %1 : i32\n%t = field_ptr @y[%k]\n%w = load %t : f64\n" + ADD.replace("%half", "%w"),
        False,
    ),
    "the first loop sets in a branch": (IF.format(FILL), "", ADD, False),
    "the first loop may end early": (IF.format("continue") + FILL, "", ADD, False),
    "the second loop may end early": (FILL, "", IF.format("continue") + ADD, False),
    "no constant": ("%t = field_ptr @x[%i]\n%w = load %t : f64\n" + FILL.replace("%zero", "%w"), "", ADD, False),
    "the first loop reads it, too": (
        FILL + "%w = load %q : f64\n%t = field_ptr @x[%i]\nstore %t, %w",
        "",
        ADD,
        False,
    ),
    "an element is read between": (FILL, "%p3 = field_ptr @y[%0]\n%v3 = load %p3 : f64\nstore %p3, %v3", ADD, False),
    "an element is written between": (FILL, "%p3 = field_ptr @y[%0]\nstore %p3, %half", ADD, False),
    "another field is written between": (FILL, SECOND, ADD, True),
    "an array is written between": (FILL, "%p3 = array_ptr %a[%0] : *f64\nstore %p3, %half", ADD, True),
    "a fence between": (FILL, "fence", ADD, False),
    "an assertion between": (FILL, 'assert %yes, [], message="no"', ADD, False),
    "an assertion in the first loop": ('assert %yes, [], message="no"\n' + FILL, "", ADD, False),
    "an assertion in the second loop": (FILL, "", 'assert %yes, [], message="no"\n' + ADD, False),
    "it may overlap with an array": (FILL.replace("@y", "@e"), "", ADD.replace("@y", "@e"), False),
}


@pytest.mark.parametrize("name", CASES)
def test_what_becomes_a_store(name: str) -> None:
    first, between, last, changed = CASES[name]
    assert stores(loops(first, between, last)) is changed


BOXES = {
    "parallel_for begins=[%low], ends=[%5] (%i: i32)": True,
    "parallel_for begins=[%0], ends=[%5] (%i: i32)": True,
    "parallel_for begins=[%0], ends=[%n] (%i: i32)": False,
    WIDE: False,
}


@pytest.mark.parametrize("box", BOXES)
def test_boxes(box: str) -> None:
    """A part of the field is set and updated. Of a box that is not known, or larger than the field, nothing is."""
    assert stores(loops(box=box)) is BOXES[box]


def test_boxes_that_differ() -> None:
    part = "parallel_for begins=[%0], ends=[%5] (%i: i32)"
    assert not stores(loops(other=part))
    assert not stores(loops(box=part, other=BOX))


def test_two_axes_in_another_order() -> None:
    box = "struct_for @z (%i: i32, %j: i32)"
    first, last = (text.replace("@y[%i]", "@z[%i, %j]") for text in (FILL, ADD))
    assert stores(loops(first, "", last, box))
    assert not stores(loops(first, "", last.replace("[%i, %j]", "[%j, %i]"), box))
    assert stores(loops(first.replace("[%i, %j]", "[%j, %i]"), "", last.replace("[%i, %j]", "[%j, %i]"), box))
    assert not stores(loops(first.replace("[%i, %j]", "[%i, %i]"), "", last.replace("[%i, %j]", "[%i, %i]"), box))


def test_vectors_and_their_components() -> None:
    fill = "%w = splat %zero : f64x2\n%q = field_ptr @v[%i]\nstore %q, %w\n"
    add = "%t = splat %half : f64x2\n" + ADD.replace("@y", "@v").replace("%half : f64", "%t : f64x2")
    add = add.replace("load %p : f64", "load %p : f64x2")
    part = "%p = field_ptr @v[%i]\n%r = element_ptr %p[%0] : *f64\n%o = atomic add %r, %half : f64"
    assert stores(loops(fill, "", add))
    assert not stores(loops(fill, "", part))
    assert stores(loops(fill, "", add + part.replace("%p", "%k").replace("%o", "%c")))


def test_fields_that_share_a_component() -> None:
    """A loop between the two reads what the first one sets, by the name of another field."""
    part = "  field @part: f64[6] tree=3 components=(8) terms=((0, 1, 6, 16)) offset=(-1) order=(0)\n"
    fill = "%w = splat %zero : f64x2\n%q = field_ptr @v[%i]\nstore %q, %w\n"
    read = "%q = field_ptr @part[%i]\n%w = load %q : f64\n%t = field_ptr @x[%i]\nstore %t, %w"
    add = "%t = splat %half : f64x2\n" + ADD.replace("@y", "@v").replace("%half : f64", "%t : f64x2")
    add = add.replace("load %p : f64", "load %p : f64x2")
    lines = [numbered(number, BOX, body) for number, body in enumerate((fill, read, add))]
    assert stores(parse(f"{HEAD}{lines[0]}\n{lines[2]}\n}}\n"))
    head = HEAD.replace("  field @b", f"{part}  field @b")
    assert not stores(parse("\n".join((head, *lines, "}\n"))))


def test_sums_of_truth_values() -> None:
    """They are modulo 2, which no Binary computes."""
    fill = "%w = const false : u1\n%q = field_ptr @b[%i]\nstore %q, %w\n"
    for kind, changed in (("add", False), ("or", True)):
        assert stores(loops(fill, "", f"%p = field_ptr @b[%i]\n%o = atomic {kind} %p, %yes : u1")) is changed


def test_where_the_pass_does_nothing() -> None:
    for changes in ({"debug": True}, {"check_nan": True}, {"check_races": True}, {"advanced_optimization": False}):
        assert not find_pass("store_first")(loops(), replace(PLAIN, **changes))


def drawn(rng: random.Random) -> Kernel:
    """Two to four loops that set, update or read the elements of two fields."""
    lines = list[str]()
    for number in range(rng.randint(2, 4)):
        body = list[str]()
        for k in range(rng.randint(1, 3)):
            text = rng.choice((FILL, FILL, ADD, ATOMIC, IF.format(ATOMIC), ADD.replace("[%i]", "[%0]")))
            text = text.replace("@y", rng.choice(("@y", "@y", "@x")))
            if "[%0]" in text:  # no race
                text = ATOMIC.replace("[%i]", "[%0]").replace("@y", "@z").replace("[%0]", "[%0, %0]")
            body.append(re.sub(r"%([pqosctwr])\b", rf"%\g<1>_{k}", text))
        if rng.random() < 0.1:
            body.insert(0, "%c = binary lt %i, %1 : u1\nif %c then { continue }")
        named = re.sub(r"%([pqosctwr]_\d)\b", rf"%\g<1>_{number}", "\n".join(body))
        lines.append(numbered(number, rng.choice((BOX, BOX, "struct_for @x (%i: i32)", *list(BOXES)[:2])), named))
        if rng.random() < 0.2:
            lines.append(f"%u{number} = field_ptr @{rng.choice('xy')}[%0]\nstore %u{number}, %half")
    made = parse(f"{HEAD}{chr(10).join(lines)}\n}}\n")
    verify(made, "chi")
    return made


@pytest.mark.parametrize("seed", range(draws(80)))
def test_random_loops(seed: int) -> None:
    stores(drawn(random.Random(seed)))


def test_random_loops_become_stores() -> None:
    found = [find_pass("store_first")(drawn(random.Random(seed)), PLAIN) for seed in range(100)]
    assert sum(found) > 10


def test_a_grid_that_a_kernel_clears_and_fills() -> None:
    """In machine code: only the second loop is left."""
    ti.init(arch=ti.cpu)
    x, y = ti.field(ti.f32, (60, 100)), ti.field(ti.f32, (60, 100))

    @ti.kernel
    def smooth():
        for i, j in y:
            y[i, j] = 0.0
        for i, j in x:
            y[i, j] += x[i, j] * 2
            if j % 2 == 0:
                y[i, j] += 1

    x.from_numpy(np.arange(6000, dtype=np.float32).reshape(60, 100))
    for _ in range(2):
        smooth()
        np.testing.assert_array_equal(y.to_numpy(), x.to_numpy() * 2 + (np.arange(100) % 2 == 0))
    assert str(smooth.last.tasks).count("task range_for") == 1
    ti.reset()


def test_sparse_fields_are_set_first() -> None:
    """A store also makes cells, so the pass leaves sparse fields alone."""
    ti.init(arch=ti.cpu)
    x, y = ti.field(ti.f32), ti.field(ti.f32, 64)
    ti.root.pointer(ti.i, 8).dense(ti.i, 8).place(x)
    y.fill(2.0)

    @ti.kernel
    def run():
        for i in range(16, 48):
            x[i] = 1.0
        for i in range(16, 48):
            x[i] += y[i]

    run()
    np.testing.assert_array_equal([x[i] for i in range(64)], np.repeat([0.0, 3.0, 0.0], [16, 32, 16]))
    assert re.search(r"atomic add .* : f32", str(run.last.tasks))
    ti.reset()


def test_a_function_between_the_loops() -> None:
    """It sees the constant, directly or in another function."""
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    x, y = ti.field(ti.f64, 100), ti.field(ti.f64, 100)

    @ti.real_func
    def read():
        x[0] = y[7]

    @ti.real_func
    def write():
        y[7] += 2.0

    @ti.real_func
    def through():
        write()

    @ti.real_func
    def elsewhere():
        x[0] = 0.0

    @ti.kernel
    def run(way: ti.template()):
        for i in y:
            y[i] = 0.0
        way()
        for i in y:
            y[i] += 1.0

    for way in (read, write, through, elsewhere):
        x.fill(5.0)
        y.fill(5.0)
        run(way)
        wanted = np.ones(100)
        wanted[7] = 3.0 if way in (write, through) else 1.0
        np.testing.assert_array_equal(y.to_numpy(), wanted)
        assert x[0] == (0.0 if way in (read, elsewhere) else 5.0)
        assert str(run.last.tasks).count("task range_for") == 2
    ti.reset()
