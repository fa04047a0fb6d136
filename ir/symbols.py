"""The named entities of a kernel: fields and their layout, parameters, and the sites of prints and assertions.

A kernel contains no absolute addresses. A `FieldSymbol` says how the elements of a field are stored relative to the
base of its SNode tree (see `ir/storage/`). Each launch passes the base.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd, prod
from typing import TypeVar

from weft.ir.errors import Span
from weft.ir.scopes import Scope, field_scope
from weft.ir.storage.book import book_fields
from weft.ir.storage.cell import Cell
from weft.ir.storage.dense import Dense, Term
from weft.ir.storage.level import Space
from weft.ir.storage.path import Path, dense_path
from weft.ir.storage.sparse import Sparse
from weft.ir.types import Type, u8, u16, u32, u64

__all__ = [
    "BOX",
    "COMPANIONS",
    "COUNTING",
    "MODES",
    "READING",
    "RECORDING",
    "RECORDS",
    "RERUN",
    "Block",
    "FieldSymbol",
    "LoopConfig",
    "Lost",
    "NodeSymbol",
    "Param",
    "is_reverse",
    "places_of",
    "records_kind",
    "role_of",
    "scopes_of",
    "shadow_of",
]

T = TypeVar("T")
Block = tuple[tuple[int, int], ...]

# What a field or parameter has in each mode beside its value. The second two are those of a derivative in which another
# one of the same kind is computed: what the inner one calls a dual or a gradient is a value to the outer one.
COMPANIONS = {"jvp": "dual", "vjp": "grad", "jvp2": "dual2", "vjp2": "grad2"}

# What a kernel shall become: itself; forward mode, which computes the duals of its outputs of those of its inputs;
# reverse mode, which computes the gradients of its inputs of those of its outputs; or a mode of one of these. Forward
# mode of products with Hessians gives third derivatives.
MODES = ("", *COMPANIONS, "vjp.jvp", "vjp.vjp2", "jvp.vjp", "jvp.jvp2", "vjp.jvp.jvp2")

# What a function becomes that a gradient calls again for its value: it writes no memory then (`autodiff/rerun.py`).
RERUN = "rerun"


def is_reverse(mode: str) -> bool:
    """Whether a mode of COMPANIONS is reverse mode."""
    return COMPANIONS[mode].startswith("grad")


BOX = "box"  # the kind of a hidden parameter that holds a number of the program, see `autodiff/boxes.py`

# The kinds of the hidden array of a kernel in the mode "vjp" that works with records (`autodiff/records.py`): the
# gradient kernel reads them, the recording kernel stores them, and the counting kernel stores how many there are. Those
# of a launch that may be made again run all loops in order whose order may change a recorded value. In the mode
# "vjp.jvp", each record is followed by its dual.
READING, RECORDING, COUNTING = ("reading", "recording", "counting")
_AGAIN, _PAIRED = "_again", "_paired"
_KINDS = READING, RECORDING, COUNTING
RECORDS = tuple(kind + paired + again for again in ("", _AGAIN) for paired in ("", _PAIRED) for kind in _KINDS)


def records_kind(kind: str, again: bool, paired: bool = False) -> str:
    """The row of RECORDS of such a kernel. `again`: for launches that may be made again. `paired`: with duals."""
    return f"{kind}{_PAIRED if paired else ''}{_AGAIN if again else ''}"


def role_of(hidden: str) -> tuple[str, bool, bool]:
    """What a kernel does with its records, by the kind of the hidden array: READING, RECORDING or COUNTING, or "" for
    any other array; whether its launches may be made again; and whether each record is followed by its dual."""
    if hidden not in RECORDS:
        return "", False, False
    return hidden.split("_")[0], hidden.endswith(_AGAIN), _PAIRED in hidden


@dataclass(frozen=True, eq=False)
class FieldSymbol:
    """A field as a kernel sees it.

    `shape` holds the extents, and `offset` the index of the first element per axis. User indices run from `offset[k]`
    to `offset[k] + shape[k]`; empty: from 0. `tree` is the number of the SNode tree, whose base each launch passes.
    `path` leads from the base to the cell of an element, and describes the cell. `order` lists the axes from slowest to
    fastest varying in memory. Fields do not overlap one another, except a field and a field of one of its components
    (`shares_with`). An `exposed` field may overlap exposed arrays and fields. A `hidden` field is not part of the
    program: an instrumentation uses it, and `hidden` is the row of SHADOWS that says for what. `grad` and the others of
    COMPANIONS are the fields of its derivatives, of the same type and shape and with a layout of their own. A kernel
    lists them before the field. A field without the one that a mode needs is a constant in that mode. `node` is the
    nearest sparse node above the field. `tree` is then the number of the memory in which its elements lie. A `fresh`
    gradient is set by the gradient kernel, which otherwise adds to it (`autodiff/fresh.py`).
    """

    name: str
    shape: tuple[int, ...]
    tree: int
    path: Path
    offset: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    exposed: bool = False
    hidden: str = ""
    grad: FieldSymbol | None = None
    dual: FieldSymbol | None = None
    grad2: FieldSymbol | None = None
    dual2: FieldSymbol | None = None
    node: NodeSymbol | None = None
    fresh: bool = False

    @classmethod
    def dense(
        cls,
        name: str,
        dtype: Type,
        shape: tuple[int, ...],
        tree: int,
        components: tuple[int, ...],
        terms: tuple[Term, ...],
        offset: tuple[int, ...] = (),
        order: tuple[int, ...] = (),
        exposed: bool = False,
    ) -> FieldSymbol:
        """A field whose levels are all dense. Scalar `c` of element `(i, j, ...)` is at `components[c] + sum of the
        terms` bytes from the base of its tree."""
        return cls(name, shape, tree, dense_path(Cell(dtype, components), terms), offset, order, exposed)

    @property
    def dtype(self) -> Type:
        """The type of an element: primitive, tensor or struct."""
        return self.path.cell.type

    @property
    def components(self) -> tuple[int, ...]:
        """The offset in its cell of each scalar of an element, in bytes."""
        return self.path.cell.components

    @cached_property
    def space(self) -> Space:
        """Its indices."""
        axes = len(self.shape)
        return Space(self.shape, self.offset or (0,) * axes, self.order or tuple(range(axes)))

    @property
    def block(self) -> Block:
        """Of a sparse field: for each axis of its node, the axis of the field, and how many elements of the field a
        cell of the node spans along it."""
        level = self.path.levels[0] if self.path.levels else None
        return level.block if isinstance(level, Sparse) else ()

    def above(self) -> Iterator[tuple[NodeSymbol, Block]]:
        """The sparse nodes above it, the nearest one first, each with a block as in `block`."""
        node, block = self.node, self.block
        while node is not None:
            yield node, block
            block = tuple((block[axis][0], block[axis][1] * size) for axis, size in node.table.block)
            node = node.parent

    @cached_property
    def stored(self) -> FieldSymbol:
        """The dense field in which its elements are stored: itself, unless it is sparse. Of a sparse field, that of all
        cells of the pool: by slot, and by the place in the cell along each axis. If it does not lie in a pool: by the
        index that counts from 0."""
        if self.node is None:
            return self
        levels, axes, holder = self.path.levels[1:], len(self.shape), self.node.holder
        level = levels[0] if levels and isinstance(levels[0], Dense) else Dense(())
        components = tuple(level.offset + start for start in self.components)
        order = self.order or tuple(range(axes))
        name, place = f"{self.name}.cells", (self.shape, self.tree, components, level.terms, (), order)
        if holder is not None:
            inside = dict(next(block for node, block in self.above() if node is holder))
            shape = (holder.capacity, *(inside.get(axis, self.shape[axis]) for axis in range(axes)))
            slots = Term(0, 1, holder.capacity, holder.cell_bytes)
            terms = (slots, *(replace(term, axis=term.axis + 1) for term in level.terms))
            place = shape, self.tree, components, terms, (), (0, *(axis + 1 for axis in order))
        return replace(FieldSymbol.dense(name, self.dtype, *place, self.exposed), hidden="sparse")

    def shares_with(self, other: FieldSymbol) -> bool:
        """Whether they have a component in common."""
        return self.tree == other.tree and not {*self.components}.isdisjoint(other.components)


@dataclass(frozen=True, eq=False)
class NodeSymbol:
    """A sparse node: `kind` is a row of SPARSE in `storage/snode.py`.

    `table` holds the slot (u32) or the mark (u8) of each cell, 0 for a cell that is not active. Its shape is that of
    the index space of the node's cells, and its own `node` is the nearest sparse node above. `length` (of a list) holds
    the length, an element for each list. `seen` holds the marks, or the lengths, from when a loop over them began.
    `body`, of a node without a pool, holds the first byte of each cell. `pool` and `book` are the numbers of the trees
    with the cells and with the book, or -1. The other numbers are as in `NodeLayout`."""

    name: str
    kind: str
    table: FieldSymbol
    cell_bytes: int
    length: FieldSymbol | None = None
    seen: FieldSymbol | None = None
    body: FieldSymbol | None = None
    pool: int = -1
    book: int = -1
    capacity: int = 0
    pieces: int = 0
    limit: int = 0
    axis: int = 0
    chunk: int = 0
    unbounded: int = 0
    ordered: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """How many cells it has along each axis, active or not."""
        return self.table.shape

    @property
    def asked(self) -> tuple[int, ...]:
        """The extents of the indices that `is_active` takes: cells, or the elements of lists."""
        limit = (self.limit,) if self.length is not None else self.shape[self.axis : self.axis + 1]
        return (*self.shape[: self.axis], *limit, *self.shape[self.axis + 1 :])

    @property
    def units(self) -> tuple[int, ...]:
        """The extents of the indices that `deactivate` takes: cells, or lists."""
        return self.shape if self.length is None else self.list_of(self.shape)

    def list_of(self, indices: Sequence[T]) -> tuple[T, ...]:
        """The index of the list in which a cell (a chunk), or an element, is."""
        return (*indices[: self.axis], *indices[self.axis + 1 :])

    @property
    def parent(self) -> NodeSymbol | None:
        """The nearest sparse node above."""
        return self.table.node

    @property
    def has_pool(self) -> bool:
        """Whether its cells lie in a pool, by slots."""
        return self.pool >= 0

    @property
    def hashed(self) -> bool:
        """Whether the run-time library finds its slots, in a hash table. Its `table` has a shape, but no elements."""
        return self.kind == "hash"

    @property
    def middle(self) -> tuple[int, ...]:
        """The cell in which programs begin to count: along an axis without bounds, that in the middle."""
        return tuple(extent // 2 if self.unbounded >> axis & 1 else 0 for axis, extent in enumerate(self.shape))

    @property
    def full_message(self) -> str:
        """What is said if there is no slot for a cell. The places are those of its index."""
        holes = ", ".join("{}" for _ in self.shape)
        pool = f"its pool has {self.capacity - 1} cells of {self.cell_bytes} bytes, which are all in use"
        return f"no memory for cell [{holes}] of '{self.name}': {pool}"

    @property
    def holder(self) -> NodeSymbol | None:
        """The node in whose pool its cells lie: itself, or one above. None: they lie in the root's memory."""
        return self if self.has_pool else self.home

    @property
    def home(self) -> NodeSymbol | None:
        """The node in whose pool its table lies. None: it lies in the root's memory."""
        return None if self.parent is None else self.parent.holder

    @cached_property
    def parts(self) -> dict[str, FieldSymbol]:
        """The fields in which the node is kept, by their role: "table", "length", "seen", "body", "raw" (the words of
        the cells), "entries" (the table as rows), and those of its book."""
        own = {"table": self.table, "length": self.length, "seen": self.seen, "body": self.body}
        found = {role: part for role, part in own.items() if part is not None}
        found["raw"] = replace(self._raw(), hidden="sparse")
        if self.has_pool:
            entries = self._entries()
            found |= {} if entries is None else {"entries": replace(entries, hidden="sparse")}
            rows = book_fields(self.capacity, len(self.shape), self.pieces, self._tables(), self.hashed, self.lists)
            for role, (dtype, shape, start) in rows.items():
                name = f"{self.name}.{role}"
                made = FieldSymbol.dense(name, dtype, shape, self.book, (start,), _rows(shape, dtype.size))
                found[role] = replace(made, hidden="sparse")
        return found

    def part(self, role: str) -> FieldSymbol:
        """The field of that role."""
        return self.parts[role]

    @property
    def flag(self) -> str:
        """The name of the field in its book that says whether the list of its cells is out of date. Empty without a
        book."""
        part = self.parts.get("changed")
        return "" if part is None else part.stored.name

    @property
    def local(self) -> tuple[int, ...]:
        """How many cells one of its tables has along each axis. There is a table in each cell of `home`."""
        home = self.home
        if home is None:
            return self.shape
        inside = dict(next(block for above, block in self.table.above() if above is home))
        return tuple(inside.get(axis, extent) for axis, extent in enumerate(self.shape))

    @property
    def lists(self) -> int:
        """How many lists a dynamic node has: those in all cells of the pool in which their lengths lie."""
        tables, entries = self._tables()
        return tables * (entries // self.shape[self.axis]) if self.length is not None else 0

    def _tables(self) -> tuple[int, int]:
        """How many tables there may be, and the entries of each."""
        if self.hashed:
            return 0, 0
        return 1 if self.home is None else self.home.capacity, prod(self.local)

    def _entries(self) -> FieldSymbol | None:
        """The entries of its tables in the order of their indices, by the slot of the cell above in whose cell the
        table lies, if there is one. None if they do not lie side by side in memory."""
        stored, lifted = self.table.stored, self.home is not None
        shape, dense = stored.shape[lifted:], stored.path.dense
        if dense is None:
            return None
        steps = {axis: 4 * prod(shape[axis + 1 :]) for axis, extent in enumerate(shape) if extent > 1}
        terms = [term for term in dense.terms if term.modulus > 1 and (not lifted or term.axis)]
        if any(term.divisor > 1 for term in terms) or {term.axis - lifted: term.stride for term in terms} != steps:
            return None
        if len(terms) != len(steps):
            return None
        first = next((term for term in dense.terms if lifted and term.axis == 0), None)
        outer = (first,) if first is not None else ()
        row = Term(int(lifted), 1, prod(shape), 4)
        start = tuple(dense.offset + component for component in stored.components)
        place = (*stored.shape[: int(lifted)], prod(shape)), stored.tree, start, (*outer, row)
        return FieldSymbol.dense(f"{self.name}.entries", stored.dtype, *place)

    def _raw(self) -> FieldSymbol:
        """All bytes of its cells, as the largest words that are aligned in each cell: by slot, or by the index of the
        cell."""
        unit = gcd(self.cell_bytes, *self._places())
        word = next(dtype for dtype in (u64, u32, u16, u8) if unit % dtype.size == 0)
        words, name = self.cell_bytes // word.size, f"{self.name}.raw"
        if self.body is None:
            terms = (Term(0, 1, self.capacity, self.cell_bytes), Term(1, 1, words, word.size))
            return FieldSymbol.dense(name, word, (self.capacity, words), self.pool, (0,), terms)
        body, axes = self.body, len(self.shape)
        *outer, last = body.path.levels or (Dense(()),)
        assert isinstance(last, Dense)
        levels = (*outer, Dense((*last.terms, Term(axes, 1, words, word.size)), last.offset))
        order = (*(body.order or range(axes)), axes)
        path = Path(levels, Cell(word, body.components))
        return replace(body, name=name, shape=(*body.shape, words), path=path, order=order)

    def _places(self) -> list[int]:
        """Numbers of bytes whose sums are the distances between an aligned address and the cells, unless they lie in a
        pool of their own."""
        if self.body is None:
            return []
        dense = [level for level in self.body.path.levels if isinstance(level, Dense)]
        steps = [number for level in dense for number in (level.offset, *(term.stride for term in level.terms))]
        return [*self.body.components, *steps]

    def __str__(self) -> str:
        return self.name


def _rows(shape: tuple[int, ...], size: int) -> tuple[Term, ...]:
    """The terms of an array in row-major order."""
    return tuple(Term(axis, 1, shape[axis], size * prod(shape[axis + 1 :])) for axis in range(len(shape)))


def scopes_of(fields: Sequence[FieldSymbol]) -> dict[FieldSymbol, Scope]:
    """The scope of each of those fields: its name, in characters that mean nothing in texts of code, and a number where
    an earlier field has that name."""
    scopes: dict[FieldSymbol, Scope] = {}
    taken: set[str] = set()
    for symbol in fields:
        stem = name = re.sub(r"[^\w.]", "_", symbol.name)
        number = 0
        while name in taken:
            number += 1
            name = f"{stem}.{number}"
        taken.add(name)
        scopes[symbol] = field_scope(name, symbol.exposed)
    return scopes


def places_of(fields: Sequence[FieldSymbol], params: Sequence[Param]) -> dict[str, str]:
    """The fields and parameters of a kernel: "field:2" or "param:0", by a name that no other one has. That is its own
    name, or its own name and a number if an earlier one has it."""
    found: dict[str, str] = {}
    for kind, names in (("field", [one.name for one in fields]), ("param", [one.name for one in params])):
        for number, own in enumerate(names):
            name, again = own, 0
            while name in found:
                again += 1
                name = f"{own}.{again}"
            found[name] = f"{kind}:{number}"
    return found


def shadow_of(symbol: FieldSymbol, kind: str) -> FieldSymbol | None:
    """Return the hidden field that a field's cell declares as its shadow of that kind. It is a new object with the
    layout of the field. None if the cell does not declare one."""
    shadow = symbol.path.cell.shadow(kind)
    if shadow is None:
        return None
    path = replace(symbol.path, cell=replace(symbol.path.cell, shadows=()))
    alone = dict.fromkeys(COMPANIONS.values())
    return replace(symbol, name=shadow.field, tree=shadow.tree, path=path, hidden=kind, **alone)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Param:
    """A kernel parameter: its name and type (primitive, tensor, struct or array). A `hidden` one is none of the
    program's: the first array with that row of SHADOWS tells of the first of the kernel's own arrays, and so on. A
    hidden one of a kind in COMPANIONS belongs to the parameter whose name precedes its own, as in `x.dual`."""

    name: str
    type: Type
    hidden: str = ""


@dataclass(frozen=True)
class Lost:
    """A place where a kernel stores a value that carries a derivative to memory without a gradient: the name of the
    field or parameter, and the place in the source."""

    name: str
    span: Span | None = None


@dataclass(frozen=True)
class LoopConfig:
    """The options of `loop_config` for the next loop. 0 means that the compiler chooses."""

    serialize: bool = False
    block_dim: int = 0
    parallelize: int = 0
    simd: int = 0

    def over(self, usual: LoopConfig) -> LoopConfig:
        """This configuration, with unset options taken from `usual`."""
        numbers = {name: getattr(self, name) or getattr(usual, name) for name in ("block_dim", "parallelize", "simd")}
        return LoopConfig(self.serialize, **numbers)
