"""Many double pendulums side by side: a class with kernels, and structs with methods."""

import taichi as ti

ti.init(default_fp=ti.f64)


@ti.dataclass
class State:
    angle: ti.types.vector(2, ti.f64)
    speed: ti.types.vector(2, ti.f64)

    @ti.func
    def energy(self, g):
        a, w = self.angle, self.speed
        kinetic = w[0] ** 2 + 0.5 * w[1] ** 2 + w[0] * w[1] * ti.cos(a[0] - a[1])
        return kinetic - g * (2 * ti.cos(a[0]) + ti.cos(a[1]))


@ti.data_oriented
class Pendulums:
    def __init__(self, count, g=9.81):
        self.count, self.g = count, g
        self.states = State.field(shape=count)

    @ti.kernel
    def start(self):
        for i in range(self.count):
            self.states[i].angle = [0.5 + 0.01 * i, 0.2]

    @ti.func
    def slope(self, s):
        a, w = s.angle, s.speed
        d = a[0] - a[1]
        den = 3 - ti.cos(2 * d)
        first = -self.g * (3 * ti.sin(a[0]) + ti.sin(a[0] - 2 * a[1]))
        first -= 2 * ti.sin(d) * (w[1] ** 2 + w[0] ** 2 * ti.cos(d))
        second = 2 * ti.sin(d) * (2 * w[0] ** 2 + 2 * self.g * ti.cos(a[0]) + w[1] ** 2 * ti.cos(d))
        return State(angle=w, speed=ti.Vector([first, second]) / den)

    @ti.kernel
    def step(self, dt: ti.f64, rounds: ti.i32):
        for i in range(self.count):
            s = self.states[i]
            for _ in range(rounds):
                k = self.slope(s)
                half = State(angle=s.angle + k.angle * dt / 2, speed=s.speed + k.speed * dt / 2)
                k = self.slope(half)
                s.angle += k.angle * dt
                s.speed += k.speed * dt
            self.states[i] = s

    @ti.kernel
    def total(self) -> ti.f64:
        e = 0.0
        for i in range(self.count):
            e += self.states[i].energy(self.g)
        return e


def main():
    many = Pendulums(16)
    many.start()
    before = many.total()
    many.step(0.002, 100)
    return {"angles": many.states.angle.to_numpy(), "energy": [before, many.total()]}
