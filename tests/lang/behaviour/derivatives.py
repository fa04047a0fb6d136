"""What tests of derivatives compare with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def close(found: Any, wanted: Any, rtol: float = 1e-9) -> None:
    """Numbers of f64 are equal but for rounding."""
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=1e-12)


def slope(program: Callable[[], float], field: Any, at: float, step: float = 1e-6) -> float:
    """The central difference of a loss by the only number of a field."""
    values = []
    for sign in (1, -1):
        field[None] = at + sign * step
        values.append(program())
    field[None] = at
    return (values[0] - values[1]) / (2 * step)
