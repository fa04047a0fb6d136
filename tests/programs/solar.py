"""Planets around a sun: objective data-oriented programming, inherited."""

import taichi as ti

ti.init()


@ti.data_oriented
class SolarSystem:
    def __init__(self, n, dt):
        self.n = n
        self.dt = dt
        self.x = ti.Vector.field(2, dtype=ti.f32, shape=n)
        self.v = ti.Vector.field(2, dtype=ti.f32, shape=n)
        self.center = ti.Vector.field(2, dtype=ti.f32, shape=())

    @ti.kernel
    def initialize_particles(self):
        for i in range(self.n):
            radius = 0.1 + 0.3 * i / self.n
            angle = 2.4 * i
            offset = self.around(radius, angle)
            self.x[i] = self.center[None] + offset
            self.v[i] = [-offset.y, offset.x]
            self.v[i] *= 1.5 / offset.norm()

    @staticmethod
    @ti.func
    def around(radius, angle):
        return ti.Vector([ti.cos(angle) * radius, ti.sin(angle) * radius])

    @ti.func
    def gravity(self, pos):
        offset = -(pos - self.center[None])
        return offset / offset.norm() ** 3

    @ti.kernel
    def integrate(self):
        for i in range(self.n):
            self.v[i] += self.dt * self.gravity(self.x[i])
            self.x[i] += self.dt * self.v[i]

    @property
    def positions(self):
        return self.x.to_numpy()


class DampedSystem(SolarSystem):
    def __init__(self, n, dt, drag):
        super().__init__(n, dt)
        self.drag = drag

    @ti.kernel
    def slow(self):
        for i in self.v:
            self.v[i] *= 1.0 - self.drag * self.dt


def main():
    solar = DampedSystem(9, 0.0005, drag=0.5)
    solar.center[None] = [0.5, 0.5]
    solar.initialize_particles()
    for _ in range(100):
        solar.integrate()
        solar.slow()
    return {"x": solar.positions, "v": solar.v.to_numpy()}
