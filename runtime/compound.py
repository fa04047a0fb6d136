"""Describe structs, vectors and matrices to native code: make the nodes of `compound_ir.py` for a type."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from weft.runtime.compound_ir import MEMBER, SCALAR, SCALAR_NODE, STRUCT, STRUCT_NODE, TENSOR, TENSOR_NODE
from weft.runtime.direct import numpy_supported
from weft.runtime.number_ir import HEAD

__all__ = ["Node", "scalar_node", "struct_node", "tensor_node", "tensors_supported"]

_ENTRIES, _TYPE = "entries", "struct_type"  # the attributes of a struct


class Node:
    """A node in memory. It keeps the nodes that it points to alive, but not classes and types."""

    def __init__(self, words: list[int], *keeps: Any) -> None:
        self._words, self._keeps = (ctypes.c_int64 * len(words))(*words), keeps
        self.address = ctypes.addressof(self._words)


def tensors_supported(value: Any) -> bool:
    """Return whether the array of such a vector or matrix is at the offset where native code expects it."""
    place = ctypes.c_void_p.from_address(id(value) + HEAD)
    return numpy_supported() and place.value == id(value.values)


def scalar_node(dtype: Any) -> Node:
    """Return the node of a member of that numpy dtype."""
    return Node(SCALAR_NODE.words(kind=SCALAR, type=id(dtype.type), size=dtype.itemsize))


def tensor_node(matrix: type, vector: type, shape: tuple[int, ...], to: int, least: int = 0, greatest: int = 0) -> Node:
    """Return the node of a vector or matrix of those classes and that shape. Its numbers are converted to a kind of
    `launch_ir.py`; integers must be from `least` to `greatest`."""
    f32, f64, i32, i64 = (id(np.dtype(kind)) for kind in (np.float32, np.float64, np.int32, np.int64))
    rows, columns = (*shape, 1)[:2]
    words = TENSOR_NODE.words(
        kind=TENSOR,
        matrix=id(matrix),
        vector=id(vector),
        array=id(np.ndarray),
        axes=len(shape),
        rows=rows,
        columns=columns,
        f32=f32,
        f64=f64,
        i32=i32,
        i64=i64,
        to=to,
        least=least,
        greatest=min(greatest, 2**63 - 1),
    )
    return Node(words)


def struct_node(plain: type, kind: Any, members: Mapping[str, Node]) -> Node:
    """Return the node of a struct: an object of the class `plain` with the type object `kind` and those members."""
    names = [*members]
    head = STRUCT_NODE.words(
        **{"kind": STRUCT, "class": id(plain), "type": id(kind), "count": len(members)},
        **{"entries.name": id(_ENTRIES), "type.name": id(_TYPE)},
    )
    rows = (MEMBER.words(name=id(name), inner=members[name].address) for name in names)
    return Node([*head, *chain.from_iterable(rows)], names, kind, dict(members))
