"""Gathers of gradients: the same meaning as the additions that they replace, and what must stay as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.sampling import every
from weft.ir.adversary import Schedule
from weft.ir.config import CompileConfig
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Memory
from weft.ir.ops import Atomic, Binary, FieldPtr, If, Kernel, ParallelFor
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, find_pass, run_passes
from weft.ir.target import CUDA
from weft.ir.text import print_ir
from weft.ir.types import u1
from weft.ir.verify import verify

PLAIN = CompileConfig(fast_math=False)
HEAD = """\
kernel @k(n: i32, t: i32, a: [f64; 1], a.grad: [f64; 1] hidden=grad) -> () {
  field @x.grad: f64[3, 8] tree=0 components=(0) terms=((0, 1, 3, 64), (1, 1, 8, 8)) offset=(0, -1) order=(0, 1)
  field @x: f64[3, 8] tree=1 components=(0) terms=((0, 1, 3, 64), (1, 1, 8, 8)) offset=(0, -1) order=(0, 1) grad=@x.grad
  field @y.grad: f64[8] tree=2 components=(0) terms=((0, 1, 8, 8)) order=(0)
  field @y: f64[8] tree=3 components=(0) terms=((0, 1, 8, 8)) order=(0) grad=@y.grad
  field @v.grad: f64x2[8] tree=4 components=(0, 8) terms=((0, 1, 8, 16)) order=(0)
  field @v: f64x2[8] tree=5 components=(0, 8) terms=((0, 1, 8, 16)) order=(0) grad=@v.grad
  field @z.grad: f64[6, 6] tree=6 components=(0) terms=((0, 1, 6, 8), (1, 1, 6, 48)) order=(1, 0)
  field @z: f64[6, 6] tree=7 components=(0) terms=((0, 1, 6, 8), (1, 1, 6, 48)) order=(1, 0) grad=@z.grad
  field @plain: f64[8] tree=8 components=(0) terms=((0, 1, 8, 8)) order=(0)
  %n = arg index=0 : i32  %t = arg index=1 : i32  %aa = arg index=3 : [f64; 1]
  %0 = const 0 : i32  %1 = const 1 : i32  %2 = const 2 : i32  %6 = const 6 : i32  %7 = const 7 : i32  %8 = const 8 : i32
  %h = const 0.5 : f64  %none = const 0.0 : f64
"""


def kernel(body: str, box: str = "begins=[%1], ends=[%7] (%i: i32)") -> Kernel:
    """A parallel loop. `%v` is the adjoint of `y[i]`, `%l` and `%u` are `i - 1` and `i + 1`."""
    start = "%l = binary sub %i, %1 : i32  %u = binary add %i, %1 : i32  %g = field_ptr @y.grad[%i]  %v = load %g : f64"
    made = parse(f"{HEAD} parallel_for {box} {{ {start}\n{body}\n}} }}\n")
    verify(made, "chi")
    return made


def gathered(made: Kernel, config: CompileConfig = PLAIN) -> Kernel | None:
    """The kernel after the pass. None: it did nothing."""
    result = parse(print_ir(made))
    if not find_pass("gather_adjoints")(result, config):
        assert print_ir(result) == print_ir(made)
        return None
    verify(result, "chi")
    return result


def run(made: Kernel, n: int = 7, t: int = 1, schedule: Schedule | None = None) -> list[Any]:
    random, memory = np.random.default_rng(5), Memory.of(made.fields)
    for symbol in made.fields:
        memory.write(symbol, random.integers(-9, 9, memory.read(symbol).shape))  # sums of them are exact
    arrays = [random.integers(-9, 9, 8).astype(float) for _ in range(2)]
    evaluate(made, [n, t, *arrays], memory, PLAIN, schedule=schedule)
    return [*(memory.read(symbol) for symbol in made.fields), *arrays]


def lowered(made: Kernel, gather: bool = True) -> Kernel:
    passes = tuple(name for name in TO_TASKS + TO_LOWERED if gather or name != "gather_adjoints")
    return run_passes(parse(print_ir(made)), passes, CompileConfig(fast_math=False, verify=True))


def hold(made: Kernel, atomics: int = 0, n: int = 7, t: int = 1, inside: bool = True) -> Kernel:
    """The pass removes all additions but so many, and the kernel means the same. `inside`: all additions are inside of
    their fields."""
    result = gathered(made)
    assert result is not None
    assert len(result.all_of(Atomic)) == atomics
    want = run(made, n, t) if inside else run(lowered(made, gather=False), n, t)
    outcomes = [run(lowered(made), n, t)]
    if inside:
        outcomes += [run(result, n, t), run(result, n, t, Schedule(3)), run(result, n, t, Schedule(4))]
    for outcome in outcomes:
        np.testing.assert_equal(outcome, want)
    return result


def add(field: str, *indices: str, value: str = "%v", kind: str = "add") -> str:
    number = abs(hash((field, indices, value, kind)))
    return (
        f"%p{number} = field_ptr @{field}[{', '.join(indices)}] %o{number} = atomic {kind} %p{number}, {value} : f64\n"
    )


STENCIL = add("x.grad", "%t", "%l") + add("x.grad", "%t", "%i", kind="sub") + add("x.grad", "%t", "%u")


# ---- what becomes a gather -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [-3, 0, 1, 2, 3, 7, 8])
def test_boxes_of_any_length(n: int):
    hold(kernel(STENCIL, "begins=[%1], ends=[%n] (%i: i32)"), n=n)


@pytest.mark.parametrize(("end", "tests"), [(6, ["and", "ge", "ge", "lt", "lt"]), (7, ["ge", "ge", "lt"])])
def test_indices_that_are_known_to_be_in_the_box_are_not_tested(end: int, tests: list[str]):
    """Up to 7, the field ends before the box does."""
    made = hold(kernel(STENCIL, f"begins=[%0], ends=[%{end}] (%i: i32)"), inside=end < 7)
    found = [op.kind for op in made.all_of(ParallelFor)[0].body if isinstance(op, Binary) and op.type is u1]
    assert sorted(found) == tests


@pytest.mark.parametrize("t", [-1, 0, 2, 3])
def test_rows_outside_of_the_field(t: int):
    hold(kernel(STENCIL), t=t, inside=0 <= t < 3)


def test_additions_outside_of_the_field_are_dropped():
    far = "%3 = binary add %i, %6 : i32 " + add("x.grad", "%t", "%3") + add("x.grad", "%t", "%l")
    hold(kernel(far, "begins=[%0], ends=[%8] (%i: i32)"), inside=False)


def test_an_index_that_wraps_around_is_outside():
    ends = "%least = const -2147483648 : i32 %few = const -2147483646 : i32 %most = const 2147483647 : i32 "
    for box in ("begins=[%least], ends=[%few] (%i: i32)", "begins=[%most], ends=[%most] (%i: i32)"):
        text = print_ir(kernel(STENCIL)).replace("parallel_for", ends + "parallel_for", 1)
        text = text.replace(
            text[text.index("begins=") : text.index(" {", text.index("begins="))], box.replace("%i", "%i")
        )
        made = parse(text)
        hold(made, inside=False)


def test_the_clearing_follows_the_gather():
    result = hold(kernel(f"store %g, %none {STENCIL}"))
    first, second = result.all_of(ParallelFor)
    assert len(first.all_of(If)) == 3
    assert not second.all_of(If)


def test_conditions_stay():
    made = (
        f"%c = binary gt %v, %none : u1 if %c then {{ {STENCIL} }} orelse {{ {add('x.grad', '%t', '%l', value='%h')} }}"
    )
    hold(kernel(made))


def test_locals_stay():
    hold(
        kernel(
            f"""%s = alloca : *f64 store %s, %v %c = binary gt %i, %2 : u1 if %c then {{ store %s, %h }}
            %w = load %s : f64 {add("x.grad", "%t", "%l", value="%w")} store %s, %none
            {add("x.grad", "%t", "%u", value="%w")}"""
        )
    )


def test_several_stencils():
    """Each row is one; a single offset needs no gather."""
    body = "%k = binary sub %t, %1 : i32 " + STENCIL + add("x.grad", "%k", "%l") + add("x.grad", "%k", "%i")
    hold(kernel(body + "%m = binary add %t, %1 : i32" + add("x.grad", "%m", "%u")))


def test_components():
    body = """%q = field_ptr @v.grad[%l] %q0 = element_ptr %q[%0] : *f64 %o0 = atomic add %q0, %v : f64
        %q1 = element_ptr %q[%1] : *f64 %o1 = atomic sub %q1, %v : f64
        %r = field_ptr @v.grad[%u] %r1 = element_ptr %r[%1] : *f64 %o2 = atomic add %r1, %v : f64"""
    hold(kernel(body))


def test_whole_vectors():
    body = """%w = splat %v : f64x2 %q = field_ptr @v.grad[%l] %o0 = atomic add %q, %w : f64x2
        %r = field_ptr @v.grad[%u] %o1 = atomic sub %r, %w : f64x2"""
    hold(kernel(body))


@pytest.mark.parametrize("n", [0, 3, 7, 20])
def test_arrays(n: int):
    body = (
        """%q = array_ptr %aa[%l] %o0 = atomic add %q, %v : f64 %r = array_ptr %aa[%u] %o1 = atomic sub %r, %v : f64"""
    )
    hold(kernel(body, "begins=[%0], ends=[%8] (%i: i32)"), n=n, inside=False)


@pytest.mark.parametrize("swapped", [False, True])
def test_two_axes(swapped: bool):
    def at(i: str, j: str) -> str:
        return add("z.grad", *((j, i) if swapped else (i, j)))

    body = "%jl = binary sub %j, %1 : i32 %ju = binary add %j, %2 : i32 store %g, %v"
    body += at("%l", "%j") + at("%i", "%jl") + at("%i", "%j") + at("%u", "%ju")
    hold(kernel(body, "begins=[%0, %1], ends=[%6, %n] (%i: i32, %j: i32)"), n=6, inside=False)


def test_loops_over_fields():
    text = print_ir(kernel(STENCIL)).replace("begins=", "%%").replace("parallel_for", "struct_for @y", 1)
    start = text.index("%%")
    hold(parse(text[:start] + text[text.index("(", start) :]), inside=False)


@pytest.mark.parametrize("seed", every(8, range(30)))
def test_random_stencils(seed: int):
    random = np.random.default_rng(seed)
    body = "store %g, %none\n" if random.integers(2) else ""
    for number in range(random.integers(2, 6)):
        offset, row = random.integers(-3, 4), random.choice(["%t", "%0", "%2"])
        weight = f"%w{number} = const {float(random.integers(1, 5))} : f64 %c{number} = binary mul %v, %w{number} : f64"
        index = f"%d{number} = const {offset} : i32 %e{number} = binary add %i, %d{number} : i32"
        one = add("x.grad", row, f"%e{number}", value=f"%c{number}", kind=str(random.choice(["add", "sub"])))
        if random.integers(2):
            bound = f"%f{number} = const {random.integers(8)} : i32 %b{number} = binary lt %i, %f{number} : u1"
            one = f"{bound} if %b{number} then {{ {one} }}"
        body += f"{weight} {index} {one}\n"
    made = kernel(body, "begins=[%0], ends=[%8] (%i: i32)")
    for t in (0, 1, 2):
        want, found = run(lowered(made, gather=False), t=t), run(lowered(made), t=t)
        np.testing.assert_equal(found, want)


# ---- what does not ---------------------------------------------------------------------------------------------------

SINES = "".join(f"%s{k} = unary sin %{'v' if k == 0 else f's{k - 1}'} : f64 " for k in range(4))
EXPENSIVE = SINES + STENCIL.replace("%v", "%s3")
ELSEWHERE = "%w = cast %v : i32 %m = binary and %w, %1 : i32 %q = field_ptr @plain[%m] %e = load %q : f64 "
ELSEWHERE += EXPENSIVE.replace("%v", "%e")
FORBIDDEN = {
    "a write before the load": f"store %g, %h %w = load %g : f64 {STENCIL.replace('%v', '%w')}",
    "a load of the same elements": f"%p = field_ptr @x.grad[%t, %i] %w = load %p : f64 store %g, %w {STENCIL}",
    "a store to the same elements": f"%p = field_ptr @x.grad[%t, %i] store %p, %none {STENCIL}",
    "a load of a row that may be the same": "%k = binary mul %n, %2 : i32 %p = field_ptr @x.grad[%k, %i] "
    f"%w = load %p : f64 store %g, %w {STENCIL}",
    "a row that changes": STENCIL.replace("%t", "%r").replace("%p", "%r = binary and %i, %1 : i32 %p", 1),
    "an old value that is used": STENCIL + "%p = field_ptr @x.grad[%t, %i] %w = atomic add %p, %v : f64 store %g, %w",
    "another kind": STENCIL + add("x.grad", "%t", "%i", kind="max"),
    "an index times 2": "%k = binary mul %i, %2 : i32 " + add("x.grad", "%t", "%k") + add("x.grad", "%t", "%0"),
    "random numbers": "%w = random stream=1 : f64 " + STENCIL.replace("%v", "%w"),
    "a continue": f"%c = binary gt %v, %none : u1 if %c then {{ continue }} {STENCIL}",
    "a serial loop": f"for %0, %2, %1 (%k: i32) {{ {STENCIL} }}",
    "a print": f'print [], parts=("x") {STENCIL}',
    "expensive contributions of values that lie anywhere": ELSEWHERE,
    "a field in parts": "%q = field_ptr @v.grad[%l] %q0 = element_ptr %q[%0] : *f64 %o0 = atomic add %q0, %v : f64 "
    "%r = field_ptr @v.grad[%u] %w = splat %v : f64x2 %o2 = atomic add %r, %w : f64x2",
    "a shape that other accesses have": STENCIL.replace("%t", "%n", 1).replace("%t", "%0", 1).replace("%t", "%1", 1),
    "no gradient": add("plain", "%l") + add("plain", "%u"),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_stays(name: str):
    assert gathered(kernel(FORBIDDEN[name])) is None


def test_expensive_contributions_are_gathered_in_lanes():
    """Where there are vectors."""
    made = kernel(EXPENSIVE)
    assert gathered(made) is not None
    assert gathered(made, replace(PLAIN, arch="cuda", traits=CUDA)) is None
    np.testing.assert_equal(run(lowered(made)), run(lowered(made, gather=False)))


def test_an_axis_without_an_index_is_a_sum():
    box = "begins=[%0, %1], ends=[%6, %6] (%i: i32, %j: i32)"
    assert gathered(kernel(STENCIL, box)) is None


@pytest.mark.parametrize("option", ["debug", "boundary_check", "check_nan", "check_overflow"])
def test_checked_accesses_stay(option: str):
    assert gathered(kernel(STENCIL), CompileConfig(**{option: True})) is None
    assert gathered(kernel(STENCIL), CompileConfig(advanced_optimization=False)) is None


def test_functions_and_serial_loops_stay():
    made = kernel(STENCIL)
    made.called = True
    assert gathered(made) is None
    assert gathered(kernel(STENCIL, "begins=[%1], ends=[%7], config={serialize=true} (%i: i32)")) is None


@pytest.mark.parametrize("change", ["exposed", "halo"])
def test_fields_that_share_elements_stay(change: str):
    made = kernel(STENCIL)
    (symbol,) = {op.field for op in made.all_of(FieldPtr) if op.field.name == "x.grad"}
    cell = replace(symbol.path.cell, halo=((0, 0), (1, 1)))
    path = replace(symbol.path, cell=cell) if change == "halo" else symbol.path
    other = replace(symbol, exposed=change == "exposed", path=path)
    made.fields = tuple(
        other if one is symbol else replace(one, grad=other) if one.grad is symbol else one for one in made.fields
    )
    for op in made.all_of(FieldPtr):
        op.field = other if op.field is symbol else next(one for one in made.fields if one.name == op.field.name)
    assert not find_pass("gather_adjoints")(made, PLAIN)


def test_one_offset_needs_no_atomic():
    row = add("x.grad", "%0", "%u")
    hold(kernel(f"%p = field_ptr @x.grad[%1, %i] %w = load %p : f64 store %p, %none {row.replace('%v', '%w')}"))
    assert gathered(kernel(f"{row} {add('x.grad', '%t', '%i')}")) is None  # perhaps the same row
    assert gathered(kernel(f"%p = field_ptr @x.grad[%0, %i] store %p, %none {row}")) is None


def test_sums_are_equal_from_run_to_run():
    made = lowered(kernel(STENCIL))
    outcomes = {run(made, schedule=Schedule(seed))[0].tobytes() for seed in range(6)}
    assert len(outcomes) == 1
