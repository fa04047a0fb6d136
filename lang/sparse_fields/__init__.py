"""Sparse fields in Python scope: elements by generated kernels, `ti.sparse`, and what is active.

`import weft` imports this module. It sets the functions of SPARSE to ones that import the kernels at their first
call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.lang.data.sparse_access import SPARSE, SparseAccess

__all__: list[str] = []


def _late(name: str) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        from weft.lang.sparse_fields import elements

        return getattr(elements, name)(*args)

    return call


for _name in SparseAccess.__annotations__:
    setattr(SPARSE, _name, _late(_name))
