"""Lists in kernels, that is the cells of dynamic nodes: `x[i]` and `x[i].append`, before the call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from weft.ir import tree
from weft.lang.data.lists import is_list_method, list_node
from weft.lang.translate.values import Unfinished

__all__ = ["ListOf", "list_at", "method_of"]


@dataclass(frozen=True, eq=False)
class ListOf(Unfinished):
    """A list of the field `over`: `x[i]`, if the last axis of x is that of a dynamic node. `method`: a method of it
    that was not called yet."""

    over: Any
    indices: tuple[tree.Expr, ...]
    method: str = ""

    @property
    def phrase(self) -> str:  # type: ignore[override]
        """The name of this meaning in messages."""
        return f"the method {self.method} of a list (without a call)" if self.method else "a list (a dynamic node)"


def list_at(over: Any, indices: list[tree.Expr]) -> ListOf | None:
    """The meaning of `x[i]` with one index less than x has axes. None if it is no list."""
    if list_node(over) is None or len(indices) + 1 != len(over.shape):
        return None
    return ListOf(over, tuple(indices))


def method_of(over: Any, name: str) -> ListOf | None:
    """The meaning of `x.append` and the like, where x is a field that is a list."""
    return ListOf(over, (), name) if is_list_method(over, name) else None
