"""`ti.sparse`: fields of structs whose elements exist one by one."""

from __future__ import annotations

import math
from typing import Any

from weft.ir.errors import CompilationError, TypeMismatch
from weft.lang.data.axes import axes
from weft.lang.data.field import Field
from weft.lang.data.field_tree import FieldError
from weft.lang.data.snode_api import FieldsBuilder
from weft.lang.data.struct_field import StructField
from weft.lang.sparse_fields.elements import count
from weft.lang.values.struct import Struct
from weft.lang.values.types import shape_tuple

__all__ = ["grid", "usage"]


def grid(field_dict: Any, shape: Any) -> StructField:
    """Return a field of structs with these members (name: type), below a bitmasked node of that shape: an element is
    active once one of its members was written, and loops visit the active elements. Raises TypeMismatch unless
    `field_dict` is a dict, and CompilationError for a shape without axes.

    Example:
        g = ti.sparse.grid({"pos": ti.math.vec2, "mass": ti.f32}, shape=(10, 10))
        g[0, 0].mass = 1.0
        ti.sparse.usage(g)  # 0.01
    """
    if not isinstance(field_dict, dict):
        raise TypeMismatch(f"grid takes a dict with a type for each member, not {field_dict!r}")
    extents = shape_tuple(shape)
    if not extents:
        raise CompilationError("a sparse grid needs at least one axis")
    made: StructField = Struct.field(field_dict)
    builder = FieldsBuilder()
    builder.bitmasked(axes(*range(len(extents))), extents).place(made)
    builder.finalize()
    return made


def usage(x: Any) -> float:
    """Return the fraction of the elements of a field that are active: 0 to 1. All elements of a dense field are. Raises
    TypeMismatch for what is no field.

    Example:
        x = ti.field(ti.f32)
        ti.root.pointer(ti.i, 8).dense(ti.i, 4).place(x)
        x[5] = 2.0
        ti.sparse.usage(x)  # 0.125
    """
    if not isinstance(x, Field | StructField):
        raise TypeMismatch(f"usage takes a field, not {x!r}")
    node = x.snode.parent()
    if node is None or not any(one.is_sparse for one in node.node.path()):
        return 1.0
    if node.node.is_unbounded:
        raise FieldError(
            "a field below a hash node has no bounds: x.active() tells what is active, print(tree) how much"
        )
    return count(node.tree, node.node) / math.prod(x.shape)
