"""Slots for all cells that the pieces of a loop need, or for none of them, as texts of CHI.

First, each piece counts the cells that it needs in `news` (`count_text` for each, `counted_text` at the end). Sums over
the pieces turn counts into places, and their sum goes to `claims` (`piece_sums.py`). Then `room_text` sets `full` if
there are fewer free slots. If no node is full, `take_text` takes the slots of each, from number `base` on. Last, each
piece gives its cells their slots (`begin_text`, and `give_text` for each).

The texts use `%zero`, `%one` (i32), `%none` (u32), `%old` (whether anything was asked for), and in a piece `%t`, its
number, and `%total`, a variable (i32).
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir.runtime_library.piece_sums import own_names
from weft.ir.runtime_library.slot_pool import slot_text
from weft.ir.symbols import NodeSymbol

__all__ = [
    "all_fit_text",
    "begin_text",
    "count_text",
    "counted_text",
    "fits_text",
    "give_text",
    "room_text",
    "take_text",
]


def count_text(condition: str) -> str:
    """Lines that count a cell if a condition (u1) holds."""
    return _ONE_MORE.format(condition=condition)


def counted_text(node: NodeSymbol) -> str:
    """Lines that store how many cells the piece needs."""
    return _COUNTED.format(name=node.name)


def all_fit_text(nodes: Sequence[NodeSymbol]) -> str:
    """Lines that define `%fits` (u1): whether none of these nodes is full."""
    lines = ["%full_before = const 0 : i32"]
    for number, node in enumerate(nodes):
        before = f"%full_until{number - 1}" if number else "%full_before"
        lines.append(f"%full{number} = field_ptr @{node.name}.full[] : *i32")
        lines.append(f"%is_full{number} = load %full{number} : i32")
        lines.append(f"%full_until{number} = binary or {before}, %is_full{number} : i32")
    lines.append(f"%fits = binary eq %full_until{len(nodes) - 1}, %zero : u1")
    return "\n".join(lines)


def take_text(node: NodeSymbol, nodes: Sequence[NodeSymbol]) -> str:
    """Statements that take the slots of a node if none of these nodes is full."""
    return own_names(_TAKE.format(name=node.name, fits=all_fit_text(nodes)), 8)


def room_text(node: NodeSymbol, also: str = "") -> str:
    """Statements that set `full`. `also`: lines that define `%is_also` (u1), another reason to take no slots."""
    reason = f"{also}\n%is_full = binary or %too_few, %is_also : u1" if also else ""
    is_full = "%is_full" if also else "%too_few"
    return own_names(_ROOM.format(name=node.name, slot=slot_text(node), reason=reason, is_full=is_full), 5)


def begin_text(node: NodeSymbol) -> str:
    """Lines with which a piece begins to give slots."""
    return _BEGIN.format(name=node.name)


def give_text(node: NodeSymbol) -> str:
    """Lines that store the next slot of the piece in `%entry`."""
    return _GIVE.format(slot=slot_text(node))


def fits_text(node: NodeSymbol) -> str:
    """The statements after these loops. They fail if there were too few slots."""
    message = f"no memory for {{}} new cells of '{node.name}': its pool has {node.capacity - 1} cells of "
    message += f"{node.cell_bytes} bytes, and too few of them are free"
    return _FITS.format(message=message, name=node.name)


_ONE_MORE = """
      %counted = cast {condition} : i32
      %so_far = load %total : i32
      %grown = binary add %so_far, %counted : i32
      store %total, %grown
"""

_COUNTED = """
  %news = field_ptr @{name}.news[%t] : *i32
  %found = load %total : i32
  store %news, %found
"""

_ROOM = """
%full = field_ptr @{name}.full[] : *i32
store %full, %zero
if %old then {{
  %claims = field_ptr @{name}.claims[] : *i32
  %wanted = load %claims : i32
  %first_place = field_ptr @{name}.first[] : *i64
  %base = load %first_place : i64
  %base_place = field_ptr @{name}.base[] : *i64
  store %base_place, %base
  %wide = cast %wanted : i64
  %behind_last = binary add %base, %wide : i64
  %just_one = const 1 : i64
  %number = binary sub %behind_last, %just_one : i64
  {slot}
  %no_room = binary eq %slot, %none : u1
  %any = binary gt %wanted, %zero : u1
  %too_few = binary and %no_room, %any : u1
  {reason}
  %as_number = cast {is_full} : i32
  store %full, %as_number
}}
"""

# The list of cells counts as out of date before the first entry is written.
_TAKE = """
if %old then {{
  {fits}
  %claims = field_ptr @{name}.claims[] : *i32
  %wanted = load %claims : i32
  %any = binary gt %wanted, %zero : u1
  %takes = binary and %fits, %any : u1
  if %takes then {{
    %base_place = field_ptr @{name}.base[] : *i64
    %base = load %base_place : i64
    %wide = cast %wanted : i64
    %behind_last = binary add %base, %wide : i64
    %first_place = field_ptr @{name}.first[] : *i64
    store %first_place, %behind_last
    %changed = field_ptr @{name}.changed[] : *i32
    store %changed, %one
  }}
}}
"""

_BEGIN = """
    %news = field_ptr @{name}.news[%t] : *i32
    %first_in = load %news : i32
    store %total, %first_in
    %base_place = field_ptr @{name}.base[] : *i64
    %base = load %base_place : i64
"""

_GIVE = """
        %at = load %total : i32
        %at_wide = cast %at : i64
        %number = binary add %base, %at_wide : i64
        {slot}
        store %entry, %slot
        %behind_piece = binary add %at, %one : i32
        store %total, %behind_piece
"""

_FITS = """
%zero = const 0 : i32
%full = field_ptr @{name}.full[] : *i32
%is_full = load %full : i32
%fits = binary eq %is_full, %zero : u1
%claims = field_ptr @{name}.claims[] : *i32
%wanted = load %claims : i32
assert %fits, [%wanted], message="{message}", kind=memory
"""
