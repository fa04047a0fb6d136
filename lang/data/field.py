"""Fields: arrays of scalars, vectors, matrices or structs that kernels read and write.

A field is a set of scalar components. Each of them has a place in an SNode tree. Python scope reads and writes elements
through a numpy view of the bytes of the tree, without compiling anything."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.ir.scalar import cast_value
from weft.ir.storage.snode import SNode as Node
from weft.ir.types import Prim, Tensor, tensor
from weft.lang.data import tensors
from weft.lang.data.array_operators import ArrayOperators
from weft.lang.data.companions import Differentiable, companions_of
from weft.lang.data.elements import (
    FieldIndexError,
    ScalarElements,
    check_bounds,
    element_index,
    element_value,
    quick_items,
    scalar_value,
)
from weft.lang.data.export import Lender
from weft.lang.data.field_annotations import Subscripted
from weft.lang.data.field_tree import NOT_HELD, FieldError, FieldTree
from weft.lang.data.marked import Marked
from weft.lang.data.slots import Slot, Whole, user_line
from weft.lang.data.snode_api import SNode
from weft.lang.data.sparse_access import Active, SparseWindow
from weft.lang.data.strides import component_strides
from weft.lang.data.writes import LISTENERS, tell, tell_element
from weft.lang.values.makers import MAKERS
from weft.lang.values.numbers import array_of
from weft.lang.values.types import prim_of_numpy, primitive

if TYPE_CHECKING:
    from weft.ir.storage.layout import PlaceLayout
    from weft.lang.data.symbol_parts import FieldSymbolParts

__all__ = [
    "Field",
    "FieldIndexError",
    "MatrixField",
    "ScalarField",
    "unpickled",
]


class Field(Subscripted, Differentiable, ArrayOperators, Marked, Lender, Active):
    """A field: elements that kernels read and write. It is the base class of `ScalarField`, `MatrixField` and
    `StructField`.

    `x[i, j]` reads an element and `x[i, j] = v` sets it; `x[None]` is the element of a 0-D field. As the annotation of
    a parameter, `ti.Field[ti.f32]` takes a field of such elements, as a compile-time constant.

    Example:
        x = ti.field(ti.f32, (2, 3))
        x.from_numpy(np.arange(6).reshape(2, 3))
        x[1, 2], x.shape, x.ndim, x.dtype, x.element_shape  # (5.0, (2, 3), 2, f32, ())
        x.sum(), x.mean(), x.max(axis=1).to_numpy().tolist(), x.argmax()  # (15.0, 2.5, [2.0, 5.0], 5)
        x.to_numpy()[:, 1:].tolist()  # [[1.0, 2.0], [4.0, 5.0]]
        isinstance(x, ti.Field)  # True
    """

    def __init__(self, dtype: Prim, inner: tuple[int, ...], slots: list[Slot], name: str) -> None:
        super().__init__()
        self.name = name
        self._dtype, self._inner, self._slots = dtype, inner, slots
        self._created = user_line()
        self._parts: FieldSymbolParts | None = None
        self._cells: Any = None
        self.whole: Field | None = None  # of a component: the field that its tree knows, which must live as long

    name: str
    _slots: list[Slot]

    @property
    def placed(self) -> bool:
        """Whether the field has a place in a tree."""
        return self._slots[0].node is not None

    @property
    def dtype(self) -> Prim:
        """The type of the field's scalars, such as `ti.f32`, also where elements are vectors or matrices."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents; () for a 0-D field. Raises FieldError if the field is not placed."""
        return self._node().shape() if self._parts is None else self._parts.shape

    @property
    def offset(self) -> tuple[int, ...]:
        """The index of the first element along each axis."""
        first = self._node().first()
        given = self._slots[0].offset or (0,) * len(first)
        return tuple(own + more for own, more in zip(first, given, strict=True))

    @property
    def element_type(self) -> Any:
        """The type of an element."""
        return tensor(self._dtype, self._inner) if self._inner else self._dtype

    @property
    def element_shape(self) -> tuple[int, ...]:
        """The shape of an element: () for numbers, (n,) for vectors, (n, m) for matrices."""
        return self._inner

    @property
    def ndim(self) -> int:
        """The number of axes, without those of an element."""
        return len(self.shape)

    @property
    def snode(self) -> SNode:
        """The place of the field, or of its first scalar component: a node of the layout."""
        tree = self._slots[0].tree
        node = self._node()
        assert tree is not None
        return SNode(node, tree, self.offset)

    def parent(self, levels: int = 1) -> SNode | None:
        """The node `levels` above the field's place, as `SNode.parent` gives it."""
        return self.snode.parent(levels)

    def attach(self, node: Node, tree: FieldTree, offset: tuple[int, ...] | None) -> None:
        """Place the field, for `SNode.place`: its components next to each other in the cell of `node`."""
        for slot in self._slots:
            slot.attach(node, tree, offset)
            if slot.node is not None:
                tree.fields[slot.node] = self
        tree.companions.expect(self, node, offset)

    def describe(self) -> FieldSymbolParts:
        """Describe where the field lies in memory. This finalizes its tree. Raises FieldError if the field is not
        placed or was destroyed, or if its components are in different trees or in nodes of different layout."""
        if self._parts is None or self._parts.grown != self._parts.tree.grown:
            self._parts = self._measured()
        self._parts.tree.check(self._label())
        return self._parts

    def _measured(self) -> FieldSymbolParts:
        self._node()
        tree = self._slots[0].tree
        assert tree is not None
        tree.check(self._label())
        with tree.program.lock:  # while no layout changes
            return self._measure(tree)

    def _measure(self, tree: FieldTree) -> FieldSymbolParts:
        if any(slot.node is None or slot.tree is not tree for slot in self._slots):
            raise FieldError(f"the components of {self._label()} must all be placed in one SNode tree")
        from weft.lang.data.symbol_parts import FieldSymbolParts, path_of  # not needed to read elements

        grown = tree.grown
        places: list[PlaceLayout] = [tree.layout.places[slot.node] for slot in self._slots if slot.node is not None]
        path = path_of(places, tensor(self._dtype, self._inner) if self._inner else self._dtype)
        if path is None:
            raise FieldError(f"the components of {self._label()} must all have the same layout")
        if self._derives:
            tree.companions.used[self._derives].add(self)
        first = places[0]
        return FieldSymbolParts(
            self.name, first.shape, path, self.offset, first.order, tree, first.node, first.memory, grown
        )

    def _node(self) -> Node:
        owner = None if self.placed or self._owner is None else self._owner()
        if owner is not None and owner.placed:
            owner._slots[0].tree.companions.place(owner._slots[0].tree)
        node = self._slots[0].node
        if node is None:
            raise FieldError(
                f"{self._label()} is not placed: give it a shape, or place it with `ti.root.dense(...).place(it)`"
            )
        return node

    def _label(self) -> str:
        return f"field '{self.name}'" if self.name else f"the field made at {self._created}"

    def _window(self) -> Any:
        """The elements as a numpy array: one axis for each term, grouped by the field's axes from the most significant
        digit on, then the component axes. It is a view of the bytes of the tree. On a GPU it is an object with the same
        indexing that copies elements."""
        if self._cells is None:
            parts = self.describe()
            if parts.node is not None:
                return self._sparse_window(parts)
            found = parts.path.window
            if found is None:
                raise FieldError(f"{self._label()} is not a strided array: {parts.path}")
            self._digits = found.digits
            self._plain = found.is_plain(len(parts.shape))
            self._simple = self._plain and not any(parts.offset)
            parts.tree.read_by(self)
            memory, buffer, marks = parts.tree.program.device.memory, parts.tree.buffer(), parts.tree.shadow("marks")
            first, shape = parts.components[0], (*found.shape, *self._inner)
            inner = component_strides(parts.components, self._inner, self._label())
            strides = (*found.strides, *inner)
            if marks is not None and self.shadowed:
                self._marks = memory.view(marks.buffer(), self._dtype.np, shape, first, strides)
            # assigned last: other threads test it first
            self._cells = memory.view(buffer, self._dtype.np, shape, first, strides)
            if parts.tree.destroyed or parts.tree.grown != parts.grown:  # by another thread, in the meantime
                self.forget()
                return self._window()
        return self._cells

    def _sparse_window(self, parts: FieldSymbolParts) -> SparseWindow:
        self._digits = tuple((axis, 1, extent) for axis, extent in enumerate(parts.shape))
        self._plain = self._simple = False
        parts.tree.read_by(self)
        window = self._cells = SparseWindow(self, parts.shape, self._inner)
        return window

    def forget(self) -> None:
        """Drop the view of the tree's bytes."""
        self._cells = self._marks = None

    def _position(self, key: Any) -> tuple[int, ...]:
        """The position of element `key` in the window. Raises FieldIndexError if there is no such element."""
        if self._cells is None:
            self._window()
        parts = self._parts
        assert parts is not None
        indices = element_index(key)
        shape, offset = parts.shape, parts.offset
        if len(indices) != len(shape):
            check_bounds(indices, shape, offset, self._label())
        for index, low, extent in zip(indices, offset, shape):
            if not low <= index < low + extent:
                check_bounds(indices, shape, offset, self._label())
        if self._simple:
            return indices
        position = [index - low for index, low in zip(indices, offset)]
        return tuple(position[axis] // divisor % modulus for axis, divisor, modulus in self._digits)

    def to_numpy(self, dtype: Any = None) -> Any:
        """Copy all elements to a new numpy array of shape `(*shape, *component shape)`. `dtype` (numpy's or Weft's)
        converts them."""
        with self._held():
            array = self._window().copy().reshape(self._full_shape())
            self._check_all()
        return array if dtype is None else cast_value(array, primitive(dtype))

    def _copied(self) -> Any:
        return self.to_numpy()

    def _lend(self) -> Any:
        window = self._window()
        if not self._plain:
            how = "sparse" if self.describe().node is not None else "stored in nested blocks"
            raise BufferError(f"{self._label()} is {how}, not a strided array: use to_numpy()")
        return window

    def from_numpy(self, arr: Any) -> None:
        """Set all elements from an array of shape `(*shape, *component shape)`, cast to the type of the field.

        A field of vectors also takes n x 1 matrices, and a field of n x 1 matrices takes vectors. Raises ValueError for
        another shape, and TypeMismatch for anything that is not an array of numbers."""
        array, full = array_of(arr), self._full_shape()
        prim_of_numpy(array.dtype)
        if array.shape != full and not self._is_column(array.shape):
            raise ValueError(f"{self._label()} takes an array of shape {full}, but the array has shape {array.shape}")
        if LISTENERS.get():
            tell(self, None, partial(self.from_numpy, array.copy()))
        with self._held():
            window = self._window()
            window[...] = np.asarray(cast_value(array, self._dtype)).reshape(window.shape)
            self._mark()

    def _is_column(self, shape: tuple[int, ...]) -> bool:
        """Whether one shape is that of vectors and the other that of the same vectors as n x 1 matrices."""
        axes, count = len(self.shape), math.prod(self._inner)
        vector, column = (*self.shape, count), (*self.shape, count, 1)
        return self._inner in ((count,), (count, 1)) and len(shape) > axes and shape in (vector, column)

    def to_torch(self, device: Any = None) -> Any:
        """Copy all elements to a new torch tensor, as `to_numpy` does, on `device` if given. On a GPU, the data stays
        on the GPU."""
        return tensors.to_torch(self, device)

    def from_torch(self, arr: Any) -> None:
        """Set all elements from a torch tensor on any device, as `from_numpy` does."""
        tensors.from_torch(self, arr)

    def fill(self, val: Any) -> None:
        """Set every element. A number sets all scalars; a vector, matrix or list is the value of one element."""
        value = element_value(val, self._dtype, self._inner, self._label())
        if LISTENERS.get():
            tell(self, None, partial(self.fill, val))
        with self._held():
            self._assign(value)
            self._mark()

    def _assign(self, value: Any) -> None:
        """Set the window to a value of an element, or to that of another field."""
        window, parts = self._window(), self._parts
        assert parts is not None
        parts.tree.program.device.assign(window, value)

    def copy_from(self, other: Any) -> None:
        """Set all elements from another field of the same shape. Raises ValueError for another shape."""
        if not isinstance(other, Field) or other._inner != self._inner:
            raise TypeMismatch(f"{self._label()} can copy only from a field with the same kind of elements")
        if other.shape != self.shape:
            raise ValueError(f"{self._label()} has shape {self.shape}, but the source has shape {other.shape}")
        if LISTENERS.get():
            tell(self, other, partial(self.copy_from, other))
        with self._held(), other._held():
            self._copy_window(other)

    def _copy_window(self, other: Field) -> None:
        target, source = self._window(), other._window()
        if self._dtype is other._dtype and self._digits == other._digits:
            self._assign(source)
            if self._marks is not None:
                self._marks[...] = other._marks
        else:
            target[...] = np.asarray(cast_value(other.to_numpy(), self._dtype)).reshape(target.shape)
            self._mark()

    def __copy__(self) -> Any:
        """Make another handle of the same elements."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.forget()  # it needs a window of its own, or it would not be notified when its tree ends
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = memo[id(self)] = _remake(*self._recipe())
        made.copy_from(self)
        for kind, companion in companions_of(self):
            getattr(made, kind).copy_from(companion)
        return made

    def __reduce__(self) -> Any:
        derived = {kind: companion.to_numpy() for kind, companion in companions_of(self)}
        return unpickled, (*self._recipe(), self.to_numpy(), derived)

    def _recipe(self) -> tuple[Any, ...]:
        """The arguments with which `_remake` makes a field like this one, in a dense tree of its own."""
        needed = {f"needs_{kind}": True for kind, _ in companions_of(self)}
        options = {"name": self.name, "offset": self._slots[0].offset, **needed}
        return self._dtype, self._inner, self.shape, options

    def _called(self) -> str:
        return self.name or self._label()

    def _user_index(self, position: tuple[int, ...]) -> tuple[int, ...]:
        index = list(self.offset)
        for (axis, divisor, _), digit in zip(self._digits, position):
            index[axis] += digit * divisor
        return tuple(index)

    def _full_shape(self) -> tuple[int, ...]:
        return (*self.describe().shape, *self._inner)

    def __str__(self) -> str:
        return str(self.to_numpy()) if self._slots[0].node is not None else repr(self)


class ScalarField(ScalarElements, Field):
    """A field of numbers.

    `x[i, j]` reads a Python number. `x[i, j] = v` casts v to the type of the field. `x[None]` is the element of a 0-D
    field. Raises FieldIndexError for wrong indices; negative indices are wrong too, unless `offset` allows them.

    Example:
        x = ti.field(ti.i32, 3)
        x[1] = 7.9
        x[1]  # 7
        x[3]  # raises FieldIndexError
        isinstance(x, ti.ScalarField)  # True
    """

    def __init__(self, dtype: Any, name: str = "", slot: Slot | None = None) -> None:
        if not isinstance(dtype, Prim):
            raise TypeMismatch("create a field of numbers with ti.field")
        super().__init__(dtype, (), [slot or Slot(dtype, name)], name)

    def _window(self) -> Any:
        if self._cells is None:
            cells = super()._window()
            if self._simple and self._marks is None and self._held() is NOT_HELD:
                self._items, self._exact = quick_items(cells, self._dtype)
        return self._cells

    def forget(self) -> None:
        super().forget()
        self._items = None

    def _store(self, key: Any, value: Any) -> None:
        position = self._position(key)
        number = scalar_value(value, self._dtype, self._label())
        if LISTENERS.get():
            tell_element(self, element_index(key), None, partial(self._store, key, number))
        with self._held():
            self._window()[position] = number
            self._mark(position)

    def load(self, key: Any) -> Any:
        """The element as a numpy scalar of the field's type."""
        with self._held():
            position = self._position(key)
            self._check(position, key)
            return self._window()[position]

    def __repr__(self) -> str:
        return _repr(self, self._dtype.text)


class MatrixField(Field):
    """A field of vectors or matrices.

    `x[i]` is a Matrix that is a view of the field: `x[i][0] = 1` and `x[i].xy = ...` write to the field. `x[i] = [..]`
    sets an element from a Matrix, a list, or a number for all its scalars. `n` and `m` are the rows and columns of an
    element.

    Example:
        v = ti.Vector.field(3, ti.f32, shape=2)
        v[0] = [1, 2, 3]
        v[1].xy = 5.0
        v.to_numpy().tolist()  # [[1.0, 2.0, 3.0], [5.0, 5.0, 0.0]]
        v.get_scalar_field(2).to_numpy().tolist()  # [3.0, 0.0]
        v.n, v.m, v.element_shape  # (3, 1, (3,))
    """

    def __init__(self, inner: Any, dtype: Any, name: str = "") -> None:
        if not isinstance(inner, tuple) or not isinstance(dtype, Prim):
            raise TypeMismatch("create a field of vectors or matrices with ti.Vector.field or ti.Matrix.field")
        self.n, self.m = inner[0], inner[1] if len(inner) > 1 else 1
        whole = Whole(inner)
        whole.slots = [Slot(dtype, name, whole) for _ in range(self.n * self.m)]
        super().__init__(dtype, inner, whole.slots, name)

    def to_numpy(self, keep_dims: Any = False, dtype: Any = None) -> Any:  # type: ignore[override]
        """Copy all elements to a new numpy array of shape `(*shape, n)` for vectors and n x 1 matrices, else `(*shape,
        n, m)`. With `keep_dims` the shape is always `(*shape, n, m)`. `dtype` (numpy's or Weft's) converts the
        elements."""
        array = super().to_numpy(dtype)
        shape = (*self.shape, self.n, self.m) if keep_dims or self.m > 1 else (*self.shape, self.n)
        return array.reshape(shape)

    def to_torch(self, device: Any = None, keep_dims: bool = False) -> Any:
        """Copy all elements to a new torch tensor, as `to_numpy` does, on `device` if given. On a GPU, the data stays
        on the GPU."""
        shape = (*self.shape, self.n, self.m) if keep_dims or self.m > 1 else (*self.shape, self.n)
        return super().to_torch(device).reshape(shape)

    @property
    def ir(self) -> Tensor:
        """The type of an element."""
        return tensor(self._dtype, self._inner)

    def get_scalar_field(self, *indices: Any) -> ScalarField:
        """The field of one scalar component: `(i)` for a vector, `(i, j)` for a matrix. It shares the memory of this
        field."""
        if not indices or not all(isinstance(index, int | np.integer) for index in indices):
            raise TypeMismatch(f"{self._label()}: get_scalar_field takes the indices of a component, not {indices}")
        i, j = (*indices, 0)[:2]
        if not (0 <= i < self.n and 0 <= j < self.m):
            raise FieldIndexError(f"{self._label()} has no component {indices}: elements have shape {self._inner}")
        made = ScalarField(self._dtype, self.name, self._slots[i * self.m + j])
        made.role = self.role
        made.whole = self
        for kind, companion in companions_of(self):
            made.derive(kind, companion.get_scalar_field(i, j))
        return made

    def __repr__(self) -> str:
        return _repr(self, self.ir.text)


def _remake(dtype: Prim, inner: tuple[int, ...], shape: tuple[int, ...], options: dict[str, Any]) -> Any:
    """Make a field from the recipe of another one (see `Field._recipe`)."""
    return MAKERS.matrix_field(inner, dtype, shape, **options) if inner else MAKERS.field(dtype, shape, **options)


def unpickled(
    dtype: Prim, inner: tuple[int, ...], shape: tuple[int, ...], options: dict[str, Any], values: Any, derived: Any
) -> Any:
    """Make a field again when it is unpickled, with these elements."""
    made = _remake(dtype, inner, shape, options)
    made.from_numpy(values)
    for kind, numbers in derived.items():
        getattr(made, kind).from_numpy(numbers)
    return made


def _repr(made: Field, element: str) -> str:
    shape = made.shape if made._slots[0].node is not None else "not placed"
    return f"<field {made.name + ': ' if made.name else ''}{element}, shape={shape}>"
