# pyright: reportOverlappingOverload=false, reportIncompatibleMethodOverride=false
# mypy: disable-error-code="overload-overlap"
"""Fields and arrays, as type checkers see them. `Field[E]` is a field whose elements have the type E."""

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from types import EllipsisType
from typing import Any, Generic, TypeAlias, TypeVar, overload

from numpy.typing import NDArray as NumpyArray
from typing_extensions import Self

from weft.lang.data.axes import Layout
from weft.lang.data.snode_api import SNode
from weft.stubs.loops import Index
from weft.stubs.matrices import Matrix, Tensor, Vector

E = TypeVar("E")
Number = TypeVar("Number", int, float)
Several = TypeVar("Several", bound=Tensor[Any])
Shape: TypeAlias = int | Sequence[int]
Place: TypeAlias = int | tuple[int | Vector[int], ...] | Vector[int] | None
Slices: TypeAlias = slice | EllipsisType | tuple[int | slice | EllipsisType | None, ...]
Axis: TypeAlias = int | Sequence[int] | None
Numbers: TypeAlias = float | Sequence[float] | Sequence[Sequence[float]] | Tensor[float] | NumpyArray[Any]

class _Elements(Generic[E]):
    """What fields and ndarrays have."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of elements along each axis; () for a single element."""
    @property
    def ndim(self) -> int:
        """The number of axes, without those of an element."""
    @property
    def dtype(self) -> Any:
        """The type of the numbers, such as `ti.f32`; the type of the structs of a field of structs."""
    @property
    def element_shape(self) -> tuple[int, ...]:
        """The shape of an element: () for numbers, (n,) for vectors, (n, m) for matrices."""
    @property
    def grad(self) -> Self:
        """The gradient: of the same type and shape, if it was made with `needs_grad=True`. Otherwise None."""
    @property
    def dual(self) -> Self:
        """The dual, of the same type and shape. None if it has none. `ti.ad.FwdMode` computes it."""
    @overload
    def __getitem__(self, key: Place) -> E: ...
    @overload
    def __getitem__(self, key: Slices) -> Ndarray[E]: ...
    @overload
    def __setitem__(self: _Elements[int], key: Place, value: int) -> None: ...
    @overload
    def __setitem__(self: _Elements[float], key: Place, value: float) -> None: ...
    @overload
    def __setitem__(
        self: _Elements[Vector[int]] | _Elements[Vector[float]] | _Elements[Matrix[int]] | _Elements[Matrix[float]],
        key: Place,
        value: float | Tensor[float] | Sequence[float] | Sequence[Sequence[float]],
    ) -> None: ...
    @overload
    def __setitem__(self, key: Place, value: E) -> None: ...
    @overload
    def __setitem__(self, key: Slices, value: Numbers | _Elements[Any]) -> None: ...
    def __iter__(self) -> Iterator[Index]:
        """In a kernel: a loop over all indices, `for i, j in x:`. In Python, the numbers or vectors of a field or
        ndarray with one axis, else the views `x[i, ...]`."""
    def __len__(self) -> int:
        """The number of elements along the first axis."""
    def __contains__(self, value: object) -> bool:
        """Whether an element is equal to this one."""
    def __eq__(self, other: object) -> Ndarray[int]:  # type: ignore[override]
        """Where elements are equal. As a truth value, whether both are one object."""
    def __ne__(self, other: object) -> Ndarray[int]:  # type: ignore[override]
        """Where elements differ."""
    def __hash__(self) -> int: ...
    @overload
    def __add__(self: _Elements[int], other: int | _Elements[int]) -> Ndarray[int]: ...
    @overload
    def __add__(self: _Elements[int] | _Elements[float], other: float | _Elements[float]) -> Ndarray[float]: ...
    @overload
    def __add__(self, other: Numbers | _Elements[Any]) -> Ndarray[Any]: ...
    @overload
    def __radd__(self: _Elements[int], other: int | _Elements[int]) -> Ndarray[int]: ...
    @overload
    def __radd__(self: _Elements[int] | _Elements[float], other: float | _Elements[float]) -> Ndarray[float]: ...
    @overload
    def __radd__(self, other: Numbers | _Elements[Any]) -> Ndarray[Any]: ...
    @overload
    def __sub__(self: _Elements[int], other: int | _Elements[int]) -> Ndarray[int]: ...
    @overload
    def __sub__(self: _Elements[int] | _Elements[float], other: float | _Elements[float]) -> Ndarray[float]: ...
    @overload
    def __sub__(self, other: Numbers | _Elements[Any]) -> Ndarray[Any]: ...
    @overload
    def __rsub__(self: _Elements[int], other: int | _Elements[int]) -> Ndarray[int]: ...
    @overload
    def __rsub__(self: _Elements[int] | _Elements[float], other: float | _Elements[float]) -> Ndarray[float]: ...
    @overload
    def __rsub__(self, other: Numbers | _Elements[Any]) -> Ndarray[Any]: ...
    @overload
    def __mul__(self: _Elements[int], other: int | _Elements[int]) -> Ndarray[int]: ...
    @overload
    def __mul__(self: _Elements[int] | _Elements[float], other: float | _Elements[float]) -> Ndarray[float]: ...
    @overload
    def __mul__(self, other: Numbers | _Elements[Any]) -> Ndarray[Any]: ...
    @overload
    def __rmul__(self: _Elements[int], other: int | _Elements[int]) -> Ndarray[int]: ...
    @overload
    def __rmul__(self: _Elements[int] | _Elements[float], other: float | _Elements[float]) -> Ndarray[float]: ...
    @overload
    def __rmul__(self, other: Numbers | _Elements[Any]) -> Ndarray[Any]: ...
    @overload
    def __mod__(self: _Elements[int], other: int | _Elements[int]) -> Ndarray[int]: ...
    @overload
    def __mod__(self: _Elements[int] | _Elements[float], other: float | _Elements[float]) -> Ndarray[float]: ...
    @overload
    def __mod__(self, other: Numbers | _Elements[Any]) -> Ndarray[Any]: ...
    @overload
    def __rmod__(self: _Elements[int], other: int | _Elements[int]) -> Ndarray[int]: ...
    @overload
    def __rmod__(self: _Elements[int] | _Elements[float], other: float | _Elements[float]) -> Ndarray[float]: ...
    @overload
    def __rmod__(self, other: Numbers | _Elements[Any]) -> Ndarray[Any]: ...
    @overload
    def __floordiv__(self: _Elements[int], other: int | _Elements[int]) -> Ndarray[int]: ...
    @overload
    def __floordiv__(self: _Elements[int] | _Elements[float], other: float | _Elements[float]) -> Ndarray[float]: ...
    @overload
    def __floordiv__(self, other: Numbers | _Elements[Any]) -> Ndarray[Any]: ...
    @overload
    def __rfloordiv__(self: _Elements[int], other: int | _Elements[int]) -> Ndarray[int]: ...
    @overload
    def __rfloordiv__(self: _Elements[int] | _Elements[float], other: float | _Elements[float]) -> Ndarray[float]: ...
    @overload
    def __rfloordiv__(self, other: Numbers | _Elements[Any]) -> Ndarray[Any]: ...
    @overload
    def __pow__(self: _Elements[int], other: int | _Elements[int]) -> Ndarray[int]: ...
    @overload
    def __pow__(self: _Elements[int] | _Elements[float], other: float | _Elements[float]) -> Ndarray[float]: ...
    @overload
    def __pow__(self, other: Numbers | _Elements[Any]) -> Ndarray[Any]: ...
    @overload
    def __rpow__(self: _Elements[int], other: int | _Elements[int]) -> Ndarray[int]: ...
    @overload
    def __rpow__(self: _Elements[int] | _Elements[float], other: float | _Elements[float]) -> Ndarray[float]: ...
    @overload
    def __rpow__(self, other: Numbers | _Elements[Any]) -> Ndarray[Any]: ...
    @overload
    def __truediv__(self: _Elements[int] | _Elements[float], other: float | _Elements[float]) -> Ndarray[float]: ...
    @overload
    def __truediv__(self, other: Numbers | _Elements[Any]) -> Ndarray[Any]: ...
    @overload
    def __rtruediv__(self: _Elements[int] | _Elements[float], other: float | _Elements[float]) -> Ndarray[float]: ...
    @overload
    def __rtruediv__(self, other: Numbers | _Elements[Any]) -> Ndarray[Any]: ...
    def __and__(self, other: Numbers | _Elements[Any]) -> Ndarray[int]: ...
    def __rand__(self, other: Numbers | _Elements[Any]) -> Ndarray[int]: ...
    def __or__(self, other: Numbers | _Elements[Any]) -> Ndarray[int]: ...
    def __ror__(self, other: Numbers | _Elements[Any]) -> Ndarray[int]: ...
    def __xor__(self, other: Numbers | _Elements[Any]) -> Ndarray[int]: ...
    def __rxor__(self, other: Numbers | _Elements[Any]) -> Ndarray[int]: ...
    def __lshift__(self, other: Numbers | _Elements[Any]) -> Ndarray[int]: ...
    def __rlshift__(self, other: Numbers | _Elements[Any]) -> Ndarray[int]: ...
    def __rshift__(self, other: Numbers | _Elements[Any]) -> Ndarray[int]: ...
    def __rrshift__(self, other: Numbers | _Elements[Any]) -> Ndarray[int]: ...
    def __lt__(self, other: Numbers | _Elements[Any]) -> Ndarray[int]: ...
    def __le__(self, other: Numbers | _Elements[Any]) -> Ndarray[int]: ...
    def __gt__(self, other: Numbers | _Elements[Any]) -> Ndarray[int]: ...
    def __ge__(self, other: Numbers | _Elements[Any]) -> Ndarray[int]: ...
    def __iadd__(self, other: Numbers | _Elements[Any]) -> Self: ...
    def __isub__(self, other: Numbers | _Elements[Any]) -> Self: ...
    def __imul__(self, other: Numbers | _Elements[Any]) -> Self: ...
    def __itruediv__(self, other: Numbers | _Elements[Any]) -> Self: ...
    def __ifloordiv__(self, other: Numbers | _Elements[Any]) -> Self: ...
    def __imod__(self, other: Numbers | _Elements[Any]) -> Self: ...
    def __ipow__(self, other: Numbers | _Elements[Any]) -> Self: ...
    def __iand__(self, other: Numbers | _Elements[Any]) -> Self: ...
    def __ior__(self, other: Numbers | _Elements[Any]) -> Self: ...
    def __ixor__(self, other: Numbers | _Elements[Any]) -> Self: ...
    def __ilshift__(self, other: Numbers | _Elements[Any]) -> Self: ...
    def __irshift__(self, other: Numbers | _Elements[Any]) -> Self: ...
    def __neg__(self) -> Ndarray[E]: ...
    def __pos__(self) -> Ndarray[E]: ...
    def __abs__(self) -> Ndarray[E]: ...
    def __invert__(self) -> Ndarray[E]: ...
    def sum(self, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False) -> Any:
        """The sum, of all numbers or along `axis` (a number or a tuple). Integers are added in 64 bits, and floats in
        f64. `dtype` is the type to add in, and that of the result."""
    def mean(self, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False) -> Any:
        """The arithmetic mean, computed in f64. That of no numbers is NaN."""
    def var(
        self, axis: Axis = None, dtype: Any = None, out: None = None, ddof: float = 0, keepdims: bool = False
    ) -> Any:
        """The variance: the mean of `(x - x.mean())**2`, where the sum is divided by `n - ddof`."""
    def std(
        self, axis: Axis = None, dtype: Any = None, out: None = None, ddof: float = 0, keepdims: bool = False
    ) -> Any:
        """The standard deviation: the square root of the variance."""
    def min(self, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
        """The least number; NaN if there is one. Raises ValueError if there is none."""
    def max(self, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
        """The greatest number; NaN if there is one. Raises ValueError if there is none."""
    def argmin(self, axis: None = None, out: None = None) -> int:
        """The place of the (first) least number in `x.to_numpy().ravel()`. NaN is less than all others. Raises
        ValueError if there is none."""
    def argmax(self, axis: None = None, out: None = None) -> int:
        """The place of the (first) greatest number, as `argmin`. NaN is greater than all others."""
    def any(self, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
        """Whether one number at least is not 0."""
    def all(self, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
        """Whether no number is 0."""
    def save(self, path: str | PathLike[str]) -> None:
        """Write the elements to a file of numpy's format `.npy`, in one step: `x.from_numpy(np.load(path))` reads it.
        Raises WriteFailed, and leaves an old file as it was, if that fails. (`ti.save` writes whole programs.)"""
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NumpyArray[Any]: ...
    @overload
    def fill(self: _Elements[int], val: int) -> None: ...
    @overload
    def fill(self: _Elements[float], val: float) -> None: ...
    @overload
    def fill(self, val: Any) -> None:
        """Set every element."""
    def copy_from(self, other: _Elements[Any]) -> None:
        """Set all elements from another one of the same shape. Raises ValueError for another shape."""
    def to_torch(self, device: Any = None) -> Any:
        """Copy all elements to a new torch tensor, on `device` if given."""
    def from_torch(self, arr: Any) -> None:
        """Set all elements from a torch tensor on any device."""

class Field(_Elements[E]):
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

    name: str
    @property
    def offset(self) -> tuple[int, ...]:
        """The index of the first element along each axis."""
    @property
    def placed(self) -> bool:
        """Whether the field has a place in a tree."""
    @property
    def snode(self) -> SNode:
        """The place of the field, or of its first scalar component: a node of the layout."""
    def active(self) -> Any:
        """The indices of the active elements, an int64 array of shape (n, axes), and their values, an array of shape
        `(n, *element_shape)`; of a field of structs, a dict of such arrays by members. The order is that of the
        indices, the last axis fastest. All elements of a dense field are active."""
    def from_active(self, indices: Any, values: Any) -> None:
        """Set the elements with these indices, which activates them. `indices` has shape (n, axes), and `values` what
        `active` returns, or one value for all. Other elements keep their values. If an index occurs several times, one
        of its values is stored. Raises ValueError for arrays of other shapes, and FieldIndexError for an index outside
        of the field."""
    def describe(self) -> Any:
        """Where the field lies in memory."""
    def parent(self, levels: int = 1) -> SNode:
        """The node `levels` above the field's place, as `SNode.parent` gives it."""
    def to_numpy(self, *, dtype: Any = None) -> NumpyArray[Any]:
        """Copy all elements to a new numpy array; the axes of an element are the last ones."""
    def from_numpy(self, arr: Any) -> None:
        """Set all elements from an array, cast to the type of the field."""

class ScalarField(Field[E]):
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

    def to_numpy(self, dtype: Any = None) -> NumpyArray[Any]:
        """Copy all elements to a new numpy array of the field's shape. `dtype` (numpy's or Weft's) converts them."""

class MatrixField(Field[E]):
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

    n: int
    m: int
    def to_numpy(self, keep_dims: bool = False, dtype: Any = None) -> NumpyArray[Any]:
        """Copy all elements to a new numpy array of shape `(*shape, n)` for vectors, else `(*shape, n, m)`."""
    def to_torch(self, device: Any = None, keep_dims: bool = False) -> Any:
        """Copy all elements to a new torch tensor, as `to_numpy` does, on `device` if given."""
    def get_scalar_field(self, *indices: int) -> ScalarField[Any]:
        """The field of one scalar component. It shares the memory of this field."""

class StructField(Field[E]):
    """A field of structs. `S[i]` is a struct whose writes go to the field. `S.a` (or `S.members["a"]`) is the field of
    member `a`. The members are stored together in each cell, or separately with `layout=Layout.SOA`. `S.grad` and
    `S.dual` are fields of structs with the gradients and duals of the members (`S.grad.a` is `S.a.grad`), or None.

    Example:
        ball = ti.types.struct(pos=ti.math.vec2, radius=ti.f32)
        balls = ball.field(shape=2)
        balls[0].radius = 1.5
        balls.pos.fill(2)
        balls[0]  # {'pos': [2.0, 2.0], 'radius': 1.5}
        balls.keys, balls.get_member_field("radius").to_numpy().tolist()  # (['pos', 'radius'], [1.5, 0.0])
    """

    @property
    def keys(self) -> list[str]:
        """The names of the members, a list of strings in the order of the type."""
    def get_member_field(self, key: str) -> Any:
        """The field of a member."""
    def to_numpy(self, dtype: Any = None) -> dict[str, Any]:  # type: ignore[override]
        """Copy all elements to a dict of numpy arrays, one for each member."""
    def from_numpy(self, array_dict: Mapping[str, Any]) -> None:
        """Set the members from a dict of arrays."""
    def __setitem__(  # type: ignore[override]
        self, key: Place, value: E | Mapping[str, Any]
    ) -> None: ...
    def __getattr__(self, name: str) -> Any: ...

class Ndarray(_Elements[E]):
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

    def to_numpy(self) -> NumpyArray[Any]:
        """Copy all elements to a new numpy array; the axes of an element are the last ones."""
    def from_numpy(self, arr: Any) -> None:
        """Set all elements from an array of the same shape."""

class ScalarNdarray(Ndarray[E]):
    """An ndarray of numbers: `ScalarNdarray(ti.f32, shape)`, as `ti.ndarray` makes.

    Example:
        isinstance(ti.ndarray(ti.i32, (4, 4)), ti.ScalarNdarray)  # True
    """

class VectorNdarray(Ndarray[E]):
    """An ndarray of vectors of `n` elements: `VectorNdarray(3, ti.f32, shape)`.

    Example:
        v = ti.VectorNdarray(2, ti.f32, shape=3)
        v[1] = [1, 2]
        v.n, v.shape, v.to_numpy().shape  # (2, (3,), (3, 2))
    """

    def __init__(self, n: int, dtype: Any, shape: Shape) -> None: ...
    n: int

class MatrixNdarray(Ndarray[E]):
    """An ndarray of `n` x `m` matrices: `MatrixNdarray(2, 3, ti.f32, shape)`.

    Example:
        m = ti.MatrixNdarray(2, 2, ti.f32, shape=3)
        m[0] = [[1, 2], [3, 4]]
        m[0] @ ti.Vector([1.0, 1.0])  # [3. 7.]
    """

    def __init__(self, n: int, m: int, dtype: Any, shape: Shape) -> None: ...
    n: int
    m: int

@overload
def field(
    dtype: type[Number],
    shape: Shape | None = None,
    *,
    name: str = "",
    order: str | None = None,
    offset: Shape | None = None,
    needs_grad: bool = False,
    needs_dual: bool = False,
    layout: Layout = Layout.AOS,
) -> ScalarField[Number]: ...
@overload
def field(
    dtype: type[Several],
    shape: Shape | None = None,
    *,
    name: str = "",
    order: str | None = None,
    offset: Shape | None = None,
    needs_grad: bool = False,
    needs_dual: bool = False,
    layout: Layout = Layout.AOS,
) -> MatrixField[Several]: ...
@overload
def field(
    dtype: type[E],
    shape: Shape | None = None,
    *,
    name: str = "",
    order: str | None = None,
    offset: Shape | None = None,
    needs_grad: bool = False,
    needs_dual: bool = False,
    layout: Layout = Layout.AOS,
) -> StructField[E]:
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

@overload
def ndarray(
    dtype: type[Number], shape: Shape, needs_grad: bool = False, needs_dual: bool = False
) -> ScalarNdarray[Number]: ...
@overload
def ndarray(dtype: type[E], shape: Shape, needs_grad: bool = False, needs_dual: bool = False) -> Ndarray[E]:
    """Make an ndarray of `shape` (a number or a tuple), filled with zeros. `dtype` is a primitive, vector, matrix or
    struct type. `needs_grad` makes the gradient `x.grad` and `needs_dual` the dual `x.dual`, ndarrays of the same type
    and shape (see `ti.ad`); `dtype` must have floats then. Raises TypeMismatch for another type.

    Example:
        a = ti.ndarray(ti.f32, (2, 3))
        a.fill(1.5)
        a[0, 2] = 4
        a.to_numpy().tolist()  # [[1.5, 1.5, 4.0], [1.5, 1.5, 1.5]]
        ti.ndarray(ti.math.vec2, 4)  # <ndarray f32x2, shape=(4,)>
    """
