"""Sparse fields in Python scope: elements by generated kernels, `ti.sparse`, and what is active.

`import weft` imports this module. It sets the functions of SPARSE to ones that import the kernels at their first
call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.lang.data.operations import unheard
from weft.lang.data.sparse_access import SPARSE, SparseAccess

__all__: list[str] = []


_RECORDED = ("assign", "deactivate_all")  # blocks of `ti.ad` record their launches


def _late(name: str) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        from weft.lang.sparse_fields import cells, elements, exchange, on_cells, visits

        run = getattr(
            next((room for room in (cells, exchange, on_cells, visits) if name in room.__all__), elements), name
        )
        if name in _RECORDED or name in exchange.__all__:
            return run(*args)
        with unheard():
            return run(*args)

    return call


for _name in SparseAccess.__annotations__:
    setattr(SPARSE, _name, _late(_name))
