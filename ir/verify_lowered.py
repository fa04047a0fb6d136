"""The verifier's rules for ops of lowered CHI: one row per op. See `verify.py`."""

from __future__ import annotations

from typing import Any, cast

from weft.ir import ops
from weft.ir.ops import Kernel
from weft.ir.types import Array, Lanes, Pointer, flatten, i64, lane_count, lanes
from weft.ir.verify_types import checks, require

__all__: list[str] = []


@checks(ops.ArrayBase, ops.ArrayExtent, ops.ArrayStride)
def _array_fact(op: Any, kernel: Kernel) -> None:
    require(
        0 <= op.index < len(kernel.params), op, f"refers to parameter {op.index}; the kernel has {len(kernel.params)}"
    )
    type = kernel.params[op.index].type
    require(isinstance(type, Array), op, f"refers to parameter {op.index}, which is not an array")
    require(0 <= getattr(op, "axis", 0) < max(1, cast(Array, type).ndim), op, "refers to an axis that does not exist")


@checks(ops.ScalarArg)
def _scalar_arg(op: ops.ScalarArg, kernel: Kernel) -> None:
    require(
        0 <= op.index < len(kernel.params), op, f"refers to parameter {op.index}; the kernel has {len(kernel.params)}"
    )
    scalars = flatten(kernel.params[op.index].type)
    require(
        0 <= op.part < len(scalars) and op.type is scalars[op.part],
        op,
        f"refers to part {op.part} of {[*map(str, scalars)]}",
    )


@checks(ops.Address)
def _address(op: ops.Address, _: Kernel) -> None:
    require(
        len(op.indices) == len(op.strides),
        op,
        f"has {len(op.strides)} strides; expected one for each of {len(op.indices)} indices",
    )
    count, terms = lane_count(op.type), [*op.indices, *op.strides]
    for value in (op, op.base):
        address = value.type.elem if isinstance(value.type, Lanes) else value.type
        require(isinstance(address, Pointer), op, f"has a base or a result of type {value.type}; expected an address")
    require(
        all(value.type in (i64, lanes(i64, count or 1)) for value in terms),
        op,
        "has indices or strides that are not i64",
    )
    counts = {lane_count(value.type) for value in (op.base, *terms)} - {0}
    require(counts == ({count} if count else set()), op, "has operands of another number of lanes than its result")


@checks(ops.StoreResult)
def _store_result(op: ops.StoreResult, kernel: Kernel) -> None:
    scalars = [scalar for result in kernel.results for scalar in flatten(result)]
    require(
        0 <= op.part < len(scalars) and op.value.type is scalars[op.part],
        op,
        f"stores part {op.part} of {[*map(str, scalars)]}",
    )
