"""Prefix sums over the pieces of the tables of a sparse node, as loops in CHI.

A loop over `%pieces` has counted something in each piece. `sums_text` replaces each count by the sum of all before it.
On a CPU, one loop adds them up. On a GPU, groups of pieces add up theirs first (`Traits.groups`).

The texts use `%zero`, `%one` (i32), `%all` (the number of pieces), `%pieces` (the same, or 0 if there is nothing to
do), `%chunks` (pieces of one table), `%piece` (entries of a piece) and `%local` (entries of a table). `groups_text`
defines the numbers of groups.
"""

from __future__ import annotations

import re

from weft.ir.symbols import NodeSymbol

__all__ = ["PIECE_TEXT", "groups_text", "own_names", "sums_text"]

_SHARED = "zero|one|none|no_mark|chunks|piece|local|all|each|pieces|groups|last|old|behind_slots|lists|rows"


def own_names(text: str, number: int) -> str:
    """The text with other names for what it defines."""
    return re.sub(rf"%(?!(?:{_SHARED})\b)(\w+)", rf"%\1_{number}", text)


def groups_text(groups: int) -> str:
    """The numbers of groups of pieces, if there are that many groups. One group needs none."""
    return _GROUPS.format(groups=groups, last=groups - 1) if groups > 1 else ""


def sums_text(node: NodeSymbol, counts: str, total: str, end: str, groups: int) -> str:
    """Loops that replace the count of each piece in the part `counts` of a node by the sum of the counts before it, and
    store the sum of all in the part `total`. Then they run the lines `end`."""
    names = {"name": node.name, "counts": counts, "total": total, "end": end}
    if groups == 1:
        return own_names(_ALONE.format(**names), 3)
    return own_names(_SUM.format(**names), 2) + own_names(_ADD.format(**names), 3)


_GROUPS = """
%most_groups = const {groups} : i32
%groups = select %old, %most_groups, %zero : i32
%last = const {last} : i32
%more = binary add %all, %last : i32
%each = binary raw_div %more, %most_groups : i32
"""

# The entries [%begin, %end) of piece %t, which is in table %p.
PIECE_TEXT = """
  %p = binary raw_div %t, %chunks : i32
  %chunk = binary raw_mod %t, %chunks : i32
  %begin = binary mul %chunk, %piece : i32
  %most = binary add %begin, %piece : i32
  %end = binary min %most, %local : i32
  %total = alloca : *i32
"""


_GROUP = """
  %begin = binary mul %g, %each : i32
  %most = binary add %begin, %each : i32
  %end = binary min %most, %all : i32
  %total = alloca : *i32
  store %total, %zero
"""

_SUM = (
    """
parallel_for begins=[%zero], ends=[%groups], config={{simd=1}} (%g: i32) {{
"""
    + _GROUP
    + """
  for %begin, %end, %one (%k: i32) {{
    %sum = field_ptr @{name}.{counts}[%k] : *i32
    %here = load %sum : i32
    %before = load %total : i32
    %after = binary add %before, %here : i32
    store %total, %after
  }}
  %group = field_ptr @{name}.groups[%g] : *i32
  %found = load %total : i32
  store %group, %found
}}
"""
)

# Each group adds up the sums of all groups before it. The last one knows the number of all cells.
_ADD = (
    """
parallel_for begins=[%zero], ends=[%groups], config={{simd=1}} (%g: i32) {{
"""
    + _GROUP
    + """
  for %zero, %g, %one (%h: i32) {{
    %group = field_ptr @{name}.groups[%h] : *i32
    %found = load %group : i32
    %so_far = load %total : i32
    %added = binary add %so_far, %found : i32
    store %total, %added
  }}
  for %begin, %end, %one (%k: i32) {{
    %sum = field_ptr @{name}.{counts}[%k] : *i32
    %here = load %sum : i32
    %before = load %total : i32
    store %sum, %before
    %after = binary add %before, %here : i32
    store %total, %after
  }}
  %ends = binary eq %g, %last : u1
  if %ends then {{
    %whole = load %total : i32
    %behind_all = field_ptr @{name}.{counts}[%all] : *i32
    store %behind_all, %whole
    %count = field_ptr @{name}.{total}[] : *i32
    store %count, %whole
    {end}
  }}
}}
"""
)

# The same in one serial loop. Then the sum of all is stored if there was something to do.
_ALONE = """
%total = alloca : *i32
store %total, %zero
for %zero, %pieces, %one (%k: i32) {{
  %sum = field_ptr @{name}.{counts}[%k] : *i32
  %here = load %sum : i32
  %before = load %total : i32
  store %sum, %before
  %after = binary add %before, %here : i32
  store %total, %after
}}
if %old then {{
  %whole = load %total : i32
  %behind_all = field_ptr @{name}.{counts}[%all] : *i32
  store %behind_all, %whole
  %count = field_ptr @{name}.{total}[] : *i32
  store %count, %whole
  {end}
}}
"""
