"""Atomic accesses with a memory order, and fences: what they mean, and what passes leave in its place around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.order_dependence import Level, order_dependence
from weft.ir.adversary import Schedule
from weft.ir.alias import accesses
from weft.ir.config import CompileConfig
from weft.ir.errors import InternalError
from weft.ir.evaluate import evaluate
from weft.ir.mapping.unordered import is_unordered
from weft.ir.memory_model import Memory
from weft.ir.ops import Kernel, Load
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, find_pass, run_passes
from weft.ir.tasks import separate_tasks, shows_order, tasks_of
from weft.ir.text import print_ir
from weft.ir.uniform import Uniformity
from weft.ir.verify import verify

CONFIG = CompileConfig(fast_math=False)
HEAD = """\
kernel @k() -> () {
  field @x: i32[16] tree=0 components=(0) terms=((0, 1, 16, 4)) order=(0)
  field @y: i32[16] tree=1 components=(0) terms=((0, 1, 16, 4)) order=(0)
  field @f: f32 tree=2 components=(0)
  field @l: i64 tree=3 components=(0)
  field @b: u8 tree=4 components=(0)
  field @lock: i32 tree=5 components=(0)
  %0 = const 0 : i32
  %1 = const 1 : i32
  %5 = const 5 : i32
  %7 = const 7 : i32
  %16 = const 16 : i32
  %x0 = field_ptr @x[%0] : *i32
  %x1 = field_ptr @x[%1] : *i32
  %y0 = field_ptr @y[%0] : *i32
  %lock = field_ptr @lock[] : *i32
"""
# Each op, as it orders nothing and as it orders.
PLAIN = (
    "%got = atomic_load %lock : i32",
    "atomic_store %lock, %1",
    "%got = exchange %lock, %1 : i32",
    "%got = compare_exchange %lock, %0, %1 : i32",
)
ORDERED = (
    "%got = atomic_load %lock, order=acquire : i32",
    "atomic_store %lock, %1, order=release",
    "%got = exchange %lock, %1, order=acquire : i32",
    "%got = exchange %lock, %1, order=release : i32",
    "%got = compare_exchange %lock, %0, %1, order=acquire : i32",
    "%got = compare_exchange %lock, %0, %1, order=acq_rel : i32",
    "fence order=acquire",
    "fence order=release, scope=block",
    "fence",
)


def kernel(body: str, level: str = "chi") -> Kernel:
    made = parse(f"{HEAD}{body}\n}}\n")
    verify(made, level)
    return made


def parallel(body: str, extent: str = "%16") -> Kernel:
    return kernel(f"parallel_for begins=[%0], ends=[{extent}] (%i: i32) {{\n{body}\n}}")


def result(made: Kernel, schedule: Schedule | None = None, **inputs: Any) -> dict[str, Any]:
    memory = Memory.of(made.fields)
    for symbol in made.fields:
        if symbol.name in inputs:
            memory.write(symbol, np.asarray(inputs[symbol.name]))
    evaluate(made, [], memory, CONFIG, schedule=schedule)
    return {symbol.name: memory.read(symbol) for symbol in made.fields}


# ---- declared, printed, parsed, verified -----------------------------------------------------------------------------


@pytest.mark.parametrize("op", PLAIN + ORDERED)
def test_text_comes_back(op: str) -> None:
    made = kernel(op)
    assert op.split(" =")[-1].strip() in print_ir(made).replace("order=acq_rel, scope=device", "")
    assert print_ir(parse(print_ir(made))) == print_ir(made)


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ("%got = atomic_load %lock, order=release : i32", "the order 'release'; expected one of"),
        ("atomic_store %lock, %1, order=acquire", "the order 'acquire'; expected one of"),
        ("atomic_store %lock, %1, order=acq_rel", "the order 'acq_rel'; expected one of"),
        ("%got = exchange %lock, %1, order=seq_cst : i32", "unknown order 'seq_cst'"),
        ("%got = compare_exchange %lock, %0, %1, order=weak : i32", "unknown order 'weak'"),
        ("fence order=relaxed", "which orders nothing"),
        ("fence scope=world", "unknown scope 'world'"),
        (
            "%p = field_ptr @b[] : *u8\n%z = const 0 : u8\natomic_store %p, %z",
            "accesses u8; expected a scalar of 32 or 64",
        ),
        ("%p = field_ptr @l[] : *i64\n%got = exchange %p, %1 : i64", "a value of another type than its address"),
        ("%p = field_ptr @l[] : *i64\n%z = const 0 : i64\n%got = compare_exchange %p, %z, %1 : i64", "of another type"),
        ("atomic_store %1, %1", "expected an address"),
    ],
)
def test_invalid_synchronization_is_refused(op: str, message: str) -> None:
    with pytest.raises(InternalError, match=message):
        kernel(op)


def test_iterations_write_no_private_local_of_the_code_around() -> None:
    body = "%a = alloca : *i32\nparallel_for begins=[%0], ends=[%16] (%i: i32) {{ {} }}"
    with pytest.raises(InternalError, match="a local of the code around the loop"):
        kernel(body.format("atomic_store %a, %1"))
    kernel(body.replace("alloca", "shared_local").format("%got = exchange %a, %1 : i32"))


def test_operands_take_the_type_of_the_address() -> None:
    """As for a store: `infer_types` puts casts where the operands have another type."""
    made = parse(f"{HEAD}%p = field_ptr @l[] : *i64\n%got = compare_exchange %p, %0, %1 : i64\natomic_store %p, %7\n}}")
    find_pass("infer_types")(made, CONFIG)
    verify(made, "chi")
    operands = [value.type for one in made.body if one.opname in SYNCHRONIZING for value in one.operands[1:]]
    assert [str(type) for type in operands] == ["i64"] * 3


# ---- what they do ----------------------------------------------------------------------------------------------------


def test_results_and_effects() -> None:
    found = result(
        kernel("""
  %a = atomic_load %x0 : i32
  store %y0, %a
  atomic_store %x0, %5, order=release
  %b = exchange %x0, %7, order=acq_rel : i32
  %q1 = field_ptr @y[%1] : *i32
  store %q1, %b
  %c = compare_exchange %x0, %7, %1 : i32
  %q5 = field_ptr @y[%5] : *i32
  store %q5, %c
  %d = compare_exchange %x0, %7, %5, order=acquire : i32
  %q7 = field_ptr @y[%7] : *i32
  store %q7, %d
  fence"""),
        x=[3] * 16,
    )
    assert [found["y"][k] for k in (0, 1, 5, 7)] == [3, 5, 7, 1]
    assert found["x"][0] == 1


@pytest.mark.parametrize(
    ("there", "expected", "stored"), [("-0.0", "0.0", False), ("nan", "nan", True), ("0.5", "0.5", True)]
)
def test_floats_are_compared_by_their_bits(there: str, expected: str, stored: bool) -> None:
    made = kernel(f"""
  %f = field_ptr @f[] : *f32
  %expected = const {expected} : f32
  %new = const 2.0 : f32
  %got = compare_exchange %f, %expected, %new : f32""")
    found = result(made, f=np.float32(there))["f"]
    assert (found == 2.0) is np.bool_(stored)


def test_outside_of_a_field_nothing_happens_with_masks() -> None:
    made = kernel("""
  %p = field_ptr @x[%16] : *i32
  %a = exchange %p, %7 : i32
  %b = compare_exchange %p, %0, %7 : i32
  %c = atomic_load %p : i32
  atomic_store %p, %7
  %s = binary add %a, %b : i32
  %t = binary add %s, %c : i32
  store %y0, %t""")
    masked = CompileConfig(fast_math=False, mask_out_of_bounds=True)
    for code in (made, run_passes(parse(print_ir(made)), TO_TASKS + TO_LOWERED, masked)):
        memory = Memory.of(made.fields)
        memory.write(made.fields[1], np.full(16, 9))
        evaluate(code, [], memory, masked)
        assert memory.read(made.fields[1])[0] == 0
        assert not memory.read(made.fields[0]).any()


# ---- under schedules -------------------------------------------------------------------------------------------------

SPIN = """
    while {
      %old = compare_exchange %lock, %0, %1, order=acquire : i32
      %mine = binary eq %old, %0 : u1
      if %mine then { break }
    }"""
ADD = """
    %v = load %y0 : i32
    %w = binary add %v, %1 : i32
    store %y0, %w"""
FREE = "\n    atomic_store %lock, %0, order=release"


def sums(made: Kernel) -> set[int]:
    schedules = (None, *(Schedule(seed, weak) for seed in range(30) for weak in (False, True)))
    return {int(result(made, schedule)["y"][0]) for schedule in schedules}


def test_a_lock_keeps_updates_apart() -> None:
    assert sums(parallel(ADD)) > {16}, "the adversary finds lost updates where there is no lock"
    assert sums(parallel(SPIN + ADD + FREE)) == {16}


@pytest.mark.parametrize("order", ["acquire", "release"])
def test_a_lock_needs_both_of_its_orders(order: str) -> None:
    weaker = (SPIN + ADD + FREE).replace(f"order={order}", "order=relaxed")
    assert sums(parallel(weaker)) > {16}


def test_an_update_by_compare_and_swap() -> None:
    retry = """
    while {
      %seen = atomic_load %y0 : i32
      %more = binary add %seen, %1 : i32
      %old = compare_exchange %y0, %seen, %more : i32
      %done = binary eq %old, %seen : u1
      if %done then { break }
    }"""
    assert sums(parallel(retry)) == {16}
    assert sums(
        parallel(retry.replace("if %done", "if %true").replace("while {", "while {\n%true = const true : u1"))
    ) > {16}


@pytest.mark.parametrize("stage", [TO_TASKS, TO_TASKS + TO_LOWERED])
def test_a_lock_holds_after_all_passes(stage: tuple[str, ...]) -> None:
    made = parallel(SPIN + ADD + FREE)
    assert sums(run_passes(parse(print_ir(made)), stage, CONFIG)) == {16}


# ---- effects ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", PLAIN + ORDERED)
def test_ordered_ops_are_barriers(op: str) -> None:
    (made,) = [one for one in kernel(op).body if one.opname in ("fence", *SYNCHRONIZING)]
    _, writes, barrier = accesses(made)
    assert barrier == (op in ORDERED)
    assert made.opname == "fence" or writes == [made.operands[0]]


SYNCHRONIZING = ("atomic_load", "atomic_store", "exchange", "compare_exchange")


def after(name: str, body: str) -> list[str]:
    """The lines that a pass leaves of that body."""
    made = kernel(body, "tasks" if "task " in body else "chi")
    find_pass(name)(made, CONFIG)
    verify(made, "tasks" if "task " in body else "chi")
    header = {line.strip() for line in HEAD.splitlines()}
    return [line.strip() for line in print_ir(made).splitlines() if line.strip() not in header]


def count(lines: list[str], text: str) -> int:
    return sum(text in line for line in lines)


@pytest.mark.parametrize("op", PLAIN + ORDERED)
def test_forward_reads_anew_behind_an_acquire(op: str) -> None:
    left = after(
        "forward", f"%a = load %x0 : i32\n{op}\n%c = load %x0 : i32\n%s = binary add %a, %c : i32\nstore %y0, %s"
    )
    assert count(left, "= load %x0") == (2 if op in ORDERED else 1)


@pytest.mark.parametrize("op", PLAIN)
def test_forward_reads_anew_what_others_may_have_written(op: str) -> None:
    left = after(
        "forward", f"%a = load %lock : i32\n{op}\n%c = load %lock : i32\n%s = binary add %a, %c : i32\nstore %y0, %s"
    )
    assert count(left, "= load %lock") == 2


def test_forward_never_replaces_an_atomic_load() -> None:
    loads = "store %lock, %1\n%a = atomic_load %lock : i32\n%b = atomic_load %lock : i32"
    sums = f"{loads}\n%s = binary add %a, %b : i32\nstore %y0, %s"
    assert count(after("forward", sums), "atomic_load") == 2
    assert count(after("cse", sums), "atomic_load") == 2
    assert count(after("die", loads), "atomic_load") == 2


@pytest.mark.parametrize("op", PLAIN + ORDERED)
def test_a_store_before_a_release_is_not_dead(op: str) -> None:
    left = after("dead_stores", f"store %x0, %5\n{op}\nstore %x0, %7")
    assert count(left, "store %x0") == (2 if op in ORDERED else 1)


@pytest.mark.parametrize("op", PLAIN)
def test_a_store_that_an_atomic_reads_is_not_dead(op: str) -> None:
    left = after("dead_stores", f"store %lock, %5\n{op}\nstore %lock, %7")
    stores = [line for line in left if line.startswith("store %lock")]
    assert len(stores) == (1 if op.startswith("atomic_store") else 2)


def offloaded(body: str) -> Kernel:
    made = parallel(body)
    find_pass("offload")(made, CONFIG)
    verify(made, "tasks")
    return made


def changes(name: str, body: str) -> bool:
    """Whether a pass changes a parallel loop, once it is a task."""
    made = offloaded(body)
    before = print_ir(made)
    find_pass(name)(made, CONFIG)
    verify(made, "tasks")
    return print_ir(made) != before


LOOP = "for %0, %16, %1 (%k: i32) {{ {} }}"
MOVES = {
    # What each pass does to a loop, unless it synchronises.
    "a load leaves the loop": ("cache_invariant", LOOP, "%a = load %x1 : i32\nstore %y0, %a"),
    "an element becomes a local": ("cache_invariant", LOOP, f"{ADD}\n"),
    "a load goes to the prologue": ("cache_invariant", "{}", "%a = load %x1 : i32\nstore %y0, %a"),
    "a sum of the thread": ("thread_local", "{}", "%old = atomic add %y0, %1 : i32"),
    "a box of two axes": ("collapse", LOOP, "%s = binary mul %i, %k : i32\n%old = atomic add %y0, %s : i32"),
}


@pytest.mark.parametrize("case", MOVES)
@pytest.mark.parametrize("op", ORDERED)
def test_passes_leave_accesses_of_a_loop_that_synchronises(case: str, op: str) -> None:
    name, around, body = MOVES[case]
    assert changes(name, around.format(body))
    assert not changes(name, around.format(f"{op}\n{body}"))
    assert not separate_tasks(offloaded(op))


@pytest.mark.parametrize("op", PLAIN)
def test_relaxed_accesses_stay_where_they_are(op: str) -> None:
    """They order nothing, so others may move; but each reads, or writes, as often as it stands there."""
    body = LOOP.format(f"{op}\n%a = load %x1 : i32\nstore %y0, %a")
    made = offloaded(body)
    find_pass("cache_invariant")(made, CONFIG)
    (task,) = tasks_of(made)
    loop = next(one for one in task.body if one.opname == "for")
    assert [one.opname for one in loop.walk()].count(op.split("= ")[-1].split()[0]) == 1
    assert not [one for one in loop.walk() if isinstance(one, Load) and one.ptr.name == "x1"]


def test_loads_of_exchanged_memory_are_not_invariant() -> None:
    body = "%got = exchange %x0, %1 : i32\n%a = load %x1 : i32\n%c = load %lock : i32\n%s = binary add %a, %c : i32"
    made = offloaded(f"{body}\n%old = atomic add %y0, %s : i32")
    find_pass("flag_access")(made, CONFIG)
    flags = {one.ptr.name: one.invariant for task in tasks_of(made) for one in task.all_of(Load)}
    assert flags == {"x1": False, "lock": True}
    (task,) = tasks_of(made)
    assert task.write_set == ("x", "y")


def test_an_atomic_that_meets_a_compare_and_swap_stays_atomic() -> None:
    """`x[i] += 1` is a plain update, for no other iteration touches x[i]; not where one may, by whatever access."""
    place = "%p = field_ptr @x[%i] : *i32\n%old = atomic add %p, %1 : i32"
    assert changes("demote_atomics", place)
    for op in PLAIN:
        assert not changes("demote_atomics", f"{place}\n{op.replace('%lock', '%x0')}"), op


@pytest.mark.parametrize("op", PLAIN + ORDERED)
def test_neither_lanes_nor_llvm_reorder_iterations_that_synchronise(op: str) -> None:
    made = run_passes(parallel(f"{op}\n%p = field_ptr @y[%i] : *i32\nstore %p, %i"), TO_TASKS + TO_LOWERED, CONFIG)
    (task,) = tasks_of(made)
    assert Uniformity(task).reason == f"it holds '{op.split('= ')[-1].split()[0]}'"
    assert not is_unordered(task)
    plain = run_passes(parallel("%p = field_ptr @y[%i] : *i32\nstore %p, %i"), TO_TASKS + TO_LOWERED, CONFIG)
    assert is_unordered(tasks_of(plain)[0])


# ---- what depends on the order ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "levels"),
    [
        # Sums under a lock are plain updates; the analysis knows nothing of what they compute.
        (SPIN + ADD + FREE, {"y": Level.ORDER, "lock": Level.ORDER}),
        (ADD, {"y": Level.EXACT}),
        ("%got = exchange %x0, %1 : i32", {"x": Level.EXACT}),  # all of them put the same there
        ("%got = exchange %x0, %i : i32", {"x": Level.ORDER}),
        ("atomic_store %x0, %1", {"x": Level.EXACT}),
        ("atomic_store %x0, %i", {"x": Level.ORDER}),
        ("%got = compare_exchange %x0, %0, %1 : i32", {"x": Level.ORDER}),
        ("%a = atomic_load %x0 : i32\n%p = field_ptr @y[%i] : *i32\nstore %p, %a", {"y": Level.EXACT}),
        (
            "%got = exchange %x0, %i : i32\n%a = atomic_load %x0 : i32\n%p = field_ptr @y[%i] : *i32\nstore %p, %a",
            {"y": Level.ORDER},
        ),
        # What is handed on from iteration to iteration is read by plain loads.
        (
            "%p = field_ptr @x[%0] : *i32\nfence\n%a = load %p : i32\nstore %p, %i\n"
            "%q = field_ptr @y[%i] : *i32\nstore %q, %a",
            {"x": Level.ORDER, "y": Level.ORDER},
        ),
        # What each iteration has to itself, it has to itself.
        ("fence\n%q = field_ptr @y[%i] : *i32\nstore %q, %i\n%b = load %q : i32\nstore %q, %b", {"y": Level.EXACT}),
    ],
)
def test_levels(body: str, levels: dict[str, Level]) -> None:
    made = parallel(body)
    found = order_dependence(made)
    fields = {symbol.name: symbol for symbol in made.fields}
    assert {name: found.of(fields[name]) for name in levels} == levels


@pytest.mark.parametrize("inside", ["fence", "%2 = const 2 : i32"])
def test_levels_where_a_function_synchronises(inside: str) -> None:
    """A lock is taken in a function: what the caller updates in between depends on the order."""
    function = parse(f"kernel @f() -> () {{\n{inside}\n}}")
    made = parallel("invoke function=f, []\n%a = load %x0 : i32\nstore %x0, %i")
    found = order_dependence(made, [function]).of(made.fields[0])
    assert found is (Level.ORDER if inside == "fence" else Level.EXACT)
    assert order_dependence(made).of(made.fields[0]) is Level.ORDER, "nothing is known of the function"


def test_an_exchange_that_a_fence_orders_stays_atomic() -> None:
    """Without a fence it becomes a store, if nobody wants its old value. A fence gives no order to a store."""
    body = "%old = atomic xchg %y0, %i : i32"
    assert changes("demote_atomics", body)
    assert not changes("demote_atomics", f"fence order=release\n{body}")


@pytest.mark.parametrize("op", PLAIN + ORDERED)
def test_iterations_that_order_memory_are_not_interleaved_by_code(op: str) -> None:
    """Unroll-and-jam and thread coarsening ask for this."""
    (made,) = [one for one in kernel(op).body if one.opname in ("fence", *SYNCHRONIZING)]
    assert shows_order(made) is (op in ORDERED)


@pytest.mark.parametrize("op", PLAIN + ORDERED)
def test_a_local_that_nobody_reads_may_still_order(op: str) -> None:
    """An access to such a local may go, but not its order."""
    left = after("die", f"%a = alloca : *i32\n{op.replace('%lock', '%a')}")
    assert bool(left and any(name in line for line in left for name in ("fence", *SYNCHRONIZING))) is (op in ORDERED)


@pytest.mark.parametrize("op", PLAIN)
def test_an_element_that_others_update_becomes_no_local(op: str) -> None:
    update = "%v = load %x1 : i32\n%w = binary add %v, %1 : i32\nstore %x1, %w"
    assert changes("cache_invariant", LOOP.format(update))
    assert not changes("cache_invariant", LOOP.format(f"{update}\n{op.replace('%lock', '%x1')}"))
