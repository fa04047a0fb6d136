"""Krylov methods: they solve A x = b with products A v only. `apply(v, out)` sets `out` to A v. `x` holds the first
guess, then the solution. The result says whether the norm of the residual fell below `tol` within `maxiter` steps."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

from weft.lang.linear.vectors import combine, dot, workspace

__all__ = ["METHODS", "Report", "Solved", "silent"]

Apply = Callable[[Any, Any], None]
Report = Callable[[int, float], None]  # of the number of the step, and the square of the norm of the residual


def silent(step: int, squared: float) -> None:
    """Report nothing. (A `Report`.)"""


class Solved:
    """The end of a method: whether it converged, and the norm of the residual."""

    def __init__(self, squared: float, tol: float) -> None:
        self.residual, self.tol = sqrt(squared), tol
        self.converged = self.residual < tol or squared == 0.0

    def __bool__(self) -> bool:
        return self.converged


def _residual(apply: Apply, b: Any, x: Any, r: Any) -> None:
    """Compute r = b - A x."""
    apply(x, r)
    combine(r, b, -1.0, r)


def _conjugate_gradients(apply: Apply, b: Any, x: Any, tol: float, maxiter: int, report: Report) -> Solved:
    """For a symmetric and positive definite A (Hestenes and Stiefel)."""
    with workspace(b, 3) as (r, p, Ap):
        _residual(apply, b, x, r)
        p.copy_from(r)
        rr = dot(r, r)
        for step in range(maxiter):
            if sqrt(rr) < tol:
                break
            apply(p, Ap)
            curvature = dot(p, Ap)
            if curvature == 0.0:
                break
            combine(x, x, rr / curvature, p)
            combine(r, r, -rr / curvature, Ap)
            before, rr = rr, dot(r, r)
            combine(p, r, rr / before, p)
            report(step, rr)
        return Solved(rr, tol)


def _stabilised_biconjugate_gradients(apply: Apply, b: Any, x: Any, tol: float, maxiter: int, report: Report) -> Solved:
    """For any invertible A (van der Vorst).

    Each step first goes along p until the residual s is orthogonal to the shadow residual r0, then along s as far as
    minimizes the residual."""
    with workspace(b, 5) as (r, r0, p, Ap, As):
        _residual(apply, b, x, r)
        r0.copy_from(r)
        p.copy_from(r)
        rho, rr = dot(r0, r), dot(r, r)
        for step in range(maxiter):
            if sqrt(rr) < tol:
                break
            apply(p, Ap)
            against = dot(r0, Ap)
            if against == 0.0 or rho == 0.0:
                break  # r0 is orthogonal to A p or to r
            alpha = rho / against
            combine(x, x, alpha, p)
            combine(r, r, -alpha, Ap)
            apply(r, As)
            length = dot(As, As)
            omega = dot(As, r) / length if length else 0.0
            combine(x, x, omega, r)
            combine(r, r, -omega, As)
            rr = dot(r, r)
            report(step, rr)
            if omega == 0.0:
                break
            before, rho = rho, dot(r0, r)
            combine(p, p, -omega, Ap)
            combine(p, r, rho / before * (alpha / omega), p)
        return Solved(rr, tol)


METHODS = {"cg": _conjugate_gradients, "bicgstab": _stabilised_biconjugate_gradients}
