"""Products and solutions with sparse matrices as single records of a tape, and their duals.

    x = A b         gradient of b += A' g                           of A[i, j] += g[i] b[j]
                    dx = A db + dA b
    A x = b         gradient of b += l,  where  A' l = g            of A[i, j] -= l[i] x[j]
                    A dx = db - dA x

Here g is the gradient of x. The elements of a matrix have gradients if they came from an ndarray of triplets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.ir.types import Prim
from weft.lang.data.make_ndarray import ndarray
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.operations import Duals, Gradients, Operation, perform
from weft.lang.data.writes import LISTENERS

__all__ = ["Map", "Source"]


@dataclass
class Source:
    """Where the elements of a matrix came from: an ndarray of triplets (row, column, value), and for each triplet the
    number of its element."""

    triplets: Ndarray
    elements: Any

    def add(self, gradients: Gradients, numbers: Any) -> None:
        """Add to the gradient of the triplets, from the gradient of each element."""
        grad = gradients.gradient_of(self.triplets)
        if grad is not None:
            whole = grad.to_numpy()
            whole.reshape(-1, 3)[:, 2] += numbers[self.elements]
            grad.from_numpy(whole)

    def duals(self, duals: Duals, count: int) -> Any:
        """The dual of each element of a matrix with so many."""
        dual = duals.dual_of(self.triplets)
        if dual is None:
            return np.zeros(count)
        return np.bincount(self.elements, dual.to_numpy().reshape(-1, 3)[:, 2], count)


@dataclass
class Map:
    """A vector that a sparse matrix makes of another one. `compute(b)` gives it, `adjoint(g)` the gradient of b, and
    `of_elements(adjoint, g, b, x)` that of each element of the matrix. `along(db, numbers, b, x)` gives the dual of the
    vector, from those of b and of the `count` elements. All are numpy arrays. `name` is that of messages."""

    name: str
    dtype: Prim
    length: int
    source: Source | None
    compute: Callable[[Any], Any]
    adjoint: Callable[[Any], Any]
    of_elements: Callable[[Any, Any, Any, Any], Any]
    along: Callable[[Any, Any, Any, Any], Any]
    count: int

    def recorded(self, b: Any) -> Ndarray | None:
        """The vector as an ndarray with a gradient, if an open block of `ti.ad` may need it. None otherwise."""
        own = [] if self.source is None else [self.source.triplets]
        companions = getattr(b, "companions", ())
        known = isinstance(b, Ndarray) or "grad" in companions or "dual" in companions
        if not LISTENERS.get() or not (known or own):
            return None
        needs_dual = any(getattr(one, "has_duals", False) for one in LISTENERS.get())
        x: Ndarray = ndarray(self.dtype, self.length, needs_grad=True, needs_dual=needs_dual)
        given = [b] if known else []
        numbers = None if known else np.array(_host(b))

        def value() -> Any:
            return _host(b) if numbers is None else numbers

        def run() -> None:
            x.from_numpy(self.compute(value()))

        def back(gradients: Gradients, _: Any) -> None:
            g = gradients.gradient_of(x).to_numpy()
            gradients.gradient_of(x).fill(0.0)
            found = self.adjoint(g)
            into = gradients.gradient_of(b) if known else None
            if into is not None:
                into.from_numpy(into.to_numpy() + found)
            if self.source is not None:
                self.source.add(gradients, self.of_elements(found, g, value(), x.to_numpy()))

        def ahead(duals: Duals) -> None:
            into = duals.dual_of(b) if known else None
            change = np.zeros(len(value())) if into is None else into.to_numpy()
            numbers = np.zeros(self.count) if self.source is None else self.source.duals(duals, self.count)
            found = self.along(change, numbers, value(), x.to_numpy())
            duals.dual_of(x).from_numpy(found.astype(self.dtype.np))

        perform(Operation(self.name, run, back, [*given, *own], [x], [*given, x], fresh=True, ahead=ahead))
        return x


def _host(vector: Any) -> Any:
    return vector if isinstance(vector, np.ndarray) else vector.to_numpy()
