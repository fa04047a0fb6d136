"""`ti.types`: the types of values, arrays and parameters.

    vec9 = ti.types.vector(9, ti.f32)
    particle = ti.types.struct(pos=ti.vec3, mass=ti.f32)

A call of a vector, matrix or struct type makes a value of this type: `vec9(0)`. A type checker does not accept such a
variable, or the call itself, as an annotation; it accepts `Annotated[ti.Vector[ti.f32], 9]`."""

from typing import Any, TypeAlias, TypeVar, overload

from weft.lang.values.types import CompoundType as CompoundType
from weft.lang.values.types import MatrixType as MatrixType
from weft.lang.values.types import NdarrayType as NdarrayType
from weft.lang.values.types import Ref as Ref
from weft.lang.values.types import StructType as StructType
from weft.lang.values.types import VectorType as VectorType
from weft.stubs.arrays import NDArray as NDArray
from weft.stubs.kernels import Struct
from weft.stubs.matrices import Matrix, Vector
from weft.stubs.numbers import f16 as f16
from weft.stubs.numbers import f32 as f32
from weft.stubs.numbers import f64 as f64
from weft.stubs.numbers import float16 as float16
from weft.stubs.numbers import float32 as float32
from weft.stubs.numbers import float64 as float64
from weft.stubs.numbers import i8 as i8
from weft.stubs.numbers import i16 as i16
from weft.stubs.numbers import i32 as i32
from weft.stubs.numbers import i64 as i64
from weft.stubs.numbers import int8 as int8
from weft.stubs.numbers import int16 as int16
from weft.stubs.numbers import int32 as int32
from weft.stubs.numbers import int64 as int64
from weft.stubs.numbers import u1 as u1
from weft.stubs.numbers import u8 as u8
from weft.stubs.numbers import u16 as u16
from weft.stubs.numbers import u32 as u32
from weft.stubs.numbers import u64 as u64
from weft.stubs.numbers import uint1 as uint1
from weft.stubs.numbers import uint8 as uint8
from weft.stubs.numbers import uint16 as uint16
from weft.stubs.numbers import uint32 as uint32
from weft.stubs.numbers import uint64 as uint64

T = TypeVar("T")
Template: TypeAlias = Any  # the argument can be anything

@overload
def vector(n: int) -> type[Vector[float]]: ...
@overload
def vector(n: int, dtype: type[T]) -> type[Vector[T]]:
    """The type of vectors of `n` elements of `dtype`: a primitive, `float` or `int` (the current defaults). A call
    makes a value; as an annotation, it is the type of a parameter. Raises TypeMismatch for another `dtype`.

    Example:
        vec5 = ti.types.vector(5, ti.f32)
        vec5(1)  # [1. 1. 1. 1. 1.]
        vec5(1, 2, 3, 4, 5).sum()  # 15.0
    """

@overload
def matrix(n: int, m: int) -> type[Matrix[float]]: ...
@overload
def matrix(n: int, m: int, dtype: type[T]) -> type[Matrix[T]]:
    """The type of n x m matrices of `dtype`: a primitive, `float` or `int` (the current defaults). A call makes a
    value. Raises TypeMismatch for another `dtype`.

    Example:
        mat23 = ti.types.matrix(2, 3, ti.f32)
        mat23([[1, 2, 3], [4, 5, 6]]) @ ti.Vector([1.0, 0.0, 1.0])  # [4. 10.]
    """

class _Struct(Struct):
    @classmethod
    def field(cls, shape: Any = None, **keywords: Any) -> Any: ...  # type: ignore[override]

def struct(**members: Any) -> type[_Struct]:
    """The type of structs with these members, in this order. `__struct_methods={name: function}` adds methods. Raises
    TypeMismatch for members that are no types.

    Example:
        particle = ti.types.struct(pos=ti.math.vec2, mass=ti.f32)
        p = particle(pos=[1, 2], mass=0.5)
        p.pos * p.mass  # [0.5 1. ]
    """

def ndarray(
    dtype: Any = None,
    ndim: int | None = None,
    element_dim: int | None = None,
    element_shape: tuple[int, ...] | None = None,
    field_dim: int | None = None,
    needs_grad: bool | None = None,
    boundary: str = "unsafe",
) -> Any:
    """`types.ndarray(dtype=None, ndim=None)` annotates an array parameter. None accepts any type or number of axes. A
    type checker does not accept calls as annotations; it accepts `ti.Array[dtype, ndim]`, which means the same.

    `dtype` may be a vector or matrix type. Without it, `element_dim` says how many of the last axes of the array form
    an element. With `boundary="clamp"`, an index that is out of bounds accesses the nearest element."""

def template(tensor: Any = None, dim: int | None = None) -> Any:
    """`ti.template()`: the argument is a compile-time constant. The kernel is compiled again for each new value. A type
    checker does not accept calls as annotations; it accepts `ti.Template`, which means the same."""

def ref(dtype: Any) -> Any:
    """`ti.ref(ti.f32)`: the parameter of a function refers to the variable or element that the caller passes. It is a
    number of type `dtype`, and the function may assign it. Raises TypeMismatch if `dtype` is not a primitive."""

def argpack(**members: Any) -> Any:
    """Return the type of argument packs with those members: values, arrays, inner packs. A kernel takes a pack as one
    argument. Raises TypeMismatch for members that are no types.

    Example:
        params = ti.types.argpack(dt=ti.f32, n=ti.i32)

        @ti.kernel
        def run(p: params) -> ti.f32:
            return p.dt * p.n

        run(params(dt=0.5, n=10))  # 5.0
    """

def sparse_matrix_builder() -> Any:
    """Annotate a parameter of a kernel that takes a `ti.linalg.SparseMatrixBuilder`. `K[i, j] += v` adds a triplet.

    Example:
        @ti.kernel
        def laplace(K: ti.types.sparse_matrix_builder()):
            for i in range(4):
                K[i, i] += 2.0

        K = ti.linalg.SparseMatrixBuilder(4, 4, max_num_triplets=16)
        laplace(K)
        K.build()[3, 3]  # 2.0
    """

def is_real(dtype: Any) -> bool:
    """Whether `dtype` is a floating-point type. Raises TypeMismatch for what is no primitive type.

    Example:
        ti.types.is_real(ti.f32), ti.types.is_real(ti.i32)  # (True, False)
    """

def is_integral(dtype: Any) -> bool:
    """Whether `dtype` is an integer type, including u1. Raises TypeMismatch for what is no primitive type.

    Example:
        ti.types.is_integral(ti.u8), ti.types.is_integral(ti.f32)  # (True, False)
    """

def is_signed(dtype: Any) -> bool:
    """Whether `dtype` is a signed integer type. Raises TypeMismatch for a float type.

    Example:
        ti.types.is_signed(ti.i32), ti.types.is_signed(ti.u32)  # (True, False)
    """

def is_tensor(dtype: Any) -> bool:
    """Whether `dtype` is a vector or matrix type. It is False for anything else.

    Example:
        ti.types.is_tensor(ti.math.vec3), ti.types.is_tensor(ti.f32)  # (True, False)
    """
