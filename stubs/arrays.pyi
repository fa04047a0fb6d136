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
    """`ti.Array1[ti.f32]`: a parameter for arrays with one axis, of numpy or of Weft, as `ti.Array[ti.f32, 1]`."""

class Array2(_Elements[E_co], Protocol[E_co]):
    """`ti.Array2[ti.f32]`: a parameter for arrays with two axes, of numpy or of Weft, as `ti.Array[ti.f32, 2]`."""

class Array3(_Elements[E_co], Protocol[E_co]):
    """`ti.Array3[ti.f32]`: a parameter for arrays with three axes, of numpy or of Weft, as `ti.Array[ti.f32, 3]`."""

class Array4(_Elements[E_co], Protocol[E_co]):
    """`ti.Array4[ti.f32]`: a parameter for arrays with four axes, of numpy or of Weft, as `ti.Array[ti.f32, 4]`."""
