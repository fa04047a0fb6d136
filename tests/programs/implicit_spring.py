"""Masses on a line, stepped implicitly: each step solves a linear system that is known only as a kernel."""

import taichi as ti
from taichi.linalg import LinearOperator, MatrixFreeCG

ti.init(arch=ti.cpu, default_fp=ti.f64)

n, stiffness, mass, h = 24, 1e3, 0.1, 1e-2
pos = ti.field(ti.f64, shape=n)
vel = ti.field(ti.f64, shape=n)
rhs = ti.field(ti.f64, shape=n)
new_vel = ti.field(ti.f64, shape=n)


@ti.func
def spring_force(x: ti.template(), i):
    force = ti.cast(0, ti.f64)
    if i > 0:
        force += stiffness * (x[i - 1] - x[i])
    if i < n - 1:
        force += stiffness * (x[i + 1] - x[i])
    return force


@ti.kernel
def system(x: ti.template(), Ax: ti.template()):
    for i in x:
        Ax[i] = mass * x[i] - h**2 * spring_force(x, i)


@ti.kernel
def prepare():
    for i in pos:
        rhs[i] = mass * vel[i] + h * spring_force(pos, i)


@ti.kernel
def advance():
    for i in pos:
        vel[i] = new_vel[i]
        pos[i] += h * vel[i]


def main():
    for i in range(n):
        pos[i] = 0.1 * i * i / n
    A = LinearOperator(system)
    converged = True
    for _ in range(4):
        prepare()
        new_vel.fill(0)
        converged = MatrixFreeCG(A, rhs, new_vel, tol=1e-10, maxiter=500) and converged
        advance()
    assert converged
    return {"pos": pos.to_numpy(), "vel": vel.to_numpy()}
