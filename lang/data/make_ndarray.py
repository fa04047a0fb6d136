"""`ti.ndarray` makes an array of the class that its element type needs."""

from __future__ import annotations

from typing import Any

from weft.ir.errors import TypeMismatch
from weft.lang.data import views as views  # sets what slices make
from weft.lang.data.ndarray import MatrixNdarray, Ndarray, ScalarNdarray, VectorNdarray
from weft.lang.values.makers import MAKERS
from weft.lang.values.types import MatrixType, StructType

__all__ = ["ndarray"]


def ndarray(dtype: Any, shape: Any, needs_grad: bool = False, needs_dual: bool = False) -> Any:
    """Make an ndarray of `shape` (a number or a tuple), filled with zeros. `dtype` is a primitive, vector, matrix or
    struct type. `needs_grad` makes the gradient `x.grad` and `needs_dual` the dual `x.dual`, ndarrays of the same type
    and shape (see `ti.ad`); `dtype` must have floats then. Raises TypeMismatch for another type.

    Example:
        a = ti.ndarray(ti.f32, (2, 3))
        a.fill(1.5)
        a[0, 2] = 4
        a.to_numpy().tolist()  # [[1.5, 1.5, 4.0], [1.5, 1.5, 1.5]]
        ti.ndarray(ti.math.vec2, 4)  # <ndarray f32x2, shape=(4,)>
    """
    if isinstance(dtype, StructType):
        from weft.lang.data.struct_ndarray import StructNdarray  # imported here because few programs need it

        if needs_grad or needs_dual:
            raise TypeMismatch("ndarrays of structs have no gradients and duals: use a field of structs")
        return StructNdarray(dtype, shape)
    if not isinstance(dtype, MatrixType):
        return ScalarNdarray(dtype, shape, needs_grad, needs_dual)
    made: type[Ndarray] = VectorNdarray if dtype.ndim == 1 else MatrixNdarray
    array = made.__new__(made)
    Ndarray.__init__(array, dtype, shape, needs_grad, needs_dual)
    return array


MAKERS.ndarray = ndarray
