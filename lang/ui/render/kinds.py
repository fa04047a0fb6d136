"""What the parameters of the renderer's kernels are: arrays of numbers and of small vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.lang.init import cuda, program
from weft.lang.ndarray import MatrixNdarray, VectorNdarray, ndarray
from weft.lang.types import prim_of_numpy

if TYPE_CHECKING:
    from typing import TypeAlias

    # What they are to a checker.
    Ints: TypeAlias = Any
    Floats: TypeAlias = Any
    Points: TypeAlias = Any
    Colors: TypeAlias = Any
    Quads: TypeAlias = Any
    Boxes: TypeAlias = Any
    Triples: TypeAlias = Any
    Edges: TypeAlias = Any
    Depths: TypeAlias = Any
    Pixels: TypeAlias = Any
    Packed: TypeAlias = Any
    Vec2: TypeAlias = Any
    Vec3: TypeAlias = Any
    Vec4: TypeAlias = Any
    i32: TypeAlias = int
    f32: TypeAlias = float
else:
    from weft.lang.types import MatrixType, NdarrayType, VectorType, f32, i32, u32

    Vec2, Vec3, Vec4 = (VectorType(n, f32) for n in (2, 3, 4))
    Ints, Floats = NdarrayType(dtype=i32, ndim=1), NdarrayType(dtype=f32, ndim=1)
    Points, Colors, Quads = (NdarrayType(dtype=kind, ndim=1) for kind in (Vec2, Vec3, Vec4))
    Boxes, Triples = (NdarrayType(dtype=VectorType(n, i32), ndim=1) for n in (4, 3))
    Edges = NdarrayType(dtype=MatrixType(3, 3, f32), ndim=1)
    Pixels, Depths = NdarrayType(dtype=Vec3, ndim=2), NdarrayType(dtype=f32, ndim=2)
    Packed = NdarrayType(dtype=u32, ndim=2)

__all__ = [
    "Boxes",
    "Colors",
    "Depths",
    "Edges",
    "Floats",
    "Ints",
    "Packed",
    "Pixels",
    "Points",
    "Quads",
    "Triples",
    "Vec2",
    "Vec3",
    "Vec4",
    "f32",
    "i32",
    "on_device",
    "on_host",
    "room",
]


def on_device(array: Any, dtype: Any, element: tuple[int, ...] = ()) -> Any:
    """The numbers where kernels reach them at once: on the CPU the array itself (contiguous, of that numpy type), on a
    GPU a copy there. `element`: the last axes, which make up an element. Of an empty array one element, of zeros."""
    array = np.ascontiguousarray(array, dtype)
    if not len(array):
        array = np.zeros((1, *element), dtype)
    if program().arch != cuda:
        return array
    copy = _space(dtype, array.shape[: array.ndim - len(element)], element)
    copy.from_numpy(array)
    return copy


def _space(dtype: Any, shape: tuple[int, ...], element: tuple[int, ...]) -> Any:
    prim = prim_of_numpy(np.dtype(dtype))
    if len(element) == 2:
        return MatrixNdarray(element[0], element[1], prim, shape)
    return VectorNdarray(element[0], prim, shape) if element else ndarray(prim, shape)


def room(dtype: Any, shape: tuple[int, ...], element: tuple[int, ...] = ()) -> Any:
    """An array of zeros for kernels to fill, as `on_device` gives them."""
    if program().arch != cuda:
        return np.zeros((*shape, *element), dtype)
    return _space(dtype, shape, element)


def on_host(array: Any) -> Any:
    """The numbers of such an array as a numpy array."""
    return array if isinstance(array, np.ndarray) else array.to_numpy()
