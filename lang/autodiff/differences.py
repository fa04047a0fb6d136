"""Compares gradients with differences, and reports what was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["DUAL_TOLERANCES", "Check", "compare_with_differences"]

# By the size of a number: the step of the differences, relative to 1, and how much a derivative may be off.
_STEPS = {8: 1e-6, 4: 1e-2, 2: 6e-2}
_TOLERANCES = {8: 1e-6, 4: 2e-2, 2: 2e-1}
DUAL_TOLERANCES = {8: 1e-11, 4: 1e-4, 2: 5e-2}


@dataclass
class Check:
    """What `ti.ad.check` found. It is true if all tests passed, and its text is the report.

    Example:
        x = ti.field(ti.f64, 2, needs_grad=True)
        y = ti.field(ti.f64, (), needs_grad=True)
        x.fill(2.0)

        @ti.kernel
        def energy():
            for i in x:
                y[None] += x[i] ** 3

        found = ti.ad.check(energy)
        bool(found)  # True
    """

    kernel: str
    lines: list[str] = field(default_factory=list[str])
    passed: bool = True

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        verdict = "the derivatives agree" if self.passed else "THE DERIVATIVES DIFFER"
        return "\n".join([f"check of '{self.kernel}': {verdict}", *(f"  {line}" for line in self.lines)])

    def compare(self, what: str, found: float, wanted: float, allowed: float) -> bool:
        """Add the line of one comparison."""
        agrees = abs(found - wanted) <= allowed
        self.passed = self.passed and agrees
        sign = "agrees" if agrees else "DIFFERS"
        self.lines.append(f"{what}: {found:.10g} and {wanted:.10g}: {sign}")
        return agrees


def compare_with_differences(
    report: Check, name: str, gradient: Any, direction: Any, loss: Callable[[Any], float]
) -> None:
    """Compare a gradient along a direction with central differences of two widths, whose difference says how exact they
    are. `loss` computes the loss after a move. If they differ, add the elements where they do."""
    size_of_number = gradient.dtype.itemsize
    step, tolerance = _STEPS[size_of_number], _TOLERANCES[size_of_number]

    def slope(direction: Any, step: float) -> float:
        return (loss(step * direction) - loss(-step * direction)) / (2 * step)

    wide, near = slope(direction, 2 * step), slope(direction, step)
    wanted = float((gradient.astype(np.float64) * direction).sum())
    size = float(np.abs(gradient.astype(np.float64) * direction).sum()) + abs(near)
    allowed = tolerance * (size + 1e-3) + 4 * abs(wide - near)
    if report.compare(f"'{name}', gradient and differences", wanted, near, allowed):
        return
    for index in list(np.ndindex(*gradient.shape))[:4096]:
        unit = np.zeros_like(gradient)
        unit[index] = 1
        at, exact = slope(unit, step), float(gradient[index])
        if abs(at - exact) > tolerance * (abs(at) + abs(exact) + 1e-3) + 4 * abs(slope(unit, 2 * step) - at):
            shown = ", ".join(map(str, index))
            report.lines.append(f"    {name}[{shown}]: the gradient is {exact:.10g}, differences give {at:.10g}")
            if len(report.lines) > 12:
                return
