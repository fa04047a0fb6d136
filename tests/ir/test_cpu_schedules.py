"""Tasks that are mapped to a CPU mean the same as before: in vectors, with rounds in vectors, with copies of fields."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.generate import Program, chi_kernels
from tests.generate_tree import kernel_trees, program_of
from tests.ir.test_passes_agree import outcome
from tests.sampling import draws, every
from weft.ir import uniform
from weft.ir.adversary import Schedule
from weft.ir.config import CompileConfig
from weft.ir.errors import InternalError
from weft.ir.evaluate import evaluate
from weft.ir.mapping import fold_choice, lane_choice
from weft.ir.memory_model import Memory
from weft.ir.ops import Kernel, Load, Store
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, map_to_target, run_passes
from weft.ir.target import Target
from weft.ir.tasks import parallel_tasks
from weft.ir.text import print_ir
from weft.ir.verify import verify

GOLDEN = Path(__file__).parent / "golden" / "mapping"
CPU = Target("cpu", features=frozenset({"avx2"}), threads=3)
EXACT = CompileConfig(fast_math=False, target=CPU)
examples = settings(
    max_examples=draws(16),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate),
)


def mapped(kernel: Kernel, config: CompileConfig, lanes: int = 0) -> Kernel:
    """The kernel, mapped to a CPU, with so many lanes if its loops may run in lanes."""
    for task in parallel_tasks(kernel):
        task.config = replace(task.config, simd=lanes)
    map_to_target(kernel, (), replace(config, verify=True))
    return kernel


def agree(program: Program, lanes: int, config: CompileConfig = EXACT) -> None:
    """The kernel leaves the same as its schedule says as it does one iteration after another."""
    run_passes(program.kernel, TO_TASKS + TO_LOWERED, config, None, "untyped")
    expected = outcome(program.kernel, program, config)
    mapped(program.kernel, config, lanes)
    for schedule in (None, Schedule(0), Schedule(lanes)):
        found = outcome(program.kernel, program, config, schedule)
        for what, value in expected.items():
            if not np.array_equal(found[what], value):
                pytest.fail(f"{what} is {found[what]}, not {value}, under {schedule}\n{print_ir(program.kernel)}")


@examples
@given(program=chi_kernels(mixed=True), lanes=st.sampled_from((2, 4, 8, 32)))
def test_random_kernels(program: Program, lanes: int) -> None:
    agree(program, lanes)


@examples
@given(drawn=kernel_trees(), lanes=st.sampled_from((0, 2, 4, 16)))
def test_random_trees(drawn: Any, lanes: int) -> None:
    with pytest.MonkeyPatch.context() as patch:  # without lanes for iterations, rounds have them wherever they may
        patch.setattr(fold_choice, "_MARGIN", 0.0)
        patch.setattr(lane_choice, "_MARGIN", float("inf"))
        agree(program_of(drawn, EXACT), lanes)


def vectorized(text: str) -> Kernel:
    """A mapped kernel, with vectors for the iterations that run in lanes."""
    return run_passes(parse(text), ["choose_moves", "vectorize"], replace(EXACT, verify=True), None, "mapped")


def run(kernel: Kernel, schedule: Schedule | None = None, **fields: Any) -> dict[str, Any]:
    """What the fields hold in the end."""
    memory = Memory.of(kernel.fields)
    for symbol in kernel.fields:
        if symbol.name in fields:
            memory.write(symbol, fields[symbol.name])
    evaluate(kernel, [], memory, EXACT, schedule=schedule)
    return {symbol.name: memory.read(symbol) for symbol in kernel.fields}


@pytest.mark.parametrize("schedule", every(2, [Schedule(3), None]), ids=["adversary", "in order"])
def test_loops_in_lanes_and_loops_of_lanes(schedule: Schedule | None) -> None:
    text = (GOLDEN / "choose_lanes.chi").read_text()
    assert "lanes=16" in text
    plain = parse(re.sub(r",? schedule=\{[^}]*\}", "", text))
    start = np.cumsum(np.arange(128) % 4).reshape(64, 2) % 60
    given: dict[str, Any] = {"start": np.sort(start, axis=1), "x": np.arange(64) / 8, "y": np.arange(64)[::-1] / 16}
    want = run(plain, **given)
    found = run(vectorized(text), schedule, **given)
    np.testing.assert_array_equal(found["out"], want["out"])
    np.testing.assert_allclose(found["near"], want["near"], rtol=1e-5)
    assert want["out"].std() > 1
    assert want["near"].std() > 0


SCATTER = """\
kernel @k() -> () {
  field @h: i32[4] tree=0 components=(0) terms=((0, 1, 4, 4))
  field @seen: i32[32] tree=1 components=(0) terms=((0, 1, 32, 4))
  task range_for schedule={privatized=COPIES} bounds {
    %zero = const 0 : i64
    %end = const 32 : i64
    yield begins=[%zero], ends=[%end]
  } prologue {
    %base = tree_base tree=0 : *i64
    %other = tree_base tree=1 : *i64
    %four = const 4 : i64
    %three = const 3 : i64
  } body (%i: i64) {
    %k = binary and %i, %three : i64
    %v = cast %i : i32
    %p = address %base, indices=[%k], strides=[%four], offset=0, scope="field:h" : *i32
    %old = atomic KIND %p, %v : i32
    MORE
  }
}
"""
COPIES = '({scope="field:h", tree=0, low=0, words=4, kind=KIND, type=i32, reach=4})'
READ = """\
%now = load %p : i32
    %q = address %other, indices=[%i], strides=[%four], offset=0, scope="field:seen" : *i32
    store %q, %now
"""


@pytest.mark.parametrize(("kind", "want"), [("add", [122, 130, 138, 146]), ("max", [28, 29, 30, 31])])
def test_threads_have_copies_that_are_merged(kind: str, want: list[int]) -> None:
    made = parse(SCATTER.replace("COPIES", COPIES).replace("KIND", kind).replace("MORE", ""))
    for schedule in (None, *map(Schedule, range(6))):
        given = {"h": [10, 10, 10, 10]} if kind == "add" else {"h": [5, 5, 5, 5]}
        assert run(made, schedule, **given)["h"].tolist() == want


def test_what_reads_a_field_sees_that_it_is_a_copy() -> None:
    """The verifier refuses that; if it did not, the evaluator would show it."""
    text = SCATTER.replace("COPIES", COPIES).replace("KIND", "add").replace("MORE", READ)
    privately = run(parse(text), h=[100, 100, 100, 100])["seen"]
    alone = parse(text)
    for task in parallel_tasks(alone):
        task.schedule = replace(task.schedule, privatized=())
    assert (run(alone, h=[100, 100, 100, 100])["seen"] >= 100).all()
    assert (privately < 500).all()
    assert (privately[:4] < 100).all()


DIVERGENT = """\
kernel @k() -> () {
  field @x: i32[32] tree=0 components=(0) terms=((0, 1, 32, 4))
  field @y: i32[32] tree=1 components=(0) terms=((0, 1, 32, 4))
  task range_for schedule={lanes=8} bounds {
    %zero = const 0 : i64
    %end = const 29 : i64
    yield begins=[%zero], ends=[%end]
  } prologue {
    %base = tree_base tree=0 : *i64
    %other = tree_base tree=1 : *i64
    %four = const 4 : i64
    %none = const 0 : i32
    %one = const 1 : i32
    %three = const 3 : i32
  } body (%i: i64) {
    %p = address %base, indices=[%i], strides=[%four], offset=0, scope="field:x" : *i32
    %x = load %p : i32
    %n = alloca : *i32
    store %n, %none
    %rounds = alloca : *i32
    store %rounds, %none
    while {
      %r = load %rounds : i32
      %out = binary ge %r, %x : u1
      if %out then {
        break
      }
      %more = binary add %r, %one : i32
      store %rounds, %more
      %odd = binary and %more, %one : i32
      %skip = binary eq %odd, %one : u1
      %a = load %n : i32
      %b = binary add %a, %three : i32
      store %n, %b
    }
    %c = load %n : i32
    %q = address %other, indices=[%i], strides=[%four], offset=0, scope="field:y" : *i32
    store %q, %c
  }
}
"""


def test_lanes_leave_a_loop_one_by_one() -> None:
    x = np.arange(32) * 7 % 5
    for schedule in (None, Schedule(0), Schedule(5)):
        assert run(vectorized(DIVERGENT), schedule, x=x)["y"].tolist() == [*(3 * x[:29]).tolist(), 0, 0, 0]


def test_a_wrong_claim_about_a_value_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A load that differs from lane to lane is said to be the same in all. Its vector meets a scalar."""
    monkeypatch.setitem(uniform.RULES, Load, lambda facts, op: None)
    with pytest.raises(InternalError, match="has operands of different shapes"):
        vectorized(DIVERGENT)


def test_a_wrong_claim_about_a_local_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A local of which each lane needs its own is said to be one for all."""
    monkeypatch.setitem(uniform.RULES, Store, lambda facts, op: None)
    x = np.arange(32) * 7 % 5
    assert run(vectorized(DIVERGENT), x=x)["y"].tolist() != [*(3 * x[:29]).tolist(), 0, 0, 0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%x = load %p", "%x = load %p, move=one"),
        ("store %q, %c", "store %q, %c, move=one"),
        ("%a = load %n", "%a = load %n, move=adjacent"),
        ("store %q, %c", "store %q, %c, move=own"),
    ],
)
def test_a_wrong_claim_about_where_lanes_stand_is_refused(old: str, new: str) -> None:
    made = run_passes(parse(DIVERGENT), ["choose_moves"], EXACT, None, "mapped")
    verify(made, "mapped")
    text = re.sub(rf"{re.escape(old)}(, move=\w+)", new, print_ir(made))
    assert new in text
    with pytest.raises(InternalError, match="has the move"):
        verify(parse(text), "mapped")


def test_rounds_that_do_more_than_to_sum_up_do_not_run_in_lanes() -> None:
    text = (GOLDEN / "choose_lanes.chi").read_text()
    (old,) = [line for line in text.splitlines() if "store %n_total, " in line and "%n_11" not in line]
    made = parse(text.replace(old, "store %n_total, %n_24"))
    with pytest.raises(InternalError, match="runs its iterations in lanes, but does more than compute reductions"):
        verify(made, "mapped")


COMPONENTS = """\
kernel @k() -> () {
  field @m: f32x2x2[24] tree=0 components=(0, 4, 8, 12) terms=((0, 1, 24, 16)) order=(0)
  field @at: i32[24] tree=1 components=(0) terms=((0, 1, 24, 4)) order=(0)
  field @out: f32[24] tree=2 components=(0) terms=((0, 1, 24, 4)) order=(0)
  field @column: i32 tree=3 components=(0)
  %0 = const 0 : i32
  %1 = const 1 : i32
  %n = const 24 : i32
  %shared = field_ptr @column[] : *i32
  %k = load %shared : i32
  parallel_for begins=[%0], ends=[%n], config={simd=8} (%i: i32) {
    %p = field_ptr @at[%i] : *i32
    %j = load %p : i32
    %odd = binary and %j, %1 : i32
    %cell = field_ptr @m[WHERE] : *f32x2x2
    %above = element_ptr %cell[%0, COLUMN] : *f32
    %below = element_ptr %cell[%1, COLUMN] : *f32
    %a = load %above : f32
    %b = load %below : f32
    %sum = binary add %a, %b : f32
    %q = field_ptr @out[%i] : *f32
    store %q, %sum
  }
}
"""


@pytest.mark.parametrize("where", ["j", "i"])
@pytest.mark.parametrize("column", ["odd", "k"])
def test_cells_are_loaded_whole_only_from_their_beginning(where: str, column: str) -> None:
    """The second column of the last matrix ends where the field ends."""
    kernel = parse(COMPONENTS.replace("WHERE", f"%{where}").replace("COLUMN", f"%{column}"))
    run_passes(kernel, TO_TASKS + TO_LOWERED, EXACT)
    mapped(kernel, EXACT, 8)
    m, at = np.arange(96.0).reshape(24, 2, 2), 23 - np.arange(24) // 2 * 2
    columns = at % 2 if column == "odd" else np.ones(24, int)
    rows = at if where == "j" else np.arange(24)
    assert "<8 x f32>" in print_ir(kernel)
    assert run(kernel, m=m, at=at, column=1)["out"].tolist() == m[rows, :, columns].sum(axis=1).tolist()
