"""`ti.field` and related functions make fields from a type, a shape and options."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from weft.ir.errors import CompilationError, TypeMismatch
from weft.lang.data.axes import Layout, offset_tuple
from weft.lang.data.companions import KINDS
from weft.lang.data.field import Field, MatrixField, ScalarField
from weft.lang.data.field_tree import FieldTree
from weft.lang.data.slots import all_slots
from weft.lang.data.snode_api import shaped_node
from weft.lang.data.struct_field import StructField
from weft.lang.values.makers import MAKERS
from weft.lang.values.types import MatrixType, StructType, primitive, shape_tuple

__all__ = ["field", "make_matrix_field", "make_struct_field", "place_shaped"]


def field(dtype: Any, shape: Any = None, **keywords: Any) -> Any:
    """Make a field. `dtype` is a primitive, `int`, `float`, or a vector, matrix or struct type.

    `shape` is a number, a tuple, or () for a single element `x[None]`. With None, `root...place(x)` must place the
    field. `order` is the memory order of the axes: "ij" (the last axis varies fastest, the default), "ji" and so on.
    `offset` is the index of the first element on each axis. `needs_grad` makes the gradient `x.grad` and `needs_dual`
    the dual `x.dual`, fields of the same type and shape (see `ti.ad`). `name` appears in messages. `layout`
    says how the components of vectors, matrices and structs are stored (`ti.Layout`). Raises CompilationError for
    options that do not fit.

    Example:
        x = ti.field(ti.f32, (2, 3), name="height")
        x[1, 2] = 0.5
        v = ti.field(ti.math.vec3, 4, needs_grad=True)
        x, v, v.grad  # (<field height: f32, shape=(2, 3)>, <field f32x3, shape=(4,)>, <field f32x3, shape=(4,)>)
        ti.field("f32", 4)  # raises TypeMismatch
    """
    if isinstance(dtype, StructType):
        return make_struct_field(dtype, shape, **keywords)
    if isinstance(dtype, MatrixType):
        return make_matrix_field(dtype.shape, dtype.dtype, shape, **keywords)
    name = keywords.get("name", "")
    prim = primitive(dtype)
    return _settle(lambda name: ScalarField(prim, name), name, shape, keywords)


def make_matrix_field(inner: tuple[int, ...], dtype: Any, shape: Any = None, **keywords: Any) -> MatrixField:
    """Implements `Vector.field` and `Matrix.field`. `inner` is the shape of an element."""
    keywords.pop("ndim", None)
    element = MatrixType(inner[0], inner[-1] if len(inner) == 2 else 1, dtype)  # checks the extents
    prim, name = element.dtype, keywords.get("name", "")
    made: MatrixField = _settle(lambda name: MatrixField(inner, prim, name), name, shape, keywords)
    return made


def make_struct_field(struct_type: Any, shape: Any = None, **keywords: Any) -> Any:
    """Implements `StructType.field` and `Struct.field`."""
    _check_options(keywords)
    name = keywords.get("name", "")
    members: dict[str, Any] = {}
    for member, annotation in struct_type.members.items():
        wanted = _may_carry(annotation)
        options = {f"needs_{kind}": wanted and bool(keywords.get(f"needs_{kind}")) for kind in KINDS}
        members[member] = field(annotation, None, name=f"{name}.{member}" if name else member, **options)
    return _placed(StructField(struct_type, name, members), shape, keywords)


_KEYWORDS = ("name", "order", "offset", "needs_grad", "needs_dual", "layout")


def _settle(make: Callable[[str], Field], name: str, shape: Any, keywords: dict[str, Any]) -> Any:
    _check_options(keywords)
    made = make(name)
    for kind in KINDS:
        if keywords.get(f"needs_{kind}"):
            made.derive(kind, make(name and f"{name}.{kind}"))
        elif shape is None:
            made.offer(kind, partial(make, name and f"{name}.{kind}"))
    return _placed(made, shape, keywords)


def _check_options(keywords: dict[str, Any]) -> None:
    for keyword in keywords:
        if keyword not in _KEYWORDS:
            raise TypeError(f"a field has no option '{keyword}'; it takes shape, {', '.join(_KEYWORDS)}")
    if not isinstance(keywords.get("name", ""), str):
        raise TypeMismatch(f"the name of a field must be a string, not {keywords['name']!r}")


def _placed(made: Any, shape: Any, keywords: dict[str, Any]) -> Any:
    layout = keywords.get("layout", Layout.AOS)
    if not isinstance(layout, Layout):
        raise TypeMismatch(f"layout must be ti.Layout.AOS or ti.Layout.SOA, not {layout!r}")
    place_shaped(made, shape, keywords.get("order"), keywords.get("offset"), layout)
    return made


def place_shaped(made: Any, shape: Any, order: str | None, offset: Any, layout: Layout) -> None:
    """Place a field that has a shape, in a tree of its own. With SOA, each scalar gets a dense node of its own."""
    if shape is None:
        for what, value in (("offset", offset), ("order", order)):
            if value is not None:
                raise CompilationError(
                    f"{what} needs a shape: a field that is placed later gets its shape from `dense`"
                )
        return
    extents = shape_tuple(shape)
    start = None if offset is None else offset_tuple(offset, len(extents))
    tree = FieldTree()
    if layout is Layout.SOA:
        for slot in all_slots(made):
            slot.attach(shaped_node(tree, extents, order).node, tree, start)
    else:
        made.attach(shaped_node(tree, extents, order).node, tree, start)
        tree.companions.place(tree)


def _may_carry(annotation: Any) -> bool:
    """Whether a member of that type has floats, which have derivatives. (A struct asks its own members.)"""
    if isinstance(annotation, StructType):
        return True
    prim = annotation.dtype if isinstance(annotation, MatrixType) else primitive(annotation)
    return bool(prim.is_float)


MAKERS.field, MAKERS.matrix_field, MAKERS.struct_field = field, make_matrix_field, make_struct_field
