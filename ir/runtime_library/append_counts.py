"""Appends that are counted before the loop that does them (see the pass `count_appends`).

    forget_counts_text(node)         before the loop that counts: sets the counts to 0
    counts_text(node, traits)        the loops after it: each piece learns where its elements begin in each list
    places_text(node, nodes, traits)  what follows: lists get their new lengths, and chunks for them
    counts_fit_text(node)            last: fails if there are too few slots, or if a list is too long

A loop is cut into `rows` pieces, in the order of its iterations. The first run of the loop counts in row p what piece p
appends to each list. A sum over the rows turns each count into the index of the first such element, and row `rows` into
the new length. In the second run, piece p puts its elements there, one after another. So the order of a list is that of
the iterations, whatever the number of pieces or threads.

`starts` says where the chunks of the new elements of a list lie, if they lie side by side, as those of a list that was
empty usually do. Then the second run does not read the tables, which are larger than the caches.

New chunks are counted for pieces of the lists, and the counts are added up. Slots are given out in the order of the
lists. If a list would be too long, or there are too few slots, `full` is set, and neither lengths nor tables change, of
none of the nodes to whose lists the loop appends. An interrupt does not end the loop that gives out slots: they would
be lost.

Lists are numbered in the order of their indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from weft.ir.runtime_library.allotments import (
    all_fit_text,
    begin_text,
    count_text,
    counted_text,
    fits_text,
    give_text,
    room_text,
    take_text,
)
from weft.ir.runtime_library.piece_sums import groups_text, own_names, sums_text
from weft.ir.runtime_library.sparse_cells import held_text
from weft.ir.symbols import FieldSymbol, NodeSymbol
from weft.ir.target import Traits

__all__ = [
    "SCATTERED",
    "counts_fit_text",
    "counts_text",
    "forget_counts_text",
    "full_list",
    "lists_inside",
    "most_counted",
    "places_text",
    "stored_parts",
]


SCATTERED = -(2**31)  # in `starts`: the chunks of the new elements do not lie side by side


def full_list(node: NodeSymbol, axes: int) -> str:
    """What is said of a list that is too long. The places are those of its index."""
    return f"list [{', '.join(['{}'] * axes)}] of '{node.name}' is full: it has {node.limit} elements"


def most_counted(node: NodeSymbol) -> int:
    """Where the counts of a list end: one more than it holds. So they do not wrap around."""
    return min(node.limit + 1, 2**31 - 2)


def lists_inside(node: NodeSymbol) -> tuple[int, ...]:
    """How many lists there are along each axis."""
    return node.list_of(node.local)


def stored_parts(node: NodeSymbol) -> list[FieldSymbol]:
    """The fields with the lengths and the slots of chunks, which the texts name."""
    assert node.length is not None
    return [node.length.stored, node.table.stored]


def forget_counts_text(node: NodeSymbol) -> str:
    """The loop that sets the counts to 0."""
    return _head(node, 1) + _FORGET.format(name=node.name)


def counts_text(node: NodeSymbol, traits: Traits) -> str:
    """The loops that turn counts into places, and count the chunks for them. `full` says whether something is
    wrong."""
    names = _names(node) | {"one": count_text("%is_new"), "counted": counted_text(node)}
    sums = sums_text(node, "news", "claims", "", traits.groups)
    room = room_text(node, _SOME_LONG.format(name=node.name))
    return f"{_head(node, traits.piece)}{groups_text(traits.groups)}{_COUNT.format(**names)}{sums}{room}"


def places_text(node: NodeSymbol, nodes: Sequence[NodeSymbol], traits: Traits) -> str:
    """The loop that gives lists their new lengths and chunks, unless something is wrong with one of these nodes."""
    names = _names(node) | {"fits": all_fit_text(nodes), "begin": begin_text(node), "give": give_text(node)}
    head, held, free = _head(node, traits.piece), held_text(True, traits), held_text(False, traits)
    return f"{held}\n{head}{take_text(node, nodes)}{own_names(_FILL.format(**names), 4)}\n{free}"


def _names(node: NodeSymbol) -> dict[str, Any]:
    """What the texts of both call things."""
    assert node.length is not None
    names = {"name": node.name, "chunk": node.chunk, "limit": node.limit, "scattered": SCATTERED}
    names |= {"place": _place(node, "%l", "at"), "place_before": _place(node, "%b", "from")}
    return names | {"entry": _entry(node), "most_counted": most_counted(node)}


def counts_fit_text(node: NodeSymbol) -> str:
    """The statements after these loops. They fail if a list is too long, or if there were too few slots."""
    inside = lists_inside(node)
    lines = [_TOO_LONG.format(name=node.name, lists=prod(inside), most=node.lists)]
    lines += _digits(inside, "%which", "at")
    listed = ", ".join(f"%at{k}" for k in range(len(inside)))
    lines.append(f'assert %right, [{listed}], message="{full_list(node, len(inside))}", kind=memory')
    return own_names("\n".join(lines), 7) + fits_text(node)


def _digits(extents: Sequence[int], of: str, into: str) -> list[str]:
    """Lines that give the index %<into>k along each axis of number `of`."""
    lines, stride = list[str](), prod(extents)
    for axis, extent in enumerate(extents):
        stride //= extent
        lines += [f"%{into}_s{axis} = const {stride} : i32", f"%{into}_n{axis} = const {extent} : i32"]
        lines.append(f"%{into}_h{axis} = binary raw_div {of}, %{into}_s{axis} : i32")
        lines.append(f"%{into}{axis} = binary raw_mod %{into}_h{axis}, %{into}_n{axis} : i32")
    return lines


def _place(node: NodeSymbol, number: str, into: str) -> str:
    """Lines that give `%<into>_length`, the address of the length of the list with that number, and its index."""
    assert node.length is not None
    inside = lists_inside(node)
    lines = _digits(inside, number, into)
    at = [f"%{into}{k}" for k in range(len(inside))]
    lines.append(f"%{into}_length = field_ptr @{node.length.stored.name}[{', '.join(at)}] : *i32")
    return "\n".join(lines)


def _entry(node: NodeSymbol) -> str:
    """A line that gives `%entry`, the address of the slot of chunk %c of that list."""
    at = [f"%at{k}" for k in range(len(lists_inside(node)))]
    at.insert(node.axis, "%c")
    return f"%entry = field_ptr @{node.table.stored.name}[{', '.join(at)}] : *u32"


def _head(node: NodeSymbol, piece: int) -> str:
    """The numbers of lists, of pieces of them, and of rows."""
    return _HEAD.format(name=node.name, lists=node.lists, piece=piece, all=-(-node.lists // piece))


_HEAD = """
%zero = const 0 : i32
%one = const 1 : i32
%none = const 0 : u32
%lists = const {lists} : i32
%piece = const {piece} : i32
%all = const {all} : i32
%rows_place = field_ptr @{name}.rows[] : *i32
%rows = load %rows_place : i32
%old = binary ne %rows, %zero : u1
%pieces = select %old, %all, %zero : i32
"""

_FORGET = """
%counts = binary mul %rows, %lists : i32
parallel_for begins=[%zero], ends=[%counts], config={{simd=1}} (%k: i32) {{
  %count = field_ptr @{name}.counts[%k] : *i32
  store %count, %zero
}}
%too_long = field_ptr @{name}.too_long[] : *i32
store %too_long, %zero
"""

# The lists [%begin, %end) of piece %t, and the first count of row `rows` for them.
_PIECE = """
  %begin = binary mul %t, %piece : i32
  %most = binary add %begin, %piece : i32
  %end = binary min %most, %lists : i32
  %total = alloca : *i32
  %last_row = binary mul %rows, %lists : i32
"""

# The chunks [%c_from, %c_to) of list %l that hold its new elements.
_CHUNKS = """
    {place}
    %at_last = binary add %last_row, %l : i32
    %new_place = field_ptr @{name}.counts[%at_last] : *i32
    %new_length = load %new_place : i32
    %old_length = load %at_length : i32
    %chunk_size = const {chunk} : i32
    %chunk_less = binary sub %chunk_size, %one : i32
    %limit = const {limit} : i32
    %bounded = binary min %new_length, %limit : i32
    %new_up = binary add %bounded, %chunk_less : i32
    %c_from = binary raw_div %old_length, %chunk_size : i32
    %c_to = binary raw_div %new_up, %chunk_size : i32
"""

_COUNT = (
    """
parallel_for begins=[%zero], ends=[%pieces], config={{simd=1}} (%t: i32) {{
"""
    + _PIECE
    + """
  for %begin, %end, %one (%b: i32) {{
    {place_before}
    %to_at = binary add %last_row, %b : i32
    %to = field_ptr @{name}.counts[%to_at] : *i32
    %known = load %from_length : i32
    store %to, %known
  }}
  %most_counted = const {most_counted} : u32
  for %zero, %rows, %one (%r: i32) {{
    %row = binary mul %r, %lists : i32
    for %begin, %end, %one (%m: i32) {{
      %at_row = binary add %row, %m : i32
      %sum_at = binary add %last_row, %m : i32
      %here = field_ptr @{name}.counts[%at_row] : *i32
      %sum = field_ptr @{name}.counts[%sum_at] : *i32
      %count = load %here : i32
      %before = load %sum : i32
      %before_wide = cast %before : u32
      %count_wide = cast %count : u32
      %count_most = binary min %count_wide, %most_counted : u32
      %after_wide = binary add %before_wide, %count_most : u32
      %after_most = binary min %after_wide, %most_counted : u32
      %after = cast %after_most : i32
      store %here, %before
      store %sum, %after
    }}
  }}
  store %total, %zero
  for %begin, %end, %one (%l: i32) {{
"""
    + _CHUNKS
    + """
    %is_too_long = binary gt %new_length, %limit : u1
    if %is_too_long then {{
      %which = binary sub %lists, %l : i32
      %too_long = field_ptr @{name}.too_long[] : *i32
      %other = atomic max %too_long, %which : i32
    }}
    for %c_from, %c_to, %one (%c: i32) {{
      {entry}
      %held = load %entry : u32
      %is_new = binary eq %held, %none : u1
      {one}
    }}
  }}
  {counted}
}}
"""
)

_SOME_LONG = """
  %too_long = field_ptr @{name}.too_long[] : *i32
  %is_too_long = load %too_long : i32
  %is_also = binary ne %is_too_long, %zero : u1
"""

_FILL = (
    """
parallel_for begins=[%zero], ends=[%pieces], config={{simd=1}} (%t: i32) {{
"""
    + _PIECE
    + """
  {fits}
  if %fits then {{
    {begin}
    %scattered = const {scattered} : i32
    for %begin, %end, %one (%l: i32) {{
"""
    + _CHUNKS
    + """
      %start = field_ptr @{name}.starts[%l] : *i32
      for %c_from, %c_to, %one (%c: i32) {{
        {entry}
        %held = load %entry : u32
        %is_new = binary eq %held, %none : u1
        if %is_new then {{
          {give}
        }}
        %chosen = load %entry : u32
        %chosen_number = cast %chosen : i32
        %this = binary sub %chosen_number, %c : i32
        %is_first = binary eq %c, %c_from : u1
        %known_start = load %start : i32
        %same = binary eq %this, %known_start : u1
        %beside = binary or %is_first, %same : u1
        %kept_start = select %beside, %this, %scattered : i32
        store %start, %kept_start
      }}
      store %at_length, %new_length
    }}
  }}
}}
"""
)

_TOO_LONG = """
%nothing = const 0 : i32
%too_long = field_ptr @{name}.too_long[] : *i32
%is_too_long = load %too_long : i32
%right = binary eq %is_too_long, %nothing : u1
%most = const {most} : i32
%from_first = binary sub %most, %is_too_long : i32
%lists = const {lists} : i32
%which = binary raw_mod %from_first, %lists : i32
"""
