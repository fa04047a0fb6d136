"""The list of the active cells of a hash node, in the order of their indices, as parallel loops in CHI.

Cells are sorted by buckets. The bucket of a cell is where its index is in the box of all active cells, in the order of
indices, in equal parts. So each bucket has few cells unless they are spread very unevenly, and a heap sort of each
bucket bounds the time then. What is sorted has no equal elements, so the list does not depend on slots or threads.

    1. the box of all active cells            in pieces of the slots that were ever used
    2. how many cells are in each bucket      one iteration for each slot
    3. where each bucket begins               by the prefix sum of `piece_sums`
    4. the slots, bucket by bucket            one iteration for each slot
    5. the order in each bucket               one iteration for each bucket

The loops run over nothing if the list is up to date. They begin with `low`, `high` and `tally` at 0, whatever a launch
left there that an interrupt ended.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir.ops import Invoke, Kernel
from weft.ir.runtime_library.piece_sums import groups_text, sums_text
from weft.ir.runtime_library.sparse_cells import written_on
from weft.ir.storage.book import bucket_count, hash_entries
from weft.ir.symbols import NodeSymbol
from weft.ir.target import Traits

__all__ = ["hash_list_text", "order_functions", "refill_text"]

_SLICE = 256  # slots that one iteration looks at
_BOX = 1 << 60  # the cells of a box whose numbers fit into an i64

_HEAD = """
%zero = const 0 : i32
%one = const 1 : i32
%slice = const {slice} : i32
%buckets = const {buckets} : i32
%all = const {buckets} : i32
%changed = field_ptr @{name}.changed[] : *i32
%is_changed = atomic_load %changed : i32
%old = binary ne %is_changed, %zero : u1
{ever}%ever = cast %ever_used : i32
%used = select %old, %ever, %zero : i32
%rounded = binary add %used, %slice : i32
%less = binary sub %rounded, %one : i32
%slices = binary raw_div %less, %slice : i32
%pieces = select %old, %buckets, %zero : i32
if %old then {{
  {reset}
  for %zero, %buckets, %one (%z: i32) {{
    %stale = field_ptr @{name}.tally[%z] : *i32
    store %stale, %zero
  }}
}}
"""

_TALLY_LOOPS = """
parallel_for begins=[%zero], ends=[%slices], config={{simd=1}} (%a: i32) {{
  %from = binary mul %a, %slice : i32
  %most = binary add %from, %slice : i32
  %to = binary min %most, %used : i32
  invoke function={name}_box, [%from, %to], touched=({touched})
}}
parallel_for begins=[%zero], ends=[%used], config={{simd=1}} (%b: i32) {{
  %b_slot = binary add %b, %one : i32
  %b_bucket = invoke function={name}_bucket, [%b_slot], touched=({touched}) : i32
  %b_there = binary ge %b_bucket, %zero : u1
  if %b_there then {{
    %b_tally = field_ptr @{name}.tally[%b_bucket] : *i32
    %b_more = atomic add %b_tally, %one : i32
  }}
}}
"""

_SORT_LOOPS = """
parallel_for begins=[%zero], ends=[%used], config={{simd=1}} (%e: i32) {{
  %e_slot = binary add %e, %one : i32
  %e_bucket = invoke function={name}_bucket, [%e_slot], touched=({touched}) : i32
  %e_there = binary ge %e_bucket, %zero : u1
  if %e_there then {{
    %e_begin = field_ptr @{name}.tally[%e_bucket] : *i32
    %e_at = atomic add %e_begin, %one : i32
    %e_place = field_ptr @{name}.list[%e_at] : *u32
    %e_stored = cast %e_slot : u32
    store %e_place, %e_stored
  }}
}}
parallel_for begins=[%zero], ends=[%pieces], config={{simd=1}} (%f: i32) {{
  invoke function={name}_sort, [%f], touched=({touched})
}}
if %old then {{ atomic_store %changed, %zero }}
"""

# How many slots were used at some time.
_EVER = """
%fresh = field_ptr @{name}.fresh[] : *i64
%first = field_ptr @{name}.first[] : *i64
%ring_last = field_ptr @{name}.last[] : *i64
%known_used = atomic_load %fresh : i64
%taken = atomic_load %first : i64
%given = atomic_load %ring_last : i64
%past = binary sub %taken, %given : i64
%no_more = const 0 : i64
%new = binary max %past, %no_more : i64
%ever_wide = binary add %known_used, %new : i64
%room = const {room} : i64
%ever_used = binary min %ever_wide, %room : i64
"""

# How far the active cells of some slots reach below and above the index 0.
_BOX_OF = """
  {zeros}
  for %from, %to, %one (%s: i32) {{
    %slot = binary add %s, %one : i32
    %kept = field_ptr @{name}.entry[%slot] : *i32
    %number = load %kept : i32
    %active = binary ne %number, %zero : u1
    if %active then {{ {widen} }}
  }}
  {stores}
"""

_BUCKET = """
  %kept = field_ptr @{name}.entry[%slot] : *i32
  %number = load %kept : i32
  %gone = binary eq %number, %zero : u1
  %nowhere = const -1 : i32
  if %gone then {{ return [%nowhere] }}
  {key}
  %buckets = const {buckets} : i64
  %most = const {buckets_less} : i64
  %above = binary add %total, %most : i64
  %size = binary raw_div %above, %buckets : i64
  %wide = binary raw_div %key, %size : i64
  %bucket = cast %wide : i32
  return [%bucket]
"""

_SORT = """
  %start = alloca : *i32
  store %start, %zero
  %later = binary gt %bucket, %zero : u1
  if %later then {{
    %previous = binary sub %bucket, %one : i32
    %end_before = field_ptr @{name}.tally[%previous] : *i32
    %known = load %end_before : i32
    store %start, %known
  }}
  %begin = load %start : i32
  %behind = field_ptr @{name}.tally[%bucket] : *i32
  %end = load %behind : i32
  %count = binary sub %end, %begin : i32
  %two = const 2 : i32
  %half = binary raw_div %count, %two : i32
  for %zero, %half, %one (%k: i32) {{
    %left = binary sub %half, %k : i32
    %root = binary sub %left, %one : i32
    invoke function={name}_sift, [%begin, %root, %count]
  }}
  for %one, %count, %one (%k2: i32) {{
    %last = binary sub %count, %k2 : i32
    %last_at = binary add %begin, %last : i32
    %a = field_ptr @{name}.list[%begin] : *u32
    %b = field_ptr @{name}.list[%last_at] : *u32
    %va = load %a : u32
    %vb = load %b : u32
    store %a, %vb
    store %b, %va
    invoke function={name}_sift, [%begin, %zero, %last]
  }}
  for %begin, %end, %one (%at: i32) {{
    %place = field_ptr @{name}.list[%at] : *u32
    %slot = load %place : u32
    {stores}
  }}
"""

# Moves element `root` of a heap of `count` cells, which begins at `begin` of the list, down to its place.
_SIFT = """
  %position = alloca : *i32
  store %position, %root
  %two = const 2 : i32
  while {{
    %node = load %position : i32
    %doubled = binary mul %node, %two : i32
    %left = binary add %doubled, %one : i32
    %is_leaf = binary ge %left, %count : u1
    if %is_leaf then {{ return [] }}
    %right = binary add %left, %one : i32
    %larger = alloca : *i32
    store %larger, %left
    %left_at = binary add %begin, %left : i32
    %left_place = field_ptr @{name}.list[%left_at] : *u32
    %has_right = binary lt %right, %count : u1
    if %has_right then {{
      %right_at = binary add %begin, %right : i32
      %right_place = field_ptr @{name}.list[%right_at] : *u32
      %ls = load %left_place : u32
      %rs = load %right_place : u32
      %smaller = invoke function={name}_precedes, [%ls, %rs] : u1
      if %smaller then {{ store %larger, %right }}
    }}
    %child = load %larger : i32
    %own_at = binary add %begin, %node : i32
    %child_at = binary add %begin, %child : i32
    %own_place = field_ptr @{name}.list[%own_at] : *u32
    %child_place = field_ptr @{name}.list[%child_at] : *u32
    %os = load %own_place : u32
    %cs = load %child_place : u32
    %below = invoke function={name}_precedes, [%os, %cs] : u1
    %done = unary not %below : u1
    if %done then {{ return [] }}
    store %own_place, %cs
    store %child_place, %os
    store %position, %child
  }}
"""

_REFILL = """
%zero = const 0 : i32
%one = const 1 : i32
%no_slot = const 0 : u32
%gone = field_ptr @{name}.gone[] : *i64
%gone_now = atomic_load %gone : i64
%bearable = const {bearable} : i64
%too_many = binary gt %gone_now, %bearable : u1
%entry_count = const {entries} : i32
%all_entries = select %too_many, %entry_count, %zero : i32
{ever}%ever = cast %ever_used : i32
%all_slots = select %too_many, %ever, %zero : i32
parallel_for begins=[%zero], ends=[%all_entries], config={{simd=1}} (%e: i32) {{
  %entry = field_ptr @{name}.hash_table[%e] : *u32
  store %entry, %no_slot
}}
parallel_for begins=[%zero], ends=[%all_slots], config={{simd=1}} (%s: i32) {{
  %short = binary add %s, %one : i32
  %slot = cast %short : u32
  invoke function={name}_again, [%slot], touched=({touched})
}}
if %too_many then {{
  %nothing = const 0 : i64
  atomic_store %gone, %nothing
}}
"""


def hash_list_text(node: NodeSymbol, traits: Traits) -> str:
    """The loops that make the list of a hash node. They run over nothing if it is up to date."""
    reset = list[str]()
    for k in range(len(node.shape)):
        reset.append(f"%axis{k} = const {k} : i32")
        for side in ("low", "high"):
            reset.append(f"%{side}{k} = field_ptr @{node.name}.{side}[%axis{k}] : *i32\nstore %{side}{k}, %zero")
    numbers = {"slice": _SLICE, "buckets": bucket_count(node.capacity)}
    head = _HEAD.format(name=node.name, ever=_ever(node), reset="\n".join(reset), **numbers)
    sums = groups_text(traits.groups) + sums_text(node, "tally", "count", "", traits.groups)
    names = {"name": node.name, "touched": ", ".join(_touched(node))}
    return head + _TALLY_LOOPS.format(**names) + sums + _SORT_LOOPS.format(**names)


def refill_text(node: NodeSymbol) -> str:
    """The loops that fill the hash table anew, if too many of its entries are those of deactivated cells."""
    entries = hash_entries(node.capacity)
    touched = ", ".join(_touched(node))
    return _REFILL.format(name=node.name, entries=entries, bearable=entries // 4, ever=_ever(node), touched=touched)


def _ever(node: NodeSymbol) -> str:
    return _EVER.format(name=node.name, room=node.capacity - 1)


def _touched(node: NodeSymbol) -> list[str]:
    return [part.name for role, part in node.parts.items() if role not in ("table", "raw")]


def order_functions(node: NodeSymbol, nodes: Sequence[NodeSymbol]) -> list[Kernel]:
    """The functions that the loops call: they are not those of programs."""
    buckets, axes = bucket_count(node.capacity), range(len(node.shape))
    numbers = {"buckets": buckets, "buckets_less": buckets - 1}

    def made(signature: str, body: str, **given: object) -> Kernel:
        params = [part.split(": ") for part in signature[signature.index("(") + 1 : signature.index(")")].split(", ")]
        args = [f"%{param} = arg index={k} : {type}" for k, (param, type) in enumerate(params)]
        lines = [*args, "%zero = const 0 : i32", "%one = const 1 : i32"]
        text = "\n".join([*lines, body.format(name=node.name, **numbers, **given)])
        function = written_on(nodes, f"@{node.name}_{signature} called=true", text)
        for op in function.all_of(Invoke):
            op.touched = tuple(_touched(node))
        return function

    return [
        made("box(from: i32, to: i32) -> ()", _BOX_OF, **_box_lines(node)),
        made("bucket(slot: i32) -> (i32)", _BUCKET, key="\n".join(_key_lines(node))),
        made("sort(bucket: i32) -> ()", _SORT, stores="\n".join(line for k in axes for line in _where_lines(node, k))),
        made("sift(begin: i32, root: i32, count: i32) -> ()", _SIFT),
        made("precedes(a: u32, b: u32) -> (u1)", "\n".join(_order_lines(node)).replace("{", "{{").replace("}", "}}")),
    ]


def _box_lines(node: NodeSymbol) -> dict[str, str]:
    zeros, widen, stores = list[str](), list[str](), list[str]()
    for k, extent in enumerate(node.shape):
        zeros += [f"%axis{k} = const {k} : i32", f"%centre{k} = const {extent // 2} : i32"]
        widen.append(f"%own{k} = field_ptr @{node.name}.owner[%slot, %axis{k}] : *i32\n%key{k} = load %own{k} : i32")
        for side, a, b in (("low", f"%centre{k}", f"%key{k}"), ("high", f"%key{k}", f"%centre{k}")):
            name = f"{side}{k}"
            zeros.append(f"%most_{name} = alloca : *i32\nstore %most_{name}, %zero")
            widen.append(f"%far_{name} = binary sub {a}, {b} : i32\n%now_{name} = load %most_{name} : i32")
            widen.append(f"%new_{name} = binary max %far_{name}, %now_{name} : i32\nstore %most_{name}, %new_{name}")
            stores.append(f"%whole_{name} = field_ptr @{node.name}.{side}[%axis{k}] : *i32")
            stores.append(f"%found_{name} = load %most_{name} : i32")
            stores.append(f"%old_{name} = atomic max %whole_{name}, %found_{name} : i32")
    return {"zeros": "\n".join(zeros), "widen": "\n".join(widen), "stores": "\n".join(stores)}


def _key_lines(node: NodeSymbol) -> list[str]:
    """The number `%key` of a cell among the `%total` of the box: of its first axes, if the numbers of all would be too
    large. The order of the keys is that of the indices."""
    lines = ["%wide_one = const 1 : i64", f"%limit = const {_BOX} : i64"]
    for k, extent in enumerate(node.shape):
        lines += [f"%axis{k} = const {k} : i32", f"%centre{k} = const {extent // 2} : i64"]
        for side in ("low", "high"):
            lines.append(f"%{side}_at{k} = field_ptr @{node.name}.{side}[%axis{k}] : *i32")
            lines.append(f"%{side}_short{k} = load %{side}_at{k} : i32\n%{side}{k} = cast %{side}_short{k} : i64")
        lines.append(f"%own{k} = field_ptr @{node.name}.owner[%slot, %axis{k}] : *i32\n%short{k} = load %own{k} : i32")
        lines.append(f"%index{k} = cast %short{k} : i64\n%from{k} = binary sub %index{k}, %centre{k} : i64")
        lines.append(f"%place{k} = binary add %from{k}, %low{k} : i64\n%both{k} = binary add %low{k}, %high{k} : i64")
        lines.append(f"%extent{k} = binary add %both{k}, %wide_one : i64")
        if k == 0:
            lines.append(
                "%key_0 = binary add %place0, %first_zero : i64\n%total_0 = binary max %extent0, %wide_one : i64"
            )
            lines.append("%fits_0 = binary eq %wide_one, %wide_one : u1")
            continue
        b = k - 1
        lines.append(f"%room{k} = binary raw_div %limit, %extent{k} : i64")
        lines.append(
            f"%small{k} = binary le %total_{b}, %room{k} : u1\n%fits_{k} = binary and %fits_{b}, %small{k} : u1"
        )
        lines.append(f"%times{k} = select %fits_{k}, %extent{k}, %wide_one : i64")
        lines.append(f"%more{k} = select %fits_{k}, %place{k}, %first_zero : i64")
        lines.append(
            f"%scaled{k} = binary mul %key_{b}, %times{k} : i64\n%key_{k} = binary add %scaled{k}, %more{k} : i64"
        )
        lines.append(f"%total_{k} = binary mul %total_{b}, %times{k} : i64")
    last = len(node.shape) - 1
    text = "\n".join(lines).replace(f"%key_{last} =", "%key =").replace(f"%total_{last} =", "%total =")
    return ["%first_zero = const 0 : i64", text]


def _where_lines(node: NodeSymbol, k: int) -> list[str]:
    return [
        f"%axis{k} = const {k} : i32",
        f"%own{k} = field_ptr @{node.name}.owner[%slot, %axis{k}] : *i32\n%key{k} = load %own{k} : i32",
        f"%where{k} = field_ptr @{node.name}.where[%at, %axis{k}] : *i32\nstore %where{k}, %key{k}",
    ]


def _order_lines(node: NodeSymbol) -> list[str]:
    """Whether the cell in slot %a precedes that in slot %b in the order of indices."""
    lines, last = list[str](), ""
    for k in reversed(range(len(node.shape))):
        lines.append(f"%axis{k} = const {k} : i32")
        for which in "ab":
            lines.append(f"%own_{which}{k} = field_ptr @{node.name}.owner[%{which}, %axis{k}] : *i32")
            lines.append(f"%key_{which}{k} = load %own_{which}{k} : i32")
        lines.append(f"%less{k} = binary lt %key_a{k}, %key_b{k} : u1")
        if last:
            lines.append(f"%same{k} = binary eq %key_a{k}, %key_b{k} : u1\n%tied{k} = binary and %same{k}, {last} : u1")
            lines.append(f"%before{k} = binary or %less{k}, %tied{k} : u1")
        last = f"%before{k}" if last else f"%less{k}"
    return [*lines, f"return [{last}]"]
