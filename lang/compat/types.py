"""`ti.types`: the types of values, arrays and parameters.

    vec3 = ti.types.vector(3, ti.f32)
    particle = ti.types.struct(pos=vec3, mass=ti.f32)

A call of a vector, matrix or struct type makes a value of this type: `vec3(1, 2, 3)`.
"""

from __future__ import annotations

import importlib
from typing import Any

from weft.lang.compat.later import later
from weft.lang.values import types
from weft.lang.values.argpack import ArgPackType
from weft.lang.values.brackets import NDArray
from weft.lang.values.types import *  # noqa: F403

__all__ = ["NDArray", "argpack", "sparse_matrix_builder"]
__all__ += types.__all__


def argpack(**members: Any) -> ArgPackType:
    """Return the type of argument packs with those members: values, arrays, inner packs."""
    return ArgPackType(members)


def sparse_matrix_builder() -> Any:
    """Annotate a parameter of a kernel that takes a `ti.linalg.SparseMatrixBuilder`."""
    return importlib.import_module("weft.lang.sparse_matrices.builder").BuilderType()


def __getattr__(name: str) -> Any:
    waits = "" if name.startswith("_") else later(f"types.{name}")
    raise AttributeError(
        f"weft.types has no attribute '{name}'"
        + (f" yet: it is part of a feature that is not implemented ({waits})" if waits else "")
    )
