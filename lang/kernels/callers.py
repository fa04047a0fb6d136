"""The objects by which a kernel is called natively. The kernel itself is one. Two others are made when they are used:

    through     launches, although launches are watched: the watch itself calls it
    binder      gives a bound launch: the pair of a weak reference to the instance and the bytes of its context

Each continues in a Python function where native code cannot make the call. Their arguments are those of the plans: with
the gradients and duals that are hidden arguments, if the kernel has such."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from weft.runtime.call_ir import Callable as DirectCallable
from weft.runtime.direct import Plan, Signature, follow, native_type
from weft.runtime.epochs import keep

__all__ = ["Callers", "binders_of"]


class _Caller(DirectCallable):
    """Continues in `python` where native code cannot make the call."""

    def __init__(self, python: Callable[..., Any]) -> None:
        self._python = python

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self._python(*args, **keywords)


class Callers:
    """The objects that follow the plans of a kernel, whose parameters are `signature`."""

    def __init__(self, signature: Signature | None) -> None:
        self.through: _Caller | None = None
        self.binder: _Caller | None = None
        self._signature = signature  # None: all calls are Python
        self._plans: list[Plan] = []
        self._launching: list[Plan] = []

    @property
    def plans(self) -> Sequence[Plan]:
        """The plans that they follow."""
        return self._plans

    def make(self, entry: str, python: Callable[..., Any], hidden: bool) -> _Caller:
        """Make the one with that entry, "call_through" or "bind", unless it is there. `hidden`: it takes hidden
        arguments, all of them in order. (The caller holds a lock.)"""
        if (known := self.binder if entry == "bind" else self.through) is not None:
            return known
        kind: type[_Caller] = _Caller if self._signature is None else native_type(_Caller, False)
        made = kind(python)
        if self._signature is not None:
            if not hidden:
                self._signature.tell(made)
            follow(made, self._plans if entry == "bind" else self._launching, entry)
        if entry == "bind":
            self.binder = made
        else:
            self.through = made
        return made

    def follow(self, plans: list[Plan], kernel: DirectCallable, hidden: bool, warns: bool) -> None:
        """Let them follow these plans. `hidden`: the kernel itself does not, because it has hidden arguments. `warns`:
        launches do not, because Python has to warn first. (The caller holds a lock.)"""
        if self._signature is None:
            return
        before, self._plans, self._launching = self._plans, plans, [] if warns else plans
        follow(kernel, [] if hidden else self._launching, "call")
        if self.through is not None:
            follow(self.through, self._launching, "call_through")
        if self.binder is not None:
            follow(self.binder, plans, "bind")
        keep(before)  # other threads may still use them


def binders_of(kernel: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """What binds arguments of a kernel in Python: those of a call, and the same with hidden arguments behind them."""
    count = len(kernel.signature.parameters)
    return lambda *args, **keywords: kernel.bind(args, keywords), lambda *flat: kernel.bind(flat[:count], {})
