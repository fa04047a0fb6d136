"""Dense fields of floats as vectors: scalar products, sums, and fields that solvers work with."""

from __future__ import annotations

import weakref
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from weft.ir.errors import TypeMismatch
from weft.lang.data.field import Field, MatrixField, ScalarField
from weft.lang.data.make_field import field, make_matrix_field
from weft.lang.errors import ArgumentError
from weft.lang.kernels.kernel import kernel
from weft.lang.program.init import Program, program
from weft.lang.values.builtins import cast, grouped, static

if TYPE_CHECKING:
    Template = Any  # to type checkers: the type of the arguments and results
    f64 = Any
else:
    from weft.lang.values.types import Template, f64

__all__ = ["check_vectors", "combine", "dot", "workspace"]


def check_vectors(name: str, b: Any, x: Any) -> None:
    """Raise TypeMismatch or ArgumentError unless `b` and `x` are two fields of floats of one type and shape."""
    for label, vector in (("b", b), ("x", x)):
        if not isinstance(vector, ScalarField | MatrixField) or not vector.dtype.is_float:
            raise TypeMismatch(f"{name}: {label} must be a field of f32 or f64, not {vector!r}")
    if b.dtype != x.dtype:
        raise TypeMismatch(f"{name}: b has type {b.dtype}, but x has type {x.dtype}: the types must be equal")
    if b.shape != x.shape or b.element_shape != x.element_shape:
        raise ArgumentError(f"{name}: b has shape {b.shape}, but x has shape {x.shape}: the shapes must be equal")


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
def combine(out: Template, a: Template, s: f64, b: Template) -> None:
    """Compute out = a + s b. `out` may be a or b."""
    for at in grouped(out):
        out[at] = a[at] + cast(s, out.dtype) * b[at]


def dot(a: Any, b: Any) -> float:
    """The scalar product."""
    return float(_dot(a, b, isinstance(a, MatrixField)))


_free: weakref.WeakKeyDictionary[Program, dict[Any, list[Field]]] = weakref.WeakKeyDictionary()


@contextmanager
def workspace(like: Any, count: int, needs_grad: bool = False, needs_dual: bool = False) -> Generator[list[Any]]:
    """So many vectors like that one, with any numbers. They are used again and again, so that kernels are compiled for
    them only once."""
    inner = like.element_shape
    key = like.dtype, inner, like.shape, needs_grad, needs_dual
    free = _free.setdefault(program(), {}).setdefault(key, [])
    vectors: list[Any] = []
    try:
        for _ in range(count):
            vectors.append(free.pop(0) if free else _vector(like, needs_grad, needs_dual))
        yield vectors
    finally:
        free[:0] = vectors  # in the same order for the next one


def _vector(like: Any, needs_grad: bool, needs_dual: bool) -> Any:
    if isinstance(like, MatrixField):
        shape = like.ir.shape
        return make_matrix_field(shape, like.dtype, like.shape, needs_grad=needs_grad, needs_dual=needs_dual)
    return field(like.dtype, like.shape, needs_grad=needs_grad, needs_dual=needs_dual)
