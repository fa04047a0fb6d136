"""Parameters of kernels for arrays, as type checkers see them."""

from collections.abc import Iterator
from typing import Any, Protocol, TypeVar

from weft.stubs.loops import Index

E_co = TypeVar("E_co", covariant=True)
MYPY: bool  # mypy takes it for true, and other checkers take the last definition

if MYPY:
    from weft.stubs.dynamic import Array as Array
    from weft.stubs.dynamic import NDArray as NDArray
else:
    class Array(Protocol):
        """`ti.Array[ti.f32, 2]`: a parameter for arrays of that type of elements and number of axes.

        It takes numpy arrays, which are not copied, `ti.ndarray`s, and arrays of other libraries. For a type checker,
        its elements can be anything; those of `ti.Array2[ti.f32]` have their type."""

        @property
        def shape(self) -> Any: ...
        def __class_getitem__(cls, parameters: Any) -> Any: ...
        def __getitem__(self, key: Any, /) -> Any: ...
        def __setitem__(self, key: Any, value: Any, /) -> None: ...
        def __iter__(self) -> Iterator[Any]: ...

    class NDArray(Array, Protocol):
        """`ti.NDArray[ti.f32, 2]` is another name of `ti.Array[ti.f32, 2]`."""

class _Elements(Protocol[E_co]):
    @property
    def shape(self) -> tuple[int, ...]: ...
    def __getitem__(self, key: Any, /) -> E_co: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __iter__(self) -> Iterator[Index]: ...

class Array1(_Elements[E_co], Protocol[E_co]):
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

class Array2(_Elements[E_co], Protocol[E_co]):
    """`ti.Array2[ti.f32]` is `ti.Array[ti.f32, 2]`. Type checkers know the type of its elements.

    Example:
        @ti.kernel
        def corner(a: ti.Array2[ti.f32]) -> ti.f32:
            return a[0, 0]

        corner(np.full((2, 2), 3.0, np.float32))  # 3.0
    """

class Array3(_Elements[E_co], Protocol[E_co]):
    """`ti.Array3[ti.f32]` is `ti.Array[ti.f32, 3]`. Type checkers know the type of its elements.

    Example:
        @ti.kernel
        def depth(a: ti.Array3[ti.f32]) -> ti.i32:
            return a.shape[2]

        depth(np.zeros((2, 3, 4), np.float32))  # 4
    """

class Array4(_Elements[E_co], Protocol[E_co]):
    """`ti.Array4[ti.f32]` is `ti.Array[ti.f32, 4]`. Type checkers know the type of its elements.

    Example:
        @ti.kernel
        def batch(a: ti.Array4[ti.f32]) -> ti.i32:
            return a.shape[0]

        batch(np.zeros((8, 3, 4, 4), np.float32))  # 8
    """
