"""Operations on single cells and elements, by compiled functions: for kernels that run as Python (`arch=python`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.lang.data.snode_api import SNode
from weft.lang.kernels.own import compiled_kernel
from weft.lang.library.addresses import cell_slot
from weft.lang.values.builtins import activate, cast, deactivate, is_active, length, static
from weft.lang.values.kinds import Constant, Longs, i32
from weft.runtime.errors import KernelFault

__all__ = ["on_cell", "without_place"]


@compiled_kernel
def _activate(node: Constant, at: Longs, axes: Constant) -> None:
    activate(node, [at[axis] for axis in static(range(axes))])


@compiled_kernel
def _deactivate(node: Constant, at: Longs, axes: Constant) -> None:
    deactivate(node, [at[axis] for axis in static(range(axes))])


@compiled_kernel
def _is_active(node: Constant, at: Longs, axes: Constant) -> i32:
    found: i32 = is_active(node, [at[axis] for axis in static(range(axes))])
    return found


@compiled_kernel
def _length(node: Constant, at: Longs, axes: Constant) -> i32:
    found: i32 = length(node, [at[axis] for axis in static(range(axes))])
    return found


@compiled_kernel
def _cell_slot(node: Constant, at: Longs, axes: Constant) -> i32:
    found: i32 = cast(cell_slot(node, [at[axis] for axis in static(range(axes))]), i32)
    return found


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "activate": _activate,
    "cell_slot": _cell_slot,
    "deactivate": _deactivate,
    "is_active": _is_active,
    "length": _length,
}


def on_cell(operation: str, node: SNode, index: Sequence[int]) -> Any:
    """Do that operation on a cell, or a list, of a node. `is_active` and `length` return an i32. Raises the fault of a
    compiled kernel, without its place."""
    try:
        found = _OPERATIONS[operation](node, np.array(index, np.int64), len(index))
    except KernelFault as fault:
        raise without_place(fault) from None
    return None if found is None else np.int32(found)


def without_place(fault: KernelFault) -> KernelFault:
    """The fault without its place, which is in one of Weft's own kernels."""
    return type(fault)(str(fault).rsplit("\n", 1)[-1])
