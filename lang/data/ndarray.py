"""`ti.ndarray`: an n-D array of scalars, vectors, matrices or structs that is passed to kernels as an argument."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from weft.ir.errors import TypeMismatch
from weft.ir.scalar import cast_value
from weft.ir.types import Prim, Type
from weft.lang.data import tensors
from weft.lang.data.array_operators import ArrayOperators
from weft.lang.data.axes import Layout
from weft.lang.data.companions import companions_of
from weft.lang.data.elements import (
    ScalarElements,
    check_bounds,
    element_index,
    element_value,
    quick_items,
    scalar_value,
)
from weft.lang.data.export import Lender
from weft.lang.data.field_tree import FieldError
from weft.lang.data.marked import Marked
from weft.lang.data.marks import allocate, behind
from weft.lang.data.writes import LISTENERS, tell, tell_element
from weft.lang.logs.topics import MEMORY
from weft.lang.program.init import Program, program
from weft.lang.values.makers import MAKERS
from weft.lang.values.numbers import array_of
from weft.lang.values.types import (
    MatrixType,
    NdarrayType,
    VectorType,
    prim_of_numpy,
    primitive,
    shape_tuple,
)
from weft.runtime.epochs import keep
from weft.runtime.recorded import Recorded

__all__ = ["MatrixNdarray", "Ndarray", "ScalarNdarray", "VectorNdarray"]


class Ndarray(Recorded, ArrayOperators, Marked, Lender):
    """An array of `shape` with elements of a primitive, vector or matrix type. Its elements are zero at first. Kernels
    take it as an argument, and it lies on the device of the program. `ti.ndarray` makes one.

    `a[i, j]` reads a number, or a Matrix that is a view of the array. Assignment casts. A wrong index raises
    FieldIndexError. `array()` is the numpy array of shape `(*shape, *element_shape)`, without a copy. numpy, PyTorch,
    JAX and CuPy can use the array as one of their own without a copy.

    Example:
        a = ti.ndarray(ti.f32, 4)
        a.from_numpy(np.array([1, 2, 3, 4]))
        a.sum(), a.mean(), np.asarray(a).tolist()  # (10.0, 2.5, [1.0, 2.0, 3.0, 4.0])
        b = ti.ndarray(ti.f32, 4)
        b.copy_from(a)
        (a + b).to_numpy().tolist()  # [2.0, 4.0, 6.0, 8.0]
        a[4]  # raises FieldIndexError
    """

    def __init__(self, dtype: Any, shape: Any, needs_grad: bool = False, needs_dual: bool = False) -> None:
        self._describe(dtype, shape_tuple(shape))
        for kind, needed, what in (("grad", needs_grad, "gradients"), ("dual", needs_dual, "duals")):
            if needed and not self._prim.is_float:
                raise TypeMismatch(
                    f"only ndarrays of floats can have {what}, not ndarrays of {self._prim}: remove needs_{kind}"
                )
        full = self.shape + self.element_shape
        memory = self._program.device.memory
        size, label = math.prod(full) * self._prim.size, f"ndarray {self.ir} {self.shape}"
        reach = size // self.shape[0] if size and self.shape else 0
        buffer, marks = allocate(self._program, size, label, reach), behind(self._program, size)
        if MEMORY.on:
            MEMORY.info("%s: %d bytes", label, size)
        self._cells = memory.view(buffer, self._prim.np, full)
        self._marks = memory.view(buffer, self._prim.np, full, marks) if marks else None
        self.grad = MAKERS.ndarray(dtype, shape) if needs_grad else None
        self.dual = MAKERS.ndarray(dtype, shape) if needs_dual else None
        for kind, companion in companions_of(self):
            companion.role = kind
            companion._mark()  # gradients and duals are 0 from the start

    role = ""  # "grad" or "dual", if it is one
    base: Any = None  # the field or ndarray that this is a view of (`views.py`)
    again: Callable[[Any], Ndarray]  # makes such a view of another field or ndarray
    grad: Ndarray | None
    dual: Ndarray | None

    @property
    def companions(self) -> dict[str, Ndarray]:
        """The gradient and the dual that it has, by kind."""
        return {kind: one for kind, one in (("grad", self.grad), ("dual", self.dual)) if one is not None}

    _cells: Any = None

    def _describe(self, dtype: Any, shape: tuple[int, ...]) -> None:
        compound = isinstance(dtype, MatrixType)
        self.element_type: Any = dtype if compound else primitive(dtype)
        self._prim: Prim = dtype.dtype if compound else primitive(dtype)
        self.element_shape: tuple[int, ...] = dtype.shape if compound else ()
        self._shape = shape
        self._zeros = (0,) * len(shape)
        self.made: dict[str, Ndarray] = {}  # see `derived.py`
        self._gone = ""
        self._program: Program = program()
        self._program.adopt(self)

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, a tuple of integers, without those of an element."""
        return self._shape

    @property
    def dtype(self) -> Prim:
        """The type of the array's scalars, such as `ti.f32`, also where elements are vectors or matrices."""
        return self._prim

    @property
    def layout(self) -> Layout:
        """`Layout.AOS`: the scalars of an element are contiguous."""
        return Layout.AOS

    @property
    def ir(self) -> Type:
        """The IR type of an element."""
        result: Type = self.element_type.ir if self.element_shape else self._prim
        return result

    @property
    def ndim(self) -> int:
        """The number of axes, without those of an element."""
        return len(self.shape)

    def get_type(self) -> Any:
        """The annotation that accepts only arrays of this type and number of axes."""
        return NdarrayType(self.element_type, self.ndim)

    def array(self) -> Any:
        """The memory as a numpy array. On a GPU it is an object with the same indexing that copies. Raises FieldError
        after a reset."""
        if self._cells is None:
            raise FieldError(f"this {self!r} no longer exists: {self._gone}")
        return self._cells

    def end(self, why: str) -> None:
        """Release the memory. Every later use raises a FieldError that says why."""
        self._gone = why.replace("this field", "it")
        self._cells = self._marks = None
        before = getattr(self, "record", None)
        self.record = bytes(8)
        if before is not None:
            keep(before)  # calls that are under way may read it, and the memory that it keeps alive

    _lend = _window = array

    def forget(self) -> None:
        """End, because the memory of the field that this is a view of is gone."""
        self.end("the SNode tree of its field was destroyed, or has grown for a derivative")

    def end_with_base(self) -> None:
        """Let a view end with the field that it is a view of, also as a view of a view."""
        root = self.base
        while isinstance(root, Ndarray):
            root = root.base
        if root is not None:
            root.describe().tree.read_by(self)

    def _position(self, key: Any) -> tuple[int, ...]:
        self.array()
        indices = element_index(key)
        check_bounds(indices, self.shape, self._zeros, "this ndarray")
        return indices

    def to_numpy(self) -> Any:
        """Copy all elements to a new numpy array of shape `(*shape, *element_shape)`."""
        cells = self.array()
        self._check_all()
        return cells.copy()

    _copied = to_numpy

    def from_numpy(self, arr: Any) -> None:
        """Set all elements from an array of this shape, cast to the type of this one. Raises ValueError for another
        shape and TypeMismatch for anything that is not an array of numbers."""
        array, expected = array_of(arr), self.shape + self.element_shape
        prim_of_numpy(array.dtype)
        if array.shape != expected:
            raise ValueError(f"{self!r} takes an array of shape {expected}, but the array has shape {array.shape}")
        if LISTENERS.get():
            tell(self, None, partial(self.from_numpy, array.copy()))
        self.array()[...] = cast_value(array, self._prim)
        self._mark()

    def to_torch(self, device: Any = None) -> Any:
        """Copy all elements to a new torch tensor, as `to_numpy` does, on `device` if given."""
        return tensors.to_torch(self, device)

    def from_torch(self, arr: Any) -> None:
        """Set all elements from a torch tensor, as `from_numpy` does."""
        tensors.from_torch(self, arr)

    def copy_from(self, other: Any) -> None:
        """Set all elements from an ndarray of the same shape. Raises TypeMismatch if the other is not an ndarray with
        such elements, and ValueError for another shape."""
        if not isinstance(other, Ndarray) or other.element_shape != self.element_shape:
            raise TypeMismatch(f"{self!r} can copy only from an ndarray with elements of the same shape, not {other!r}")
        if other.shape != self.shape:
            raise ValueError(f"{self!r} cannot copy from {other!r}: the shapes differ")
        if LISTENERS.get():
            tell(self, other, partial(self.copy_from, other))
        if other._prim is self._prim:
            self._program.device.assign(self.array(), other.array())
            if self._marks is not None:
                self._marks[...] = 1 if other._marks is None else other._marks
        else:
            self.array()[...] = cast_value(other.to_numpy(), self._prim)
            self._mark()

    def fill(self, val: Any) -> None:
        """Set every element. A number sets all scalars; a vector, matrix or list is the value of one element."""
        value = element_value(val, self._prim, self.element_shape, repr(self))
        if LISTENERS.get():
            tell(self, None, partial(self.fill, val))
        self._program.device.assign(self.array(), value)
        self._mark()

    def __deepcopy__(self, memo: dict[int, Any]) -> Ndarray:
        made = memo[id(self)] = _made(self.element_type, self.shape, _needs(self))
        made.copy_from(self)
        for kind, companion in companions_of(self):
            getattr(made, kind).copy_from(companion)
        return made  # type: ignore[no-any-return]

    def __copy__(self) -> Ndarray:
        made: Ndarray = object.__new__(type(self))  # another handle of the same memory
        made.__dict__.update(self.__dict__)
        self._program.adopt(made)
        made.end_with_base()
        return made

    def __reduce__(self) -> Any:
        derived = {kind: companion.to_numpy() for kind, companion in companions_of(self)}
        return _unpickled, (self.element_type, self.shape, self.to_numpy(), derived)

    def _label(self) -> str:
        return repr(self)

    _called = _label

    def _user_index(self, position: tuple[int, ...]) -> tuple[int, ...]:
        return position[: self.ndim]

    def __str__(self) -> str:
        return repr(self) if self._cells is None else str(self.to_numpy())

    def __repr__(self) -> str:
        return f"<ndarray {self.ir}, shape={self.shape}>"


class ScalarNdarray(ScalarElements, Ndarray):
    """An ndarray of numbers: `ScalarNdarray(ti.f32, shape)`, as `ti.ndarray` makes.

    Example:
        isinstance(ti.ndarray(ti.i32, (4, 4)), ti.ScalarNdarray)  # True
    """

    def __init__(self, dtype: Any, shape: Any, needs_grad: bool = False, needs_dual: bool = False) -> None:
        super().__init__(dtype, shape, needs_grad, needs_dual)

    def _store(self, key: Any, value: Any) -> None:
        position = self._position(key)
        self._quicken()
        number = scalar_value(value, self._prim, repr(self))
        if LISTENERS.get():
            tell_element(self, position, None, partial(self._store, key, number))
        self._cells[position] = number
        self._mark(position)

    def _quicken(self) -> None:
        if self._items is None and self._marks is None:
            self._items, self._exact = quick_items(self._cells, self._prim)

    def load(self, key: Any) -> Any:
        """The element as a numpy scalar of the array's type."""
        position = self._position(key)
        self._quicken()
        self._check(position, key)
        return self._cells[position]

    def end(self, why: str) -> None:
        super().end(why)
        self._items = None


class VectorNdarray(Ndarray):
    """An ndarray of vectors of `n` elements: `VectorNdarray(3, ti.f32, shape)`.

    Example:
        v = ti.VectorNdarray(2, ti.f32, shape=3)
        v[1] = [1, 2]
        v.n, v.shape, v.to_numpy().shape  # (2, (3,), (3, 2))
    """

    @property
    def n(self) -> int:
        """The number of elements of each of the vectors."""
        return self.element_shape[0]

    def __init__(self, n: int, dtype: Any, shape: Any) -> None:
        super().__init__(VectorType(n, dtype), shape)


class MatrixNdarray(Ndarray):
    """An ndarray of `n` x `m` matrices: `MatrixNdarray(2, 3, ti.f32, shape)`.

    Example:
        m = ti.MatrixNdarray(2, 2, ti.f32, shape=3)
        m[0] = [[1, 2], [3, 4]]
        m[0] @ ti.Vector([1.0, 1.0])  # [3. 7.]
    """

    @property
    def n(self) -> int:
        """The number of rows of each of the matrices."""
        return self.element_shape[0]

    @property
    def m(self) -> int:
        """The number of columns of each of the matrices."""
        return self.element_shape[1]

    def __init__(self, n: int, m: int, dtype: Any, shape: Any) -> None:
        super().__init__(MatrixType(n, m, dtype), shape)


def ndarray_over(dtype: Any, shape: tuple[int, ...], cells: Any, marks: Any = None) -> Any:
    """The ndarray over these elements (see `array()`) and marks, without a copy. Members of ndarrays of structs are
    such arrays."""
    made: type[Ndarray] = ScalarNdarray
    if isinstance(dtype, MatrixType):
        made = VectorNdarray if dtype.ndim == 1 else MatrixNdarray
    array = made.__new__(made)
    array._describe(dtype, shape)
    array._cells, array._marks, array.grad, array.dual = cells, marks, None, None
    return array


def _needs(array: Ndarray) -> dict[str, bool]:
    """The options that make an ndarray with the same companions."""
    return {f"needs_{kind}": True for kind, _ in companions_of(array)}


def _made(dtype: Any, shape: tuple[int, ...], needed: dict[str, bool]) -> Any:
    """A new ndarray; a part of one if it has no elements, as views may."""
    made = MAKERS.ndarray(dtype, tuple(max(1, extent) for extent in shape), **needed)
    return made[tuple(map(slice, shape))] if 0 in shape else made


def _unpickled(dtype: Any, shape: tuple[int, ...], values: Any, derived: Mapping[str, Any]) -> Any:
    made = _made(dtype, shape, {f"needs_{kind}": True for kind in derived})
    made.from_numpy(values)
    for kind, numbers in derived.items():
        getattr(made, kind).from_numpy(numbers)
    return made
