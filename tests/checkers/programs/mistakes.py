"""Wrong programs. Comments say which rule of pyright and which code of mypy complain of a line."""

import numpy as np

import weft as ti

x = ti.field(ti.f32, (8, 8))
v = ti.Vector.field(3, ti.f32, 8)
n = ti.field(ti.i32, 8)


@ti.kernel
def scale(factor: ti.f32, times: ti.i32 = 1) -> ti.f32:
    """Scale x."""
    for i, j in x:
        x[i, j] *= factor
    return x[0, 0] * times


@ti.kernel
def fill(a: ti.Array2[ti.f32], q: ti.Field[ti.f32], color: ti.vec3) -> None:
    """Fill a."""
    for i, j in a:
        a[i, j] = q[i] + color.x


@ti.data_oriented
class Solver:
    """A class with a kernel."""

    def __init__(self) -> None:
        self.p = ti.field(ti.f32, 8)

    @ti.kernel
    def solve(self, rounds: ti.i32) -> ti.f32:
        """Solve."""
        return self.p[rounds]


@ti.dataclass
class Ray:
    """A ray."""

    origin: ti.vec3
    far: ti.f32


scale("2")  # reportArgumentType arg-type
scale()  # reportCallIssue call-arg
scale(1.0, 2, 3)  # reportCallIssue call-arg
scale(1.0, 2.5)  # reportArgumentType arg-type
scale(faktor=1.0)  # reportCallIssue call-arg
scale.compile("2")  # reportArgumentType arg-type
scale(1.0).real.foo  # reportAttributeAccessIssue attr-defined
fill(np.zeros((2, 2), np.float32), x, [1.0, 2.0, 3.0])  # reportArgumentType arg-type
fill(np.zeros((2, 2), np.float32), n, ti.vec3(0))  # reportArgumentType arg-type
fill(3.0, x, ti.vec3(0))  # reportArgumentType arg-type
Solver().solve()  # reportCallIssue call-arg
Solver().solve("3")  # reportArgumentType arg-type
Solver().solve(3).upper()  # reportAttributeAccessIssue attr-defined
Ray(ti.vec3(0), "far")  # reportArgumentType arg-type
Ray(ti.vec3(0), 1.0).farr  # reportAttributeAccessIssue attr-defined
x[0, 0] = "one"  # reportArgumentType,reportCallIssue assignment
n[0] = 0.5  # reportArgumentType,reportCallIssue call-overload
x["0"] = 1.0  # reportArgumentType,reportCallIssue call-overload
x[1:, "0"] = 1.0  # reportArgumentType,reportCallIssue index
x[1:] = "one"  # reportArgumentType,reportCallIssue assignment
x[1:].norn()  # reportAttributeAccessIssue attr-defined
x + "1"  # reportOperatorIssue operator
v[0] = "xyz"  # reportArgumentType,reportCallIssue assignment
v[0].norn()  # reportArgumentType,reportCallIssue operator
v[0].xq  # reportArgumentType -
ti.field("f32", 8)  # reportArgumentType,reportCallIssue call-overload
ti.field(ti.f32, shape="8")  # reportArgumentType,reportCallIssue arg-type
ti.field(ti.f32, shap=8)  # reportCallIssue call-overload
ti.Vector.field(3, ti.f32, shape=8, needs_gradient=True)  # reportCallIssue call-overload
ti.sqrt("2")  # reportArgumentType type-var
ti.max(1.0)  # reportCallIssue call-overload
ti.math.dot(v[0], 1.0)  # reportArgumentType arg-type


@ti.kernel
def wrong(a: ti.vec3, i: ti.i32) -> ti.i32:
    """Mistakes inside of a kernel."""
    b = a @ a  # reportOperatorIssue operator
    c = a + "1"  # reportOperatorIssue operator
    d = v[a.x]  # reportArgumentType,reportCallIssue call-overload
    e = a.dot(1.0)  # reportArgumentType arg-type
    scale(a)  # reportArgumentType arg-type
    print(b, c, d, e, i.x)  # reportAttributeAccessIssue attr-defined
    return a  # reportReturnType return-value
