"""Flow between two walls by the lattice Boltzmann method, nine speeds in two dimensions."""

import numpy as np
import taichi as ti

ti.init(default_fp=ti.f64)

nx, ny, tau, push = 12, 9, 0.8, 1e-4
f = ti.Vector.field(9, ti.f64, shape=(nx, ny))
g = ti.Vector.field(9, ti.f64, shape=(nx, ny))
velocity = ti.Vector.field(2, ti.f64, shape=(nx, ny))
speeds = ti.Matrix([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]])
weights = ti.Vector([4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36], dt=ti.f64)
back = [0, 3, 4, 1, 2, 7, 8, 5, 6]


@ti.func
def balance(rho, u, k: ti.template()):
    cu = speeds[k, 0] * u[0] + speeds[k, 1] * u[1]
    return weights[k] * rho * (1 + 3 * cu + 4.5 * cu * cu - 1.5 * u.dot(u))


@ti.kernel
def start():
    for i, j in f:
        for k in ti.static(range(9)):
            f[i, j][k] = weights[k]


@ti.kernel
def collide():
    for i, j in f:
        rho, u = f[i, j].sum(), ti.Vector([0.0, 0.0])
        for k in ti.static(range(9)):
            u += ti.Vector([speeds[k, 0], speeds[k, 1]]) * f[i, j][k]
        u = u / rho + ti.Vector([push * tau, 0.0])
        velocity[i, j] = u
        for k in ti.static(range(9)):
            g[i, j][k] = f[i, j][k] + (balance(rho, u, k) - f[i, j][k]) / tau


@ti.kernel
def stream():
    for i, j in f:
        for k in ti.static(range(9)):
            x, y = (i - speeds[k, 0] + nx) % nx, j - speeds[k, 1]
            if y < 0 or y >= ny:
                f[i, j][k] = g[i, j][back[k]]
            else:
                f[i, j][k] = g[x, y][k]


def main():
    start()
    for _ in range(60):
        collide()
        stream()
    profile = velocity.to_numpy()[:, :, 0].mean(axis=0)
    assert np.allclose(profile, profile[::-1])
    return {"profile": profile, "velocity": velocity.to_numpy(), "mass": f.to_numpy().sum()}
