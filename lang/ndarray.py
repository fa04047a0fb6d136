"""`ti.ndarray`: an n-D array of scalars, vectors or matrices that kernels take as an argument."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.ir.scalar import cast_value
from weft.ir.types import Prim, Type
from weft.lang.field import FieldIndexError, element_index, scalar_value
from weft.lang.init import Program, program
from weft.lang.matrix import Matrix
from weft.lang.snode_api import FieldError
from weft.lang.types import MatrixType, VectorType, cast_numbers, primitive, shape_tuple

__all__ = ["MatrixNdarray", "Ndarray", "ScalarNdarray", "VectorNdarray", "ndarray"]


class Ndarray:
    """An array of `shape` with elements of a primitive, vector or matrix type, zero at first.

    `a[i, j]` reads a number or a Matrix that is a window onto the array; assignment casts. Indices are checked:
    FieldIndexError. `array()` is its numpy array of shape `(*shape, *element_shape)`, not copied."""

    def __init__(self, dtype: Any, shape: Any, needs_grad: bool = False) -> None:
        compound = isinstance(dtype, MatrixType)
        self.element_type: Any = dtype if compound else primitive(dtype)
        self._prim: Prim = dtype.dtype if compound else primitive(dtype)
        self.element_shape: tuple[int, ...] = dtype.shape if compound else ()
        self.shape = shape_tuple(shape)
        self._program: Program = program()
        size = int(np.prod(self.shape + self.element_shape, dtype=np.int64)) * self._prim.size
        memory = self._program.device.memory
        buffer = memory.allocate(size, f"ndarray {self.ir} {self.shape}")
        self._cells: Any = memory.view(buffer, self._prim.np, self.shape + self.element_shape)
        self.grad: Ndarray | None = Ndarray(dtype, shape) if needs_grad else None

    @property
    def dtype(self) -> Prim:
        """The type of its scalars."""
        return self._prim

    @property
    def ir(self) -> Type:
        """The IR type of an element."""
        result: Type = self.element_type.ir if self.element_shape else self._prim
        return result

    @property
    def ndim(self) -> int:
        """How many axes, those of an element not counted."""
        return len(self.shape)

    def get_type(self) -> Any:
        """The annotation that fits exactly this array."""
        from weft.lang.types import NdarrayType

        return NdarrayType(self.element_type, self.ndim)

    def array(self) -> Any:
        """The memory as a numpy array; on a GPU, what is indexed alike and copies. FieldError after a reset."""
        if not self._program.alive:
            raise FieldError(f"this {self!r} no longer exists: the program was reset after it was made")
        return self._cells

    def __getitem__(self, key: Any) -> Any:
        item = self.array()[self._position(key)]
        return Matrix.wrap(item) if self.element_shape else _plain(item)

    def __setitem__(self, key: Any, value: Any) -> None:
        position = self._position(key)
        if self.element_shape:
            self.array()[position] = self._element(value)
        else:
            self.array()[position] = scalar_value(value, self._prim, repr(self))

    load = __getitem__

    def _position(self, key: Any) -> tuple[int, ...]:
        indices = element_index(key)
        if len(indices) != len(self.shape):
            raise FieldIndexError(f"{self!r} takes {len(self.shape)} indices, got {len(indices)}")
        for axis, (index, extent) in enumerate(zip(indices, self.shape, strict=True)):
            if not 0 <= index < extent:
                raise FieldIndexError(f"index {index} of axis {axis} is out of bounds for {self!r}")
        return indices

    def _element(self, value: Any) -> Any:
        element = cast_numbers(value, self._prim, repr(self))
        if element.ndim and element.shape != self.element_shape:
            raise TypeMismatch(f"an element of {self!r} has shape {self.element_shape}, the value has {element.shape}")
        return element

    def to_numpy(self) -> Any:
        """A copy of shape `(*shape, *element_shape)`."""
        return self.array().copy()

    def from_numpy(self, arr: Any) -> None:
        """Set all elements from an array of that shape. ValueError for another shape."""
        array, expected = np.asarray(arr), self.shape + self.element_shape
        if array.shape != expected:
            raise ValueError(f"{self!r} takes an array of shape {expected}, but the array has shape {array.shape}")
        self.array()[...] = cast_value(array, self._prim)

    def copy_from(self, other: Ndarray) -> None:
        """Set all elements from an ndarray of the same shape."""
        self.from_numpy(other.array())

    def fill(self, val: Any) -> None:
        """Set every element: a number for all scalars, or one element's value."""
        self.array()[...] = self._element(val)

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array().__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.array().__dlpack_device__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.array() if copy is False else self.to_numpy()
        return array if dtype is None else array.astype(dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> Ndarray:
        made = ndarray(self.element_type, self.shape)
        made.copy_from(self)
        memo[id(self)] = made
        return made

    def __reduce__(self) -> Any:
        return _unpickled, (self.element_type, self.shape, self.to_numpy())

    def __repr__(self) -> str:
        return f"<ndarray {self.ir}, shape={self.shape}>"


class ScalarNdarray(Ndarray):
    """An ndarray of numbers."""


class VectorNdarray(Ndarray):
    """An ndarray of vectors: `VectorNdarray(3, ti.f32, shape)`."""

    def __init__(self, n: int, dtype: Any, shape: Any) -> None:
        super().__init__(VectorType(n, dtype), shape)


class MatrixNdarray(Ndarray):
    """An ndarray of matrices: `MatrixNdarray(2, 3, ti.f32, shape)`."""

    def __init__(self, n: int, m: int, dtype: Any, shape: Any) -> None:
        super().__init__(MatrixType(n, m, dtype), shape)


def ndarray(dtype: Any, shape: Any, needs_grad: bool = False) -> Ndarray:
    """A zeroed array of `shape` (a number or a tuple) with elements of `dtype`: a primitive, vector or matrix type."""
    if not isinstance(dtype, MatrixType):
        return ScalarNdarray(dtype, shape, needs_grad)
    made: type[Ndarray] = VectorNdarray if dtype.ndim == 1 else MatrixNdarray
    array = made.__new__(made)
    Ndarray.__init__(array, dtype, shape, needs_grad)
    return array


def _unpickled(dtype: Any, shape: tuple[int, ...], values: Any) -> Ndarray:
    made = ndarray(dtype, shape)
    made.from_numpy(values)
    return made


def _plain(item: Any) -> Any:
    value = item.item()
    return int(value) if isinstance(value, bool) else value
