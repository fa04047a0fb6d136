"""Differences of a program along a direction, and how far they can be trusted."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.magnitudes import deciding
from tests.fuzz.rounding_errors import spread

__all__ = ["LARGE", "has_kinks", "narrower_agree", "smooth_differences"]

LARGE = 1e8  # larger values are not compared: their differences are rounding
_STEPS = (1e-4, 1e-5)  # the widths of differences
_NARROW = tuple(10.0**-n for n in range(6, 13))


def smooth_differences(subject: Any, direction: Any, here: Any) -> tuple[Any, Any, Any]:
    """Differences along a direction, their tolerances, and where the kernel is smooth."""
    slopes: list[Any] = []
    with np.errstate(all="ignore"):
        for step in _STEPS:
            ahead, behind = (
                subject.space.read(subject.primal(subject.base + sign * step * direction), False) for sign in (1, -1)
            )
            slopes += [(ahead - here) / step, (here - behind) / step, (ahead - behind) / (2 * step)]
        wide, near, size = slopes[2], slopes[5], np.abs(here)
        noise = 1e-15 * (1 + size) / _STEPS[1]
        curved = np.abs(wide - near)
        jumps = np.maximum(np.abs(slopes[3] - slopes[4]), np.abs(slopes[0] - slopes[1]) * 0.1)
        scale = 1e-3 + 1e-3 * np.abs(near)
        smooth = np.isfinite(near) & np.isfinite(wide) & (size < LARGE) & (noise < scale * 0.1)
        smooth &= (curved < scale) & (jumps < 10 * scale)
        return near, 4 * curved + 20 * noise + 1e-6 + 1e-6 * np.abs(near), smooth


def has_kinks(subject: Any, direction: Any) -> bool:
    """Whether the kernel decides otherwise a little ahead or behind, at the distance of the narrow differences."""
    found = set[int]()
    with np.errstate(all="ignore"):
        for step in (0.0, _STEPS[1], -_STEPS[1]):
            with deciding() as decisions:
                subject.primal(subject.base + step * direction)
            found.add(decisions.value)
    return len(found) > 1


def narrower_agree(subject: Any, direction: Any, duals: Any, slope: Any) -> Any:
    """For each number, whether narrower differences agree with its dual and not with those differences. A program may
    wave so quickly that wide differences see no more than the mean: `x + 1e-6 * sin(1e8 * x)`."""
    apart = np.abs(duals - slope)
    rounding = spread(lambda: subject.space.read(subject.primal(subject.base), False))
    agree = np.zeros(duals.shape, bool)
    with np.errstate(all="ignore"):
        for step in _NARROW:
            ahead, behind = (
                subject.space.read(subject.primal(subject.base + sign * step * direction), False) for sign in (1, -1)
            )
            near = np.minimum(0.1 * apart, 1e-2 * np.abs(duals))
            agree |= (np.abs((ahead - behind) / (2 * step) - duals) <= near) & (rounding / step <= 0.4 * apart)
    return agree
