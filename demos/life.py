"""Game of life: Conway's automaton on a torus, with the warmth of cells that lived lately."""

import weft as ti
from weft.demos.runner import play

FRAMES = 240
N, SCALE = 256, 2


@ti.data_oriented
class Life:
    """A torus of N x N cells, each drawn as SCALE x SCALE pixels."""

    def __init__(self):
        self.alive = ti.field(ti.u8, (N, N))
        self.neighbours = ti.field(ti.u8, (N, N))
        self.warmth = ti.field(ti.f32, (N, N))
        self.image = ti.Vector.field(3, ti.f32, (N * SCALE, N * SCALE))
        self.start()

    @ti.kernel
    def start(self):
        for i, j in self.alive:
            distance = (ti.Vector([i, j]) - N / 2).norm() / N
            self.alive[i, j] = ti.random() < 0.55 - distance

    @ti.kernel
    def step(self):
        """Count neighbours, then live or die."""
        for i, j in self.alive:
            count = 0
            for a, b in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                if ti.static(a != 0 or b != 0):
                    count += self.alive[(i + a) % N, (j + b) % N]
            self.neighbours[i, j] = ti.cast(count, ti.u8)
        for i, j in self.alive:
            count = self.neighbours[i, j]
            self.alive[i, j] = count == 3 or (count == 2 and self.alive[i, j] == 1)
            self.warmth[i, j] = ti.max(0.965 * self.warmth[i, j], float(self.alive[i, j]))

    @ti.kernel
    def draw(self):
        for i, j in self.image:
            heat = self.warmth[i // SCALE, j // SCALE]
            root = ti.sqrt(ti.sqrt(heat))
            glow = ti.Vector([heat * root, 0.55 * heat * heat * root, 0.9 * heat * (1 - 0.75 * heat)])
            self.image[i, j] = 0.75 * glow + ti.Vector([0.03, 0.02, 0.06])
            if self.alive[i // SCALE, j // SCALE] == 1:
                self.image[i, j] = [1.0, 0.93, 0.78]

    def __call__(self, _number):
        self.step()
        self.draw()
        return self.image


build = Life

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
