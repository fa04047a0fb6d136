"""Annotations that are types for a type checker: `ti.Array[ti.f32, 2]`, `Annotated[ti.Vector[ti.f32], 9]`.

What they mean is an object of `types`: an `NdarrayType`, a `VectorType`. The stubs in `stubs/` say what a type checker
sees."""

from __future__ import annotations

from typing import Annotated, Any, get_args, get_origin

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.ir.types import Prim, Tensor, Type
from weft.lang.values.types import CompoundType, MatrixType, NdarrayType, VectorType, extent_of, primitive, to_ir

__all__ = ["Array", "Array1", "Array2", "Array3", "Array4", "NDArray", "Unsized", "accepts", "meant"]


class _Brackets(type):
    """The class of classes that make an `NdarrayType` of what stands in brackets. `axes` is the number of axes of all
    of them; None if the brackets say it."""

    axes: int | None

    def __getitem__(cls, parameters: Any) -> NdarrayType:
        given = parameters if isinstance(parameters, tuple) else (parameters,)
        form = f"ti.{cls.__name__}[{'ti.f32, 2' if cls.axes is None else 'ti.f32'}]"
        if not 1 <= len(given) <= (2 if cls.axes is None else 1):
            what = "the type of the elements" + (" and the number of axes" if cls.axes is None else "")
            raise TypeMismatch(f"ti.{cls.__name__} takes {what}, as in {form}, got {len(given)} in its brackets")
        dtype, ndim = None if given[0] is Any else meant(given[0]), given[1] if len(given) == 2 else cls.axes
        if isinstance(dtype, int) and not isinstance(dtype, bool):
            raise TypeMismatch(f"the type of the elements comes first, as in {form}, but {dtype!r} is a number")
        try:
            return NdarrayType(dtype, ndim)
        except TypeMismatch as error:
            raise TypeMismatch(f"{error.message}, in a type of arrays such as {form}") from None


class Array(NdarrayType, metaclass=_Brackets):
    """`ti.Array[ti.f32, 2]` annotates a parameter for arrays, as `ti.types.ndarray(ti.f32, 2)` does: arrays of numpy
    (not copied), of other libraries, and ndarrays. Without the number of axes, or without brackets, it accepts any.

    Example:
        @ti.kernel
        def clear(a: ti.Array[ti.f32, 2]):
            for i, j in a:
                a[i, j] = 0

        a = np.ones((3, 4), np.float32)
        clear(a)
        a.sum()  # 0.0
        clear(np.ones(3, np.float32))  # raises ArgumentError
    """

    axes: int | None = None


class NDArray(Array):
    """`ti.NDArray[ti.f32, 2]` is another name of `ti.Array[ti.f32, 2]`.

    Example:
        @ti.kernel
        def first(a: ti.types.NDArray[ti.i32, 1]) -> ti.i32:
            return a[0]

        first(np.array([5, 6], np.int32))  # 5
    """


class _Fixed(Array):
    def __init__(self) -> None:
        super().__init__(None, type(self).axes)


class Array1(_Fixed):
    """`ti.Array1[ti.f32]` is `ti.Array[ti.f32, 1]`. Type checkers know the type of its elements.

    Example:
        @ti.kernel
        def total(a: ti.Array1[ti.f32]) -> ti.f32:
            result = 0.0
            for i in a:
                result += a[i]
            return result

        total(np.ones(10, np.float32))  # 10.0
    """

    axes = 1


class Array2(_Fixed):
    """`ti.Array2[ti.f32]` is `ti.Array[ti.f32, 2]`. Type checkers know the type of its elements.

    Example:
        @ti.kernel
        def corner(a: ti.Array2[ti.f32]) -> ti.f32:
            return a[0, 0]

        corner(np.full((2, 2), 3.0, np.float32))  # 3.0
    """

    axes = 2


class Array3(_Fixed):
    """`ti.Array3[ti.f32]` is `ti.Array[ti.f32, 3]`. Type checkers know the type of its elements.

    Example:
        @ti.kernel
        def depth(a: ti.Array3[ti.f32]) -> ti.i32:
            return a.shape[2]

        depth(np.zeros((2, 3, 4), np.float32))  # 4
    """

    axes = 3


class Array4(_Fixed):
    """`ti.Array4[ti.f32]` is `ti.Array[ti.f32, 4]`. Type checkers know the type of its elements.

    Example:
        @ti.kernel
        def batch(a: ti.Array4[ti.f32]) -> ti.i32:
            return a.shape[0]

        batch(np.zeros((8, 3, 4, 4), np.float32))  # 8
    """

    axes = 4


class Unsized:
    """`ti.Vector[ti.f32]`: vectors of any size. `Annotated[ti.Vector[ti.f32], 9]` are those of 9 elements, and
    `Annotated[ti.Matrix[ti.f32], 2, 3]` are 2 x 3 matrices. `axes` is 1 for vectors and 2 for matrices."""

    def __init__(self, name: str, axes: int, dtype: Any) -> None:
        self.name, self.axes, self.dtype = name, axes, dtype
        if dtype is not Any:
            primitive(dtype)

    def sized(self, extents: tuple[Any, ...]) -> MatrixType:
        """The type with these extents. Raises TypeMismatch for another number of them."""
        if len(extents) != self.axes:
            sizes = "9" if self.axes == 1 else "2, 3"
            raise TypeMismatch(
                f"{self!r} takes {self.axes} extent{'s'[: self.axes - 1]}, as in "
                f"Annotated[ti.{self.name}[ti.f32], {sizes}], got {len(extents)}"
            )
        dtype: Any = float if self.dtype is Any else self.dtype
        return VectorType(extents[0], dtype) if self.axes == 1 else MatrixType(extents[0], extents[1], dtype)

    @property
    def not_of_values(self) -> str:
        """Why this is not the type of a value."""
        sizes = "9" if self.axes == 1 else "2, 3"
        return f"{self!r} has no size: write Annotated[{self!r}, {sizes}], or a type such as ti.vec3 or ti.mat2"

    def accepts(self, kind: Type) -> bool:
        """Whether values of this type are such vectors or matrices."""
        if not isinstance(kind, Tensor) or len(kind.shape) != self.axes:
            return False
        return self.dtype is Any or kind.elem is primitive(self.dtype)

    def __repr__(self) -> str:
        dtype = self.dtype.__name__ if isinstance(self.dtype, type) else repr(self.dtype)
        return f"ti.{self.name}[{dtype if dtype in ('float', 'int') else f'ti.{dtype}'}]"


def meant(annotation: Any) -> Any:
    """What an annotation means: the type of arrays for one of the classes, without brackets, and the type of that size
    for an `Annotated` one. Other annotations mean themselves."""
    if get_origin(annotation) is Annotated:
        base, *sizes = get_args(annotation)
        return _sized(meant(base), tuple(sizes))
    if annotation is np.ndarray or annotation is NdarrayType:
        return NdarrayType()
    return annotation() if isinstance(annotation, _Brackets) else annotation


def _sized(base: Any, sizes: tuple[Any, ...]) -> Any:
    if isinstance(base, Unsized):
        return base.sized(sizes)
    if isinstance(base, NdarrayType) and base.ndim is None and len(sizes) == 1:
        extent_of(sizes[0], "the number of an array's axes", 0)
        return NdarrayType(base.dtype, sizes[0], base.element_dim, base.element_shape, boundary=base.boundary)
    return base  # what other libraries annotate


def accepts(wanted: Any, kind: Any) -> bool:
    """Whether a field whose elements have the type `kind`, an IR type or a struct type, has elements of the type that
    an annotation names."""
    if wanted is None or wanted is Any:
        return True
    if isinstance(wanted, Unsized):
        return wanted.accepts(kind)
    if isinstance(kind, Prim | Tensor):
        return to_ir(wanted) is kind
    return isinstance(wanted, CompoundType) and wanted == kind
