"""Vectors and matrices in Python scope. They wrap numpy arrays and have the operators and methods that kernels provide.

An element of a vector field is such a value. Its array is a view of the field, so a write to it changes the field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, reduce
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.ir.scalar import cast_value, promote
from weft.ir.types import Prim, u1
from weft.lang.arguments import is_several
from weft.lang.errors import WrongIndex
from weft.lang.values.brackets import Unsized
from weft.lang.values.builtins import PyFunc, apply_binary, apply_unary, strong_type
from weft.lang.values.makers import MAKERS
from weft.lang.values.scope import is_whole, number, typed
from weft.lang.values.types import MatrixType, VectorType, extent_of, prim_of_numpy, primitive

__all__ = ["METHODS", "SWIZZLES", "Matrix", "Vector", "swizzle"]

# Methods that are written in the language, by name; `library/linalg.py` adds them.
METHODS: dict[str, PyFunc] = {}

SWIZZLES: tuple[str, ...] = ("xyzw", "rgba", "stpq")


@cache
def swizzle(name: str) -> tuple[int, ...] | None:
    """The element indices of a swizzle such as `xy` or `bgr`. None if `name` is not a swizzle. A swizzle has at most
    four letters of one alphabet."""
    if 1 <= len(name) <= 4:
        for alphabet in SWIZZLES:
            if all(letter in alphabet for letter in name):
                return tuple(alphabet.index(letter) for letter in name)
    return None


class _Methods(type):
    """Methods of linear algebra, called through the class: `Vector.cross(a, b)`."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in METHODS:
            raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")
        return METHODS[name]


class Matrix(metaclass=_Methods):
    """`Matrix([[1, 2], [3, 4]], dt=None)` makes an n x m matrix. A flat list makes a vector.

    `arr` is a list of numbers, a list of rows of equal length (lists or vectors), a numpy array or a matrix. It is
    copied. `dt` is the element type. Without it, Python ints become i64, floats become f64, and the types of numpy
    scalars are combined by the rules of kernels. Operators work element by element, on matrices of equal shape and on
    scalars; `@` is the matrix product. Raises TypeMismatch for anything else.

    Example:
        A = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
        A @ ti.Vector([1.0, 1.0]), A.determinant(), A.trace()  # ([3. 7.], -2.0, 5.0)
        (A * A + 1).to_list(), A.transpose()[0, 1]  # ([[2.0, 5.0], [10.0, 17.0]], 3.0)
        A.inverse() @ A == ti.Matrix.identity(ti.f64, 2)  # [[True True] [True True]]
        ti.Matrix.field(2, 2, ti.f32, shape=3)  # <field f32x2x2, shape=(3,)>
        A + ti.Matrix([[1.0, 2.0, 3.0]])  # raises TypeMismatch
    """

    __slots__ = ("values",)
    values: Any
    __array_ufunc__ = None  # makes numpy's operators defer to those of this class

    if TYPE_CHECKING:  # the table of operators below defines these methods

        def _operator(self, other: Any) -> Any: ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _operator
        __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __and__ = __rand__ = _operator
        __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _operator
        __lt__ = __le__ = __gt__ = __ge__ = _operator

    def __init__(self, arr: Any, dt: Any = None) -> None:
        array = _array(arr, None if dt is None else primitive(dt))
        if array.ndim not in (1, 2):
            raise TypeMismatch(
                f"a vector or matrix must have one or two axes, not {array.ndim}: pass a list or a list of rows"
            )
        self.values = array

    def __class_getitem__(cls, dtype: Any) -> Unsized:
        return Unsized(cls.__name__, 1 if issubclass(cls, Vector) else 2, dtype)

    @staticmethod
    def wrap(values: Any) -> Matrix:
        """The vector or matrix that uses the array `values` as its storage, without a copy."""
        matrix: Matrix = object.__new__(Vector if values.ndim == 1 else Matrix)
        matrix.values = values
        return matrix

    @property
    def n(self) -> int:
        """The number of rows, or the length of a vector."""
        return self.shape[0]

    @property
    def m(self) -> int:
        """The number of columns; 1 for a vector."""
        return self.shape[1] if self.ndim == 2 else 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape: (n,) for a vector, (n, m) for a matrix."""
        return tuple(self.values.shape)

    @property
    def ndim(self) -> int:
        """The number of axes: 1 for a vector, 2 for a matrix."""
        return len(self.shape)

    @property
    def dtype(self) -> Prim:
        """The type of the elements, such as `ti.f32`."""
        return prim_of_numpy(self.values.dtype)

    @property
    def entries(self) -> Any:
        """The elements as a numpy array of the same shape, not copied."""
        return self.values

    def get_shape(self) -> tuple[int, ...]:
        """The shape, as `shape`: (n,) for a vector, (n, m) for a matrix."""
        return self.shape

    def copy(self) -> Matrix:
        """A copy with its own storage, of the same type and shape."""
        return Matrix.wrap(self.values.copy())

    def to_numpy(self) -> Any:
        """The elements as a new numpy array of the same type and shape."""
        return self.values.copy()

    def to_list(self) -> list[Any]:
        """The elements as Python numbers; a list of rows for a matrix."""
        result: list[Any] = self.values.tolist()
        return result

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.values, dtype) if copy or dtype is not None else self.values

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[Any]:
        if not typed.get():
            return iter(self.to_list())
        return iter(self.values) if self.values.ndim == 1 else iter([list(row) for row in self.values])

    def __getitem__(self, key: Any) -> Any:
        try:
            item = self.values[self._key(key)]
        except IndexError as fault:
            raise self._outside(fault) from None
        return Matrix.wrap(item.copy()) if isinstance(item, np.ndarray) else number(item)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._put(self._key(key), cast_value(getattr(value, "values", value), self.dtype))

    def _key(self, key: Any) -> Any:
        count = len(key) if isinstance(key, tuple) else 1
        if count != self.ndim:
            raise TypeMismatch(f"a matrix of shape {self.shape} takes {self.ndim} indices, got {count}")
        for part in key if isinstance(key, tuple) else (key,):
            if not isinstance(part, int | np.integer | slice | list | np.ndarray):
                raise TypeMismatch(f"an index must be an integer or a slice, not {part!r}")
        return key

    def _outside(self, fault: IndexError) -> WrongIndex:
        return WrongIndex(f"{'a vector' if self.ndim == 1 else 'a matrix'} of shape {self.shape}: {fault}")

    def _put(self, key: Any, value: Any) -> None:
        try:
            self.values[key] = value
        except IndexError as fault:
            raise self._outside(fault) from None
        except ValueError as fault:
            raise TypeMismatch(f"elements of a matrix of shape {self.shape}: {fault}") from None

    def _pick(self, positions: tuple[int, ...]) -> Any:
        return self.values[list(positions)]

    def __getattr__(self, name: str) -> Any:
        positions = None if name.startswith("__") else swizzle(name)
        if positions is None:
            if name in METHODS:
                return MethodType(METHODS[name], self)
            raise AttributeError(f"a matrix has no attribute '{name}'")
        self._check_swizzle(name, positions)
        return self[positions[0]] if len(positions) == 1 else Matrix.wrap(self._pick(positions))

    def __setattr__(self, name: str, value: Any) -> None:
        positions = None if name == "values" else swizzle(name)
        if positions is None:
            object.__setattr__(self, name, value)
            return
        self._check_swizzle(name, positions)
        if len(set(positions)) != len(positions):
            raise AttributeError(f"'{name}' names an element twice, so it cannot be assigned")
        new = np.asarray(cast_value(getattr(value, "values", value), self.dtype))
        if new.ndim and new.shape != (len(positions),):
            raise TypeMismatch(f"'{name}' takes {len(positions)} values, got shape {new.shape}")
        self._put(list(positions), new)

    def _check_swizzle(self, name: str, positions: tuple[int, ...]) -> None:
        if self.ndim != 1 or max(positions) >= self.n:
            kind = f"a vector of {self.n}" if self.ndim == 1 else f"a matrix of shape {self.shape}"
            raise AttributeError(f"{kind} has no element '{name}'")

    def __str__(self) -> str:
        return str(self.values)

    def __repr__(self) -> str:
        return str(self.values)

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        rows = [self.values] if self.ndim == 1 else list(self.values)
        texts = ["[" + ", ".join(format(item, spec) for item in row.tolist()) + "]" for row in rows]
        return texts[0] if self.ndim == 1 else "[" + ", ".join(texts) + "]"

    def __bool__(self) -> bool:
        if self.values.size == 1:
            return bool(self.values.ravel()[0])
        raise TypeMismatch("a matrix has no truth value: use .any() or .all()")

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Any:
        return NotImplemented if is_whole(other) else apply_binary("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return NotImplemented if is_whole(other) else apply_binary("ne", self, other)

    def __neg__(self) -> Any:
        return apply_unary("neg", self)

    def __pos__(self) -> Any:
        return self.copy()

    def __invert__(self) -> Any:
        return apply_unary("bit_not", self)

    def __abs__(self) -> Any:
        return apply_unary("abs", self)

    def __matmul__(self, other: Any) -> Any:
        a, b = self.values, np.asarray(getattr(other, "values", other))
        column = a.ndim == 1 and b.shape[:1] == (1,) and b.ndim == 2 and a.shape != (1,)
        if not column and (not b.ndim or a.shape[-1] != b.shape[0]):
            raise TypeMismatch(
                f"'@' of shapes {a.shape} and {b.shape}: the columns of the left side must match the rows of "
                "the right side"
            )
        if column:
            a = a[:, np.newaxis]
        common = promote(self.dtype, prim_of_numpy(b.dtype))
        product = _product(cast_value(a, common), cast_value(b, common))
        return Matrix.wrap(product) if product.ndim else product

    def transpose(self) -> Matrix:
        """The transposed matrix. Raises TypeMismatch for a vector: use `a.outer_product(b)`."""
        if self.ndim == 1:
            raise TypeMismatch("a vector has no transpose: for `a @ b.transpose()`, write `a.outer_product(b)`")
        return Matrix.wrap(self.values.T.copy())

    def sum(self) -> Any:
        """The sum of all elements, a number of their type."""
        return self._reduce("add")

    def max(self) -> Any:
        """The largest of all elements, a number of their type."""
        return self._reduce("max")

    def min(self) -> Any:
        """The smallest of all elements, a number of their type."""
        return self._reduce("min")

    def any(self) -> bool:
        """Whether any element is nonzero."""
        return bool(np.any(self.values))

    def all(self) -> bool:
        """Whether every element is nonzero."""
        return bool(np.all(self.values))

    def _reduce(self, kind: str) -> Any:
        return number(reduce(lambda a, b: apply_binary(kind, a, b), self.values.ravel()))

    def cast(self, dtype: Any) -> Matrix:
        """The elements converted to `dtype`, as `ti.cast` does: a vector or matrix of the same shape."""
        return Matrix.wrap(np.asarray(cast_value(self.values, primitive(dtype))))

    def fill(self, value: Any) -> None:
        """Set every element to `value`, which is cast to the type of the elements."""
        self._put(..., cast_value(value, self.dtype))

    @staticmethod
    def zero(dt: Any, n: int, m: int | None = None) -> Matrix:
        """Zeros of type `dt`: a vector of n, or an n x m matrix."""
        return Matrix.wrap(np.zeros(_shape(n, m), primitive(dt).np))

    @staticmethod
    def one(dt: Any, n: int, m: int | None = None) -> Matrix:
        """Ones of type `dt`: a vector of n, or an n x m matrix."""
        return Matrix.wrap(np.ones(_shape(n, m), primitive(dt).np))

    @staticmethod
    def unit(n: int, i: Any, dt: Any = int) -> Matrix:
        """The vector of length n with 1 at index `i` and 0 elsewhere."""
        if not isinstance(i, int | np.integer) or not 0 <= i < extent_of(n):
            raise TypeMismatch(f"unit({n}, {i}): there is no element {i}")
        result = Matrix.zero(dt, n)
        result.values[i] = 1
        return result

    @staticmethod
    def identity(dt: Any, n: int) -> Matrix:
        """The n x n identity matrix."""
        return Matrix.wrap(np.eye(extent_of(n), dtype=primitive(dt).np))

    @staticmethod
    def diag(dim: int, val: Any) -> Matrix:
        """The dim x dim matrix with `val` on its diagonal and 0 elsewhere."""
        return Matrix.wrap(np.asarray(np.eye(extent_of(dim), dtype=prim_of_numpy(np.asarray(val).dtype).np) * val))

    @staticmethod
    def rows(rows: Any) -> Matrix:
        """The matrix with the given rows, which are vectors or lists of equal length."""
        if not is_several(rows):
            raise TypeMismatch(f"expected a list of vectors, not {rows!r}")
        given = [row if isinstance(row, Matrix) or not isinstance(row, Iterable) else list(row) for row in rows]
        wrong = next((row for row in given if not isinstance(row, Matrix | list)), None)
        if wrong is not None:
            raise TypeMismatch(f"a row or column must be a vector or a list, not {wrong!r}")
        return Matrix(given)

    @staticmethod
    def cols(cols: Any) -> Matrix:
        """The matrix with the given columns, which are vectors or lists of equal length."""
        return Matrix.rows(cols).transpose()

    @staticmethod
    def field(n: int, m: int, dtype: Any, shape: Any = None, **keywords: Any) -> Any:
        """Make a field of n x m matrices of `dtype`.

        `shape` is a number, a tuple, or () for a single element. With None, the field must be placed. `order` ("ij",
        "ji" ...), `offset`, `layout` (Layout.AOS or Layout.SOA), `needs_grad`, `needs_dual` and `name` work as in
        `ti.field`."""
        return MAKERS.matrix_field((n, m), dtype, shape, **keywords)

    @staticmethod
    def ndarray(n: int, m: int, dtype: Any, shape: Any) -> Any:
        """Make an ndarray of n x m matrices of `dtype`."""
        return MatrixType(n, m, dtype).ndarray(shape)


def _binary_operator(kind: str, swapped: bool) -> Callable[[Any, Any], Any]:
    def apply(self: Any, other: Any) -> Any:
        if is_whole(other):
            return NotImplemented
        return apply_binary(kind, other, self) if swapped else apply_binary(kind, self, other)

    return apply


# One row for each Python operator: the name of its method, the BINARY row, and whether Python has a reflected method
# too.
_OPERATORS: tuple[tuple[str, str, bool], ...] = (
    *(("add", "add", True), ("sub", "sub", True), ("mul", "mul", True), ("truediv", "div", True)),
    *(("floordiv", "floordiv", True), ("mod", "mod", True), ("pow", "pow", True), ("and", "and", True)),
    *(("or", "or", True), ("xor", "xor", True), ("lshift", "shl", True), ("rshift", "shr", True)),
    *(("lt", "lt", False), ("le", "le", False), ("gt", "gt", False), ("ge", "ge", False)),
)
for _method, _kind, _has_swapped in _OPERATORS:
    setattr(Matrix, f"__{_method}__", _binary_operator(_kind, False))
    if _has_swapped:
        setattr(Matrix, f"__r{_method}__", _binary_operator(_kind, True))


class Vector(Matrix):
    """`Vector([1, 2, 3], dt=None)` makes a vector. Everything else is as for `Matrix`. A vector of up to four elements
    has the components `x`, `y`, `z`, `w` and `r`, `g`, `b`, `a`, and swizzles such as `v.zy`.

    Example:
        v = ti.Vector([3.0, 4.0])
        v.norm(), v.normalized(), v.dot(v), v.yx  # (5.0, [0.6 0.8], 25.0, [4. 3.])
        v.x = 1
        v, v.max(), v.outer_product(v).to_list()  # ([1. 4.], 4.0, [[1.0, 4.0], [4.0, 16.0]])
        ti.Vector.field(3, ti.f32, shape=5)  # <field f32x3, shape=(5,)>
        ti.Vector.ndarray(3, ti.f32, 5)  # <ndarray f32x3, shape=(5,)>
    """

    __slots__ = ()

    @staticmethod
    def field(n: int, dtype: Any, shape: Any = None, **keywords: Any) -> Any:  # type: ignore[override]
        """Make a field of vectors of n elements of `dtype`. The keywords are those of `Matrix.field`."""
        return MAKERS.matrix_field((n,), dtype, shape, **keywords)

    @staticmethod
    def ndarray(n: int, dtype: Any, shape: Any) -> Any:  # type: ignore[override]
        """Make an ndarray of vectors of n elements of `dtype`."""
        return VectorType(n, dtype).ndarray(shape)


MAKERS.matrix = Matrix.wrap


def _shape(n: int, m: int | None) -> tuple[int, ...]:
    return (extent_of(n),) if m is None else (extent_of(n), extent_of(m))


def _array(arr: Any, wanted: Prim | None = None) -> Any:
    """A new numpy array with the elements of `arr`. Its type is `wanted`, or the common type of the elements."""
    if isinstance(arr, Matrix | np.ndarray):
        array = np.asarray(getattr(arr, "values", arr))
        return np.array(cast_value(array, wanted or prim_of_numpy(array.dtype)))
    if not isinstance(arr, list | tuple | range):
        raise TypeMismatch(
            f"a vector or matrix must be made from a list, a tuple or an array, not {type(arr).__name__}"
        )
    rows = [_array(item, wanted) if isinstance(item, Matrix | np.ndarray | list | tuple) else item for item in arr]
    if not rows:
        return np.zeros(0, None if wanted is None else wanted.np)
    shapes = {np.shape(row) for row in rows}
    if len(shapes) != 1:
        raise TypeMismatch(f"the rows of a matrix must have the same length, but their shapes are {sorted(shapes)}")
    inner: list[Any] = [row for row in rows if isinstance(row, np.ndarray)]
    common = reduce(promote, (prim_of_numpy(row.dtype) for row in inner)) if inner else wanted or _element_type(rows)
    return np.stack([np.asarray(cast_value(row, common)) for row in rows])


def _element_type(items: list[Any]) -> Prim:
    """The element type of a list of numbers. Typed numbers are combined by the rules of kernels, Python's by those of
    numpy."""
    strong = [prim for item in items if (prim := strong_type(item)) is not None]
    weak = [prim_of_numpy(np.asarray(item).dtype) for item in items if strong_type(item) is None]
    if not strong:
        return reduce(promote, weak)
    common = reduce(promote, strong)
    fits = common.is_float or all(prim.is_int for prim in weak)
    return common if fits and (common is not u1 or not weak) else reduce(promote, weak, common)


def _product(a: Any, b: Any) -> Any:
    """`a @ b`. The sum starts with the first product, as in kernels. numpy starts with 0.0, which loses a -0.0."""
    rows = a if a.ndim == 2 else a[np.newaxis]
    column = (slice(None), np.newaxis) if b.ndim == 2 else slice(None)
    with np.errstate(all="ignore"):
        total = rows[:, 0][column] * b[0]
        for k in range(1, rows.shape[1]):
            total = total + rows[:, k][column] * b[k]
    return total if a.ndim == 2 else total[0]
