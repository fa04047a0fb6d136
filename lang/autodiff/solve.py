"""`ti.ad.solve`: the solution of a linear system, as a step of a program that is differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import is_one, number_of, shown, whole_of
from weft.lang.errors import ArgumentError
from weft.lang.linear.implicit import NotConverged, System
from weft.lang.linear.krylov import METHODS
from weft.lang.linear.solvers import LinearOperator
from weft.lang.linear.vectors import check_vectors

__all__ = ["solve"]


def solve(
    A: Any, b: Any, x: Any, args: Sequence[Any] = (), method: str = "cg", tol: float = 1e-6, maxiter: int = 5000
) -> None:
    """Set the field `x` to the solution of A x = b. A is given as a kernel, so no matrix is stored.

    Example:
        k, b, x, loss = (ti.field(ti.f64, n, needs_grad=True) for n in (2, 2, 2, ()))

        @ti.kernel
        def A(v: ti.template(), Av: ti.template(), shift: ti.f64):
            for i in v:
                Av[i] = (k[i] + shift) * v[i]

        @ti.kernel
        def energy():
            for i in x:
                loss[None] += x[i] ** 2

        k.fill(1.5)
        b.fill(4.0)
        with ti.ad.Tape(loss):
            ti.ad.solve(A, b, x, args=(0.5,))
            energy()
        b.grad.to_numpy()           # array([2., 2.])
        k.grad.to_numpy()           # array([-4., -4.])

    The fields that the kernel reads are parameters: here it is k.

    `A(v, Av, *args)` sets the field Av to A times v, which must be linear. A `ti.linalg.LinearOperator` is accepted,
    too. `b` and `x` are fields of floats with the same type and shape, of numbers, vectors or matrices. `x` holds the
    first guess. `method` is "cg", conjugate gradients for symmetric and positive definite A, or "bicgstab" for any
    invertible A. It ends when the norm of the residual is below `tol` times that of b. Sums are kept in f64.

    Under a tape, the call is one record. Its gradient solves A' l = x.grad, by the same method and with the same
    relative tolerance. Then b.grad grows by l, and the gradients of parameters by those of the product A x with the
    weights -l (the implicit function theorem). The products with the transposed A' come from the gradient of the
    kernel. So memory and precision do not depend on the number of steps. The tape keeps x and the parameters, if they
    are overwritten later. `args` carry no derivative. Forward mode solves A dx = db - dA x in the same way.

    Raises NotConverged if the tolerance is not reached in `maxiter` steps, by the solution or by a derivative. Raises
    CompilationError with the line if the kernel cannot be differentiated, TypeMismatch or ArgumentError for fields that
    do not fit."""
    apply = A.kernel if isinstance(A, LinearOperator) else A
    if not callable(apply):
        raise TypeMismatch(f"solve: A must be a kernel of two fields, not {shown(A)}")
    check_vectors("solve", b, x)
    if x is b:
        raise ArgumentError("solve: x and b must be different fields")
    if not is_one(method, METHODS):
        raise ArgumentError(f"solve: method must be one of {', '.join(METHODS)}, not {shown(method)}")
    tol, maxiter = number_of(tol, "tol", 0), whole_of(maxiter, "maxiter", 0)
    solved = System("ti.ad.solve", apply, tuple(args), b, x, method, tol, maxiter, relative=True).solve()
    if not solved:
        raise NotConverged(
            f"ti.ad.solve has not converged: the norm of the residual is {solved.residual:.3e} after at most {maxiter} "
            f"steps, more than {solved.tol:.3e}"
        )
