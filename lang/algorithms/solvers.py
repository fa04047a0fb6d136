"""`ti.linalg`: solve A x = b for an A that is given only as a function of a vector.

The vectors are dense fields of floats, of any shape. A is a `LinearOperator` around a kernel. Sums are kept in f64, so
f32 fields converge as far as their own precision allows.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import TYPE_CHECKING, Any

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import flag_of, number_of, shown, whole_of
from weft.lang.data.field import Field, MatrixField, ScalarField
from weft.lang.data.make_field import field, make_matrix_field
from weft.lang.errors import ArgumentError
from weft.lang.kernels.kernel import kernel
from weft.lang.values.builtins import cast, grouped, static

if TYPE_CHECKING:
    Template = Any  # to type checkers: the type of the arguments and results
    f64 = Any
else:
    from weft.lang.values.types import Template, f64

__all__ = ["LinearOperator", "MatrixFreeBICGSTAB", "MatrixFreeCG", "taichi_cg_solver"]


class LinearOperator:
    """A matrix as a kernel `matvec_kernel(x, Ax)`, both `ti.template()`, that sets the field Ax to A times x."""

    def __init__(self, matvec_kernel: Callable[[Any, Any], None]) -> None:
        if not callable(matvec_kernel):
            raise TypeMismatch(f"LinearOperator takes a kernel of two fields, not {matvec_kernel!r}")
        self._apply = matvec_kernel

    def matvec(self, x: Any, Ax: Any) -> None:
        """Set Ax to A times x. Raises TypeMismatch for an object that is not a field, ArgumentError if the shapes
        differ."""
        for name, vector in (("x", x), ("Ax", Ax)):
            if not isinstance(vector, Field):
                raise TypeMismatch(f"matvec: {name} must be a field, not {shown(vector)}")
        if x.shape != Ax.shape:
            raise ArgumentError(f"matvec: x has shape {x.shape}, but Ax has shape {Ax.shape}: the shapes must be equal")
        self._apply(x, Ax)


@kernel
def _dot(a: Template, b: Template, vectors: Template) -> f64:
    total = cast(0, f64)
    for at in grouped(a):
        if static(vectors):
            total += cast(a[at].dot(b[at]), f64)
        else:
            total += cast(a[at] * b[at], f64)
    return total


@kernel
def _combine(out: Template, a: Template, s: f64, b: Template) -> None:
    """Compute out = a + s b. `out` may be a or b."""
    for at in grouped(out):
        out[at] = a[at] + cast(s, out.dtype) * b[at]


class _Space:
    """The vectors like `b`: allocation, products and sums; and the stopping criterion."""

    def __init__(self, name: str, A: Any, b: Any, x: Any, tol: Any, maxiter: Any, quiet: Any) -> None:
        if not isinstance(A, LinearOperator):
            raise TypeMismatch(f"{name}: A must be a LinearOperator made of a kernel, not {A!r}")
        for label, vector in (("b", b), ("x", x)):
            if not isinstance(vector, ScalarField | MatrixField) or not vector.dtype.is_float:
                raise TypeMismatch(f"{name}: {label} must be a field of f32 or f64, not {vector!r}")
        if b.dtype != x.dtype:
            raise TypeMismatch(f"{name}: b has type {b.dtype}, but x has type {x.dtype}: the types must be equal")
        if b.shape != x.shape:
            raise ArgumentError(f"{name}: b has shape {b.shape}, but x has shape {x.shape}: the shapes must be equal")
        self.b, self.vectors = b, isinstance(b, MatrixField)
        self.tol, self.maxiter = number_of(tol, "tol", 0), whole_of(maxiter, "maxiter", 0)
        self.quiet = flag_of(quiet, "quiet")

    def new(self) -> Field:
        """Return a vector of zeros."""
        made: Field = (
            make_matrix_field(self.b.ir.shape, self.b.dtype, self.b.shape)
            if self.vectors
            else field(self.b.dtype, self.b.shape)
        )
        return made

    def dot(self, a: Any, b: Any) -> float:
        """Return the scalar product."""
        return float(_dot(a, b, self.vectors))

    def residual(self, A: LinearOperator, x: Any, r: Any) -> None:
        """Compute r = b - A x."""
        A.matvec(x, r)
        _combine(r, self.b, -1.0, r)


def MatrixFreeCG(  # noqa: N802 - as Taichi spells it
    A: LinearOperator, b: Any, x: Any, tol: float = 1e-6, maxiter: int = 5000, quiet: bool = True
) -> bool:
    """Solve A x = b by conjugate gradients, for a symmetric and positive definite A. `x` holds the first guess, then
    the solution. Returns whether the norm of the residual fell below `tol` within `maxiter` steps; `quiet=False` prints
    it."""
    space = _Space("MatrixFreeCG", A, b, x, tol, maxiter, quiet)
    r, p, Ap = space.new(), space.new(), space.new()
    space.residual(A, x, r)
    p.copy_from(r)
    rr = space.dot(r, r)
    for step in range(space.maxiter):
        if sqrt(rr) < space.tol:
            return True
        A.matvec(p, Ap)
        curvature = space.dot(p, Ap)
        if curvature == 0.0:
            return False
        _combine(x, x, rr / curvature, p)
        _combine(r, r, -rr / curvature, Ap)
        before, rr = rr, space.dot(r, r)
        _combine(p, r, rr / before, p)
        _report(space.quiet, step, rr)
    return sqrt(rr) < space.tol


def MatrixFreeBICGSTAB(  # noqa: N802
    A: LinearOperator, b: Any, x: Any, tol: float = 1e-6, maxiter: int = 5000, quiet: bool = True
) -> bool:
    """Solve A x = b by the stabilised biconjugate gradient method, for any invertible A. Arguments and result are as
    for MatrixFreeCG.

    Each step first goes along p until the residual s is orthogonal to the shadow residual r0, then along s as far as
    minimizes the residual."""
    space = _Space("MatrixFreeBICGSTAB", A, b, x, tol, maxiter, quiet)
    r, r0, p, Ap, As = space.new(), space.new(), space.new(), space.new(), space.new()
    space.residual(A, x, r)
    r0.copy_from(r)
    p.copy_from(r)
    rho, rr = space.dot(r0, r), space.dot(r, r)
    for step in range(space.maxiter):
        if sqrt(rr) < space.tol:
            return True
        A.matvec(p, Ap)
        against = space.dot(r0, Ap)
        if against == 0.0 or rho == 0.0:
            return False  # breakdown: r0 is orthogonal to A p or to r
        alpha = rho / against
        _combine(x, x, alpha, p)
        _combine(r, r, -alpha, Ap)
        A.matvec(r, As)
        length = space.dot(As, As)
        omega = space.dot(As, r) / length if length else 0.0
        _combine(x, x, omega, r)
        _combine(r, r, -omega, As)
        rr = space.dot(r, r)
        _report(space.quiet, step, rr)
        if omega == 0.0:
            break
        before, rho = rho, space.dot(r0, r)
        _combine(p, p, -omega, Ap)
        _combine(p, r, rho / before * (alpha / omega), p)
    return sqrt(rr) < space.tol


taichi_cg_solver = MatrixFreeCG


def _report(quiet: bool, step: int, rr: float) -> None:
    if not quiet:
        print(f"step {step + 1}: residual {sqrt(rr):.6e}")
