"""Finds derivatives that end in memory without a gradient, although a later kernel reads that memory.

z[i] = x[i] * x[i]          x and loss have gradients, z has none: the derivative of loss by x is lost
loss[None] += z[i]
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from weft.ir.artifact import Site
from weft.ir.errors import WeftError
from weft.lang.autodiff.memory_use import Uses
from weft.lang.calls.compile import Instance
from weft.lang.calls.gradient_warnings import warn_at

__all__ = ["Losses", "LostDerivative"]


class LostDerivative(WeftError):
    """A value that carries a derivative is stored to memory without a gradient, and read from there."""


class Losses:
    """The memory in which derivatives of the recorded launches have ended. `strict`: reading it is an error. `results`:
    the caller knows what becomes of results."""

    def __init__(self, strict: bool, results: bool = False) -> None:
        self._strict, self._results = strict, results
        self._ended: dict[Hashable, Site] = {}

    def follow(self, kernel: str, gradient: Instance, uses: Uses, flat: Sequence[Any]) -> None:
        """Note where a launch stores derivatives that end, and report those that it reads. `gradient` is the gradient
        of its kernel."""
        assert gradient.facts is not None
        for site in gradient.facts.lost:
            if site.text[0] == "return" and not self._results:
                self._report(site, f"the result of kernel '{kernel}' carries a derivative, which is lost there")
            for place in uses.named(site.text[0]):
                self._ended[uses.memory(place, flat).key] = site
        if not self._ended:
            return
        for place in {access.place for access in uses.every_read if not access.stopped}:
            site_there = self._ended.get(uses.memory(place, flat).key)
            if site_there is None:
                continue
            written = {access.place for access in uses.writes}
            if any(map(uses.has_gradient, written)):
                name = site_there.text[0]
                self._report(
                    site_there,
                    f"the derivative of the value that is stored here is lost, because kernel '{kernel}' reads "
                    f"'{name}', which has no gradient: make '{name}' with needs_grad=True, or call "
                    f"ti.stop_grad({name}) in '{kernel}' if this is what you want",
                )
            for other in filter(uses.is_constant, written):
                self._ended.setdefault(uses.memory(other, flat).key, site_there)

    def _report(self, site: Site, message: str) -> None:
        if self._strict:
            shown = "" if site.span is None else f"\n{site.span.render()}\n"
            raise LostDerivative(f"{shown}{message}")
        warn_at(site.span, message)
