"""The cells of a sparse node: functions that activate and deactivate them.

    activate(c...) -> u32         the slot of a cell; makes the cell, and the cells above it, if it is not active
    make(home, c...) -> u32       the same in a cell of the pool above, whose slot is `home`, if there is a pool above
    extend(c..., j) -> u32        of a list: activates a chunk, and makes the list longer than element j of the list
    append(c...) -> i32           of a list: makes it longer by one; gives the index of the new element
    mark(c...) -> u32             of a mask: sets the mark of a cell, and activates the cells above it; gives the slot
                                  of its cell in the pool above, if there is a pool above
    deactivate(c...)              deactivates a cell, or a list, and what is below it
    slots_allocate() -> u32       of a pool: a slot that no cell has, see `slot_pool`

Indices are those of the node's cells, from 0 on (i64). A cell is made under a lock that it shares with others, so that
two iterations never make it twice. The table is read without the lock: a slot that it holds is that of a cell whose
memory is zero, or holds what iterations have stored there since. A deactivated cell only leaves the table. Its slot
goes to a list, and is cleared and used again after the task (see the pass `enumerate_cells`). So no iteration ever sees
a cell that was made of another one in the same task.

A function that makes something activates the cell above, takes its slot, and stores in that slot. So if another
iteration deactivates the cell above in between, what is made is in the cell that goes, and is collected with it.

The functions run as a whole: an interrupt ends none of them while it holds a lock, or before the elements of a cell
that it takes from a mask are 0. They are written on sparse fields, and are lowered like kernels (`lower_sparse`). A
table in the cell of a sparse parent therefore needs no rule of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod

from weft.ir.ops import Invoke, Kernel
from weft.ir.parse import parse
from weft.ir.runtime_library.dropped_slots import DROP_ROLES, drop_text
from weft.ir.runtime_library.functions import copies
from weft.ir.runtime_library.slot_pool import ALLOCATE, SLOT_ROLES, slot_text
from weft.ir.storage.book import LOCKS
from weft.ir.symbols import FieldSymbol, NodeSymbol
from weft.ir.target import Traits

__all__ = ["SparseCells", "changed_parts", "held_text", "written_on"]


def written_on(nodes: Sequence[NodeSymbol], signature: str, body: str, fields: Sequence[FieldSymbol] = ()) -> Kernel:
    """The function or kernel of that text, on these nodes. It may name all parts of the nodes, and these fields."""
    parts = {part.name: part for node in nodes for part in node.parts.values()}
    own = {symbol.name: symbol for symbol in (*parts.values(), *fields)}
    made = parse(f"kernel {signature} {{\n{body}\n}}\n", tuple(own.values()), nodes)
    named = (getattr(op, attribute) for op in made.walk() for attribute in op.attribute_names)
    made.fields = tuple(dict.fromkeys(what for what in named if isinstance(what, FieldSymbol)))
    return made


def held_text(held: bool, traits: Traits) -> str:
    """The statement by which interrupts are held until a change of several tasks is done, or are not any more. Nothing
    on machines whose launches come to their end."""
    return f"hold_interrupts held={'true' if held else 'false'}" if traits.interrupts else ""


HASH_ROLES = ("owner", "hash_table", "entry", "gone")  # what hash nodes have besides


def changed_parts(nodes: Sequence[NodeSymbol]) -> tuple[str, ...]:
    """The names of all fields that activation and deactivation may write in a tree, except the cells of masks."""
    roles = ("table", "length", *SLOT_ROLES, *DROP_ROLES, "locks", *HASH_ROLES)
    return tuple(part.stored.name for node in nodes for role, part in node.parts.items() if role in roles)


# Only the first iteration stores, so that the others share the cache line.
_CHANGE = """
  %changed = field_ptr @{name}.changed[] : *i32
  %is_changed = atomic_load %changed : i32
  %unchanged = const 0 : i32
  %kept = binary eq %is_changed, %unchanged : u1
  if %kept then {{
    %yes = const 1 : i32
    atomic_store %changed, %yes
  }}
"""

_ACTIVATE = """
  {above}
  %slot = invoke function={name}_make, [{given}] : u32
  return [%slot]
"""

_MAKE = """
  {inside}
  %table = field_ptr {entry} : *u32
  %none = const 0 : u32
  {hash}
  %lock = field_ptr @{name}.locks[%hash] : *i32
  %open = const 0 : i32
  %closed = const 1 : i32
  while {{
    %now = atomic_load %table, order=acquire : u32
    %made = binary ne %now, %none : u1
    if %made then {{ return [%now] }}
    %was = compare_exchange %lock, %open, %closed, order=acquire : i32
    %mine = binary eq %was, %open : u1
    if %mine then {{
      %again = atomic_load %table, order=acquire : u32
      %missing = binary eq %again, %none : u1
      if %missing then {{
        %slot = invoke function={name}_slots_allocate, [], touched=({touched}) : u32
        %full = binary eq %slot, %none : u1
        if %full then {{ atomic_store %lock, %open, order=release }}
        %fits = unary not %full : u1
        assert %fits, [{index}], message="{full}", kind=memory
        {change}
        atomic_store %table, %slot, order=release
        atomic_store %lock, %open, order=release
        return [%slot]
      }}
      atomic_store %lock, %open, order=release
    }}
  }}
"""

# All chunks up to the element are made, so that a loop finds the gap too.
_EXTEND = """
  {above}
  %short = cast %j : i32
  %one = const 1 : i32
  %needed = binary add %short, %one : i32
  %length = field_ptr {entry} : *i32
  %known = atomic_load %length : i32
  %known_wide = cast %known : i64
  %chunk_size = const {chunk} : i64
  %begin = binary raw_div %known_wide, %chunk_size : i64
  %step = const 1 : i64
  for %begin, {own}, %step ({c}: i64) {{
    %gap = invoke function={name}_make, [{each}] : u32
  }}
  %slot = invoke function={name}_make, [{given}] : u32
  %old = atomic max %length, %needed : i32
  return [%slot]
"""

_APPEND = """
  {above}
  %length = field_ptr {entry} : *i32
  %one = const 1 : i32
  %j = atomic add %length, %one : i32
  %most = const {limit} : i32
  %fits = binary lt %j, %most : u1
  %full = unary not %fits : u1
  if %full then {{
    %undone = atomic sub %length, %one : i32
    %none = const -1 : i32
    return [%none]
  }}
  %wide = cast %j : i64
  %chunk_size = const {chunk} : i64
  %{c} = binary raw_div %wide, %chunk_size : i64
  %slot = invoke function={name}_make, [{given}] : u32
  return [%j]
"""

_MARK = """
  {above}
  %mark = field_ptr {entry} : *u8
  %set = const 1 : u8
  store %mark, %set, relaxed=true
  {end}
"""

_FREED = """
  %table = field_ptr @{name}.table[{index}], activates=false : *u32
  %none = const 0 : u32
  %seen = atomic_load %table, order=acquire : u32
  %there = binary ne %seen, %none : u1
  if %there then {{
    %slot = exchange %table, %none, order=acq_rel : u32
    %mine = binary ne %slot, %none : u1
    if %mine then {{
      {drop}
    }}
  }}
"""


class SparseCells:
    """The functions on the cells of one node of a tree with these nodes."""

    def __init__(self, node: NodeSymbol, nodes: Sequence[NodeSymbol]) -> None:
        self.node, self.nodes = node, tuple(nodes)
        axes = range(len(node.shape))
        self.indices = [f"%c{k}" for k in axes]
        self.lists = node.list_of(self.indices) if node.length is not None else ()

    def functions(self) -> dict[str, Kernel]:
        """All functions that the node has, by their names. Copies, for passes to work on."""
        found = [self._deactivate]
        if self.node.has_pool:
            found += [self._activate, self._make, self._allocate]
        else:
            found.append(self._mark)
        if self.node.length is not None:
            found += [self._extend, self._append]
        return {one.symbol: one for one in copies(found)}

    @cached_property
    def _allocate(self) -> Kernel:
        return self._function("slots_allocate", "u32", ALLOCATE, (), slot=slot_text(self.node))

    @cached_property
    def _activate(self) -> Kernel:
        return self._function("activate", "u32", _ACTIVATE, of=self.node.table)

    @cached_property
    def _make(self) -> Kernel:
        node = self.node
        touched = ", ".join(node.part(role).name for role in SLOT_ROLES)
        return self._function(
            "make",
            "u32",
            _MAKE,
            of=node.table,
            hash="\n".join(self._hash()),
            touched=touched,
            full=node.full_message,
        )

    @cached_property
    def _extend(self) -> Kernel:
        node = self.node
        assert node.length is not None
        own = self.indices[node.axis]
        each = self._given([f"{index}_gap" if index == own else index for index in self.indices])
        more = {"own": own, "c": f"{own}_gap", "each": each, "chunk": node.chunk}
        return self._function("extend", "u32", _EXTEND, None, ("j",), node.length, **more)

    @cached_property
    def _append(self) -> Kernel:
        node = self.node
        assert node.length is not None
        return self._function(
            "append",
            "i32",
            _APPEND,
            self.lists,
            of=node.length,
            limit=node.limit,
            chunk=node.chunk,
            c=f"c{node.axis}",
        )

    @cached_property
    def _mark(self) -> Kernel:
        home = self.node.home is not None
        end = "return [%home]" if home else ""
        return self._function("mark", "u32" if home else "", _MARK, of=self.node.table, end=end)

    @cached_property
    def _deactivate(self) -> Kernel:
        node = self.node
        if node.length is not None:
            return self._function("deactivate", "", self._list_freed(), self.lists)
        return self._function("deactivate", "", _FREED if node.has_pool else self._mask_freed())

    def _list_freed(self) -> str:
        """Free all chunks of a list."""
        node = self.node
        inner = f"%c{node.axis}"
        return (
            f"%begin = const 0 : i64\n%end = const {node.shape[node.axis]} : i64\n%step = const 1 : i64\n"
            f"for %begin, %end, %step ({inner}: i64) {{{{\n{_FREED}\n}}}}\n"
            f"%length = field_ptr @{node.name}.length[{', '.join(self.lists)}], activates=false : *i32\n"
            "%nothing = const 0 : i32\natomic_store %length, %nothing\n"
        )

    def _mask_freed(self) -> str:
        """Clear a cell of a mask: first free the cells of pools whose tables lie in it."""
        node, text = self.node, "%begin = const 0 : i64\n%step = const 1 : i64\n"
        below = [one for one in self.nodes if one.has_pool and one.home is node.holder and _is_below(one, node)]
        for number, one in enumerate(below):
            text += self._tables_freed(number, one)
        words = node.part("raw").shape[-1]
        return text + (
            f"%mark = field_ptr @{node.name}.table[{{index}}], activates=false : *u8\n%unset = const 0 : u8\n"
            f"store %mark, %unset, relaxed=true\n%words = const {words} : i64\n"
            f"%nothing = const 0 : {node.part('raw').dtype}\n"
            f"for %begin, %words, %step (%w: i64) {{{{\n"
            f"%word = field_ptr @{node.name}.raw[{{index}}, %w], activates=false : *{node.part('raw').dtype}\n"
            "store %word, %nothing, relaxed=true\n}}\n"
        )

    def _tables_freed(self, number: int, one: NodeSymbol) -> str:
        """Loops over the cells (or lists) of a node below that are in the cell."""
        table = one.table if one.length is None else one.length
        block = next(block for above, block in table.above() if above is self.node)
        spans = {axis: (k, size) for k, (axis, size) in enumerate(block)}
        text, ends, indices = "", 0, list[str]()
        for axis, extent in enumerate(table.shape):
            name = f"%n{number}_{axis}"
            k, size = spans.get(axis, (-1, extent))
            text += f"{name}_size = const {size} : i64\n"
            text += f"for %begin, {name}_size, %step ({name}_in: i64) {{{{\n"
            ends += 1
            if k < 0:
                indices.append(f"{name}_in")
                continue
            text += f"{name}_first = binary mul %c{k}, {name}_size : i64\n"
            text += f"{name} = binary add {name}_first, {name}_in : i64\n"
            indices.append(name)
        return text + f"invoke function={one.name}_deactivate, [{', '.join(indices)}]\n" + "}}\n" * ends

    def _above(self, symbol: FieldSymbol, indices: Sequence[str]) -> str:
        """Text that activates the cell above an element of a table. `%home` is the slot in whose cell the table is."""
        parent = symbol.node
        if parent is None:
            return ""
        lines, made = list[str](), list[str]()
        for k, (axis, size) in enumerate(symbol.block):
            lines += [f"%size{k} = const {size} : i64", f"%up{k} = binary raw_div {indices[axis]}, %size{k} : i64"]
            made.append(f"%up{k}")
        call = f"invoke function={parent.name}_{'activate' if parent.has_pool else 'mark'}, [{', '.join(made)}]"
        return "\n".join([*lines, call if parent.holder is None else f"%home = {call} : u32"])

    def _inside(self, symbol: FieldSymbol, indices: Sequence[str]) -> tuple[str, str]:
        """Text for the place of an element in its cell, and the element of the cells of the pool, in slot `%home`."""
        home = self.node.home
        if home is None:
            return "", f"@{symbol.stored.name}[{', '.join(indices)}]"
        spans = dict(next(block for node, block in symbol.above() if node is home))
        lines, places = list[str](), ["%home"]
        for axis, index in enumerate(indices):
            if axis in spans:
                lines += [f"%span{axis} = const {spans[axis]} : i64"]
                lines += [f"%inside{axis} = binary raw_mod {index}, %span{axis} : i64"]
            places.append(f"%inside{axis}" if axis in spans else index)
        return "\n".join(lines), f"@{symbol.stored.name}[{', '.join(places)}]"

    def _given(self, indices: Sequence[str]) -> str:
        """The arguments of `make`."""
        return ", ".join(indices if self.node.home is None else ["%home", *indices])

    def _hash(self) -> list[str]:
        """The number of the lock of a cell."""
        lines, total = list[str](), ""
        for k, index in enumerate(self.indices):
            factor = prod(self.node.shape[k + 1 :]) % LOCKS or 1
            lines += [f"%factor{k} = const {factor} : i64", f"%part{k} = binary mul {index}, %factor{k} : i64"]
            if total:
                lines.append(f"%sum{k} = binary add {total}, %part{k} : i64")
            total = f"%sum{k}" if total else f"%part{k}"
        return [*lines, f"%mask = const {LOCKS - 1} : i64", f"%hash = binary and {total}, %mask : i64"]

    def _function(
        self,
        what: str,
        result: str,
        text: str,
        indices: Sequence[str] | None = None,
        more: Sequence[str] = (),
        of: FieldSymbol | None = None,
        **given: object,
    ) -> Kernel:
        """The function of that text. `of`: the table or the lengths, of which it uses the element of its indices."""
        indices = self.indices if indices is None else indices
        args = [(index[1:], "i64") for index in (*indices, *(f"%{name}" for name in more))]
        if what == "make" and self.node.home is not None:
            args.insert(0, ("home", "u32"))
        params = ", ".join(f"{name}: {type}" for name, type in args)
        texts = [f"%{name} = arg index={k} : {type}" for k, (name, type) in enumerate(args)]
        if of is not None:
            at = indices if of is self.node.table else self.lists
            inside, given["entry"] = self._inside(of, at)
            given["above"] = f"{self._above(of, at)}\n{inside}"
            given["inside"] = inside
        filled = text.format(
            name=self.node.name,
            given=self._given(self.indices),
            index=", ".join(self.indices),
            lists=", ".join(self.lists),
            change=_CHANGE.format(name=self.node.name),
            drop=drop_text(self.node) if self.node.has_pool else "",
            **given,
        )
        signature = f"@{self.node.name}_{what}({params}) -> ({result}) called=true whole=true"
        made = written_on(self.nodes, signature, "\n".join([*texts, filled]), () if of is None else (of.stored,))
        for op in made.all_of(Invoke):
            op.touched = op.touched or changed_parts(self.nodes)
        return made


def _is_below(node: NodeSymbol, above: NodeSymbol) -> bool:
    return any(one is above for one, _ in node.table.above())
