"""Blocks of a GPU's threads in the evaluator: arrays, barriers, warps. A program or a schedule that is wrong shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from weft.ir.adversary import Schedule
from weft.ir.config import CompileConfig
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Fault, Memory
from weft.ir.ops import Kernel, SharedBase, Simt
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, map_to_target, run_passes
from weft.ir.target import Target
from weft.ir.tasks import tasks_of

CONFIG = CompileConfig(arch="cuda", target=Target("gpu"), fast_math=False, verify=True)
SEEDS = (None, *range(8))
N, THREADS = 20, 8
KERNEL = f"""\
kernel @k() -> () {{
  field @x: i32[{N}] tree=0 components=(0) terms=((0, 1, {N}, 4)) order=(0)
  field @y: i32[{N}] tree=1 components=(0) terms=((0, 1, {N}, 4)) order=(0)
  %0 = const 0 : i32
  %1 = const 1 : i32
  %2 = const 2 : i32
  %7 = const {THREADS - 1} : i32
  %16 = const {N // THREADS * THREADS} : i32
  %all = const 4294967295 : u32
  struct_for @x, config={{block_dim={THREADS}}} (%i: i32) {{
    %t = simt thread_idx [] : i32
    %px = field_ptr @x[%i] : *i32
    %py = field_ptr @y[%i] : *i32
    %v = load %px : i32
    BODY
  }}
}}
"""
# The block reverses its numbers; the last block has fewer threads, and keeps its own.
REVERSE = """\
%pad = shared shape=(8) : [i32; 1]
%mine = array_ptr %pad[%t] : *i32
store %mine, %v
simt block_sync []
%whole = binary lt %i, %16 : u1
if %whole then {
  %from = binary sub %7, %t : i32
  %other = array_ptr %pad[%from] : *i32
  %w = load %other : i32
  store %py, %w
} orelse {
  store %py, %v
}
"""


def kernel(body: str) -> Kernel:
    return parse(KERNEL.replace("BODY", body))


def mapped(made: Kernel, config: CompileConfig = CONFIG) -> Kernel:
    copy = made.clone({})
    assert isinstance(copy, Kernel)
    run_passes(copy, (*TO_TASKS, *TO_LOWERED), config)
    map_to_target(copy, (), config)
    return copy


def run(made: Kernel, seed: int | None = None, weak: bool = False) -> Any:
    memory = Memory.of(made.fields)
    memory.write(made.fields[0], 10 * np.arange(N) + 3)
    evaluate(made, [], memory, CONFIG, schedule=None if seed is None else Schedule(seed, weak))
    return memory.read(made.fields[1])


def outcomes(made: Kernel, weak: bool = False) -> list[list[int]]:
    """What the field may hold in the end."""
    return [list(one) for one in {tuple(run(made, seed, weak).tolist()) for seed in SEEDS}]


def reversed_blocks() -> list[int]:
    numbers = 10 * np.arange(N) + 3
    return [*numbers[:16].reshape(2, 8)[:, ::-1].ravel().tolist(), *numbers[16:].tolist()]


@pytest.mark.parametrize("lower", [lambda made: made, mapped])
def test_threads_wait_at_barriers(lower: Callable[[Kernel], Kernel]) -> None:
    made = lower(kernel(REVERSE))
    assert outcomes(made) == [reversed_blocks()]
    assert outcomes(made, weak=True) == [reversed_blocks()]


@pytest.mark.parametrize("lower", [lambda made: made, mapped])
def test_a_barrier_that_is_missing_shows(lower: Callable[[Kernel], Kernel]) -> None:
    made = lower(kernel(REVERSE.replace("simt block_sync []", "")))
    assert len(outcomes(made)) > 1


def test_a_fence_is_no_barrier() -> None:
    assert len(outcomes(kernel(REVERSE.replace("block_sync", "block_fence")))) > 1


def test_a_pass_that_loses_a_barrier_shows() -> None:
    made = mapped(kernel(REVERSE))
    (barrier,) = [op for op in made.all_of(Simt) if op.kind == "block_sync"]
    barrier.erase()
    assert outcomes(made) != [reversed_blocks()]


def other_blocks(made: Kernel) -> None:
    """Blocks of another size than the program asks for."""
    (task,) = tasks_of(made)
    task.schedule = replace(task.schedule, block=(16, 1, 1))


def dealt_freely(made: Kernel) -> None:
    """Iterations that go to any thread, though threads cooperate."""
    (task,) = tasks_of(made)
    task.schedule = replace(task.schedule, numbered=False)


@pytest.mark.parametrize("spoil", [other_blocks, dealt_freely])
def test_wrong_blocks_show(spoil: Callable[[Kernel], None]) -> None:
    made = mapped(kernel(REVERSE))
    spoil(made)
    try:
        found = outcomes(made)
    except Fault as fault:
        found = [[fault.kind]]
    assert found != [reversed_blocks()]


TWO = """\
%a = shared shape=(8) : [i32; 1]
%b = shared shape=(8) : [i32; 1]
%pa = array_ptr %a[%t] : *i32
%pb = array_ptr %b[%t] : *i32
store %pa, %v
store %pb, %1
simt block_sync []
%w = load %pa : i32
store %py, %w
"""


@pytest.mark.parametrize("apart", [True, False])
def test_arrays_that_overlap_show(apart: bool) -> None:
    made = mapped(kernel(TWO))
    (task,) = tasks_of(made)
    task.schedule = replace(task.schedule, shared_bytes=64)
    for base in task.all_of(SharedBase):
        base.offset = base.number * (32 if apart else 16)
    numbers = [10 * i + 3 for i in range(N)]
    assert (outcomes(made) == [numbers]) == apart


# ---- what threads get ------------------------------------------------------------------------------------------------

LANES = [i % THREADS for i in range(N)]
ODD = "%odd = binary raw_mod %i, %2 : i32\n"


def block_of(i: int) -> range:
    first = i // THREADS * THREADS
    return range(first, min(first + THREADS, N))


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ("%r = simt block_sync_count [%1] : i32", lambda i: len(block_of(i))),
        (ODD + "%r = simt block_sync_count [%odd] : i32", lambda i: len(block_of(i)) // 2),
        (ODD + "%r = simt block_sync_any [%odd] : i32", lambda i: 1),
        (ODD + "%r = simt block_sync_all [%odd] : i32", lambda i: 0),
        ("%r = simt global_thread_idx [] : i32", lambda i: i),
        ("%r = simt warp_lane [] : i32", lambda i: i % THREADS),
        (ODD + "%r = simt warp_ballot [%odd] : i32", lambda i: 0b10101010 & ((1 << len(block_of(i))) - 1)),
        ("%m = simt warp_active [] : u32\n%r = cast %m : i32", lambda i: (1 << len(block_of(i))) - 1),
        (ODD + "%r = simt warp_any [%all, %odd] : i32", lambda i: 1),
        (ODD + "%r = simt warp_all [%all, %odd] : i32", lambda i: 0),
        (ODD + "%r = simt warp_uniform [%all, %odd] : i32", lambda i: 0),
        ("%r = simt warp_uniform [%all, %1] : i32", lambda i: 1),
        (
            ODD + "%r = simt warp_match_any [%all, %odd] : i32",
            lambda i: (0b10101010 if i % 2 else 0b01010101) & ((1 << len(block_of(i))) - 1),
        ),
        (ODD + "%r = simt warp_match_all [%all, %odd] : i32", lambda i: 0),
        ("%r = simt warp_match_all [%all, %1] : i32", lambda i: (1 << len(block_of(i))) - 1),
        ("%r = simt shuffle [%all, %v, %2] : i32", lambda i: 10 * (block_of(i)[0] + 2) + 3),
        ("%r = simt shuffle_up [%all, %v, %2] : i32", lambda i: 10 * (i - 2 if i % THREADS >= 2 else i) + 3),
        (
            "%r = simt shuffle_down [%all, %v, %2] : i32",
            lambda i: 10 * (i + 2 if i + 2 in block_of(i) else i) + 3,
        ),
        ("%r = simt shuffle_xor [%all, %v, %1] : i32", lambda i: 10 * (i ^ 1) + 3),
    ],
)
def test_results(body: str, result: Callable[[int], int]) -> None:
    found = outcomes(kernel(body + "\nstore %py, %r\n"))
    assert found == [[result(i) for i in range(N)]]


SOME = """\
%three = const 3 : u32
%few = binary lt %t, %2 : u1
if %few then {
  %r = simt shuffle_xor [%three, %v, %1] : i32
  store %py, %r
} orelse {
}
"""


def test_lanes_of_a_mask_meet_alone() -> None:
    assert outcomes(kernel(SOME)) == [[10 * (i ^ 1) + 3 if i % THREADS < 2 else 0 for i in range(N)]]


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (SOME.replace("const 3", "const 4"), "a lane is not in its own mask"),
        (
            "%few = binary lt %t, %2 : u1\nif %few then {\nsimt block_sync []\n} orelse {\n"
            "%n = simt block_sync_count [%1] : i32\n}\n",
            "wait at different barriers",
        ),
        (
            "%few = binary lt %t, %2 : u1\nif %few then {\nsimt block_sync []\n} orelse {\nsimt warp_sync [%all]\n}\n",
            "wait at a barrier that other threads never reach",
        ),
    ],
)
def test_threads_that_never_meet(body: str, complaint: str) -> None:
    for seed in SEEDS:
        with pytest.raises(Fault, match=complaint):
            run(kernel(body), seed)
