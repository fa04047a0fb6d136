"""Replaces sparse fields by the dense fields in which they are stored, and ops on cells by calls of the run-time
library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.ir.addresses import element_steps, root_of
from weft.ir.alias import Access, is_access
from weft.ir.config import CompileConfig
from weft.ir.core import Builder, Op, Value, ops_of
from weft.ir.errors import InternalError
from weft.ir.intervals import interval
from weft.ir.ops import (
    Activate,
    Alloca,
    Append,
    Assert,
    AtomicLoad,
    Binary,
    Cast,
    Const,
    Deactivate,
    FieldPtr,
    FoundSlot,
    If,
    Invoke,
    IsActive,
    Kernel,
    Length,
    Load,
    Select,
    Splat,
    Store,
    VisitedIndex,
    VisitedSlot,
)
from weft.ir.passes import pass_
from weft.ir.runtime_library.sparse_cells import changed_parts
from weft.ir.symbols import FieldSymbol, NodeSymbol
from weft.ir.tasks import tasks_of
from weft.ir.transforms.cells_around import Around, around, is_exact
from weft.ir.transforms.cse import merge_equal
from weft.ir.transforms.hashed_slots import changed_nodes, search, wide
from weft.ir.transforms.licm import move_out
from weft.ir.transforms.near_cells import cell_and_place, cell_of, number_of, own_place, rest_of
from weft.ir.types import VOID, i32, i64, pointer, u1, u8, u32

__all__ = ["OwnCell", "check_cell", "from_zero", "lower_sparse", "own_cell"]

CellOp = Activate | Append | Deactivate | IsActive | Length


@pass_("lower_sparse")
def lower_sparse(root: Kernel, config: CompileConfig) -> bool:
    """For a field below a node `pointer` of 128 cells, each of 8 elements:

        %p = field_ptr @x[%i]             %c = shr %i, 3; %in = and %i, 7
        %v = load %p                      %slot = load field_ptr @P.table[%c]
                                 ->       %v = load field_ptr @x.cells[%slot, %in]

        store %p, %w                      %slot = load field_ptr @P.table[%c]
                                          if %slot == 0 { %slot = invoke P_activate, [%c] }
                                          store field_ptr @x.cells[%slot, %in], %w

    Slot 0 is a cell of zeros that nothing writes, so a load of what is not active gives 0. The table of a nested node
    is a sparse field itself, and is accessed in the same way. A mask is set where it is not set yet. A list becomes
    longer where an element behind its end is written. Through a `field_ptr` with `activates=false`, a write happens
    only where the slot is not 0.

    In a loop over the cells of the node (`enumerate_cells`), an access to the own cell of the iteration needs no table:
    its indices are those of the cell times the size of the cell, plus a rest that is known to be inside of it. The list
    of cells has the slot (`visited_slot`). This does not apply if the task deactivates cells, because a cell may then
    have lost its slot, and a read of it must give 0.

    An index that is near the visited cell becomes the index of that cell plus a step that depends on the rest only. So
    the slot of a neighbour does not change in the inner loops over the box of the cell, unless the rest does.

    Every access loads its slots itself. Later passes merge equal loads between which nothing activates. Searches for
    cells of hash nodes are merged here, and moved out of loops, where the task changes none of these cells
    (`hashed_slots.py`). The cells around the visited one are looked up once for each visited cell, where the iterations
    of the task run whole cells (`cells_around.py`).
    """
    if not root.nodes:
        return False
    lowering = _Lowering(root)
    changed = False
    for task in tasks_of(root):
        ops = ops_of(*task.regions)
        lowering.steady = not any(isinstance(op, (Deactivate, Invoke)) for op in ops)
        lowering.changed_nodes = changed_nodes(root, ops)
        for op in ops:
            if is_access(op):
                changed |= lowering.access(op)
            elif isinstance(op, CellOp):
                lowering.cell_op(op)
                changed = True
        for op in reversed(ops):
            if op.pure and not op.users and isinstance(root_of(op), FieldPtr):
                op.erase()
                changed = True
    for op in root.all_of(FieldPtr):
        if op.field.node is not None:
            raise InternalError(f"lower_sparse: {op!r} is used by something that is no access")
    changed |= lowering.declare()
    if root.all_of(FoundSlot):
        merge_equal(root.body)
        while move_out(root.body):
            merge_equal(root.body)
    return changed


@dataclass(frozen=True)
class OwnCell:
    """The own cell of an iteration: the number of the cell in the list, and the index of the element in the cell, for
    each axis of the field along which the cell has a place."""

    entry: Value
    inside: dict[int, Value]


def own_cell(build: Builder, symbol: FieldSymbol, index: Sequence[Value]) -> OwnCell | None:
    """The cell that the iteration visits, if an element is known to be in it. Nothing may deactivate it."""
    found = next(((node, block) for node, block in symbol.above() if node.has_pool), None)
    if found is None:
        return None
    node, block = found
    places = [own_place(index[axis], node, number, size) for number, (axis, size) in enumerate(block)]
    known = [place for place, (_, size) in zip(places, block, strict=True) if place is not None and place.stays(size)]
    entries = {place.leaf.entry for place in known if place.leaf is not None}
    if len(known) < len(block) or len(entries) != 1:
        return None
    inside = {axis: rest_of(build, index[axis].type, place) for place, (axis, _) in zip(known, block, strict=True)}
    return OwnCell(entries.pop(), inside)


class _Lowering:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.changed = changed_parts(kernel.nodes)
        self.cells = tuple(symbol.stored.name for symbol in kernel.fields if symbol.node is not None)
        self.steady = True  # the task deactivates nothing
        self.changed_nodes = set[NodeSymbol]()  # the nodes of which it may activate or deactivate cells

    def declare(self) -> bool:
        """List the fields that the kernel uses now. Gives whether they are others."""
        used = dict.fromkeys(symbol for symbol in self.kernel.fields if symbol.node is None)
        used |= dict.fromkeys(op.field for op in self.kernel.all_of(FieldPtr))
        for op in self.kernel.all_of(VisitedSlot, VisitedIndex):
            assert isinstance(op, VisitedSlot | VisitedIndex)
            used[op.node.part("list" if isinstance(op, VisitedSlot) else "where")] = None
        before, self.kernel.fields = self.kernel.fields, tuple(used)
        return before != self.kernel.fields

    # ---- accesses ----

    def access(self, op: Access) -> bool:
        """Give an access the address of the stored element."""
        root, steps = element_steps(op.ptr)
        if not isinstance(root, FieldPtr) or root.field.node is None:
            return False
        build = Builder.at(op)
        index = from_zero(build, root)
        writes = op.writes and not isinstance(op, AtomicLoad)
        there = None
        if writes and root.activates and not root.active:
            made = self.written(build, root.field, index)
        else:
            own = self.own(build, root.field, index)
            masks = _masks(op, root) if own is None else list[Value]()
            given = self.unmasked(build, root, index, masks)
            near = self.around(root.field, given) if own is None else None
            slot = self.slot(build, root.field, given if near is not None or _searched(root.field) else index, own)
            there = self.exists(build, root.field, index, slot) if writes and not root.active else None
            if slot is not None and masks:
                tested = [] if near is not None and is_exact(root, near, masks) else masks
                slot = self.slot_in_range(build, op, tested, slot)
            made = self.element(build, root.field, index, slot, own, near)
        made.name = root.name
        copies: dict[Value, Value] = {root: made}
        for step in steps:
            copies[step] = build.add(step.clone(copies))
        op.set_operand(0, copies.get(op.ptr, made))
        if there is not None:
            self.only_where(op, there)
        return True

    def slot_in_range(self, build: Builder, op: Op, masks: list[Value], slot: Value) -> Value:
        """The cell of zeros where the index is out of range, so that the load gives 0 itself."""
        (chosen,) = op.users
        chosen.replace_uses(op)
        holds: Value | None = None
        for mask in masks:
            holds = mask if holds is None else build.add(Binary("and", holds, mask, type=u1))
        return slot if holds is None else build.add(Select(holds, slot, number_of(build, 0, u32)))

    def unmasked(self, build: Builder, ptr: FieldPtr, index: list[Value], masks: list[Value]) -> list[Value]:
        """The indices as the program gives them: there is no cell where they are out of range."""
        if not masks:
            return index
        given = [one.a if isinstance(one, Select) and one.condition in masks else one for one in ptr.indices]
        return from_zero(build, ptr, given)

    def exists(self, build: Builder, symbol: FieldSymbol, index: Sequence[Value], slot: Value | None) -> Value:
        """Whether an element is active, if that is the slot of its cell. Nothing is written in slot 0, so the slot is
        tested itself: another iteration may deactivate the cell between two loads of it."""
        node = symbol.node
        assert node is not None
        at = cell_of(build, index, node, symbol.block)
        if not node.has_pool:
            return _compare(build, "ne", self.mark(build, node, at, slot), 0)
        assert slot is not None
        there = _compare(build, "ne", slot, 0)
        if node.length is None:
            return there
        at[node.axis] = index[symbol.block[node.axis][0]]
        return build.add(Binary("and", there, self.is_active(build, node, at), type=u1))

    def mark(self, build: Builder, node: NodeSymbol, at: Sequence[Value], slot: Value | None) -> Value:
        """The mark of a cell of a mask, in that slot of the pool above."""
        return build.add(Load(self.element(build, node.table, at, slot, None)))

    def only_where(self, op: Access, there: Value) -> None:
        """Execute a write only if there is a cell."""
        build = Builder.at(op)
        branch, old = If(there), None
        if op.users:
            old = build.add(Alloca(type=pointer(op.type)))
            build.add(Store(old, number_of(build, 0, op.type)))
        build.add(branch)
        if old is not None:
            op.replace_uses(build.add(Load(old)))
        op.unlink()
        branch.then.append(op)
        if old is not None:
            Builder(branch.then, None, op.span).add(Store(old, op))

    def read(self, build: Builder, symbol: FieldSymbol, index: Sequence[Value]) -> FieldPtr:
        """The address of an element to be read."""
        if symbol.node is None:
            return build.add(FieldPtr(symbol, list(index)))
        own = self.own(build, symbol, index)
        return self.element(build, symbol, index, self.slot(build, symbol, index, own), own)

    def slot(self, build: Builder, symbol: FieldSymbol, index: Sequence[Value], own: OwnCell | None) -> Value | None:
        """The slot of the cell of the pool that an element is in; 0 if it is not active."""
        for node, block in symbol.above():
            if node.has_pool:
                if own is not None:
                    return build.add(VisitedSlot(node, own.entry))
                near = self.around(symbol, index)
                if near is not None:
                    return near.slot(build, self.slot_of)
                return self.slot_of(build, node, cell_of(build, index, node, block))
        return None

    def around(self, symbol: FieldSymbol, index: Sequence[Value]) -> Around | None:
        """The element as one near the visited cell, if its cell may be looked up where the iteration begins: the task
        neither makes nor drops such cells."""
        node, block = next(((node, block) for node, block in symbol.above() if node.has_pool), (None, ()))
        return None if node is None or node in self.changed_nodes else around(node, block, index)

    def slot_of(self, build: Builder, node: NodeSymbol, at: Sequence[Value]) -> Value:
        """The slot of a cell: from the table, or by a search in a hash table."""
        if not node.hashed:
            return self.load(build, node.table, at)
        if node in self.changed_nodes:
            return build.add(search(build, node, at))
        return build.add(FoundSlot(node, list(at)))

    def load(self, build: Builder, symbol: FieldSymbol, index: Sequence[Value]) -> Value:
        """An element of a table, which may be sparse itself."""
        return build.add(Load(self.read(build, symbol, index)))

    def element(
        self,
        build: Builder,
        symbol: FieldSymbol,
        index: Sequence[Value],
        slot: Value | None,
        own: OwnCell | None,
        near: Around | None = None,
    ) -> FieldPtr:
        """The address of the element in the cells of the pool."""
        if slot is None:
            return build.add(FieldPtr(symbol.stored, list(index)))
        node, block = next((node, block) for node, block in symbol.above() if node.has_pool)
        spans = {axis: (number, size) for number, (axis, size) in enumerate(block)}
        inside: list[Value] = []
        for axis, value in enumerate(index):
            number, size = spans.get(axis, (0, 0))
            if own is not None and axis in own.inside:
                inside.append(own.inside[axis])
            elif not size or node.shape[number] == 1:
                inside.append(value)
            else:
                place = near.inside(build, number, value.type) if near is not None else None
                inside.append(place or cell_and_place(build, value, size)[1])
        return build.add(FieldPtr(symbol.stored, [slot, *inside]))

    # ---- activation ----

    def written(self, build: Builder, symbol: FieldSymbol, index: Sequence[Value]) -> FieldPtr:
        """The address of an element to be written. Its cell is active then."""
        node, own = symbol.node, self.own(build, symbol, index)
        assert node is not None
        at = cell_of(build, index, node, symbol.block)
        slot = self.slot(build, symbol, index, own)
        if not node.has_pool:
            mark = self.mark(build, node, at, slot)
            call = Invoke(f"{node.name}_mark", wide(build, at), type=VOID if slot is None else u32)
            slot = self.unless(build, [_compare(build, "eq", mark, 0)], call, slot)
            return self.element(build, symbol, index, slot, own)
        assert slot is not None
        missing = [] if own is not None else [_compare(build, "eq", slot, 0)]
        values, what = wide(build, at), "activate"
        if node.length is not None:
            element = index[symbol.block[node.axis][0]]
            length = self.load(build, node.length, node.list_of(at))
            missing.append(_below(build, length, element))
            values, what = [*values, *wide(build, [element])], "extend"
        if node.hashed:
            what = "reach"
        if missing:
            slot = self.unless(build, missing, Invoke(f"{node.name}_{what}", values, type=u32), slot, (node, at))
        return self.element(build, symbol, index, slot, own)

    def unless(
        self,
        build: Builder,
        missing: Sequence[Value],
        call: Invoke,
        slot: Value | None = None,
        made: tuple[NodeSymbol, Sequence[Value]] | None = None,
    ) -> Value | None:
        """Call that function if something is missing. It gives the slot then: that of the cell `made`."""
        condition = missing[0] if len(missing) == 1 else build.add(Binary("or", *missing, type=u1))
        call.touched = self.changed
        place = None
        if slot is not None:
            place = build.add(Alloca(type=pointer(u32)))
            build.add(Store(place, slot))
        inside = Builder(build.add(If(condition)).then, None, build.span)
        inside.add(call)
        if place is None:
            return None
        inside.add(Store(place, call))
        if made is not None:
            self.made(inside, *made, call)
        return build.add(Load(place))

    def made(self, build: Builder, node: NodeSymbol, at: Sequence[Value], slot: Value) -> None:
        """Fail, at the place of the access, if there was no slot for the cell of a hash node."""
        if node.hashed:
            centred = [build.add(Binary("sub", i, number_of(build, n, i.type))) for i, n in zip(at, node.middle)]
            build.add(Assert(_compare(build, "ne", slot, 0), list(centred), node.full_message, "memory"))

    # ---- the own cell ----

    def own(self, build: Builder, symbol: FieldSymbol, index: Sequence[Value]) -> OwnCell | None:
        """The own cell of the iteration, if the element is known to be in it."""
        return own_cell(build, symbol, index) if self.steady else None

    # ---- ops on cells ----

    def cell_op(self, op: CellOp) -> None:
        node, build, at = op.node, Builder.at(op), list(op.indices)
        extents = node.shape if isinstance(op, Activate) else node.asked if isinstance(op, IsActive) else node.units
        check_cell(build, op, at, extents)
        if isinstance(op, IsActive):
            value = self.cell_slot(build, node, at) if op.slot else self.is_active(build, node, at)
        elif isinstance(op, Length):
            assert node.length is not None
            value = self.load(build, node.length, at)
        else:
            what, type = op.opname, op.type
            if isinstance(op, Activate):
                own = "reach" if node.hashed else "activate" if node.has_pool else "mark"
                what, type = own, VOID if node.holder is None else u32
            touched = self.changed + (self.cells if isinstance(op, Deactivate) else ())
            value = build.add(Invoke(f"{node.name}_{what}", wide(build, at), touched, type=type))
            if isinstance(op, Activate):
                self.made(build, node, at, value)
            if isinstance(op, Append):
                message = f"list [{_holes(at)}] of '{node.name}' is full: it has {node.limit} elements"
                build.add(Assert(_compare(build, "ge", value, 0), at, message, "memory"))
        if op.type is not VOID:
            op.replace_uses(value)
        op.erase()

    def cell_slot(self, build: Builder, node: NodeSymbol, at: list[Value]) -> Value:
        """The slot of a cell, or of the chunk with an element."""
        if node.length is not None:
            at[node.axis] = cell_and_place(build, at[node.axis], node.chunk)[0]
        return self.slot_of(build, node, at)

    def is_active(self, build: Builder, node: NodeSymbol, at: Sequence[Value]) -> Value:
        if node.length is None:
            return _compare(build, "ne", self.slot_of(build, node, at), 0)
        length = self.load(build, node.length, node.list_of(at))
        return build.add(Binary("gt", *_alike(build, length, at[node.axis]), type=u1))


def check_cell(build: Builder, op: CellOp, at: Sequence[Value], extents: Sequence[int]) -> None:
    """Fail if an index is outside of the node."""
    tests: list[Value] = []
    for index, extent in zip(at, extents, strict=True):
        low, high = interval(index)
        tests += [_compare(build, "ge", index, 0)] if low < 0 else []
        tests += [_compare(build, "lt", index, extent)] if high >= extent else []
    if not tests:
        return
    holds = tests[0]
    for test in tests[1:]:
        holds = build.add(Binary("and", holds, test, type=u1))
    message = (
        f"index [{_holes(at)}] is out of bounds for the cells of '{op.node.name}': their shape is {tuple(extents)}"
    )
    build.add(Assert(holds, list(at), message, "bounds"))


def _holes(values: Sequence[Value]) -> str:
    """The places of these values in a message."""
    return ", ".join("{}" for _ in values)


def _is_zero(value: Value) -> bool:
    value = value.x if isinstance(value, Splat) else value
    return isinstance(value, Const) and str(value.value) in ("0", "0.0", "False")


def _masks(op: Op, ptr: FieldPtr) -> list[Value]:
    """If `mask_accesses` lets a load read another element where the index is out of range, and gives 0 instead: the
    conditions under which the index is in range."""
    chosen = next(iter(op.users)) if isinstance(op, Load) and len(op.users) == 1 else None
    if not isinstance(chosen, Select) or chosen.a is not op or not _is_zero(chosen.b):
        return []
    parts, found, known = [chosen.condition], list[Value](), {i.condition for i in ptr.indices if isinstance(i, Select)}
    while parts:
        part = parts.pop()
        if part in known:
            found += [part] if part not in found else []
        elif isinstance(part, Binary) and part.kind == "and":
            parts += [part.lhs, part.rhs]
        else:
            return []
    return found


def _searched(symbol: FieldSymbol) -> bool:
    """Whether cells of the field are searched for: the index of a cell may be any."""
    return any(node.hashed for node, _ in symbol.above() if node.has_pool)


# ---- arithmetic ------------------------------------------------------------------------------------------------------


def _compare(build: Builder, kind: str, value: Value, by: int) -> Value:
    if value.type is u8:
        value = build.add(Cast(value, type=i32))
    return build.add(Binary(kind, value, number_of(build, by, value.type), type=u1))


def _alike(build: Builder, a: Value, b: Value) -> tuple[Value, Value]:
    """Two integers as i64."""
    wide = [value if value.type is i64 else build.add(Cast(value, type=i64)) for value in (a, b)]
    return wide[0], wide[1]


def _below(build: Builder, length: Value, element: Value) -> Value:
    """Whether a list ends before an element."""
    return build.add(Binary("le", *_alike(build, length, element), type=u1))


def from_zero(build: Builder, ptr: FieldPtr, indices: Sequence[Value] = ()) -> list[Value]:
    """The indices of an element (or other ones), counted from 0: i32 or i64."""
    found: list[Value] = []
    for axis, index in enumerate(indices or ptr.indices):
        value = index
        if value.type not in (i32, i64):
            value = build.add(Cast(value, type=i64 if value.type is u32 else i32))
        first = ptr.field.offset[axis] if ptr.field.offset else 0
        if first:
            value = build.add(Binary("sub", value, number_of(build, first, value.type)))
        found.append(value)
    return found
