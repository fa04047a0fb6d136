"""What is in lanes and what is not, which stretches are even, and what blocks of threads must not do."""

from __future__ import annotations

import pytest

from tests.ir.test_schedules import CONFIGS, COPIES, LAUNCHES, PLACE, SCATTER, task
from weft.ir.errors import InternalError
from weft.ir.parse import parse
from weft.ir.pipeline import find_pass
from weft.ir.tasks import tasks_of
from weft.ir.verify import verify

# ---- a CPU's lanes ---------------------------------------------------------------------------------------------------

OUTSIDE = "%near = binary lt %i, %one : u1\n"


@pytest.mark.parametrize(
    ("after", "complaint"),
    [
        ("store %p, %i, move=scatter", "has the move 'scatter', but does not run in lanes"),
        ("%v = load %p, move=gather : i64", "has the move 'gather', but does not run in lanes"),
        ("if %near, unasked=(then) then {\n}", "has unasked sides, but does not run in lanes"),
    ],
)
def test_what_is_beside_a_loop_in_lanes_is_not_in_lanes(after: str, complaint: str) -> None:
    text = task(LOOP="lanes=8", BEFORE=PLACE + OUTSIDE, AFTER=after)
    verify(
        parse(text.replace(", move=scatter", "").replace(", move=gather", "").replace(", unasked=(then)", "")), "mapped"
    )
    with pytest.raises(InternalError, match=complaint):
        verify(parse(text), "mapped")


def test_what_a_sum_reads_has_no_move() -> None:
    text = task(LOOP="lanes=8")
    verify(parse(text), "mapped")
    with pytest.raises(InternalError, match="has the move 'one', but does not run in lanes"):
        verify(parse(text.replace("load %sum :", "load %sum, move=one :")), "mapped")


@pytest.mark.parametrize("known", ["zero", "end"])
def test_stretches_of_unknown_rows_are_not_even(known: str) -> None:
    text = task(SCHEDULE="stretch=256, even=true, alone=true")
    verify(parse(text), "mapped")
    value = "const 0" if known == "end" else "const 256"
    unknown = {"end": "zero", "zero": "end"}[known]
    text = text.replace(f"%{unknown} = {value} : i64", f"%{unknown} = scalar_arg index=0, part=0 : i64")
    with pytest.raises(InternalError, match="is even, but its stretches may have different lengths"):
        verify(parse(text.replace("@k()", "@k(n: i64)")), "mapped")


# ---- a GPU's blocks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "grid"),
    [
        (
            {"SCHEDULE": "launch=0, numbered=true", "BEFORE": "simt block_sync []", "EPILOGUE": "%two = const 2 : i64"},
            "cover",
        ),
        ({"SCHEDULE": f"launch=0, privatized={COPIES}", "LOOP": "warp=true"}, "cover"),
        ({"SCHEDULE": "launch=0", "EPILOGUE": "%two = const 2 : i64"}, "limited"),
        ({}, ""),  # of no launch
    ],
)
def test_threads_with_numbers_cover_the_box(parts: dict[str, str], grid: str) -> None:
    kernel = parse(task(**parts))
    find_pass("choose_grids")(kernel, CONFIGS["gpu"])
    assert [one.schedule.grid for one in tasks_of(kernel)] == [grid]


@pytest.mark.parametrize("numbered", [False, True])
def test_blocks_with_shared_arrays_of_their_own_have_no_copies(numbered: bool) -> None:
    more = "simt block_sync []" if numbered else ""
    text = SCATTER.replace("VERSIONprivatized=COPIES", f"numbered={str(numbered).lower()}").replace("MORE", more)
    kernel = parse(text.replace("EXPOSED", ""))
    assert find_pass("privatize_in_blocks")(kernel, CONFIGS["gpu"]) != numbered
    assert [bool(one.schedule.privatized) for one in tasks_of(kernel)] == [not numbered]


def test_a_launch_after_an_exit_is_guarded() -> None:
    text = LAUNCHES.replace('assert %yes, [], message="no"', "exit")
    verify(parse(text), "mapped")
    with pytest.raises(InternalError, match="is not guarded, but an earlier launch may end the kernel"):
        verify(parse(text.replace("launch=1, guarded=true", "launch=1")), "mapped")
