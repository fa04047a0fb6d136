"""Replaces loops over sparse fields by loops over lists of active cells, and collects deactivated cells."""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir.addresses import root_of
from weft.ir.alias import is_access
from weft.ir.config import CompileConfig
from weft.ir.core import Block, BlockArg, Builder, Op, Value, ops_of
from weft.ir.errors import CompilationError
from weft.ir.ops import (
    Activate,
    Append,
    AtomicLoad,
    Binary,
    Cast,
    Const,
    Deactivate,
    FieldPtr,
    For,
    If,
    Invoke,
    Kernel,
    Load,
    ParallelFor,
    Store,
    StructFor,
    VisitedIndex,
)
from weft.ir.passes import pass_
from weft.ir.runtime_library.cell_lists import collect_text, tables_of
from weft.ir.runtime_library.sparse_cells import held_text, written_on
from weft.ir.symbols import FieldSymbol, LoopConfig, NodeSymbol
from weft.ir.target import Traits
from weft.ir.transforms.apart import insert_routine
from weft.ir.types import i32, u1

__all__ = ["enumerate_cells"]


@pass_("enumerate_cells")
def enumerate_cells(root: Kernel, config: CompileConfig) -> bool:
    """For a field below a node `pointer` of cells of 8 x 8 elements:

        struct_for @x (%i, %j) { ... }    ->    (make the list of P's cells, if it is out of date)
                                                %n = load field_ptr @P.count[]
                                                parallel_for [0, 0, 0], [%n, 8, 8] (%cell, %a, %b) {
                                                  %i = visited_index @P, %cell, axis=0 * 8 + %a
                                                  %j = visited_index @P, %cell, axis=1 * 8 + %b
                                                  ...
                                                }

    The axes after the first are those of the cell in memory order. A loop over a node visits the first element of each
    cell, so its box has one axis. If a mask or a list is above the field, the body runs only where the mark is set, or
    the list is long enough. If the loop may change these, it looks at a copy that is made before it. A field whose
    cells lie in the root's memory has a box without lists. A loop with `serialize` becomes serial loops in the order
    of the list.

    The element of an iteration is active, and stays so if the loop deactivates nothing and calls no function. So a
    write to it does not activate (`active`). A loop over a mask becomes lanes then, of which marks switch some off.

    A loop that deactivates each cell that it visits, of a node with one table, is left to the collection: the list of
    the node has all slots that become free, so no marks of them are needed.

    Lists are kept until cells of the node come or go (`runtime_library/cell_lists.py`). After a loop or a statement
    that may deactivate cells, the slots of these cells are cleared and become available again. An interrupt does not
    end that (`hold_interrupts`). After one that came before it, marks are left, and the next collection finds them. A
    called function must not deactivate cells, because its callers do not collect them."""
    if not root.nodes:
        return False
    changed, listed = False, set[NodeSymbol]()  # nodes whose lists are known to be up to date
    for op in list(root.body):
        frees = [inner for inner in op.walk() if isinstance(inner, Deactivate)]
        after, emptied = op.next, None
        if isinstance(op, StructFor) and (op.cells or op.field.node is not None):
            changes, emptied = _changes(op.body, op), _empties(op, root.nodes)
            _Loops(root, op, listed, config).run(emptied)
            changed = True
            if changes:
                listed.clear()
        elif _changes(op, None):
            listed.clear()
        if frees:
            _collect(root, frees, after, config.traits, emptied)
            changed = True
    if changed:
        used = dict.fromkeys(root.fields)
        used |= dict.fromkeys(op.field for op in root.all_of(FieldPtr))
        root.fields = tuple(used)
    return changed


def _insert(kernel: Kernel, text: str, before: Op | None, span: object, fields: Sequence[FieldSymbol] = ()) -> None:
    """Put the statements of a text into the kernel."""
    made = written_on(kernel.nodes, "@made() -> ()", text, fields)
    for op in list(made.body):
        op.unlink()
        kernel.body.insert(op, before)
        for inner in op.walk():
            inner.span = span  # type: ignore[assignment]


# ---- collection ------------------------------------------------------------------------------------------------------


def _empties(loop: StructFor, nodes: Sequence[NodeSymbol]) -> NodeSymbol | None:
    """The node of which a loop deactivates each cell that it visits, and does nothing else. Its cells are in one
    table."""
    node = next((one for one in nodes if one.table is loop.field), None) if loop.cells else None
    if node is None or not node.has_pool or node.hashed or node.home is not None or node.length is not None:
        return None
    ops = list(loop.body)
    alone = len(ops) == 1 and isinstance(ops[0], Deactivate) and ops[0].node is node
    return node if alone and list(ops[0].operands) == list(loop.body.args) else None


def _collect(
    kernel: Kernel, frees: Sequence[Deactivate], before: Op | None, traits: Traits, emptied: NodeSymbol | None
) -> None:
    """Collect the cells that these ops may deactivate. `emptied`: all cells of that node are to be deactivated, too."""
    if kernel.called:
        raise CompilationError("a real function cannot deactivate cells: do it in the kernel", frees[0].span)
    nodes, wanted = kernel.nodes, set[NodeSymbol]()
    for op in frees:
        wanted.add(op.node)
        wanted.update(one for one in nodes if any(above is op.node for above, _ in one.table.above()))
    _insert(kernel, held_text(True, traits), before, frees[0].span)
    for node in nodes:
        if node in wanted and node.has_pool:
            for text, fields in collect_text(node, nodes, traits, node is emptied):
                _insert(kernel, text, before, frees[0].span, fields)
            wanted.update(tables_of(node, nodes))
    _insert(kernel, held_text(False, traits), before, frees[0].span)


# ---- loops -----------------------------------------------------------------------------------------------------------


Watched = dict[NodeSymbol, FieldSymbol]


class _Loops:
    """Replaces one loop."""

    def __init__(self, kernel: Kernel, loop: StructFor, listed: set[NodeSymbol], config: CompileConfig) -> None:
        self.kernel, self.loop, self.span, self.listed, self.config = kernel, loop, loop.span, listed, config

    def run(self, emptied: NodeSymbol | None) -> None:
        """`emptied`: the loop deactivates all cells of that node, which their collection does at once."""
        loop, symbol = self.loop, self.loop.field
        body, loop.body = loop.body, Block()
        if emptied is not None:
            self.list(emptied)
            loop.erase()
            return
        if not loop.cells and not any(isinstance(op, Deactivate | Invoke) for op in ops_of(body)):
            _mark_own(body, symbol)
        node = next((one for one in self.kernel.nodes if one.table is symbol), None) if loop.cells else None
        cells = node if node is not None and node.has_pool else None
        guards = [node] if node is not None and cells is None else []
        for above, _ in symbol.above() if cells is None else ():
            guards += [above] if above.seen is not None else []
            if above.has_pool:
                break
        watched = {guard: self.watched(guard, body) for guard in guards}
        self.over(symbol, body, loop.config, cells, watched)
        loop.erase()

    def watched(self, guard: NodeSymbol, body: Block) -> FieldSymbol:
        """The field that says which elements below a mask or a list the loop visits. It is a copy of the marks, or of
        the lengths, if the loop may change them."""
        now = guard.table if guard.length is None else guard.length
        if not _changes(body, self.loop):
            return now
        assert guard.seen is not None
        copy = Block([BlockArg(i32) for _ in now.shape])
        build = Builder(copy, None, self.span)
        value = build.add(Load(build.add(FieldPtr(now, list(copy.args)))))
        build.add(Store(build.add(FieldPtr(guard.seen, list(copy.args), False)), value))
        self.over(now, copy, LoopConfig(), None, {})
        return guard.seen

    def over(
        self, symbol: FieldSymbol, body: Block, config: LoopConfig, cells: NodeSymbol | None, watched: Watched
    ) -> None:
        """Make the loop over all elements of a field in the active cells of the pool in which it lies, or over the
        cells of a node."""
        build, index = Builder.at(self.loop), body.args[0].type if body.args else i32
        holder, block = _spans(symbol, cells)
        order = symbol.order or tuple(range(len(symbol.shape)))
        extents = {axis: block[axis][1] if axis in block else symbol.shape[axis] for axis in order}
        inner = [axis for axis in order if extents[axis] > 1]
        ends: list[Value] = []
        if holder is not None:
            self.list(holder)
            count = build.add(Load(build.add(FieldPtr(holder.part("count"), []))))
            ends.append(count if index is i32 else build.add(Cast(count, type=index)))
        ends += [build.add(Const(extents[axis], type=index)) for axis in inner]
        ends = ends or [build.add(Const(1, type=index))]
        begins: list[Value] = [build.add(Const(0, type=index)) for _ in ends]
        made = Block([BlockArg(index, "", self.span) for _ in ends])
        start = Builder(made, None, self.span)
        inside = dict(zip(inner, made.args[len(ends) - len(inner) :], strict=True))
        at: list[Value] = []
        for axis, arg in enumerate(body.args):
            value: Value | None = inside.get(axis)
            if holder is not None and axis in block:
                value = _in_cell(start, holder, made.args[0], *block[axis], value)
            at.append(start.add(Const(0, type=index)) if value is None else value)
            first = symbol.offset[axis] if symbol.offset else 0
            own = at[-1] if not first else start.add(Binary("add", at[-1], start.add(Const(first, type=index))))
            own.name = own.name or arg.name
            arg.replace_uses(own)
        body.args = []
        _guarded(start, symbol, at, watched).take(body)
        if config.serialize:
            _serial(build, begins, ends, made)
        else:
            build.add(ParallelFor(begins, ends, config, body=made, name=self.loop.name, span=self.span))

    def list(self, node: NodeSymbol) -> None:
        """Make the list of a node, and before it those of the nodes above it."""
        if node in self.listed:
            return
        self.listed.add(node)
        if node.home is not None:
            self.list(node.home)
        if node.table.stored.path.span[1] // 4 >= 2**31:  # the entries of a table are counted in 32 bits
            what = f"a loop over the cells of '{node.name}', which has {' x '.join(map(str, node.shape))} cells"
            raise CompilationError(f"{what}: a table has fewer than 2**31, so use two nested nodes", self.span)
        insert_routine(self.kernel, "list", node, self.loop, self.config, self.span)


def _serial(build: Builder, begins: Sequence[Value], ends: Sequence[Value], body: Block) -> None:
    """Run the points of a box one after another."""
    one = build.add(Const(1, type=ends[0].type))
    *outer, last = body.args
    body.args = [last]
    for begin, end, arg in zip(begins, ends, outer, strict=False):
        around = build.add(For(begin, end, one, body=Block([arg])))
        build = Builder(around.body, None, build.span)
    build.add(For(begins[-1], ends[-1], one, body=body))


def _spans(symbol: FieldSymbol, cells: NodeSymbol | None) -> tuple[NodeSymbol | None, dict[int, tuple[int, int]]]:
    """The node of whose list the loop visits the cells. For each axis of the field along which it has cells: the axis
    of the node, and how many elements a cell spans."""
    if cells is not None:
        return cells, {axis: (axis, 1) for axis in range(len(symbol.shape))}
    for node, block in symbol.above():
        if node.has_pool:
            return node, {axis: (number, size) for number, (axis, size) in enumerate(block)}
    return None, {}


def _in_cell(build: Builder, node: NodeSymbol, entry: Value, axis: int, size: int, inside: Value | None) -> Value:
    """The index of the place `inside` of a visited cell along an axis of its node."""
    index: Value = build.add(VisitedIndex(node, entry, axis))
    if entry.type is not i32:
        index = build.add(Cast(index, type=entry.type))
    if size > 1:
        index = build.add(Binary("mul", index, build.add(Const(size, type=entry.type))))
    return index if inside is None else build.add(Binary("add", index, inside))


def _guarded(build: Builder, symbol: FieldSymbol, at: Sequence[Value], watched: Watched) -> Block:
    """The block that runs only where all these marks are set, and these lists long enough."""
    inside: Block = build.block
    blocks = {symbol.node: symbol.block} | dict(symbol.above())
    for node, seen in watched.items():
        if node.table is symbol:
            cell = list(at)
        else:
            cell = [_quotient(build, at[axis], size) for axis, size in blocks[node]]
        where = cell if node.length is None else node.list_of(cell)
        found: Value = build.add(Load(build.add(FieldPtr(seen, list(where)))))
        least: Value = build.add(Const(0, type=i32))
        if node.length is None:
            found = build.add(Cast(found, type=i32))
        else:
            least = at[blocks[node][node.axis][0]]
            found = found if least.type is i32 else build.add(Cast(found, type=least.type))
        branch = build.add(If(build.add(Binary("gt", found, least, type=u1))))
        inside, build = branch.then, Builder(branch.then, None, build.span)
    return inside


def _quotient(build: Builder, value: Value, size: int) -> Value:
    return value if size == 1 else build.add(Binary("raw_div", value, build.add(Const(size, type=value.type))))


def _changes(inside: Block | Op, loop: StructFor | None) -> bool:
    """Whether ops may activate or deactivate something. In the body of a loop, a write to the own element of an
    iteration does not: the element is active."""
    args = inside.args if isinstance(inside, Block) else []
    for op in ops_of(inside) if isinstance(inside, Block) else inside.walk():
        if isinstance(op, Activate | Append | Deactivate | Invoke):
            return True
        if is_access(op) and op.writes and not isinstance(op, AtomicLoad):
            root = root_of(op.ptr)
            if not isinstance(root, FieldPtr) or root.field.node is None:
                continue
            if loop is None or loop.cells or list(root.indices) != list(args) or not _alike(root.field, loop.field):
                return True
    return False


def _mark_own(body: Block, symbol: FieldSymbol) -> None:
    """Mark the addresses of the element that an iteration visits, and of other fields in the same cell: they are active
    when the loop begins, and stay active in it."""
    for op in ops_of(body):
        if isinstance(op, FieldPtr) and list(op.indices) == list(body.args) and op.field.node is not None:
            op.active |= _alike(op.field, symbol)


def _alike(a: FieldSymbol, b: FieldSymbol) -> bool:
    """Whether elements of the same indices are in the same cell."""
    return (a.shape, a.space.first, a.node, a.block) == (b.shape, b.space.first, b.node, b.block)
