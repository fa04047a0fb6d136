"""Reaction and diffusion: two chemicals make spots that split and stripes that grow (Gray-Scott).

u_t = Du lap u - u v^2 + F (1 - u) and v_t = Dv lap v + u v^2 - (F + k) v: v eats u, u is fed at the rate F, v decays.
Source: Pearson, "Complex patterns in a simple system", Science 261, 1993.
"""

import numpy as np

import weft as ti
from weft.demos.palette import Palette

FRAMES = 180
N, STEPS, SEEDS = 400, 24, 14
DU, DV, FEED, KILL = 0.16, 0.08, 0.037, 0.0605


def build(n=N, feed=FEED, kill=KILL, seeds=SEEDS):
    """An n x n torus of cells with `seeds` patches of v at random places (one in the middle if it is 1)."""
    now, after = ti.Vector.field(2, ti.f32, (n, n)), ti.Vector.field(2, ti.f32, (n, n))
    image, palette = ti.Vector.field(3, ti.f32, (n, n)), Palette("inferno")
    patches = ti.Vector.field(2, ti.f32, seeds)

    @ti.kernel
    def start():
        for k in patches:
            patches[k] = (
                ti.Vector([ti.random(), ti.random()]) * n if ti.static(seeds > 1) else ti.Vector([n / 2, n / 2])
            )
        for i, j in now:
            now[i, j] = [1, 0]
            for k in range(seeds):
                gap = abs(ti.Vector([i, j]) + 0.5 - patches[k])
                if ti.max(ti.min(gap.x, n - gap.x), ti.min(gap.y, n - gap.y)) < 5:
                    now[i, j] = [0.5, 0.25]

    @ti.kernel
    def step(a: ti.template(), b: ti.template()):
        for i, j in a:
            left, right, low, high = (i + n - 1) % n, (i + 1) % n, (j + n - 1) % n, (j + 1) % n
            sides = a[left, j] + a[right, j] + a[i, low] + a[i, high]
            corners = a[left, low] + a[left, high] + a[right, low] + a[right, high]
            laplacian = (4 * sides + corners - 20 * a[i, j]) / 6
            u, v = a[i, j].x, a[i, j].y
            gain = ti.Vector([feed * (1 - u) - u * v * v, u * v * v - (feed + kill) * v])
            b[i, j] = a[i, j] + ti.Vector([DU, DV]) * laplacian + gain

    @ti.kernel
    def draw(a: ti.template()):
        for i, j in image:
            v = a[i, j].y
            slope = ti.Vector(
                [a[(i + 1) % n, j].y - a[(i + n - 1) % n, j].y, a[i, (j + 1) % n].y - a[i, (j + n - 1) % n].y]
            )
            normal = ti.Vector([-4 * slope.x, -4 * slope.y, 0.5]).normalized()
            light = ti.max(0.0, normal.dot(ti.Vector([-0.45, 0.55, 0.70])))
            gloss = ti.max(0.0, normal.dot(ti.Vector([-0.24, 0.30, 0.92]))) ** 40
            image[i, j] = palette(0.06 + 2.3 * v) * (0.35 + 0.9 * light) + 0.22 * gloss * ti.min(1.0, 5 * v)

    start()

    def frame(_number):
        for _ in range(0, STEPS, 2):
            step(now, after)
            step(after, now)
        draw(now)
        return np.clip(image.to_numpy(), 0, 1).swapaxes(0, 1)[::-1]

    frame.now = now
    return frame
