"""Schedules are judged by running tasks as they say: a right one changes nothing, a wrong one shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from tests.generate import Program, chi_kernels
from tests.sampling import draws
from weft.ir.adversary import Schedule
from weft.ir.config import CompileConfig
from weft.ir.errors import InternalError
from weft.ir.evaluate import evaluate
from weft.ir.gpu_machine import groups_of
from weft.ir.memory_model import Fault, Memory
from weft.ir.ops import Address, Aligned, Atomic, AtomicRow, Binary, Clamp, For, Kernel, Load, Store, Task
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, map_to_target, run_passes
from weft.ir.target import ADDS_VECTORS, CUDA, Target
from weft.ir.tasks import tasks_of

GPU = CompileConfig(arch="cuda", traits=CUDA, target=Target("gpu", features=frozenset({ADDS_VECTORS})), verify=True)
CPU = CompileConfig(target=Target("cpu", features=frozenset({"avx2"}), threads=4), verify=True)
SEEDS = range(3)
FEWER_SEEDS = range(draws(3))  # where each must agree
FOLDER = Path(__file__).parent / "golden" / "mapping"
EXACT = CompileConfig(fast_math=False)


def run(kernel: Kernel, schedule: Schedule | None = None) -> dict[str, Any]:
    memory = Memory.of(kernel.fields)
    for symbol in kernel.fields:
        shape, whole = memory.read(symbol).shape, memory.read(symbol).dtype.kind in "iu"
        numbers = np.random.default_rng(1).integers(0, 9, shape)
        memory.write(symbol, numbers if whole else numbers * 0.5)
    evaluate(kernel, [2 for _ in kernel.params], memory, EXACT, schedule=schedule)
    return {symbol.name: memory.read(symbol) for symbol in kernel.fields}


def agree(kernel: Kernel, mapped: Kernel, seeds: range = SEEDS) -> bool:
    """Whether all orders that the schedules leave open give what the kernel gives, but for the last digits of sums."""
    expected = run(kernel)
    try:
        found = [run(mapped, Schedule(seed)) for seed in seeds]
    except (Fault, InternalError):
        return False
    return all(np.allclose(one[name], expected[name], rtol=1e-4) for one in found for name in expected)


def copy(kernel: Kernel) -> Kernel:
    made = kernel.clone({})
    assert isinstance(made, Kernel)
    return made


def mapped(kernel: Kernel, config: CompileConfig = GPU) -> Kernel:
    made = copy(kernel)
    map_to_target(made, (), config)
    return made


FEWER: dict[str, dict[str, str]] = {  # elements along an axis
    "choose_axes": {"64": "6", "512": "13"},
    "warps_per_row": {"64": "2"},
    "peel_boundaries": {"256": "61", "255": "60"},
    "unroll_and_jam": {"256": "61"},
    "privatize_in_blocks": {"4096": "300"},
    "widen_atomics": {"4096": "300", "16": "2100"},  # too many to be copied
}


def lowered(name: str) -> Kernel:
    """The kernel of a golden file, without the schedule that some of them come with, and with fewer iterations."""
    text = (FOLDER / f"{name}.before.chi").read_text()
    for old, new in FEWER[name].items():
        text = re.sub(rf"\b{old}\b", new, text)
    if name == "unroll_and_jam":
        text = text.replace("%end = const 61", "%end = const 58")  # its taps lie behind
    made = parse(text)
    for task in tasks_of(made):
        task.schedule = replace(task.schedule, across=1, busy=0)
        for op in task.prologue:
            if op.opname == "aligned":
                op.erase()
    return made


@pytest.mark.parametrize("name", FEWER)
def test_right_schedules_change_nothing(name: str) -> None:
    kernel = lowered(name)
    assert agree(kernel, mapped(kernel), FEWER_SEEDS)
    assert agree(kernel, mapped(kernel, CPU), FEWER_SEEDS)


@settings(max_examples=draws(25), deadline=None)
@given(chi_kernels())
def test_random_kernels(program: Program) -> None:
    kernel = program.kernel
    run_passes(kernel, TO_TASKS + TO_LOWERED, EXACT, None, "untyped")
    memories = []
    for schedule in (None, Schedule(0), Schedule(1)):
        made = copy(kernel) if schedule is None else mapped(kernel)
        memory = program.memory()
        results = evaluate(made, program.args, memory, EXACT, schedule=schedule)
        memories.append([results, *(memory.read(symbol) for symbol in made.fields)])
    for other in memories[1:]:
        np.testing.assert_equal(other, memories[0])


SHORT = """\
kernel @k() -> () {
  field @x: i64[8] tree=0 components=(0) terms=((0, 1, 8, 8)) order=(0)
  task range_for bounds {
    %zero = const 0 : i64
    %end = const 8 : i64
    yield begins=[%zero], ends=[%end]
  } prologue {
    %base = tree_base tree=0 : *i64
    %eight = const 8 : i64
    %one = const 1 : i64
    %trips = const TRIPS : i64
  } body (%i: i64) {
    %p = address %base, indices=[%i], strides=[%eight], offset=0, scope="field:x" : *i64
    %sum = alloca : *i64
    store %sum, %i
    for %zero, %trips, %one, schedule={jam=4} (%k: i64) {
      %three = const 3 : i64
      %much = binary mul %k, %three : i64
      %old = load %sum : i64
      %new = binary add %old, %much : i64
      store %sum, %new
    }
    %total = load %sum : i64
    store %p, %total
  }
}
"""


@pytest.mark.parametrize("trips", [0, 1, 3, 4, 6])
def test_a_loop_may_be_shorter_than_what_runs_at_once(trips: int) -> None:
    kernel = parse(SHORT.replace("TRIPS", str(trips)))
    memory = Memory.of(kernel.fields)
    evaluate(kernel, [], memory, EXACT)
    assert memory.read(kernel.fields[0]).tolist() == [i + 3 * sum(range(trips)) for i in range(8)]


# ---- schedules that are wrong ----------------------------------------------------------------------------------------


def task_of(kernel: Kernel) -> Task:
    return tasks_of(kernel)[-1]


def coarsened(kernel: Kernel) -> None:
    """Neighbours that read what others write, together."""
    task_of(kernel).schedule = replace(task_of(kernel).schedule, across=4)


def farther(kernel: Kernel) -> None:
    """A clamp of an index that lies farther out than it says."""
    for clamp in kernel.all_of(Clamp):
        clamp.low = clamp.high = 0


def shared(kernel: Kernel) -> None:
    """The rounds of a loop that have something from one another."""
    for loop in kernel.all_of(For):
        loop.schedule = replace(loop.schedule, warp=True, jam=0)


def invariant(kernel: Kernel) -> None:
    """Loads of what the rounds change, ahead of that."""
    for load in kernel.all_of(Load):
        load.invariant = True
    for loop in kernel.all_of(For):
        loop.schedule = replace(loop.schedule, jam=4)


def four_at_once(kernel: Kernel) -> None:
    """Rounds that read what rounds of the last step have stored."""
    for loop in kernel.all_of(For):
        loop.schedule = replace(loop.schedule, jam=4)


def loads_ahead(kernel: Kernel) -> None:
    """The same, loaded before it is stored."""
    for loop in kernel.all_of(For):
        loop.schedule = replace(loop.schedule, jam=4, ahead=True)


def loads_for_all(kernel: Kernel) -> None:
    """Iterations that read places of their own, loaded once for all that a thread runs."""
    task = task_of(kernel)
    task.schedule = replace(task.schedule, across=4)
    task.prologue.append(Aligned([], [], span=task.span))
    loads_ahead(kernel)


def another_operator(kernel: Kernel) -> None:
    task = task_of(kernel)
    task.schedule = replace(task.schedule, privatized=tuple(replace(c, kind="max") for c in task.schedule.privatized))


def plain_updates(kernel: Kernel) -> None:
    """Updates of a copy that are not atomic: right if each thread has a copy of its own, and wrong in a block."""
    task = task_of(kernel)
    task.schedule = replace(task.schedule, privatized=tuple(replace(c, copies=1) for c in task.schedule.privatized))
    for op in kernel.all_of(Atomic):
        assert op.block is not None
        old = op.block.insert(Load(op.ptr, type=op.type), op)
        total = op.block.insert(Binary(op.kind, old, op.value, type=op.type), op)
        op.block.insert(Store(op.ptr, total), op)
        op.erase()


def as_many_as_fit(kernel: Kernel) -> None:
    """A number of copies that is no power of two."""
    task = task_of(kernel)
    task.schedule = replace(task.schedule, privatized=tuple(replace(c, copies=3) for c in task.schedule.privatized))


def misplaced(kernel: Kernel) -> None:
    """A row of sums that does not begin at a multiple of its size."""
    for row in kernel.all_of(AtomicRow):
        assert isinstance(row.ptr, Address)
        row.ptr.offset += 4


NEIGHBOURS = """\
kernel @k() -> () {
  field @x: f32[64] tree=0 components=(0) terms=((0, 1, 64, 4)) order=(0)
  field @y: f32[64] tree=0 components=(256) terms=((0, 1, 64, 4)) order=(0)
  task range_for bounds {
    %zero = const 0 : i64
    %end = const END : i64
    yield begins=[%zero], ends=[%end]
  } prologue {
    %base = tree_base tree=0 : *i64
    %four = const 4 : i64
    %begin = const 0 : i64
    %one = const 1 : i64
    %few = const 40 : i64
  } body (%i: i64) {
    BODY
  }
}
"""
LAST = """\
%p = address %base, indices=[%begin], strides=[%four], offset=0, scope="field:x" : *f32
%v = load %p : f32
for %begin, %few, %one (%k: i64) {
  %q = address %base, indices=[%k], strides=[%four], offset=0, scope="field:x" : *f32
  %w = load %q : f32
  %t = binary add %w, %w : f32
  %r = address %base, indices=[%k], strides=[%four], offset=4, scope="field:x" : *f32
  store %r, %t
}"""
OLD = """\
%p = address %base, indices=[%i], strides=[%four], offset=0, scope="field:x" : *f32
%v = load %p : f32
%w = binary add %v, %v : f32
%q = address %base, indices=[%i], strides=[%four], offset=4, scope="field:x" : *f32
store %q, %w"""
MEAN = """\
%s = alloca : *f32
%h = const 0.5 : f32
store %s, %h
for %begin, %few, %one (%k: i64) {
  %q = address %base, indices=[%k], strides=[%four], offset=0, scope="field:x" : *f32
  %w = load %q, invariant=true : f32
  %o = load %s : f32
  %m = binary mul %o, %h : f32
  %n = binary add %m, %w : f32
  store %s, %n
}
%e = load %s : f32
%r = address %base, indices=[%i], strides=[%four], offset=256, scope="field:y" : *f32
store %r, %e"""


LATER = """\
for %begin, %few, %one (%k: i64) {
  %q = address %base, indices=[%k], strides=[%four], offset=0, scope="field:x" : *f32
  %w = load %q, invariant=true : f32
  %t = binary add %w, %w : f32
  %r = address %base, indices=[%k], strides=[%four], offset=16, scope="field:x" : *f32
  store %r, %t
}"""
OWN = """\
%s = alloca : *f32
%h = const 0.5 : f32
store %s, %h
for %begin, %few, %one (%k: i64) {
  %j = binary add %i, %k : i64
  %q = address %base, indices=[%j], strides=[%four], offset=0, scope="field:x" : *f32
  %w = load %q, invariant=true : f32
  %o = load %s : f32
  %n = binary add %o, %w : f32
  store %s, %n
}
%e = load %s : f32
%r = address %base, indices=[%i], strides=[%four], offset=256, scope="field:y" : *f32
store %r, %e"""


def written(body: str, iterations: int) -> Kernel:
    return parse(NEIGHBOURS.replace("BODY", body).replace("END", str(iterations)))


WRONG: list[tuple[Callable[[], Kernel], Callable[[Kernel], None]]] = [
    (lambda: written(OLD, 63), coarsened),
    (lambda: written(LAST, 1), invariant),
    (lambda: written(MEAN, 9), shared),
    (lambda: written(LATER, 1), loads_ahead),
    (lambda: written(OWN, 16), loads_for_all),
    (lambda: lowered("peel_boundaries"), farther),
    (lambda: lowered("privatize_in_blocks"), another_operator),
    (lambda: lowered("privatize_in_blocks"), plain_updates),
    (lambda: lowered("privatize_in_blocks"), as_many_as_fit),
    (lambda: lowered("widen_atomics"), misplaced),
]


@pytest.mark.parametrize(("make", "spoil"), WRONG, ids=[spoil.__name__ for _, spoil in WRONG])
def test_wrong_schedules_show(make: Callable[[], Kernel], spoil: Callable[[Kernel], None]) -> None:
    kernel = make()
    spoiled = mapped(kernel)
    spoil(spoiled)
    assert not agree(kernel, spoiled)


def test_only_loads_ahead_come_too_early() -> None:
    kernel = written(LATER, 1)
    spoiled = mapped(kernel)
    four_at_once(spoiled)
    assert agree(kernel, spoiled)


# ---- alignment -------------------------------------------------------------------------------------------------------

ARRAY = """\
kernel @k(a: [f32; 1]) -> () {
  task range_for schedule={across=4} bounds {
    %zero = const 0 : i64
    %end = const END : i64
    yield begins=[%zero], ends=[%end]
  } prologue {
    %base = array_base index=0 : *i64
    %four = const 4 : i64
    aligned values=[%base], taps=[]
  } body (%i: i64) {
    %p = address %base, indices=[%i], strides=[%four], offset=0, scope="array:0" : *f32
    %v = load %p : f32
    %w = binary add %v, %v : f32
    %q = address %base, indices=[%i], strides=[%four], offset=4, scope="array:0" : *f32
    store %q, %w
  }
}
"""


def doubled(skipped: int) -> list[float]:
    """Each number twice the one before, in an array that begins at that many numbers after a multiple of 16 bytes."""
    memory = np.ones(64, np.float32)
    first = -memory.ctypes.data // 4 % 4 + skipped
    array = memory[first : first + 9]
    evaluate(parse(ARRAY.replace("END", "8")), [array], Memory([]), EXACT)
    return [float(number) for number in array]


@pytest.mark.parametrize("skipped", [0, 1, 2, 3])
def test_iterations_run_together_where_words_are_aligned(skipped: int) -> None:
    """All of a group read before one of them writes; one iteration after another doubles eight times."""
    assert doubled(skipped) == ([1, 2, 2, 2, 2, 4, 2, 2, 2] if skipped == 0 else [2**k for k in range(9)])


def test_groups_begin_at_whole_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code generation relies on it."""
    monkeypatch.setattr("weft.ir.evaluate_threads.groups_of", lambda points, **_: [tuple(points[1:5])])
    with pytest.raises(InternalError, match="should be a multiple of 16"):
        doubled(0)


def test_groups_in_trees_begin_at_whole_words(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = written(OLD.replace('scope="field:x" : *f32\nstore', 'scope="field:y" : *f32\nstore'), 8)
    loads_for_all(kernel)
    run(kernel)
    monkeypatch.setattr("weft.ir.evaluate_threads.groups_of", lambda points, **_: [tuple(points[1:5])])
    with pytest.raises(InternalError, match="should be a multiple of 16"):
        run(kernel)


def test_nothing_is_known_of_arrays_that_are_not_asked_about() -> None:
    memory = np.ones(64, np.float32)
    first = -memory.ctypes.data // 4 % 4
    text = ARRAY.replace("END", "8").replace("[f32; 1])", "[f32; 1], b: [f32; 1])")
    text = text.replace("%four =", "%other = array_base index=1 : *i64\n    %four =")
    text = text.replace(
        '%base, indices=[%i], strides=[%four], offset=4, scope="array:0"',
        '%other, indices=[%i], strides=[%four], offset=0, scope="array:1"',
    )
    apart = memory[first + 17 : first + 26]
    evaluate(parse(text), [memory[first : first + 9], apart], Memory([]), EXACT)
    assert apart.tolist() == [2] * 8 + [1]


def test_groups_along_each_axis() -> None:
    points = [*enumerate((i, j) for i in range(1, 5) for j in range(3, 9))]
    groups = [tuple(point for _, point in group) for group in groups_of(points, 4, 2)]
    assert sorted(len(group) for group in groups) == [1, 1, 1, 1, 2, 2, 4, 4, 8]
    assert ((2, 3), (3, 3)) in groups  # a row is complete, and a column is not
    assert tuple((i, j) for i in (2, 3) for j in (4, 5, 6, 7)) in groups


# ---- rows that begin anywhere ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("schedule", "right"), [("unroll=4", True), ("unroll=4", False), ("unroll=2", True)])
def test_rows_begin_where_code_knows(schedule: str, right: bool) -> None:
    """Elements of a column are in rows that begin elsewhere, and no row is known before the loop."""
    text = (FOLDER / "version_rows.chi").read_text()
    plain = parse(text.replace(", phased=true", ""))
    if not right:
        text = text.replace('offset=0, scope="field:x" :', 'offset=0, scope="field:x", phased=true :')
        with pytest.raises(InternalError, match="knows one place where its rows begin"):
            run(parse(text))
        return
    assert agree(plain, parse(text.replace("unroll=4", schedule)))


def test_plain_updates_of_copies_are_right_where_threads_share_none() -> None:
    kernel = lowered("privatize_in_blocks")
    spoiled = mapped(kernel)
    plain_updates(spoiled)
    task_of(spoiled).schedule = replace(task_of(spoiled).schedule, block=())
    assert agree(kernel, spoiled)
