"""Two substances that feed on each other (Gray and Scott), on a torus, in two fields that change places."""

import taichi as ti
import taichi.math as tm

ti.init()

n = 32
feed, kill = 0.055, 0.062
state = ti.Vector.field(2, float, shape=(2, n, n))
offsets = [(0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1)]
weights = [0.2, 0.2, 0.2, 0.2, 0.05, 0.05, 0.05, 0.05]


@ti.kernel
def start():
    for i, j in ti.ndrange(n, n):
        near = tm.distance(tm.vec2(i, j), tm.vec2(n // 2 + 2, n // 2 - 1)) < 4
        state[0, i, j] = tm.vec2(0.5, 0.25) if near else tm.vec2(1.0, 0.0)


@ti.kernel
def react(phase: ti.template(), dt: float):
    for i, j in ti.ndrange(n, n):
        here = state[phase, i, j]
        spread = -here
        for offset, weight in ti.static(zip(offsets, weights)):
            spread += weight * state[phase, (i + offset[0] + n) % n, (j + offset[1] + n) % n]
        eaten = here.x * here.y**2
        change = tm.vec2(0.16, 0.08) * spread
        change += tm.vec2(feed * (1 - here.x) - eaten, eaten - (feed + kill) * here.y)
        state[1 - phase, i, j] = here + dt * change


def main():
    start()
    for step in range(60):
        react(step % 2, 1.0)
    return {"state": state.to_numpy()[0]}
