"""A ring of bodies around a heavy one, as a data-oriented class over a dataclass."""

import taichi as ti

vec2 = ti.math.vec2
ti.init(arch=ti.cpu, default_fp=ti.f64)


@ti.dataclass
class Body:
    pos: vec2
    vel: vec2
    mass: ti.f64

    @ti.func
    def momentum(self):
        return self.mass * self.vel


@ti.data_oriented
class Ring:
    G = 1.0

    def __init__(self, n, softening=1e-2):
        self.n = n
        self.softening = softening
        self.bodies = Body.field(shape=n)
        self.force = ti.Vector.field(2, ti.f64, shape=n)

    @ti.kernel
    def initialize(self, radius: ti.f64):
        for i in range(self.n):
            angle = 2 * ti.math.pi * i / (self.n - 1)
            place = vec2(ti.cos(angle), ti.sin(angle))
            speed = ti.sqrt(self.G * 100.0 / radius)
            self.bodies[i] = Body(pos=radius * place, vel=speed * vec2(-place.y, place.x), mass=0.1)
        last = self.n - 1
        self.bodies[last].pos = vec2(0)
        self.bodies[last].vel = vec2(0)
        self.bodies[last].mass = 100.0

    @ti.kernel
    def step(self, h: ti.f64):
        for i in range(self.n):
            total = vec2(0)
            for j in range(self.n):
                if i != j:
                    d = self.bodies[j].pos - self.bodies[i].pos
                    r2 = d.norm_sqr() + self.softening**2
                    total += self.G * self.bodies[i].mass * self.bodies[j].mass * d / (r2 * ti.sqrt(r2))
            self.force[i] = total
        for i in self.bodies:
            self.bodies[i].vel += h * self.force[i] / self.bodies[i].mass
            self.bodies[i].pos += h * self.bodies[i].vel

    @ti.kernel
    def momentum(self) -> vec2:
        total = vec2(0)
        for i in range(self.n):
            total += self.bodies[i].momentum()
        return total


def main():
    ring = Ring(17)
    ring.initialize(2.0)
    before = ring.momentum().to_numpy()
    for _ in range(20):
        ring.step(1e-3)
    after = ring.momentum().to_numpy()
    return {"pos": ring.bodies.pos.to_numpy(), "drift": abs(after - before) + 1.0}
