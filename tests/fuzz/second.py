"""Second derivatives of random programs: forward mode of the gradient gives products of Hessians and directions, and so
does the gradient of forward mode.

For weights w of what a program leaves, H v is the derivative of J^T w along v, and the gradient of <w, J v>. H is
symmetric: <u, H v> = <v, H u>. The gradient loads memory as the program left it, which changes along v by J v, and
memory from before where it says so.

The gradient kernel itself is a function of values and gradients. Forward and reverse mode of it give products with one
Jacobian, as those of the program do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.fuzz.modes import SECOND
from tests.fuzz.recorded import hidden_of

__all__ = ["check_nested", "check_second"]

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
    if subject.records_kind:
        nothing = subject.companions(np.zeros(subject.base.size), True)
        start = _given(subject, subject.start.copy(), nothing, along.copy(), nothing.copy())
        run(start, _given(subject, after, *parts))
    else:
        _launch(subject, run, after, *parts)
    return subject.space.read(found, True)


def _launch(subject: Any, run: Any, values: Any, *parts: Any) -> None:
    """Run a kernel in a mode of two parts on values and on their companions, which are changed."""
    run(*_given(subject, values, *parts))


def _given(subject: Any, values: Any, *parts: Any) -> tuple[list[Any], list[Any]]:
    """The trees and the arguments of such a kernel."""
    trees, hidden = hidden_of(subject, parts)
    return [*values.trees, *trees], [*values.args, *hidden]


def check_nested(ahead: Any, forward: Ways, back: Any, reverse: Ways, counts: Counter[str]) -> str:
    """What is wrong with reverse mode of the gradient, by the dot products of forward mode of it, "" if nothing is.
    `ahead` and `back` are one program, in the two modes."""
    random, space = back.random, back.space
    first = next(reverse)  # refuses before anything runs
    after = back.primal(back.base)
    count = space.read(back.companions(np.zeros(back.base.size), True), False).size
    drawn = [random.uniform(-1, 1, count) * space.ordered(count) for _ in range(5)]
    way: tuple[str, Any] | None = first
    counts["programs with gradients of gradients"] += 1
    while way is not None:
        name, run = way
        _, push = next(forward)
        tangents, weights = drawn[1:3], drawn[3:]
        start, gradients = ahead.before(after), back.companions(drawn[0], False)
        end, given, *duals = start.copy(), gradients.copy(), *(back.companions(one, False) for one in tangents)
        _launch(ahead, push, end, given, *duals)
        terms = [space.read(one, False) * weight for one, weight in zip(duals, weights, strict=True)]
        found = [back.companions(one, False) for one in weights]
        _launch(back, run, back.before(end, start), back.before(given, gradients, ".grad"), *found)
        terms += [-space.read(one, False) * tangent for one, tangent in zip(found, tangents, strict=True)]
        size = sum(np.abs(one).sum() for one in terms)
        if not size < _LARGE:
            counts["gradients of gradients that are not finite"] += 1
        else:
            counts["gradients of gradients"] += 1
            counts["gradients of gradients other than 0"] += bool(np.abs(terms[1]).sum())
            if not abs(sum(one.sum() for one in terms)) <= _SYMMETRIC * size:
                sides = [sum(one.sum() for one in part) for part in (terms[:2], terms[2:])]
                return f"{name}: <Jv, w> = {sides[0]!r}, but <v, J^T w> = {-sides[1]!r}; the terms add up to {size:.3g}"
        way = next(reverse, None)
    return ""
