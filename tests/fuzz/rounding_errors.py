"""Whether two results of a program differ by the rounding that it amplifies. A program that computes the sine of a
large number, or goes round a loop that doubles errors, has no more exact digits than that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["lost_in_rounding"]

_TRIES = 6
_FACTOR = 100.0  # so many times what one rounding of each input changes

Measure = Callable[[Any, Any], Any]  # of the values and the duals of what forward mode leaves


def lost_in_rounding(subject: Any, run: Any, direction: Any, measure: Measure, apart: float) -> bool:
    """Whether that difference of a measure is not much larger than what the measure changes where each number that the
    program starts from is rounded once more. `run` runs forward mode."""
    random = np.random.default_rng(5)
    with np.errstate(all="ignore"):
        found = [_measured(subject, run, direction, measure, subject.base)]
        for _ in range(_TRIES):
            moved = subject.base * (1 + subject.precision.ulp * random.choice((-1, 1), subject.base.size))
            found.append(_measured(subject, run, direction, measure, moved))
    spread = max(found) - min(found)
    return bool(abs(apart) <= _FACTOR * spread)


def _measured(subject: Any, run: Any, direction: Any, measure: Measure, start: Any) -> float:
    numbers, duals = subject.start.copy(), subject.companions(direction, True)
    subject.space.write(numbers, start)
    subject.launch("jvp", run, numbers, duals)
    return float(measure(subject.space.read(numbers, False), subject.space.read(duals, False)))
