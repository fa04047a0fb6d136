"""The ops that only passes of `TO_MAPPED` and `TO_LANES` make. `ops.py` has them too."""

from __future__ import annotations

from weft.ir.core import Op, Value, attr, operand, operands
from weft.ir.types import Type, u1

__all__ = ["Aligned", "AtomicRow", "Clamp", "StackLeft"]

# ---- mapped CHI ------------------------------------------------------------------------------------------------------


class Aligned(Op, name="aligned", reads=True, writes=True, effect="elsewhere", levels="mapped"):
    """In the prologue of a task of which a thread takes several iterations together: it does so only where all of
    `values`, bases of arrays and strides in bytes, are multiples of 16. The rows that a filter reads begin at such
    multiples where all of `taps` are. It does nothing by itself."""

    values: list[Value] = operands()
    taps: list[Value] = operands()


class AtomicRow(Op, name="atomic_row", reads=True, writes=True, effect="address", levels="mapped"):
    """Adds each of `values`, numbers of type f32, to one of the neighbours in memory that begin at `ptr`, atomically,
    in any order. One instruction adds `unit` of them where the address is a multiple of that many numbers; they are
    one unit, at such an address, or an odd number of units that begin anywhere."""

    ptr: Value = operand()
    values: list[Value] = operands()
    unit: int = attr()


class StackLeft(Op, name="stack_left", reads=True, effect="elsewhere", levels="mapped"):
    """Whether the stack of the thread has room for another call of the function that holds the op."""

    def result_type(self) -> Type:
        return u1


class Clamp(Op, name="clamp", pure=True, levels="mapped"):
    """The smaller ("min") or larger ("max") of two integers, as `binary` says. Operand number `moved` is index `axis`
    of the task plus something in `low` .. `high`; the other one, the bound, is the same for all iterations. `fits`:
    the sum surely fits 32 bits. Threads whose indices are all on the right side of the bounds run a version of the
    body in which the clamp is its operand `moved`."""

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
        """The moved index."""
        return self.operands[self.moved]

    @property
    def bound(self) -> Value:
        """What it is compared with."""
        return self.operands[1 - self.moved]
