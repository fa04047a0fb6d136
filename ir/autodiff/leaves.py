"""Serial loops in reverse mode whose iterations have no slot each: leaves of iterations, and checkpoints of leaves.

The iterations of a loop are divided into *leaves* of `rows` iterations. The *rows* are slots for the iterations of one
leaf: the states, and the values that `keeping.py` chose. A *checkpoint* is the state at the begin of a leaf.

    forward      iterations write the rows, over those of the leaf before, and checkpoints at the begin of leaves; if
                 there are HALF checkpoints, every second one is dropped, and the distance between later ones doubles
    backward     sweep the iterations in the rows, the last one first
                 from the last checkpoint on, run iterations again up to the leaf before that one, and write its rows

On its way to a leaf, the second part of the backward sweep makes more checkpoints: at each leaf, if there are slots for
that, and otherwise in the middle of what is ahead. The forward sweep leaves half of the slots for them. So no number of
iterations is declared, none is the limit, and no memory is allocated, on any arch. The last leaf does not run again.
The others run once more if there are up to HALF * HALF of them. Each doubling of their number makes them run one more
time.

Where a checkpoint lies follows from numbers of leaves alone, and iterations that run again begin with the state that
they began with. They compute the same values, because they do not load memory that the kernel has overwritten
(`clobbers.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from weft.ir import ops
from weft.ir.autodiff.adjoints import Frame
from weft.ir.autodiff.keeping import Kept
from weft.ir.autodiff.slots import Slots, Step, binary, const, downwards, local_of, loop_of
from weft.ir.core import Value
from weft.ir.types import Type, i32, pointer, tensor

__all__ = ["HALF", "Leaves", "rows_of"]

HALF = 32  # the most checkpoints of the forward sweep, a power of 2; the backward sweep has as many more
# The fewest and the most iterations of a leaf, and the most numbers in its rows: in the locals of an iteration of a
# parallel loop, and in locals of the kernel.
_FEW, _MANY = (16, 256, 1 << 10), (64, 1024, 1 << 11)

Fill = Callable[[Frame, Value, Value], None]  # emits iteration number `Value` of a loop, in a row


def rows_of(kept: Kept, shared: bool) -> int:
    """How many iterations a leaf has, a power of 2. `shared`: no parallel loop is around it."""
    least, rows, numbers = _MANY if shared else _FEW
    while rows > least and rows * kept.scalars > numbers:
        rows //= 2
    return rows


@dataclass
class Leaves:
    """The rows and checkpoints of a loop, and locals that say where it is: the number of the leaf, and that of the row
    of the next iteration in it. `index`: the type of the numbers of iterations."""

    rows: Slots
    size: int
    checkpoints: Slots
    numbers: Value  # the leaf of each checkpoint
    leaf: Value
    row: Value
    shift: Value  # the logarithm of the distance between checkpoints
    index: Type

    @staticmethod
    def make(frame: Frame, kept: Kept, state: list[Value], index: Type, shared: bool) -> Leaves:
        """Before the loop: make the first checkpoint. `state`: what iterations need to run again. `shared`: large
        arrays are locals of the kernel."""
        size = rows_of(kept, shared)
        rows = Slots(frame, kept, size, shared=shared)
        numbers = frame.build.add(ops.Alloca(type=pointer(tensor(i32, (2 * HALF,))), name="leaves"))
        leaf, row, shift = (local_of(frame, name, 0) for name in ("leaf", "row", "shift"))
        made = Leaves(rows, size, Slots(frame, Kept(state), 2 * HALF), numbers, leaf, row, shift, index)
        made.checkpoint(frame, const(frame, 0), const(frame, 0))
        return made

    # ---- the forward sweep -------------------------------------------------------------------------------------------

    def begin(self, frame: Frame) -> Value:
        """At the begin of an iteration: begin a leaf after the last row, and make a checkpoint if it is its turn. Gives
        the row."""
        add = frame.build.add
        full = add(ops.If(binary(frame, "eq", add(ops.Load(self.row)), self.size)))
        following = frame.inner(full.then, frame.build.span)
        following.build.add(ops.Store(self.row, const(following, 0)))
        leaf = binary(following, "add", following.build.add(ops.Load(self.leaf)), 1)
        following.build.add(ops.Store(self.leaf, leaf))
        self._checkpoint_if_due(following)
        return add(ops.Load(self.row))

    def end(self, frame: Frame, row: Value) -> None:
        """At the end of the iteration in that row."""
        frame.build.add(ops.Store(self.row, binary(frame, "add", row, 1)))

    def _checkpoint_if_due(self, frame: Frame) -> None:
        add = frame.build.add
        leaf, shift = add(ops.Load(self.leaf)), add(ops.Load(self.shift))
        mask = binary(frame, "sub", binary(frame, "shl", const(frame, 1), shift), 1)
        due = add(ops.If(binary(frame, "eq", binary(frame, "and", leaf, mask), 0)))
        inner = frame.inner(due.then, frame.build.span)
        full = inner.build.add(ops.If(binary(inner, "eq", binary(inner, "shr", leaf, shift), HALF)))
        dropping = inner.inner(full.then, frame.build.span)
        loop_of(dropping, const(dropping, HALF // 2), self._drop)
        dropping.build.add(ops.Store(self.shift, binary(dropping, "add", shift, 1)))
        now = inner.build.add(ops.Load(self.shift))
        self.checkpoint(inner, binary(inner, "shr", leaf, now), leaf)

    def _drop(self, frame: Frame, number: Value) -> None:
        twice = binary(frame, "mul", number, 2)
        self.checkpoints.copy(frame, twice, number)
        self._note(frame, number, self.leaf_of(frame, twice))

    def checkpoint(self, frame: Frame, slot: Value, leaf: Value) -> None:
        """Make a checkpoint of the state at the begin of a leaf."""
        self.checkpoints.save(frame, slot)
        self._note(frame, slot, leaf)

    def leaf_of(self, frame: Frame, slot: Value) -> Value:
        """The leaf that begins with a checkpoint."""
        return frame.build.add(ops.Load(self._number_at(frame, slot)))

    def _note(self, frame: Frame, slot: Value, leaf: Value) -> None:
        frame.build.add(ops.Store(self._number_at(frame, slot), leaf))

    def _number_at(self, frame: Frame, slot: Value) -> Value:
        inside = binary(frame, "and", slot, 2 * HALF - 1)  # so that no test is needed
        return frame.build.add(ops.ElementPtr(self.numbers, [inside]))

    # ---- the backward sweep ------------------------------------------------------------------------------------------

    def reverse(self, frame: Frame, run: Step, fill: Fill, sweep: Step) -> None:
        """After the loop: reverse its iterations. `run` emits an iteration, `fill` one that writes its row, and `sweep`
        an iteration and its reverse."""
        _Reversal(self, run, fill, sweep).emit(frame)

    def number(self, frame: Frame, leaf: Value, row: Value) -> Value:
        """The number of an iteration."""

        wide, narrow = (
            value if value.type is self.index else frame.build.add(ops.Cast(value, type=self.index))
            for value in (leaf, row)
        )
        return binary(frame, "add", binary(frame, "mul", wide, self.size), narrow)


class _Reversal:
    """The backward sweep. It has locals of its own, because lanes have in common what one loop stores. `leaf`: the leaf
    in the rows. `row`: how many iterations these are. `top`: how many checkpoints there are. `at`: the leaf that begins
    with the present state. `next`: where the next checkpoint comes."""

    def __init__(self, leaves: Leaves, run: Step, fill: Fill, sweep: Step) -> None:
        self.leaves, self.run, self.fill, self.sweep = leaves, run, fill, sweep

    def emit(self, frame: Frame) -> None:
        leaves, add = self.leaves, frame.build.add
        leaf, row, shift = (add(ops.Load(place)) for place in (leaves.leaf, leaves.row, leaves.shift))
        self.leaf, self.row = local_of(frame, "leaf", leaf), local_of(frame, "row", row)
        self.top = local_of(frame, "top", binary(frame, "add", binary(frame, "shr", leaf, shift), 1))
        self.at, self.next = (local_of(frame, name, 0) for name in ("at", "next"))
        inner = frame.inner(add(ops.While()).body, frame.build.span)
        leaf = inner.build.add(ops.Load(self.leaf))

        def one(row_frame: Frame, row: Value) -> None:
            leaves.rows.restore(row_frame, row)
            self.sweep(row_frame, leaves.number(row_frame, leaf, row))

        downwards(inner, inner.build.add(ops.Load(self.row)), one)
        first = inner.build.add(ops.If(binary(inner, "eq", leaf, 0)))
        first.then.append(ops.Break(span=frame.build.span))
        self._back(inner, leaf)

    def _back(self, frame: Frame, leaf: Value) -> None:
        """Write the rows of the leaf before that one."""
        leaves, before = self.leaves, binary(frame, "sub", leaf, 1)
        frame.build.add(ops.Store(self.leaf, before))
        frame.build.add(ops.Store(self.row, const(frame, leaves.size)))
        self._drop(frame, leaf)
        newest = binary(frame, "sub", frame.build.add(ops.Load(self.top)), 1)
        leaves.checkpoints.restore(frame, newest)
        self._plan(frame, leaves.leaf_of(frame, newest), before)
        self._advance(frame, before)

        def one(inner: Frame, row: Value) -> None:
            self.fill(inner, leaves.number(inner, before, row), row)

        loop_of(frame, const(frame, leaves.size), one)

    def _drop(self, frame: Frame, leaf: Value) -> None:
        """Drop the checkpoint at that leaf, if there is one: no later leaf is left."""
        newest = binary(frame, "sub", frame.build.add(ops.Load(self.top)), 1)
        there = frame.build.add(ops.If(binary(frame, "eq", self.leaves.leaf_of(frame, newest), leaf)))
        frame.inner(there.then, frame.build.span).build.add(ops.Store(self.top, newest))

    def _plan(self, frame: Frame, at: Value, end: Value) -> None:
        """With the state at the begin of leaf `at`: choose where the next checkpoint comes on the way to `end`."""
        add = frame.build.add
        add(ops.Store(self.at, at))
        ahead = binary(frame, "sub", end, at)
        free = binary(frame, "sub", const(frame, 2 * HALF), add(ops.Load(self.top)))
        half = binary(frame, "shr", binary(frame, "add", ahead, 1), 1)
        distance = add(ops.Select(binary(frame, "le", ahead, free), const(frame, 1), half))
        add(ops.Store(self.next, binary(frame, "add", at, distance)))

    def _advance(self, frame: Frame, end: Value) -> None:
        """Run whole leaves again, up to the begin of leaf `end`."""
        leaves = self.leaves
        inner = frame.inner(frame.build.add(ops.While()).body, frame.build.span)
        add = inner.build.add
        at = add(ops.Load(self.at))
        more = add(ops.If(binary(inner, "lt", at, end)))
        more.orelse.append(ops.Break(span=frame.build.span))
        loop_of(inner, const(inner, leaves.size), lambda one, row: self.run(one, leaves.number(one, at, row)))
        following = binary(inner, "add", at, 1)
        add(ops.Store(self.at, following))
        top = add(ops.Load(self.top))
        due = binary(inner, "and", binary(inner, "lt", following, end), binary(inner, "lt", top, 2 * HALF))
        due = binary(inner, "and", due, binary(inner, "eq", following, add(ops.Load(self.next))))
        saving = inner.inner(add(ops.If(due)).then, frame.build.span)
        leaves.checkpoint(saving, top, following)
        saving.build.add(ops.Store(self.top, binary(saving, "add", top, 1)))
        self._plan(saving, following, end)
