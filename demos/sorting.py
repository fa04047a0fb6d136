"""Sorting networks: odd-even transposition and bitonic sort race, a step of either being one parallel loop.

Both compare pairs at fixed places, all pairs of a step at once. Neighbours only: n steps. Distances that are powers
of two: log n (log n + 1) / 2 steps, 36 instead of 256 here. Each row is an array of its own. Source: Batcher,
"Sorting networks and their applications", AFIPS 1968.
"""

import weft as ti
from weft.demos.palette import Palette
from weft.demos.runner import play

FRAMES = 150
N, ROWS, SCALE = 256, 96, 2


def stages(n):
    """The steps (run length, distance) of the bitonic sort of n values, n a power of two."""
    return [(2**k, 2**d) for k in range(1, n.bit_length()) for d in range(k - 1, -1, -1)]


@ti.func
def exchange(a: ti.Field[ti.f32], r, low, high, rising):
    if (a[r, low] > a[r, high]) == rising:
        a[r, low], a[r, high] = a[r, high], a[r, low]


@ti.data_oriented
class Race:
    """Two panels of that many rows of n values: odd-even transposition above, the bitonic network below."""

    def __init__(self, n=N, rows=ROWS):
        self.n, self.rows = n, rows
        self.slow, self.fast = ti.field(ti.f32, (rows, n)), ti.field(ti.f32, (rows, n))
        self.image = ti.Vector.field(3, ti.f32, (2 * rows * SCALE + 8, n * SCALE))
        self.palette, self.plan = Palette("turbo"), stages(n)
        self.start(self.slow)
        self.fast.copy_from(self.slow)
        self.steps = 0

    @ti.kernel
    def start(self, a: ti.Field[ti.f32]):
        """Each row in an order of its own."""
        for r in range(self.rows):
            for i in range(self.n):
                a[r, i] = (i + 0.5) / self.n
            for i in range(1, self.n):  # Fisher and Yates: every order is as likely
                other = ti.min(int(ti.random() * (i + 1)), i)
                a[r, i], a[r, other] = a[r, other], a[r, i]

    @ti.kernel
    def transpose(self, a: ti.Field[ti.f32], odd: ti.i32):
        """Exchange neighbours: pairs that begin at even places, or at odd ones."""
        for r, pair in ti.ndrange(self.rows, self.n // 2):
            low = 2 * pair + odd
            if low + 1 < self.n:
                exchange(a, r, low, low + 1, True)

    @ti.kernel
    def merge(self, a: ti.Field[ti.f32], run: ti.i32, distance: ti.i32):
        """A step of the bitonic network: runs of that length, pairs so far apart."""
        for r, pair in ti.ndrange(self.rows, self.n // 2):
            low = pair // distance * 2 * distance + pair % distance  # without the bit that is `distance`
            exchange(a, r, low, low + distance, (low & run) == 0)

    @ti.kernel
    def draw(self):
        for y, i in self.image:
            row = y // SCALE
            color = ti.Vector([0.05, 0.05, 0.07])
            if row < self.rows:
                color = self.palette(self.slow[row, i // SCALE])
            elif y >= self.rows * SCALE + 8:
                color = self.palette(self.fast[(y - 8) // SCALE - self.rows, i // SCALE])
            self.image[y, i] = color

    def __call__(self, number):
        for _ in range(2 if number > 0 else 0):
            self.transpose(self.slow, self.steps % 2)
            if self.steps % 4 == 0 and self.steps // 4 < len(self.plan):
                self.merge(self.fast, *self.plan[self.steps // 4])
            self.steps += 1
        self.draw()
        return self.image.to_numpy()


build = Race

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
