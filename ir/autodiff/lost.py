"""The derivatives that a kernel loses: values that carry one leave memory that can carry one."""

from __future__ import annotations

from collections.abc import Collection

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.companions import Companions, carries, pointee
from weft.ir.core import Value, ops_of
from weft.ir.errors import Span
from weft.ir.symbols import Lost

__all__ = ["lost_derivatives"]


def lost_derivatives(
    kernel: ops.Kernel, carriers: Collection[Value], companions: Companions, returned: list[tuple[Value, Span | None]]
) -> tuple[Lost, ...]:
    """The stores of values that carry a derivative (`carriers`) to memory without a companion, and the results that
    carry one."""
    found = {Lost("return", span): None for value, span in returned if value in carriers}
    for op in ops_of(kernel.body):
        if not isinstance(op, (ops.Store, ops.Atomic)) or op.value not in carriers:
            continue
        root = root_of(op.ptr)
        if companions.has(root) or not carries(pointee(op.ptr)):
            continue
        if isinstance(root, ops.FieldPtr):
            found[Lost(root.field.name, op.span)] = None
        elif isinstance(root, ops.ArrayPtr) and isinstance(root.array, ops.Arg):
            found[Lost(kernel.params[root.array.index].name, op.span)] = None
    return tuple(found)
