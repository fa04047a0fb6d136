"""Lists of the active cells of sparse nodes, and the collection of deactivated ones, as parallel loops in CHI.

    list_text(node)      makes the list of the active cells of a node, if cells came or went since it was made
    collect_text(...)    clears the cells that were deactivated, and makes their slots available again

A list is in the order of the indices: first that of the cells of the node above, then that in the cell. It does not
depend on slots or threads. Its cells are counted per piece of the tables, the counts are added up, and each piece then
fills its part of the list. The list of the node above must be up to date.

Until `lower_sparse`, a write to a sparse field does not show that it may activate a cell. What activation changes is
therefore read by `atomic_load`, which no pass merges with another load or replaces by a stored value.

A cell whose parent was collected is collected too. Collection goes from parents to children: a parent's cells name the
children's slots until they are cleared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

from weft.ir.storage.book import PIECE
from weft.ir.symbols import FieldSymbol, NodeSymbol

__all__ = ["collect_text", "list_text", "tables_of"]


def list_text(node: NodeSymbol) -> str:
    """The loops that make the list of a node. They run over nothing if it is up to date."""
    home, local = node.home, _local(node)
    count = prod(local)
    axes = range(len(local))
    scan = _SCAN.format(name=node.name, digits="\n".join(_cell(node, local)), index=", ".join(f"%c{k}" for k in axes))
    where = [
        f"%axis{k} = const {k} : i32\n%where{k} = field_ptr @{node.name}.where[%at, %axis{k}] : *i32" for k in axes
    ]
    stores = "\n".join(f"{line}\nstore %where{k}, %c{k}" for k, line in enumerate(where))
    if home is None and count <= PIECE:  # one piece, which needs no other threads
        head = _HEAD.format(name=node.name, parents=_ONE, chunks=1, piece=PIECE, local=count)
        filled = scan.replace("FIRST", "%zero").replace("FOUND", f"{_ENTER.format(name=node.name)}{stores}")
        return f"{head}{_SMALL.format(name=node.name, scan=filled)}"
    counted = scan.replace("FIRST", "%zero").replace("FOUND", "")
    filled = scan.replace("FIRST", "%first").replace("FOUND", f"{_ENTER.format(name=node.name)}{stores}")
    parents = _ONE
    if home is not None:
        parents = f"%home_count = field_ptr @{home.name}.count[] : *i32\n%parents = load %home_count : i32"
    head = _HEAD.format(name=node.name, parents=parents, chunks=-(-count // PIECE), piece=PIECE, local=count)
    return (
        f"{head}{_COUNT.format(name=node.name, scan=counted)}{_ADD.format(name=node.name)}"
        f"{_again(_FILL.format(name=node.name, scan=filled))}"
    )


def _again(text: str) -> str:
    """The text with other names for what it defines."""
    return re.sub(r"%(?!(?:zero|one|none|chunks|piece|local|pieces)\b)(\w+)", r"%\1_2", text)


_ONE = "%parents = const 1 : i32"

_HEAD = """
%zero = const 0 : i32
%one = const 1 : i32
%none = const 0 : u32
%chunks = const {chunks} : i32
%piece = const {piece} : i32
%local = const {local} : i32
%changed = field_ptr @{name}.changed[] : *i32
%is_changed = atomic_load %changed : i32
%old = binary ne %is_changed, %zero : u1
{parents}
%all = binary mul %parents, %chunks : i32
%pieces = select %old, %all, %zero : i32
"""

_SMALL = """
if %old then {{
  %t = const 0 : i32
  {scan}
  %count = field_ptr @{name}.count[] : *i32
  %whole = load %total : i32
  store %count, %whole
  store %changed, %zero
}}
"""

# The entries of one piece of a table: `%total` counts those that are not 0.
_SCAN = """
  %p = binary raw_div %t, %chunks : i32
  %chunk = binary raw_mod %t, %chunks : i32
  %begin = binary mul %chunk, %piece : i32
  %most = binary add %begin, %piece : i32
  %end = binary min %most, %local : i32
  %total = alloca : *i32
  store %total, FIRST
  for %begin, %end, %one (%e: i32) {{
    {digits}
    %entry = field_ptr @{name}.table[{index}] : *u32
    %slot = load %entry : u32
    %there = binary ne %slot, %none : u1
    if %there then {{
      %at = load %total : i32
      FOUND
      %behind = binary add %at, %one : i32
      store %total, %behind
    }}
  }}
"""

_ENTER = """
      %place = field_ptr @{name}.list[%at] : *u32
      store %place, %slot
"""

_COUNT = """
parallel_for begins=[%zero], ends=[%pieces], config={{simd=1}} (%t: i32) {{
  {scan}
  %sum = field_ptr @{name}.sums[%t] : *i32
  %found = load %total : i32
  store %sum, %found
}}
"""

_ADD = """
if %old then {{
  %all_before = alloca : *i32
  store %all_before, %zero
  for %zero, %pieces, %one (%k: i32) {{
    %piece_sum = field_ptr @{name}.sums[%k] : *i32
    %here = load %piece_sum : i32
    %earlier = load %all_before : i32
    store %piece_sum, %earlier
    %later = binary add %earlier, %here : i32
    store %all_before, %later
  }}
  %count = field_ptr @{name}.count[] : *i32
  %whole = load %all_before : i32
  store %count, %whole
  store %changed, %zero
}}
"""

_FILL = """
parallel_for begins=[%zero], ends=[%pieces], config={{simd=1}} (%t: i32) {{
  %sum = field_ptr @{name}.sums[%t] : *i32
  %first = load %sum : i32
  {scan}
}}
"""


def _local(node: NodeSymbol) -> tuple[int, ...]:
    """How many cells a table of the node has along each axis, in one cell of the pool in which it lies."""
    home = node.home
    if home is None:
        return node.shape
    inside = dict(next(block for above, block in node.table.above() if above is home))
    return tuple(inside.get(axis, extent) for axis, extent in enumerate(node.shape))


def _digits(local: Sequence[int], into: str) -> list[str]:
    """Lines that give the index %<into>k along each axis of entry number %e of a table."""
    lines, stride = list[str](), prod(local)
    for axis, extent in enumerate(local):
        stride //= extent
        lines += [f"%stride{axis} = const {stride} : i32", f"%extent{axis} = const {extent} : i32"]
        lines.append(f"%high{axis} = binary raw_div %e, %stride{axis} : i32")
        lines.append(f"%{into}{axis} = binary raw_mod %high{axis}, %extent{axis} : i32")
    return lines


def _cell(node: NodeSymbol, local: Sequence[int]) -> list[str]:
    """Lines that give the index %ck of the cell that entry %e of the table in parent cell %p is about."""
    home = node.home
    if home is None:
        return _digits(local, "c")
    lines = _digits(local, "in")
    block = next(block for above, block in node.table.above() if above is home)
    place = {axis: k for k, (axis, _) in enumerate(block)}
    for axis, extent in enumerate(local):
        if axis not in place:
            lines.append(f"%c{axis} = binary add %in{axis}, %zero : i32")
            continue
        lines.append(f"%up{axis} = visited_index @{home.name}, %p, axis={place[axis]} : i32")
        lines.append(f"%size{axis} = const {extent} : i32")
        lines.append(f"%from{axis} = binary mul %up{axis}, %size{axis} : i32")
        lines.append(f"%c{axis} = binary add %from{axis}, %in{axis} : i32")
    return lines


def tables_of(node: NodeSymbol, nodes: Sequence[NodeSymbol]) -> list[NodeSymbol]:
    """The nodes with pools whose tables lie in the cells of a node."""
    return [one for one in nodes if one.has_pool and one.home is node]


_FREED_CHILDREN = """
parallel_for begins=[%zero, %zero], ends=[%freed, %local], config={{simd=1}} (%f: i32, %e: i32) {{
  %place = field_ptr @{name}.freed[%f] : *u32
  %cell = load %place : u32
  {digits}
  %entry = field_ptr @{table}[%cell, {index}] : *u32
  %slot = load %entry : u32
  %there = binary ne %slot, %none : u1
  if %there then {{
    %count = field_ptr @{child}.freed_count[] : *i64
    %number = atomic add %count, %one : i64
    %to = field_ptr @{child}.freed[%number] : *u32
    store %to, %slot
    %changed = field_ptr @{child}.changed[] : *i32
    %yes = const 1 : i32
    atomic_store %changed, %yes
  }}
}}
"""

_CLEAR = """
parallel_for begins=[%zero, %zero], ends=[%freed, %words], config={{simd=1}} (%f: i32, %w: i32) {{
  %place = field_ptr @{name}.freed[%f] : *u32
  %slot = load %place : u32
  %word = field_ptr @{name}.raw[%slot, %w] : *{type}
  %nothing = const 0 : {type}
  store %word, %nothing
}}
parallel_for begins=[%zero], ends=[%freed], config={{simd=1}} (%f2: i32) {{
  %place2 = field_ptr @{name}.freed[%f2] : *u32
  %slot2 = load %place2 : u32
  %wide = cast %slot2 : i64
  %cell = binary sub %wide, %one : i64
  invoke function={name}_slots_free, [%cell], touched=({touched})
}}
store %freed_count, %nothing_left
"""

_COLLECT = """
%zero = const 0 : i32
%one = const 1 : i64
%none = const 0 : u32
%words = const {words} : i32
%nothing_left = const 0 : i64
%freed_count = field_ptr @{name}.freed_count[] : *i64
%freed_wide = atomic_load %freed_count : i64
%freed = cast %freed_wide : i32
"""


def collect_text(node: NodeSymbol, nodes: Sequence[NodeSymbol]) -> list[tuple[str, list[FieldSymbol]]]:
    """Kernels' bodies that collect the deactivated cells of a node, to be run in this order, and the fields that they
    name besides the parts of nodes. The nodes below are collected after it."""
    raw = node.part("raw")
    head = _COLLECT.format(name=node.name, words=raw.shape[-1])
    found: list[tuple[str, list[FieldSymbol]]] = []
    for child in tables_of(node, nodes):
        local = _local(child)
        text = _FREED_CHILDREN.format(
            name=node.name,
            child=child.name,
            table=child.table.stored.name,
            digits="\n".join(_digits(local, "in")),
            index=", ".join(f"%in{k}" for k in range(len(local))),
        )
        found.append((f"{head}%local = const {prod(local)} : i32\n{text}", [child.table.stored]))
    touched = ", ".join(node.part(role).name for role in ("head", "fresh", "next"))
    found.append((head + _CLEAR.format(name=node.name, type=raw.dtype, touched=touched), []))
    return found
