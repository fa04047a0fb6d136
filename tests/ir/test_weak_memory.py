"""The adversary with a weak memory: what it may find, and what acquire, release and fences forbid it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from weft.ir.adversary import Schedule
from weft.ir.config import CompileConfig
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Memory
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.text import print_ir
from weft.ir.verify import verify

CONFIG = CompileConfig(fast_math=False)
SEEDS = range(300)
HEAD = """\
kernel @k() -> () {
  field @x: i32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) order=(0)
  field @seen: i32[8] tree=1 components=(0) terms=((0, 1, 8, 4)) order=(0)
  field @v: f32x2[2] tree=2 components=(0, 4) terms=((0, 1, 2, 8)) order=(0)
  %0 = const 0 : i32
  %1 = const 1 : i32
  %2 = const 2 : i32
  %3 = const 3 : i32
  %data = field_ptr @x[%0] : *i32
  %flag = field_ptr @x[%1] : *i32
  %s0 = field_ptr @seen[%0] : *i32
  %s1 = field_ptr @seen[%1] : *i32
  %s2 = field_ptr @seen[%2] : *i32
"""


def threads(*bodies: str) -> Kernel:
    """A loop whose iteration number k runs body number k."""
    text = ""
    for number, body in enumerate(bodies):
        for name in re.findall(r"^%(\w+) =", body, re.MULTILINE):  # each body has its own
            body = re.sub(rf"%{name}\b", f"%{name}_{number}", body)
        text += f"%is{number} = binary eq %i, %{number} : u1\nif %is{number} then {{\n{body}\n}}\n"
    made = parse(f"{HEAD}parallel_for begins=[%0], ends=[%{len(bodies)}] (%i: i32) {{\n{text}}}\n}}\n")
    verify(made, "chi")
    return made


def outcomes(made: Kernel, places: int = 2, weak: bool = True) -> set[tuple[int, ...]]:
    """What the first elements of `seen` hold in the end, under many schedules."""
    found: set[tuple[int, ...]] = set()
    for seed in SEEDS:
        memory = Memory.of(made.fields)
        evaluate(made, [], memory, CONFIG, schedule=Schedule(seed, weak=weak))
        found.add(tuple(int(value) for value in memory.read(made.fields[1])[:places]))
    return found


WRITES = "store %data, %1\natomic_store %flag, %1, order={}"
READS = "%f = atomic_load %flag, order={} : i32\n%d = load %data : i32\nstore %s0, %f\nstore %s1, %d"


@pytest.mark.parametrize(
    ("release", "acquire", "stale"),
    [("release", "acquire", False), ("relaxed", "acquire", True), ("release", "relaxed", True)],
)
def test_who_sees_the_flag_sees_the_data(release: str, acquire: str, stale: bool) -> None:
    """(flag, data): whoever finds the flag finds the data, if one side releases and the other acquires."""
    made = threads(WRITES.format(release), READS.format(acquire))
    assert ((1, 0) in outcomes(made)) is stale
    assert {(0, 0), (1, 1)} <= outcomes(made)
    assert (1, 0) not in outcomes(made, weak=False), "without a weak memory nobody notices"


@pytest.mark.parametrize(
    ("writer", "reader", "stale"),
    [
        ("fence order=release", "fence order=acquire", False),
        ("fence", "fence", False),
        ("fence order=acquire", "fence order=acquire", True),
        ("fence order=release", "fence order=release", True),
    ],
)
def test_fences_order_relaxed_accesses(writer: str, reader: str, stale: bool) -> None:
    write = WRITES.format("relaxed").replace("atomic_store", f"{writer}\natomic_store")
    read = READS.format("relaxed").replace("%d = ", f"{reader}\n%d = ")
    assert ((1, 0) in outcomes(threads(write, read))) is stale


def test_a_fence_in_the_wrong_place_orders_nothing() -> None:
    write = WRITES.format("relaxed") + "\nfence order=release"
    assert (1, 0) in outcomes(threads(write, READS.format("acquire")))


@pytest.mark.parametrize("update", ["exchange %flag, %2", "compare_exchange %flag, %1, %2"])
def test_an_update_carries_on_what_it_finds(update: str) -> None:
    """A release, an update by somebody else, an acquire of what that left: still the data is there. (flag, data)"""
    found = outcomes(threads(WRITES.format("release"), f"%old = {update} : i32", READS.format("acquire")))
    assert (2, 1) in found
    assert (1, 0) not in found
    if "compare" in update:  # an exchange may come before the release
        assert (2, 0) not in found


def test_a_store_ends_what_a_release_began() -> None:
    """The same with a relaxed store by a third thread: it carries nothing."""
    found = outcomes(threads(WRITES.format("release"), "atomic_store %flag, %2", READS.format("acquire")))
    assert (2, 0) in found


def test_one_scalar_never_goes_back() -> None:
    """All accesses to one address have one order, for relaxed ones as well: nobody sees 2 and then 1."""
    write = "atomic_store %flag, %1\natomic_store %flag, %2"
    read = "%a = atomic_load %flag : i32\n%b = atomic_load %flag : i32\nstore %s0, %a\nstore %s1, %b"
    found = outcomes(threads(write, read))
    assert found == {(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)}


def test_two_threads_may_both_miss_the_other() -> None:
    """Acquire and release do not forbid it: each stores, and reads what the other stores."""
    one = "atomic_store %data, %1, order=release\n%a = atomic_load %flag, order=acquire : i32\nstore %s0, %a"
    other = "atomic_store %flag, %1, order=release\n%a = atomic_load %data, order=acquire : i32\nstore %s1, %a"
    assert (0, 0) in outcomes(threads(one, other))
    assert (0, 0) not in outcomes(threads(one, other), weak=False)


def test_a_thread_finds_what_it_has_stored() -> None:
    body = "store %data, %1\n%a = load %data : i32\nstore %s0, %a\n"
    body += "atomic_store %flag, %2\n%b = atomic_load %flag : i32\nstore %s1, %b"
    assert outcomes(threads(body)) == {(1, 2)}


def test_updates_find_the_newest() -> None:
    body = "%old = atomic add %flag, %1 : i32\n%other = exchange %data, %i : i32"
    made = threads(body, body, body)
    for seed in SEEDS:
        memory = Memory.of(made.fields)
        evaluate(made, [], memory, CONFIG, schedule=Schedule(seed, weak=True))
        assert memory.read(made.fields[0])[1] == 3


def test_the_end_of_the_loop_is_seen_by_all() -> None:
    made = parse(
        HEAD
        + """
  parallel_for begins=[%0], ends=[%3] (%i: i32) {
    %p = field_ptr @x[%i] : *i32
    store %p, %i
  }
  parallel_for begins=[%0], ends=[%3] (%j: i32) {
    %back = binary sub %2, %j : i32
    %q = field_ptr @x[%back] : *i32
    %a = load %q : i32
    %r = field_ptr @seen[%j] : *i32
    store %r, %a
  }
}
"""
    )
    assert outcomes(made, 3) == {(2, 1, 0)}


def test_vectors_are_read_scalar_by_scalar() -> None:
    write = "%w = field_ptr @v[%0] : *f32x2\n%one = const 1.0 : f32\n%both = splat %one : f32x2\nstore %w, %both"
    read = """%w = field_ptr @v[%0] : *f32x2
%both = load %w : f32x2
%a = extract %both, index=0 : f32
%b = extract %both, index=1 : f32
%n = cast %a : i32
%m = cast %b : i32
store %s0, %n
store %s1, %m"""
    assert outcomes(threads(write, read)) == {(0, 0), (0, 1), (1, 0), (1, 1)}


ATOMIC_SUM = """
  parallel_for begins=[%0], ends=[%3] (%i: i32) {
    %old = atomic add %flag, %i : i32
    %p = field_ptr @seen[%i] : *i32
    store %p, %i
    %again = load %p : i32
    %more = binary add %again, %1 : i32
    store %p, %more
  }
"""


@pytest.mark.parametrize("stage", [(), TO_TASKS, TO_TASKS + TO_LOWERED])
def test_a_kernel_without_races_leaves_the_same(stage: tuple[str, ...]) -> None:
    made = run_passes(parse(f"{HEAD}{ATOMIC_SUM}}}\n"), stage, CONFIG)
    assert outcomes(made, 3) == {(1, 2, 3)}


def test_arrays_are_one_memory_however_they_are_reached() -> None:
    made = parse("""kernel @k(a: [i32; 1]) -> () {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %16 = const 16 : i32
  %a = arg index=0 : [i32; 1]
  parallel_for begins=[%0], ends=[%16] (%i: i32) {
    %p = array_ptr %a[%0] : *i32
    %q = array_ptr %a[%1] : *i32
    %old = atomic add %p, %1 : i32
    %same = atomic add %q, %1 : i32
    %r = array_ptr %a[%1] : *i32
    %more = atomic add %r, %1 : i32
  }
}""")
    for code in (made, run_passes(parse(print_ir(made)), TO_TASKS + TO_LOWERED, CONFIG)):
        for seed in range(20):
            values: Any = np.zeros(4, np.int32)
            evaluate(code, [values], Memory(), CONFIG, schedule=Schedule(seed, weak=True))
            assert list(values) == [16, 32, 0, 0]


def test_an_update_that_fails_has_seen_the_newest() -> None:
    """What a compare-and-swap finds, later loads do not fall behind."""
    write = "atomic_store %flag, %1"
    read = """%a = compare_exchange %flag, %3, %2 : i32
%b = atomic_load %flag : i32
store %s0, %a
store %s1, %b"""
    assert outcomes(threads(write, read)) == {(0, 0), (0, 1), (1, 1)}


def test_what_lies_out_of_bounds_is_masked_here_too() -> None:
    made = parse(f"""{HEAD}  %8 = const 8 : i32
  parallel_for begins=[%0], ends=[%3] (%i: i32) {{
    %p = field_ptr @x[%8] : *i32
    %a = load %p : i32
    store %p, %1
    %b = exchange %p, %1 : i32
    %s = binary add %a, %b : i32
    %q = field_ptr @seen[%i] : *i32
    store %q, %s
  }}
}}
""")
    config = CompileConfig(fast_math=False, mask_out_of_bounds=True)
    memory = Memory.of(made.fields)
    evaluate(made, [], memory, config, schedule=Schedule(3, weak=True))
    assert not memory.read(made.fields[1]).any()


ROWS = """\
kernel @k() -> () {
  field @x: f32[16] tree=0 components=(0) terms=((0, 1, 16, 4)) order=(0)
  task range_for bounds {
    %zero = const 0 : i64
    %end = const 8 : i64
    yield begins=[%zero], ends=[%end]
  } prologue {
    %base = tree_base tree=0 : *i64
    %one = const 1.0 : f32
    %three = const 3 : i64
    %eight = const 8 : i64
  } body (%i: i64) {
    %k = binary and %i, %three : i64
    %row = address %base, indices=[%k], strides=[%eight], offset=0, scope="field:x" : *f32
    ADD
    %next = address %base, indices=[%k], strides=[%eight], offset=4, scope="field:x" : *f32
    %0 = atomic add %next, %one : f32
  }
}
"""


def test_rows_of_sums_go_through_the_views_of_threads() -> None:
    """Iterations k and k + 4 add to the same two elements, by a row and by an atomic: no sum is lost."""
    made = parse(ROWS.replace("ADD", "atomic_row %row, [%one, %one], unit=2"))
    verify(made, "mapped")
    for seed in SEEDS[:40]:
        memory = Memory.of(made.fields)
        evaluate(made, [], memory, CONFIG, schedule=Schedule(seed, weak=True))
        assert memory.read(made.fields[0]).tolist() == [2, 4] * 4 + [0] * 8
