"""The ops that only passes of `TO_MAPPED` and `TO_LANES` make. `ops.py` has them too."""

from __future__ import annotations

from weft.ir.core import Op, Value, attr, operand, operands
from weft.ir.types import Type

__all__ = ["Aligned", "Clamp"]

# ---- mapped CHI ------------------------------------------------------------------------------------------------------


class Aligned(Op, name="aligned", reads=True, writes=True, effect="elsewhere"):
    """In the prologue of a task of which a thread takes several iterations together: it does so only where all of
    `values`, bases of arrays and strides in bytes, are multiples of 16. The rows that a filter reads begin at such
    multiples where all of `taps` are. It does nothing by itself."""

    values: list[Value] = operands()
    taps: list[Value] = operands()


class Clamp(Op, name="clamp", pure=True):
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
