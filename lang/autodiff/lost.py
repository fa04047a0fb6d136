"""Finds derivatives that end in memory without a gradient, although a later kernel reads that memory.

z[i] = x[i] * x[i]          x and loss have gradients, z has none: the derivative of loss by x is lost
loss[None] += z[i]
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from weft.ir.artifact import Site
from weft.ir.errors import WeftError
from weft.lang.autodiff.memory_use import Uses
from weft.lang.calls.gradient_warnings import warn_at

__all__ = ["Flow", "Losses", "LostDerivative", "flow_of"]


class LostDerivative(WeftError):
    """A value that carries a derivative is stored to memory without a gradient, and read from there."""


class Flow:
    """Where the launches of an instance with the same arrays lose derivatives, and what they read and write. `key`
    gives the key of the memory of a place."""

    def __init__(self, uses: Uses, key: Callable[[str], Hashable]) -> None:
        self.lost = [(one, list(map(key, uses.named(one.text[0])))) for one in uses.lost]
        self.reads = list(dict.fromkeys(key(one.place) for one in uses.every_read if not one.stopped))
        written = sorted({access.place for access in uses.writes})
        self.differentiable = any(map(uses.has_gradient, written))
        self.constants = list(map(key, filter(uses.is_constant, written)))


def flow_of(uses: Uses, flat: Sequence[Any]) -> Flow:
    """The flow of a launch with these arguments."""
    return Flow(uses, lambda place: uses.memory(place, flat).key)


class Losses:
    """The memory in which derivatives of the recorded launches have ended. `strict`: reading it is an error. `results`:
    the caller knows what becomes of results."""

    def __init__(self, strict: bool, results: bool = False) -> None:
        self._strict, self._results = strict, results
        self._ended: dict[Hashable, Site] = {}
        self._told = set[tuple[int, str]]()

    def follow(self, kernel: str, uses: Uses, flow: Callable[[], Flow]) -> None:
        """Note where a launch of a kernel stores derivatives that end, and report those that it reads."""
        if not self._ended and not uses.lost:
            return
        found = flow()
        for site, keys in found.lost:
            if site.text[0] == "return" and not self._results:
                self._report(site, kernel, "the result of kernel '{}' carries a derivative, which is lost there")
            for key in keys:
                self._ended[key] = site
        for key in found.reads:
            site_there = self._ended.get(key)
            if site_there is None:
                continue
            if found.differentiable:
                name = site_there.text[0]
                self._report(
                    site_there,
                    kernel,
                    f"the derivative of the value that is stored here is lost, because kernel '{{}}' reads "
                    f"'{name}', which has no gradient: make '{name}' with needs_grad=True, or call "
                    f"ti.stop_grad({name}) in '{{}}' if this is what you want",
                )
            for other in found.constants:
                self._ended.setdefault(other, site_there)

    def taken(self, name: str, memory: Hashable) -> None:
        """Report that a call of that name takes values from memory in which a derivative has ended."""
        site = self._ended.get(memory)
        if site is not None:
            self._report(
                site, name, "the derivative of the value that is stored here is lost, because {} takes it from there"
            )

    def _report(self, site: Site, kernel: str, message: str) -> None:
        if (id(site), kernel) in self._told:
            return
        message = message.replace("{}", kernel)
        if self._strict:
            shown = "" if site.span is None else f"\n{site.span.render()}\n"
            raise LostDerivative(f"{shown}{message}")
        warn_at(site.span, message)
        self._told.add((id(site), kernel))
