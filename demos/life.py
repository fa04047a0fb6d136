"""Game of life: Conway's automaton on a torus, with the warmth of cells that lived lately."""

import numpy as np

import weft as ti

FRAMES = 240
N, SCALE = 256, 2


def build():
    alive = ti.field(ti.u8, (N, N))
    neighbours = ti.field(ti.u8, (N, N))
    warmth = ti.field(ti.f32, (N, N))
    image = ti.Vector.field(3, ti.f32, (N * SCALE, N * SCALE))

    @ti.kernel
    def start():
        for i, j in alive:
            distance = (ti.Vector([i, j]) - N / 2).norm() / N
            alive[i, j] = ti.random() < 0.55 - distance

    @ti.kernel
    def step():
        for i, j in alive:
            count = 0
            for a, b in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                if ti.static(a != 0 or b != 0):
                    count += alive[(i + a) % N, (j + b) % N]
            neighbours[i, j] = ti.cast(count, ti.u8)
        for i, j in alive:
            count = neighbours[i, j]
            alive[i, j] = count == 3 or (count == 2 and alive[i, j] == 1)
            warmth[i, j] = ti.max(0.965 * warmth[i, j], float(alive[i, j]))

    @ti.kernel
    def draw():
        for i, j in image:
            heat = warmth[i // SCALE, j // SCALE]
            glow = ti.Vector([heat**1.2, 0.55 * heat**2.2, 0.9 * heat**0.9 * (1 - 0.75 * heat)])
            cell = ti.Vector([1.0, 0.93, 0.78])
            image[i, j] = cell if alive[i // SCALE, j // SCALE] == 1 else 0.75 * glow + ti.Vector([0.03, 0.02, 0.06])

    start()

    def frame(_number):
        step()
        draw()
        return np.clip(image.to_numpy(), 0, 1).swapaxes(0, 1)[::-1]

    return frame
