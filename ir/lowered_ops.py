"""The ops that occur only in lowered CHI: the parameters of a launch, and addresses in bytes. `ops.py` exports them
too.
"""

from __future__ import annotations

from weft.ir.core import Op, Value, attr, operand, operands
from weft.ir.scopes import Scope
from weft.ir.types import Type, i64, pointer

__all__ = [
    "Address",
    "ArrayBase",
    "ArrayExtent",
    "ArrayStride",
    "Exit",
    "ScalarArg",
    "SharedBase",
    "StoreResult",
    "TreeBase",
    "Yield",
]

# ---- lowered CHI -----------------------------------------------------------------------------------------------------


class TreeBase(Op, name="tree_base", pure=True, place=True, lanes="operands", levels="lowered"):
    """Gives the base address of the kernel's SNode tree number `tree`. The launch passes it."""

    tree: int = attr()

    def result_type(self) -> Type:
        return pointer(i64)


class ArrayBase(Op, name="array_base", pure=True, place=True, lanes="operands", levels="lowered"):
    """Gives the address of the first element of the array argument `index`. The launch passes it."""

    index: int = attr()

    def result_type(self) -> Type:
        return pointer(i64)


class SharedBase(Op, name="shared_base", pure=True, place=True, levels="lowered"):
    """Gives the address of the task's array number `number` in the memory of the thread block. The array has `bytes`
    bytes. `offset` is its place in the memory that the launch allocates, or -1 if the kernel's code allocates the array
    statically."""

    number: int = attr()
    bytes: int = attr()
    offset: int = attr(default=-1)

    def result_type(self) -> Type:
        return pointer(i64)


class ArrayExtent(Op, name="array_extent", pure=True, lanes="operands", levels="lowered"):
    """Gives the extent (i64) of the array argument `index` along `axis`. It fits an i32 unless the array is `wide`."""

    index: int = attr()
    axis: int = attr()
    wide: bool = attr(default=False)

    def result_type(self) -> Type:
        return i64


class ArrayStride(Op, name="array_stride", pure=True, lanes="operands", levels="lowered"):
    """Gives the stride in bytes (i64) of the array argument `index` along `axis`."""

    index: int = attr()
    axis: int = attr()

    def result_type(self) -> Type:
        return i64


class ScalarArg(Op, name="scalar_arg", pure=True, lanes="operands"):
    """Gives the scalar number `part` of the flattened parameter `index`."""

    index: int = attr()
    part: int = attr()


class Address(Op, name="address", pure=True, place=True, steps_into=True, lanes="rule", levels="lowered"):
    """Computes the address `base + offset + sum(indices[k] * strides[k])`, in bytes. Indices and strides are i64. The
    sum does not overflow: an access outside the field is the user's error, which debug mode reports. `scope` names the
    memory that the address points to. `phased`: a GPU runs a version of the code around it that knows where in a word
    the row of memory begins that the address is in (see the pass `version_rows`)."""

    base: Value = operand()
    indices: list[Value] = operands()
    strides: list[Value] = operands()
    offset: int = attr()
    scope: Scope = attr()
    phased: bool = attr(default=False)


class StoreResult(Op, name="store_result", writes=True, effect="elsewhere", levels="tasks lowered"):
    """Stores `value` as the scalar number `part` of the flattened results of the kernel."""

    value: Value = operand()
    part: int = attr()


class Exit(Op, name="exit", terminator=True, exits=True, levels="tasks lowered"):
    """Ends the kernel. Its results are already stored."""


class Yield(Op, name="yield", terminator=True):
    """Ends the `bounds` of a task and gives the box: the begins of all axes, then the ends of all axes."""

    begins: list[Value] = operands()
    ends: list[Value] = operands()
