"""Second derivatives of random programs: forward mode of the gradient gives products of Hessians and directions, and so
does the gradient of forward mode.

For weights w of what a program leaves, H v is the derivative of J^T w along v, and the gradient of <w, J v>. H is
symmetric: <u, H v> = <v, H u>. The gradient loads memory as the program left it, which changes along v by J v, and
memory from before where it says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.fuzz.modes import SECOND
from weft.ir.autodiff.companions import carries
from weft.ir.types import Array

__all__ = ["check_second"]

_SYMMETRIC = 1e-10  # of the sum of the terms' absolute values
_LARGE = 1e8

Ways = Iterator[tuple[str, Callable[[list[Any], list[Any]], list[Any]]]]


def check_second(subject: Any, ways: Ways, forward: Callable[[Any, Any], None], counts: Counter[str], mode: str) -> str:
    """What is wrong with second derivatives, "" if nothing is. `forward` runs forward mode on numbers and duals."""
    space, random = subject.space, subject.random
    mask = space.in_memory(subject.start)
    directions = [random.uniform(-1, 1, subject.base.size) * mask for _ in range(2)]
    first = next(ways)  # refuses before anything runs
    left: list[tuple[Any, Any]] = []
    for direction in directions:
        numbers, duals = subject.start.copy(), subject.companions(direction, True)
        forward(numbers, duals)
        left.append((numbers, duals))
    count = subject.companions(np.zeros(subject.base.size), True)
    held = space.read(count, False).size  # without results
    weights = random.uniform(-1, 1, held) * space.ordered(held)
    way: tuple[str, Any] | None = first
    counts["programs with Hessians"] += 1
    while way is not None:
        name, run = way
        products = [
            _product(subject, run, numbers, duals, subject.companions(direction, True), weights, mode)
            for (numbers, duals), direction in zip(left, directions, strict=True)
        ]
        terms = [product * other for product, other in zip(products, reversed(directions), strict=True)]
        size = sum(np.abs(one).sum() for one in terms)
        if not np.isfinite(size) or size > _LARGE:
            counts["Hessians that are not finite"] += 1
        else:
            counts["Hessians"] += 1
            counts["Hessians other than 0"] += bool(size)
            counts["programs with Hessians other than 0"] += bool(size) and way is first
            if not abs(terms[0].sum() - terms[1].sum()) <= _SYMMETRIC * size:
                return (
                    f"{name}: <u, H v> = {terms[0].sum()!r}, but <v, H u> = {terms[1].sum()!r}; the terms add up to "
                    f"{size:.3g}"
                )
        way = next(ways, None)  # each says what must be `saved`
    return ""


def _product(subject: Any, run: Any, numbers: Any, duals: Any, along: Any, weights: Any, mode: str) -> Any:
    """H v: the duals of the gradients of what the program started from, or the gradients of it if the duals have
    gradients."""
    after, moved = subject.before(numbers), subject.before(duals, along, "" if mode == SECOND else ".dual")
    gradients, found = subject.companions(weights, False), subject.companions(np.zeros_like(weights), False)
    parts = (gradients, moved, found) if mode == SECOND else (moved, found, gradients)
    arrays = [k for k, one in enumerate(subject.text.params) if isinstance(one.type, Array) and carries(one.type.elem)]
    hidden = [part.args[k] for part in parts for k in arrays]
    run([*after.trees, *(tree for part in parts for tree in part.trees)], [*after.args, *hidden])
    return subject.space.read(found, True)
