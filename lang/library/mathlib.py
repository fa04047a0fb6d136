"""`ti.math`: constants, short vector types, and the functions of shading languages, for kernels and for Python."""

from __future__ import annotations

import math as _math
from typing import TYPE_CHECKING, Any

from weft.lang.library.linalg import cross, determinant, dot, inverse
from weft.lang.library.linalg import norm as length
from weft.lang.values.builtins import (
    acos,
    asin,
    atan2,
    ceil,
    clz,
    cos,
    exp,
    floor,
    isinf,
    isnan,
    log,
    log2,
    max,
    min,
    popcnt,
    pow,
    pyfunc,
    round,
    select,
    sign,
    sin,
    sqrt,
    static,
    tan,
    tanh,
)
from weft.lang.values.matrix import Matrix, Vector
from weft.lang.values.types import MatrixType, VectorType, unsigned

if TYPE_CHECKING:
    Template = Any  # to type checkers, a template argument is what it is bound to
else:
    from weft.lang.values.types import Template

__all__ = [
    "acos",
    "asin",
    "atan2",
    "cconj",
    "cdiv",
    "ceil",
    "cexp",
    "cinv",
    "clamp",
    "clog",
    "clz",
    "cmul",
    "cos",
    "cpow",
    "cross",
    "csqrt",
    "degrees",
    "determinant",
    "distance",
    "dot",
    "e",
    "exp",
    "eye",
    "floor",
    "fract",
    "inf",
    "inverse",
    "isinf",
    "isnan",
    "ivec2",
    "ivec3",
    "ivec4",
    "length",
    "log",
    "log2",
    "mat2",
    "mat3",
    "mat4",
    "max",
    "min",
    "mix",
    "mod",
    "nan",
    "normalize",
    "pi",
    "popcnt",
    "pow",
    "radians",
    "reflect",
    "refract",
    "rot_by_axis",
    "rot_yaw_pitch_roll",
    "rotation2d",
    "rotation3d",
    "round",
    "scale",
    "sign",
    "sin",
    "smoothstep",
    "sqrt",
    "step",
    "tan",
    "tanh",
    "translate",
    "uvec2",
    "uvec3",
    "uvec4",
    "vdir",
    "vec2",
    "vec3",
    "vec4",
]

pi, e, inf, nan = _math.pi, _math.e, _math.inf, _math.nan

vec2, vec3, vec4 = (VectorType(n, float) for n in (2, 3, 4))
ivec2, ivec3, ivec4 = (VectorType(n, int) for n in (2, 3, 4))
uvec2, uvec3, uvec4 = (VectorType(n, unsigned) for n in (2, 3, 4))
mat2, mat3, mat4 = (MatrixType(n, n, float) for n in (2, 3, 4))


@pyfunc
def mix(x: Any, y: Any, a: Any) -> Any:
    """x (1 - a) + y a, elementwise."""
    return x * (1.0 - a) + y * a


@pyfunc
def fract(x: Any) -> Any:
    """x - floor(x)."""
    return x - floor(x)


@pyfunc
def step(edge: Any, x: Any) -> Any:
    """0.0 where x < edge, else 1.0."""
    return select(x < edge, 0.0, 1.0)


@pyfunc
def clamp(x: Any, xmin: Any, xmax: Any) -> Any:
    """x limited to [xmin, xmax]."""
    return min(xmax, max(xmin, x))


@pyfunc
def smoothstep(edge0: Any, edge1: Any, x: Any) -> Any:
    """3 t^2 - 2 t^3 with t = (x - edge0) / (edge1 - edge0) limited to [0, 1]."""
    t = clamp((x - edge0) / (edge1 - edge0), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


@pyfunc
def mod(x: Any, y: Any) -> Any:
    """x - y floor(x / y): the remainder with the sign of y."""
    return x - y * floor(x / y)


@pyfunc
def degrees(x: Any) -> Any:
    """Radians to degrees."""
    return x * static(180.0 / pi)


@pyfunc
def radians(x: Any) -> Any:
    """Degrees to radians."""
    return x * static(pi / 180.0)


@pyfunc
def normalize(v: Any) -> Any:
    """v / length(v)."""
    return v / length(v)


@pyfunc
def distance(x: Any, y: Any) -> Any:
    """The distance of x and y: length(x - y)."""
    return length(x - y)


@pyfunc
def reflect(x: Any, n: Any) -> Any:
    """x - 2 dot(n, x) n: direction x mirrored at the plane with unit normal n."""
    return x - 2.0 * dot(n, x) * n


@pyfunc
def refract(x: Any, n: Any, eta: Any) -> Any:
    """Unit direction x refracted at the plane with unit normal n and ratio of indices eta (Snell); 0 under total
    reflection."""
    c = dot(n, x)
    k = 1.0 - eta * eta * (1.0 - c * c)
    return select(k < 0.0, 0.0, 1.0) * (eta * x - (eta * c + sqrt(max(k, 0.0))) * n)


@pyfunc
def vdir(ang: Any) -> Any:
    """The unit vector (cos(ang), sin(ang))."""
    return Vector([cos(ang), sin(ang)])


@pyfunc
def eye(n: Template) -> Any:
    """The n x n identity matrix of default_fp."""
    return Matrix([[1.0 if i == j else 0.0 for j in static(range(n))] for i in static(range(n))])


@pyfunc
def translate(dx: Any, dy: Any, dz: Any) -> Any:
    """The 4 x 4 matrix that moves points by (dx, dy, dz)."""
    return mat4(1.0, 0.0, 0.0, dx, 0.0, 1.0, 0.0, dy, 0.0, 0.0, 1.0, dz, 0.0, 0.0, 0.0, 1.0)


@pyfunc
def scale(sx: Any, sy: Any, sz: Any) -> Any:
    """The 4 x 4 matrix that scales the axes by sx, sy, sz."""
    return mat4(sx, 0.0, 0.0, 0.0, 0.0, sy, 0.0, 0.0, 0.0, 0.0, sz, 0.0, 0.0, 0.0, 0.0, 1.0)


@pyfunc
def rot_by_axis(axis: Any, ang: Any) -> Any:
    """The 4 x 4 rotation by `ang` radians about `axis` (any length), for row vectors: `p @ m`."""
    c, s = cos(ang), sin(ang)
    a = normalize(axis)
    t = (1.0 - c) * a
    return mat4(
        [c + t[0] * a[0], t[0] * a[1] + s * a[2], t[0] * a[2] - s * a[1], 0.0],
        [t[1] * a[0] - s * a[2], c + t[1] * a[1], t[1] * a[2] + s * a[0], 0.0],
        [t[2] * a[0] + s * a[1], t[2] * a[1] - s * a[0], c + t[2] * a[2], 0.0],
        [0.0, 0.0, 0.0, 1.0],
    )


@pyfunc
def rot_yaw_pitch_roll(yaw: Any, pitch: Any, roll: Any) -> Any:
    """The 4 x 4 rotation by `roll` about z, then `pitch` about x, then `yaw` about y (radians), for row vectors."""
    ch, sh, cp, sp, cb, sb = cos(yaw), sin(yaw), cos(pitch), sin(pitch), cos(roll), sin(roll)
    return mat4(
        [ch * cb + sh * sp * sb, sb * cp, ch * sp * sb - sh * cb, 0.0],
        [sh * sp * cb - ch * sb, cb * cp, sb * sh + ch * sp * cb, 0.0],
        [sh * cp, -sp, ch * cp, 0.0],
        [0.0, 0.0, 0.0, 1.0],
    )


@pyfunc
def rotation2d(ang: Any) -> Any:
    """The 2 x 2 rotation by `ang` radians, counterclockwise: `m @ p`."""
    return mat2([cos(ang), -sin(ang)], [sin(ang), cos(ang)])


@pyfunc
def rotation3d(ang_x: Any, ang_y: Any, ang_z: Any) -> Any:
    """`rot_yaw_pitch_roll(ang_z, ang_x, ang_y)`, which is what Taichi's function of this name gives."""
    return rot_yaw_pitch_roll(ang_z, ang_x, ang_y)


@pyfunc
def cconj(z: Any) -> Any:
    """The conjugate of the complex number z = (real, imaginary)."""
    return Vector([z[0], -z[1]])


@pyfunc
def cmul(z1: Any, z2: Any) -> Any:
    """The product of complex numbers."""
    return Vector([z1[0] * z2[0] - z1[1] * z2[1], z1[0] * z2[1] + z1[1] * z2[0]])


@pyfunc
def cdiv(z1: Any, z2: Any) -> Any:
    """The quotient of complex numbers."""
    return cmul(z1, cconj(z2)) / dot(z2, z2)


@pyfunc
def cinv(z: Any) -> Any:
    """1 / z of a complex number."""
    return cconj(z) / dot(z, z)


@pyfunc
def cexp(z: Any) -> Any:
    """The exponential of a complex number."""
    return exp(z[0]) * Vector([cos(z[1]), sin(z[1])])


@pyfunc
def clog(z: Any) -> Any:
    """The principal logarithm of a complex number."""
    return Vector([log(length(z)), atan2(z[1], z[0])])


@pyfunc
def cpow(z: Any, n: Any) -> Any:
    """z to the real power n, principal value."""
    ang = atan2(z[1], z[0]) * n
    return pow(length(z), n) * Vector([cos(ang), sin(ang)])


@pyfunc
def csqrt(z: Any) -> Any:
    """The principal square root of a complex number."""
    ang = atan2(z[1], z[0]) * 0.5
    return sqrt(length(z)) * Vector([cos(ang), sin(ang)])
