"""Which of many cases `make test` runs. The others are marked `exhaustive`: `make test-all` runs them too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

__all__ = ["draws", "every", "leave_out", "only", "thin"]

_left_out = False


def leave_out(expression: str) -> None:
    """Told once, before tests are imported: what `pytest -m` was given."""
    global _left_out
    _left_out = "not exhaustive" in expression


def draws(examples: int) -> int:
    """How many examples a random test draws: all of them, or a quarter in `make test`."""
    return -(-examples // 4) if _left_out else examples


def every(step: int, cases: Iterable[Any]) -> list[Any]:
    """One in `step` of the cases, the first one included; the others are exhaustive."""
    return [case if number % step == 0 else _exhaustive(case) for number, case in enumerate(cases)]


def only(kept: Sequence[Any], cases: Iterable[Any]) -> list[Any]:
    """Those of the cases that are in `kept`; the others are exhaustive."""
    given = list(cases)
    assert all(one in given for one in kept), "a case that is kept is none of the cases"
    return [case if case in kept else _exhaustive(case) for case in given]


def thin(items: Iterable[pytest.Item], step: int = 3) -> None:
    """Of the cases of one test on the GPU in software, one in `step` is run; the others, which the CPU runs too, or a
    GPU, are exhaustive. (A kernel takes five times as long to compile for it as for the CPU.)"""
    met = Counter[str]()
    for item in items:
        if item.get_closest_marker("emulated") and not item.get_closest_marker("exhaustive"):
            name = item.nodeid.partition("[")[0]
            if met[name] % step:
                item.add_marker("exhaustive")
            met[name] += 1


def _exhaustive(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.exhaustive)
