"""Sorting networks: odd-even transposition and bitonic sort race, a step of either being one parallel loop.

Both compare pairs at fixed places, all pairs of a step at once. Neighbours only: n steps. Distances that are powers
of two: log n (log n + 1) / 2 steps, 36 instead of 256 here. Each row is an array of its own. Source: Batcher,
"Sorting networks and their applications", AFIPS 1968.
"""

import weft as ti
from weft.demos.palette import Palette

FRAMES = 150
N, ROWS, SCALE = 256, 96, 2


def stages(n):
    """The steps (run length, distance) of the bitonic sort of n values, n a power of two."""
    return [(2**k, 2**d) for k in range(1, n.bit_length()) for d in range(k - 1, -1, -1)]


def build(n=N, rows=ROWS):
    """Two panels of that many rows of n values: odd-even transposition above, the bitonic network below."""
    slow, fast = ti.field(ti.f32, (rows, n)), ti.field(ti.f32, (rows, n))
    image = ti.Vector.field(3, ti.f32, (2 * rows * SCALE + 8, n * SCALE))
    palette, plan = Palette("turbo"), stages(n)

    @ti.kernel
    def start(a: ti.template()):
        for r in range(rows):
            for i in range(n):
                a[r, i] = (i + 0.5) / n
            for i in range(1, n):  # Fisher and Yates: every order is as likely
                other = ti.min(int(ti.random() * (i + 1)), i)
                a[r, i], a[r, other] = a[r, other], a[r, i]

    @ti.func
    def exchange(a: ti.template(), r, low, high, rising):
        if (a[r, low] > a[r, high]) == rising:
            a[r, low], a[r, high] = a[r, high], a[r, low]

    @ti.kernel
    def transpose(a: ti.template(), odd: ti.i32):
        for r, pair in ti.ndrange(rows, n // 2):
            low = 2 * pair + odd
            if low + 1 < n:
                exchange(a, r, low, low + 1, True)

    @ti.kernel
    def merge(a: ti.template(), run: ti.i32, distance: ti.i32):
        for r, pair in ti.ndrange(rows, n // 2):
            low = pair // distance * 2 * distance + pair % distance  # without the bit that is `distance`
            exchange(a, r, low, low + distance, (low & run) == 0)

    @ti.kernel
    def draw():
        for y, i in image:
            row = y // SCALE
            color = ti.Vector([0.05, 0.05, 0.07])
            if row < rows:
                color = palette(slow[row, i // SCALE])
            elif y >= rows * SCALE + 8:
                color = palette(fast[(y - 8) // SCALE - rows, i // SCALE])
            image[y, i] = color

    start(slow)
    fast.copy_from(slow)
    steps = 0

    def frame(number):
        nonlocal steps
        for _ in range(2 if number > 0 else 0):
            transpose(slow, steps % 2)
            if steps % 4 == 0 and steps // 4 < len(plan):
                merge(fast, *plan[steps // 4])
            steps += 1
        draw()
        return image.to_numpy()

    frame.slow, frame.fast, frame.transpose, frame.merge = slow, fast, transpose, merge
    return frame
