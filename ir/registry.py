"""Tables that decorated functions fill in.

RULES: dict[type[Op], Rule] = {}
types = registers(RULES)

@types(ops.Unary)                     RULES[ops.Unary] = _unary
def _unary(...): ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

__all__ = ["Register", "registers"]

KeyT_contra = TypeVar("KeyT_contra", contravariant=True)
KeyT = TypeVar("KeyT")
RowT = TypeVar("RowT")


class Register(Protocol[KeyT_contra, RowT]):
    """A decorator that stores a function under one or more keys."""

    def __call__(self, *keys: KeyT_contra) -> Callable[[RowT], RowT]: ...


def registers(table: dict[KeyT, RowT]) -> Register[KeyT, RowT]:
    """The decorator that stores functions in this table."""

    def register(*keys: KeyT) -> Callable[[RowT], RowT]:
        def store(row: RowT) -> RowT:
            table.update(dict.fromkeys(keys, row))
            return row

        return store

    return register
