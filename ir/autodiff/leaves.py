"""Serial loops in reverse mode whose iterations have no slot each: leaves of iterations, and checkpoints of leaves.

The iterations of a loop are divided into *leaves* of `rows` iterations. The *rows* are slots for the iterations of one
leaf: the states, and the values that `keeping.py` chose. A *checkpoint* is the state at the begin of a leaf.

    forward      iterations write the rows, over those of the leaf before, and a checkpoint at the begin of each leaf
    backward     for each leaf, the last one first:
                     sweep the iterations in the rows, the last one first
                     from the checkpoint of an earlier leaf on, run iterations again up to the end of the leaf before;
                     they write rows and checkpoints as the forward sweep does

The number of a leaf says where its checkpoint is. If it ends in base 16 with v zeros, and the digit d is before them,
it is number d of the 16 slots of level v. The next leaf with the same slot is in another block of 16^(v+1) leaves.
When the sweep comes to leaf n, which ends with v zeros, the leaves from n - 16^v to n - 1 run again. They begin with
a checkpoint that is still there: both numbers are in the same block of 16^(v+1) leaves, and since the first leaf of
this block ran the last time, no leaf of a later block has run.

So no number of iterations is declared, none is the limit, and no memory is allocated, on any arch. The last leaf does
not run again. The others run once more, to write their rows, and at most once more for each level.

Where a checkpoint lies follows from numbers of leaves alone, and iterations that run again begin with the state that
they began with. They compute the same values, because they do not load memory that the kernel has overwritten
(`clobbers.py`). SIMD lanes begin the backward sweep at their last leaves, and are in the same leaf from there on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from weft.ir import ops
from weft.ir.autodiff.adjoints import Frame
from weft.ir.autodiff.keeping import Kept
from weft.ir.autodiff.slots import Slots, Step, binary, const, downwards, local_of, loop_of
from weft.ir.core import Block, BlockArg, Value
from weft.ir.types import Type, i32

__all__ = ["Leaves", "rows_of"]

_DIGIT = 4  # the bits of a digit: a power of 2
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
    leaf: Value
    row: Value
    index: Type

    @staticmethod
    def make(frame: Frame, kept: Kept, state: list[Value], index: Type, shared: bool) -> Leaves:
        """Before the loop: make the first checkpoint. `state`: what iterations need to run again. `shared`: large
        arrays are locals of the kernel."""
        size = rows_of(kept, shared)
        rows = Slots(frame, kept, size, shared=shared)
        checkpoints = Slots(frame, Kept(state), 32 // _DIGIT << _DIGIT, shared=shared)
        leaf, row = (local_of(frame, name, 0) for name in ("leaf", "row"))
        checkpoints.save(frame, const(frame, 0))
        return Leaves(rows, size, checkpoints, leaf, row, index)

    def begin(self, frame: Frame) -> Value:
        """At the begin of an iteration of the forward sweep: begin a leaf after the last row. Gives the row."""
        add = frame.build.add
        full = add(ops.If(binary(frame, "eq", add(ops.Load(self.row)), self.size)))
        following = frame.inner(full.then, frame.build.span)
        following.build.add(ops.Store(self.row, const(following, 0)))
        leaf = binary(following, "add", following.build.add(ops.Load(self.leaf)), 1)
        following.build.add(ops.Store(self.leaf, leaf))
        self.checkpoints.save(following, _slot(following, leaf))
        return add(ops.Load(self.row))

    def end(self, frame: Frame, row: Value) -> None:
        """At the end of the iteration in that row."""
        frame.build.add(ops.Store(self.row, binary(frame, "add", row, 1)))

    def reverse(self, frame: Frame, unswept: Value, fill: Fill, sweep: Step) -> None:
        """After the loop: reverse its iterations, without that number of the last ones, 0 or 1. `fill` emits an
        iteration that writes its row, and `sweep` an iteration and its reverse."""
        last = frame.build.add(ops.Load(self.leaf))
        rows = binary(frame, "sub", frame.build.add(ops.Load(self.row)), unswept)
        # (No more, so that the loop over them is known to be short, and need not test whether the launch must end.)
        rows = binary(frame, "max", binary(frame, "min", rows, self.size), 0)

        def one(inner: Frame, leaf: Value) -> None:
            add = inner.build.add
            whole = const(inner, self.size)
            count = add(ops.Select(binary(inner, "eq", leaf, last), rows, whole))
            downwards(inner, count, lambda each, row: self._sweep(each, self.number(each, leaf, row), row, sweep))
            first = add(ops.If(binary(inner, "eq", leaf, 0), seldom=True))
            self._again(inner.inner(first.orelse, frame.build.span), leaf, fill)

        downwards(frame, binary(frame, "add", last, 1), one)

    def _sweep(self, frame: Frame, number: Value, row: Value, sweep: Step) -> None:
        self.rows.restore(frame, row)
        sweep(frame, number)

    def _again(self, frame: Frame, end: Value, fill: Fill) -> None:
        """Run leaves before that one again, the last of which leaves its rows."""
        begin = binary(frame, "sub", end, binary(frame, "shl", const(frame, 1), _shift(frame, end)))
        self.checkpoints.restore(frame, _slot(frame, begin))
        index = BlockArg(i32)
        loop = frame.build.add(ops.For(begin, end, const(frame, 1), body=Block([index])))
        inner = frame.inner(loop.body, frame.build.span)
        later = inner.build.add(ops.If(binary(inner, "ne", index, begin)))
        saving = inner.inner(later.then, frame.build.span)
        self.checkpoints.save(saving, _slot(saving, index))
        loop_of(inner, const(inner, self.size), lambda one, row: fill(one, self.number(one, index, row), row))

    def number(self, frame: Frame, leaf: Value, row: Value) -> Value:
        """The number of an iteration."""

        wide, narrow = (
            value if value.type is self.index else frame.build.add(ops.Cast(value, type=self.index))
            for value in (leaf, row)
        )
        return binary(frame, "add", binary(frame, "mul", wide, self.size), narrow)


def _shift(frame: Frame, leaf: Value) -> Value:
    """The bits of the digits at the end of a number that are 0. 0 if all are."""
    add = frame.build.add
    lowest = binary(frame, "and", leaf, add(ops.Unary("neg", leaf)))
    zeros = add(ops.Unary("popcnt", binary(frame, "sub", lowest, 1)))
    return binary(frame, "and", zeros, 32 - _DIGIT)


def _slot(frame: Frame, leaf: Value) -> Value:
    """The slot of the checkpoint of a leaf."""
    shift = _shift(frame, leaf)
    digit = binary(frame, "and", binary(frame, "shr", leaf, shift), (1 << _DIGIT) - 1)
    return binary(frame, "add", binary(frame, "mul", shift, (1 << _DIGIT) // _DIGIT), digit)
