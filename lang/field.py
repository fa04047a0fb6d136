"""Fields: arrays of scalars, vectors, matrices or structs that kernels read and write.

A field is a set of scalar components, each a place in an SNode tree. In Python scope its elements are read and written
through a numpy window onto the tree's bytes; nothing is compiled.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.ir.errors import CompilationError, TypeMismatch, WeftError
from weft.ir.layout import PlaceLayout
from weft.ir.scalar import cast_value
from weft.ir.snode import SNode as Node
from weft.ir.symbols import Term
from weft.ir.types import Prim, Tensor, Type, tensor
from weft.lang.matrix import Matrix
from weft.lang.snode_api import FieldError, FieldTree, Layout, SNode, offset_tuple, shaped_node
from weft.lang.types import MatrixType, StructType, cast_numbers, prim_of_numpy, primitive, shape_tuple

__all__ = [
    "Field",
    "FieldIndexError",
    "FieldSymbolParts",
    "MatrixField",
    "ScalarField",
    "Slot",
    "field",
    "make_matrix_field",
    "make_struct_field",
]


class FieldIndexError(WeftError, IndexError):
    """An index outside of a field, or too many or too few indices."""


@dataclass(frozen=True, eq=False)
class FieldSymbolParts:
    """What a kernel's FieldSymbol of this field says; `tree` becomes a number there."""

    name: str
    dtype: Type
    shape: tuple[int, ...]
    components: tuple[int, ...]
    terms: tuple[Term, ...]
    offset: tuple[int, ...]
    order: tuple[int, ...]
    tree: FieldTree


@dataclass(eq=False)
class Slot:
    """One scalar component of a field: its type, and where it was placed, once it was."""

    dtype: Prim
    name: str
    node: Node | None = None
    tree: FieldTree | None = None
    offset: tuple[int, ...] | None = None

    def attach(self, node: Node, tree: FieldTree, offset: tuple[int, ...] | None) -> None:
        """Put this component into `node`'s cell. FieldError if it has a place already."""
        if self.node is not None:
            raise FieldError(f"{self.name or 'this field'} is placed already")
        self.node, self.tree, self.offset = node.add(Node("place", dtype=self.dtype, name=self.name)), tree, offset


class Field:
    """What all fields have. `dtype`, `shape`, `name`, `grad`; see `ScalarField`, `MatrixField`, `StructField`."""

    def __init__(self, dtype: Prim, inner: tuple[int, ...], slots: list[Slot], name: str) -> None:
        self.name, self.grad = name, None
        self._dtype, self._inner, self._slots = dtype, inner, slots
        self._created = _user_line()
        self._parts: FieldSymbolParts | None = None
        self._cells: Any = None

    name: str
    grad: Any

    @property
    def dtype(self) -> Prim:
        """The type of its scalars."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents; () for a 0-D field. FieldError if not placed."""
        return self._node().shape()

    @property
    def offset(self) -> tuple[int, ...]:
        """The index of the first element along each axis."""
        return self._slots[0].offset or (0,) * len(self.shape)

    @property
    def ndim(self) -> int:
        """How many axes."""
        return len(self.shape)

    @property
    def snode(self) -> SNode:
        """The place of the (first) scalar component."""
        tree = self._slots[0].tree
        node = self._node()
        assert tree is not None
        return SNode(node, tree)

    def parent(self, levels: int = 1) -> SNode | None:
        """The node `levels` above the place."""
        return self.snode.parent(levels)

    def attach(self, node: Node, tree: FieldTree, offset: tuple[int, ...] | None) -> None:
        """What `SNode.place` does for a field: its components side by side in `node`'s cell, then its gradient's."""
        for slot in self._slots:
            slot.attach(node, tree, offset)
        if self.grad is not None:
            self.grad.attach(node, tree, offset)

    def describe(self) -> FieldSymbolParts:
        """How the field lies in memory; finalizes its tree. FieldError if it is not placed or was destroyed, or if
        its components lie in different trees or unlike one another."""
        if self._parts is None:
            self._parts = self._measure()
        self._parts.tree.check(self._label())
        return self._parts

    def _measure(self) -> FieldSymbolParts:
        self._node()
        tree = self._slots[0].tree
        assert tree is not None
        tree.check(self._label())
        if any(slot.node is None or slot.tree is not tree for slot in self._slots):
            raise FieldError(f"the components of {self._label()} must all be placed in one SNode tree")
        places: list[PlaceLayout] = [tree.layout.places[slot.node] for slot in self._slots if slot.node is not None]
        first = places[0]
        if any((place.terms, place.shape) != (first.terms, first.shape) for place in places):
            raise FieldError(f"the components of {self._label()} must all be laid out alike")
        dtype = tensor(self._dtype, self._inner) if self._inner else self._dtype
        components = tuple(place.offset for place in places)
        return FieldSymbolParts(self.name, dtype, first.shape, components, first.terms, self.offset, first.order, tree)

    def _node(self) -> Node:
        node = self._slots[0].node
        if node is None:
            raise FieldError(f"{self._label()} has no place: give it a shape, or `ti.root.dense(...).place(it)`")
        return node

    def _label(self) -> str:
        return f"field '{self.name}'" if self.name else f"the field made at {self._created}"

    def _window(self) -> Any:
        """The elements as a numpy array: an axis per term, axis by axis from the most significant digit, then the
        component axes. A view of the tree's bytes; on a GPU, something that is indexed alike and copies."""
        if self._cells is None or self._parts is None or self._parts.tree.destroyed:
            parts = self.describe()
            terms = sorted(parts.terms, key=lambda term: (term.axis, -term.divisor))
            self._digits = [(term.axis, term.divisor, term.modulus) for term in terms]
            self._plain = [axis for axis, _, _ in self._digits] == list(range(len(parts.shape)))
            parts.tree.readers.add(self)
            self._cells = parts.tree.program.device.memory.view(
                parts.tree.buffer(),
                self._dtype.np,
                (*(term.modulus for term in terms), *self._inner),
                parts.components[0],
                (*(term.stride for term in terms), *_component_strides(parts.components, self._inner, self._label())),
            )
        return self._cells

    def forget(self) -> None:
        """Let go of the tree's bytes."""
        self._cells = None

    def _position(self, key: Any) -> tuple[int, ...]:
        """The window position of element `key`; FieldIndexError if there is none."""
        window_of = self._parts
        if window_of is None or self._cells is None:
            self._window()
            window_of = self._parts
            assert window_of is not None
        shape, offset = window_of.shape, window_of.offset
        indices = element_index(key)
        if len(indices) != len(shape):
            raise FieldIndexError(f"{self._label()} takes {_count(len(shape))}, got {len(indices)}")
        position = tuple(index - start for index, start in zip(indices, offset, strict=True))
        for axis, (index, extent) in enumerate(zip(position, shape, strict=True)):
            if not 0 <= index < extent:
                low, high = offset[axis], offset[axis] + extent
                raise FieldIndexError(
                    f"index {indices[axis]} of axis {axis} is out of bounds for {self._label()} of shape {shape}: "
                    f"it must be in [{low}, {high})"
                )
        if self._plain:
            return position
        return tuple(position[axis] // divisor % modulus for axis, divisor, modulus in self._digits)

    def to_numpy(self, dtype: Any = None, keep_dims: bool = False) -> Any:
        """A new numpy array of shape `(*shape, *component shape)`; `dtype` (numpy's or ours) converts it. With
        `keep_dims` vectors are n x 1 matrices."""
        shape = self._full_shape()
        array = self._window().reshape((*shape, 1) if keep_dims and len(self._inner) == 1 else shape).copy()
        return array if dtype is None else cast_value(array, primitive(dtype))

    def from_numpy(self, arr: Any) -> None:
        """Set all elements from an array of shape `(*shape, *component shape)`, cast to the field's type. ValueError
        for another shape, TypeMismatch for what is no array of numbers."""
        array = np.asarray(arr)
        prim_of_numpy(array.dtype)
        if array.shape != self._full_shape():
            raise ValueError(
                f"{self._label()} takes an array of shape {self._full_shape()}, but the array has shape {array.shape}"
            )
        window = self._window()
        window[...] = np.asarray(cast_value(array, self._dtype)).reshape(window.shape)

    def to_torch(self, device: Any = None) -> Any:
        """As `to_numpy`, a torch tensor."""
        import torch  # pyright: ignore[reportMissingImports]

        return torch.from_numpy(self.to_numpy()).to(device)

    def from_torch(self, arr: Any) -> None:
        """As `from_numpy`, from a torch tensor."""
        self.from_numpy(arr.detach().cpu().numpy())

    def fill(self, val: Any) -> None:
        """Set every element: a number for all scalars, or one element's value (a vector, matrix or list)."""
        value = cast_numbers(val, self._dtype, self._label())
        if value.ndim and value.shape != self._inner:
            raise TypeMismatch(f"an element of {self._label()} has shape {self._inner}, the value has {value.shape}")
        self._window()[...] = value

    def copy_from(self, other: Any) -> None:
        """Set all elements from another field of this shape. ValueError for another shape."""
        if not isinstance(other, Field) or other._inner != self._inner:
            raise TypeMismatch(f"{self._label()} can copy only from a field with the same kind of elements")
        if other.shape != self.shape:
            raise ValueError(f"{self._label()} has shape {self.shape}, but the source has shape {other.shape}")
        self.from_numpy(other.to_numpy())

    def _full_shape(self) -> tuple[int, ...]:
        return (*self.describe().shape, *self._inner)

    def __iter__(self) -> Any:
        raise TypeError("a loop over a field works only inside kernels; in Python use ti.ndrange(*x.shape)")

    def __str__(self) -> str:
        return str(self.to_numpy()) if self._slots[0].node is not None else repr(self)


class ScalarField(Field):
    """A field of numbers: `x[i, j]` reads a Python number, `x[i, j] = v` casts v to the field's type; `x[None]` is the
    element of a 0-D field. FieldIndexError for wrong indices (negative ones too, unless `offset` allows them)."""

    def __init__(self, dtype: Prim, name: str = "", slot: Slot | None = None) -> None:
        super().__init__(dtype, (), [slot or Slot(dtype, name)], name)

    def __getitem__(self, key: Any) -> Any:
        value = self._window()[self._position(key)].item()
        return int(value) if value is True or value is False else value

    def __setitem__(self, key: Any, value: Any) -> None:
        position = self._position(key)
        self._window()[position] = scalar_value(value, self._dtype, self._label())

    def load(self, key: Any) -> Any:
        """The element as a numpy scalar of the field's type."""
        return self._window()[self._position(key)]

    def __repr__(self) -> str:
        return _repr(self, self._dtype.text)


class MatrixField(Field):
    """A field of vectors or matrices: `x[i]` is a Matrix that is a window onto the field (`x[i][0] = 1` and
    `x[i].xy = ...` write to it); `x[i] = [..]` sets one, from a Matrix, a list, or a number for all scalars."""

    def __init__(self, inner: tuple[int, ...], dtype: Prim, name: str = "") -> None:
        self.n, self.m = inner[0], inner[1] if len(inner) > 1 else 1
        super().__init__(dtype, inner, [Slot(dtype, name) for _ in range(self.n * self.m)], name)

    def __getitem__(self, key: Any) -> Matrix:
        position = self._position(key)
        return Matrix.wrap(self._window()[position])

    def __setitem__(self, key: Any, value: Any) -> None:
        position = self._position(key)
        element = cast_numbers(value, self._dtype, self._label())
        if element.ndim and element.shape != self._inner:
            raise TypeMismatch(f"an element of {self._label()} has shape {self._inner}, the value has {element.shape}")
        self._window()[position] = element

    load = __getitem__

    @property
    def ir(self) -> Tensor:
        """The type of an element."""
        return tensor(self._dtype, self._inner)

    def get_scalar_field(self, *indices: int) -> ScalarField:
        """The field of one scalar component, sharing its place: `(i)` of a vector, `(i, j)` of a matrix."""
        i, j = (*indices, 0)[:2]
        if not (0 <= i < self.n and 0 <= j < self.m):
            raise FieldIndexError(f"{self._label()} has no component {indices}: elements have shape {self._inner}")
        return ScalarField(self._dtype, self.name, self._slots[i * self.m + j])

    def __repr__(self) -> str:
        return _repr(self, self.ir.text)


def field(dtype: Any, shape: Any = None, **keywords: Any) -> Any:
    """A field. `dtype`: a primitive, `int`, `float`, or a vector, matrix or struct type.

    `shape`: a number, a tuple, or () for a single element `x[None]`; None leaves it to `root...place(x)`.
    `order`: memory order of the axes, "ij" (last fastest, the default), "ji" ...; `offset`: the index of the first
    element per axis; `needs_grad`: make `x.grad` too; `name`: for messages. CompilationError where these do not fit."""
    if isinstance(dtype, StructType):
        return make_struct_field(dtype, shape, **keywords)
    if isinstance(dtype, MatrixType):
        return make_matrix_field(dtype.shape, dtype.dtype, shape, **keywords)
    name = keywords.get("name", "")
    prim = primitive(dtype)
    return _settle(ScalarField(prim, name), lambda: ScalarField(prim, name and name + ".grad"), shape, keywords)


def make_matrix_field(inner: tuple[int, ...], dtype: Any, shape: Any = None, **keywords: Any) -> MatrixField:
    """What `Vector.field` and `Matrix.field` do: `inner` is the shape of an element."""
    keywords.pop("ndim", None)
    element = MatrixType(inner[0], inner[-1] if len(inner) == 2 else 1, dtype)  # checks the extents
    prim, name = element.dtype, keywords.get("name", "")
    made: MatrixField = _settle(
        MatrixField(inner, prim, name), lambda: MatrixField(inner, prim, name and name + ".grad"), shape, keywords
    )
    return made


def make_struct_field(struct_type: Any, shape: Any = None, **keywords: Any) -> Any:
    """What `StructType.field` and `Struct.field` do."""
    from weft.lang.struct import StructField

    layout, order, offset = (
        keywords.pop("layout", Layout.AOS),
        keywords.pop("order", None),
        keywords.pop("offset", None),
    )
    made = StructField(struct_type, **keywords)
    place_shaped(made, shape, order, offset, layout)
    return made


_KEYWORDS = ("name", "order", "offset", "needs_grad", "needs_dual", "layout")


def _settle(made: Field, gradient: Any, shape: Any, keywords: dict[str, Any]) -> Any:
    for keyword in keywords:
        if keyword not in _KEYWORDS:
            raise TypeError(f"a field has no option '{keyword}'; it takes shape, {', '.join(_KEYWORDS)}")
    if keywords.get("needs_grad"):
        if not made.dtype.is_float:
            raise TypeMismatch(f"only float fields have gradients, not {made.dtype}")
        made.grad = gradient()
    layout = keywords.get("layout", Layout.AOS)
    if not isinstance(layout, Layout):
        raise TypeMismatch(f"layout is ti.Layout.AOS or ti.Layout.SOA, not {layout!r}")
    place_shaped(made, shape, keywords.get("order"), keywords.get("offset"), layout)
    return made


def place_shaped(made: Any, shape: Any, order: str | None, offset: Any, layout: Layout) -> None:
    """Place a field that was given a shape, in a tree of its own; with SOA each scalar in a dense node of its own."""
    if shape is None:
        for what, value in (("offset", offset), ("order", order)):
            if value is not None:
                raise CompilationError(f"{what} needs a shape; a field to be placed takes it from `place` or `dense`")
        return
    extents = shape_tuple(shape)
    start = None if offset is None else offset_tuple(offset, len(extents))
    tree = FieldTree()
    if layout is Layout.SOA:
        for slot in all_slots(made):
            slot.attach(shaped_node(tree, extents, order).node, tree, start)
    else:
        made.attach(shaped_node(tree, extents, order).node, tree, start)


def all_slots(made: Any) -> list[Slot]:
    """The scalar components of a field, its gradient's last."""
    own: list[Slot] = made._slots
    return own if made.grad is None else own + all_slots(made.grad)


def _component_strides(components: tuple[int, ...], inner: tuple[int, ...], label: str) -> tuple[int, ...]:
    """Byte strides along the component axes; FieldError if the components are not evenly spaced."""
    if not inner:
        return ()
    table = np.array(components, np.int64).reshape(inner)
    strides = tuple(int(table.take(1, axis).flat[0] - table.flat[0]) if n > 1 else 0 for axis, n in enumerate(inner))
    steps = sum(
        np.arange(n).reshape([-1 if a == axis else 1 for a in range(len(inner))]) * strides[axis]
        for axis, n in enumerate(inner)
    )
    if not np.array_equal(table, components[0] + steps):
        raise FieldError(f"the components of {label} must be placed at even distances")
    return strides


def element_index(key: Any) -> tuple[int, ...]:
    """The integers of an index: `x[i, j]`, `x[(i, j)]`, `x[vector]`, `x[None]`, `x[i, vector]`."""
    items: Iterable[Any] = key if type(key) is tuple else () if key is None else (key,)
    result: list[int] = []
    for item in items:
        if isinstance(item, int | np.integer):
            result.append(int(item))
        elif isinstance(item, Matrix) and item.dtype.is_int:
            result.extend(item.values.tolist())
        elif isinstance(item, list | tuple):
            result.extend(element_index(tuple(item)))
        else:
            raise FieldIndexError(f"a field is indexed with integers, not {item!r} (slices work on x.to_numpy())")
    return tuple(result)


def scalar_value(value: Any, dtype: Prim, label: str) -> Any:
    """`value` cast to `dtype`; TypeMismatch if it is no number."""
    if isinstance(value, int | float | np.number | np.bool_) or (isinstance(value, np.ndarray) and not value.ndim):
        return cast_value(value, dtype)
    raise TypeMismatch(f"an element of {label} is a number of type {dtype}, not {type(value).__name__}")


def _count(n: int) -> str:
    return "no index: x[None]" if n == 0 else "1 index" if n == 1 else f"{n} indices"


def _repr(made: Field, element: str) -> str:
    shape = made.shape if made._slots[0].node is not None else "not placed"
    return f"<field {made.name + ': ' if made.name else ''}{element}, shape={shape}>"


def _user_line() -> str:
    """file:line of the nearest caller outside of this package's language folder."""
    here = __file__.rpartition("field.py")[0]
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
