"""Programs whose gradient needs values between their loops: their pieces run one after another, as a tape runs them.

Each piece leaves memory for the next one. The gradients run from the last piece to the first, each with the memory
before and after its piece. Together they are held to forward mode of the whole program."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tests.fuzz.modes import named
from tests.fuzz.recorded import recorded_ways
from weft.ir.autodiff.torn import Torn
from weft.ir.pieces import pieces_of
from weft.ir.pipeline import run_passes

__all__ = ["Back", "gradients_of"]

Back = Callable[[Any, Any], None]  # of what the program left, and of gradients, which it changes


def gradients_of(
    subject: Any,
    judge: Any,
    runs: Callable[[Any], Iterator[tuple[str, Any]]],
    counts: Counter[str],
) -> Iterator[tuple[str, Back]]:
    """The ways in which the gradient of a program runs, or the gradients of its pieces, or its gradient with records.
    `runs` gives those of one of them, and `counts` learns what is compared. Raises CompilationError at once where the
    gradient is refused."""
    subjects = [subject]
    try:
        ways, first = _begun(subjects, runs)
    except Torn:
        subjects = _pieces(subject, judge)
        try:
            if len(subjects) < 2:
                raise
            ways, first = _begun(subjects, runs)
        except Torn:
            return recorded_ways(subject, runs, counts)
    return _following(subjects, ways, first)


def _begun(subjects: Sequence[Any], runs: Callable[[Any], Iterator[tuple[str, Any]]]) -> tuple[list[Any], list[Any]]:
    ways = [runs(one) for one in subjects]
    for one in subjects:  # a value may be gone with some optimizations only
        for advanced in (False, True):
            config = replace(one.config, advanced_optimization=advanced)
            run_passes(one.differentiated("vjp"), ("differentiate",), config)
    return ways, [next(way) for way in ways]


def _following(subjects: Sequence[Any], ways: Sequence[Any], first: Sequence[Any]) -> Iterator[tuple[str, Back]]:
    made: Sequence[Any] | None = first
    while made is not None:
        steps = [run for _, run in made]

        def back(after: Any, gradients: Any, steps: Sequence[Any] = steps) -> None:
            left = [*(one.start for one in subjects[1:]), after]
            for one, run, now in reversed(list(zip(subjects, steps, left, strict=True))):
                one.launch("vjp", run, one.before(now), gradients)

        yield made[0][0], back
        following = [next(way, None) for way in ways]  # what must be `saved` may differ between ways
        made = None if None in following else following


def _pieces(subject: Any, judge: Any) -> list[Any]:
    """A subject for each piece of the program, which starts from what the piece before it left."""
    found = list[Any]()
    for tree in pieces_of(judge.translation.tree):
        made = copy.copy(subject)
        one = replace(judge)
        one.translation = replace(judge.translation, tree=tree)
        text, made.functions = one.lowered()
        made.text = named(text)  # what is `saved` is told by name
        made.inlined, _ = one.lowered(inlined=True)
        if found:
            made.start = found[-1].primal(found[-1].space.read(found[-1].start, True))
        found.append(made)
    return found
