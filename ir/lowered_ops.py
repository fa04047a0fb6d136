"""The ops of lowered CHI alone: what comes with a launch, and addresses in bytes. `ops.py` has them too."""

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
]

# ---- lowered CHI -----------------------------------------------------------------------------------------------------


class TreeBase(Op, name="tree_base", pure=True, place=True, lanes="operands", levels="lowered"):
    """The base address of the kernel's SNode tree number `tree`; comes with the launch."""

    tree: int = attr()

    def result_type(self) -> Type:
        return pointer(i64)


class ArrayBase(Op, name="array_base", pure=True, place=True, lanes="operands", levels="lowered"):
    """The address of the first element of the array argument `index`; comes with the launch."""

    index: int = attr()

    def result_type(self) -> Type:
        return pointer(i64)


class SharedBase(Op, name="shared_base", pure=True, place=True, levels="lowered"):
    """The address of the task's array number `number` in the memory of the thread block, of so many `bytes`. `offset`:
    where it lies in the memory that comes with the launch; -1: the code brings it."""

    number: int = attr()
    bytes: int = attr()
    offset: int = attr(default=-1)

    def result_type(self) -> Type:
        return pointer(i64)


class ArrayExtent(Op, name="array_extent", pure=True, lanes="operands", levels="lowered"):
    """The extent (i64) of array argument `index` along `axis`; an i32 holds it unless the array is `wide`."""

    index: int = attr()
    axis: int = attr()
    wide: bool = attr(default=False)

    def result_type(self) -> Type:
        return i64


class ArrayStride(Op, name="array_stride", pure=True, lanes="operands", levels="lowered"):
    """The byte stride (i64) of array argument `index` along `axis`."""

    index: int = attr()
    axis: int = attr()

    def result_type(self) -> Type:
        return i64


class ScalarArg(Op, name="scalar_arg", pure=True, lanes="operands"):
    """Scalar number `part` of the flattened parameter `index`."""

    index: int = attr()
    part: int = attr()


class Address(Op, name="address", pure=True, place=True, steps_into=True, lanes="rule", levels="lowered"):
    """`base + offset + sum(indices[k] * strides[k])` bytes: pointer arithmetic spelled out, its structure kept.
    Indices and strides are i64. The sum does not overflow (an access outside the field is the user's error, which
    debug mode reports). `scope` says which memory the address is in."""

    base: Value = operand()
    indices: list[Value] = operands()
    strides: list[Value] = operands()
    offset: int = attr()
    scope: Scope = attr()


class StoreResult(Op, name="store_result", writes=True, effect="elsewhere", levels="tasks lowered"):
    """Scalar number `part` of the flattened kernel results."""

    value: Value = operand()
    part: int = attr()


class Exit(Op, name="exit", terminator=True, exits=True, levels="tasks lowered"):
    """Ends the kernel (results are stored)."""
