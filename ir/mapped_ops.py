"""The ops that only the passes of `TO_MAPPED` and `TO_LANES` create. `ops.py` exports them too."""

from __future__ import annotations

from weft.ir.core import Op, Value, attr, operand, operands
from weft.ir.types import Type, u1

__all__ = ["Aligned", "AtomicRow", "Clamp", "StackLeft"]

# ---- mapped CHI ------------------------------------------------------------------------------------------------------


class Aligned(Op, name="aligned", reads=True, writes=True, effect="elsewhere", levels="mapped"):
    """States a condition in the prologue of a coarsened task. A thread takes several iterations at once only if all of
    `values`, which are array bases and strides in bytes, are multiples of 16. If all of `taps` are multiples of 16 too,
    the rows that a filter reads begin at such multiples. The op has no effect of its own."""

    values: list[Value] = operands()
    taps: list[Value] = operands()


class AtomicRow(Op, name="atomic_row", reads=True, writes=True, effect="address", levels="mapped"):
    """Adds each of `values`, which are f32, atomically to one of the consecutive numbers in memory that begin at `ptr`.
    The order of the additions is not specified. One instruction adds `unit` numbers if the address is a multiple of the
    size of that many. The row is either one unit at such an address, or an odd number of units at any address."""

    ptr: Value = operand()
    values: list[Value] = operands()
    unit: int = attr()


class StackLeft(Op, name="stack_left", reads=True, effect="elsewhere", levels="mapped"):
    """Gives whether the stack of the thread has room for another call of the function that holds this op."""

    def result_type(self) -> Type:
        return u1


class Clamp(Op, name="clamp", pure=True, levels="mapped"):
    """Gives the smaller (`kind` "min") or the larger ("max") of two integers, as `binary` does. The operand number
    `moved` is the index of the task along `axis` plus a value in `low` .. `high`. The other operand, the bound, is the
    same for all iterations. `fits`: the sum is known to fit 32 bits. If the indices of a thread are all on the right
    side of the bounds, the thread runs a version of the body in which the clamp is replaced by its operand `moved`."""

    kind: str = attr()
    lhs: Value = operand()
    rhs: Value = operand()
    axis: int = attr()
    low: int = attr()
    high: int = attr()
    moved: int = attr(default=0)
    fits: bool = attr(default=False)

    def result_type(self) -> Type:
        return self.lhs.type

    @property
    def index(self) -> Value:
        """The operand that is clamped."""
        return self.operands[self.moved]

    @property
    def bound(self) -> Value:
        """The operand that it is compared with."""
        return self.operands[1 - self.moved]
