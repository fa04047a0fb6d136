"""The cells of a hash node: functions that find, make and free them.

    probe(c...) -> i64       where a cell is in the hash table: (number of the entry << 32) + slot; the slot is 0 if the
                             cell is not active, and the entry is then the first free one
    find(c...) -> u32        the slot of a cell; 0 if it is not active
    reach(c...) -> u32       the slot of a cell; makes the cell if it is not active; 0 if the pool is full
    activate(c...) -> u32    the same for functions of the library: it fails if the pool is full
    enter(slot, c...)        puts a slot into the first free entry
    deactivate(c...)         deactivates a cell, and what is below it
    again(slot)              puts a slot into the table again, if its cell is active

The hash table is an array of slots (`hash_table`), with open addressing: a cell is looked for from the entry that its
hash names, in consecutive entries, up to the first free one. The key of an entry is the index of the cell that owns the
slot (`owner`), so that an entry takes 4 bytes.

A cell is made under a lock that depends on its hash, so no cell is made twice. An entry changes from free to a slot by
compare-and-swap, because cells with other locks want it too. The owner is stored before. A search takes no lock.

An entry of a deactivated cell becomes GONE, over which searches go on. It is not used again until the table is filled
anew, which happens after a task, when a quarter of the entries are GONE (`hashed_lists.py`). Cells take at most half
of the entries, in one task also those that are deactivated in it, because their slots are not used again before its
end. So a search always finds its end.

The functions run as a whole (`Kernel.whole`): a failure in another thread, or an interrupt, ends none of them while it
holds a lock, or has taken a slot that is in no table yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from weft.ir.ops import Invoke, Kernel
from weft.ir.runtime_library.dropped_slots import drop_text
from weft.ir.runtime_library.functions import copies
from weft.ir.runtime_library.hashed_lists import order_functions
from weft.ir.runtime_library.slot_pool import SLOT_ROLES
from weft.ir.runtime_library.sparse_cells import SparseCells, changed_parts, written_on
from weft.ir.storage.book import LOCKS, hash_entries
from weft.ir.symbols import NodeSymbol

__all__ = ["HashedCells"]

_FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)
_MIX = 0xFF51AFD7ED558CCD

_PROBE = """
  {hash}
  %bits = const {shift} : u64
  %begin_wide = binary shr %hash, %bits : u64
  %begin = cast %begin_wide : i64
  %none = const 0 : u32
  %gone = const 4294967295 : u32
  %one = const 1 : i64
  %half = const 32 : i64
  %mask = const {mask} : i64
  %number = alloca : *i64
  store %number, %begin
  while {{
    %at = load %number : i64
    %entry = field_ptr @{name}.hash_table[%at] : *u32
    %slot = atomic_load %entry, order=acquire : u32
    %wide = cast %slot : i64
    %upper = binary shl %at, %half : i64
    %found = binary or %upper, %wide : i64
    %free = binary eq %slot, %none : u1
    if %free then {{ return [%found] }}
    %used = binary ne %slot, %gone : u1
    if %used then {{
      {owned}
      if %owned then {{ return [%found] }}
    }}
    %behind = binary add %at, %one : i64
    %following = binary and %behind, %mask : i64
    store %number, %following
  }}
"""

_FIND = """
  %found = invoke function={name}_probe, [{index}] : i64
  {slot}
  return [%slot]
"""

_SLOT = """
  %lower = const 4294967295 : i64
  %low = binary and %found, %lower : i64
  %slot = cast %low : u32
"""

_AT = """
  %half = const 32 : i64
  %at = binary shr %found, %half : i64
"""

_ACTIVATE = """
  %slot = invoke function={name}_reach, [{index}] : u32
  %none = const 0 : u32
  %fits = binary ne %slot, %none : u1
  {centred}
  assert %fits, [{told}], message="{full}", kind=memory
  return [%slot]
"""

_REACH = """
  {hash}
  %bits = const 20 : u64
  %shifted = binary shr %hash, %bits : u64
  %locks = const {locks} : u64
  %number = binary and %shifted, %locks : u64
  %mine_at = cast %number : i64
  %lock = field_ptr @{name}.locks[%mine_at] : *i32
  %none = const 0 : u32
  %open = const 0 : i32
  %closed = const 1 : i32
  while {{
    %now = invoke function={name}_find, [{index}] : u32
    %made = binary ne %now, %none : u1
    if %made then {{ return [%now] }}
    %was = compare_exchange %lock, %open, %closed, order=acquire : i32
    %mine = binary eq %was, %open : u1
    if %mine then {{
      %again = invoke function={name}_find, [{index}] : u32
      %missing = binary eq %again, %none : u1
      if %missing then {{
        %slot = invoke function={name}_slots_allocate, [], touched=({touched}) : u32
        %full = binary eq %slot, %none : u1
        if %full then {{
          atomic_store %lock, %open, order=release
          return [%none]
        }}
        %next = cast %slot : i64
        {owners}
        %changed = field_ptr @{name}.changed[] : *i32
        atomic_store %changed, %closed
        invoke function={name}_enter, [%slot, {index}]
        atomic_store %lock, %open, order=release
        return [%slot]
      }}
      atomic_store %lock, %open, order=release
    }}
  }}
"""

_ENTER = """
  %none = const 0 : u32
  %wide = cast %slot : i64
  %kept = field_ptr @{name}.entry[%wide] : *i32
  %one = const 1 : i32
  while {{
    %found = invoke function={name}_probe, [{index}] : i64
    {at}
    %short = cast %at : i32
    %number = binary add %short, %one : i32
    atomic_store %kept, %number
    %entry = field_ptr @{name}.hash_table[%at] : *u32
    %was = compare_exchange %entry, %none, %slot, order=acq_rel : u32
    %mine = binary eq %was, %none : u1
    if %mine then {{ return [] }}
  }}
"""

_DEACTIVATE = """
  %found = invoke function={name}_probe, [{index}] : i64
  {slot}
  %none = const 0 : u32
  %there = binary ne %slot, %none : u1
  if %there then {{
    {at}
    %entry = field_ptr @{name}.hash_table[%at] : *u32
    %gone = const 4294967295 : u32
    %was = compare_exchange %entry, %slot, %gone, order=acq_rel : u32
    %mine = binary eq %was, %slot : u1
    if %mine then {{
      %one = const 1 : i64
      %kept = field_ptr @{name}.entry[%low] : *i32
      %nothing = const 0 : i32
      atomic_store %kept, %nothing
      %lost = field_ptr @{name}.gone[] : *i64
      %one_more = atomic add %lost, %one : i64
      {drop}
    }}
  }}
"""

_AGAIN = """
  %wide = cast %slot : i64
  %kept = field_ptr @{name}.entry[%wide] : *i32
  %number = load %kept : i32
  %nothing = const 0 : i32
  %active = binary ne %number, %nothing : u1
  if %active then {{
    {owners}
    invoke function={name}_enter, [%slot, {index}]
  }}
"""


class HashedCells(SparseCells):
    """The functions on the cells of a hash node of a tree with these nodes."""

    def functions(self) -> dict[str, Kernel]:
        """All functions that the node has, by their names. Copies, for passes to work on."""
        own = [self._probe, self._find, self._reach, self._activate, self._enter, self._deactivate, self._again]
        made = [*own, self._allocate, *order_functions(self.node, self.nodes)]
        return {one.symbol: one for one in copies(made)}

    @cached_property
    def _probe(self) -> Kernel:
        node, lines, same = self.node, list[str](), ""
        for k, index in enumerate(self.indices):
            lines += [f"%axis{k} = const {k} : i64", f"%own{k} = field_ptr @{node.name}.owner[%wide, %axis{k}] : *i32"]
            lines += [f"%key{k} = load %own{k} : i32", f"%key_wide{k} = cast %key{k} : i64"]
            lines.append(f"%same{k} = binary eq %key_wide{k}, {index} : u1")
            if same:
                lines.append(f"%all{k} = binary and {same}, %same{k} : u1")
            same = f"%all{k}" if same else f"%same{k}"
        owned = "\n".join(lines).replace(f"{same} =", "%owned =")
        entries = hash_entries(node.capacity)
        shift = 65 - entries.bit_length()
        return self._made("probe", "i64", _PROBE, hash=self._hashed(), owned=owned, mask=entries - 1, shift=shift)

    @cached_property
    def _find(self) -> Kernel:
        return self._made("find", "u32", _FIND, slot=_SLOT)

    @cached_property
    def _activate(self) -> Kernel:
        node, centred = self.node, list[str]()
        told = [f"%told{k}" for k in range(len(node.shape))]  # the index as the program gives it
        for k, (index, middle) in enumerate(zip(self.indices, node.middle, strict=True)):
            centred += [f"%centre{k} = const {middle} : i64", f"{told[k]} = binary sub {index}, %centre{k} : i64"]
        lines, listed = "\n".join(centred), ", ".join(told)
        return self._made("activate", "u32", _ACTIVATE, centred=lines, told=listed, full=node.full_message)

    @cached_property
    def _reach(self) -> Kernel:
        node, owners = self.node, list[str]()
        for k, index in enumerate(self.indices):
            owners += [f"%axis{k} = const {k} : i64", f"%index{k} = cast {index} : i32"]
            owners.append(f"%owner{k} = field_ptr @{node.name}.owner[%next, %axis{k}] : *i32")
            owners.append(f"store %owner{k}, %index{k}")
        return self._made(
            "reach",
            "u32",
            _REACH,
            hash=self._hashed(),
            locks=LOCKS - 1,
            touched=", ".join(node.part(role).name for role in SLOT_ROLES),
            owners="\n".join(owners),
        )

    @cached_property
    def _enter(self) -> Kernel:
        return self._made("enter", "", _ENTER, ("slot",), at=_AT)

    @cached_property
    def _deactivate(self) -> Kernel:
        return self._made("deactivate", "", _DEACTIVATE, slot=_SLOT, at=_AT)

    @cached_property
    def _again(self) -> Kernel:
        lines = list[str]()
        for k, index in enumerate(self.indices):
            lines += [f"%axis{k} = const {k} : i64"]
            lines += [f"%own{k} = field_ptr @{self.node.name}.owner[%wide, %axis{k}] : *i32"]
            lines += [f"%key{k} = load %own{k} : i32", f"{index} = cast %key{k} : i64"]
        return self._made("again", "", _AGAIN, ("slot",), (), owners="\n".join(lines))

    def _hashed(self) -> str:
        """Text for the hash of a cell."""
        lines, total = list[str](), ""
        for k, index in enumerate(self.indices):
            lines += [f"%unsigned{k} = cast {index} : u64", f"%factor{k} = const {_factor(k)} : u64"]
            lines.append(f"%part{k} = binary mul %unsigned{k}, %factor{k} : u64")
            if total:
                lines.append(f"%sum{k} = binary add {total}, %part{k} : u64")
            total = f"%sum{k}" if total else f"%part{k}"
        lines += ["%upper_half = const 32 : u64", f"%folded = binary shr {total}, %upper_half : u64"]
        lines += [f"%mixed = binary xor {total}, %folded : u64", f"%mix = const {_MIX} : u64"]
        return "\n".join([*lines, "%hash = binary mul %mixed, %mix : u64"])

    def _made(
        self,
        what: str,
        result: str,
        text: str,
        before: Sequence[str] = (),
        indices: Sequence[str] | None = None,
        **given: object,
    ) -> Kernel:
        """The function of that text. `before`: the arguments of type u32 before the indices."""
        indices, node = self.indices if indices is None else indices, self.node
        args = [*((name, "u32") for name in before), *((index[1:], "i64") for index in indices)]
        filled = text.format(name=node.name, index=", ".join(self.indices), drop=drop_text(node), **given)
        heads = [f"%{name} = arg index={k} : {type}" for k, (name, type) in enumerate(args)]
        params = ", ".join(f"{name}: {type}" for name, type in args)
        made = written_on(
            self.nodes,
            f"@{node.name}_{what}({params}) -> ({result}) called=true whole=true",
            "\n".join([*heads, filled]),
        )
        return with_touched(made, self.nodes)


def with_touched(made: Kernel, nodes: Sequence[NodeSymbol]) -> Kernel:
    """The function, whose calls say what they access."""
    for op in made.all_of(Invoke):
        op.touched = op.touched or changed_parts(nodes)
    return made


def _factor(axis: int) -> int:
    return _FACTORS[axis] if axis < len(_FACTORS) else pow(_FACTORS[axis % 4], 2 * axis + 1, 1 << 64) | 1
