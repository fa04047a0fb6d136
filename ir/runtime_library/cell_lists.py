"""Lists of the active cells of sparse nodes, and the collection of deactivated ones, as parallel loops in CHI.

    list_text(node)      makes the list of the active cells of a node, if cells came or went since it was made
    collect_text(...)    clears the cells that were deactivated, and makes their slots available again

A list is in the order of the indices: first that of the cells of the node above, then that in the cell. It does not
depend on slots or threads. Its cells are counted per piece of the tables, the counts are added up, and each piece then
fills its part of the list. The list of the node above must be up to date. On a CPU, a piece is large, and one iteration
adds up all counts. On a GPU, a piece is small, and groups of pieces add up theirs (`Traits.piece`, `Traits.groups`).

Until `lower_sparse`, a write to a sparse field does not show that it may activate a cell. What activation changes is
therefore read by `atomic_load`, which no pass merges with another load or replaces by a stored value.

A cell whose parent was collected is collected too. Collection goes from parents to children: a parent's cells name the
children's slots until they are cleared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

from weft.ir.runtime_library.dropped_slots import drop_text, dropped_text
from weft.ir.runtime_library.hashed_lists import hash_list_text, refill_text
from weft.ir.runtime_library.piece_sums import PIECE_TEXT, groups_text, own_names, sums_text
from weft.ir.runtime_library.slot_pool import given_back_text
from weft.ir.symbols import FieldSymbol, NodeSymbol
from weft.ir.target import Traits

__all__ = ["collect_text", "list_text", "tables_of"]


def list_text(node: NodeSymbol, traits: Traits) -> str:
    """The loops that make the list of a node. They run over nothing if it is up to date."""
    if node.hashed:
        return hash_list_text(node, traits)
    home, local = node.home, node.local
    count = prod(local)
    entry, cell = _entry(node, local), "\n".join(_cell(node, local))
    stores = "\n".join(
        f"%axis{k} = const {k} : i32\n%where{k} = field_ptr @{node.name}.where[%at, %axis{k}] : *i32\n"
        f"store %where{k}, %c{k}"
        for k in range(len(local))
    )
    filled = _FILLED.format(name=node.name, entry=entry, cell=cell, stores=stores)
    parents = _ONE
    if home is not None:
        parents = f"%home_count = field_ptr @{home.name}.count[] : *i32\n%parents = load %home_count : i32"
    chunks, groups = -(-count // traits.piece), traits.groups
    numbers = {"chunks": chunks, "piece": traits.piece, "local": count, "groups": groups_text(groups)}
    head = _HEAD.format(name=node.name, parents=parents, **numbers)
    if home is None and chunks == 1:  # one piece, which needs no other threads
        return f"{head}{_SMALL.format(name=node.name, scan=filled)}"
    counted = _COUNTED.format(entry=entry)
    made = f"%made = field_ptr @{node.name}.changed[] : *i32\nstore %made, %zero"
    sums = sums_text(node, "sums", "count", made, groups)
    fill = _FILL.format(name=node.name, scan=filled)
    if groups > 1:
        names = {"name": node.name, "cell": cell, "stores": stores}
        fill = _FILL_EACH.format(entry=entry, before=_entry_before(entry), **names)
    return f"{head}{_COUNT.format(name=node.name, scan=counted)}{sums}{own_names(fill, 4)}"


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
{groups}"""

_SMALL = """
if %old then {{
  %t = const 0 : i32
  %begin = const 0 : i32
  %end = binary add %local, %zero : i32
  %total = alloca : *i32
  store %total, %zero
  {scan}
  %count = field_ptr @{name}.count[] : *i32
  %whole = load %total : i32
  store %count, %whole
  store %changed, %zero
}}
"""

# The entries of one piece of a table: `%total` counts those that are not 0.
_COUNTED = """
  for %begin, %end, %one (%e: i32) {{
    {entry}
    %slot = load %entry : u32
    %there = binary ne %slot, %none : u1
    %here = cast %there : i32
    %before = load %total : i32
    %after = binary add %before, %here : i32
    store %total, %after
  }}
"""

_FILLED = """
  for %begin, %end, %one (%e: i32) {{
    {entry}
    %slot = load %entry : u32
    %there = binary ne %slot, %none : u1
    if %there then {{
      %at = load %total : i32
      %place = field_ptr @{name}.list[%at] : *u32
      store %place, %slot
      {cell}
      {stores}
      %behind = binary add %at, %one : i32
      store %total, %behind
    }}
  }}
"""

_COUNT = (
    """
parallel_for begins=[%zero], ends=[%pieces], config={{simd=1}} (%t: i32) {{
"""
    + PIECE_TEXT
    + """
  store %total, %zero
  {scan}
  %sum = field_ptr @{name}.sums[%t] : *i32
  %found = load %total : i32
  store %sum, %found
}}
"""
)

# A piece without cells is not read again.
_FILL = (
    """
parallel_for begins=[%zero], ends=[%pieces], config={{simd=1}} (%t: i32) {{
"""
    + PIECE_TEXT
    + """
  %sum = field_ptr @{name}.sums[%t] : *i32
  %first = load %sum : i32
  %behind_piece = binary add %t, %one : i32
  %next_sum = field_ptr @{name}.sums[%behind_piece] : *i32
  %next = load %next_sum : i32
  %some = binary lt %first, %next : u1
  store %total, %first
  if %some then {{
    {scan}
  }}
}}
"""
)


# The same with an iteration for each entry, which counts those before it in its piece. On a GPU, a piece belongs to the
# threads of a warp then, which read entries and write the list side by side.
_FILL_EACH = (
    """
parallel_for begins=[%zero, %zero], ends=[%pieces, %piece], config={{simd=1}} (%t: i32, %o: i32) {{
"""
    + PIECE_TEXT
    + """
  %e = binary add %begin, %o : i32
  %is_inside = binary lt %e, %end : u1
  if %is_inside then {{
    {entry}
    %slot = load %entry : u32
    %there = binary ne %slot, %none : u1
    if %there then {{
      %sum = field_ptr @{name}.sums[%t] : *i32
      %first = load %sum : i32
      store %total, %first
      for %begin, %e, %one (%e_before: i32) {{
        {before}
        %slot_before = load %entry_before : u32
        %there_before = binary ne %slot_before, %none : u1
        %here = cast %there_before : i32
        %so_far = load %total : i32
        %behind = binary add %so_far, %here : i32
        store %total, %behind
      }}
      %at = load %total : i32
      %place = field_ptr @{name}.list[%at] : *u32
      store %place, %slot
      {cell}
      {stores}
    }}
  }}
}}
"""
)


def _entry_before(entry: str) -> str:
    """The lines of `_entry` for entry %e_before, with other names."""
    return re.sub(r"%(?!(?:p|zero|one|none)\b)(\w+)", r"%\1_before", entry)


def _entry(node: NodeSymbol, local: Sequence[int]) -> str:
    """Lines that give `%entry`, the address of entry %e of the table in parent cell %p. Entries are in the order of the
    indices. If they lie side by side in memory, they are read as an array of one axis."""
    entries = node.parts.get("entries")
    if entries is None:
        listed = ", ".join(f"%at_c{k}" for k in range(len(local)))
        lines = [
            re.sub(r"%(?=(?:c|in|high|stride|extent|up|size|from)\d)", "%at_", line) for line in _cell(node, local)
        ]
        return "\n".join([*lines, f"%entry = field_ptr @{node.name}.table[{listed}] : *u32"])
    if node.home is None:
        return f"%entry = field_ptr @{entries.name}[%e] : *u32"
    return f"%cell = visited_slot @{node.home.name}, %p : u32\n%entry = field_ptr @{entries.name}[%cell, %e] : *u32"


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
    {drop}
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
%ring_end = field_ptr @{name}.last[] : *i64
%behind = load %ring_end : i64
%size = const {capacity} : i64
parallel_for begins=[%zero], ends=[%freed], config={{simd=1}} (%f2: i32) {{
  %place2 = field_ptr @{name}.freed[%f2] : *u32
  %slot2 = load %place2 : u32
  %offset = cast %f2 : i64
  %number = binary add %behind, %offset : i64
  %ring = binary raw_mod %number, %size : i64
  %to2 = field_ptr @{name}.free[%ring] : *u32
  store %to2, %slot2
}}
"""

_COLLECT = """
%zero = const 0 : i32
%none = const 0 : u32
%words = const {words} : i32
%nothing_left = const 0 : i64
%freed_count = field_ptr @{name}.freed_count[] : *i32
%freed = load %freed_count : i32
%freed_wide = cast %freed : i64
"""


_EMPTIED = """
%none = const 0 : u32
%zero = const 0 : i32
%yes = const 1 : i32
%count = field_ptr @{name}.count[] : *i32
%all = load %count : i32
parallel_for begins=[%zero], ends=[%all], config={{simd=1}} (%c: i32) {{
  %slot = visited_slot @{name}, %c : u32
  %place = field_ptr @{name}.freed[%c] : *u32
  store %place, %slot
  {indices}
  %entry = field_ptr @{table}[{index}] : *u32
  store %entry, %none
}}
%freed = field_ptr @{name}.freed_count[] : *i32
store %freed, %all
%changed = field_ptr @{name}.changed[] : *i32
store %changed, %yes
"""


def _emptied_text(node: NodeSymbol) -> str:
    """A loop that deactivates all cells in the list of a node with one table. It lists them as freed."""
    axes = range(len(node.shape))
    return _EMPTIED.format(
        name=node.name,
        table=node.table.stored.name,
        indices="\n  ".join(f"%in{k} = visited_index @{node.name}, %c, axis={k} : i32" for k in axes),
        index=", ".join(f"%in{k}" for k in axes),
    )


def collect_text(
    node: NodeSymbol, nodes: Sequence[NodeSymbol], traits: Traits, emptied: bool = False
) -> list[tuple[str, list[FieldSymbol]]]:
    """Kernels' bodies that collect the deactivated cells of a node, to be run in this order, and the fields that they
    name besides the parts of nodes. The nodes below are collected after it. `emptied`: the first one deactivates all
    cells of the node, whose list is up to date."""
    raw = node.part("raw")
    head = _COLLECT.format(name=node.name, words=raw.shape[-1])
    first = (_emptied_text(node), [node.table.stored]) if emptied else (dropped_text(node, traits), [])
    found: list[tuple[str, list[FieldSymbol]]] = [first]
    for child in tables_of(node, nodes):
        local = child.local
        text = _FREED_CHILDREN.format(
            name=node.name,
            drop=drop_text(child),
            table=child.table.stored.name,
            digits="\n".join(_digits(local, "in")),
            index=", ".join(f"%in{k}" for k in range(len(local))),
        )
        found.append((f"{head}%local = const {prod(local)} : i32\n{text}", [child.table.stored]))
    clear = _CLEAR.format(name=node.name, type=raw.dtype, capacity=node.capacity)
    found.append((f"{head}{clear}{given_back_text(node)}", []))
    if node.hashed:
        found.append((refill_text(node), []))
    return found
