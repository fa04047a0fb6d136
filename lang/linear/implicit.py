"""The solution of A x = b as one operation, whose derivatives are solutions of other systems.

Let g be the gradient of x. The implicit function theorem gives, for A x = b:

    A' l = g            the adjoint system, with the transposed matrix A'
    gradient of b         +=  l
    gradient of parameters of A  +=  that of the product A x, with the weights -l

and in forward mode, for a change of b and of parameters

    A dx = db - dA x        where dA x is the derivative of the product A x with a constant x

x does not depend on the first guess. The gradient of the product is that of the kernel that computes it, and so is the
product with A': the gradient by v of the product A v, with the weights l, is A' l. For conjugate gradients, A' = A."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from weft.ir.errors import WeftError
from weft.lang.data.operations import Duals, Gradients, Operation, perform
from weft.lang.linear.krylov import METHODS, Report, Solved, silent
from weft.lang.linear.vectors import combine, dot, workspace

__all__ = ["NotConverged", "System"]


class NotConverged(WeftError):
    """A solver has not reached its tolerance."""


@dataclass
class System:
    """A x = b, with `apply(v, Av, *args)` that sets Av to A v. `name` is that of the solver, in messages. With
    `relative`, `tol` is a part of the norm of b."""

    name: str
    apply: Any
    args: tuple[Any, ...]
    b: Any
    x: Any
    method: str
    tol: float
    maxiter: int
    report: Report = silent
    relative: bool = False

    def solve(self) -> Solved:
        """Solve the system. The blocks of `ti.ad` record that as one call."""
        with workspace(self.x, 1, needs_grad=True) as (product,):
            args, own = (self.x, product, *self.args), (self.x, product)
            operation = Operation(
                self.name, self._run, self._back, [self.b, self.x], [self.x], [self.x], self.apply, args, own
            )
            operation.ahead = self._ahead
            return perform(operation)  # type: ignore[no-any-return]

    def _run(self) -> Solved:
        self._size = sqrt(dot(self.b, self.b))
        if self.relative and self._size == 0.0:
            self.x.fill(0.0)
            return Solved(0.0, 0.0)
        return self._method(self._apply, self.b, self.x, self.tol * self._size if self.relative else self.tol)

    def _method(self, apply: Callable[[Any, Any], None], b: Any, x: Any, tol: float) -> Solved:
        return METHODS[self.method](apply, b, x, tol, self.maxiter, self.report)

    def _apply(self, v: Any, out: Any) -> None:
        self.apply(v, out, *self.args)

    def _back(self, gradients: Gradients, parameters: Sequence[Any]) -> None:
        """The gradient. (Of `Operation`.)"""
        into = gradients.gradient_of(self.x)
        others = [one for one in map(gradients.gradient_of, parameters) if one is not None]
        own = gradients.gradient_of(self.b)
        if into is None:
            return
        with workspace(self.x, 2) as (given, found), workspace(self.x, 1, needs_grad=True) as (product,):
            given.copy_from(into)
            found.fill(0.0)
            if self.method == "cg":
                self._other("gradient", self._apply, given, found)
            else:
                kept = [(one, one.to_numpy()) for one in others]
                self._other("gradient", lambda v, out: self._transposed(gradients, product, v, out), given, found)
                for one, numbers in kept:
                    one.from_numpy(numbers)
            if own is not None and own is not into:
                combine(own, own, 1.0, found)
            if others:
                weights = gradients.gradient_of(product)
                weights.fill(0.0)
                combine(weights, weights, -1.0, found)
                gradients.run_gradient(self.apply, (self.x, product, *self.args))
            into.fill(0.0)

    def _ahead(self, duals: Duals) -> None:
        """The dual of the solution. (Of `Operation`.)"""
        into, own = duals.dual_of(self.x), duals.dual_of(self.b)
        if into is None:
            return
        with workspace(self.x, 2) as (right, found), workspace(self.x, 1, needs_dual=True) as (product,):
            if own is None:
                right.fill(0.0)
            else:
                right.copy_from(own)
            into.fill(0.0)
            duals.dual_of(product).fill(0.0)
            duals.run_dual(self.apply, (self.x, product, *self.args))
            combine(right, right, -1.0, duals.dual_of(product))
            found.fill(0.0)
            self._other("derivative", self._apply, right, found)
            into.copy_from(found)

    def _transposed(self, gradients: Gradients, product: Any, v: Any, out: Any) -> None:
        """Set `out` to A' v. Uses the gradient of x."""
        into = gradients.gradient_of(self.x)
        into.fill(0.0)
        gradients.gradient_of(product).copy_from(v)
        gradients.run_gradient(self.apply, (self.x, product, *self.args))
        out.copy_from(into)

    def _other(self, what: str, apply: Callable[[Any, Any], None], given: Any, found: Any) -> None:
        """Solve the system of a derivative, as exactly as the first one in proportion to its right side."""
        size = sqrt(dot(given, given))
        if size == 0.0:
            return
        tol = self.tol * size
        if not self.relative and self._size:
            tol /= self._size
        solved = self._method(apply, given, found, tol)
        if not solved:
            raise NotConverged(
                f"the {what} of {self.name} has not converged: the residual of its own system is "
                f"{solved.residual:.3e} after at most {self.maxiter} steps, more than {tol:.3e}"
            )
