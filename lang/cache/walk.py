"""Fingerprints: walks over all that a kernel can look up."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from weft.lang.cache.fingerprint import Fingerprint, TooLarge
from weft.lang.cache.fingerprint_values import describe

__all__ = ["Fingerprint", "TooLarge", "fingerprint"]

_MOST_ROUNDS = 16


def fingerprint(
    roots: Callable[[Fingerprint], None],
    names: Iterable[str] | None = None,
    of_run: bool = False,
    computed: Iterable[tuple[int, str]] = (),
) -> Fingerprint:
    """The walk from what `roots` adds, looking up `names`. Without these, those of all code met: the more names are
    met, the more is; walk until none is new. TooLarge if there is no end to it. `of_run`: of what was run, with its
    doubts; `computed`: see there."""
    if names is not None:
        made = Fingerprint(describe, frozenset(names), None, computed)
        roots(made)
        return made
    growing: set[str] = set()
    calls: set[int] | None = set() if of_run else None
    for _ in range(_MOST_ROUNDS):
        count = len(growing), len(calls or ())
        made = Fingerprint(describe, growing, calls, computed)
        roots(made)
        if (len(growing), len(calls or ())) == count:
            return made
    raise TooLarge("new names are found without end")
