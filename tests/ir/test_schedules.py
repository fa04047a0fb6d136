"""Schedules: each pass that maps tasks to a target, on a small kernel, and what the verifier refuses.

`golden/mapping/NAME.before.chi` is the input of the pass NAME, lowered CHI; `NAME.chi` is what the pass makes of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from weft.ir.config import CompileConfig
from weft.ir.errors import InternalError
from weft.ir.parse import ParseError, parse
from weft.ir.pipeline import TO_LANES, TO_MAPPED, map_to_target, run_passes
from weft.ir.schedule import Schedule
from weft.ir.target import Target
from weft.ir.tasks import tasks_of
from weft.ir.text import print_ir
from weft.ir.verify import verify

FOLDER = Path(__file__).parent / "golden" / "mapping"
NAMES = sorted(path.name.removesuffix(".before.chi") for path in FOLDER.glob("*.before.chi"))
GPU = CompileConfig(arch="cuda", target=Target("gpu"), verify=True)

TASK = """\
kernel @k() -> () {
  task range_for schedule={SCHEDULE} bounds {
    %zero = const 0 : i64
    %end = const 256 : i64
    yield begins=[%zero], ends=[%end]
  } prologue {
    %one = const 1 : i64
    PROLOGUE
  } body (%i: i64) {
    %sum = alloca : *i64
    store %sum, %zero
    BEFORE
    for %BEGIN, %END, %STEP, schedule={LOOP} (%k: i64) {
      %old = load %sum : i64
      %new = binary add %old, %k : i64
      store %sum, %new
      MORE
    }
    AFTER
  } epilogue {
    EPILOGUE
  }
}
"""
PLACE = '%b = tree_base tree=0 : *i64\n%p = address %b, indices=[], strides=[], offset=0, scope="field:n" : *i64\n'
USUAL = {"SCHEDULE": "", "LOOP": "", "BEGIN": "one", "END": "one", "STEP": "one"}
PARTS = (*USUAL, "PROLOGUE", "BEFORE", "MORE", "AFTER", "EPILOGUE")


def task(**parts: str) -> str:
    text = TASK.replace("%zero\n", "%one\n")
    for name in PARTS:
        text = text.replace(name, parts.get(name, USUAL.get(name, "")))
    return text


@pytest.mark.parametrize("name", NAMES)
def test_text(name: str, golden: Callable[[str, str], None]) -> None:
    kernel = parse((FOLDER / f"{name}.before.chi").read_text())
    verify(kernel, "lowered")
    run_passes(kernel, (name,), GPU, None, "mapped")
    golden(f"mapping/{name}.chi", print_ir(kernel).rstrip() + "\n")
    assert print_ir(parse(print_ir(kernel))) == print_ir(kernel)


def test_each_pass_has_such_a_text() -> None:
    assert set(TO_MAPPED["gpu"] + TO_LANES["gpu"]) <= set(NAMES)


def test_only_mapped_kernels_have_schedules() -> None:
    kernel = parse(task(SCHEDULE="block=(32, 1, 1)"))
    verify(kernel, "mapped")
    with pytest.raises(InternalError, match="has a schedule before it is mapped to a target"):
        verify(kernel, "lowered")
    with pytest.raises(InternalError, match="is mapped to no target"):
        map_to_target(parse(task()), (), CompileConfig())


def test_an_empty_schedule_is_left_out() -> None:
    (made,) = tasks_of(parse(task()))
    assert made.schedule == Schedule()
    assert "schedule" not in print_ir(parse(task()))


def test_what_is_no_schedule_is_not_read() -> None:
    with pytest.raises(ParseError, match=r"in schedule= before line 2: .*'blocks'.* is no Schedule"):
        parse(task(SCHEDULE="blocks=(32, 1, 1)"))


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({"SCHEDULE": "block=(32)"}, "has blocks of the shape"),
        ({"SCHEDULE": "block=(32, 0, 1)"}, "has blocks of the shape"),
        ({"SCHEDULE": "block=(32, 32, 2)"}, "has blocks of more than 1024 threads"),
        ({"SCHEDULE": "block=(32, 1, 1), numbered=true"}, "is numbered where its threads do nothing together"),
        ({"SCHEDULE": "block=(32, 1, 1)", "BEFORE": "simt block_sync []"}, "do nothing together, or is not"),
        ({"SCHEDULE": "block=(32, 2, 1), numbered=true", "BEFORE": "simt block_sync []"}, "its blocks are not flat"),
        ({"LOOP": "warp=true", "AFTER": "for %one, %one, %one (%h: i64) {\n}"}, "and is not alone"),
        ({"LOOP": "warp=true", "BEFORE": "%n = load %sum : i64", "END": "n"}, "makes an unknown number of rounds"),
        ({"LOOP": "warp=true", "BEFORE": "%two = const 2 : i64", "STEP": "two"}, "does not count by one"),
        ({"LOOP": "warp=true", "MORE": PLACE + "store %p, %k"}, "does more than add to locals"),
        ({"LOOP": "warp=true", "BEFORE": PLACE + "store %p, %i"}, "after effects outside of locals"),
        ({"LOOP": "warp=true", "PROLOGUE": PLACE + "store %p, %one"}, "after effects outside of locals"),
        ({"LOOP": "warp=true", "EPILOGUE": "%two = const 2 : i64"}, "in a task with an epilogue"),
    ],
)  # fmt: skip
def test_what_a_schedule_must_not_be(parts: dict[str, str], complaint: str) -> None:
    verify(parse(task(**{name: text for name, text in parts.items() if name not in ("SCHEDULE", "LOOP")})), "mapped")
    with pytest.raises(InternalError) as caught:
        verify(parse(task(**parts)), "mapped")
    assert complaint in str(caught.value)


def test_a_loop_inside_of_another_is_no_warps() -> None:
    inner = "for %one, %one, %one, schedule={warp=true} (%h: i64) {\n}"
    with pytest.raises(InternalError, match="is shared by a warp, and is in no task's body"):
        verify(parse(task(MORE=inner)), "mapped")
