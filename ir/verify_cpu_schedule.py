"""The verifier's rules for the CPU part of a schedule: lanes, private copies, and hints for LLVM. See `schedule.py`.

Each row uses the analysis that says what is legal, not the one that says what is profitable.
"""

from __future__ import annotations

from dataclasses import replace

from weft.ir.core import Op
from weft.ir.mapping.cell_parts import CellParts
from weft.ir.mapping.fold_choice import could_fold, sums_fold
from weft.ir.mapping.joined_trees import joined_in
from weft.ir.mapping.layouts import layouts_of
from weft.ir.mapping.moves import Moved, is_legal_move
from weft.ir.mapping.privatizable import updated_by, whole_field
from weft.ir.mapping.sides import SIDES, is_passive
from weft.ir.mapping.stretches import WHOLE
from weft.ir.mapping.unordered import is_unordered
from weft.ir.ops import Atomic, Const, For, If, Kernel, Load, Store, Task
from weft.ir.schedule import STATIC_BYTES, VECTORIZE, LoopSchedule, Schedule
from weft.ir.symbols import scopes_of
from weft.ir.tasks import box_of
from weft.ir.uniform import Uniformity
from weft.ir.verify_types import require

__all__ = [
    "loop_lanes",
    "loop_stretches",
    "task_copies",
    "task_hints",
    "task_lanes",
    "task_moves",
    "task_scopes",
    "task_stretches",
    "task_versions",
]

_MOST_LANES, _MOST_VECTORS = 64, 32


def _shape(op: Op, lanes: int, vectors: int) -> None:
    fits = 0 < lanes <= _MOST_LANES and 0 < vectors <= _MOST_VECTORS
    require(
        fits and lanes & (lanes - 1) == 0,
        op,
        f"has {vectors} vectors of {lanes} lanes; expected up to {_MOST_VECTORS} vectors of a power of two of lanes",
    )
    require(lanes > 1 or vectors == 1, op, f"has {vectors} vectors, but no lanes")


def task_lanes(op: Task, schedule: Schedule, _: Kernel) -> None:
    """Iterations may run in lanes unless `Uniformity` has a reason."""
    _shape(op, schedule.lanes, schedule.vectors)
    if schedule.lanes > 1:
        require(not schedule.serial_because, op, "runs in lanes, but `serial_because` says why it does not")
        reason = Uniformity(op).reason
        require(not reason, op, f"cannot run in lanes: {reason}")


def task_scopes(op: Task, schedule: Schedule, kernel: Kernel) -> None:
    """More trees may be joined than need to be: LLVM then knows less. Without any, the pass may not have run yet."""
    if schedule.joined:
        needed = joined_in(op, kernel).difference(schedule.joined)
        require(not needed, op, f"does not join the alias scopes of the trees {sorted(needed)}")


def task_stretches(op: Task, schedule: Schedule, _: Kernel) -> None:
    """Stretches are whole vectors. They are alike only if they divide the rows."""
    whole = schedule.stretch <= 0 or schedule.stretch % WHOLE == 0
    require(whole, op, f"has stretches of {schedule.stretch} iterations; expected a multiple of {WHOLE}")
    if not schedule.even:
        return
    begin, end = box_of(op).begins[-1], box_of(op).ends[-1]
    fixed = isinstance(begin, Const) and isinstance(end, Const) and schedule.stretch > 0
    length = int(end.value) - int(begin.value) if isinstance(begin, Const) and isinstance(end, Const) else 0
    alike = fixed and length > 0 and length % schedule.stretch == 0
    require(
        alike and (schedule.alone or len(op.body.args) > 1), op, "is even, but its stretches may have different lengths"
    )


def loop_stretches(op: For, schedule: LoopSchedule) -> None:
    """A loop is emitted twice only where that saves the tests of a long one."""
    require(
        not schedule.short or schedule.stretch != 0,
        op,
        "is short, but has no stretches, whose tests a short loop omits",
    )


def loop_lanes(op: For, schedule: LoopSchedule) -> None:
    """The iterations of a loop may run in lanes if they only compute reductions, and the enclosing iterations do not
    run in lanes."""
    _shape(op, schedule.lanes, schedule.vectors)
    if schedule.lanes == 1:
        return
    around: Op | None = op
    while around is not None and not isinstance(around, Task):
        around = around.parent
    require(around is not None, op, "runs its iterations in lanes, but is not in a task")
    assert isinstance(around, Task)
    require(around.schedule.lanes == 1, op, "runs its iterations in lanes, but so does the task around it")
    facts = Uniformity(op)
    sums = could_fold(op) and not facts.reason and bool(facts.sums) and sums_fold(facts, True)
    require(sums, op, "runs its iterations in lanes, but does more than compute reductions")


def task_moves(op: Task, schedule: Schedule, kernel: Kernel) -> None:
    """The move of an access in lanes must be correct for the addresses of the lanes. Other accesses have no move."""
    roots: list[Task | For] = [op] if schedule.lanes > 1 else [one for one in op.all_of(For) if one.schedule.lanes > 1]
    accesses: list[Moved] = [*op.all_of(Load), *op.all_of(Store), *op.all_of(Atomic)]
    moved = {one for one in accesses if one.move}
    branches = {one for one in op.all_of(If) if one.unasked}
    for root in roots:
        facts, parts = Uniformity(root), CellParts(layouts_of(kernel))
        inside = [one for one in moved if one.within(root) and one not in facts.skipped]
        for one in inside:
            require(
                is_legal_move(facts, parts, one),
                one,
                f"has the move {one.move!r}, which is wrong for the addresses of its lanes",
            )
        moved -= {*inside}
        for branch in [one for one in branches if one.within(root)]:
            _unasked(branch, facts)
            branches.remove(branch)
    for one in moved:
        require(False, one, f"has the move {one.move!r}, but does not run in lanes")
    for branch in branches:
        require(False, branch, "has unasked sides, but does not run in lanes")


def _unasked(branch: If, facts: Uniformity) -> None:
    """A branch that runs without a test has no effect if no lane is active."""
    require({*branch.unasked} <= {*SIDES}, branch, f"has the unasked sides {branch.unasked}; expected some of {SIDES}")
    require(
        facts.varies(branch.condition) and not (branch.versioned or branch.general),
        branch,
        "has unasked sides, but all lanes take the same side",
    )
    for name in branch.unasked:
        require(
            is_passive(facts, getattr(branch, name)),
            branch,
            f"has the unasked side '{name}', which has effects without active lanes",
        )


def task_copies(op: Task, schedule: Schedule, kernel: Kernel) -> None:
    """A field may be privatized if the task only updates it, by one operator."""
    if not schedule.privatized:
        return
    symbols, updated = {scope: symbol for symbol, scope in scopes_of(kernel.fields).items()}, updated_by(op)
    for copy in schedule.privatized:
        symbol = symbols.get(copy.scope)
        require(
            symbol is not None and not symbol.exposed,
            op,
            f"privatizes {copy.scope}, which is not a field of this kernel, or overlaps others",
        )
        require(
            updated.get(copy.scope) == copy.kind,
            op,
            f"privatizes {copy.scope}, but does not only update it by '{copy.kind}'",
        )
        whole = symbol is not None and whole_field(copy.scope, symbol, copy.kind) == replace(copy, copies=1)
        require(whole, op, f"privatizes {copy.scope} with another layout than that of the field")
        several = copy.copies > 0 and copy.copies & (copy.copies - 1) == 0
        require(several, op, f"makes {copy.copies} copies of {copy.scope}; expected a power of two")
    size = sum(copy.words * copy.type.size * copy.copies for copy in schedule.privatized)
    most = STATIC_BYTES
    require(not schedule.block or size <= most, op, f"has {size} bytes of copies in each block; the limit is {most}")


def task_versions(op: Task, schedule: Schedule, _: Kernel) -> None:
    """Atomics may omit locks if only one thread runs."""
    require(schedule.price >= 0.0, op, f"has the price {schedule.price}; expected 0 or more")
    versions = schedule.alone + schedule.plain + bool(schedule.privatized)
    require(versions <= 1, op, "has more than one of `alone`, `plain` and `privatized`; expected at most one")


def task_hints(op: Task, schedule: Schedule, _: Kernel) -> None:
    """LLVM may reorder accesses if `is_unordered` says so."""
    require(schedule.vectorize in VECTORIZE, op, f"has vectorize={schedule.vectorize!r}; expected one of {VECTORIZE}")
    if schedule.unordered:
        require(
            schedule.lanes == 1 and schedule.vectorize != "never", op, "is unordered, but LLVM does not vectorize it"
        )
        require(is_unordered(op), op, "is unordered, but the order of its accesses matters")
