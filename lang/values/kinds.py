"""Annotations for the parameters of Weft's own kernels. The compiler sees Weft's types. A type checker sees Python
types, because it checks the body of a kernel with the annotations as types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TypeAlias

    Constant: TypeAlias = Any
    FieldOf: TypeAlias = Any
    Cell: TypeAlias = Any
    Cells: TypeAlias = Any
    Numbers: TypeAlias = Any
    Table: TypeAlias = Any
    Integers: TypeAlias = Any
    Longs: TypeAlias = Any
    LongTable: TypeAlias = Any
    Vec2: TypeAlias = Any
    Vec3: TypeAlias = Any
    Vec4: TypeAlias = Any
    Mat3: TypeAlias = Any
    i32: TypeAlias = int
    i64: TypeAlias = int
    u64: TypeAlias = int
    f32: TypeAlias = float
else:
    from weft.lang.values.types import MatrixType, NdarrayType, Template, VectorType, f32, i32, i64, u64

    Constant = FieldOf = Template()
    Cell, Numbers, Table = NdarrayType(ndim=0), NdarrayType(ndim=1), NdarrayType(ndim=2)
    Integers, Longs, LongTable = NdarrayType(i32, 1), NdarrayType(i64, 1), NdarrayType(i64, 2)
    Cells = NdarrayType()  # of any number of axes, and with elements of any type
    Vec2, Vec3, Vec4 = (VectorType(n, f32) for n in (2, 3, 4))
    Mat3 = MatrixType(3, 3, f32)

__all__ = [
    "Cell",
    "Cells",
    "Constant",
    "FieldOf",
    "Integers",
    "LongTable",
    "Longs",
    "Mat3",
    "Numbers",
    "Table",
    "Vec2",
    "Vec3",
    "Vec4",
    "f32",
    "i32",
    "i64",
    "u64",
]
