"""`ti.linalg`: solve A x = b for an A that is given only as a function of a vector.

The vectors are dense fields of floats, of any shape. A is a `LinearOperator` around a kernel. Sums are kept in f64, so
f32 fields converge as far as their own precision allows. Under a tape, a solution is one call, see `implicit.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import flag_of, number_of, shown, whole_of
from weft.lang.data.field import Field
from weft.lang.errors import ArgumentError
from weft.lang.linear.implicit import System
from weft.lang.linear.krylov import silent
from weft.lang.linear.vectors import check_vectors

__all__ = ["LinearOperator", "MatrixFreeBICGSTAB", "MatrixFreeCG", "taichi_cg_solver"]


class LinearOperator:
    """A matrix as a kernel `matvec_kernel(x, Ax)`, both `ti.template()`, that sets the field Ax to A times x.

    Example:
        n = 4
        b, x = ti.field(ti.f64, n), ti.field(ti.f64, n)
        b.fill(2)

        @ti.kernel
        def twice(v: ti.template(), result: ti.template()):
            for i in v:
                result[i] = 2 * v[i]

        ti.linalg.MatrixFreeCG(ti.linalg.LinearOperator(twice), b, x)  # True
        x.to_numpy().tolist()  # [1.0, 1.0, 1.0, 1.0]
    """

    def __init__(self, matvec_kernel: Callable[[Any, Any], None]) -> None:
        if not callable(matvec_kernel):
            raise TypeMismatch(f"LinearOperator takes a kernel of two fields, not {matvec_kernel!r}")
        self.kernel = matvec_kernel

    def matvec(self, x: Any, Ax: Any) -> None:
        """Set Ax to A times x. Raises TypeMismatch for an object that is not a field, ArgumentError if the shapes
        differ."""
        for name, vector in (("x", x), ("Ax", Ax)):
            if not isinstance(vector, Field):
                raise TypeMismatch(f"matvec: {name} must be a field, not {shown(vector)}")
        if x.shape != Ax.shape:
            raise ArgumentError(f"matvec: x has shape {x.shape}, but Ax has shape {Ax.shape}: the shapes must be equal")
        self.kernel(x, Ax)


def MatrixFreeCG(  # noqa: N802 - as Taichi spells it
    A: LinearOperator, b: Any, x: Any, tol: float = 1e-6, maxiter: int = 5000, quiet: bool = True
) -> bool:
    """Solve A x = b by conjugate gradients, for a symmetric and positive definite A. `x` holds the first guess, then
    the solution. Returns whether the norm of the residual fell below `tol` within `maxiter` steps; `quiet=False` prints
    it.

    Under a tape, the gradient of `x` gives those of `b` and of the fields that A reads, by the solution of a second
    system. See `ti.ad.solve`.

    Example:
        n = 4
        b, x = ti.field(ti.f64, n), ti.field(ti.f64, n)
        b.fill(1)

        @ti.kernel
        def laplace(v: ti.template(), result: ti.template()):
            for i in v:
                left = v[i - 1] if i > 0 else 0.0
                right = v[i + 1] if i < n - 1 else 0.0
                result[i] = 2 * v[i] - left - right

        ti.linalg.MatrixFreeCG(ti.linalg.LinearOperator(laplace), b, x, tol=1e-10)  # True
        x.to_numpy().round(6).tolist()  # [2.0, 3.0, 3.0, 2.0]
    """
    return _solved("MatrixFreeCG", "cg", A, b, x, tol, maxiter, quiet)


def MatrixFreeBICGSTAB(  # noqa: N802
    A: LinearOperator, b: Any, x: Any, tol: float = 1e-6, maxiter: int = 5000, quiet: bool = True
) -> bool:
    """Solve A x = b by the stabilised biconjugate gradient method, for any invertible A. Arguments and result are as
    for MatrixFreeCG.

    Example:
        b, x = ti.field(ti.f64, 3), ti.field(ti.f64, 3)
        b.fill(1)

        @ti.kernel
        def upwind(v: ti.template(), result: ti.template()):
            for i in v:
                result[i] = 3 * v[i] - (v[i - 1] if i > 0 else 0.0)

        ti.linalg.MatrixFreeBICGSTAB(ti.linalg.LinearOperator(upwind), b, x, tol=1e-10)  # True
        x.to_numpy().round(4).tolist()  # [0.3333, 0.4444, 0.4815]
    """
    return _solved("MatrixFreeBICGSTAB", "bicgstab", A, b, x, tol, maxiter, quiet)


taichi_cg_solver = MatrixFreeCG


def _solved(name: str, method: str, A: Any, b: Any, x: Any, tol: Any, maxiter: Any, quiet: Any) -> bool:
    if not isinstance(A, LinearOperator):
        raise TypeMismatch(f"{name}: A must be a LinearOperator made of a kernel, not {A!r}")
    check_vectors(name, b, x)
    tol, maxiter = number_of(tol, "tol", 0), whole_of(maxiter, "maxiter", 0)
    report = silent if flag_of(quiet, "quiet") else _report
    return bool(System(name, A.kernel, (), b, x, method, tol, maxiter, report).solve())


def _report(step: int, rr: float) -> None:
    print(f"step {step + 1}: residual {sqrt(rr):.6e}")
