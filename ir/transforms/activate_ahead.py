"""Activates the cells that a task writes before the task runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from weft.ir.addresses import root_of
from weft.ir.alias import is_access
from weft.ir.config import CompileConfig
from weft.ir.core import Builder, Op, Value, ops_of
from weft.ir.intervals import interval
from weft.ir.ops import (
    Activate,
    Assert,
    AtomicLoad,
    Binary,
    Cast,
    Const,
    Deactivate,
    FieldPtr,
    If,
    Invoke,
    IsActive,
    Kernel,
    Task,
)
from weft.ir.passes import pass_
from weft.ir.runtime_library.allotments import fits_text
from weft.ir.runtime_library.claims import claim
from weft.ir.symbols import NodeSymbol
from weft.ir.tasks import box_of, parallel_tasks
from weft.ir.transforms.apart import insert_routine
from weft.ir.transforms.covered_cells import covered
from weft.ir.transforms.early_copies import insert_tasks, is_harmless, is_unsteady, reduce_task, roots_written
from weft.ir.transforms.lower_sparse import check_cell, from_zero, own_cell
from weft.ir.transforms.near_cells import cell_of
from weft.ir.types import u1

__all__ = ["activate_ahead"]

_FEW = 1024  # iterations: as many activate their cells themselves


@pass_("activate_ahead")
def activate_ahead(root: Kernel, config: CompileConfig) -> bool:
    """For a field below a node `pointer` of cells of 8 elements:

        task range_for body (%i) {          task range_for body (%i) {      asks for the cells
            %k = load @p[%i]                    %k = load @p[%i]
            atomic add @x[%k], %v               %c = shr %k, 3
        }                                       if load @P.table[%c] == 0 { store @P.marks[0, %c], 1 }
                                     ->     }
                                            (tasks that give slots to all marked cells)
                                            task range_for body (%i) {
                                                %k = load @p[%i]
                                                atomic add (field_ptr @x[%k], active=true), %v
                                            }

    So a slot is not taken by a thread after another one, cells get slots in the order of their indices, and if there
    are too few slots, nothing was written yet. With several nodes above one another, the outermost cells come first.

    The copy of the task keeps only what the indices of the written elements, and the conditions and loops around the
    writes, depend on. These must not read memory that the task writes, order memory, draw random numbers, or need the
    result of an atomic or of another thread. The task must not deactivate cells, ask whether a cell is active, or call
    functions. It must not have assertions, because the copy would read what one rejects, and go on with a
    loop that one ends. All sparse nodes above the field must be `pointer` nodes whose tables are dense. Cells that the
    iteration visits are active anyway. Other writes activate their cells as before. With `fast_math`, so do all
    writes if the copy has a chain of float ops, which it might round in another way than the task.

    Of elements near one another, it asks for the cells of the outer ones only, which hold the others
    (`covered_cells.py`).

    An axis of the box on which no marked cell depends is left out of the copy, and one of which only the number of the
    cell counts is run in steps, or left out if that is one step. Loops of a few iterations are left alone.

    If there are too few slots, the launch fails. Where a failed assertion does not keep later tasks from running, they
    write only what is active."""
    if root.called or not root.nodes:
        return False
    changed = False
    for task in parallel_tasks(root):
        changed |= _Task(root, task, config).run()
    if changed:
        root.fields = tuple(dict.fromkeys([*root.fields, *(op.field for op in root.all_of(FieldPtr))]))
    return changed


@dataclass(frozen=True)
class _Wanted:
    """An op that activates a cell, and the nodes above what it writes, the outermost first."""

    op: Op
    nodes: tuple[NodeSymbol, ...]


class _Task:
    def __init__(self, kernel: Kernel, task: Task, config: CompileConfig) -> None:
        self.kernel, self.task, self.config = kernel, task, config
        self.written = roots_written(task)

    def run(self) -> bool:
        """Activate cells ahead of the task, if that is legal. Gives whether it is."""
        if self.task.all_of(Assert, Deactivate, Invoke, IsActive) or self.is_short():
            return False
        wanted = self.wanted()
        depth = max((len(one.nodes) for one in wanted), default=0)
        made = [self.asking(wanted, level) for level in range(depth)]
        if not made or None in made:
            return False
        for level, copy in enumerate(made):
            assert copy is not None
            nodes = [*dict.fromkeys(one.nodes[level] for one in wanted if level < len(one.nodes))]
            for node in nodes if self.config.traits.interrupts else ():  # else no launch leaves marks behind
                self.routine("forget", node)
            self.kernel.body.insert(copy, self.task)
            for node in nodes:
                self.routine("claim", node)
            for node in nodes:  # after the loops of all of them, so that no mark is left if this fails
                insert_tasks(self.kernel, fits_text(node), self.task, self.config, self.task.span)
        sure = not (self.config.fast_math and any(map(is_unsteady, ops_of(*(copy.body for copy in made if copy)))))
        for one in wanted if sure else ():
            self.rest(one.op)
        return True

    def is_short(self) -> bool:
        box = box_of(self.task)
        sizes = [
            int(end.value) - int(begin.value)
            for begin, end in zip(box.begins, box.ends)
            if isinstance(begin, Const) and isinstance(end, Const)
        ]
        return len(sizes) == len(box.ends) and prod(max(size, 0) for size in sizes) <= _FEW

    # ---- what is activated ----

    def wanted(self) -> list[_Wanted]:
        found: list[_Wanted] = []
        every = ops_of(self.task.body)
        for op in every:
            nodes = self.nodes(op)
            if nodes and all(map(_has_table, nodes)):
                found.append(_Wanted(op, nodes))
        known = set(every)
        for op in reversed(ops_of(self.task.body)):  # what has only answered a question
            if op not in known:
                op.erase()
        return found

    def nodes(self, op: Op) -> tuple[NodeSymbol, ...]:
        """The nodes of which the op may activate a cell, the outermost first."""
        if isinstance(op, Activate):
            return (*reversed([node for node, _ in op.node.table.above()]), op.node)
        if not is_access(op) or not op.writes or isinstance(op, AtomicLoad):
            return ()
        root = root_of(op.ptr)
        if not isinstance(root, FieldPtr) or root.field.node is None or not root.activates or root.active:
            return ()
        build = Builder.at(op)
        if own_cell(build, root.field, from_zero(build, root)) is not None:
            return ()
        return tuple(reversed([node for node, _ in root.field.above()]))

    def cell(self, build: Builder, op: Op, node: NodeSymbol) -> list[Value]:
        """The cell of that node that the op activates."""
        if isinstance(op, Activate):
            if node is op.node:
                return list(op.indices)
            block = next(block for above, block in op.node.table.above() if above is node)
            return cell_of(build, op.indices, node, block)
        root = root_of(op.operands[0])
        assert isinstance(root, FieldPtr)
        block = next(block for above, block in root.field.above() if above is node)
        return cell_of(build, from_zero(build, root), node, block)

    # ---- the copy of the task ----

    def asking(self, wanted: Sequence[_Wanted], level: int) -> Task | None:
        """A copy of the task that asks for the cells at one level. None if that is not legal."""
        copies: dict[Value, Value] = {}
        copy = self.task.clone(copies)
        assert isinstance(copy, Task)
        self.kernel.body.insert(copy, self.task)
        given = set(ops_of(*copy.regions))
        below = [one for one in wanted if level < len(one.nodes)]
        asked = covered([(one.op, root, one.nodes[level]) for one in below if (root := _element(one.op)) is not None])
        for one in below:
            if one.op not in asked:
                op = copies[one.op]
                assert isinstance(op, Op)
                self.ask(op, one.nodes[level])
        made = set(ops_of(*copy.regions)) - given
        reduce_task(copy, made)
        if not all(op in made or is_harmless(op, self.written) for op in ops_of(*copy.regions)):
            copy.erase()
            return None
        _narrow(copy)
        copy.config = replace(copy.config, simd=1)  # it seldom stores anything
        copy.unlink()
        return copy

    def ask(self, op: Op, node: NodeSymbol) -> None:
        """Ask for the cell of an op, right before it. An index out of bounds asks for nothing."""
        build = Builder.at(op)
        at = self.cell(build, op, node)
        for index, extent in zip(at, node.shape, strict=True):
            low, high = interval(index)
            for kind, bound in [("ge", 0)] * (low < 0) + [("lt", extent)] * (high >= extent):
                limit = build.add(Const(bound, type=index.type))
                inside = build.add(If(build.add(Binary(kind, index, limit, type=u1))))
                build = Builder(inside.then, None, op.span)
        claim(build, node, at, self.config.traits)

    # ---- the tasks after it ----

    def routine(self, kind: str, node: NodeSymbol) -> None:
        """Insert the tasks of a routine before the task."""
        insert_routine(self.kernel, kind, node, self.task, self.config, self.task.span)

    def rest(self, op: Op) -> None:
        """The op in the task: its cell is active."""
        if isinstance(op, Activate):
            check_cell(Builder.at(op), op, list(op.indices), op.node.shape)
            op.erase()
            return
        root = root_of(op.operands[0])
        assert isinstance(root, FieldPtr)
        if self.config.traits.stops:
            root.active = True
        else:
            root.activates = False


def _element(op: Op) -> FieldPtr | None:
    """The element that an op writes. None if it activates a cell and writes nothing."""
    root = None if isinstance(op, Activate) else root_of(op.operands[0])
    return root if isinstance(root, FieldPtr) else None


def _has_table(node: NodeSymbol) -> bool:
    """Whether its cells have slots in tables whose entries lie side by side, and are counted in 32 bits."""
    return node.kind == "pointer" and "entries" in node.parts and prod(node.local) < 2**31


def _narrow(task: Task) -> None:
    """Leave out axes of the box on which nothing depends, and run those of which only a quotient counts in steps."""
    box = box_of(task)
    count = len(box.begins)
    for number, arg in enumerate(task.body.args):
        build, begin, end = Builder(task.bounds, box, task.span), box.begins[number], box.ends[number]
        if not arg.users:
            one = build.add(Binary("add", begin, build.add(Const(1, type=arg.type))))
            box.set_operand(count + number, build.add(Binary("min", end, one)))
            continue
        sizes = [_divisor(user, arg) for user in arg.users]
        step = min(sizes)
        if step == 1 or any(size % step for size in sizes) or not isinstance(begin, Const) or begin.value != 0:
            continue
        size, none = build.add(Const(step, type=arg.type)), build.add(Const(0, type=arg.type))
        whole = build.add(Binary("max", end, none))
        rest = build.add(Binary("ne", build.add(Binary("raw_mod", whole, size)), none, type=u1))
        steps = build.add(Binary("raw_div", whole, size))
        box.set_operand(count + number, build.add(Binary("add", steps, build.add(Cast(rest, type=arg.type)))))
        for user, each in zip(list(arg.users), sizes, strict=True):
            inside = Builder.at(user)
            by = inside.add(Const(each // step, type=arg.type))
            user.replace(arg if each == step else inside.add(Binary("raw_div", arg, by)))
    _drop_axes(task)


def _drop_axes(task: Task) -> None:
    """Leave out the axes of one iteration, whose index is a constant. One axis stays."""
    box, args = box_of(task), task.body.args
    for number in reversed(range(len(args))):
        (first, last), limits = interval(box.begins[number]), interval(box.ends[number])
        if len(args) == 1 or (last, *limits) != (first, first + 1, first + 1):
            continue
        index = Builder(task.body, task.body.first, task.span).add(Const(first, type=args[number].type))
        args.pop(number).replace_uses(index)
        begins, ends = ([*side[:number], *side[number + 1 :]] for side in (box.begins, box.ends))
        box.set_operands([*begins, *ends], (len(begins), len(ends)))


def _divisor(user: Op, arg: Value) -> int:
    """The size by which an op divides an index that is not negative; 1 if it does something else."""
    if not isinstance(user, Binary) or user.lhs is not arg or not isinstance(user.rhs, Const):
        return 1
    by = int(user.rhs.value)
    if user.kind == "shr":
        return 1 << by
    return by if user.kind == "raw_div" and by > 0 else 1
