"""Where checkpoints go: the chains that are reversed, and how often steps run, against all possible choices."""

from __future__ import annotations

import random
from functools import cache

import pytest

from weft.lang.autodiff.schedule import split


def runs(steps: int, free: int, state: int, tape: int) -> int:
    """How many steps run, with and without tapes, to reverse such a chain. Fails if that needs more memory."""
    first, keeps = split(steps, free, state, tape)
    assert 0 <= first < steps
    if first == 0:
        assert not keeps
        assert steps == 1 or steps * tape <= free
        return steps
    rest = steps - first
    if keeps:
        assert free >= state
        right = runs(rest, free - state, state, tape)
    else:
        assert rest == 1 or rest * tape <= free
        right = rest
    return first + right + runs(first, free, state, tape)


@cache
def fewest(steps: int, free: int, state: int, tape: int) -> int:
    """The fewest runs of any choice."""
    if steps == 1 or steps * tape <= free:
        return steps
    found = []
    for first in range(1, steps):
        rest, left = steps - first, first + fewest(first, free, state, tape)
        if rest == 1 or rest * tape <= free:
            found.append(left + rest)
        if free - state >= tape:
            found.append(left + fewest(rest, free - state, state, tape))
    return min(found)


def test_schedules_are_legal_and_nearly_the_best() -> None:
    draw, ratios = random.Random(1), []
    for _ in range(60):
        steps, state, tape = draw.randint(1, 40), draw.randint(1, 5), draw.randint(1, 5)
        case = steps, draw.randint(tape, 60), state, tape
        ratios.append(runs(*case) / fewest(*case))
    assert max(ratios) < 1.5
    assert sum(ratios) / len(ratios) < 1.05


@pytest.mark.parametrize(("states", "most"), [(50, 1), (20, 2), (10, 4), (4, 10)])
def test_a_memory_of_that_many_states(states: int, most: int) -> None:
    """1000 steps run once with tapes, and so many times without at most."""
    assert runs(1000, states, 1, 1) <= (most + 1) * 1000


def test_steps_without_tapes_never_run_again() -> None:
    assert split(1000, 0, 1, 0) == (0, False)


def test_nothing_fits() -> None:
    """One step is always possible."""
    assert runs(5, 0, 10, 10) == 5 + 4 + 3 + 2 + 1
