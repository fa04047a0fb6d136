"""Facts for passes over tasks: the accesses of a task, loop-invariant values, and memory that is private to an
iteration.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from weft.ir.addresses import root_of
from weft.ir.affine import affine, leaf_key
from weft.ir.alias import Access, is_access, space_of, space_of_array, space_of_field
from weft.ir.core import Block, BlockArg, Builder, Op, Value, ops_of
from weft.ir.errors import InternalError
from weft.ir.intervals import interval
from weft.ir.ops import (
    Alloca,
    ArrayPtr,
    Const,
    Deactivate,
    FieldPtr,
    For,
    If,
    Invoke,
    Kernel,
    Load,
    ParallelFor,
    RunRoutine,
    Select,
    Shared,
    Simt,
    StructFor,
    Task,
    TempPtr,
    VisitedSlot,
    Warn,
    Yield,
)
from weft.ir.symbols import FieldSymbol
from weft.ir.types import Array

__all__ = [
    "Region",
    "accesses",
    "box_of",
    "closed_tasks",
    "is_masked",
    "known_extent",
    "left_of",
    "memory_space",
    "parallel_tasks",
    "private_spaces",
    "separate_tasks",
    "shows_order",
    "synchronizes",
    "tasks_of",
    "touched_names",
    "touched_spaces",
    "usual_ops",
]


def tasks_of(kernel: Kernel) -> list[Task]:
    """The tasks of an offloaded kernel, in order."""
    return [op for op in kernel.body if isinstance(op, Task)]


def parallel_tasks(kernel: Kernel) -> list[Task]:
    """The tasks that run over a box, in order."""
    return [task for task in tasks_of(kernel) if task.kind == "range_for"]


def box_of(task: Task) -> Yield:
    """The op that yields the box of the task."""
    limits = task.bounds.last
    if not isinstance(limits, Yield):
        raise InternalError(f"the bounds of {task!r} do not end with a yield")
    return limits


def known_extent(task: Task, axis: int) -> tuple[int, int] | None:
    """The first index and the end of that axis of the task's box, if they are known: the box may be empty instead. (Of
    two versions of a task, one has an empty box, see `mask_accesses`.)"""
    box = box_of(task)
    begin = box.begins[axis]
    if not isinstance(begin, Const):
        return None
    end = _end_unless_empty(box.ends[axis], int(begin.value))
    return None if end is None else (int(begin.value), end)


def _end_unless_empty(end: Value, begin: int) -> int | None:
    if isinstance(end, Const):
        return int(end.value)
    if isinstance(end, Select):
        for one, other in ((end.a, end.b), (end.b, end.a)):
            if isinstance(other, Const) and int(other.value) == begin:
                return _end_unless_empty(one, begin)
    return None


def left_of(loop: Task | For) -> BlockArg | None:
    """The argument `%left` (i64) of a vectorized task or loop, or None if it is not vectorized. The body runs a group
    of iterations at once. `%left` is the number of iterations that are left, including this group."""
    args = loop.body.args
    if loop.schedule.lanes == 1:
        return None
    axes = len(box_of(loop).begins) if isinstance(loop, Task) else 1
    return args[-1] if len(args) > axes else None


def closed_tasks(kernel: Kernel) -> list[Task]:
    """The tasks whose accesses are all in sight: those that call no function and no routine."""
    return [task for task in tasks_of(kernel) if not task.all_of(Invoke, RunRoutine)]


def separate_tasks(kernel: Kernel) -> list[Task]:
    """Closed tasks whose iterations never wait for one another: they have no barriers, no shared memory, and no access
    with a memory order, after which memory may hold writes of other iterations."""
    return [task for task in closed_tasks(kernel) if not task.all_of(Simt, Shared) and not synchronizes(task)]


def synchronizes(root: Op) -> bool:
    """Whether something inside orders memory between iterations. (A call may do so as well, and is not looked into.)"""
    return any(op.orders() and not isinstance(op, Invoke) for op in ops_of(*root.regions))


def accesses(root: Op) -> list[Access]:
    """Every op inside `root` that reads or writes memory at an address, in program order."""
    return [op for op in ops_of(*root.regions) if is_access(op)]


def shows_order(op: Op) -> bool:
    """Whether the order in which iterations do it shows: it orders memory, calls a function, draws a random number,
    prints, or may stop the task. (A warning is given once, whichever iteration gives it.)"""
    return op.orders() or (op.effect == "elsewhere" and not isinstance(op, Warn))


def is_masked(op: Op) -> bool:
    """Whether it is an `if` around an access that is seldom out of bounds, one of two versions of which the second
    is seldom needed (see `mask_accesses`), or another one whose second branch rarely runs."""
    return isinstance(op, If) and (op.versioned or op.seldom or any(isinstance(inner, Warn) for inner in op.orelse))


def usual_ops(block: Block) -> list[Op]:
    """Every nested op in program order, except rarely needed ones."""
    found: list[Op] = []
    for op in block:
        found.append(op)
        if op.region_names:
            for region in op.regions[:1] if is_masked(op) else op.regions:
                found += usual_ops(region)
    return found


def touched_names(calls: Sequence[Invoke], routines: Sequence[RunRoutine]) -> set[str]:
    """The names of what functions and routines say that they touch."""
    return {name for op in calls for name in op.touched} | {name for op in routines for name in op.touched}


def touched_spaces(root: Op, kernel: Kernel) -> set[Hashable]:
    """The spaces that the functions and routines called by `root`, or inside it, may write."""
    calls = [op for op in root.walk() if isinstance(op, Invoke)]
    names = touched_names(calls, root.all_of(RunRoutine))
    found = {space_of_field(symbol) for symbol in kernel.fields if symbol.name in names}
    if any(isinstance(op, Deactivate) for op in root.walk()):  # before `lower_sparse`; it clears what is below the cell
        found |= {space_of_field(symbol) for symbol in kernel.fields if symbol.node is not None}
    return found | {space_of_array(value) for op in calls for value in op.values if isinstance(value.type, Array)}


def memory_space(ptr: Value) -> Hashable:
    """As `alias.space_of`, but each temporary is a space of its own."""
    root = root_of(ptr)
    return ("temp", root.offset) if isinstance(root, TempPtr) else space_of(ptr)


class Region:
    """The values that do not change while a block runs repeatedly: all values defined outside, and values computed only
    from these. `hoist` provides such a value before the block."""

    def __init__(self, block: Block) -> None:
        inside = ops_of(block)
        self.inside: set[Value] = {*block.args, *inside}
        for op in inside:
            for name in op.region_names:
                self.inside.update(getattr(op, name).args)

    def invariant(self, value: Value) -> bool:
        """Whether `value` is the same in every run of the block."""
        if value not in self.inside:
            return True
        return isinstance(value, Op) and value.pure and all(map(self.invariant, value.operands))

    def hoist(self, value: Value, builder: Builder) -> Value:
        """The invariant `value`, computed at the builder's point if need be."""
        if value not in self.inside:
            return value
        assert isinstance(value, Op)
        made = value.clone({operand: self.hoist(operand, builder) for operand in value.operands})
        return builder.add(made)


Slot = tuple[Hashable, int, int, int]  # array, position of the index, coefficient, constant
_SMALL = 2**16  # factors of an index


def private_spaces(
    task: Task | ParallelFor | StructFor, indices: Sequence[Value] | None = None, readers: bool = True
) -> set[Hashable]:
    """The private spaces of a range_for, of a parallel loop, or of a nest of loops over `indices` in it: no two
    iterations write the same memory, and none reads memory that another one writes. (Without `readers`, reads are
    allowed.)

    A space is private if every access contains every loop index in the same position and in the same way: all are `x[i,
    j]`, or `x[i, 0]` and `x[i, k + 1]` in a loop over `i`. An exposed array may overlap another one, so it must be the
    only exposed array that is written. A slot of a visited cell stands for its entry in the list. Reads of others are
    no obstacle, because such a read may see the old or the new value in any case. What a called function may access
    (without `readers`: write) is not private."""
    touches = accesses(task)
    written = {memory_space(op.ptr) for op in touches if not isinstance(op, Load)}
    roots = [root_of(op.ptr) for op in touches if not isinstance(op, Load)]
    targets = {leaf_key(root.array) for root in roots if isinstance(root, ArrayPtr)}
    slots: dict[Hashable, list[set[Slot]]] = {}
    for op in touches:
        space, root = memory_space(op.ptr), root_of(op.ptr)
        if space not in written or isinstance(root, Alloca) or (isinstance(op, Load) and not readers):
            continue
        if isinstance(root, ArrayPtr) and leaf_key(root.array) not in targets:  # exposed, and only read
            continue
        found = _slots(root, task.body.args if indices is None else indices)
        known = slots.get(space)
        slots[space] = found if known is None else [a & b for a, b in zip(known, found)]
    calls = task.all_of(Invoke)
    return {
        space
        for space, axes in slots.items()
        if axes and all(axes) and not any(_may_access(call, space, readers) for call in calls)
    }


def _may_access(call: Invoke, space: Hashable, readers: bool) -> bool:
    """Whether a called function may access a space, or without `readers` write it."""
    names = call.touched if readers else call.written
    if isinstance(space, FieldSymbol):
        return space.name in names
    return bool(names)


def _slots(root: Value, loop_indices: Sequence[Value]) -> list[set[Slot]]:
    """For each loop index, where and how it appears alone in an index of `root`."""
    slots: list[set[Slot]] = [set() for _ in loop_indices]
    if not isinstance(root, (FieldPtr, ArrayPtr)):
        return slots
    array = leaf_key(root.array) if isinstance(root, ArrayPtr) else None
    if isinstance(root, ArrayPtr) and not (isinstance(root.array.type, Array) and root.array.type.contiguous):
        return slots
    number: dict[Hashable, int] = {arg: axis for axis, arg in enumerate(loop_indices)}
    for position, index in enumerate(root.indices):
        form = affine(index)
        single = form.single()
        if single is not None and isinstance(single[0], VisitedSlot):  # two entries have different slots
            single = single[0].entry, single[1]
        if single is not None and single[0] in number and _tells_apart(single[1], loop_indices[number[single[0]]]):
            slots[number[single[0]]].add((array, position, single[1], form.constant))
    return slots


def _tells_apart(factor: int, index: Value) -> bool:
    """Whether multiples of a loop's index, truncated to 32 bits, are different numbers. Multiples of a power of two
    repeat. A small multiple leaves its field first, which is reported."""
    low, high = interval(index)
    return abs(factor) < _SMALL or (high - low) * (factor & -factor) < 2**32
