"""Where the results of `fast_math` come from: which of its freedoms a difference to exact arithmetic needs, and how
large it is.

A program runs with and without `fast_math` on one arch. Where the two differ, it is compiled again without one freedom
at a time. A difference that stays without all of them is no rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from tests.fuzz.comparing import compare, unordered

__all__ = ["FREEDOMS", "causes", "distance", "ulps", "without"]

_FLAGS = ("reassoc", "arcp", "contract", "afn")
FREEDOMS = (*_FLAGS, "approximate", "algebra")


@contextmanager
def without(freedoms: tuple[str, ...]) -> Generator[None]:
    """Kernels are compiled without these freedoms of fast_math."""
    from weft.codegen.llvm import module
    from weft.codegen.nvptx import kernel as cuda
    from weft.ir.transforms import algebra

    kept = "".join(f"{flag} " for flag in _FLAGS if flag not in freedoms)
    with ExitStack() as stack:
        flags = property(lambda self: kept if self.config.fast_math else "")
        stack.enter_context(patch.object(module.ModuleWriter, "fast", flags))
        if "approximate" in freedoms:
            own = cuda.own_operators
            stack.enter_context(patch.object(cuda, "own_operators", lambda math, fast: own(math, False)))
        if "algebra" in freedoms:
            table = algebra.algebra_table  # (kept once made, so what makes it is not asked again)
            stack.enter_context(patch.object(algebra, "algebra_table", lambda fast: table(False)))
        yield


def causes(run: Callable[[], dict[str, Any]], wanted: dict[str, Any]) -> tuple[str, ...]:
    """The freedoms of fast_math that the difference of `run` to `wanted` comes from: each that alone makes it; else
    all that it needs together. None where it stays without all of them."""

    def equal(off: tuple[str, ...]) -> bool:
        with without(off):
            return not compare(wanted, run())

    if not equal(FREEDOMS):
        return ()
    alone = tuple(one for one in FREEDOMS if equal((one,)))
    if alone:
        return alone
    return tuple(one for one in FREEDOMS if not equal(tuple(other for other in FREEDOMS if other != one))) or ("all",)


def distance(wanted: dict[str, Any], found: dict[str, Any]) -> float:
    """How far the arrays of two outcomes are apart, see `ulps`. The lines that are printed do not count."""
    first, second = unordered(wanted), unordered(found)
    names = [name for name in first if name not in ("printed", "result")]
    return max((ulps(second[name], first[name]) for name in names), default=0.0)


def ulps(found: Any, wanted: Any) -> float:
    """The largest distance of floats in units in the last place, that of integers as they are. Infinite where only one
    is a NaN, or where there are more of one."""
    found, wanted = np.atleast_1d(found), np.atleast_1d(wanted)
    if found.shape != wanted.shape:
        return float("inf")
    if found.dtype.kind != "f":
        return float(np.max(np.abs(found.astype(np.float64) - wanted.astype(np.float64)), initial=0.0))
    if (np.isnan(found) != np.isnan(wanted)).any():
        return float("inf")
    kind = np.dtype(f"i{found.dtype.itemsize}")
    ordered = [_ordered(np.nan_to_num(array, nan=0.0).view(kind)) for array in (found, wanted)]
    return float(max(abs(ordered[0] - ordered[1]).flat, default=0))


def _ordered(bits: Any) -> Any:
    """The bits of floats as whole numbers that are ordered as the floats are; both zeros are 0."""
    low = int(np.iinfo(bits.dtype).min)
    exact = bits.astype(object)
    return np.where(bits < 0, low - exact, exact)
