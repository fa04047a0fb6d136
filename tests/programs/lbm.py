"""Air in a box with a moving lid: a lattice Boltzmann method with 19 speeds, as a class that keeps them apart."""

import numpy as np
import taichi as ti

ti.init(arch=ti.cpu)

vec3 = ti.types.vector(3, float)
speeds = [(0, 0, 0)]
for axes in (1, 2):
    for e in np.ndindex(3, 3, 3):
        if sum(abs(k - 1) for k in e) == axes:
            speeds.append(tuple(k - 1 for k in e))
opposite = [speeds.index(tuple(-k for k in e)) for e in speeds]


@ti.data_oriented
class Box:
    def __init__(self, n, viscosity, lid):
        self.n, self.lid = n, lid
        self.relax = 1 / (3 * viscosity + 0.5)
        self.old, self.new = ti.field(float), ti.field(float)
        ti.root.dense(ti.l, 19).dense(ti.ijk, n).place(self.old, self.new)
        self.rho = ti.field(float, shape=(n, n, n))
        self.u = ti.Vector.field(3, float, shape=(n, n, n), layout=ti.Layout.SOA)
        self.wall = ti.field(ti.i8, shape=(n, n, n))
        self.e = ti.Vector.field(3, int, 19)
        self.w = ti.field(float, 19)
        self.back = ti.field(int, 19)
        self.e.from_numpy(np.array(speeds, dtype=np.int32))
        self.back.from_numpy(np.array(opposite, dtype=np.int32))
        self.w.from_numpy(np.array([(1 / 3, 1 / 18, 1 / 36)[sum(map(abs, e))] for e in speeds], dtype=np.float32))

    @ti.func
    def rest(self, s, rho, u):
        along = ti.cast(self.e[s], float).dot(u)
        return self.w[s] * rho * (1 + 3 * along + 4.5 * along**2 - 1.5 * u.norm_sqr())

    @ti.func
    def around(self, p):
        for k in ti.static(range(3)):
            if p[k] < 0:
                p[k] = self.n - 1
            elif p[k] >= self.n:
                p[k] = 0
        return p

    @ti.kernel
    def start(self):
        for p in ti.grouped(self.rho):
            self.rho[p] = 1.0
            self.u[p] = vec3(0)
            self.wall[p] = 1 if p.x == 0 or p.x == self.n - 1 or p.z == 0 else 0
            for s in ti.static(range(19)):
                self.old[p, s] = self.new[p, s] = self.rest(s, 1.0, vec3(0))

    @ti.kernel
    def collide(self):
        for i, j, k in self.rho:
            if not self.wall[i, j, k]:
                for s in range(19):
                    self.old[i, j, k, s] += (
                        self.rest(s, self.rho[i, j, k], self.u[i, j, k]) - self.old[i, j, k, s]
                    ) * self.relax

    @ti.kernel
    def stream(self):
        for p in ti.grouped(self.rho):
            if self.wall[p]:
                continue
            for s in range(19):
                q = self.around(p + self.e[s])
                if self.wall[q] == 0:
                    self.new[q, s] = self.old[p, s]
                else:
                    self.new[p, self.back[s]] = self.old[p, s]
        for i, j in ti.ndrange((1, self.n - 1), self.n):
            for s in ti.static(range(19)):
                self.new[i, j, self.n - 1, s] = self.rest(s, 1.0, vec3(self.lid, 0, 0))

    @ti.kernel
    def gather(self) -> float:
        change = 0.0
        for p in ti.grouped(self.rho):
            if self.wall[p] == 0:
                rho, momentum = 0.0, ti.Vector.zero(float, 3)
                for s in ti.static(range(19)):
                    self.old[p, s] = self.new[p, s]
                    rho += self.new[p, s]
                    momentum += ti.cast(self.e[s], float) * self.new[p, s]
                momentum /= rho
                ti.atomic_max(change, (momentum - self.u[p]).norm())
                self.rho[p], self.u[p] = rho, momentum
        return change


def main():
    box = Box(12, 0.05, 0.1)
    box.start()
    changes = []
    for _ in range(8):
        box.collide()
        box.stream()
        changes.append(box.gather())
    return {"u": box.u.to_numpy(), "rho": box.rho.to_numpy(), "changes": changes}
