"""The slots of deactivated cells: they are marked while a task runs, and listed after it.

    drop_text(node)             code of a task: marks slot %slot (u32), which the iteration took out of a table
    dropped_text(node, traits)  the loops after that task: `freed` lists the marked slots in order, and `freed_count`
                                says how many there are

A slot leaves a table once, so no other iteration marks it. The list is a prefix sum over pieces of the pool; pieces
without marks are not looked at.
"""

from __future__ import annotations

from weft.ir.runtime_library.piece_sums import groups_text, own_names, sums_text
from weft.ir.storage.book import SLOTS_OF_PIECE
from weft.ir.symbols import NodeSymbol
from weft.ir.target import Traits

__all__ = ["DROP_ROLES", "drop_text", "dropped_text"]

DROP_ROLES = ("dropped", "dropped_in", "drops", "changed")  # the parts of a node that `drop_text` reads or writes

_DROP = """
  %drop_mark = const 1 : u8
  %drop_place = field_ptr @{name}.dropped[%slot] : *u8
  store %drop_place, %drop_mark
  %drop_shift = const {shift} : u32
  %drop_piece = binary shr %slot, %drop_shift : u32
  %drop_none = const 0 : i32
  %drop_yes = const 1 : i32
"""

_FLAG = """
  %{flag}_place = field_ptr @{name}.{flag}[{at}] : *i32
  %{flag}_known = atomic_load %{flag}_place : i32
  %{flag}_first = binary eq %{flag}_known, %drop_none : u1
  if %{flag}_first then {{ atomic_store %{flag}_place, %drop_yes }}
"""


def drop_text(node: NodeSymbol) -> str:
    """Lines that mark the slot %slot (u32). Only the first iteration sets a flag, so that the others share its line."""
    flags = (("dropped_in", "%drop_piece"), ("drops", ""), ("changed", ""))
    return _DROP.format(name=node.name, shift=SLOTS_OF_PIECE.bit_length() - 1) + "".join(
        _FLAG.format(name=node.name, flag=flag, at=at) for flag, at in flags
    )


_HEAD = """
%zero = const 0 : i32
%one = const 1 : i32
%no_mark = const 0 : u8
%drops = field_ptr @{name}.drops[] : *i32
%are_dropped = atomic_load %drops : i32
%old = binary ne %are_dropped, %zero : u1
%first = field_ptr @{name}.first[] : *i64
%ring_last = field_ptr @{name}.last[] : *i64
%fresh = field_ptr @{name}.fresh[] : *i64
%taken = load %first : i64
%given = load %ring_last : i64
%used = load %fresh : i64
%nothing = const 0 : i64
%past = binary sub %taken, %given : i64
%over = binary max %past, %nothing : i64
%with_over = binary add %used, %over : i64
%most_used = const {most} : i64
%all_used = binary min %with_over, %most_used : i64
%highest = cast %all_used : i32
%piece = const {piece} : i32
%full_pieces = binary raw_div %highest, %piece : i32
%all = binary add %full_pieces, %one : i32
%pieces = select %old, %all, %zero : i32
%behind_slots = const {capacity} : i32
{groups}
if %old then {{ store %drops, %zero }}
"""

_PIECE = """
parallel_for begins=[%zero], ends=[%pieces], config={{simd=1}} (%t: i32) {{
  %begin = binary mul %t, %piece : i32
  %most = binary add %begin, %piece : i32
  %end = binary min %most, %behind_slots : i32
  %total = alloca : *i32
  %sum = field_ptr @{name}.dropped_sums[%t] : *i32
  store %total, {start}
  %flag = field_ptr @{name}.dropped_in[%t] : *i32
  %is_flagged = load %flag : i32
  %look = binary ne %is_flagged, %zero : u1
  if %look then {{
    for %begin, %end, %one (%s: i32) {{
      %mark = field_ptr @{name}.dropped[%s] : *u8
      %marked = load %mark : u8
      %is_marked = binary ne %marked, %no_mark : u1
      {each}
    }}
    {after}
  }}
  {found}
}}
"""

_COUNTED = """
      %here = cast %is_marked : i32
      %before = load %total : i32
      %behind = binary add %before, %here : i32
      store %total, %behind
"""

_LISTED = """
      if %is_marked then {{
        %at = load %total : i32
        %place = field_ptr @{name}.freed[%at] : *u32
        %slot = cast %s : u32
        store %place, %slot
        store %mark, %no_mark
        %behind = binary add %at, %one : i32
        store %total, %behind
      }}
"""


def dropped_text(node: NodeSymbol, traits: Traits) -> str:
    """The loops that list the marked slots of a node. They run over nothing if there are none."""
    name = node.name
    head = _HEAD.format(
        name=name,
        most=node.capacity - 1,
        capacity=node.capacity,
        piece=SLOTS_OF_PIECE,
        groups=groups_text(traits.groups),
    )
    found = "%found = load %total : i32\n  store %sum, %found"
    count = _PIECE.format(name=name, start="%zero", each=_COUNTED, after="", found=found)
    fill = _PIECE.format(
        name=name, start="%first_of_piece", each=_LISTED.format(name=name), after="store %flag, %zero", found=""
    ).replace("  store %total, %first", "  %first_of_piece = load %sum : i32\n  store %total, %first")
    return head + count + sums_text(node, "dropped_sums", "freed_count", "", traits.groups) + own_names(fill, 4)
