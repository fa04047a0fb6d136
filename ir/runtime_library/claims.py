"""Cells that are made before the task that needs them (see the pass `activate_ahead`).

    forget_text(node)    before a task: removes the marks of a launch that was interrupted
    claim(build, ...)    code of a task: asks for a cell, if it is not active
    claims_text(node)    the loops after that task: make all cells that were asked for (`allotments.py`)

A cell is asked for by a mark beside the table (`marks`). Tables hold nothing but slots, so that others may read them.
Marks are counted per piece of the tables, and the counts are added up. So it is known whether there are enough slots
before any of them is taken. If there are not, the marks go, `full` is set, and the launch fails. Slots are given out in
the order of the tables and their entries. Pieces without marks are not looked at (`touched`), and nothing runs if
nothing was asked for (`claimed`).

An interrupt does not end these loops: slots that were taken would be lost.

Here, tables are numbered by the slots of the cells in which they lie, because the list of these cells may be out of
date.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from weft.ir.core import Builder, Value
from weft.ir.ops import AtomicLoad, Binary, Cast, Const, FieldPtr, If, Load, Store
from weft.ir.runtime_library.allotments import (
    all_fit_text,
    begin_text,
    count_text,
    counted_text,
    give_text,
    room_text,
    take_text,
)
from weft.ir.runtime_library.piece_sums import PIECE_TEXT, groups_text, own_names, sums_text
from weft.ir.runtime_library.sparse_cells import held_text
from weft.ir.symbols import NodeSymbol
from weft.ir.target import Traits
from weft.ir.types import i32, u1, u32

__all__ = ["claim", "claims_text", "forget_text"]


def claim(build: Builder, node: NodeSymbol, at: Sequence[Value], traits: Traits) -> None:
    """Ask for a cell (i32 or i64 indices, which are in range) if it is not active. If the cell in which its table lies
    is not active, nothing happens."""
    home: Value | None = None
    inside = list(at)
    if node.home is not None:
        block = next(block for above, block in node.table.above() if above is node.home)
        up = [_by(build, "raw_div", at[axis], size) for axis, size in block]
        home = build.add(Load(build.add(FieldPtr(node.home.table, up))))
        there = build.add(If(build.add(Binary("ne", home, build.add(Const(0, type=u32)), type=u1))))
        build = Builder(there.then, None, build.span)
        for axis, size in block:
            inside[axis] = _by(build, "raw_mod", at[axis], size)
    build = _where_zero(build, FieldPtr(node.table.stored, [*([] if home is None else [home]), *inside]))
    number = _narrow(build, inside[0])
    for index, extent in zip(inside[1:], node.local[1:], strict=True):
        number = build.add(Binary("add", _by(build, "mul", number, extent), _narrow(build, index)))
    table: Value = build.add(Const(0, type=i32)) if home is None else build.add(Cast(home, type=i32))
    piece = _by(build, "raw_div", number, traits.piece)
    if home is not None:
        piece = build.add(Binary("add", _by(build, "mul", table, -(-prod(node.local) // traits.piece)), piece))
    mark = FieldPtr(node.part("marks"), [table, number])
    first = _where_zero(build, mark)
    for role, at_piece in (("touched", [piece]), ("claimed", [])):  # before the mark, which says that they are set
        flag = FieldPtr(node.part(role), at_piece)
        _set(_where_zero(first, flag), flag)
    _set(first, mark)


def _set(build: Builder, place: FieldPtr) -> None:
    """Make a number 1. Other iterations do it, too, and only the first ones get here."""
    build.add(Store(place, build.add(Const(1, type=place.field.dtype)), relaxed=True))


def _where_zero(build: Builder, place: FieldPtr) -> Builder:
    """The inside of a branch that runs if a number in memory is 0."""
    word = place.field.dtype is i32  # there are no atomic loads of bytes
    found = build.add(AtomicLoad(build.add(place), type=i32) if word else Load(build.add(place)))
    branch = build.add(If(build.add(Binary("eq", found, build.add(Const(0, type=found.type)), type=u1))))
    return Builder(branch.then, None, build.span)


def _by(build: Builder, kind: str, value: Value, number: int) -> Value:
    return (
        value
        if number == 1 and kind != "raw_mod"
        else build.add(Binary(kind, value, build.add(Const(number, type=value.type))))
    )


def _narrow(build: Builder, value: Value) -> Value:
    return value if value.type is i32 else build.add(Cast(value, type=i32))


def forget_text(node: NodeSymbol, traits: Traits) -> str:
    """Statements that remove marks which a launch has left that did not end."""
    return _head(node, traits) + _FORGET.format(name=node.name)


def claims_text(node: NodeSymbol, traits: Traits) -> str:
    """The loops that give slots to the marked entries of a node."""
    names = {"name": node.name}
    table = "%e" if node.home is None else "%table, %e"
    entry = f"%entry = field_ptr @{node.part('entries').name}[{table}] : *u32"
    sums = sums_text(node, "news", "claims", "", traits.groups)
    parts = {"entry": entry, "one": count_text("%is_marked"), "counted": counted_text(node), **names}
    parts |= {"begin": begin_text(node), "give": give_text(node)}
    parts["fits"] = all_fit_text([node])
    count, fill, room = _COUNT.format(**parts), _FILL.format(**parts), room_text(node) + take_text(node, [node])
    head, end = _head(node, traits) + groups_text(traits.groups), own_names(_END.format(**names), 6)
    held, free = (held_text(held, traits) for held in (True, False))
    return f"{held}\n{head}{count}{sums}{room}{own_names(fill, 4)}{end}\n{free}"


def _head(node: NodeSymbol, traits: Traits) -> str:
    """The numbers of pieces and entries: no pieces if nothing was asked for."""
    home, local = node.home, prod(node.local)
    parents = "%parents = const 1 : i32" if home is None else _TABLES.format(name=home.name, most=home.capacity - 1)
    return _HEAD.format(
        name=node.name, parents=parents, chunks=-(-local // traits.piece), piece=traits.piece, local=local
    )


# The tables of a node below another one: those in its slots that were ever used, and in slot 0.
_TABLES = """
%home_first = field_ptr @{name}.first[] : *i64
%home_last = field_ptr @{name}.last[] : *i64
%home_fresh = field_ptr @{name}.fresh[] : *i64
%taken = load %home_first : i64
%given = load %home_last : i64
%used = load %home_fresh : i64
%past = binary sub %taken, %given : i64
%nothing = const 0 : i64
%over = binary max %past, %nothing : i64
%with_over = binary add %used, %over : i64
%most_used = const {most} : i64
%all_used = binary min %with_over, %most_used : i64
%slot_zero = const 1 : i64
%tables = binary add %all_used, %slot_zero : i64
%parents = cast %tables : i32
"""

_HEAD = """
%zero = const 0 : i32
%one = const 1 : i32
%none = const 0 : u32
%no_mark = const 0 : u8
%chunks = const {chunks} : i32
%piece = const {piece} : i32
%local = const {local} : i32
%claimed = field_ptr @{name}.claimed[] : *i32
%is_claimed = load %claimed : i32
%old = binary ne %is_claimed, %zero : u1
{parents}
%all = binary mul %parents, %chunks : i32
%pieces = select %old, %all, %zero : i32
"""

_FORGET = (
    """
for %zero, %pieces, %one (%t: i32) {{
"""
    + PIECE_TEXT
    + """
  %touched = field_ptr @{name}.touched[%t] : *i32
  %is_touched = load %touched : i32
  %look = binary ne %is_touched, %zero : u1
  if %look then {{
    for %begin, %end, %one (%e: i32) {{
      %mark = field_ptr @{name}.marks[%p, %e] : *u8
      store %mark, %no_mark
    }}
    store %touched, %zero
  }}
}}
if %old then {{ store %claimed, %zero }}
"""
)

_SCAN = """
    for %begin, %end, %one (%e: i32) {{
      %table = cast %p : u32
      {entry}
      %held = load %entry : u32
      %is_new = binary eq %held, %none : u1
      %mark = field_ptr @{name}.marks[%p, %e] : *u8
      %asked = load %mark : u8
      %is_asked = binary ne %asked, %no_mark : u1
      %is_marked = binary and %is_new, %is_asked : u1
"""

_COUNT = (
    """
parallel_for begins=[%zero], ends=[%pieces], config={{simd=1}} (%t: i32) {{
"""
    + PIECE_TEXT
    + """
  store %total, %zero
  %touched = field_ptr @{name}.touched[%t] : *i32
  %is_touched = load %touched : i32
  %look = binary ne %is_touched, %zero : u1
  if %look then {{
"""
    + _SCAN
    + """
      {one}
    }}
  }}
  {counted}
}}
"""
)

_FILL = (
    """
parallel_for begins=[%zero], ends=[%pieces], config={{simd=1}} (%t: i32) {{
"""
    + PIECE_TEXT
    + """
  %touched = field_ptr @{name}.touched[%t] : *i32
  %is_touched = load %touched : i32
  %look = binary ne %is_touched, %zero : u1
  if %look then {{
    {begin}
    {fits}
"""
    + _SCAN
    + """
      if %is_asked then {{ store %mark, %no_mark }}
      %is_given = binary and %is_marked, %fits : u1
      if %is_given then {{
        {give}
      }}
    }}
    store %touched, %zero
  }}
}}
"""
)

# (It asks again, so that no task before it must keep the answer.)
_END = """
%claimed = field_ptr @{name}.claimed[] : *i32
%is_claimed = load %claimed : i32
%some = binary ne %is_claimed, %zero : u1
if %some then {{ store %claimed, %zero }}
"""
