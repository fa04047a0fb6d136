"""The free slots of a sparse node: slots are taken while a task runs, and given back after it.

    slots_allocate() -> u32    a slot that no cell has; 0 if all are in use

Slots that were given back are in a ring (`free`). `first` counts the slots that were taken since the ring was empty,
`last` those that were put into it. Number n is place n % capacity. Slots behind the ring's end were never used: the
first of them is `fresh` + 1. An allocation is one atomic addition to `first`. It may make `first` larger than `last`:
the difference is the number of new slots, until `given_back_text` adds it to `fresh`.

Nothing is put into the ring while a task allocates, so there is no ABA problem. Slots are used again in the order in
which they were given back. If all slots are free, allocation begins at slot 1 again, so that cells lie side by side in
the order in which they are made.
"""

from __future__ import annotations

from weft.ir.symbols import NodeSymbol

__all__ = ["ALLOCATE", "SLOT_ROLES", "given_back_text", "slot_text"]

SLOT_ROLES = ("first", "last", "fresh", "free")  # the parts of a node that an allocation reads or writes

# The text of `slots_allocate`.
ALLOCATE = """
  %one = const 1 : i64
  %first = field_ptr @{name}.first[] : *i64
  %number = atomic add %first, %one : i64
  {slot}
  return [%slot]
"""

# The slot number %number: %slot, 0 if there is none.
_SLOT = """
  %slot_size = const {capacity} : i64
  %slot_ring_last = field_ptr @{name}.last[] : *i64
  %slot_fresh = field_ptr @{name}.fresh[] : *i64
  %slot_end = load %slot_ring_last : i64
  %slot_used = load %slot_fresh : i64
  %slot_given = binary lt %number, %slot_end : u1
  %slot_place = binary raw_mod %number, %slot_size : i64
  %slot_kept = field_ptr @{name}.free[%slot_place] : *u32
  %slot_used_again = load %slot_kept : u32
  %slot_behind = binary sub %number, %slot_end : i64
  %slot_before = binary add %slot_used, %slot_behind : i64
  %slot_one_more = const 1 : i64
  %slot_next = binary add %slot_before, %slot_one_more : i64
  %slot_there = binary lt %slot_next, %slot_size : u1
  %slot_narrow = cast %slot_next : u32
  %slot_no_slot = const 0 : u32
  %slot_new = select %slot_there, %slot_narrow, %slot_no_slot : u32
  %slot = select %slot_given, %slot_used_again, %slot_new : u32
"""


def slot_text(node: NodeSymbol) -> str:
    """Lines that give `%slot` (u32), the slot of allocation `%number` (i64) of a node."""
    return _SLOT.format(name=node.name, capacity=node.capacity)


# After the slots of `freed` were copied into the ring.
_GIVEN_BACK = """
%are_freed = binary gt %freed_wide, %nothing_left : u1
if %are_freed then {{
  %begin = field_ptr @{name}.first[] : *i64
  %end = field_ptr @{name}.last[] : *i64
  %fresh = field_ptr @{name}.fresh[] : *i64
  %taken = load %begin : i64
  %put = load %end : i64
  %used = load %fresh : i64
  %past = binary sub %taken, %put : i64
  %over = binary max %past, %nothing_left : i64
  %all_used = binary add %used, %over : i64
  %most = const {most} : i64
  %now_used = binary min %all_used, %most : i64
  %start = binary sub %taken, %over : i64
  %stop = binary add %put, %freed_wide : i64
  %are_free = binary sub %stop, %start : i64
  %some = binary ne %are_free, %now_used : u1
  %keep_start = select %some, %start, %nothing_left : i64
  %keep_stop = select %some, %stop, %nothing_left : i64
  %keep_used = select %some, %now_used, %nothing_left : i64
  store %begin, %keep_start
  store %end, %keep_stop
  store %fresh, %keep_used
  %none_freed = const 0 : i32
  store %freed_count, %none_freed
}}
"""


def given_back_text(node: NodeSymbol) -> str:
    """Lines that end the collection of `%freed_wide` slots (i64, the value of `%freed_count`), now in the ring."""
    return _GIVEN_BACK.format(name=node.name, most=node.capacity - 1)
