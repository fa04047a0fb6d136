"""The parts of the judge, each by itself: orders of iterations, places in memory, and meetings of threads."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from weft.ir.alias import ANYWHERE, space_of
from weft.ir.core import Op, Value
from weft.ir.gpu_machine import groups_of
from weft.ir.interleaving import Schedule
from weft.ir.meetings import Meeting, settle
from weft.ir.memory_model import Fault, Place, array_place
from weft.ir.ops import Address, Alloca, Const, Simt
from weft.ir.parse import parse
from weft.ir.places import CAPACITY, Places, PlaceTable
from weft.ir.simt import Seat
from weft.ir.tasks import tasks_of
from weft.ir.types import Tensor, i32, u32

SEEDS = range(1, 60)
PAIR = Tensor(i32, (2,))

# ---- orders of iterations --------------------------------------------------------------------------------------------


def test_seed_0_is_the_reverse_of_program_order() -> None:
    assert Schedule(0).threads(range(5), 0) == [[4, 3, 2, 1, 0]]
    assert Schedule(0).turns(0) is None


def test_all_kinds_of_orders_are_drawn() -> None:
    """Threads take neighbouring iterations or every nth one, in order or in none, in turn or to their end."""
    kinds: set[object] = set()
    for seed in SEEDS:
        chunks = Schedule(seed).threads(range(100), 0)
        assert sorted(one for chunk in chunks for one in chunk) == [*range(100)]
        for chunk in chunks:
            if 1 < len(chunks) < 100:
                steps = {b - a for a, b in pairwise(chunk)}
                kinds.add("any" if len(steps) > 1 else "near" if steps == {1} else "far")
    assert kinds == {"any", "near", "far"}
    assert {Schedule(seed).turns(0) is None for seed in SEEDS} == {True, False}


def test_groups_of_iterations_are_complete() -> None:
    assert groups_of([], 4, 2) == []
    points = [*enumerate((i,) for i in range(3, 10))]
    groups = [tuple(index for _, (index,) in group) for group in groups_of(points, 4, 1)]
    assert groups == [(3,), (4, 5, 6, 7), (8,), (9,)]


# ---- places in memory ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [-1, 5, 8])
def test_an_access_ends_inside_of_its_object(at: int) -> None:
    pair = Place(np.zeros(8, np.uint8), [0, at], [i32, i32])
    one = Place(np.zeros(8, np.uint8), [at], [i32])
    for attempt in (
        lambda: one.load(i32),
        lambda: one.store(1, i32),
        lambda: pair.load(PAIR),
        lambda: pair.store([1, 2], PAIR),
    ):
        with pytest.raises(Fault, match=f"access of i32 at byte {at} of an object of 8 bytes"):
            attempt()
    assert Place(np.zeros(8, np.uint8), [4], [i32]).load(i32) == 0


def test_an_empty_array_has_no_bytes() -> None:
    buffer, start = array_place(np.zeros((3, 0))[::-1])
    assert (len(buffer), start) == (0, 0)
    buffer, start = array_place(np.arange(3, dtype=np.int32)[::-1])
    assert (len(buffer), start) == (12, 8)


PLACES = """\
kernel @k(n: i32) -> () {
  task serial body {
    %base = tree_base tree=0 : *i64
    %other = tree_base tree=1 : *i64
    %n = const 1 : i64
    %m = const 1 : i64
    %eight = const 8 : i64
    %k = alloca : *i64
    %list = alloca : *i64x4
    %a = address %base, indices=[%n], strides=[%eight], offset=0, scope="field:x" : *i64
    %b = address %base, indices=[%m], strides=[%eight], offset=0, scope="field:x" : *i64
    %c = address %base, indices=[%m], strides=[%eight], offset=8, scope="field:x" : *i64
    %d = address %other, indices=[%n], strides=[%eight], offset=0, scope="field:y" : *i64
    %u = address %base, indices=[%n], strides=[%eight], offset=0, scope="" : *i64
    %p = address %list, indices=[], strides=[], offset=0, scope="?" : *i64
    %q = address %list, indices=[], strides=[], offset=8, scope="?" : *i64
  }
}
"""


def places() -> dict[str, Value]:
    (task,) = tasks_of(parse(PLACES))
    return {op.name: op for op in task.body if isinstance(op, (Address, Alloca, Const))}


def left(known: str, touched: str) -> str:
    """Of what is known of these places: what is left after that one is touched."""
    found, values, table = Places(), places(), PlaceTable()
    for name in known:
        table.put(found(values[name]), values[name], values["n"])
    table.touch(space_of(values[touched]), values[touched])
    return "".join(name for name in known if table.get(found(values[name])) is not None)


def test_equal_addresses_are_one_place() -> None:
    found, values = Places(), places()
    assert found(values["a"]) == found(values["b"])
    assert len({found(values[name]) for name in "abcdukpq"}) == 7


@pytest.mark.parametrize(
    ("known", "touched", "kept"),
    [
        ("acdkpq", "a", "cdkpq"),
        ("acdkpq", "d", "ackpq"),
        ("acdkpq", "k", "acdpq"),
        ("acdkpq", "p", "acdkq"),
        ("acdkpq", "u", "ckpq"),  # it may be anywhere but in locals, and 8 bytes behind itself
        ("udkpq", "a", "dkpq"),
        ("dkpq", "a", "dkpq"),
    ],
)
def test_what_an_access_leaves_known(known: str, touched: str, kept: str) -> None:
    if touched == "u" or "u" in known:
        assert space_of(places()["u"]) == ANYWHERE
    assert left(known, touched) == kept


def test_a_table_forgets_the_oldest_of_many_places() -> None:
    table, values = PlaceTable(), places()
    for number in range(CAPACITY + 3):
        table.put(("x", number), values["a"], values["n"])
    assert [table.get(("x", number)) is None for number in range(5)] == [True] * 3 + [False] * 2


# ---- meetings --------------------------------------------------------------------------------------------------------


def simt(kind: str, *values: Op) -> Simt:
    return Simt(kind, list(values))


def test_nobody_meets_where_all_have_ended() -> None:
    assert settle({}, range(32)) == []


def test_lanes_meet_at_equal_masks_wherever_they_are() -> None:
    mask = Const(0b0110, type=u32)
    ops = [simt("warp_sync", mask), simt("warp_sync", mask)]
    waits: dict[int, Meeting | None] = {
        1: Meeting(ops[0], Seat(0, 1, 4), [0b0110]),
        2: Meeting(ops[1], Seat(0, 2, 4), [0b0110]),
        3: None,
    }
    assert settle(waits, range(4)) == [[1, 2]]
    waits[2] = None
    assert settle(waits, range(4)) == []  # one of them is not there yet


def test_a_block_counts_the_threads_of_all_its_warps() -> None:
    count = simt("block_sync_count", Const(1, type=i32))
    waits: dict[int, Meeting | None] = {
        thread: Meeting(count, Seat(0, thread, 64), [thread != 40]) for thread in range(64)
    }
    assert settle({**waits, 3: None}, range(32, 64)) == []
    assert settle(waits, range(32)) == [[*range(64)]]
    assert {one.result for one in waits.values() if one is not None} == {63}


def test_lanes_without_a_mask_meet_at_one_op() -> None:
    """Once no lane of the warp runs any more: two groups, if they are at different ops of a kind."""
    yes = Const(1, type=i32)
    ops = [simt("warp_ballot", yes), simt("warp_ballot", yes)]
    waits: dict[int, Meeting | None] = {
        thread: Meeting(ops[thread % 2], Seat(0, 32 + thread, 64), [1]) for thread in range(4)
    }
    waits = {32 + thread: one for thread, one in waits.items()}
    assert settle(waits, range(32, 64)) == [[32, 34], [33, 35]]
    assert [one.result for one in waits.values() if one is not None] == [0b0101, 0b1010, 0b0101, 0b1010]
    assert settle({**waits, 36: None}, range(32, 64)) == []
