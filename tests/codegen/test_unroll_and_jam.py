"""Unroll-and-jam: which ops are emitted once for several iterations, and which for each of them: the LLVM text."""

from __future__ import annotations

import textwrap

import pytest

from weft.codegen.gpu.device_writer import DeviceWriter
from weft.codegen.gpu.dialect import device_hooks
from weft.codegen.gpu.ops import DEVICE
from weft.codegen.gpu.unroll_and_jam import write_jammed, write_sum
from weft.codegen.llvm.module import ModuleWriter
from weft.codegen.nvptx.dialect import dialect
from weft.codegen.nvptx.math_library import CudaMath
from weft.ir.artifact import CudaTarget, Slots
from weft.ir.config import CompileConfig
from weft.ir.mapping.serial_loops import fetched_ahead, independent_and_ordered, is_short, trips_of, worth_it
from weft.ir.ops import Binary, For, Task
from weft.ir.parse import parse
from weft.ir.pipeline import find_pass
from weft.ir.schedule import Schedule
from weft.ir.target import CUDA
from weft.ir.tasks import tasks_of

KERNEL = """\
kernel @k(n: i32) -> () {{
  task range_for bounds {{
    %from = const 0 : i64
    %to = const 5000 : i64
    yield begins=[%from], ends=[%to]
  }} prologue {{
    %base = tree_base tree=0 : *i64
    %n = scalar_arg index=0, part=0 : i32
    %m = cast %n : i64
    %u = cast %n : u32
    %none = const 0 : u32
    %each = const 1 : u32
    %zero = const 0 : i64
    %one = const 1 : i64
    %two = const 2 : i64
    %four = const 4 : i64
    %eight = const 8 : i64
    %many = const 64 : i64
    %odd = const 67 : i64
    %most = const 32 : i64
    %more = const 33 : i64
    %row = const 2048 : i64
    %fixed = address %base, indices=[], strides=[], offset=4096, scope="field:b" : *f32
  }} body (%i: i64) {{
    %x = const 0.5 : f32
    %here = address %base, indices=[%i], strides=[%four], offset=0, scope="field:y" : *f32
{body}
  }}
}}
"""
LOAD = """\
%p = address %base, indices=[{}], strides=[%four], offset=0, scope="field:a" : *f32
%v = load %p, invariant=true : f32
"""
ADD = "%a = atomic add %here, %v : f32\n"


def task_of(body: str) -> Task:
    """A task of which threads take two iterations together, with its loops scheduled for that."""
    kernel = parse(KERNEL.format(body=textwrap.indent(textwrap.dedent(body), "    ")))
    (task,) = tasks_of(kernel)
    task.schedule = Schedule(across=2)
    find_pass("unroll_and_jam")(kernel, CompileConfig(arch="cuda", traits=CUDA))
    return task


def writer() -> DeviceWriter:
    spellings = dialect(CudaTarget())
    module = ModuleWriter(CompileConfig(arch="cuda", traits=CUDA), Slots(1, (), (), 0))
    return DeviceWriter(module, device_hooks(spellings, CudaMath()), emitters=DEVICE)


def together(body: str) -> str:
    """The body for two neighbours."""
    task, f = task_of(body), writer()
    (i,) = task.body.args
    f.values.update((op, f"%{op.name}") for op in task.prologue if type(op).__name__ not in ("Const",))
    write_jammed(f, task.body, [{**f.values, i: f"%i{k}"} for k in range(2)], {i})
    return "\n".join(f.lines)


def loop(limits: str, body: str, index: str = "%k: i64") -> str:
    return f"for {limits} ({index}) {{\n{textwrap.indent(body, '  ')}}}\n"


ROUND = LOAD.format("%k") + ADD
BOTH = LOAD.format("%k, %i").replace("[%four]", "[%four, %row]") + ADD
CASES = {
    # The same for both neighbours: written once.
    "%a = binary mul %m, %m : i64\n%b = binary add %a, %i : i64": (("mul i64", 1), ("add i64", 2)),
    "%w = load %fixed, invariant=true : f32\n%a = atomic add %here, %w : f32": ((" load float", 1), ("atomicrmw", 2)),
    # Not the same: what may have changed, and what depends on the place.
    "%w = load %fixed : f32\n%a = atomic add %here, %w : f32": ((" load float", 2), ("atomicrmw", 2)),
    LOAD.format("%i") + ADD: ((" load float", 2), ("atomicrmw", 2)),
    # Each has its own rounds where their number differs, or the loop counts in another way.
    loop("%zero, %i, %one", ADD.replace("%v", "%x")): (("phi", 2), (", %i0", 1), (", %i1", 1)),
    loop("%i, %m, %one", ADD.replace("%v", "%x")): (("phi", 2),),
    loop("%zero, %m, %two", ADD.replace("%v", "%x")): (("phi", 2), (" 2\n", 2), ("atomicrmw", 2)),
    loop("%zero, %m, %m", ADD.replace("%v", "%x")): (("phi", 2), ("atomicrmw", 2)),
    loop("%none, %u, %each", ADD.replace("%v", "%x"), "%k: u32"): (("phi", 2), ("ult i32", 2), ("atomicrmw", 2)),
    loop("%zero, %m, %one", ADD.replace("%v", "%x")): (("phi", 1), ("atomicrmw", 2)),
    # Rounds side by side, where they load something of their own: four of both, then those that are left.
    loop("%i, %odd, %one", ROUND): (("phi", 4), (" load float", 10), ("atomicrmw", 10), ("select", 2)),
    # Not of a loop with a loop inside: that is written once, the inner one as it is, here for each neighbour.
    loop("%zero, %odd, %one", ROUND + loop("%zero, %i, %one", "", "%h: i64")): (("phi", 3), ("atomicrmw", 2)),
    # Nor where nothing is loaded that depends on the round.
    loop("%i, %odd, %one", LOAD.format("%i") + ADD): (("phi", 2), (" load float", 2), ("atomicrmw", 2)),
    # A number of rounds that is known: no round is left, or some are.
    loop("%two, %many, %one", BOTH): (("phi", 2), (", 15", 1), ("select", 0), ("sideeffect", 0)),
    loop("%zero, %many, %one", BOTH): (("phi", 1), (", 16", 1), ("add i64", 3), ("sideeffect", 0)),
}


@pytest.mark.parametrize("body", CASES)
def test_two_neighbours(body: str) -> None:
    text = together(body)
    assert [(part, text.count(part)) for part, _ in CASES[body]] == list(CASES[body]), text


def loop_of(body: str) -> For:
    (op,) = (op for op in task_of(body).body if isinstance(op, For))
    return op


@pytest.mark.parametrize(
    ("limits", "trips", "short"),
    [
        ("%zero, %most, %one", 32, True),
        ("%zero, %more, %one", 33, False),
        ("%zero, %more, %two", 17, True),
        ("%one, %zero, %one", 0, False),
        ("%zero, %most, %zero", None, False),
        ("%zero, %m, %one", None, False),
        ("%m, %most, %one", None, False),
        ("%zero, %most, %m", None, False),
    ],
)
def test_numbers_of_rounds(limits: str, trips: int | None, short: bool) -> None:
    op = loop_of(loop(limits, ""))
    assert trips_of(op) == trips
    assert is_short(op) is short


@pytest.mark.parametrize(
    ("limits", "body", "worth"),
    [
        ("%zero, %m, %one", ROUND, True),
        ("%zero, %eight, %one", ROUND, True),
        ("%one, %eight, %one", ROUND, False),
        ("%zero, %m, %two", ROUND, False),
        ("%zero, %m, %m", ROUND, False),
        ("%none, %u, %each", ROUND, False),
        ("%zero, %m, %one", ROUND + loop("%zero, %m, %one", "", "%h: i64"), False),
        ("%zero, %m, %one", ROUND + "while {\n}\n", False),
        ("%zero, %m, %one", ROUND + "if %t then {\n  break\n}\n", False),
        ("%zero, %m, %one", ROUND.replace(", invariant=true", ""), False),
        ("%zero, %m, %one", LOAD.format("%i"), False),
        ("%zero, %m, %one", LOAD.format("%k").splitlines()[0] + "\n", False),
        ("%zero, %m, %one", LOAD.format("%i") + "%w = binary add %k, %k : i64\n", False),
    ],
)
def test_which_loops_run_side_by_side(limits: str, body: str, worth: bool) -> None:
    index = "%k: u32" if "%none" in limits else "%k: i64"
    op = loop_of("%t = const true : u1\n" + loop(limits, body, index))
    independent, ordered = independent_and_ordered(op.body)
    assert worth_it(op, independent) is worth
    assert {*independent, *ordered} == {*op.body}


def test_what_is_asked_for_ahead() -> None:
    """The loads of a round, with what they need; not what is the same in all rounds."""
    body = """\
        %next = binary add %k, %one : i64
        %q = address %base, indices=[%next], strides=[%four], offset=0, scope="field:a" : *f32
        %v = load %q, invariant=true : f32
        %w = load %fixed, invariant=true : f32
        %s = binary mul %v, %w : f32
        %t = cast %next : f32
        %sum = binary add %s, %t : f32
        %b = atomic add %here, %sum : f32
    """
    op = loop_of(loop("%zero, %m, %one", textwrap.dedent(body)))
    fetched, computed = fetched_ahead(op, independent_and_ordered(op.body)[0])
    assert [one.name for one in fetched] == ["next", "q", "v"]
    assert [one.name for one in computed] == ["next", "q", "w", "s", "t", "sum"]
    text = together(loop("%zero, %m, %one", textwrap.dedent(body)))
    assert text.count("store ") == 2 * 8  # eight rounds, before the loop and in it
    assert text.count("sideeffect") == 2


@pytest.mark.parametrize(
    ("sum", "ahead"),
    [
        ("binary add %i, %two", 5),
        ("binary add %two, %i", 5),
        ("binary sub %i, %two", 1),
        ("binary sub %two, %i", None),
        ("binary mul %i, %two", None),
        ("binary min %two, %i", None),
        ("binary add %i, %m", None),
        ("binary add %m, %two", None),
    ],
)
def test_sums_of_which_it_is_known_what_they_add(sum: str, ahead: int | None) -> None:
    task, f = task_of(f"%c = {sum} : i64"), writer()
    (i,), op = task.body.args, task.body.last
    assert isinstance(op, Binary)
    f.values = {i: "%i3", **{op: "%m" for op in task.prologue if op.name == "m"}}
    f.indices.steps = {"%i3": ("%i0", 3)}
    result = write_sum(f, op)
    assert result is not None
    assert f.indices.steps.get(result) == (None if ahead is None else ("%i0", ahead))
