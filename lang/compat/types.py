"""`ti.types`: the types of values, arrays and parameters.

    vec3 = ti.types.vector(3, ti.f32)
    particle = ti.types.struct(pos=vec3, mass=ti.f32)

A call of a vector, matrix or struct type makes a value of this type: `vec3(1, 2, 3)`.
"""

from __future__ import annotations

import importlib
from typing import Any

from weft.ir.errors import TypeMismatch
from weft.ir.types import Tensor
from weft.lang.compat.later import later
from weft.lang.values import types
from weft.lang.values.argpack import ArgPackType
from weft.lang.values.brackets import NDArray
from weft.lang.values.types import *  # noqa: F403
from weft.lang.values.types import MatrixType, StructType, VectorType, primitive

__all__ = [
    "NDArray",
    "argpack",
    "is_integral",
    "is_real",
    "is_signed",
    "is_tensor",
    "matrix",
    "sparse_matrix_builder",
    "struct",
    "vector",
]
__all__ += types.__all__


def vector(n: int, dtype: Any = float) -> VectorType:
    """The type of vectors of `n` elements of `dtype`: a primitive, `float` or `int` (the current defaults). A call
    makes a value; as an annotation, it is the type of a parameter. Raises TypeMismatch for another `dtype`.

    Example:
        vec5 = ti.types.vector(5, ti.f32)
        vec5(1)  # [1. 1. 1. 1. 1.]
        vec5(1, 2, 3, 4, 5).sum()  # 15.0
    """
    return VectorType(n, dtype)


def matrix(n: int, m: int, dtype: Any = float) -> MatrixType:
    """The type of n x m matrices of `dtype`: a primitive, `float` or `int` (the current defaults). A call makes a
    value. Raises TypeMismatch for another `dtype`.

    Example:
        mat23 = ti.types.matrix(2, 3, ti.f32)
        mat23([[1, 2, 3], [4, 5, 6]]) @ ti.Vector([1.0, 0.0, 1.0])  # [4. 10.]
    """
    return MatrixType(n, m, dtype)


def struct(**members: Any) -> StructType:
    """The type of structs with these members, in this order. `__struct_methods={name: function}` adds methods. Raises
    TypeMismatch for members that are no types.

    Example:
        particle = ti.types.struct(pos=ti.math.vec2, mass=ti.f32)
        p = particle(pos=[1, 2], mass=0.5)
        p.pos * p.mass  # [0.5 1. ]
    """
    methods = members.pop("__struct_methods", {})
    return StructType(members, methods)


def is_real(dtype: Any) -> bool:
    """Whether `dtype` is a floating-point type. Raises TypeMismatch for what is no primitive type.

    Example:
        ti.types.is_real(ti.f32), ti.types.is_real(ti.i32)  # (True, False)
    """
    return primitive(dtype).is_float


def is_integral(dtype: Any) -> bool:
    """Whether `dtype` is an integer type, including u1. Raises TypeMismatch for what is no primitive type.

    Example:
        ti.types.is_integral(ti.u8), ti.types.is_integral(ti.f32)  # (True, False)
    """
    return primitive(dtype).is_int


def is_signed(dtype: Any) -> bool:
    """Whether `dtype` is a signed integer type. Raises TypeMismatch for a float type.

    Example:
        ti.types.is_signed(ti.i32), ti.types.is_signed(ti.u32)  # (True, False)
    """
    prim = primitive(dtype)
    if prim.is_float:
        raise TypeMismatch(f"{prim} is not an integer type")
    return prim.is_signed


def is_tensor(dtype: Any) -> bool:
    """Whether `dtype` is a vector or matrix type. It is False for anything else.

    Example:
        ti.types.is_tensor(ti.math.vec3), ti.types.is_tensor(ti.f32)  # (True, False)
    """
    return isinstance(dtype, MatrixType | Tensor)


def argpack(**members: Any) -> ArgPackType:
    """Return the type of argument packs with those members: values, arrays, inner packs. A kernel takes a pack as one
    argument. Raises TypeMismatch for members that are no types.

    Example:
        params = ti.types.argpack(dt=ti.f32, n=ti.i32)

        @ti.kernel
        def run(p: params) -> ti.f32:
            return p.dt * p.n

        run(params(dt=0.5, n=10))  # 5.0
    """
    return ArgPackType(members)


def sparse_matrix_builder() -> Any:
    """Annotate a parameter of a kernel that takes a `ti.linalg.SparseMatrixBuilder`. `K[i, j] += v` adds a triplet.

    Example:
        @ti.kernel
        def laplace(K: ti.types.sparse_matrix_builder()):
            for i in range(4):
                K[i, i] += 2.0

        K = ti.linalg.SparseMatrixBuilder(4, 4, max_num_triplets=16)
        laplace(K)
        K.build()[3, 3]  # 2.0
    """
    return importlib.import_module("weft.lang.sparse_matrices.builder").BuilderType()


def __getattr__(name: str) -> Any:
    waits = "" if name.startswith("_") else later(f"types.{name}")
    raise AttributeError(
        f"weft.types has no attribute '{name}'"
        + (f" yet: it is part of a feature that is not implemented ({waits})" if waits else "")
    )
