"""The types that a user writes: `ti.types.vector(3, ti.f32)`, `ti.types.struct(...)`, `ti.types.ndarray(...)`.

The primitive types are the objects of the IR (`ti.f32 is weft.ir.types.f32`). A compound type stores what the user
wrote, so `float` and `int` follow the current `default_fp` and `default_ip`. Its `.ir` is the IR type under the current
defaults. Call a compound type to make a value: `vec3(1, 2, 3)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any

import numpy as np

from weft.ir import types as ir
from weft.ir.errors import TypeMismatch
from weft.ir.types import PRIMS, Prim, Tensor, Type, f16, f32, f64, i8, i16, i32, i64, u1, u8, u16, u32, u64
from weft.lang.arguments import is_several
from weft.lang.program.init import program
from weft.lang.values.makers import MAKERS
from weft.lang.values.numbers import array_of

__all__ = [
    "CompoundType",
    "MatrixType",
    "NdarrayType",
    "Ref",
    "StructType",
    "Template",
    "VectorType",
    "f16",
    "f32",
    "f64",
    "float16",
    "float32",
    "float64",
    "i8",
    "i16",
    "i32",
    "i64",
    "int8",
    "int16",
    "int32",
    "int64",
    "ndarray",
    "primitive",
    "ref",
    "template",
    "to_ir",
    "u1",
    "u8",
    "u16",
    "u32",
    "u64",
    "uint1",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

float16, float32, float64 = f16, f32, f64
int8, int16, int32, int64 = i8, i16, i32, i64
uint1, uint8, uint16, uint32, uint64 = u1, u8, u16, u32, u64

_BY_NUMPY: dict[Any, Prim] = {prim.np: prim for prim in PRIMS.values()}


class unsigned:
    """An annotation, like `int` and `float`, for unsigned integers of the width of `default_ip`."""


def primitive(annotation: Any) -> Prim:
    """The primitive type of `annotation`. It is a primitive, `bool`, a numpy scalar type, or `int` or `float`, which
    mean the current `default_ip` and `default_fp`. Raises TypeMismatch for anything else."""
    if isinstance(annotation, Prim):
        return annotation
    if annotation is bool:
        return u1
    if annotation is int or annotation is float:
        config = program().config
        return config.default_ip if annotation is int else config.default_fp
    if annotation is unsigned:
        return u64 if primitive(int).bits == 64 else u32
    if isinstance(annotation, (type, np.dtype)):
        try:
            known = _BY_NUMPY.get(np.dtype(annotation))
        except TypeError:
            known = None
        if known is not None:
            return known
    raise TypeMismatch(_not_primitive(annotation))


def _not_primitive(annotation: Any) -> str:
    """The message for an annotation that is not a value type, with the type that the user probably meant."""
    name = getattr(annotation, "__name__", "")
    if isinstance(annotation, str) and annotation in PRIMS:
        return f"the string '{annotation}' is not a type: write ti.{annotation}"
    if why := getattr(annotation, "not_of_values", ""):
        return str(why)
    if name in ("Vector", "Matrix"):
        size = "n, dtype" if name == "Vector" else "n, m, dtype"
        return f"ti.{name} creates values; it is not a type: write ti.types.{name.lower()}({size})"
    if name == "field":
        return "ti.field creates fields; it is not a type: annotate a parameter for fields as ti.Field[ti.f32]"
    if any(annotation is container for container in (list, tuple, dict)):
        return f"a {name} is not a type of values: write ti.types.vector(n, dtype), ti.types.ndarray() or a struct type"
    shown = f"class {name}" if isinstance(annotation, type) else repr(annotation)
    return f"{shown} is not a primitive type: use one of {', '.join(PRIMS)}, int, float or bool"


def to_ir(annotation: Any) -> Type:
    """The IR type of the annotation of a value: a primitive, vector, matrix or struct type. Raises TypeMismatch for
    anything else."""
    if isinstance(annotation, CompoundType):
        return annotation.ir
    if isinstance(annotation, Type):
        return annotation
    return primitive(annotation)


def check_number(annotation: Any) -> None:
    """Raise TypeMismatch unless this is a number type. A default type is accepted without resolving it."""
    if not any(annotation is known for known in (int, float, bool, unsigned)):
        primitive(annotation)


class CompoundType:
    """A type that is composed of others. `ir` is its IR type under the current defaults.

    Example:
        [isinstance(one, ti.types.CompoundType) for one in (ti.math.vec3, ti.f32)]  # [True, False]
    """

    @property
    def ir(self) -> Type:
        """The IR type under the current defaults."""
        raise NotImplementedError


class MatrixType(CompoundType):
    """`types.matrix(n, m, dtype)`: an n x m matrix. Equal arguments give equal types.

    Example:
        mat = ti.types.matrix(2, 3, ti.f32)
        mat.n, mat.m, mat.dtype, mat == ti.types.matrix(2, 3, ti.f32)  # (2, 3, f32, True)
        mat.field(shape=3)  # <field f32x2x3, shape=(3,)>
    """

    ndim = 2

    def __init__(self, n: int, m: int, dtype: Any) -> None:
        self.n, self.m, self._dtype = extent_of(n), extent_of(m), dtype
        check_number(dtype)

    @property
    def dtype(self) -> Prim:
        """The element type. `float` and `int` mean the current defaults."""
        return primitive(self._dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, m)."""
        return (self.n, self.m)

    @property
    def ir(self) -> Tensor:
        """The IR's tensor type."""
        return ir.tensor(self.dtype, self.shape)

    def get_shape(self) -> tuple[int, ...]:
        """The extents: (n,) of vectors, (n, m) of matrices."""
        return self.shape

    def __call__(self, *args: Any) -> Any:
        """Make a value from one scalar (for all elements), from one array-like of this shape, or from scalars and
        vectors that together have as many numbers as the type. Elements are cast to `dtype`. Raises TypeMismatch for
        another number of elements."""
        return MAKERS.matrix(self.gather(args))

    def gather(self, args: tuple[Any, ...]) -> Any:
        """The numpy array of the value that a call with `args` makes."""
        from weft.ir.scalar import cast_value

        pieces = [array_of(arg) for arg in args]
        count = int(np.prod(self.shape))
        flat = [scalar for piece in pieces for scalar in piece.ravel().tolist()]
        wrong = [scalar for scalar in flat if not isinstance(scalar, int | float)]
        if wrong:
            raise TypeMismatch(f"{self!r} must consist of numbers, not {wrong[0]!r}")
        if len(pieces) == 1 and pieces[0].ndim == 0:
            flat = flat * count
        if len(flat) != count:
            raise TypeMismatch(f"{self!r} takes 1 or {count} scalars, got {len(flat)}")
        return np.asarray(cast_value(array_of(flat), self.dtype)).reshape(self.shape)

    def field(self, shape: Any = None, **keywords: Any) -> Any:
        """Make a field with elements of this type. The keywords are those of `Matrix.field`."""
        return MAKERS.matrix_field(self.shape, self._dtype, shape, **keywords)

    def ndarray(self, shape: Any, **keywords: Any) -> Any:
        """Make an ndarray of that shape with elements of this type. Its elements are zero at first."""
        return MAKERS.ndarray(self, shape, **keywords)

    def _key(self) -> tuple[Any, ...]:
        return (*self.shape, self._dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MatrixType) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"matrix({self.n}, {self.m}, {_type_name(self._dtype)})"


class VectorType(MatrixType):
    """`types.vector(n, dtype)`: a vector of n elements. Its `m` is 1. `VectorType.field(shape)` makes a field of such
    vectors.

    Example:
        vec2 = ti.types.vector(2, ti.f64)
        vec2.n, vec2.dtype, vec2.get_shape()  # (2, f64, (2,))
        vec2.field(shape=3), vec2.ndarray(3)  # (<field f64x2, shape=(3,)>, <ndarray f64x2, shape=(3,)>)
    """

    ndim = 1

    def __init__(self, n: int, dtype: Any) -> None:
        super().__init__(n, 1, dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """(n,)."""
        return (self.n,)

    def __repr__(self) -> str:
        return f"vector({self.n}, {_type_name(self._dtype)})"


class StructType(CompoundType):
    """`types.struct(name=type, ...)`, or the result of `@dataclass`: named members, and methods.

    `members` maps names to types as the user wrote them. `methods` maps names to functions, usually `@func`. Call the
    type with positional or keyword members to make a Struct. Missing members are zero.

    Example:
        ball = ti.types.struct(pos=ti.math.vec2, radius=ti.f32)
        ball(radius=2).radius, list(ball.members)  # (2.0, ['pos', 'radius'])
        ball.field(shape=4)  # <field of struct(pos: vector(2, float), radius: f32)>
    """

    def __init__(self, members: Any, methods: Any = None, name: str = "struct") -> None:
        if isinstance(members, str):  # `class members(struct): ...` calls this with a name, bases and a namespace
            raise TypeMismatch(
                f"{members}: a class cannot inherit from a struct type; give it a member of that type instead"
            )
        if not isinstance(members, Mapping):
            raise TypeMismatch(f"{name}: the members must be a dict of names and types, not {members!r}")
        if methods is not None and not isinstance(methods, Mapping):
            raise TypeMismatch(f"{name}: the methods must be a dict of names and functions, not {methods!r}")
        self.members: dict[str, Any] = dict(members)
        self.methods: dict[str, Callable[..., Any]] = dict(methods or {})
        self.__name__ = name
        for member, annotation in self.members.items():
            if annotation not in (int, float, bool) and not isinstance(annotation, Prim | CompoundType):
                raise TypeMismatch(f"member '{member}' of {name}: {annotation!r} is not a type of values")

    def __instancecheck__(self, instance: Any) -> bool:
        """`isinstance(s, S)`: whether `s` is a struct whose members have the names and types of `S`. The members of a
        free struct such as `ti.Struct(a=1.0)` have Python's types, and a Python float matches every float type."""
        return MAKERS.is_struct(self, instance)

    @property
    def ir(self) -> ir.Struct:
        """The IR's struct type."""
        return ir.struct(tuple((name, to_ir(annotation)) for name, annotation in self.members.items()))

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Make a Struct. Raises TypeMismatch for an unknown name or too many members."""
        return MAKERS.struct(self, args, keywords)

    def bound(self, method: str, owner: Any) -> Callable[..., Any]:
        """A method bound to `owner`. A static method is not bound."""
        function = self.methods[method]
        return function.__func__ if isinstance(function, staticmethod) else MethodType(function, owner)

    def field(self, shape: Any = None, **keywords: Any) -> Any:
        """Make a StructField with elements of this type. The keywords are those of `Struct.field`."""
        if not self.members:
            raise TypeMismatch(f"{self.__name__} has no members, so it cannot be the type of a field")
        return MAKERS.struct_field(self, shape, **keywords)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StructType) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return (tuple(self.members.items()), tuple(self.methods.items()))

    def __repr__(self) -> str:
        members = ", ".join(f"{name}: {_type_name(annotation)}" for name, annotation in self.members.items())
        return f"{self.__name__}({members})"


class NdarrayType:
    """`types.ndarray(dtype=None, ndim=None)` annotates an array parameter. None accepts any type or number of axes.

    `dtype` may be a vector or matrix type. Without it, `element_dim` says how many of the last axes of the array form
    an element. The argument may be a numpy array, which is not copied, or a `ti.ndarray`. With `boundary="clamp"`, an
    index that is out of bounds accesses the nearest element.

    Example:
        @ti.kernel
        def blur(a: ti.types.ndarray(ti.f32, 1, boundary="clamp"), out: ti.types.ndarray(ti.f32, 1)):
            for i in out:
                out[i] = (a[i - 1] + a[i] + a[i + 1]) / 3

        a, out = np.array([3, 0, 6], np.float32), np.zeros(3, np.float32)
        blur(a, out)
        out.tolist()  # [2.0, 3.0, 4.0]
    """

    def __init__(
        self,
        dtype: Any = None,
        ndim: int | None = None,
        element_dim: int | None = None,
        element_shape: tuple[int, ...] | None = None,
        field_dim: int | None = None,
        needs_grad: bool | None = None,
        boundary: str = "unsafe",
    ) -> None:
        ndim = field_dim if ndim is None else ndim
        if element_shape is not None and element_dim not in (None, len(element_shape)):
            raise TypeMismatch(
                f"element_shape {element_shape} has {len(element_shape)} axes, but element_dim is {element_dim}"
            )
        if element_shape and dtype is not None and not isinstance(dtype, CompoundType):
            dtype = (
                MatrixType(*element_shape, dtype) if len(element_shape) == 2 else VectorType(element_shape[0], dtype)
            )
        if dtype is not None and not isinstance(dtype, CompoundType | Type):
            check_number(dtype)
        if ndim is not None:
            extent_of(ndim, "the number of an array's axes", 0)
        if boundary not in ("unsafe", "clamp"):
            raise TypeMismatch(f"boundary must be 'unsafe' or 'clamp', not {boundary!r}")
        self.dtype, self.ndim, self.needs_grad, self.boundary = dtype, ndim, needs_grad, boundary
        self.element_dim = len(element_shape) if element_shape is not None else element_dim or 0
        self.element_shape = element_shape
        if self.element_dim not in (0, 1, 2):
            raise TypeMismatch(
                f"an element must be a number, a vector or a matrix, so it cannot have {self.element_dim} axes"
            )

    @property
    def element(self) -> Type | None:
        """The IR type of an element. None if any type is accepted."""
        return None if self.dtype is None else to_ir(self.dtype)

    def __repr__(self) -> str:
        return f"ndarray(dtype={_type_name(self.dtype)}, ndim={self.ndim})"


class Template:
    """`ti.template()`: the argument is a compile-time constant: a field, a number, a function, any object. The kernel
    is compiled again for each new value. In a `@ti.func`, the parameter is passed by reference.

    Example:
        @ti.kernel
        def fill(x: ti.template(), value: ti.f32):
            for I in ti.grouped(x):
                x[I] = value

        line, plane = ti.field(ti.f32, 3), ti.field(ti.f32, (2, 2))
        fill(line, 1.0)
        fill(plane, 2.0)
        line.sum(), plane.sum()  # (3.0, 8.0)
    """

    def __init__(self, tensor: Any = None, dim: int | None = None) -> None:
        self.tensor, self.dim = tensor, dim

    def __repr__(self) -> str:
        return "template()"


class Ref(Template):
    """`ti.ref(ti.f32)`: the parameter of a function refers to the variable or element that the caller passes. It is a
    number of type `dtype`, and the function may assign it. Raises TypeMismatch if `dtype` is not a primitive.

    Example:
        @ti.real_func
        def swap(a: ti.ref(ti.f32), b: ti.ref(ti.f32)):
            a, b = b, a

        @ti.kernel
        def difference(x: ti.f32, y: ti.f32) -> ti.f32:
            a, b = x, y
            swap(a, b)
            return a - b

        difference(1.0, 5.0)  # 4.0
    """

    def __init__(self, dtype: Any) -> None:
        super().__init__()
        self.dtype = primitive(dtype)

    def __repr__(self) -> str:
        return f"ref({self.dtype})"


template = Template
ref = Ref
ndarray = NdarrayType


def prim_of_numpy(dtype: Any) -> Prim:
    """The primitive type of a numpy dtype. Raises TypeMismatch if there is none."""
    try:
        return _BY_NUMPY[np.dtype(dtype)]
    except KeyError:
        kind = np.dtype(dtype).kind
        if kind in "USO":
            raise TypeMismatch(f"expected a number, not {'a string' if kind != 'O' else 'another object'}") from None
        raise TypeMismatch(f"numpy's {np.dtype(dtype)} has no counterpart among {', '.join(PRIMS)}") from None


def cast_numbers(value: Any, dtype: Prim, label: str) -> Any:
    """Convert a number, a matrix or a nested list to a numpy array of `dtype`. Raises TypeMismatch if an element is not
    a number."""
    from weft.ir.scalar import cast_value

    array = array_of(value)
    if array.dtype.kind not in "biuf":
        raise TypeMismatch(
            f"an element of {label} must consist of numbers ({dtype}), not {type(value).__name__} {value!r}"
        )
    return np.asarray(cast_value(array, dtype))


def shape_tuple(shape: Any) -> tuple[int, ...]:
    """Check a shape and return it as a tuple. The shape is a number or a sequence of integers of at least 1."""
    values: tuple[Any, ...] = tuple(shape) if is_several(shape) else (shape,)
    for axis, extent in enumerate(values):
        if isinstance(extent, bool) or not isinstance(extent, int | np.integer):
            raise TypeMismatch(f"a shape must consist of integers, got {extent!r} in dimension {axis}")
        if extent < 1:
            raise TypeMismatch(f"every dimension of a shape must be at least 1, got {extent} in dimension {axis}")
    return tuple(int(extent) for extent in values)


def extent_of(n: Any, what: str = "a vector or matrix extent", least: int = 1) -> int:
    """Check an extent and return it."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < least:
        raise TypeMismatch(f"{what} must be an integer of at least {least}, not {n!r}")
    return int(n)


def _type_name(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else repr(annotation)
