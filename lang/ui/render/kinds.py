"""The parameter types of the renderer's kernels: arrays of numbers and of small vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.lang.values.argpack import ArgPackType
from weft.lang.values.kinds import Mat3, Vec2, Vec3, Vec4, f32, i32

if TYPE_CHECKING:
    from typing import TypeAlias

    class _Pack:
        def __init__(self, *values: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

    # Their types for a type checker.
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
    BinsPack: TypeAlias = _Pack
    ViewPack: TypeAlias = _Pack
    BallsPack: TypeAlias = _Pack
    FacesPack: TypeAlias = _Pack
    RodsPack: TypeAlias = _Pack
    LampsPack: TypeAlias = _Pack
else:
    from weft.lang.values.types import NdarrayType, VectorType, u32

    Ints, Floats = NdarrayType(dtype=i32, ndim=1), NdarrayType(dtype=f32, ndim=1)
    Points, Colors, Quads = (NdarrayType(dtype=kind, ndim=1) for kind in (Vec2, Vec3, Vec4))
    Boxes, Triples = (NdarrayType(dtype=VectorType(n, i32), ndim=1) for n in (4, 3))
    Edges = NdarrayType(dtype=Mat3, ndim=1)
    Ends = NdarrayType(dtype=Vec3, ndim=2)
    Pixels, Depths = NdarrayType(dtype=Vec3, ndim=2), NdarrayType(dtype=f32, ndim=2)
    Packed = NdarrayType(dtype=u32, ndim=2)

    # See `bins.py`. `slices` is 0 if there are no shapes.
    BinsPack = ArgPackType({"slices": i32, "starts": Ints, "entries": Ints, "span": Floats}, "Bins")
    # The picture, and the members of an `Eye`.
    ViewPack = ArgPackType({"width": i32, "height": i32, "lens": Vec4, "near": f32, "far": f32, "flat": i32}, "View")
    # `places` is x, y, depth, radius.
    BallsPack = ArgPackType({"count": i32, "bins": BinsPack, "places": Quads, "colors": Colors}, "Balls")
    # See `mark_faces`. `corners` are indices into `normals` and `colors`.
    _faces = {"edges": Edges, "origins": Points, "deeps": Colors, "corners": Triples}
    _looks = {"normals": Colors, "colors": Colors, "two_sided": Ints}
    FacesPack = ArgPackType({"count": i32, "bins": BinsPack, **_faces, **_looks}, "Faces")
    # `heads` is pixel, depth, half of the width; `tails` is pixel, depth; then the colours of both ends.
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
    "Triples",
    "Vec2",
    "Vec3",
    "Vec4",
    "ViewPack",
    "f32",
    "i32",
]
