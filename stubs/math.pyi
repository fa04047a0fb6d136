# pyright: reportOverlappingOverload=false
# mypy: disable-error-code="overload-overlap"
"""`ti.math`: constants, short vector types, and the functions of shading languages, for kernels and for Python."""

from typing import Any, TypeAlias, overload

from weft.stubs.elementwise import Real
from weft.stubs.elementwise import acos as acos
from weft.stubs.elementwise import asin as asin
from weft.stubs.elementwise import atan2 as atan2
from weft.stubs.elementwise import ceil as ceil
from weft.stubs.elementwise import clz as clz
from weft.stubs.elementwise import cos as cos
from weft.stubs.elementwise import exp as exp
from weft.stubs.elementwise import floor as floor
from weft.stubs.elementwise import isinf as isinf
from weft.stubs.elementwise import isnan as isnan
from weft.stubs.elementwise import log as log
from weft.stubs.elementwise import log2 as log2
from weft.stubs.elementwise import max as max
from weft.stubs.elementwise import min as min
from weft.stubs.elementwise import popcnt as popcnt
from weft.stubs.elementwise import pow as pow
from weft.stubs.elementwise import round as round
from weft.stubs.elementwise import sign as sign
from weft.stubs.elementwise import sin as sin
from weft.stubs.elementwise import sqrt as sqrt
from weft.stubs.elementwise import tan as tan
from weft.stubs.elementwise import tanh as tanh
from weft.stubs.matrices import Matrix, Vector

pi: float
e: float
inf: float
nan: float

vec2: TypeAlias = Vector[float]
"""Vectors of two numbers of the default float type."""
ivec2: TypeAlias = Vector[int]
"""Vectors of two numbers of the default integer type."""
uvec2: TypeAlias = Vector[int]
"""Vectors of two numbers of the default unsigned integer type."""
mat2: TypeAlias = Matrix[float]
"""2 x 2 matrices of the default float type."""
vec3: TypeAlias = Vector[float]
"""Vectors of three numbers of the default float type."""
ivec3: TypeAlias = Vector[int]
"""Vectors of three numbers of the default integer type."""
uvec3: TypeAlias = Vector[int]
"""Vectors of three numbers of the default unsigned integer type."""
mat3: TypeAlias = Matrix[float]
"""3 x 3 matrices of the default float type."""
vec4: TypeAlias = Vector[float]
"""Vectors of four numbers of the default float type."""
ivec4: TypeAlias = Vector[int]
"""Vectors of four numbers of the default integer type."""
uvec4: TypeAlias = Vector[int]
"""Vectors of four numbers of the default unsigned integer type."""
mat4: TypeAlias = Matrix[float]
"""4 x 4 matrices of the default float type."""

@overload
def mix(x: float, y: float, a: float) -> float: ...
@overload
def mix(x: float | Vector[float], y: float | Vector[float], a: float | Vector[float]) -> Vector[float]: ...
@overload
def mix(x: float | Matrix[float], y: float | Matrix[float], a: float | Matrix[float]) -> Matrix[float]:
    """x (1 - a) + y a, elementwise. It is x for a = 0 and y for a = 1.

    Example:
        ti.math.mix(10.0, 20.0, 0.25)  # 12.5
        ti.math.mix(ti.Vector([0.0, 1.0]), ti.Vector([1.0, 3.0]), 0.5)  # [0.5 2. ]
    """

def fract(x: Real) -> Real:
    """x - floor(x). It is in [0, 1), also for negative x.

    Example:
        ti.math.fract(2.75)  # 0.75
        ti.math.fract(-0.25)  # 0.75
    """

@overload
def step(edge: float, x: float) -> float: ...
@overload
def step(edge: float | Vector[float], x: float | Vector[float]) -> Vector[float]: ...
@overload
def step(edge: float | Matrix[float], x: float | Matrix[float]) -> Matrix[float]:
    """0.0 where x < edge, else 1.0. Both are numbers, or vectors or matrices of one shape.

    Example:
        ti.math.step(0.5, ti.Vector([0.2, 0.5, 0.9]))  # [0. 1. 1.]
    """

@overload
def clamp(x: int, xmin: int, xmax: int) -> int: ...
@overload
def clamp(x: float, xmin: float, xmax: float) -> float: ...
@overload
def clamp(x: int | Vector[int], xmin: int | Vector[int], xmax: int | Vector[int]) -> Vector[int]: ...
@overload
def clamp(x: float | Vector[float], xmin: float | Vector[float], xmax: float | Vector[float]) -> Vector[float]: ...
@overload
def clamp(x: float | Matrix[float], xmin: float | Matrix[float], xmax: float | Matrix[float]) -> Matrix[float]:
    """x limited to [xmin, xmax]. All three are numbers, or vectors or matrices of one shape.

    Example:
        ti.math.clamp(7, 0, 5)  # 5
        ti.math.clamp(ti.Vector([-1.0, 0.5]), 0.0, 1.0)  # [0. 0.5]
    """

@overload
def smoothstep(edge0: float, edge1: float, x: float) -> float: ...
@overload
def smoothstep(
    edge0: float | Vector[float], edge1: float | Vector[float], x: float | Vector[float]
) -> Vector[float]: ...
@overload
def smoothstep(edge0: float | Matrix[float], edge1: float | Matrix[float], x: float | Matrix[float]) -> Matrix[float]:
    """3 t^2 - 2 t^3 with t = (x - edge0) / (edge1 - edge0) limited to [0, 1].

    Example:
        ti.math.smoothstep(0.0, 2.0, 0.5)  # 0.15625
    """

@overload
def mod(x: int, y: int) -> int: ...
@overload
def mod(x: float, y: float) -> float: ...
@overload
def mod(x: int | Vector[int], y: int | Vector[int]) -> Vector[int]: ...
@overload
def mod(x: float | Vector[float], y: float | Vector[float]) -> Vector[float]: ...
@overload
def mod(x: float | Matrix[float], y: float | Matrix[float]) -> Matrix[float]:
    """x - y floor(x / y): the remainder with the sign of y.

    Example:
        ti.math.mod(-1.5, 4.0)  # 2.5
    """

def degrees(x: Real) -> Real:
    """Radians to degrees. It multiplies by 180 / pi, elementwise.

    Example:
        ti.math.degrees(ti.math.pi / 2)  # 90.0
    """

def radians(x: Real) -> Real:
    """Degrees to radians. It multiplies by pi / 180, elementwise.

    Example:
        ti.math.radians(180.0)  # 3.141593
    """

def normalize(v: Vector[float]) -> Vector[float]:
    """v / length(v). `v` is a vector of floats. The zero vector gives NaN.

    Example:
        ti.math.normalize(ti.math.vec2(3, 4))  # [0.6 0.8]
    """

def length(v: Vector[float]) -> float:
    """sqrt(sum of squares + eps): the length of a vector, the Frobenius norm of a matrix. `eps` is 0 unless it is
    given.

    Example:
        ti.math.length(ti.math.vec3(1, 2, 2))  # 3.0
    """

def distance(x: float | Vector[float], y: float | Vector[float]) -> float:
    """The distance of x and y: length(x - y). They are vectors of one length, or numbers.

    Example:
        ti.math.distance(ti.math.vec2(0, 0), ti.math.vec2(3, 4))  # 5.0
    """

def dot(a: Vector[float], b: Vector[float]) -> float:
    """The sum of the products of the elements of two vectors of one length. Raises CompilationError for other lengths.

    Example:
        ti.math.dot(ti.math.vec3(1, 2, 3), ti.math.vec3(4, 5, 6))  # 32.0
    """

def cross(a: Vector[float], b: Vector[float]) -> Any:
    """The cross product of two 3-vectors; of two 2-vectors, its third element (a scalar). Raises CompilationError for
    other lengths.

    Example:
        ti.math.cross(ti.math.vec3(1, 0, 0), ti.math.vec3(0, 1, 0))  # [0. 0. 1.]
        ti.math.cross(ti.math.vec2(1, 0), ti.math.vec2(0, 1))  # 1.0
    """

def reflect(x: Vector[float], n: Vector[float]) -> Vector[float]:
    """x - 2 dot(n, x) n: direction x mirrored at the plane with unit normal n.

    Example:
        ti.math.reflect(ti.math.vec2(1, -1), ti.math.vec2(0, 1))  # [1. 1.]
    """

def refract(x: Vector[float], n: Vector[float], eta: float) -> Vector[float]:
    """Unit direction x refracted at the plane with unit normal n and ratio of indices eta (Snell); 0 under total
    reflection. The formula is that of GLSL's `refract`.

    Example:
        ti.math.refract(ti.math.vec2(0.6, -0.8), ti.math.vec2(0, 1), 0.5)  # [0.300000 -0.9539392 ]
        ti.math.refract(ti.math.vec2(0.6, -0.8), ti.math.vec2(0, 1), 2.0)  # [0. 0.]
    """

def determinant(a: Matrix[float]) -> float:
    """The determinant of a square matrix of up to 4 x 4.

    Example:
        ti.math.determinant(ti.Matrix([[1.0, 2.0], [3.0, 4.0]]))  # -2.0
    """

def inverse(a: Matrix[float]) -> Matrix[float]:
    """The inverse of a square matrix of up to 4 x 4: adjugate over determinant (inf or nan where that is 0). Raises
    CompilationError for other shapes.

    Example:
        ti.math.inverse(ti.Matrix([[2.0, 0.0], [0.0, 4.0]])).to_list()  # [[0.5, -0.0], [-0.0, 0.25]]
    """

def vdir(ang: float) -> Vector[float]:
    """The unit vector (cos(ang), sin(ang)). `ang` is in radians.

    Example:
        ti.math.vdir(0.0)  # [1. 0.]
    """

def eye(n: int) -> Matrix[float]:
    """The n x n identity matrix of default_fp. `n` is known at compile time.

    Example:
        ti.math.eye(2).to_list()  # [[1.0, 0.0], [0.0, 1.0]]
    """

def translate(dx: float, dy: float, dz: float) -> Matrix[float]:
    """The 4 x 4 matrix that moves points by (dx, dy, dz). Points are columns: `m @ vec4(p, 1)`.

    Example:
        ti.math.translate(1.0, 2.0, 3.0) @ ti.math.vec4(0, 0, 0, 1)  # [1. 2. 3. 1.]
    """

def scale(sx: float, sy: float, sz: float) -> Matrix[float]:
    """The 4 x 4 matrix that scales the axes by sx, sy, sz.

    Example:
        ti.math.scale(2.0, 3.0, 4.0) @ ti.math.vec4(1, 1, 1, 1)  # [2. 3. 4. 1.]
    """

def rot_by_axis(axis: Vector[float], ang: float) -> Matrix[float]:
    """The 4 x 4 rotation by `ang` radians about `axis` (any length), for row vectors: `p @ m`.

    Example:
        turn = ti.math.rot_by_axis(ti.math.vec3(0, 0, 2), ti.math.pi / 2)
        point = turn.transpose() @ ti.math.vec4(1, 0, 0, 1)
        point.to_numpy().round(4).tolist()  # [0.0, 1.0, 0.0, 1.0]
    """

def rot_yaw_pitch_roll(yaw: float, pitch: float, roll: float) -> Matrix[float]:
    """The 4 x 4 rotation by `roll` about z, then `pitch` about x, then `yaw` about y (radians), for row vectors.

    Example:
        turn = ti.math.rot_yaw_pitch_roll(0.0, 0.0, ti.math.pi / 2)
        point = turn.transpose() @ ti.math.vec4(1, 0, 0, 1)
        point.to_numpy().round(4).tolist()  # [0.0, 1.0, 0.0, 1.0]
    """

def rotation2d(ang: float) -> Matrix[float]:
    """The 2 x 2 rotation by `ang` radians, counterclockwise: `m @ p`.

    Example:
        (ti.math.rotation2d(ti.math.pi / 2) @ ti.math.vec2(1, 0)).to_numpy().round(4).tolist()  # [0.0, 1.0]
    """

def rotation3d(ang_x: float, ang_y: float, ang_z: float) -> Matrix[float]:
    """`rot_yaw_pitch_roll(ang_z, ang_x, ang_y)`, which is what Taichi's function of this name gives.

    Example:
        turn = ti.math.rotation3d(0.0, ti.math.pi / 2, 0.0)
        point = turn.transpose() @ ti.math.vec4(1, 0, 0, 1)
        point.to_numpy().round(4).tolist()  # [0.0, 1.0, 0.0, 1.0]
    """

def cconj(z: Vector[float]) -> Vector[float]:
    """The conjugate of the complex number z = (real, imaginary).

    Example:
        ti.math.cconj(ti.math.vec2(1, 2))  # [1. -2.]
    """

def cinv(z: Vector[float]) -> Vector[float]:
    """1 / z of a complex number. It is a vector z = (real, imaginary).

    Example:
        ti.math.cinv(ti.math.vec2(0, 2))  # [0. -0.5]
    """

def cexp(z: Vector[float]) -> Vector[float]:
    """The exponential of a complex number. It is a vector z = (real, imaginary).

    Example:
        (ti.math.cexp(ti.math.vec2(0, ti.math.pi)).to_numpy().round(4) + 0).tolist()  # [-1.0, 0.0]
    """

def clog(z: Vector[float]) -> Vector[float]:
    """The principal logarithm of a complex number. It is a vector z = (real, imaginary).

    Example:
        ti.math.clog(ti.math.vec2(-1, 0))  # [0. 3.1415927]
    """

def csqrt(z: Vector[float]) -> Vector[float]:
    """The principal square root of a complex number. It is a vector z = (real, imaginary).

    Example:
        (ti.math.csqrt(ti.math.vec2(-4, 0)).to_numpy().round(4) + 0).tolist()  # [0.0, 2.0]
    """

def cmul(z1: Vector[float], z2: Vector[float]) -> Vector[float]:
    """The product of complex numbers. They are vectors (real, imaginary).

    Example:
        ti.math.cmul(ti.math.vec2(1, 2), ti.math.vec2(3, 4))  # [-5. 10.]
    """

def cdiv(z1: Vector[float], z2: Vector[float]) -> Vector[float]:
    """The quotient of complex numbers. They are vectors (real, imaginary).

    Example:
        ti.math.cdiv(ti.math.vec2(-5, 10), ti.math.vec2(3, 4))  # [1. 2.]
    """

def cpow(z: Vector[float], n: float) -> Vector[float]:
    """z to the real power n, principal value. z = (real, imaginary) is a complex number.

    Example:
        ti.math.cpow(ti.math.vec2(1, 1), 2).to_numpy().round(4).tolist()  # [0.0, 2.0]
    """
