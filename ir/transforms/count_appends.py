"""Counts what a task appends to lists before the task runs, so that it appends in the order of its iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.ir.addresses import root_of
from weft.ir.alias import is_access
from weft.ir.calls import draws
from weft.ir.config import CompileConfig
from weft.ir.core import Builder, Op, Value, ops_of
from weft.ir.errors import CompilationError
from weft.ir.ops import (
    Alloca,
    Append,
    Assert,
    Atomic,
    AtomicLoad,
    Binary,
    Cast,
    Const,
    Deactivate,
    FieldPtr,
    For,
    If,
    Invoke,
    IsActive,
    Kernel,
    Length,
    Load,
    Shared,
    Simt,
    Store,
    Task,
    While,
)
from weft.ir.passes import pass_
from weft.ir.runtime_library.append_counts import (
    SCATTERED,
    counts_fit_text,
    counts_text,
    forget_counts_text,
    full_list,
    lists_inside,
    most_counted,
    places_text,
    stored_parts,
)
from weft.ir.symbols import NodeSymbol
from weft.ir.tasks import parallel_tasks
from weft.ir.transforms.early_copies import insert_tasks, is_harmless, is_unsteady, reduce_task, roots_written, tainted
from weft.ir.transforms.loop_pieces import LoopPieces
from weft.ir.transforms.lower_sparse import check_cell, from_zero
from weft.ir.transforms.near_cells import cell_and_place
from weft.ir.transforms.one_row import OneRow
from weft.ir.types import Prim, i32, pointer, u1, u32

__all__ = ["count_appends"]

_FEW = 1024  # iterations: as many append to unordered lists themselves
_MANY_LISTS = 1024  # iterations that append to few lists wait for the counts, and not for chunks
_SMALL = 100  # ops: a larger copy costs more than the atomics that it saves
_MOST_LISTS = 1 << 29
_ASKING = (IsActive, Length)  # ops whose results depend on what was appended


@pass_("count_appends")
def count_appends(root: Kernel, config: CompileConfig) -> bool:
    """For a field in lists below a node D:

        task range_for body (%i) {          task range_for body (%p) {
            %k = load @key[%i]                  for the iterations %i of piece %p { counts[%p, load @key[%i]] += 1 }
            %j = append @D[%k]              }
            store @x[%k, %j], %v      ->    (tasks that turn counts into places, and make the lists longer)
        }                                   task range_for body (%p) {
                                                for the iterations %i of piece %p {
                                                    %k = load @key[%i]
                                                    %j = counts[%p, %k]
                                                    counts[%p, %k] = %j + 1
                                                    store (the place of element %j in its chunk), %v
                                                }
                                            }

    So the elements of a list are in the order of the iterations, whatever the number of threads and pieces; nothing is
    locked, and no two threads change the same number. If a list would be too long, or there are too few chunks, nothing
    was appended yet. Lists of other nodes may have got their new lengths then; the new elements are 0.

    The copy that counts keeps only what the lists, and the conditions and loops around the appends, depend on. These
    must not read memory that the task writes, order memory, or need the result of an atomic or of an append. With
    `fast_math`, they must not need a chain of float ops, which the copy might round in another way. Assertions
    stay in the copy unless they do; then the copy must have no loop that one may end. The task must not draw random
    numbers, deactivate cells, call functions, or synchronize threads, and must not ask how long a list is to which it
    appends, or write elements of it that are neither those that it appends nor those that it visits. The lists must not
    lie below other sparse nodes.

    On a GPU, where rows of all pieces would take too much memory, appends to lists that are not `ordered` are counted
    in one row (`OneRow`): the box is not cut, and all iterations add to the same counts by atomics, twice. No chunk is
    made under a lock then. The order of a list depends on threads, as it does without counts.

    If a list is `ordered`, appends in a task for which this is not legal are an error. Other lists are counted where
    that is fast: if the copy is short, and iterations are not much fewer than lists."""
    if not root.nodes:
        return False
    if root.called:
        for op in root.all_of(Append):
            assert isinstance(op, Append)
            _refuse(op.node, op, "a real function does not know the loop that calls it")
        return False
    changed = False
    for task in parallel_tasks(root):
        changed |= _Task(root, task, config).run()
    if changed:
        root.fields = tuple(dict.fromkeys([*root.fields, *(op.field for op in root.all_of(FieldPtr))]))
    return changed


def _refuse(node: NodeSymbol, op: Op, why: str) -> None:
    """Raise CompilationError if the order of the lists of a node must not depend on threads."""
    if node.ordered:
        hint = "append in a loop with ti.loop_config(serialize=True), or to a list without ordered=True"
        raise CompilationError(f"the order of '{node.name}' would depend on threads: {why}. {hint}", op.span)


@dataclass(frozen=True)
class _Found:
    """Why something is not legal: the op, and what it does."""

    op: Op
    why: str


class _Task:
    def __init__(self, kernel: Kernel, task: Task, config: CompileConfig) -> None:
        self.kernel, self.task, self.config = kernel, task, config
        self.appends = [op for op in ops_of(task.body) if isinstance(op, Append)]
        self.written = roots_written(task)

    def run(self) -> bool:
        """Count the appends of the task where that is legal, and fast or asked for. Gives whether any are counted."""
        nodes: list[NodeSymbol] = []
        for node in dict.fromkeys(op.node for op in self.appends):
            found = self.obstacle(node)
            if found is not None:
                _refuse(node, found.op, found.why)
            elif node.ordered or self.pays(node):
                nodes.append(node)
        if not nodes:
            return False
        spans = {node: next(op.span for op in self.appends if op.node is node) for node in nodes}
        pieces = self.rows(nodes)
        copy = self.counting(nodes, pieces)
        assert isinstance(copy, Task)
        pieces.plan()
        traits = self.config.traits
        for node in nodes:
            insert_tasks(self.kernel, forget_counts_text(node), self.task, self.config, spans[node])
        copy.unlink()
        self.kernel.body.insert(copy, self.task)
        counts = [counts_text(node, traits) for node in nodes]
        places = [places_text(node, nodes, traits) for node in nodes]
        for made in (counts, places, [counts_fit_text(node) for node in nodes]):
            for node, text in zip(nodes, made, strict=True):
                insert_tasks(self.kernel, text, self.task, self.config, spans[node], stored_parts(node))
        self.filling(nodes, pieces)
        return True

    # ---- when it is legal ----

    def obstacle(self, node: NodeSymbol) -> _Found | None:
        """Why the appends to a node cannot be counted before the task."""
        for op in ops_of(*self.task.regions):
            if isinstance(op, Deactivate):
                return _Found(op, "the loop also deactivates cells")
            if isinstance(op, Invoke):
                return _Found(op, "the loop also calls a real function")
            if isinstance(op, (Simt, Shared)):
                return _Found(op, "iterations of the loop work together")
            if isinstance(op, _ASKING) and op.node is node:
                return _Found(op, "the loop also asks how long its lists are")
            if self.changes(op, node):
                return _Found(op, "the loop also writes elements of it that it does not append")
        first = next(op for op in self.appends if op.node is node)
        if draws(self.task):  # numbers depend on the number of the iteration, which is that of a piece then
            return _Found(first, "the loop also draws random numbers")
        if node.home is not None or node.parent is not None:
            return _Found(first, "it lies below another sparse node")
        if node.lists > _MOST_LISTS:
            return _Found(first, f"it has more than {_MOST_LISTS} lists")
        found = self.counting([node], LoopPieces(self.kernel, self.task, [node], self.config.traits))
        if isinstance(found, _Found):
            return found
        found.erase()
        return None

    def changes(self, op: Op, node: NodeSymbol) -> bool:
        """Whether an op may write an element of a list that it neither appends nor visits."""
        if not is_access(op) or not op.writes or isinstance(op, AtomicLoad):
            return False
        root = root_of(op.ptr)
        if not isinstance(root, FieldPtr) or root.field.node is not node or root.active:
            return False
        return _appended(root) is None

    def pays(self, node: NodeSymbol) -> bool:
        """Whether counting is likely to be faster than atomics, on lists whose order does not matter."""
        traits, pieces = self.config.traits, self.rows([node])
        copy, known = self.counting([node], pieces), pieces.known_total
        assert isinstance(copy, Task)
        ops = ops_of(copy.body)
        loops = sum(isinstance(op, (For, While)) for op in ops)
        copy.erase()
        if isinstance(pieces, OneRow):
            own = sum(op.node is node for op in self.appends)
            if not traits.shares_counts or loops or node.lists < _MANY_LISTS or not self.fits(known, own):
                return False
        elif not traits.counts_appends or loops > 1:
            return False
        if len(ops) > _SMALL:
            return False
        return node.lists <= 1 << 16 if known is None else known > _FEW and known >= node.lists

    def fits(self, known: int | None, appends: int) -> bool:
        """Whether counts of 32 bits hold what the iterations append, each of them so often."""
        args = self.task.body.args
        return appends == 1 and len(args) == 1 and args[0].type is i32 if known is None else known * appends < 1 << 32

    def rows(self, nodes: Sequence[NodeSymbol]) -> LoopPieces | OneRow:
        """Who counts: pieces of the loop, if an order is asked for or that is fast, or else all iterations together."""
        traits = self.config.traits
        if traits.counts_appends or any(op.node.ordered for op in self.appends):
            return LoopPieces(self.kernel, self.task, nodes, traits)
        return OneRow(self.kernel, self.task, nodes)

    # ---- the tasks ----

    def counting(self, nodes: Sequence[NodeSymbol], pieces: LoopPieces | OneRow) -> Task | _Found:
        """A copy of the task that counts its appends to these nodes. If that is not legal, the reason."""
        copies: dict[Value, Value] = {}
        copy = self.task.clone(copies)
        assert isinstance(copy, Task)
        self.kernel.body.insert(copy, self.task)
        given = set(ops_of(*copy.regions))
        piece, endless = pieces.cut(copy), bool(copy.all_of(While))
        for append in self.appends:
            if append.node in nodes:
                made = copies[append]
                assert isinstance(made, Append)
                build, place = Builder.at(made), self.count(made, piece)
                if isinstance(pieces, OneRow):
                    _next(build, place)
                    continue
                number = build.add(Load(place))
                if endless:
                    self.limit(build, made, number)
                most = build.add(Const(most_counted(append.node), type=i32))
                build.add(Store(place, build.add(Binary("min", _plus_one(build, number), most))))
        own = {op for op in ops_of(*copy.regions) if op not in given}
        spoilt = tainted(copy, own, self.harmful)
        kept = own | {op for op in ops_of(*copy.regions) if isinstance(op, Assert) and op not in spoilt}
        lost = [op for op in ops_of(*copy.regions) if isinstance(op, Assert) and op in spoilt]
        reduce_task(copy, kept)
        if lost and any(isinstance(op, While) for op in ops_of(*copy.regions)):
            copy.erase()
            return _Found(lost[0], "an assertion that may end the loop depends on what the loop does")
        for op in ops_of(*copy.regions):
            if op not in kept and self.harmful(op):
                found = _Found(self.original(op, copies), self.reason(op))
                copy.erase()
                return found
        return copy

    def harmful(self, op: Op) -> bool:
        """Whether the copy must not need an op: in the task, its result may be another one."""
        return not is_harmless(op, self.written) or (self.config.fast_math and is_unsteady(op))

    def limit(self, build: Builder, op: Append, number: Value) -> None:
        """Fail if a piece appends more than a list holds: nothing else may end the loop."""
        fits = build.add(Binary("lt", number, build.add(Const(op.node.limit, type=i32)), type=u1))
        build.add(Assert(fits, list(op.indices), full_list(op.node, len(op.indices)), "memory"))

    def original(self, op: Op, copies: dict[Value, Value]) -> Op:
        """The op of the task of which this one is a copy."""
        return next((one for one, copy in copies.items() if copy is op and isinstance(one, Op)), self.appends[0])

    def reason(self, op: Op) -> str:
        if is_harmless(op, self.written):
            what = "float arithmetic that fast_math may round in another way while appends are counted"
            return f"to which list it appends, or whether, depends on {what}. Use ti.init(fast_math=False)"
        what = "memory that the loop writes" if isinstance(op, Load) else f"the result of '{op.opname}'"
        return f"to which list it appends, or whether, depends on {what}"

    def filling(self, nodes: Sequence[NodeSymbol], pieces: LoopPieces | OneRow) -> None:
        """Let the task put its elements where they belong."""
        piece = pieces.cut(self.task, ready=[node.part("full") for node in nodes])
        for op in self.appends:
            if op.node not in nodes:
                continue
            roots = [root for user in op.users for root in _roots(user) if _appended(root) is op]
            build, place = Builder.at(op), self.count(op, piece)
            if isinstance(pieces, OneRow):
                number: Value = _next(build, place)
            else:
                number = build.add(Load(place))
                build.add(Store(place, _plus_one(build, number)))
            slot = self.slot(build, op, number)
            op.replace_uses(number)
            op.erase()
            for root in dict.fromkeys(roots):
                root.replace(_stored(root, slot))

    def slot(self, build: Builder, op: Append, number: Value) -> Value:
        """The slot of the chunk with an element."""
        node = op.node
        start = build.add(Load(build.add(FieldPtr(node.part("starts"), [self.list(build, op)]))))
        chunk = build.add(Binary("raw_div", number, build.add(Const(node.chunk, type=i32))))
        place = build.add(Alloca(type=pointer(u32)))
        build.add(Store(place, build.add(Cast(build.add(Binary("add", start, chunk)), type=u32))))
        scattered = build.add(Binary("eq", start, build.add(Const(SCATTERED, type=i32)), type=u1))
        inside = Builder(build.add(If(scattered)).then, None, build.span)
        at = list(op.indices)
        at.insert(node.axis, chunk)
        inside.add(Store(place, inside.add(Load(inside.add(FieldPtr(node.table, at))))))
        return build.add(Load(place))

    def count(self, op: Append, piece: Value) -> FieldPtr:
        """The place of the count of a piece for the list to which an op appends."""
        build, node = Builder.at(op), op.node
        check_cell(build, op, list(op.indices), node.units)
        at = build.add(Binary("add", _times(build, piece, node.lists), self.list(build, op)))
        return build.add(FieldPtr(node.part("counts"), [at]))

    def list(self, build: Builder, op: Append) -> Value:
        """The number of the list to which an op appends."""
        number: Value = build.add(Const(0, type=i32))
        for index, extent in zip(op.indices, lists_inside(op.node), strict=True):
            own = index if index.type is i32 else build.add(Cast(index, type=i32))
            number = build.add(Binary("add", _times(build, number, extent), own))
        return number


def _times(build: Builder, value: Value, number: int) -> Value:
    return build.add(Binary("mul", value, build.add(Const(number, type=i32))))


def _plus_one(build: Builder, value: Value) -> Value:
    return build.add(Binary("add", value, build.add(Const(1, type=i32))))


def _next(build: Builder, place: Value) -> Value:
    """Count one more, in a row that iterations share. Gives the count before."""
    return build.add(Atomic("add", place, build.add(Const(1, type=i32))))


def _stored(root: FieldPtr, slot: Value) -> FieldPtr:
    """The address of an element in the cells of the pool, in that slot."""
    build, symbol = Builder.at(root), root.field
    spans, inside = dict(symbol.block), list[Value]()
    for axis, value in enumerate(from_zero(build, root)):
        inside.append(cell_and_place(build, value, spans[axis])[1] if axis in spans else value)
    made = build.add(FieldPtr(symbol.stored, [slot, *inside]))
    made.name = root.name
    return made


def _roots(user: Op) -> list[FieldPtr]:
    """The addresses that use a value, directly or after a sum with a constant or a conversion."""
    if isinstance(user, FieldPtr):
        return [user]
    if isinstance(user, (Binary, Cast)):
        return [root for further in user.users for root in _roots(further)]
    return []


def _appended(root: FieldPtr) -> Append | None:
    """The append that made the element at that address. None if it is another element."""
    symbol = root.field
    node = symbol.node
    if node is None or node.length is None or len(node.length.shape) + 1 != len(symbol.shape):
        return None
    first = symbol.offset or (0,) * len(symbol.shape)
    index = [_less(value, start) for value, start in zip(root.indices, first, strict=True)]
    axis = symbol.block[node.axis][0]
    op = index.pop(axis)
    if isinstance(op, Append) and op.node is node and index == [_narrow(one) for one in op.indices]:
        return op
    return None


def _less(value: Value, first: int) -> Value | None:
    """A value less a number, if it is the sum of that value and the number. It may be wider than that value."""
    value = _narrow(value)
    if not first:
        return value
    if not isinstance(value, Binary) or value.kind != "add" or not isinstance(value.rhs, Const):
        return None
    return _narrow(value.lhs) if value.rhs.value == first else None


def _narrow(value: Value) -> Value:
    """The integer of which a value is a wider copy."""
    if not isinstance(value, Cast) or not isinstance(value.type, Prim) or not isinstance(value.x.type, Prim):
        return value
    wide, own = value.type, value.x.type
    holds = own.is_int and wide.is_int and wide.bits > own.bits and (wide.is_signed or not own.is_signed)
    return value.x if holds else value
