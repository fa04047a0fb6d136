"""The derivatives that a kernel loses: values that carry one leave memory that can carry one."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.companions import Companions, active_values, carries, pointee
from weft.ir.core import Builder, Op, Value, ops_of
from weft.ir.errors import Span
from weft.ir.symbols import COMPANIONS, Lost
from weft.ir.types import Array, Struct, element, i16, i32, i64, with_element

__all__ = ["ending_stores", "lost_derivatives", "without_derivative"]

_INTEGERS = {2: i16, 4: i32, 8: i64}  # by the size of a float


def lost_derivatives(
    kernel: ops.Kernel, carriers: Collection[Value], companions: Companions, returned: list[tuple[Value, Span | None]]
) -> tuple[Lost, ...]:
    """The stores of values that carry a derivative (`carriers`) to memory without a companion, the calls that may make
    such a store, and the results that carry one."""
    found = {Lost("return", span): None for value, span in returned if value in carriers}
    for op, root in _stores_of_constants(kernel, companions):
        if op.value not in carriers:
            continue
        if isinstance(root, ops.FieldPtr):
            found[Lost(root.field.name, op.span)] = None
        elif isinstance(root, ops.ArrayPtr) and isinstance(root.array, ops.Arg):
            found[Lost(kernel.params[root.array.index].name, op.span)] = None
    for call in kernel.all_of(ops.Invoke):
        if companions.touches(call) or any(value in carriers for value in call.values):
            found |= {Lost(name, call.span): None for name in _constants_in(kernel, companions, call)}
    return tuple(found)


def _constants_in(kernel: ops.Kernel, companions: Companions, call: ops.Invoke) -> Iterator[str]:
    """The fields and arrays of floats without a companion that a called function may write."""
    for symbol in kernel.fields:
        if symbol.name in call.written and carries(symbol.dtype) and companions.field(symbol) is None:
            yield symbol.name
    for index, param in enumerate(kernel.params):
        floats = isinstance(param.type, Array) and carries(param.type.elem)
        if floats and param.name in call.written and index not in companions.params:
            yield param.name


def ending_stores(kernel: ops.Kernel) -> set[ops.Store | ops.Atomic]:
    """The stores of a kernel with a mode that end derivatives, in each part of the mode. None without a mode."""
    found: list[set[ops.Store | ops.Atomic]] = []
    for mode in filter(COMPANIONS.get, kernel.mode.split(".")):
        companions = Companions(kernel, mode)
        stores = [op for op, _ in _stores_of_constants(kernel, companions)]
        active = active_values(kernel, companions) if stores else ()
        found.append({op for op in stores if op.value in active})
    return set.intersection(*found) if found else set()


def without_derivative(build: Builder, value: Value) -> Value:
    """The value, without its derivative. The bits of a number stand between it and its use: integers carry none."""
    if isinstance(value.type, Struct):
        members = [build.add(ops.Member(value, index)) for index in range(len(value.type.members))]
        return build.add(ops.MakeStruct([without_derivative(build, one) for one in members], type=value.type))
    prim = element(value.type)
    if not prim.is_float:
        return value
    bits = build.add(ops.BitCast(value, type=with_element(value.type, _INTEGERS[prim.size])))
    return build.add(ops.BitCast(bits, type=value.type))


def _stores_of_constants(kernel: ops.Kernel, companions: Companions) -> Iterator[tuple[ops.Store | ops.Atomic, Op]]:
    """The stores of floats to memory of the program without a companion, and its root."""
    for op in ops_of(kernel.body):
        if not isinstance(op, (ops.Store, ops.Atomic)):
            continue
        root = root_of(op.ptr)
        if isinstance(root, (ops.FieldPtr, ops.ArrayPtr)) and not companions.has(root) and carries(pointee(op.ptr)):
            yield op, root
