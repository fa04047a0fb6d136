"""Mandelbrot set: how far each point is from it makes a landscape, lit by a turning lamp (distance estimate).

z -> z^2 + c from 0. Outside the set |z| grows like a power of the distance, and with the derivative z' = dz/dc
(z' -> 2 z z' + 1) the distance is 2 |z| log|z| / |z'|, true within a factor of four; z / z' points away from the set
and serves as the slope of a hill. Source: Peitgen, Saupe, "The science of fractal images", Springer 1988.
"""

import weft as ti
from weft.demos.palette import Palette
from weft.demos.runner import play

FRAMES = 160
WIDTH, HEIGHT, LIMIT, SAMPLES = 560, 420, 180, 2
TARGET, FAR, NEAR = (-0.2351, 0.8272), 1e4, 1e26  # |z|^2 that has escaped, |z'|^2 that is as good as in the set


@ti.func
def explore(c):
    """(steps, smoothly counted; distance to the set; slope), the first 0 in the set."""
    z, dz, count = ti.Vector([0.0, 0.0]), ti.Vector([0.0, 0.0]), 0
    while z.norm_sqr() < FAR and dz.norm_sqr() < NEAR and count < LIMIT:
        dz = 2 * ti.math.cmul(z, dz) + ti.Vector([1.0, 0.0])
        z = ti.math.cmul(z, z) + c
        count += 1
    steps, away, slope = 0.0, 0.0, ti.Vector([0.0, 0.0])
    if z.norm_sqr() >= FAR:
        size = z.norm()
        steps = count + 1 - ti.math.log2(ti.log(size) / ti.log(2.0))
        away = 2 * size * ti.log(size) / dz.norm()
        slope = ti.math.cdiv(z, dz).normalized()
    return steps, away, slope


@ti.data_oriented
class Mandelbrot:
    """A picture of width x height pixels around `centre`; each frame is `zoom` times as wide as the one before."""

    def __init__(self, width=WIDTH, height=HEIGHT, centre=TARGET, zoom=0.975):
        self.width, self.height, self.centre, self.zoom = width, height, centre, zoom
        self.image = ti.Vector.field(3, ti.f32, (width, height))
        self.distance = ti.field(ti.f32, (width, height))  # of the pixel's last sample, 0 in the set
        self.palette = Palette("twilight")

    @ti.kernel
    def draw(self, scale: ti.f32, lamp: ti.f32):
        for i, j in self.image:
            total = ti.Vector([0.0, 0.0, 0.0])
            for a, b in ti.ndrange(SAMPLES, SAMPLES):
                x, y = i + (a + 0.5) / SAMPLES - self.width / 2, j + (b + 0.5) / SAMPLES - self.height / 2
                at = ti.Vector(self.centre) + scale * (ti.Vector([x, y]) / self.height)
                steps, away, slope = explore(at)
                self.distance[i, j] = away
                if steps > 0:
                    light = (slope.dot(ti.Vector([ti.cos(lamp), ti.sin(lamp)])) + 1.3) / 2.3
                    rim = ti.min(1.0, (away / scale * self.height * 0.5) ** 0.4)
                    color = self.palette(ti.math.fract(0.62 * ti.log(3 + steps) + 0.3))
                    total += color * (0.25 + 0.9 * light) * (0.2 + 0.8 * rim)
                else:
                    total += ti.Vector([0.015, 0.01, 0.03])
            self.image[i, j] = total / SAMPLES**2

    def __call__(self, number):
        self.draw(2.8 * self.zoom**number, 2.4 + 0.05 * number)
        return self.image


build = Mandelbrot

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
