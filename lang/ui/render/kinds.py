"""What the parameters of the renderer's kernels are: arrays of numbers and of small vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.argpack import ArgPackType
from weft.lang.arrays.borrow import view_of
from weft.lang.init import cuda, program
from weft.lang.ndarray import MatrixNdarray, VectorNdarray, ndarray
from weft.lang.types import prim_of_numpy

if TYPE_CHECKING:
    from typing import TypeAlias

    class _Pack:
        def __init__(self, *values: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

    # What they are to a checker.
    Ints: TypeAlias = Any
    Floats: TypeAlias = Any
    Points: TypeAlias = Any
    Colors: TypeAlias = Any
    Quads: TypeAlias = Any
    Boxes: TypeAlias = Any
    Triples: TypeAlias = Any
    Edges: TypeAlias = Any
    Ends: TypeAlias = Any
    Depths: TypeAlias = Any
    Pixels: TypeAlias = Any
    Packed: TypeAlias = Any
    Vec2: TypeAlias = Any
    Vec3: TypeAlias = Any
    Vec4: TypeAlias = Any
    Mat3: TypeAlias = Any
    BinsPack: TypeAlias = _Pack
    ViewPack: TypeAlias = _Pack
    BallsPack: TypeAlias = _Pack
    FacesPack: TypeAlias = _Pack
    RodsPack: TypeAlias = _Pack
    LampsPack: TypeAlias = _Pack
    i32: TypeAlias = int
    f32: TypeAlias = float
else:
    from weft.lang.types import MatrixType, NdarrayType, VectorType, f32, i32, u32

    Vec2, Vec3, Vec4 = (VectorType(n, f32) for n in (2, 3, 4))
    Mat3 = MatrixType(3, 3, f32)
    Ints, Floats = NdarrayType(dtype=i32, ndim=1), NdarrayType(dtype=f32, ndim=1)
    Points, Colors, Quads = (NdarrayType(dtype=kind, ndim=1) for kind in (Vec2, Vec3, Vec4))
    Boxes, Triples = (NdarrayType(dtype=VectorType(n, i32), ndim=1) for n in (4, 3))
    Edges = NdarrayType(dtype=Mat3, ndim=1)
    Ends = NdarrayType(dtype=Vec3, ndim=2)
    Pixels, Depths = NdarrayType(dtype=Vec3, ndim=2), NdarrayType(dtype=f32, ndim=2)
    Packed = NdarrayType(dtype=u32, ndim=2)

    # See `bins.py`: `slices` is 0 where there are no shapes.
    BinsPack = ArgPackType({"slices": i32, "starts": Ints, "entries": Ints, "span": Floats}, "Bins")
    # The picture, and what an `Eye` sees.
    ViewPack = ArgPackType({"width": i32, "height": i32, "lens": Vec4, "near": f32, "far": f32, "flat": i32}, "View")
    # `places`: x, y, depth, radius.
    BallsPack = ArgPackType({"count": i32, "bins": BinsPack, "places": Quads, "colors": Colors}, "Balls")
    # See `mark_faces`; `corners` are indices into `normals` and `colors`.
    _faces = {"edges": Edges, "origins": Points, "deeps": Colors, "corners": Triples}
    _looks = {"normals": Colors, "colors": Colors, "two_sided": Ints}
    FacesPack = ArgPackType({"count": i32, "bins": BinsPack, **_faces, **_looks}, "Faces")
    # `heads`: pixel, depth, half a width; `tails`: pixel, depth; the colours of both.
    RodsPack = ArgPackType({"bins": BinsPack, "heads": Quads, "tails": Colors, "first": Colors, "last": Colors}, "Rods")
    LampsPack = ArgPackType({"count": i32, "places": Colors, "colors": Colors, "ambient": Vec3}, "Lamps")

__all__ = [
    "BallsPack",
    "BinsPack",
    "Boxes",
    "Colors",
    "Depths",
    "Edges",
    "Ends",
    "FacesPack",
    "Floats",
    "Ints",
    "LampsPack",
    "Mat3",
    "Packed",
    "Pixels",
    "Points",
    "Quads",
    "RodsPack",
    "Rooms",
    "Triples",
    "Vec2",
    "Vec3",
    "Vec4",
    "ViewPack",
    "f32",
    "i32",
    "in_place",
    "on_device",
    "on_host",
    "put",
    "room",
]


def in_place(values: Any, ndim: int, last: int) -> Any:
    """A field or array of f32 as kernels can read it where it lies, if it has so many axes and the last is so long;
    None for others."""
    try:
        view = view_of(values)
    except TypeMismatch:
        return None
    if view is None or view.dtype != np.float32 or len(view.shape) != ndim or view.shape[-1] != last:
        return None
    return view


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


def put(array: Any, values: Any) -> None:
    """Set such an array to the numbers of a numpy array of its shape."""
    if isinstance(array, np.ndarray):
        array[...] = values
    else:
        array.from_numpy(values)


class Rooms:
    """Arrays by name, as `room` gives them, that are kept from frame to frame. What is in them is left as it was."""

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}

    def get(self, name: str, dtype: Any, count: int, *element: int) -> Any:
        """The array of that name, of at least so many elements."""
        kept = self._kept.get(name)
        if kept is None or kept.shape[0] < count:
            more = 1 if kept is None else 1.5  # it grows: leave room for the next frames
            kept = self._kept[name] = room(dtype, (max(1, int(count * more)),), element)
        return kept
