"""Cloth that does not stretch, over a ball: constraints, solved colour by colour; ndarrays and a pack of parameters."""

import numpy as np
import taichi as ti
from taichi.math import vec3

ti.init(arch=ti.cpu)

n = 12
Parameters = ti.types.argpack(dt=ti.f32, compliance=ti.f32, gravity=vec3)
parameters = Parameters(dt=1 / 300, compliance=1e-6, gravity=vec3(0, -9.8, 0))
ball = ti.Struct(centre=vec3(0.02, 0.0, 0.03), radius=0.25)
points = ti.types.ndarray(dtype=vec3, ndim=1)


@ti.dataclass
class Rope:
    i: ti.i32
    j: ti.i32
    rest: ti.f32
    pull: ti.f32

    @ti.func
    def solve(self, a: vec3, b: vec3, wa, wb, soft):
        way = a - b
        far = way.norm(1e-9)
        return (self.rest - far - soft * self.pull) / (wa + wb + soft), way / far


x, before, v = (ti.Vector.ndarray(3, ti.f32, n * n) for _ in range(3))
inverse_mass = ti.ndarray(ti.f32, n * n)


def colours(start):
    """Ropes along both axes and the diagonals, no two of a group with a common end."""
    groups = []
    for da, db in ((1, 0), (0, 1), (1, 1), (1, -1)):
        for parity in range(2):
            pairs = [
                (a * n + b, (a + da) * n + b + db)
                for a in range(n)
                for b in range(n)
                if a + da < n and 0 <= b + db < n and (a if da else b) % 2 == parity
            ]
            i, j = np.array(pairs, dtype=np.int32).T
            ropes = Rope.field(shape=len(pairs))
            ropes.i.from_numpy(i.copy())
            ropes.j.from_numpy(j.copy())
            ropes.rest.from_numpy(np.linalg.norm(start[i] - start[j], axis=1).astype(np.float32))
            groups.append(ropes)
    return groups


@ti.kernel
def fall(p: Parameters, x: points, before: points, v: points, w: ti.types.ndarray()):
    for i in x:
        before[i] = x[i]
        if w[i] > 0:
            v[i] += p.gravity * p.dt
            x[i] += v[i] * p.dt


@ti.kernel
def tighten(p: Parameters, ropes: ti.template(), x: points, w: ti.types.ndarray(dtype=ti.f32, ndim=1), first: bool):
    soft = p.compliance / p.dt**2
    for k in ropes:
        if first:
            ropes[k].pull = 0
        i, j = ropes[k].i, ropes[k].j
        if w[i] + w[j] > 0:
            amount, way = ropes[k].solve(x[i], x[j], w[i], w[j], soft)
            ropes[k].pull += amount
            x[i] += w[i] * amount * way
            x[j] -= w[j] * amount * way


@ti.kernel
def finish(p: Parameters, x: points, before: points, v: points):
    for i in range(x.shape[0]):
        away = x[i] - ball.centre
        if away.norm() < ball.radius:
            x[i] = ball.centre + away.normalized() * ball.radius
        v[i] = (x[i] - before[i]) / p.dt


def main():
    side = np.linspace(-0.5, 0.5, n)
    start = np.stack(np.meshgrid(side, [0.26], side, indexing="ij"), -1).reshape(-1, 3).astype(np.float32)
    x.from_numpy(start)
    weights = np.ones(n * n, np.float32)
    weights[[0, n - 1]] = 0
    inverse_mass.from_numpy(weights)
    v.fill(0)
    groups = colours(start)
    for _ in range(12):
        fall(parameters, x, before, v, inverse_mass)
        for round in range(3):
            for ropes in groups:
                tighten(parameters, ropes, x, inverse_mass, round == 0)
        finish(parameters, x, before, v)
    parameters.gravity = vec3(0, 0, 0)
    fall(parameters, x, before, v, inverse_mass)
    return {"x": x.to_numpy(), "v": v.to_numpy()}
