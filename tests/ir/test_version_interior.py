"""`version_interior`: random loops with branches at the boundary compute what they computed. Others do not change."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.sampling import every
from weft.ir import ops
from weft.ir.config import CompileConfig
from weft.ir.core import Builder, ops_of
from weft.ir.evaluate import Memory, evaluate
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.tasks import parallel_tasks
from weft.ir.text import print_ir
from weft.ir.types import u1

CONFIG = CompileConfig(fast_math=False, verify=True)
BEFORE = (*TO_TASKS, *TO_LOWERED[: TO_LOWERED.index("version_interior")])

FRAME = """\
kernel @k(n: i32) -> () {{
  field @out: i32[{size}] tree=0 components=(0) terms=((0, 1, {size}, 4)) offset=({begin}) order=(0)
  %begin = const {begin} : i32
  %end = const {end} : i32
  %n = arg index=0 : i32
  {extent}
  parallel_for begins=[%begin], ends=[%last] (%i: i32) {{
    %out = field_ptr @out[%i] : *i32
    %acc = alloca : *i32
    %zero = const 0 : i32
    store %acc, %zero
{body}
    %r = load %acc : i32
    store %out, %r
  }}
}}
"""
KINDS = ("lt", "le", "gt", "ge", "eq", "ne")


def condition(rng: random.Random, number: int, begin: int, end: int) -> str:
    """A comparison near an end of the box, or far from it, of one type. Narrow types wrap around in places."""
    type = rng.choice(("i32", "i32", "i64", "i8", "u8", "u32"))
    by, near = rng.randint(-3, 3), rng.choice((begin, begin, end, end, (begin + end) // 2)) + rng.randint(-4, 9)
    low, high = {"i8": (-128, 127), "u8": (0, 255), "u32": (0, 2**32 - 1)}.get(type, (-(2**31), 2**31 - 1))
    add, bound = (max(low, min(high, number)) for number in (by, near + by))
    sides = [f"%s{number}", f"%b{number}"]
    rng.shuffle(sides)
    return "\n".join(
        (
            f"%c{number} = cast %i : {type}" if type != "i32" else f"%c{number} = binary add %i, %zero : i32",
            f"%a{number} = const {add} : {type}",
            f"%b{number} = const {bound} : {type}",
            f"%s{number} = binary {rng.choice(('add', 'add', 'sub'))} %c{number}, %a{number} : {type}",
            f"%t{number} = binary {rng.choice(KINDS)} {', '.join(sides)} : u1",
        )
    )


def branch(rng: random.Random, number: int, joined: bool = True) -> str:
    """What the loop does with the comparison of that number, and perhaps with the one before."""
    name = f"%t{number}"
    lines = list[str]()
    if joined and number and rng.random() < 0.4:
        lines.append(f"%d{number} = binary {rng.choice(('and', 'or'))} %t{number - 1}, {name} : u1")
        name = f"%d{number}"
    if joined and rng.random() < 0.2:
        lines.append(f"%e{number} = unary not {name} : u1")
        name = f"%e{number}"

    def update(side: str, factor: int) -> str:
        mark = f"{side}{number}"
        return (
            f"%f{mark} = const {factor} : i32\n%o{mark} = load %acc : i32\n"
            f"%m{mark} = binary mul %o{mark}, %f{mark} : i32\n%u{mark} = binary add %m{mark}, %f{mark} : i32\n"
            f"store %acc, %u{mark}"
        )

    lines.append(f"if {name} then {{\n{update('x', 3 + 2 * number)}\n}} orelse {{\n{update('y', 2 + 2 * number)}\n}}")
    return "\n".join(lines)


def text_of(seed: int) -> str:
    rng = random.Random(seed)
    begin = rng.choice((0, 0, -5, 60, 200))
    end = begin + rng.choice((66, 70, 130))
    count = rng.randint(3, 7)
    body = "\n".join(f"{condition(rng, k, begin, end)}\n{branch(rng, k)}" for k in range(count))
    extent = rng.choice(("%last = binary min %n, %end : i32", "%last = binary add %end, %zero0 : i32"))
    return FRAME.format(size=end - begin, begin=begin, end=end, body=body, extent=f"%zero0 = const 0 : i32\n  {extent}")


def left(kernel: ops.Kernel, n: int) -> list[int]:
    memory = Memory.of(kernel.fields)
    evaluate(kernel, [n], memory, CONFIG, limit=500_000)
    return np.asarray(memory.read(kernel.fields[0])).tolist()


def lowered(text: str) -> ops.Kernel:
    return run_passes(parse(text), BEFORE, replace(CONFIG, verify=False))


def version(kernel: ops.Kernel) -> bool:
    """Run the pass. Gives whether it changed the kernel."""
    before = print_ir(kernel)
    run_passes(kernel, ("version_interior",), CONFIG, level="lowered")
    changed = print_ir(kernel) != before
    run_passes(kernel, ("full_simplify",), CONFIG, level="lowered")
    return changed


@pytest.mark.parametrize("seed", every(24, range(240)))
def test_loops_compute_what_they_computed(seed: int) -> None:
    text = text_of(seed)
    kernel = lowered(text)
    wanted = [left(kernel, n) for n in (41, 1000)]
    version(kernel)
    assert [left(kernel, n) for n in (41, 1000)] == wanted, f"{text}\nbecame\n{print_ir(kernel)}"


def test_many_are_versioned() -> None:
    assert sum(version(lowered(text_of(seed))) for seed in range(12)) > 3


def loop(
    tests: list[str], begin: int = 0, end: int = 100, type: str = "i32", by: int = 0, kind: str = "add"
) -> ops.Kernel:
    """A loop with a branch for each of these comparisons of the index plus a number, or times it."""
    lines = [f"%v = {'binary add %i, %zero' if type == 'i32' else 'cast %i'} : {type}"]
    lines += [f"%by = const {by} : {type}", f"%w = binary {kind} %v, %by : {type}"]
    for number, test in enumerate(tests):
        compared, bound = test.split()
        lines += [f"%b{number} = const {bound} : {type}", f"%t{number} = binary {compared} %w, %b{number} : u1"]
        lines.append(branch(random.Random(0), number, joined=False))
    frame = {"size": end - begin, "begin": begin, "end": end, "extent": "%last = binary min %n, %end : i32"}
    return lowered(FRAME.format(body="\n".join(lines), **frame))


def limits(kernel: ops.Kernel) -> list[tuple[str, int]]:
    """What the first test of the body asks about the index, which a pass has made."""
    (task,) = parallel_tasks(kernel)
    asked = [op for op in task.body if isinstance(op, ops.Binary) and op.kind in ("le", "ge")]
    return [(op.kind, int(op.rhs.value)) for op in asked if isinstance(op.rhs, ops.Const)]


def test_the_tightest_of_the_bounds() -> None:
    kernel = loop(["gt 0", "ge 3", "lt 99", "ne 96", "eq 1"])
    assert version(kernel)
    assert sorted(limits(kernel)) == [("ge", 3), ("le", 95)]
    (first, *_) = kernel.all_of(ops.If)
    inside = [[op for op in ops_of(side) if isinstance(op, ops.If)] for side in first.regions]
    assert list(map(len, inside)) == [0, 5]


@pytest.mark.parametrize("kind", KINDS)
def test_each_comparison_at_both_ends(kind: str) -> None:
    kernel = loop([f"{kind} 2", f"{kind} 65", f"{kind} 2"], end=68)
    wanted = left(kernel, 68)
    assert version(kernel)
    assert len(limits(kernel)) == 2
    assert left(kernel, 68) == wanted


@pytest.mark.parametrize(
    ("tests", "about"),
    [
        (["gt 0", "lt 99"], {}),  # too few
        (["gt 50", "lt 40", "gt 60"], {}),  # not near an end
        (["gt 0", "lt 19", "gt 1"], {"end": 20}),  # the box is small
        (["gt -120", "lt 125", "gt 65"], {"begin": 60, "end": 127, "type": "i8", "by": 2}),  # the sum may wrap around
        (["ge 2", "ge 3", "ge 4"], {"type": "u32", "by": 2**32 - 1}),  # it does
        (["gt -190", "gt -188", "gt -186"], {"begin": -100, "kind": "mul", "by": 2}),  # twice the index
        (["lt 99", "lt 98", "lt 97"], {"type": "f32"}),  # no integers
    ],
)
def test_what_is_left(tests: list[str], about: dict[str, Any]) -> None:
    if about.get("type") == "f32":
        tests = [f"{test}.0" for test in tests]
        about = {**about, "by": 0.0}
    assert not version(loop(tests, **about))


def wide(tests: list[str], begin: int) -> ops.Kernel:
    """A loop whose index is i64, with a branch for each of these comparisons of the index."""
    lines = ["%j = binary sub %i, %begin : i64", "%k = cast %j : i32"]
    for number, test in enumerate(tests):
        compared, bound = test.split()
        lines += [f"%b{number} = const {bound} : i64", f"%t{number} = binary {compared} %i, %b{number} : u1"]
        lines.append(branch(random.Random(0), number, joined=False))
    text = FRAME.format(size=100, begin=begin, end=begin + 100, extent="%last = binary add %end, %none : i64", body="")
    text = text.replace(f"offset=({begin})", "offset=(0)").replace("(%i: i32)", "(%i: i64)")
    text = text.replace("    %out = field_ptr @out[%i] : *i32\n", "")
    text = text.replace(f"%begin = const {begin} : i32", f"%begin = const {begin} : i64\n  %none = const 0 : i64")
    text = text.replace(f"%end = const {begin + 100} : i32", f"%end = const {begin + 100} : i64")
    body = "\n".join([*lines, "%out = field_ptr @out[%k] : *i32"])
    return lowered(text.replace("    %r = load", f"{body}\n    %r = load"))


@pytest.mark.parametrize("begin", [2**31 - 50, -(2**31) - 50, 2**40, 0, 2**31 - 100, -(2**31)])
def test_an_index_of_64_bits(begin: int) -> None:
    """It is compared in 32 bits only where it fits."""
    kernel = wide([f"gt {begin}", f"ge {begin + 3}", f"lt {begin + 97}"], begin)
    wanted = left(kernel, 0)
    assert version(kernel)
    assert left(kernel, 0) == wanted
    assert sorted(limits(kernel)) == [("ge", begin + 3), ("le", begin + 96)]
    (task,) = parallel_tasks(kernel)
    asked = {str(op.lhs.type) for op in task.body if isinstance(op, ops.Binary) and op.kind in ("le", "ge")}
    assert asked == {"i32" if -(2**31) <= begin <= 2**31 - 100 else "i64"}


def test_a_bound_that_32_bits_cannot_hold() -> None:
    """The index fits in 32 bits, and the bound does not."""
    kernel = wide(["gt 0", "ge 3", f"ge {-(2**40)}", f"le {2**33}", "lt 98"], 0)
    wanted = left(kernel, 0)
    version(kernel)
    assert left(kernel, 0) == wanted
    for test in (f"ge {-(2**40)}", f"le {2**33}"):
        alone = wide([test] * 3, 0)
        wanted = left(alone, 0)
        version(alone)
        assert left(alone, 0) == wanted


def general(kernel: ops.Kernel) -> list[ops.If]:
    """The branches between both versions."""
    return [op for op in kernel.all_of(ops.If) if op.general]


@pytest.mark.parametrize("seed", every(6, range(48)))
def test_the_second_version_is_right_for_all_iterations(seed: int) -> None:
    """SIMD lanes that disagree all run it."""
    kernel = lowered(text_of(seed))
    wanted = [left(kernel, n) for n in (41, 1000)]
    assert version(kernel) == bool(general(kernel))
    for one in general(kernel):
        one.set_operand(0, Builder.at(one).add(ops.Const(False, type=u1)))
    assert [left(kernel, n) for n in (41, 1000)] == wanted


def test_versions_do_not_change_places() -> None:
    """The condition of the second one is negated: `orelse` would then be right for some iterations only."""
    kernel = loop(["gt 0", "ge 3", "lt 97"])
    assert version(kernel)
    (one,) = general(kernel)
    first = print_ir(one.then)
    one.set_operand(0, Builder.at(one).add(ops.Unary("not", one.condition)))
    one.then, one.orelse = one.orelse, one.then
    run_passes(kernel, ("full_simplify",), CONFIG, level="lowered")
    (one,) = general(kernel)
    assert print_ir(one.orelse) == first
