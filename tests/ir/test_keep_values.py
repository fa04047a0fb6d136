"""Which values a loop keeps for a later one, and that the program means the same."""

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
from weft.ir.ops import Kernel, SharedLocal
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, find_pass, run_passes
from weft.ir.target import CUDA
from weft.ir.text import print_ir
from weft.ir.transforms import keep_values as pass_file
from weft.ir.verify import verify

PLAIN = CompileConfig(fast_math=False)
HEAD = """\
kernel @k(a: [f64; 1], n: i32) -> () {
  field @x: f64[6] tree=0 components=(0) terms=((0, 1, 6, 8)) offset=(-1) order=(0)
  field @y: f64[6] tree=1 components=(0) terms=((0, 1, 6, 8)) offset=(-1) order=(0)
  field @z: f64[2, 3] tree=2 components=(0) terms=((0, 1, 2, 24), (1, 1, 3, 8)) order=(0, 1)
  field @w: f64[2, 3] tree=3 components=(0) terms=((0, 1, 2, 24), (1, 1, 3, 8)) order=(0, 1)
  field @small: f32[6] tree=4 components=(0) terms=((0, 1, 6, 4)) offset=(-1) order=(0)
  %a = arg index=0 : [f64; 1]
  %n = arg index=1 : i32
  %low = const -1 : i32  %0 = const 0 : i32  %1 = const 1 : i32  %2 = const 2 : i32  %3 = const 3 : i32
  %5 = const 5 : i32  %low64 = const -1 : i64  %end64 = const 5 : i64  %low8 = const 1 : u8  %end8 = const 5 : u8
  %half = const 0.5 : f64
  %total = shared_local : *f64
  store %total, %half
"""
EXP = "%p# = field_ptr @x[%i]\n%v# = load %p# : f64\n%e# = unary exp %v# : f64\n"
FIRST = EXP.replace("#", "1") + "%s = atomic add %total, %e1 : f64\n"
LAST = EXP.replace("#", "2") + "%q = field_ptr @y[%i]\nstore %q, %e2\n"


def numbered(number: int, box: str, body: str) -> str:
    """A loop whose names are its own."""
    return re.sub(r"%(i|j|k|c|px|q)\b", rf"%\g<1>{number}", f"{box} {{ {body} }}")


def loops(first: str = FIRST, between: str = "", last: str = LAST, box: str = "struct_for @x (%i: i32)") -> Kernel:
    """Two loops over one box."""
    made = parse(f"{HEAD}{numbered(1, box, first)}\n{between}\n{numbered(2, box, last)}\n}}\n")
    verify(made, "chi")
    return made


@pytest.fixture(autouse=True)
def short_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pass_file, "_LEAST", 2)


def outcome(made: Kernel, schedule: Schedule | None = None) -> list[Any]:
    memory, rng, a = Memory.of(made.fields), np.random.default_rng(3), np.linspace(-1, 1, 8)
    for symbol in made.fields:
        memory.write(symbol, rng.uniform(-1, 1, memory.read(symbol).shape))
    evaluate(made, [a, 4], memory, PLAIN, schedule=schedule)
    return [*(memory.read(symbol) for symbol in made.fields), a]


def kept(made: Kernel, config: CompileConfig = PLAIN) -> int:
    """How many values are kept. The kernel means what it meant, also as tasks."""
    before, text = outcome(made), print_ir(made)
    changed = find_pass("keep_values")(made, config)
    assert changed == (print_ir(made) != text)
    verify(made, "chi")
    count = len([op for op in made.all_of(SharedLocal) if "kept" in (op.name or "")])
    for lowered in (False, True):
        if lowered:
            run_passes(made, TO_TASKS[TO_TASKS.index("keep_values") :] + TO_LOWERED, PLAIN)
        for schedule in (None, Schedule(2)):
            for one, other in zip(before, outcome(made, schedule), strict=True):
                np.testing.assert_allclose(other, one, rtol=1e-12, err_msg=text)
    return count


BOXES = (
    "struct_for @x (%i: i32)",
    "parallel_for begins=[%low], ends=[%5] (%i: i32)",
    "parallel_for begins=[%0], ends=[%5] (%i: i32)",
)
OF_OTHER_TYPES = (
    "parallel_for begins=[%low64], ends=[%end64] (%i: i64)",
    "parallel_for begins=[%low8], ends=[%end8] (%i: u8)",
)


@pytest.mark.parametrize("box", BOXES + OF_OTHER_TYPES)
def test_what_both_loops_compute_is_kept(box: str) -> None:
    assert kept(loops(box=box)) == 1


def test_an_equal_load_from_before_the_loops_is_another_value() -> None:
    """What it loaded was written since."""
    old = "%p0 = field_ptr @x[%0]\n%v0 = load %p0 : f64\nstore %p0, %half\n"
    first = numbered(1, BOXES[0], FIRST.replace("[%i]", "[%0]"))
    last = numbered(2, BOXES[0], "%e2 = unary exp %v0 : f64\n%q = field_ptr @y[%i]\nstore %q, %e2\n")
    assert kept(parse(f"{HEAD}{old}{first}\n{last}\n}}\n")) == 0


def test_loops_over_two_axes() -> None:
    text = "%p# = field_ptr @z[%i, %j]\n%v# = load %p# : f64\n%e# = unary sin %v# : f64\n"
    first = text.replace("#", "1") + "%s = atomic add %total, %e1 : f64\n"
    last = text.replace("#", "2") + "%q = field_ptr @w[%i, %j]\nstore %q, %e2\n"
    for box in ("struct_for @z (%i: i32, %j: i32)", "parallel_for begins=[%0, %1], ends=[%2, %3] (%i: i32, %j: i32)"):
        assert kept(loops(first, "", last, box)) == 1
    wide = "parallel_for begins=[%b, %b], ends=[%c, %d] (%i: i64, %j: i64)"
    ends = "%b = const 0 : i64  %c = const 2 : i64  %d = const 3 : i64\n"
    parts = (re.sub(r"%([ij])\b", r"%\g<1>" + str(n), f"{wide} {{ {body} }}\n") for n, body in ((1, first), (2, last)))
    assert kept(parse(f"{HEAD}{ends}{''.join(parts)}}}\n")) == 1


# What is between or in the loops, and how many values are kept.
STORE_X = "%px = field_ptr @x[%i]\nstore %px, %half\n"
CASES: dict[str, tuple[str, str, str, int]] = {
    "another field is written between": (FIRST, "%pz = field_ptr @z[%0, %1]\nstore %pz, %half", LAST, 1),
    "the operand is written between": (FIRST, "%px = field_ptr @x[%0]\nstore %px, %half", LAST, 0),
    "the operand is added to between": (FIRST, "%px = field_ptr @x[%0]\n%s2 = atomic add %px, %half : f64", LAST, 0),
    "the operand is written in the first loop": (FIRST + STORE_X, "", LAST, 0),
    "the operand is written in the second loop": (FIRST, "", STORE_X + LAST, 0),
    "the operand is written in a loop between": (FIRST, numbered(3, "struct_for @y (%i: i32)", STORE_X), LAST, 0),
    "an array is written, which is none of the fields": (
        FIRST,
        "%pa = array_ptr %a[%0] : *f64\nstore %pa, %half",
        LAST,
        1,
    ),
    "an iteration may end early": (
        "%c = binary lt %i, %1 : u1\nif %c then { continue }\n" + FIRST,
        "",
        LAST,
        0,
    ),
    "the second loop may end early": (FIRST, "", "%c = binary lt %i, %1 : u1\nif %c then { continue }\n" + LAST, 1),
    "another type": (
        "%f1 = cast %i : f32\n%h1 = unary exp %f1 : f32\n%e1 = cast %h1 : f64\n%s = atomic add %total, %e1 : f64",
        "",
        "%f2 = cast %i : f64\n%e2 = unary exp %f2 : f64\n%q = field_ptr @y[%i]\nstore %q, %e2",
        0,
    ),
    "in a branch of the first loop": (
        "%c = binary lt %i, %1 : u1\nif %c then { " + FIRST + " }",
        "",
        LAST,
        0,
    ),
    "another function": (FIRST.replace("exp", "sin"), "", LAST, 0),
    "another field": (FIRST.replace("@x", "@y"), "", LAST, 0),
    "another index": ("%k = binary sub %0, %i : i32\n" + FIRST.replace("[%i]", "[%k]"), "", LAST, 0),
    "a cheap value": (FIRST.replace("unary exp", "unary neg"), "", LAST.replace("unary exp", "unary neg"), 0),
    "nobody needs it": (FIRST, "", LAST.replace("store %q, %e2", "store %q, %half"), 0),
    "a sum that the first loop changes": (
        "%t = load %total : f64\n%e1 = unary exp %t : f64\n%s = atomic add %total, %half : f64",
        "",
        "%t2 = load %total : f64\n%e2 = unary exp %t2 : f64\n%q = field_ptr @y[%i]\nstore %q, %e2",
        0,
    ),
    "a number from outside": (
        FIRST.replace("exp %v1", "exp %h1").replace("%e1 =", "%h1 = binary mul %v1, %half : f64\n%e1 ="),
        "",
        LAST.replace("exp %v2", "exp %h2").replace("%e2 =", "%h2 = binary mul %v2, %half : f64\n%e2 ="),
        1,
    ),
    "two values of one operand": (
        FIRST + "%d1 = unary sin %v1 : f64\n%s3 = atomic add %total, %d1 : f64\n",
        "",
        LAST.replace("store %q, %e2", "%d2 = unary sin %v2 : f64\n%g = binary add %d2, %e2 : f64\nstore %q, %g"),
        2,
    ),
    "one value of another": (
        FIRST + "%d1 = unary sin %e1 : f64\n%s3 = atomic add %total, %d1 : f64\n",
        "",
        LAST.replace("store %q, %e2", "%d2 = unary sin %e2 : f64\nstore %q, %d2"),
        1,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_kept(name: str) -> None:
    first, between, last, count = CASES[name]
    assert kept(loops(first, between, last)) == count


def test_numbers_from_outside_that_were_loaded_at_different_times() -> None:
    """Both loops take the exponential of `total`, with a store in between."""
    loads = "%t1 = load %total : f64\nstore %total, %t0\n%t2 = load %total : f64"
    first = "%e1 = unary exp %t1 : f64\n%s = atomic add %total, %e1 : f64"
    last = "%e2 = unary exp %t2 : f64\n%q = field_ptr @y[%i]\nstore %q, %e2"
    for number, count in (("%t2", 0), ("%t1", 1)):
        body = f"{numbered(1, BOXES[0], first)}\n{numbered(2, BOXES[0], last.replace('%t2', number))}"
        assert kept(parse(f"{HEAD}%t0 = const 2.0 : f64\n{loads}\n{body}\n}}\n")) == count


def test_ops_that_may_write_any_memory() -> None:
    """A text that is printed changes none; behind a fence may be what others have written."""
    assert kept(loops(between='print [], parts=("a"), types=()')) == 1
    assert kept(loops(between="fence")) == 0


def test_boxes_that_differ() -> None:
    for box, other in (
        (BOXES[1], BOXES[2]),
        (BOXES[0], BOXES[2]),
        ("parallel_for begins=[%0], ends=[%n] (%i: i32)",) * 2,
    ):
        assert kept(parse(f"{HEAD}{numbered(1, box, FIRST)}\n{numbered(2, other, LAST)}\n}}\n")) == 0
    assert kept(parse(f"{HEAD}{numbered(1, BOXES[0], FIRST)}\n{numbered(2, BOXES[1], LAST)}\n}}\n")) == 1


def test_loops_whose_indices_have_different_types() -> None:
    """Their numbers are the same."""
    text = f"{HEAD}{numbered(1, BOXES[1], FIRST)}\n{numbered(2, OF_OTHER_TYPES[0], LAST)}\n}}\n"
    assert kept(parse(text)) == 1


def test_a_draw_is_not_kept() -> None:
    text = "%r# = random stream=1 : f64\n%e# = unary exp %r# : f64\n"
    first, last = text.replace("#", "1") + "%s = atomic add %total, %e1 : f64", text.replace("#", "2")
    made = loops(first, "", last + "%q = field_ptr @y[%i]\nstore %q, %e2")
    assert not find_pass("keep_values")(made, PLAIN)


def test_where_the_pass_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for config in (
        replace(PLAIN, debug=True),
        replace(PLAIN, check_nan=True),
        replace(PLAIN, advanced_optimization=False),
        replace(PLAIN, traits=CUDA),
    ):
        assert not find_pass("keep_values")(loops(), config)
    for limit, count in (("_LEAST", 7), ("_MOST", 5)):
        with monkeypatch.context() as patch:
            patch.setattr(pass_file, limit, count)
            assert kept(loops()) == 0


def drawn(rng: random.Random) -> Kernel:
    """Two to four loops over boxes that may be equal. They compute expressions of the same kind, and write what others
    read."""
    lines = list[str]()
    for number in range(rng.randint(2, 4)):
        tag, body = f"l{number}", list[str]()
        names = ["%half"]
        for k in range(rng.randint(2, 5)):
            name = f"%{tag}v{k}"
            draw = rng.random()
            if draw < 0.4:
                body.append(f"%{tag}p{k} = field_ptr @{rng.choice('xy')}[%i]\n{name} = load %{tag}p{k} : f64")
            elif draw < 0.5:
                body.append(f"{name} = load %total : f64")
            elif draw < 0.8:
                body.append(f"{name} = unary {rng.choice(('exp', 'sin'))} {rng.choice(names)} : f64")
            else:
                body.append(f"{name} = binary mul {rng.choice(names)}, {rng.choice(names)} : f64")
            names.append(name)
        target = rng.choice(("@y[%i]", "@x[%i]", "@small"))
        if target == "@small":  # or nothing, where the sum would be read while it changes
            read = any("load %total" in line for line in body)
            body.append("" if read else f"%{tag}s = atomic add %total, {names[-1]} : f64")
        else:
            body.append(f"%{tag}q = field_ptr {target}\nstore %{tag}q, {names[-1]}")
        if rng.random() < 0.2:
            body.insert(0, f"%{tag}c = binary lt %i, %1 : u1\nif %{tag}c then {{ continue }}")
        lines.append(numbered(number, rng.choice(BOXES), "\n".join(body)))
    made = parse(f"{HEAD}{chr(10).join(lines)}\n%e = field_ptr @z[%0, %0]\n%t = load %total : f64\nstore %e, %t\n}}\n")
    verify(made, "chi")
    return made


@pytest.mark.parametrize("seed", range(draws(80)))
def test_random_loops(seed: int) -> None:
    kept(drawn(random.Random(seed)))


def test_random_loops_keep_values() -> None:
    found = [find_pass("keep_values")(drawn(random.Random(seed)), PLAIN) for seed in range(200)]
    assert sum(found) > 10


@pytest.mark.parametrize("dtype", [ti.f32, ti.f64])
def test_a_softmax(dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """In machine code: more numbers than fit the stack."""
    monkeypatch.setattr(pass_file, "_LEAST", 5000)
    ti.init(arch=ti.cpu)
    x, y = ti.field(dtype, (60, 100)), ti.field(dtype, (60, 100))

    @ti.kernel
    def softmax():
        total = ti.cast(0, dtype)
        for i, j in x:
            total += ti.exp(x[i, j])
        for i, j in x:
            y[i, j] = ti.exp(x[i, j]) / total

    values = np.random.default_rng(1).uniform(-1, 1, (60, 100)).astype(x.to_numpy().dtype)
    x.from_numpy(values)
    for _ in range(2):
        softmax()
        wanted = np.exp(values.astype("f8")) / np.exp(values.astype("f8")).sum()
        np.testing.assert_allclose(y.to_numpy(), wanted, rtol=1e-5 if dtype is ti.f32 else 1e-12)
    assert "kept" in str(softmax.last.tasks)
    ti.reset()


def test_functions_that_write_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a real function writes, directly or in another one, the second loop computes from anew."""
    monkeypatch.setattr(pass_file, "_LEAST", 100)
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    x, y, z = (ti.field(ti.f64, 100) for _ in range(3))

    @ti.real_func
    def write_x(i: ti.i32):
        x[i] = 2.0

    @ti.real_func
    def through(i: ti.i32):
        write_x(i + 1)

    @ti.real_func
    def write_z(i: ti.i32):
        z[i] = 2.0

    @ti.kernel
    def run(way: ti.template()):
        total = 0.0
        for i in x:
            total += ti.exp(x[i])
        way(7)
        for i in x:
            y[i] = ti.exp(x[i]) / total

    for way, changed in ((write_x, 7), (through, 8), (write_z, None)):
        values = np.linspace(-1, 1, 100)
        x.from_numpy(values)
        run(way)
        total = np.exp(values).sum()
        if changed is not None:
            values[changed] = 2
        np.testing.assert_allclose(y.to_numpy(), np.exp(values) / total, rtol=1e-12)
        assert ("%kept" in str(run.last.tasks)) is (changed is None)
    ti.reset()


def test_loops_over_active_cells_do_not_compute_all_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later loop over the whole box needs the values of inactive cells, too."""
    monkeypatch.setattr(pass_file, "_LEAST", 10)
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    x, y, z = ti.field(ti.f64), ti.field(ti.f64, 60), ti.field(ti.f64, 20)
    cells = ti.root.bitmasked(ti.i, 20)
    cells.bitmasked(ti.i, 3).place(x)

    @ti.kernel
    def by_elements():
        total = 0.0
        for i in x:
            total += ti.exp(x[i])
        for i in range(60):
            y[i] = ti.exp(x[i]) / total

    @ti.kernel
    def by_cells():
        total = 0.0
        for i in cells:
            total += ti.exp(y[i])
        for i in range(20):
            z[i] = ti.exp(y[i]) / total

    for i in range(0, 60, 4):
        x[i] = i / 60
    by_elements()
    wanted = np.exp(np.where(np.arange(60) % 4 == 0, np.arange(60) / 60, 0))
    np.testing.assert_allclose(y.to_numpy(), wanted / wanted[::4].sum(), rtol=1e-12)
    by_cells()
    visited = np.exp(y.to_numpy()[sorted({i // 3 for i in range(0, 60, 4)})]).sum()
    np.testing.assert_allclose(z.to_numpy(), np.exp(y.to_numpy()[:20]) / visited, rtol=1e-12)
    ti.reset()
