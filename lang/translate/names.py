"""Names and their meanings: block scopes inside the closure, the globals and the builtins of the function.

A variable belongs to the block of its first assignment. So it always has a value and one type where it is visible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.lang.errors import UnknownName
from weft.lang.functions.source import captured

__all__ = ["Binding", "Names"]


@dataclass(eq=False, slots=True)
class Binding:
    """The meaning of a local name. `value` is a `tree.Variable`, a Record of one, or anything known at compile time.
    `role` says why it cannot be assigned: "loop index", "kernel parameter", "template parameter", "static loop
    variable", "compile-time value". It is "" for an ordinary variable."""

    value: Any
    role: str = ""


class Names:
    """The scopes of one function body."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.scopes: list[dict[str, Binding]] = [{}]
        self.gone: set[str] = set()  # names whose blocks have ended

    def push(self) -> None:
        """Open a block scope."""
        self.scopes.append({})

    def pop(self) -> None:
        """Close a block scope: its names are not visible any more."""
        self.gone.update(self.scopes.pop())

    def bind(self, name: str, binding: Binding) -> None:
        """Bind `name` to a meaning in the current block."""
        self.scopes[-1][name] = binding

    def forget(self, name: str) -> None:
        """Remove the meaning of `name`."""
        for scope in self.scopes:
            scope.pop(name, None)

    def find(self, name: str) -> Binding | None:
        """The binding of a local name. None if there is none."""
        for scope in reversed(self.scopes):
            binding = scope.get(name)
            if binding is not None:
                return binding
        return None

    def outer(self, name: str) -> tuple[Any, Any]:
        """The meaning of `name` outside of the function, and where it was found. Raises UnknownName if there is
        none."""
        try:
            return captured(self.function, name)
        except KeyError:
            raise UnknownName(self._missing(name)) from None

    def is_local_here(self, name: str) -> bool:
        """Whether `name` was bound in the current block, and not in an enclosing one."""
        return name in self.scopes[-1]

    def _missing(self, name: str) -> str:
        if name in self.gone:
            return (
                f"'{name}' is not defined here: its first assignment is inside a block (an if, a loop) that "
                "has ended; assign it before that block"
            )
        if name in self.function.__code__.co_freevars:
            return f"'{name}' is a variable of the enclosing function that has no value yet: assign it before the call"
        near = self._similar(name)
        return f"'{name}' is not defined" + (f"; did you mean '{near}'?" if near else "")

    def _similar(self, name: str) -> str:
        from difflib import get_close_matches

        visible = [local for scope in self.scopes for local in scope]
        visible += [*self.function.__code__.co_freevars, *self.function.__globals__]
        return next(iter(get_close_matches(name, visible, n=1, cutoff=0.8)), "")
