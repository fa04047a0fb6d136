# pyright: reportOverlappingOverload=false
# mypy: disable-error-code="overload-overlap"
"""`ti.math`: constants, short vector types, and the functions of shading languages, for kernels and for Python."""

from typing import Any, TypeAlias, overload

from weft.stubs.functions import Real
from weft.stubs.functions import acos as acos
from weft.stubs.functions import asin as asin
from weft.stubs.functions import atan2 as atan2
from weft.stubs.functions import ceil as ceil
from weft.stubs.functions import clz as clz
from weft.stubs.functions import cos as cos
from weft.stubs.functions import exp as exp
from weft.stubs.functions import floor as floor
from weft.stubs.functions import isinf as isinf
from weft.stubs.functions import isnan as isnan
from weft.stubs.functions import log as log
from weft.stubs.functions import log2 as log2
from weft.stubs.functions import max as max
from weft.stubs.functions import min as min
from weft.stubs.functions import popcnt as popcnt
from weft.stubs.functions import pow as pow
from weft.stubs.functions import round as round
from weft.stubs.functions import sign as sign
from weft.stubs.functions import sin as sin
from weft.stubs.functions import sqrt as sqrt
from weft.stubs.functions import tan as tan
from weft.stubs.functions import tanh as tanh
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
    """x (1 - a) + y a, elementwise."""

def fract(x: Real) -> Real:
    """x - floor(x)."""

@overload
def step(edge: float, x: float) -> float: ...
@overload
def step(edge: float | Vector[float], x: float | Vector[float]) -> Vector[float]: ...
@overload
def step(edge: float | Matrix[float], x: float | Matrix[float]) -> Matrix[float]:
    """0.0 where x < edge, else 1.0."""

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
    """x limited to [xmin, xmax]."""

@overload
def smoothstep(edge0: float, edge1: float, x: float) -> float: ...
@overload
def smoothstep(
    edge0: float | Vector[float], edge1: float | Vector[float], x: float | Vector[float]
) -> Vector[float]: ...
@overload
def smoothstep(edge0: float | Matrix[float], edge1: float | Matrix[float], x: float | Matrix[float]) -> Matrix[float]:
    """3 t^2 - 2 t^3 with t = (x - edge0) / (edge1 - edge0) limited to [0, 1]."""

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
    """x - y floor(x / y): the remainder with the sign of y."""

def degrees(x: Real) -> Real:
    """Radians to degrees."""

def radians(x: Real) -> Real:
    """Degrees to radians."""

def normalize(v: Vector[float]) -> Vector[float]:
    """v / length(v)."""

def length(v: Vector[float]) -> float:
    """sqrt(sum of squares + eps): the length of a vector, the Frobenius norm of a matrix."""

def distance(x: float | Vector[float], y: float | Vector[float]) -> float:
    """The distance of x and y: length(x - y)."""

def dot(a: Vector[float], b: Vector[float]) -> float:
    """The sum of the products of the elements of two vectors of one length."""

def cross(a: Vector[float], b: Vector[float]) -> Any:
    """The cross product of two 3-vectors; of two 2-vectors, its third element (a scalar)."""

def reflect(x: Vector[float], n: Vector[float]) -> Vector[float]:
    """x - 2 dot(n, x) n: direction x mirrored at the plane with unit normal n."""

def refract(x: Vector[float], n: Vector[float], eta: float) -> Vector[float]:
    """Unit direction x refracted at the plane with unit normal n and ratio of indices eta (Snell); 0 under total
    reflection."""

def determinant(a: Matrix[float]) -> float:
    """The determinant of a square matrix of up to 4 x 4."""

def inverse(a: Matrix[float]) -> Matrix[float]:
    """The inverse of a square matrix of up to 4 x 4: adjugate over determinant (inf or nan where that is 0)."""

def vdir(ang: float) -> Vector[float]:
    """The unit vector (cos(ang), sin(ang))."""

def eye(n: int) -> Matrix[float]:
    """The n x n identity matrix of default_fp."""

def translate(dx: float, dy: float, dz: float) -> Matrix[float]:
    """The 4 x 4 matrix that moves points by (dx, dy, dz)."""

def scale(sx: float, sy: float, sz: float) -> Matrix[float]:
    """The 4 x 4 matrix that scales the axes by sx, sy, sz."""

def rot_by_axis(axis: Vector[float], ang: float) -> Matrix[float]:
    """The 4 x 4 rotation by `ang` radians about `axis` (any length), for row vectors: `p @ m`."""

def rot_yaw_pitch_roll(yaw: float, pitch: float, roll: float) -> Matrix[float]:
    """The 4 x 4 rotation by `roll` about z, then `pitch` about x, then `yaw` about y (radians), for row vectors."""

def rotation2d(ang: float) -> Matrix[float]:
    """The 2 x 2 rotation by `ang` radians, counterclockwise: `m @ p`."""

def rotation3d(ang_x: float, ang_y: float, ang_z: float) -> Matrix[float]:
    """`rot_yaw_pitch_roll(ang_z, ang_x, ang_y)`, which is what Taichi's function of this name gives."""

def cconj(z: Vector[float]) -> Vector[float]:
    """The conjugate of the complex number z = (real, imaginary)."""

def cinv(z: Vector[float]) -> Vector[float]:
    """1 / z of a complex number."""

def cexp(z: Vector[float]) -> Vector[float]:
    """The exponential of a complex number."""

def clog(z: Vector[float]) -> Vector[float]:
    """The principal logarithm of a complex number."""

def csqrt(z: Vector[float]) -> Vector[float]:
    """The principal square root of a complex number."""

def cmul(z1: Vector[float], z2: Vector[float]) -> Vector[float]:
    """The product of complex numbers."""

def cdiv(z1: Vector[float], z2: Vector[float]) -> Vector[float]:
    """The quotient of complex numbers."""

def cpow(z: Vector[float], n: float) -> Vector[float]:
    """z to the real power n, principal value."""
